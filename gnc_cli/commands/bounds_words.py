"""Figures and verdicts of `gnc bounds` as a person reads them: rounded so that they stay true."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from gnc_cli.commands.compare_words import count

__all__ = [
    "ONE_VS_ONE", "asked_text", "classes_text", "cosine", "dimension_text", "interval_text",
    "plain_number", "points", "rounded", "scale_text", "scaled", "verdict",
]  # fmt: skip

ONE_VS_ONE = "one-vs-one"
_NOISE = Decimal("2e-15")
"""A figure so near to its value, relatively, is the value."""
_LARGEST_COUNT = 10**15
_STATUS = {"exists": "a code exists", "excluded": "no code exists", "open": "open"}


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
    """What the user asked for, as short as it can be said."""
    return f"{value:.15g}"


def scaled(scale: float | None) -> str:
    """A scale of logits to four digits, up, so that it is enough."""
    return rounded(scale, up=True, digits=4)


def scale_text(scale: float, probability: float, where: str) -> str:
    """Which scale is enough for a probability."""
    p = plain_number(probability)
    return f"scale s = 1/tau >= {scaled(scale)} brings every softmax probability to {p} {where}"


def asked_text(result: dict[str, Any]) -> str | None:
    """`margin 0.3` or `largest cosine 0.5`; None where neither was asked for."""
    if result["margin"] is not None:
        return f"margin {plain_number(result['margin'])}"
    if result["max_cosine"] is not None:
        return f"largest cosine {plain_number(result['max_cosine'])}"
    return None


def verdict(status: str | None) -> str:
    """`a code exists`, `no code exists` or `open`; a dash where no margin was asked for."""
    return "-" if status is None else _STATUS[status]


def interval_text(best: dict[str, Any]) -> str:
    """The best proven interval of one (d, K), in one sentence."""
    if best["quantity"] == ONE_VS_ONE:
        low, high = cosine(best["lower"], up=False), cosine(best["upper"], up=True)
        what, symbol = "largest cosine of the best code", "t"
    else:
        low, high = rounded(best["lower"], up=False), rounded(best["upper"], up=True)
        what, symbol = "one-vs-rest distance of the best code", "rho*"
    lower, upper = best["lower"], best["upper"]
    size = 1.0 if best["quantity"] == ONE_VS_ONE else upper
    if upper - lower <= 1e-13 * size:
        # Closed forms and proved optima: the ends differ by rounding alone.
        value = round(lower, 15) + 0.0 if best["quantity"] == ONE_VS_ONE else lower
        return f"{what}: {symbol} = {value:.12g}"
    return f"{what}: {low} <= {symbol} <= {high}"


def dimension_text(best: dict[str, Any], asked: str) -> str:
    """From which d on K points have what is asked for, and below which they have not.

    >>> best = {"K": 1000000, "sufficient": 8, "necessary": 8, "conjectured": None}
    >>> dimension_text(best, "margin 0.1")
    'a code of K = 1 000 000 points with margin 0.1 exists from d = 8 on, and below none exists'
    """
    code = f"code of K = {points(best['K'])} points with {asked}"
    more = ""
    if best["conjectured"] is not None:
        more = f"; with rho* = 1 - t*, none exists below d = {best['conjectured']}"
    return _dimension(best, code) + more


def _dimension(best: dict[str, Any], code: str) -> str:
    enough, least = best["sufficient"], best["necessary"]
    if least is None:
        return f"no {code} exists in any dimension"
    if enough is None:
        below = "no dimension is excluded"
        if least > 2:
            below = f"below d = {count(least)} none exists, from there on it is open"
        return f"no dimension is known to have a {code}; {below}"
    found = f"a {code} exists from d = {count(enough)} on"
    if enough <= least:
        return f"{found}, and below none exists" if least > 2 else f"{found}, that is always"
    below = f"below d = {count(least)} none exists" if least > 2 else "no dimension is excluded"
    return f"{found}; {below}; between them it is open"


def classes_text(best: dict[str, Any], asked: str) -> str:
    """Up to which K a code in d dimensions has what is asked for, and from which none has."""
    code = f"code with {asked} in d = {count(best['d'])}"
    most, least = best["log10_guaranteed"], best["log10_excluded"]
    guaranteed = points(best["guaranteed"], most)
    excluded = points(best["excluded"], least, up=True)
    none = "no K is excluded" if least is None else f"from K = {excluded} on none exists"
    more = ""
    if best["log10_conjectured"] is not None:
        guess = points(best["conjectured"], best["log10_conjectured"], up=True)
        more = f"; with rho* = 1 - t*, none exists from K = {guess} on"
    if most is None:
        return f"no K is known to have a {code}; {none}{more}"
    found = f"up to K = {guaranteed} points a {code} exists"
    exact = best["guaranteed"] is not None and best["excluded"] == best["guaranteed"] + 1
    open_ = "" if exact or least is None else "; between it is open"
    return f"{found}; {none}{open_}{more}"
