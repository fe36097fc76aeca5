"""Bounds from lists: codes that are known, and codes that are excluded.

A known code, numerical code or construction of more points or in fewer dimensions counts too: its
first K points, with zeros appended, are a code of (d, K). Values are rounded to the side on which
they are true.

An exclusion says that no code of K points in R^d is better than a clearance. The same holds for
more points, and for fewer dimensions. If a bound excludes K points whose cosines are at most s,
then a code has a largest cosine above s: its clearance is strictly below 1 - s, by an unknown
amount. So `evaluate` returns 1 - s, while `points` and `dimension` exclude a target of 1 - s
itself. A proved optimum is attained.

`data/known_codes/cardinality.csv` holds bounds on kissing numbers (s = 1/2) and on the sizes of
optimal codes, with their sources. Delsarte's linear program gives the kissing number in 8 and 24
dimensions, and slightly larger numbers elsewhere, where bounds on triples of points are better.
Bounds that are numerical, or certified but not refereed, are shown next to the others, but prove
nothing.

A certificate of Bachoc and Vallentin's three-point bound, for (d', K', s), says that every code of
K' points in R^d' has a largest cosine above s (`three_point_certificate` has the theorem), which
excludes codes in the same way. `data/known_codes/certificates/three_point.csv` lists the
certificates that ship, in the same folder. They were checked before they were stored, and
`gnc bounds --verify` checks each again.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING

from gnc_cli.constructions.construction import Construction
from gnc_cli.constructions.registry import (
    find,
    largest_construction,
    least_dimension,
    single_codes,
)
from gnc_cli.geometry.rounding import rounded_down, rounded_up
from gnc_cli.known_codes.best import constructed
from gnc_cli.known_codes.table import (
    STATUS_CLAIMED,
    STATUS_SOLVED,
    Cardinality,
    KnownCode,
    KnownCodes,
    data_folder,
    our_copy,
    stored_cardinalities,
)
from gnc_cli.limits.limit import (
    LARGEST_D,
    Count,
    Dimension,
    Ending,
    Finding,
    Limit,
    least_excluded,
)
from gnc_cli.runtime.deadline import Deadline, StageProgress

if TYPE_CHECKING:
    from gnc_cli.limits.three_point_certificate import ThreePointCertificate

_KISSING_COSINE = Fraction(1, 2)
"""Largest cosine of the points at which equal spheres touch one."""
REASONS_NOT_PROVED = {
    "certified": "certified, not refereed",
    "numerical": "no rigorous certificate at hand",
}
"""Reasons why published bounds do not count as proved, by status."""
_DEGREE = 8
"""Degree of three-point bounds that are computed on demand, in about ten seconds each."""
_THREE_POINT_SOURCE = "Bachoc and Vallentin 2008"
_SAME_CODE_DISTANCE = 1e-11
"""Largest distance of the cosines of an entry and a construction of the same code: entries are
rounded to 12 digits."""


@dataclass(frozen=True)
class Exclusion:
    """A clearance that no code of K points in R^d exceeds."""

    d: int
    K: int
    finding: Finding
    """The clearance, with its source."""

    @classmethod
    def by_cosine(cls, d: int, K: int, cosine: Fraction, source: str) -> "Exclusion":
        """State that every code of K points in R^d has two points with a larger cosine."""
        return cls(d, K, Finding(rounded_up(1 - cosine), strict=True, source=source))

    def excludes(self, target: Fraction) -> bool:
        """Return True if no code has this clearance."""
        value = Fraction(self.finding.value)
        return target >= least_excluded(value) if self.finding.strict else target > value


class ExclusionLimit(Limit):
    """The best of a list of exclusions."""

    exists = False
    is_list = True

    def __init__(
        self, name: str, source: str, exclusions: Iterable[Exclusion], *, proved: bool = True
    ) -> None:
        self.name, self.source, self.proved = name, source, proved
        self._best_first = sorted(exclusions, key=lambda e: (e.finding.value, e.K, e.d))

    def best(self, d: int, K: int) -> Exclusion | None:
        """Return the best exclusion of K or fewer points in R^d or more dimensions, or None."""
        return next((e for e in self._best_first if e.d >= d and e.K <= K), None)

    def evaluate(self, d: int, K: int) -> Finding | None:
        """Return the clearance of the best exclusion; see `Limit.evaluate`."""
        best = self.best(d, K)
        return None if best is None else best.finding

    def points(self, d: int, target: Fraction) -> Count | None:
        """Return one less than the fewest points that are excluded in d dimensions or more."""
        excluding = [e for e in self._best_first if e.d >= d and e.excludes(target)]
        fewest = min(excluding, key=lambda e: e.K, default=None)
        return (
            None
            if fewest is None
            else Count.from_number(fewest.K - 1, source=fewest.finding.source)
        )

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """Return one more than the largest dimension that is excluded; 2 if none is."""
        excluded = (e.d for e in self._best_first if e.K <= K and e.excludes(target))
        return Dimension(max(excluded, default=1) + 1)


def _cardinality(name: str, *, proved: bool) -> ExclusionLimit:
    bounds = [b for b in stored_cardinalities() if (b.status == "proved") is proved]
    exclusions = [
        Exclusion.by_cosine(b.d, b.K + 1, b.cosine, _cardinality_source(b)) for b in bounds
    ]
    source = "published bounds on kissing numbers and sizes of codes"
    return ExclusionLimit(name, source, exclusions, proved=proved)


def _cardinality_source(bound: Cardinality) -> str:
    exact = bound.cosine.denominator < 10**6
    text = str(bound.cosine) if exact else f"{float(bound.cosine):.10g}"
    kind = (
        "kissing number" if bound.cosine == _KISSING_COSINE else f"code with cosines up to {text}"
    )
    status = "" if bound.status == "proved" else f" ({REASONS_NOT_PROVED[bound.status]})"
    return f"{kind} in {bound.d} dimensions at most {bound.K}{status}: {bound.source}"


CARDINALITY = _cardinality("cardinality", proved=True)
"""Published bounds on numbers of points that are proved."""
UNPROVED_CARDINALITY = _cardinality("numerical-bound", proved=False)
"""Published bounds on numbers of points without a refereed proof."""


@cache
def proved_optimum() -> ExclusionLimit:
    """List the codes proved optimal: among the single constructions, and entries of our table."""
    entries = our_copy().entries.items()
    optima = {pair: (e.interval[0], e.optimality or e.source) for pair, e in entries if e.proven}
    optima |= {
        (code.d, code.K): (code.cosine.enclosure[0], f"{code.name}, {code.optimality}")
        for code in single_codes()
        if code.optimality
    }
    exclusions = [
        Exclusion(d, K, Finding(rounded_up(1 - low), source=f"optimal code ({d}, {K}): {source}"))
        for (d, K), (low, source) in optima.items()
    ]
    return ExclusionLimit("proved-optimum", "codes proved optimal", exclusions)


@cache
def stored_certificates() -> list[Exclusion]:
    """Return the exclusions of the three-point certificates that ship."""
    path = data_folder() / "certificates" / "three_point.csv"
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    source = _THREE_POINT_SOURCE + "; certificate of ({d}, {K}), {file}"
    return [
        Exclusion.by_cosine(int(r["d"]), int(r["K"]), Fraction(r["cosine"]), source.format(**r))
        for r in rows
    ]


class ThreePointLimit(ExclusionLimit):
    """The three-point bound: the best stored certificate, or one that is computed on demand."""

    def __init__(
        self,
        *,
        compute: bool = False,
        deadline: Deadline | None = None,
        progress: StageProgress | None = None,
    ) -> None:
        """Load the list of stored certificates.

        Args:
            compute: let `solve` compute a certificate for a pair without a stored one.
            deadline: deadline of all computations.
            progress: called as in `three_point_certificate`, for each of them.
        """
        super().__init__("three-point", _THREE_POINT_SOURCE, stored_certificates())
        self._compute, self._deadline, self._progress = compute, deadline, progress
        self.certificate: ThreePointCertificate | None = None
        """Certificate of the last pair, if it is better than the stored ones."""

    def solve(self, d: int, K: int) -> Finding | None:
        """Compute a certificate, and return its value if it is better than the stored ones."""
        self.certificate = None
        best = self.best(d, K)
        if not self._compute or (best is not None and (best.d, best.K) == (d, K)):
            return None
        from gnc_cli.limits.claim import UnresolvedError
        from gnc_cli.limits.three_point_program import three_point_certificate

        try:
            certificate = three_point_certificate(d, K, _DEGREE, self._deadline, self._progress)
        except UnresolvedError:
            self.declined = True
            return None
        if certificate is None:
            self.silent += 1
            return None
        source = f"{_THREE_POINT_SOURCE}; computed, proved in whole numbers"
        finding = Exclusion.by_cosine(d, K, Fraction(certificate.cosine), source).finding
        if best is not None and best.finding.value <= finding.value:
            return None
        self.certificate = certificate
        return finding


def claimed_codes(table: KnownCodes) -> "CodeList":
    """Return the claims of our copy and of the user's table, which are not vetted."""
    distinct = dict.fromkeys((*our_copy().claims, *table.claims))
    # If two claims are on one pair, the better one counts.
    claims = sorted(distinct, key=lambda claim: -claim.exact)
    codes = KnownCodes(table.stamp, {(claim.d, claim.K): claim for claim in claims})
    return CodeList("claimed-code", "claims that nobody has vetted", codes, proved=False)


class CodeList(Limit):
    """The best of a list of codes with K points or more in d dimensions or fewer."""

    exists = True
    is_list = True

    def __init__(
        self,
        name: str,
        source: str,
        codes: KnownCodes,
        *,
        bounds_rho: bool = False,
        proved: bool = True,
    ) -> None:
        self.name, self.source, self.bounds_rho, self.proved = name, source, bounds_rho, proved
        self._codes = codes
        self._joins = proved and not bounds_rho
        """True if entries may be combined in orthogonal subspaces."""

    @cached_property
    def _clearances(self) -> list[tuple[KnownCode, float]]:
        """Codes with their clearances, the best first."""
        return [(code, _clearance(code)) for code in self._codes.best_first]

    def evaluate(self, d: int, K: int) -> Finding | None:
        """Return the clearance of the best code, or sum of codes; see `Limit.evaluate`."""
        code = self._codes.summed(d, K) if self._joins else None
        code = code or self._codes.covering(d, K)
        if code is None:
            return None
        command = _entry_command(code, d, K)
        return Finding(_clearance(code), source=_entry_source(code), command=command)

    def points(self, d: int, target: Fraction) -> Count | None:
        """Return the size of the largest code that reaches the target; see `Limit.points`."""
        threshold = rounded_up(target)
        reached = [code for code, value in self._clearances if code.d <= d and value >= threshold]
        if self._joins and (code := self._codes.fullest(d, rounded_down(1 - target))) is not None:
            reached.append(code)
        code = max(reached, key=lambda code: code.K, default=None)
        if code is None:
            return None
        return Count.from_number(code.K, _entry_source(code), _entry_command(code, d, code.K))

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """Return the smallest dimension of the codes that are large and good enough."""
        threshold = rounded_up(target)
        dims = [code.d for code, value in self._clearances if code.K >= K and value >= threshold]
        if self._joins:
            top = min(dims, default=LARGEST_D)
            d = self._codes.summands.dimension(K, rounded_down(1 - target), top)
            dims += [] if d is None else [d]
        return Dimension(min(dims)) if dims else Dimension(None, Ending.UNREACHABLE)


def _clearance(entry: KnownCode) -> float:
    """Return a clearance that the code certainly has; of a numerical code the certified one."""
    if entry.status == STATUS_SOLVED:
        return float(1 - entry.exact)
    return rounded_down(1 - entry.interval[1])


def _entry_source(entry: KnownCode) -> str:
    pair = f"({entry.d}, {entry.K})"
    if entry.status == STATUS_SOLVED:
        return f"numerical code {pair}: found by gnc, certified"
    kind = "claimed, not vetted:" if entry.status == STATUS_CLAIMED else "known code"
    return f"{kind} {pair}: {entry.source}"


def _entry_command(entry: KnownCode, d: int, K: int) -> str | None:
    """Return the command that builds the code of an entry.

    It uses theorem 3.3, a construction, stored coordinates, or the search that produced the code.
    """
    if entry.K <= 2 * entry.d:
        return f"gnc solve --d {d} --K {K}"
    code = None if entry.status == STATUS_SOLVED else constructed(entry.d, entry.K)
    if code is not None and abs(code.cosine.value - entry.max_cosine) <= _SAME_CODE_DISTANCE:
        return _command(code, d, K)
    from gnc_cli.known_codes.stored import stored_entry

    stored = stored_entry(entry.d, entry.K)
    if stored is not None and abs(stored.max_cosine - entry.max_cosine) <= _SAME_CODE_DISTANCE:
        return f"gnc solve --d {entry.d} --K {entry.K} --construction known"
    return entry.command


class ConstructionLimit(Limit):
    """The best construction: whole or in part, cross sections, orthogonal sums.

    It has no value where theorem 3.3 applies (K <= 2 d).
    """

    name = "construction"
    source = "constructions, see gnc solve --list-constructions"
    exists = True
    is_list = True

    def evaluate(self, d: int, K: int) -> Finding | None:
        """Return the clearance of the best construction; see `Limit.evaluate`."""
        code = constructed(d, K) if K > 2 * d else None
        if code is None:
            return None
        return Finding(
            rounded_down(1 - code.cosine.enclosure[1]),
            source=f"{code.origin}: {code.reference}",
            command=_command(code, d, K),
        )

    def points(self, d: int, target: Fraction) -> Count | None:
        """Return the size of the largest construction that reaches the target."""
        code = largest_construction(d, float(1 - target))
        if code is None or code.K <= 2 * d:
            return None
        return Count.from_number(
            code.K, f"{code.origin}: {code.reference}", _command(code, d, code.K)
        )

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """Return the least dimension below K/2, from which on theorem 3.3 applies."""
        d = least_dimension(K, rounded_down(1 - target), min((K - 1) // 2, LARGEST_D))
        return Dimension(d) if d is not None else Dimension(None, Ending.UNREACHABLE)


def _command(code: Construction, d: int, K: int) -> str:
    """Return the command that builds K points in d dimensions, as good as the construction.

    Sums and cross sections have no name: `solve` takes the best construction by itself, and may
    also search.
    """
    entry = find(code.name)
    if entry is not None and entry.d <= d and entry.K >= K and entry.cosine == code.cosine:
        return f"gnc solve --d {d} --K {K} --construction {code.name}"
    return f"gnc solve --d {code.d} --K {code.K}"
