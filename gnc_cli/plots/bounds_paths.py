"""Lines through samples that claim no more between them than is known there."""

import math
from collections.abc import Callable, Mapping, Sequence

__all__ = ["held", "joined"]

_NEAR_K = 1.5
_NEAR_D = 1.25
"""Neighbours within these quotients are near enough for a straight line along a formula."""


def held(
    sizes: Sequence[int], values: Sequence[float], of: Callable[[int], float], earlier: bool
) -> tuple[list[float], list[float]]:
    """The path of a proven end that only grows, or only falls: steps, for one sample holds up to
    the next. Between consecutive integers there is nothing to claim, and the line is straight.

    Args:
        sizes: d or K, increasing.
        of: where a size stands on the axis.
        earlier: whether the value of the smaller or of the larger neighbour holds between.

    Example:
        >>> held([2, 3, 9], [1.0, 2.0, 5.0], float, earlier=True)
        ([2.0, 3.0, 9.0, 9.0], [1.0, 2.0, 2.0, 5.0])
    """
    x, y = [of(sizes[0])], [values[0]]
    for last, size, value in zip(sizes, sizes[1:], values[1:], strict=False):
        if size > last + 1:
            x.append(of(size) if earlier else of(last))
            y.append(y[-1] if earlier else value)
        x.append(of(size))
        y.append(value)
    return x, y


def joined(
    values: Mapping[int, float], of: Callable[[int], float], over_K: bool
) -> tuple[list[float], list[float], list[int]]:
    """The path of a formula: straight lines between near samples, else a gap (NaN).

    Returns:
        Places, values, and which of these stand alone.

    Example:
        >>> joined({4: 0.1, 5: 0.2, 50: 0.9}, float, over_K=False)
        ([4.0, 5.0, nan, 50.0], [0.1, 0.2, nan, 0.9], [3])
    """
    x: list[float] = []
    y: list[float] = []
    alone: list[int] = []
    sizes = list(values)
    near = _NEAR_K if over_K else _NEAR_D
    ties = [b <= max(a + 1, near * a) for a, b in zip(sizes, sizes[1:], strict=False)]
    for size, before, after in zip(sizes, [False, *ties], [*ties, False], strict=True):
        if x and not before:
            x.append(math.nan)
            y.append(math.nan)
        if not before and not after:
            alone.append(len(x))
        x.append(of(size))
        y.append(values[size])
    return x, y, alone
