"""Bounds that come from lists: codes that are known, and codes that are excluded.

A known code, a numerical one or a construction of more points or in fewer dimensions counts too:
its first K points, with zeros appended, are a code of (d, K). Values are rounded to the side on
which they are true.

What is excluded are codes of K points in R^d that are better than a clearance. What K points in d
dimensions cannot have, neither can more points, nor fewer dimensions. If a bound excludes K points
whose cosines are at most s, then a code has a largest cosine above s: its clearance is strictly
below 1 - s, by an amount that nobody states. So `at` says 1 - s, while `points` and `dimension`
exclude a target of 1 - s itself. A proved optimum is attained.

`data/known_codes/cardinality.csv` holds bounds on kissing numbers (s = 1/2) and on the sizes of
optimal codes, with their sources. Delsarte's linear programme gives the kissing number in 8 and 24
dimensions and little more than it elsewhere; in between, bounds on triples of points are better.
Bounds that are numerical, or certified but not refereed, are shown beside the others, and nothing
is proved by them.

A certificate of Bachoc and Vallentin's three-point bound, for (d', K', s), says that every code of
K' points in R^d' has a largest cosine above s (`three_point_certificate` has the theorem), which
excludes like the others. `data/known_codes/certificates/three_point.csv` lists those that ship,
beside their files. They were checked before they were stored, and `gnc bounds --verify` checks each
again.
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

_HALF = Fraction(1, 2)
STANDING = {
    "certified": "certified, not refereed",
    "numerical": "no rigorous certificate at hand",
}
"""Why bounds that are published are not counted as proved."""
_DEGREE = 8
"""Of programmes that are solved on demand, in about ten seconds."""
_THREE_POINT = "Bachoc and Vallentin 2008"
_ONE_CODE = 1e-11
"""Entries and constructions whose cosines are this near are one code, rounded in its 12th digit."""


@dataclass(frozen=True)
class Exclusion:
    """What no code of K points in R^d is better than."""

    d: int
    K: int
    finding: Finding

    @classmethod
    def above(cls, d: int, K: int, cosine: Fraction, source: str) -> "Exclusion":
        """Every code of K points in R^d has a cosine above one."""
        return cls(d, K, Finding(rounded_up(1 - cosine), strict=True, source=source))

    def excludes(self, target: Fraction) -> bool:
        """Whether no code has this clearance."""
        value = Fraction(self.finding.value)
        return target >= least_excluded(value) if self.finding.strict else target > value


class ExclusionLimit(Limit):
    """The best of a list of exclusions."""

    exists = False
    listed = True

    def __init__(
        self, name: str, source: str, exclusions: Iterable[Exclusion], *, proved: bool = True
    ) -> None:
        self.name, self.source, self.proved = name, source, proved
        self._best_first = sorted(exclusions, key=lambda e: (e.finding.value, e.K, e.d))

    def best(self, d: int, K: int) -> Exclusion | None:
        """The best one of K or fewer points in R^d or more dimensions."""
        return next((e for e in self._best_first if e.d >= d and e.K <= K), None)

    def at(self, d: int, K: int) -> Finding | None:
        best = self.best(d, K)
        return None if best is None else best.finding

    def points(self, d: int, target: Fraction) -> Count | None:
        """One less than the fewest points that are excluded in d dimensions or more."""
        excluding = [e for e in self._best_first if e.d >= d and e.excludes(target)]
        fewest = min(excluding, key=lambda e: e.K, default=None)
        return None if fewest is None else Count.of(fewest.K - 1, source=fewest.finding.source)

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """One above the largest dimension that is excluded; 2 where none is."""
        excluded = (e.d for e in self._best_first if e.K <= K and e.excludes(target))
        return Dimension(max(excluded, default=1) + 1)


def _cardinality(name: str, *, proved: bool) -> ExclusionLimit:
    bounds = [b for b in stored_cardinalities() if (b.status == "proved") is proved]
    exclusions = [Exclusion.above(b.d, b.K + 1, b.cosine, _cited(b)) for b in bounds]
    source = "published bounds on kissing numbers and sizes of codes"
    return ExclusionLimit(name, source, exclusions, proved=proved)


def _cited(bound: Cardinality) -> str:
    exact = bound.cosine.denominator < 10**6
    text = str(bound.cosine) if exact else f"{float(bound.cosine):.10g}"
    kind = "kissing number" if bound.cosine == _HALF else f"code with cosines up to {text}"
    status = "" if bound.status == "proved" else f" ({STANDING[bound.status]})"
    return f"{kind} in {bound.d} dimensions at most {bound.K}{status}: {bound.source}"


CARDINALITY = _cardinality("cardinality", proved=True)
UNPROVED_CARDINALITY = _cardinality("numerical-bound", proved=False)


@cache
def proved_optimum() -> ExclusionLimit:
    """The codes proved optimal: single constructions that are, and entries of our table."""
    entries = our_copy().entries.items()
    optima = {at: (e.interval[0], e.optimality or e.source) for at, e in entries if e.proven}
    optima |= {
        (code.d, code.K): (code.cosine.between[0], f"{code.name}, {code.optimality}")
        for code in single_codes()
        if code.optimality
    }
    exclusions = [
        Exclusion(d, K, Finding(rounded_up(1 - low), source=f"optimal code ({d}, {K}): {cited}"))
        for (d, K), (low, cited) in optima.items()
    ]
    return ExclusionLimit("proved-optimum", "codes proved optimal", exclusions)


@cache
def stored_certificates() -> list[Exclusion]:
    """Return what the three-point certificates that ship exclude."""
    path = data_folder() / "certificates" / "three_point.csv"
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    cited = _THREE_POINT + "; certificate of ({d}, {K}), {file}"
    return [
        Exclusion.above(int(r["d"]), int(r["K"]), Fraction(r["cosine"]), cited.format(**r))
        for r in rows
    ]


class ThreePointLimit(ExclusionLimit):
    """The three-point bound: the best stored certificate; on demand also one that is computed for
    the pair itself.
    """

    def __init__(
        self,
        *,
        compute: bool = False,
        deadline: Deadline | None = None,
        progress: StageProgress | None = None,
    ) -> None:
        """
        Args:
            compute: whether `solve` computes a certificate for a pair without a stored one.
            deadline: of these computations.
            progress: of each of them.
        """
        super().__init__("three-point", _THREE_POINT, stored_certificates())
        self._compute, self._deadline, self._progress = compute, deadline, progress
        self.certificate: ThreePointCertificate | None = None
        """That of the last pair, where it is better than the stored ones."""

    def solve(self, d: int, K: int) -> Finding | None:
        self.certificate = None
        best = self.best(d, K)
        if not self._compute or (best is not None and (best.d, best.K) == (d, K)):
            return None
        from gnc_cli.limits.claim import Unresolved
        from gnc_cli.limits.three_point_programme import three_point_certificate

        try:
            certificate = three_point_certificate(d, K, _DEGREE, self._deadline, self._progress)
        except Unresolved:
            self.declined = True
            return None
        if certificate is None:
            self.silent += 1
            return None
        source = f"{_THREE_POINT}; computed, proved in whole numbers"
        own = Exclusion.above(d, K, Fraction(certificate.cosine), source).finding
        if best is not None and best.finding.value <= own.value:
            return None
        self.certificate = certificate
        return own


def claimed_codes(table: KnownCodes) -> "CodeList":
    """What our copy and the user's table say that somebody claims."""
    distinct = dict.fromkeys((*our_copy().claims, *table.claims))
    # Of two claims on one pair the better one counts.
    claims = sorted(distinct, key=lambda claim: -claim.exact)
    codes = KnownCodes(table.stamp, {(claim.d, claim.K): claim for claim in claims})
    return CodeList("claimed-code", "claims that nobody has vetted", codes, proved=False)


class CodeList(Limit):
    """The best of a list of codes with K points or more in d dimensions or fewer."""

    exists = True
    listed = True

    def __init__(
        self,
        name: str,
        source: str,
        codes: KnownCodes,
        *,
        of_rho: bool = False,
        proved: bool = True,
    ) -> None:
        self.name, self.source, self.of_rho, self.proved = name, source, of_rho, proved
        self._codes = codes
        self._sums = proved and not of_rho
        """Whether entries may be put into orthogonal subspaces."""

    @cached_property
    def _clearances(self) -> list[tuple[KnownCode, float]]:
        """Every code with its clearance, the best first."""
        return [(code, _clearance(code)) for code in self._codes.best_first]

    def at(self, d: int, K: int) -> Finding | None:
        code = self._codes.summed(d, K) if self._sums else None
        code = code or self._codes.covering(d, K)
        if code is None:
            return None
        return Finding(_clearance(code), source=_entry_source(code), how=_entry_command(code, d, K))

    def points(self, d: int, target: Fraction) -> Count | None:
        least = rounded_up(target)
        reached = [code for code, value in self._clearances if code.d <= d and value >= least]
        if self._sums and (code := self._codes.fullest(d, rounded_down(1 - target))) is not None:
            reached.append(code)
        code = max(reached, key=lambda code: code.K, default=None)
        if code is None:
            return None
        return Count.of(code.K, _entry_source(code), _entry_command(code, d, code.K))

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """Of the codes that are large and good enough, that of fewest dimensions."""
        least = rounded_up(target)
        found = [code.d for code, value in self._clearances if code.K >= K and value >= least]
        if self._sums:
            most = min(found, default=LARGEST_D)
            d = self._codes.summands.dimension(K, rounded_down(1 - target), most)
            found += [] if d is None else [d]
        return Dimension(min(found)) if found else Dimension(None, Ending.NEVER)


def _clearance(entry: KnownCode) -> float:
    """Certainly had; of a numerical code as its certificate says."""
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
    """What gives K points in d dimensions of the entry's code: theorem 3.3, a construction, stored
    coordinates, or the search that found it.
    """
    if entry.K <= 2 * entry.d:
        return f"gnc solve --d {d} --K {K}"
    code = None if entry.status == STATUS_SOLVED else constructed(entry.d, entry.K)
    if code is not None and abs(code.cosine.value - entry.max_cosine) <= _ONE_CODE:
        return _command(code, d, K)
    from gnc_cli.known_codes.stored import stored_entry

    stored = stored_entry(entry.d, entry.K)
    if stored is not None and abs(stored.max_cosine - entry.max_cosine) <= _ONE_CODE:
        return f"gnc solve --d {entry.d} --K {entry.K} --construction known"
    return entry.command


class ConstructionLimit(Limit):
    """The best construction: whole or in part, cross sections, orthogonal sums.

    Silent where theorem 3.3 rules (K <= 2 d).
    """

    name = "construction"
    source = "constructions, see gnc solve --list-constructions"
    exists = True
    listed = True

    def at(self, d: int, K: int) -> Finding | None:
        code = constructed(d, K) if K > 2 * d else None
        if code is None:
            return None
        value = rounded_down(1 - code.cosine.between[1])
        return Finding(value, source=f"{code.origin}: {code.reference}", how=_command(code, d, K))

    def points(self, d: int, target: Fraction) -> Count | None:
        code = largest_construction(d, float(1 - target))
        if code is None or code.K <= 2 * d:
            return None
        return Count.of(code.K, f"{code.origin}: {code.reference}", _command(code, d, code.K))

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """Theorem 3.3 rules from K/2 dimensions on."""
        most = min((K - 1) // 2, LARGEST_D)
        d = least_dimension(K, rounded_down(1 - target), most)
        return Dimension(d) if d is not None else Dimension(None, Ending.NEVER)


def _command(code: Construction, d: int, K: int) -> str:
    """What builds K points in d dimensions that are at least as good as the construction.

    Sums and cross sections have no name: `solve` takes the best construction by itself, and may
    search beside it.
    """
    whole = find(code.name)
    if whole is not None and whole.d <= d and whole.K >= K and whole.cosine == code.cosine:
        return f"gnc solve --d {d} --K {K} --construction {code.name}"
    return f"gnc solve --d {code.d} --K {code.K}"
