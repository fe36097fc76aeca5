"""Numbers as people read them, rounded so that the printed statement stays true."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from gnc_cli.brackets import Bracket

_NOISE = Decimal("2e-15")
"""Largest relative rounding error of a printed number that counts as equal to its value: some ulps
of float64."""
_MAX_EXPONENT = 15
"""Numbers of a larger power of ten are written with an exponent, since float64 has 16 digits."""
_MIN_DIGITS = 3
"""Least digits of a cosine's distance from 1; with fewer the distance itself is printed."""

MAX_REMARK = 38
"""Longest remark or source in a table, in letters, that is not shortened."""


def rounded(value: float | None, upward: bool, digits: int = 12) -> str:
    """Format a value to significant digits; round a lower end down, an upper end up.

    >>> rounded(0.66899868267649, upward=False), rounded(2 / 3, upward=True, digits=4)
    ('0.668998682676', '0.6667')
    """
    if value is None:
        return "-"
    nearest = Context(digits, ROUND_HALF_EVEN).create_decimal_from_float(value)
    if abs(nearest - Decimal(value)) > _NOISE * abs(nearest):
        way = ROUND_CEILING if upward else ROUND_FLOOR
        nearest = Context(digits, way).create_decimal_from_float(value)
    number = nearest.normalize()
    if number and not -4 <= number.adjusted() <= _MAX_EXPONENT:
        return f"{number:e}"
    return f"{number:f}"


def cosine(
    value: float | None, upward: bool, decimals: int = 12, degrees: float | None = None
) -> str:
    """Format a cosine to at most `decimals` decimals, rounded down or up.

    Args:
        value: the cosine; None gives a dash.
        upward: rounds up.
        decimals: largest number of decimals.
        degrees: its angle. If the decimals show fewer than three digits of the cosine's distance
            from 1, it is written `1 - x`, with x = 2 sin(angle / 2)^2.

    Example:
        >>> cosine(1 / 3, upward=False, decimals=4), cosine(1 / 3, upward=True, decimals=4)
        ('0.3333', '0.3334')
        >>> cosine(1.0, upward=False, degrees=3.6e-10)
        '1 - 1.97393e-23'
    """
    if value is None:
        return "-"
    if degrees and 1.0 - value < 10.0 ** (_MIN_DIGITS - decimals):
        distance = 2.0 * math.sin(math.radians(degrees) / 2.0) ** 2
        return f"1 - {rounded(distance, not upward, decimals // 2)}"
    step = Decimal(1).scaleb(-decimals)
    nearest = Decimal(value).quantize(step, ROUND_HALF_EVEN)
    if abs(nearest - Decimal(value)) > _NOISE:
        nearest = Decimal(value).quantize(step, ROUND_CEILING if upward else ROUND_FLOOR)
    return f"{nearest.normalize() + 0:f}"


def count(value: int | None) -> str:
    """Format a whole number in groups of three digits; None gives a dash."""
    return "-" if value is None else f"{value:,}"


def points(K: int | None, log10: float | None = None, upward: bool = False) -> str:
    """Format a number of points: in groups of three digits, or as a power of ten.

    Args:
        K: the exact number, or None.
        log10: its logarithm, which is printed with six digits if K is None.
        upward: rounds the logarithm up, else down.

    Example:
        >>> points(525312), points(None, 45.6789012)
        ('525,312', '10^45.6789')
    """
    return count(K) if K is not None or log10 is None else f"10^{rounded(log10, upward, 6)}"


def lower_end(bracket: Bracket, limit: int = 15) -> str:
    """Format the proved lower end with the digits that both ends share: six to `limit`."""
    width = bracket.width if math.isfinite(bracket.width) else 1.0
    digits = limit if width == 0.0 else min(limit, max(6, math.floor(-math.log10(width)) + 1))
    # Rounded down if the nearest number is above the end, so that the printed number is proved.
    nearest = f"{bracket.lower:.{digits}f}"
    if float(nearest) <= bracket.lower + 1e-15:
        return nearest
    return str(Decimal(bracket.lower).quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR))


def format_bracket(bracket: Bracket, digits: int = 4) -> str:
    """Format a bracket, rounded outwards; one number if both ends agree to a relative 1e-9.

    >>> format_bracket(Bracket(0.9444444, 0.9588345)), format_bracket(Bracket(0.5, 0.5))
    ('0.9444 to 0.9589', '0.5')
    """
    if bracket.width <= 1e-9 * bracket.upper:
        return f"{float(bracket):.{digits}g}"
    if math.isinf(bracket.upper):
        return f"{rounded(bracket.lower, False, digits)} or more"
    return f"{rounded(bracket.lower, False, digits)} to {rounded(bracket.upper, True, digits)}"


def certified(bracket: Bracket) -> str:
    """Describe the precision of a certified lower end in words."""
    if not math.isfinite(bracket.upper):
        return "certified from below only"
    if bracket.width == 0.0:
        return "certified, exact to rounding"
    if bracket.width > 1e-6:
        return f"certified lower end; at most {bracket.upper:.6f}"
    return f"certified, bracket {bracket.width:.1e}"


def decimals(value: float | None, digits: int = 15) -> str:
    """Format a number to `digits` decimals; None and NaN give a dash."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def published(cosine: str, *, distance: bool = False) -> str:
    """Format a largest cosine with the digits of its source, or its distance from 1.

    >>> published("1/5"), published("-1/3", distance=True), published("0.331", distance=True)
    ('1/5 exactly', '4/3 exactly', '0.669')
    """
    if "." in cosine:
        return str(1 - Decimal(cosine)) if distance else cosine
    return f"{1 - Fraction(cosine) if distance else cosine} exactly"


def short(value: float | None) -> str:
    """Format a number to three significant digits; None and NaN give a dash."""
    return "-" if value is None or math.isnan(value) else f"{value:.3g}"


def plural(number: int, noun: str) -> str:
    """Format a number with its noun: `1 start`, `2 starts`."""
    return f"{number} {noun}" if number == 1 else f"{count(number)} {noun}s"


def duration(seconds: float) -> str:
    """Format a time: `2 min 41 s`, `1 h 5 min`, `12.3 s`.

    >>> duration(161.0), duration(3900.0), duration(12.34), duration(59.99)
    ('2 min 41 s', '1 h 5 min', '12.3 s', '1 min 0 s')
    """
    if round(seconds, 1) < 60.0:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{count(whole // 3600)} h {whole % 3600 // 60} min"


def brief(text: str, letters: int = MAX_REMARK) -> str:
    """Return a short remark of a table unchanged, and nothing for a long one, which `-v` shows."""
    return text if len(text) <= letters else ""
