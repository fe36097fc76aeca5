"""Theorem 3.3: pairs whose best code is known in closed form, from both sides.

| condition        | code            | rho* and the clearance of the code |
|------------------|-----------------|------------------------------------|
| K <= d + 1       | simplex ETF     | K / (K - 1)                        |
| d + 2 <= K <= 2d | orthoplex       | 1                                  |
| d = 2            | regular polygon | 1 - cos(2 pi / K)                  |

rho* never grows with K, because omitting a row only moves the hull away, and never shrinks with d.
So a code of K points guarantees all smaller K, and an optimum at K excludes all larger K.
"""

import math
from dataclasses import replace
from fractions import Fraction

from gnc_cli.constructions.families.theorem_3_3 import closed_form
from gnc_cli.limits.limit import (
    LARGEST_D,
    Count,
    Dimension,
    Ending,
    Finding,
    Limit,
    ball,
    count_below,
)


def simplex_points(d: int, target: Fraction) -> int:
    """Return the largest K <= d + 1 with K / (K - 1) >= target, for targets in (1, 2]."""
    return min(d + 1, math.floor(target / (target - 1)))


def simplex_dimension(K: int, target: Fraction) -> Dimension:
    """Return the smallest d in which K points reach a target above 1: a simplex, or none."""
    if Fraction(K, K - 1) < target:
        return Dimension(None, Ending.UNREACHABLE)
    return _within_reach(max(2, K - 1))


def _within_reach(d: int) -> Dimension:
    return Dimension(d) if d <= LARGEST_D else Dimension(None, Ending.OUT_OF_RANGE)


class _Theorem33(Limit):
    """One side of the theorem: the codes, or their values as optima that K points cannot exceed."""

    name = "theorem-3.3"
    source = "theorem 3.3 (arXiv 2310.05351)"

    def __init__(self, *, exists: bool) -> None:
        self.exists, self.bounds_rho = exists, not exists

    def evaluate(self, d: int, K: int) -> Finding | None:
        """Return the value of the closed form; see `Limit.evaluate`."""
        form = closed_form(d, K)
        if form is None:
            return None
        command = f"gnc solve --d {d} --K {K}" if self.exists else None
        source = f"theorem 3.3: {form.name}" if self.exists else f"{form.optimality}; theorem 3.3"
        return Finding(form.rho, source=source, command=command)

    def points(self, d: int, target: Fraction) -> Count | None:
        """Return the size of a simplex, of a polygon in the plane, or else of the orthoplex."""
        from flint import arb

        if target <= 1 and d == 2:
            count = count_below(lambda: arb.pi() / ball(target / 2).sqrt().asin())
        elif target <= 1:
            count = Count.from_number(2 * d) if self.exists else None
        else:
            count = Count.from_number(simplex_points(d, target))
        if not self.exists or count is None or count.exact is None:
            return count
        finding = self.evaluate(d, count.exact)
        assert finding is not None
        return replace(count, source=finding.source, command=finding.command)

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """Return the dimension of a simplex, a polygon or an orthoplex; see `Limit.dimension`."""
        if target > 1:
            return simplex_dimension(K, target)
        polygon = closed_form(2, K)
        if polygon is not None and polygon.rho >= target:
            return Dimension(2)
        return _within_reach(max(2, (K + 1) // 2)) if self.exists else Dimension(3)


THEOREM_3_3_LOWER = _Theorem33(exists=True)
THEOREM_3_3_UPPER = _Theorem33(exists=False)
