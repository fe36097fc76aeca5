"""How classes are told apart in a picture: six colours, and another shape where those run out."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc_cli.plots.measure_series import COLOURS

__all__ = ["DISTINCT", "Mark", "class_marks", "dot_size", "scatter_classes"]

Mark = tuple[str, str]
"""A colour and a shape, as Matplotlib names them."""

_HUES = COLOURS[:6]
"""Without ink, which is for words."""
_SHAPES = ("o", "^", "s", "D", "v", "P")
DISTINCT = 5 * len(_SHAPES)
"""Up to so many classes each has a mark of its own; of more, some share one."""


def class_marks(place: np.ndarray) -> list[Mark]:
    """The mark of each class, given its place in a row or around a circle.

    Neighbours differ in colour, the last and the first too; classes of one colour differ in shape.

    >>> class_marks(np.array([0, 1, 6]))
    [('#0072B2', 'o'), ('#D55E00', 'o'), ('#0072B2', '^')]
    """
    count = next((c for c in (6, 5, 4) if len(place) % c != 1), 6)
    return [(_HUES[p % count], _SHAPES[p // count % len(_SHAPES)]) for p in place]


def dot_size(count: int) -> float:
    """Area of each of so many dots, in square points."""
    return float(np.clip(9000.0 / max(count, 1), 4.0, 24.0))


def scatter_classes(
    ax: Any, points: np.ndarray, classes: np.ndarray, marks: Sequence[Mark], **looks: Any
) -> None:
    """Dots with the marks of their classes.

    Args:
        ax: Matplotlib axes.
        points: (n, 2).
        classes: (n,), integers that index `marks`.
        marks: one a class.
        looks: what else `scatter` takes.
    """
    of_dot = np.array([marks[k][1] for k in classes])
    for shape in dict.fromkeys(shape for _, shape in marks):
        seen = of_dot == shape
        if seen.any():
            ax.scatter(*points[seen].T, c=[marks[k][0] for k in classes[seen]], marker=shape,
                       rasterized=len(points) > 1000, **looks)  # fmt: skip
