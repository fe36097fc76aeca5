"""Figures as a person reads them, rounded so that what is shown stays true."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

__all__ = ["asked_text", "cosine", "count", "plain_number", "points", "rounded", "scaled"]

_NOISE = Decimal("2e-15")
"""A figure so near to its value, relatively, is the value."""
_LARGEST_COUNT = 10**15


def rounded(value: float | None, up: bool, digits: int = 12) -> str:
    """At most so many significant digits, down for what is at least `value`, up for at most.

    >>> rounded(0.66899868267649, up=False), rounded(2 / 3, up=True, digits=4), rounded(1.0, True)
    ('0.668998682676', '0.6667', '1')
    """
    if value is None:
        return "-"
    nearest = Context(digits, ROUND_HALF_EVEN).create_decimal_from_float(value)
    if abs(nearest - Decimal(value)) > _NOISE * abs(nearest):
        way = ROUND_CEILING if up else ROUND_FLOOR
        nearest = Context(digits, way).create_decimal_from_float(value)
    shown = nearest.normalize()
    if shown and shown.adjusted() < -4:
        return f"{shown:e}"
    return f"{shown:f}"


def cosine(value: float | None, up: bool, decimals: int = 12) -> str:
    """A cosine to at most so many decimals, rounded down or up.

    >>> cosine(1 / 3, up=False, decimals=4), cosine(1 / 3, up=True, decimals=4), cosine(0.5, True)
    ('0.3333', '0.3334', '0.5')
    """
    if value is None:
        return "-"
    step = Decimal(1).scaleb(-decimals)
    nearest = Decimal(value).quantize(step, ROUND_HALF_EVEN)
    if abs(nearest - Decimal(value)) > _NOISE:
        nearest = Decimal(value).quantize(step, ROUND_CEILING if up else ROUND_FLOOR)
    return f"{nearest.normalize() + 0:f}"


def count(value: int | None) -> str:
    """A whole number in groups of three, a dash for null."""
    return "-" if value is None else f"{value:,}".replace(",", " ")


def points(K: float | None, log10: float | None = None, up: bool = False) -> str:
    """A number of points: in groups of three, or as a power of ten where it is very large.

    Args:
        K: exact, or a float beyond 2^63.
        log10: where K is None; rounded up or down to six digits.

    Example:
        >>> points(525312), points(10.0**30), points(None, 45.6789012)
        ('525 312', '10^30', '10^45.6789')
    """
    if K is None and log10 is None:
        return "-"
    if K is not None and K < _LARGEST_COUNT:
        return count(int(K))
    power = math.log10(K) if K is not None else log10
    return f"10^{rounded(power, up, 6)}"


def plain_number(value: float) -> str:
    """What the user asked for: the shortest decimal that is this number.

    >>> plain_number(0.3), plain_number(1.0), plain_number(10 / 9)
    ('0.3', '1', '1.1111111111111112')
    """
    return repr(value).removesuffix(".0")


def scaled(scale: float | None) -> str:
    """A scale of logits to four digits, up, so that it is enough."""
    return rounded(scale, up=True, digits=4)


def asked_text(
    margin: float | None, max_cosine: float | None = None, angle: float | None = None
) -> str | None:
    """The target in the user's own words and digits; None where there is none.

    Args:
        margin: one-vs-rest distance.
        max_cosine: largest cosine of a code.
        angle: the same as an angle in radians.

    Example:
        >>> asked_text(0.3), asked_text(None, 0.5), asked_text(None, math.cos(0.5), 0.5)
        ('margin 0.3', 'largest cosine 0.5', 'smallest angle 0.5 rad')
    """
    if angle is not None:
        return f"smallest angle {plain_number(angle)} rad"
    if max_cosine is not None:
        return f"largest cosine {plain_number(max_cosine)}"
    return None if margin is None else f"margin {plain_number(margin)}"
