"""Names of lines at their right ends, moved apart where they crowd."""

from collections.abc import Sequence
from typing import Any

__all__ = ["label_ends"]

_SIZE = 9.0


def label_ends(ax: Any, ends: Sequence[tuple[float, float, str, Any]]) -> None:
    """Write each label right of the axes, at the height of its line or as near as there is room.

    Args:
        ax: with its final limits and scales.
        ends: x, y, label and colour of each line's last point, of those at one height the lowest
            first; about 25 have room.
    """
    # Heights in shares of the axes; the figure's layout takes a little from its height.
    inches = ax.figure.get_size_inches()[1] * 0.74
    gap = 1.25 * _SIZE / 72.0 / inches
    right = ax.get_xlim()[1]
    placed = sorted(ends, key=lambda end: end[1])
    shares = [ax.transLimits.transform(ax.transScale.transform((1.0, y)))[1]
              for _, y, _, _ in placed]  # fmt: skip
    for (x, y, label, colour), height in zip(placed, spread(shares, gap, 0.0, 1.0), strict=True):
        ax.annotate(
            label, (x, y), (1.035, height), xycoords="data", textcoords="axes fraction",
            ha="left", va="center", fontsize=_SIZE, color=colour, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.7, "shrinkA": 1.0,
                        "shrinkB": 1.0 if x >= right else 0.0, "relpos": (0.0, 0.5)},
        )  # fmt: skip


def spread(heights: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The nearest heights, in order, that lie `gap` apart: neighbours that touch share their mean.
    They stay between `low` and `high` where there is room for all.

    >>> spread([0.1, 0.5, 0.5], 0.2, 0.0, 1.0), spread([0.5, 0.5], 0.2, 0.0, 0.5)
    ([0.1, 0.4, 0.6], [0.3, 0.5])
    """
    groups: list[tuple[list[float], int]] = []  # offsets free heights, and how many
    for at, height in enumerate(heights):
        group = [height - at * gap]
        while groups and sum(groups[-1][0]) / len(groups[-1][0]) > sum(group) / len(group):
            group = groups.pop()[0] + group
        groups.append((group, len(group)))
    flat = [sum(g) / len(g) for g, _ in groups for _ in g]
    places = [max(f, low) + at * gap for at, f in enumerate(flat)]
    last = len(places) - 1
    return [min(place, high - (last - at) * gap) for at, place in enumerate(places)]
