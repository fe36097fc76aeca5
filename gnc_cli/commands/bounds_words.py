"""Figures and verdicts of `gnc bounds` as a person reads them: rounded so that they stay true."""

from typing import Any

from gnc_cli.results.figures import asked_text, cosine, count, plain_number, points, rounded, scaled

__all__ = [
    "ONE_VS_ONE", "asked_of", "classes_text", "dimension_text", "interval_text", "scale_text",
    "verdict",
]  # fmt: skip

ONE_VS_ONE = "one-vs-one"
_STATUS = {"exists": "a code exists", "excluded": "no code exists", "open": "open"}


def scale_text(scale: float, probability: float, where: str) -> str:
    """Which scale is enough for a probability."""
    p = plain_number(probability)
    return f"scale s = 1/tau >= {scaled(scale)} brings every softmax probability to {p} {where}"


def asked_of(result: dict[str, Any]) -> str | None:
    """The target of a result's JSON in words; None where there is none."""
    return asked_text(result["margin"], result["max_cosine"], result["arcface_m"])


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
