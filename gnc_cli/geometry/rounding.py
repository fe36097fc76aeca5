"""Error bounds of floating-point sums, and directed rounding: they turn brackets into proofs.

Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed. (2002), section 3.1:
an inner product of n terms, added in any order, with or without fused multiply-add, is off by at
most `gamma(n) * |x| . |y|`, and `|x| . |y| <= norm(x) * norm(y)`. Underflow matters only where a
length is computed from squares.
"""

import math
from fractions import Fraction

import numpy as np

UNIT = float(np.finfo(np.float64).eps) / 2
"""Unit roundoff of float64: rounding to nearest is off by at most this, relatively."""

UNIT32 = float(np.finfo(np.float32).eps) / 2
"""Unit roundoff of float32."""

_SPACINGS = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}
"""Spacing at 1 of the numbers of each dtype."""
UNDERFLOW = 1e-150
"""Largest error of a length in float64 through squares of its entries that underflow."""


def spacing(dtype: str) -> float:
    """Return the spacing at 1 of the numbers of a dtype; 0 for integers and unknown types.

    A stored unit row is off by at most half of it, a distance or cosine of two rows by all of it.
    """
    return _SPACINGS.get(dtype, 0.0)


def stored_digits(rows: np.ndarray) -> str:
    """Return the narrowest dtype that represents float64 rows (K, d) exactly.

    Casts to wider types do not change it. Empty for rows of one exact length, which belong to an
    exact code.

    Example:
        >>> stored_digits(np.array([[0.5, 0.1], [0.25, 0.0]])), stored_digits(np.eye(2))
        ('float64', '')
    """
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(rows, dtype=np.float32)
        half = np.array_equal(single.astype(np.float16), rows)
        exact = np.ptp(np.einsum("kd,kd->k", rows, rows)) == 0.0
    if exact or not np.array_equal(single, rows):
        return "" if exact else "float64"
    brain = not (single.view(np.uint32) & 0xFFFF).any()
    return "bfloat16" if brain else "float16" if half else "float32"


def gamma(n: int, unit: float = UNIT) -> float:
    """Return `n u / (1 - n u)`, the largest relative error of n successive roundings.

    One more rounding is counted, which pays for evaluating the bound itself.

    Raises:
        ValueError: after this number of roundings no digit is correct.
    """
    product = (n + 1) * unit
    if product >= 0.5:
        raise ValueError(f"{n} roundings of size {unit:.1e} leave no digit; use float64")
    return product / (1.0 - product)


def rounded_down(value: Fraction) -> float:
    """Return the largest double that is not above a value.

    Example:
        >>> rounded_down(Fraction(3, 4)), rounded_down(Fraction(2, 3)) < Fraction(2, 3)
        (0.75, True)
    """
    nearest = float(value)
    return nearest if nearest <= value else math.nextafter(nearest, -math.inf)


def rounded_up(value: Fraction) -> float:
    """Return the smallest double that is not below a value."""
    return -rounded_down(-value)
