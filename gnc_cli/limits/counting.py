"""Numbers of points: exact where they have up to fifteen digits, a power of ten beyond."""

import math
from collections.abc import Callable
from typing import Any

from gnc_cli.limits.limit import Count

__all__ = ["counted"]

_DIGITS = 15
_PRECISION = 40
_ROUNDING = 1e-25
"""Relative, of a formula; what is so near below a whole number means it."""


def counted(log10: float, formula: Callable[[], Any]) -> Count | None:
    """The whole number below a formula's value, which is taken as it is: no near miss counts.

    Args:
        log10: of the value, good to ten digits.
        formula: the value as an mpmath number, right to 25 digits; called with 40 digits of
            precision, and only where the value has at most fifteen.

    Returns:
        None below 2.

    Example:
        >>> from mpmath import mpf
        >>> counted(2.38, lambda: 2 / mpf("0.0083333333333333333333333333333333")).exact
        240
        >>> counted(2.38, lambda: 2 / mpf("0.0083333333333334")).exact
        239
    """
    if log10 > _DIGITS:
        return Count(log10)
    import mpmath

    with mpmath.workdps(_PRECISION):
        # Of an mpmath number `math.floor` takes the double.
        whole = int(formula() * (1 + mpmath.mpf(_ROUNDING)))
    return Count(math.log10(whole), whole) if whole >= 2 else None
