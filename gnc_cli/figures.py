"""Figures as a person reads them; rounded so that what is shown stays true."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from gnc_cli.brackets import Bracket

_NOISE = Decimal("2e-15")
"""A figure so near to its value, relatively, is the value."""
_LONGEST = 15
"""Figures of more digits before the point are written with an exponent."""
_NEAR = 3
"""Cosines that would show fewer digits of their distance from 1 are shown by that distance."""

SHORT = 38
"""A remark or a source of at most this many letters is not shortened."""


def rounded(value: float | None, up: bool, digits: int = 12) -> str:
    """`value` to significant digits, rounded down where it is a lower end, up where an upper.

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


def cosine(value: float | None, up: bool, decimals: int = 12, degrees: float | None = None) -> str:
    """A cosine to at most `decimals` decimals, rounded down or up.

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
    return "-" if value is None else f"{value:,}"


def points(K: int | None, log10: float | None = None, up: bool = False) -> str:
    """A number of points: in groups of three, or as a power of ten where it is not known exactly.

    Args:
        K: exact.
        log10: where K is None; rounded up or down to six digits.

    Example:
        >>> points(525312), points(None, 45.6789012)
        ('525,312', '10^45.6789')
    """
    return count(K) if K is not None or log10 is None else f"10^{rounded(log10, up, 6)}"


def lower_end(bracket: Bracket, most: int = 15) -> str:
    """The proved lower end, cut to the digits that both ends settle (at least six)."""
    width = bracket.width if math.isfinite(bracket.width) else 1.0
    digits = most if width == 0.0 else min(most, max(6, math.floor(-math.log10(width)) + 1))
    # Rounded down where it matters: what is printed is still proved.
    nearest = f"{bracket.lower:.{digits}f}"
    if float(nearest) <= bracket.lower + 1e-15:
        return nearest
    return str(Decimal(bracket.lower).quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR))


def between(bracket: Bracket, digits: int = 4) -> str:
    """A bracket rounded outwards; one figure where both ends agree to a relative 1e-9.

    >>> between(Bracket(0.9444444, 0.9588345)), between(Bracket(0.5, 0.5))
    ('0.9444 to 0.9589', '0.5')
    """
    if bracket.width <= 1e-9 * bracket.upper:
        return f"{float(bracket):.{digits}g}"
    if math.isinf(bracket.upper):
        return f"{rounded(bracket.lower, False, digits)} or more"
    return f"{rounded(bracket.lower, False, digits)} to {rounded(bracket.upper, True, digits)}"


def certified(bracket: Bracket) -> str:
    """How far the lower end of a bracket is to be trusted, in words."""
    if not math.isfinite(bracket.upper):
        return "certified from below only"
    if bracket.width == 0.0:
        return "certified, exact to rounding"
    if bracket.width > 1e-6:
        return f"certified lower end; at most {bracket.upper:.6f}"
    return f"certified, bracket {bracket.width:.1e}"


def decimals(value: float | None, digits: int = 15) -> str:
    """A number to `digits` decimals; a dash for None or NaN."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def published(figure: str, *, distance: bool = False) -> str:
    """A largest cosine with the digits of its source, or its distance from 1.

    >>> published("1/5"), published("-1/3", distance=True), published("0.331", distance=True)
    ('1/5 exactly', '4/3 exactly', '0.669')
    """
    if "." in figure:
        return str(1 - Decimal(figure)) if distance else figure
    return f"{1 - Fraction(figure) if distance else figure} exactly"


def short(value: float | None) -> str:
    """Three significant digits, a dash for nothing."""
    return "-" if value is None or math.isnan(value) else f"{value:.3g}"


def plural(number: int, noun: str) -> str:
    """`1 start`, `2 starts`."""
    return f"{number} {noun}" if number == 1 else f"{count(number)} {noun}s"


def duration(seconds: float) -> str:
    """`2 min 41 s`, `1 h 5 min`, `12.3 s`.

    >>> duration(161.0), duration(3900.0), duration(12.34), duration(59.99)
    ('2 min 41 s', '1 h 5 min', '12.3 s', '1 min 0 s')
    """
    if round(seconds, 1) < 60.0:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{count(whole // 3600)} h {whole % 3600 // 60} min"


def brief(text: str, letters: int = SHORT) -> str:
    """A remark of a sheet where it is short, else nothing: `-v` shows it whole."""
    return text if len(text) <= letters else ""
