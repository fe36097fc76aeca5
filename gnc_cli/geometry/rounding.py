"""How far floating-point sums can stray, and directed rounding: what turns brackets into proofs.

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

_COARSE = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}
UNDERFLOW = 1e-150
"""A length computed in float64 lacks less than this where squares of its entries underflow."""


def spacing(dtype: str) -> float:
    """Spacing at 1 of the numbers of a dtype; 0 for integers and what is not known.

    A unit row stored so is off by half of it, distances and cosines of two rows by all of it.
    """
    return _COARSE.get(dtype, 0.0)


def stored_digits(rows: np.ndarray) -> str:
    """Return the narrowest dtype that holds float64 rows (K, d) exactly, which no cast to a wider
    type changes; empty for rows of one exact length, which belong to an exact code.

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
    """`n u / (1 - n u)`: the relative error that n roundings in a row can reach.

    One more rounding is counted, which pays for evaluating the bound itself.

    Raises:
        ValueError: there are too many roundings, so that no digit is left.
    """
    product = (n + 1) * unit
    if product >= 0.5:
        raise ValueError(f"{n} roundings of size {unit:.1e} leave no digit; use float64")
    return product / (1.0 - product)


def rounded_down(value: Fraction) -> float:
    """The largest double that is not above a value.

    Example:
        >>> rounded_down(Fraction(3, 4)), rounded_down(Fraction(2, 3)) < Fraction(2, 3)
        (0.75, True)
    """
    near = float(value)
    return near if near <= value else math.nextafter(near, -math.inf)


def rounded_up(value: Fraction) -> float:
    """The smallest double that is not below a value."""
    return -rounded_down(-value)
