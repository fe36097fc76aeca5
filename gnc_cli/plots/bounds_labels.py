"""Words and figures in pictures of bounds, rounded so that what is shown stays true."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from gnc_cli.results import BoundsResult
from gnc_cli.results.figures import asked_phrase, asked_text, count, points, rounded

__all__ = [
    "asked_at", "asked_label", "asked_title", "bound_name", "list_text", "points_text",
    "size_text", "two_sided", "value_text",
]  # fmt: skip

_POWERS = 10**7
"""From here on powers of ten are written as such."""


def value_text(value: float, up: bool, digits: int = 6) -> str:
    """A value to so many significant digits, rounded up or down.

    >>> value_text(2 / 3, up=False, digits=3), value_text(1.697e-67, up=True, digits=2)
    ('0.666', '$1.7\\\\times10^{-67}$')
    """
    front, _, power = rounded(value, up, digits).partition("e")
    return rf"${front}\times10^{{{int(power)}}}$" if power else front


def points_text(K: int | None, log10: float | None = None, up: bool = False) -> str:
    """A number of points that a bound gives, in full up to fifteen digits."""
    front, _, power = points(K, log10, up).partition("^")
    return f"${front}^{{{power}}}$" if power else front


def size_text(K: int) -> str:
    """A number of points or dimensions that was asked for.

    >>> size_text(360232), size_text(10**30)
    ('360 232', '$10^{30}$')
    """
    if K >= _POWERS and str(K).rstrip("0") == "1":
        return f"$10^{{{len(str(K)) - 1}}}$"
    return points_text(K) if K >= 10**15 else count(K)


def list_text(name: str, values: Sequence[int]) -> str:
    """All of a few, the ends of many.

    >>> list_text("d", [64, 128]), list_text("K", range(2, 1001))
    ('d = 64, 128', 'K from 2 to 1 000')
    """
    if len(values) <= 4:
        return f"{name} = {', '.join(map(size_text, values))}"
    return f"{name} from {size_text(values[0])} to {size_text(values[-1])}"


def asked_label(result: BoundsResult) -> str | None:
    """The target in the user's words; None where there is none."""
    return asked_text(result.margin, result.max_cosine, result.arcface_m)


def asked_title(result: BoundsResult) -> str:
    """The target and how it is meant: `largest cosine at most 0.5`."""
    return asked_phrase(result.margin, result.max_cosine, result.arcface_m)


def asked_at(result: BoundsResult) -> float | None:
    """The target on the axis: a distance, or the smallest angle in degrees."""
    if result.quantity != "one-vs-one":
        return result.margin
    if result.arcface_m is not None:
        return math.degrees(result.arcface_m)
    if result.max_cosine is None:
        return None
    # The half angle's sine is accurate for small angles, the cosine is not.
    half = math.sqrt(max(0.0, 1.0 - result.max_cosine) / 2.0)
    return math.degrees(2.0 * math.asin(min(1.0, half)))


def two_sided(rows: Iterable[Any]) -> set[str]:
    """Names that stand for two bounds: one says that a code exists, one that none does."""
    sides = [(row.name, row.exists) for row in rows]
    return {name for name, exists in sides if (name, not exists) in sides}


def bound_name(name: str, exists: bool, two: set[str]) -> str:
    """Beside a bar; of two bounds of one name each says which it is.

    >>> bound_name("theorem-3.9", True, {"theorem-3.9"}), bound_name("covering", True, set())
    ('theorem-3.9 (existence)', 'covering')
    """
    return f"{name} ({'existence' if exists else 'exclusion'})" if name in two else name
