"""Lists of what is excluded: K points in R^d whose cosines are all at most s.

What K points in d dimensions cannot have, neither can more points, nor fewer dimensions. A code has
a largest cosine above s then: its clearance is strictly below 1 - s, by an amount that nobody
states. So `at` says 1 - s, while `points` and `dimension` exclude a target of 1 - s itself.

`data/known_codes/cardinality.csv` holds bounds on kissing numbers (s = 1/2) and on the sizes of
optimal codes, with their sources. Delsarte's linear programme gives the kissing number in 8 and 24
dimensions and little more than it elsewhere; in between, bounds on triples of points are better.
Bounds that are numerical, or certified but not refereed, are shown beside the others, and nothing
is proved by them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from gnc_cli.geometry.rounding import rounded_up
from gnc_cli.known_codes.table import Cardinality, stored_cardinalities
from gnc_cli.limits.limit import Count, Dimension, Finding, Limit, least_excluded

_HALF = Fraction(1, 2)
_STATUS = {"certified": "certified, not refereed", "numerical": "numerical, not rigorous"}


@dataclass(frozen=True)
class Exclusion:
    """Every code of K points in R^d has a cosine above `cosine`."""

    d: int
    K: int
    cosine: Fraction
    source: str


class ExclusionLimit(Limit):
    """The best of a list of exclusions."""

    exists = False
    listed = True

    def __init__(
        self, name: str, source: str, exclusions: Iterable[Exclusion], *, proved: bool = True
    ) -> None:
        self.name, self.source, self.proved = name, source, proved
        self._exclusions = sorted(exclusions, key=lambda e: (-e.cosine, e.K))

    def best(self, d: int, K: int) -> Exclusion | None:
        """That of the largest cosine: of K or fewer points in R^d or more dimensions."""
        return next((e for e in self._exclusions if e.d >= d and e.K <= K), None)

    def at(self, d: int, K: int) -> Finding | None:
        best = self.best(d, K)
        if best is None:
            return None
        return Finding(rounded_up(1 - best.cosine), strict=True, source=best.source)

    def points(self, d: int, target: Fraction) -> Count | None:
        """One less than the fewest points that are excluded in d dimensions or more."""
        excluding = (e for e in self._excluding(target) if e.d >= d)
        fewest = min(excluding, key=lambda e: e.K, default=None)
        return None if fewest is None else Count.of(fewest.K - 1, source=fewest.source)

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """One above the largest dimension that is excluded; 2 where none is."""
        excluded = (e.d for e in self._excluding(target) if e.K <= K)
        return Dimension(max(excluded, default=1) + 1)

    def _excluding(self, target: Fraction) -> Iterable[Exclusion]:
        return (e for e in self._exclusions if target >= least_excluded(1 - e.cosine))


def _cardinality(name: str, *, proved: bool) -> ExclusionLimit:
    bounds = (b for b in stored_cardinalities() if (b.status == "proved") is proved)
    exclusions = (Exclusion(b.d, b.K + 1, b.cosine, _cited(b)) for b in bounds)
    source = "published bounds on kissing numbers and sizes of codes"
    return ExclusionLimit(name, source, exclusions, proved=proved)


def _cited(bound: Cardinality) -> str:
    exact = bound.cosine.denominator < 10**6
    text = str(bound.cosine) if exact else f"{float(bound.cosine):.10g}"
    kind = "kissing number" if bound.cosine == _HALF else f"code with cosines up to {text}"
    status = "" if bound.status == "proved" else f" ({_STATUS[bound.status]})"
    return f"{kind} in {bound.d} dimensions at most {bound.K}{status}: {bound.source}"


CARDINALITY = _cardinality("cardinality", proved=True)
UNPROVED_CARDINALITY = _cardinality("numerical-bound", proved=False)
