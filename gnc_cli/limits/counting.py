"""Numbers of points: exact where they have up to fifteen digits, a power of ten beyond."""

import math
from collections.abc import Callable
from typing import Any

from gnc_cli.limits.limit import Count

__all__ = ["counted"]

_DIGITS = 15
_TIE = 1e-10
"""A formula that is so near below a whole number means it."""


def counted(log10: float, formula: Callable[[], Any]) -> Count | None:
    """The whole number below a formula's value.

    Args:
        log10: of the value, good to ten digits.
        formula: the value as an mpmath number or a fraction; called with 40 digits of precision,
            and only where the value has at most fifteen.

    Returns:
        None below 2.

    Example:
        >>> from fractions import Fraction
        >>> counted(2.38, lambda: Fraction(240)).exact
        240
    """
    if log10 > _DIGITS:
        return Count(log10)
    import mpmath

    with mpmath.workdps(40):
        value = formula()
        whole = math.floor(value + _TIE if isinstance(value, mpmath.mpf) else value)
    return Count(math.log10(whole), whole) if whole >= 2 else None
