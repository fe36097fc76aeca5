"""Figures and verdicts of `gnc bounds` as a person reads them: rounded so that they stay true."""

from typing import Any

from gnc_cli.results.figures import (
    STATUS,
    asked_phrase,
    asked_text,
    asked_words,
    cosine,
    count,
    plain_number,
    points,
    rounded,
    scaled,
)
from gnc_cli.workflows.bounds_request import LARGEST_D, ONE_VS_ONE

__all__ = [
    "HINT", "ONE_VS_ONE", "angle_text", "answer_title", "asked_of", "classes_text",
    "dimension_text", "end", "interval_text", "scale_text", "verdict", "wanted",
]  # fmt: skip

HINT = "a wider terminal or --csv shows more"
"""Where the columns are that a narrow table leaves out."""


def scale_text(scale: float, probability: float, where: str) -> str:
    """Which scale is enough for a probability."""
    p = plain_number(probability)
    return f"scale s = 1/tau >= {scaled(scale)} brings every softmax probability to {p} {where}"


def asked_of(result: dict[str, Any]) -> str | None:
    """The target of a result's JSON in words; None where there is none."""
    return asked_text(result["margin"], result["max_cosine"], result["arcface_m"])


def wanted(result: dict[str, Any]) -> str:
    """The target of a result's JSON as a property of a code: `largest cosine at most 0.5`."""
    return asked_phrase(result["margin"], result["max_cosine"], result["arcface_m"])


def answer_title(result: dict[str, Any]) -> str:
    """What the answer of dimensions or of classes is about."""
    asked = asked_words(result["margin"], result["max_cosine"], result["arcface_m"])
    if result["dimension"] is not None and asked is not None:
        return f"Dimensions for a {asked[0]} of {asked[2]}"
    return f"Points with {wanted(result)}"


def verdict(status: str | None) -> str:
    """`a code exists`, `no code exists` or `open`; a dash where no margin was asked for."""
    return "-" if status is None else STATUS[status]


def end(best: dict[str, Any], side: str, digits: int = 12) -> str:
    """The `lower` or `upper` end of a best interval, rounded outwards."""
    up = side == "upper"
    if best["quantity"] != ONE_VS_ONE:
        return rounded(best[side], up, digits)
    # The largest cosine belongs to the smallest angle.
    return cosine(best[side], up, digits, best["lower_deg" if up else "upper_deg"])


def interval_text(best: dict[str, Any]) -> str:
    """The best interval of one (d, K), in one sentence."""
    single = best["quantity"] == ONE_VS_ONE
    what, symbol = "one-vs-rest distance of the best code", "rho*"
    if single:
        what, symbol = "largest cosine of the best code", "t"
    low, high = end(best, "lower"), end(best, "upper")
    if not best["exact"]:
        return f"{what}: {low} <= {symbol} <= {high}"
    if " " not in low:
        low = f"{round(best['lower'], 15) + 0.0 if single else best['lower']:.12g}"
    return f"{what}: {symbol} = {low} (known exactly)"


def angle_text(best: dict[str, Any]) -> str:
    """The smallest angle of the best code in degrees."""
    if best["exact"]:
        return f"{best['lower_deg']:.10g} degrees"
    low = rounded(best["lower_deg"], up=False, digits=10)
    return f"{low} to {rounded(best['upper_deg'], up=True, digits=10)} degrees"


def dimension_text(best: dict[str, Any], asked: str) -> str:
    """From which d on K points have what is asked for, and below which they have not.

    >>> best = {"K": 1000000, "sufficient": 8, "necessary": 8}
    >>> dimension_text(best, "margin 0.1")
    'a code of K = 1 000 000 points with margin 0.1 exists from d = 8 on, and below none exists'
    """
    code = f"code of K = {points(best['K'])} points with {asked}"
    enough, least = best["sufficient"], best["necessary"]
    if least is None:
        return f"no {code} exists in any dimension"
    if least > LARGEST_D:
        return f"no {code} exists in any dimension up to 10^6"
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
    if most is None:
        return f"no K is known to have a {code}; {none}"
    found = f"up to K = {guaranteed} points a {code} exists"
    exact = best["guaranteed"] is not None and best["excluded"] == best["guaranteed"] + 1
    open_ = "" if exact or least is None else "; between it is open"
    return f"{found}; {none}{open_}"
