"""Theorem 3.3: where the best code is known in closed form, from both sides.

| where            | code            | rho* and the code's own clearance |
|------------------|-----------------|-----------------------------------|
| K <= d + 1       | simplex ETF     | K / (K - 1)                       |
| d + 2 <= K <= 2d | orthoplex       | 1                                 |
| d = 2            | regular polygon | 1 - cos(2 pi / K)                 |

rho* never grows with K, for a row left out only moves the hull away, and never shrinks with d. So a
code of K points guarantees all smaller K, and an optimum at K excludes all larger K.
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
    counted,
)


def simplex_points(d: int, target: Fraction) -> int:
    """The largest K <= d + 1 with K / (K - 1) >= target, for targets in (1, 2]."""
    return min(d + 1, math.floor(target / (target - 1)))


def simplex_dimension(K: int, target: Fraction) -> Dimension:
    """The smallest d where K points reach a target above 1: with a simplex, or never."""
    if Fraction(K, K - 1) < target:
        return Dimension(None, Ending.NEVER)
    return _within_reach(max(2, K - 1))


def _within_reach(d: int) -> Dimension:
    return Dimension(d) if d <= LARGEST_D else Dimension(None, Ending.BEYOND)


def _points(d: int, target: Fraction) -> Count | None:
    """The largest simplex, or polygon in the plane, that reaches the target; else None."""
    from flint import arb

    if target > 1:
        return Count.of(simplex_points(d, target))
    return counted(lambda: arb.pi() / ball(target / 2).sqrt().asin()) if d == 2 else None


class _Theorem33(Limit):
    """What both sides share."""

    name = "theorem-3.3"
    source = "theorem 3.3 (arXiv 2310.05351)"

    def at(self, d: int, K: int) -> Finding | None:
        form = closed_form(d, K)
        if form is None:
            return None
        how = f"gnc solve --d {d} --K {K}" if self.exists else None
        return Finding(form.rho, source=f"theorem 3.3: {form.name}", how=how)

    @staticmethod
    def _in_plane(K: int, target: Fraction) -> bool:
        """Whether the regular K-gon, or the simplex of 2 or 3 points, reaches the target."""
        form = closed_form(2, K)
        return form is not None and form.rho >= target


class _Lower(_Theorem33):
    """The codes themselves, whose one-vs-rest distance is their clearance."""

    exists = True

    def points(self, d: int, target: Fraction) -> Count | None:
        count = _points(d, target) or Count.of(2 * d)
        if count.exact is None:
            return count
        finding = self.at(d, count.exact)
        assert finding is not None
        return replace(count, source=finding.source, how=finding.how)

    def dimension(self, K: int, target: Fraction) -> Dimension:
        if target > 1:
            return simplex_dimension(K, target)
        return Dimension(2) if self._in_plane(K, target) else _within_reach(max(2, (K + 1) // 2))


class _Upper(_Theorem33):
    """The same values as optima: what K points cannot exceed."""

    exists = False
    of_rho = True

    def points(self, d: int, target: Fraction) -> Count | None:
        return _points(d, target)

    def dimension(self, K: int, target: Fraction) -> Dimension:
        if target > 1:
            return simplex_dimension(K, target)
        return Dimension(2 if self._in_plane(K, target) else 3)


THEOREM_3_3_LOWER = _Lower()
THEOREM_3_3_UPPER = _Upper()
