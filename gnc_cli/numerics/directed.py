"""Doubles on the side of an exact number that keeps a bound true."""

import math
from fractions import Fraction

__all__ = ["rounded_down", "rounded_up"]


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
