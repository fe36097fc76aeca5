"""How many points can have cosines of at most s: published bounds on kissing numbers (s = 1/2), and
the sizes of optimal codes.

Delsarte's linear programme gives the kissing number in 8 and 24 dimensions and little more than it
elsewhere; in between, bounds on triples of points are better, and some show more than that a code
is optimal: that no code with its cosine has one point more. More points than the bound have a
largest cosine above s: their clearance is strictly below 1 - s, by an amount that nobody states. So
`at` says 1 - s, while `points` and `dimension` exclude a target of 1 - s itself.

`data/known_codes/cardinality.csv` holds the bounds with their sources. Those that are numerical, or
certified but not refereed, are shown beside the others, and nothing is proved by them.
"""

from collections.abc import Iterable
from fractions import Fraction

from gnc_cli.geometry.rounding import rounded_up
from gnc_cli.known_codes.table import Cardinality, stored_cardinalities
from gnc_cli.limits.limit import Count, Dimension, Finding, Limit

_TIE = Fraction(1, 10**12)
"""Targets from here on below 1 - s count as 1 - s: one that is typed as 1/2 comes loosened by a
relative 1e-13. It is a tie as everywhere, decided for the user."""
_HALF = Fraction(1, 2)


class CardinalityLimit(Limit):
    """The best of a list of bounds: each holds in fewer dimensions and for smaller cosines too."""

    source = "published bounds on kissing numbers and sizes of codes"
    exists = False
    listed = True

    def __init__(self, name: str, bounds: Iterable[Cardinality], *, proved: bool = True) -> None:
        self.name, self.proved = name, proved
        self._bounds = sorted(bounds, key=lambda bound: (-bound.cosine, bound.K))

    def at(self, d: int, K: int) -> Finding | None:
        bound = next((b for b in self._bounds if b.d >= d and b.K < K), None)
        if bound is None:
            return None
        return Finding(rounded_up(1 - bound.cosine), strict=True, source=_cited(bound))

    def points(self, d: int, target: Fraction) -> Count | None:
        """The fewest points of the bounds in d dimensions or more that the target, or a tie with
        it, is excluded by."""
        excluding = [b for b in self._bounds if b.d >= d and target >= 1 - b.cosine - _TIE]
        bound = min(excluding, key=lambda b: b.K, default=None)
        return None if bound is None else Count.of(bound.K, source=_cited(bound))

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """The smallest d that admits K points, for this target; 2 where nothing is excluded."""
        excluding = (b.d for b in self._bounds if K > b.K and target >= 1 - b.cosine - _TIE)
        return Dimension(max(excluding, default=1) + 1)


def _cited(bound: Cardinality) -> str:
    kind = "kissing number" if bound.cosine == _HALF else f"code with cosines up to {_text(bound)}"
    status = "" if bound.status == "proved" else f" ({_STATUS[bound.status]})"
    return f"{kind} in {bound.d} dimensions at most {bound.K}{status}: {bound.source}"


def _text(bound: Cardinality) -> str:
    exact = bound.cosine.denominator < 10**6
    return str(bound.cosine) if exact else f"{float(bound.cosine):.10g}"


_STATUS = {"certified": "certified, not refereed", "numerical": "numerical, not rigorous"}
CARDINALITY, UNPROVED_CARDINALITY = (
    CardinalityLimit(
        name, (b for b in stored_cardinalities() if (b.status == "proved") is proved), proved=proved
    )
    for name, proved in (("cardinality", True), ("numerical-bound", False))
)
