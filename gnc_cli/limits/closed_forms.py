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
import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

from gnc_cli.constructions.families.theorem_3_3 import closed_form
from gnc_cli.limits.limit import (
    LARGEST_D,
    Count,
    Dimension,
    Ending,
    Finding,
    Limit,
    counted,
    reaches,
)


def simplex_points(d: int, target: Fraction) -> int:
    """The largest K <= d + 1 with K / (K - 1) >= target, for targets in (1, 2].

    Example:
        >>> simplex_points(10, Fraction(5, 4))
        5
    """
    return min(d + 1, math.floor(target / (target - 1)))


def simplex_dimension(K: int, target: Fraction) -> Dimension:
    """The smallest d where K points reach a target above 1: with a simplex, or never."""
    if Fraction(K, K - 1) < target:
        return Dimension(None, Ending.NEVER)
    return _within_reach(max(2, K - 1))


def _within_reach(d: int) -> Dimension:
    return Dimension(d) if d <= LARGEST_D else Dimension(None, Ending.BEYOND)


def _polygon_points(target: Fraction) -> Count | None:
    """The largest K whose polygon reaches the target."""
    import mpmath

    def formula() -> Any:
        half = mpmath.mpf(target.numerator) / (2 * target.denominator)
        return mpmath.pi / mpmath.asin(mpmath.sqrt(half))

    return counted(float(mpmath.log10(formula())), formula)


class _Lower(Limit):
    """The codes themselves, whose one-vs-rest distance is their clearance.

    Example:
        >>> THEOREM_3_3_LOWER.at(3, 6).value
        1.0
    """

    name = "theorem-3.3"
    source = "theorem 3.3 (arXiv 2310.05351)"
    exists = True
    constructive = True

    def at(self, d: int, K: int) -> Finding | None:
        form = closed_form(d, K)
        return None if form is None else Finding(form.rho, source=_source(d, K), how=_how(d, K))

    def points(self, d: int, target: Fraction) -> Count | None:
        if target > 1:
            count: Count | None = _whole(simplex_points(d, target))
        else:
            count = _polygon_points(target) if d == 2 else _whole(2 * d)
        if count is None or count.exact is None:
            return count
        return replace(count, source=_source(d, count.exact), how=_how(d, count.exact))

    def dimension(self, K: int, target: Fraction) -> Dimension:
        if target > 1:
            return simplex_dimension(K, target)
        return Dimension(2) if _in_plane(K, target) else _within_reach(max(2, (K + 1) // 2))


class _Upper(Limit):
    """The same values as optima: what K points cannot exceed.

    Example:
        >>> THEOREM_3_3_UPPER.at(3, 4).value == 4 / 3
        True
    """

    name = "theorem-3.3"
    source = "theorem 3.3 (arXiv 2310.05351)"
    exists = False
    of_rho = True

    def at(self, d: int, K: int) -> Finding | None:
        form = closed_form(d, K)
        if form is None:
            return None
        return Finding(max(form.rho, sys.float_info.min), source=_source(d, K))

    def points(self, d: int, target: Fraction) -> Count | None:
        if target > 1:
            return _whole(simplex_points(d, target))
        return _polygon_points(target) if d == 2 else None

    def dimension(self, K: int, target: Fraction) -> Dimension:
        if target > 1:
            return simplex_dimension(K, target)
        return Dimension(2 if _in_plane(K, target) else 3)


def _whole(K: int) -> Count:
    return Count(math.log10(K), K)


def _source(d: int, K: int) -> str | None:
    form = closed_form(d, K)
    return None if form is None else f"theorem 3.3: {form.name}"


def _in_plane(K: int, target: Fraction) -> bool:
    """Whether the regular K-gon, or the simplex of 2 or 3 points, reaches the target."""
    form = closed_form(2, K)
    return form is not None and reaches(form.rho, target)


def _how(d: int, K: int) -> str:
    return f"gnc solve --d {d} --K {K}"


THEOREM_3_3_LOWER = _Lower()
THEOREM_3_3_UPPER = _Upper()
