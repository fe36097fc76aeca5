"""Lists of what is excluded: codes of K points in R^d that are better than a clearance.

What K points in d dimensions cannot have, neither can more points, nor fewer dimensions. If a bound
excludes K points whose cosines are at most s, then a code has a largest cosine above s: its
clearance is strictly below 1 - s, by an amount that nobody states. So `at` says 1 - s, while
`points` and `dimension` exclude a target of 1 - s itself. A proved optimum is attained.

`data/known_codes/cardinality.csv` holds bounds on kissing numbers (s = 1/2) and on the sizes of
optimal codes, with their sources. Delsarte's linear programme gives the kissing number in 8 and 24
dimensions and little more than it elsewhere; in between, bounds on triples of points are better.
Bounds that are numerical, or certified but not refereed, are shown beside the others, and nothing
is proved by them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from gnc_cli.constructions.registry import single_codes
from gnc_cli.geometry.rounding import rounded_up
from gnc_cli.known_codes.table import Cardinality, our_copy, stored_cardinalities
from gnc_cli.limits.limit import Count, Dimension, Finding, Limit, least_excluded

_HALF = Fraction(1, 2)
STANDING = {
    "certified": "certified, not refereed",
    "numerical": "no rigorous certificate at hand",
}
"""Why bounds that are published are not counted as proved."""


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
    optima = {at: (e.between[0], e.optimality or e.source) for at, e in entries if e.proven}
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
