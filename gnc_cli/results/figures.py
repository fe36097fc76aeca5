"""Figures as a person reads them, rounded so that what is shown stays true."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

__all__ = [
    "STATUS", "asked_phrase", "asked_text", "asked_words", "cosine", "count", "plain_number",
    "points", "rounded", "scaled",
]  # fmt: skip

STATUS = {"exists": "a code exists", "excluded": "no code exists", "open": "open"}
"""What is known of a code with a margin, by the status of its bounds."""
_NOISE = Decimal("2e-15")
"""A figure so near to its value, relatively, is the value."""
_LARGEST_COUNT = 10**15
_LONGEST = 15
"""Figures of more digits before the point are written with an exponent."""
_NEAR = 3
"""Cosines that would show fewer digits of their distance from 1 are shown by that distance."""


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
    if shown and not -4 <= shown.adjusted() <= _LONGEST:
        return f"{shown:e}"
    return f"{shown:f}"


def cosine(
    value: float | None, up: bool, decimals: int = 12, degrees: float | None = None
) -> str:
    """A cosine to at most so many decimals, rounded down or up.

    Args:
        degrees: its angle. A cosine so near 1 that the decimals hardly tell them apart is written
            `1 - x`, with x = 2 sin(angle / 2)^2.

    Example:
        >>> cosine(1 / 3, up=False, decimals=4), cosine(1 / 3, up=True, decimals=4)
        ('0.3333', '0.3334')
        >>> cosine(1.0, up=False, degrees=3.6e-10)
        '1 - 1.97393e-23'
    """
    if value is None:
        return "-"
    if degrees and 1.0 - value < 10.0 ** (_NEAR - decimals):
        apart = 2.0 * math.sin(math.radians(degrees) / 2.0) ** 2
        return f"1 - {rounded(apart, not up, decimals // 2)}"
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
        K: exact, or a float beyond 2^63; its own digits are shown.
        log10: where K is None; rounded up or down to six digits.

    Example:
        >>> points(525312), points(10.0**30), points(3 * 10**20), points(None, 45.6789012)
        ('525 312', '10^30', '3e20', '10^45.6789')
    """
    if K is None:
        return "-" if log10 is None else f"10^{rounded(log10, up, 6)}"
    if K < _LARGEST_COUNT:
        return count(int(K))
    number = Decimal(str(K)).normalize(Context(prec=400))
    digits = "".join(map(str, number.as_tuple().digits))
    if isinstance(K, int) and len(digits) > 12:
        return count(K)
    if digits == "1":
        return f"10^{number.adjusted()}"
    return f"{Decimal(digits).scaleb(1 - len(digits))}e{number.adjusted()}"


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
        ('margin 0.3', 'largest cosine 0.5', 'smallest angle 0.5 rad (28.65 degrees)')
    """
    asked = asked_words(margin, max_cosine, angle)
    return None if asked is None else f"{asked[0]} {asked[2]}"


def asked_phrase(
    margin: float | None, max_cosine: float | None = None, angle: float | None = None
) -> str:
    """The target as a property of a code; empty where there is none.

    >>> asked_phrase(0.3), asked_phrase(None, 0.5)
    ('margin 0.3', 'largest cosine at most 0.5')
    """
    return " ".join(filter(None, asked_words(margin, max_cosine, angle) or ()))


def asked_words(
    margin: float | None, max_cosine: float | None = None, angle: float | None = None
) -> tuple[str, str, str] | None:
    """What the target is, how it is meant, and its figure.

    >>> asked_words(0.3), asked_words(None, 0.5)
    (('margin', '', '0.3'), ('largest cosine', 'at most', '0.5'))
    """
    if angle is not None:
        degrees = f"{math.degrees(angle):.4g} degrees"
        return "smallest angle", "at least", f"{plain_number(angle)} rad ({degrees})"
    if max_cosine is not None:
        return "largest cosine", "at most", plain_number(max_cosine)
    return None if margin is None else ("margin", "", plain_number(margin))
