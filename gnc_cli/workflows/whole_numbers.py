"""Dimensions and sizes as Python callers give them: one whole number or several."""

import math
from collections.abc import Iterable
from typing import Any

from gnc_cli.errors import UsageError

__all__ = ["whole_numbers"]


def whole_numbers(
    option: str, value: Any, *, most: int | None = None
) -> tuple[int, ...] | None:
    """One whole number or several, each once, at least 2; `1e6` is whole.

    Args:
        option: named in errors.
        value: a number, an iterable of numbers, or None.
        most: the largest value allowed.

    Raises:
        UsageError: an empty list, or a number that is not whole or out of range.

    Example:
        >>> whole_numbers("--K", [100, 1e3, 100])
        (100, 1000)
    """
    if value is None:
        return None
    several = isinstance(value, Iterable) and not isinstance(value, str)
    values = tuple(value) if several else (value,)
    if not values:
        raise UsageError(f"{option} is an empty list; give at least one number")
    return tuple(dict.fromkeys(_whole(option, item, most) for item in values))


def _whole(option: str, item: Any, most: int | None) -> int:
    whole = hasattr(item, "__index__") or (isinstance(item, float) and item.is_integer())
    if isinstance(item, bool) or not whole:
        raise UsageError(f"{option} {item!r} is not a whole number")
    number = int(item)
    if number < 2:
        raise UsageError(f"{option} {number} is below 2")
    if most is not None and number > most:
        raise UsageError(f"{option} {_said(number)} is too large; give at most {most:g}")
    return number


def _said(number: int) -> str:
    """In full, or by its size: Python does not write numbers of thousands of digits."""
    digits = int(number.bit_length() * math.log10(2.0))
    return str(number) if digits < 18 else f"of some {digits} digits"
