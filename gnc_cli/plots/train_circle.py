"""Features and weights in the plane: on the circle (the paper's figure 4), or raw (figure B.1).

On the circle the features stand in a ring around it, each at its own angle and at a random height,
so that the points of a collapsed class make a spoke and none hides the others. Raw features and
weights keep their lengths, which is what weight decay leaves uneven.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc_cli.plots.style import GREY, INK
from gnc_cli.plots.train_marks import (
    DISTINCT,
    Mark,
    class_marks,
    dot_size,
    scatter_classes,
)

__all__ = ["show_circle"]

_RING = (1.04, 1.2)
_APART = 0.36
"""Between two names, in radii of the circle."""
_BOLD = 12
"""Up to so many arrows are thick."""


def show_circle(
    ax: Any, H: np.ndarray, y: np.ndarray, W: np.ndarray, named: Sequence[str], *, raw: bool
) -> None:
    """Draw features as dots and weights as arrows, with a note below of what was done to them.

    Args:
        ax: Matplotlib axes, bare and of equal aspect.
        H: features (n, 2), finite; no zeros unless `raw`.
        y: (n,), integers in 0..K-1.
        W: weights (K, 2), finite.
        named: K short names, or none.
        raw: lengths are kept, features and weights each in units of their longest; else all are
            drawn by their directions.
    """
    from matplotlib.patches import Circle
    from matplotlib.patheffects import withStroke

    angles = np.arctan2(W[:, 1], W[:, 0])
    around = np.empty(len(W), dtype=int)  # neighbours differ in colour
    around[np.argsort(angles, kind="stable")] = np.arange(len(W))
    marks = class_marks(around if len(W) > 6 else np.arange(len(W)))
    if raw:
        (dots, longest), (tips, heaviest) = _by_longest(H), _by_longest(W)
        reach = 1.09
        note = f"the circle: the longest weight, {heaviest:.3g}"
        if len(H):
            note += f", and the longest feature, {longest:.3g}, each on a scale of its own"
    else:
        height = np.random.default_rng(0).uniform(*_RING, len(H))
        dots, tips = _units(H) * height[:, None], _units(W)
        reach = _RING[1] + 0.07
        note = "dots are spread outward so that they can be seen" if len(H) else ""
    keyed = len(W) <= DISTINCT
    room = reach + (0.24 if named else 0.06)
    aside = 0.055 * max((len(name) for name in named), default=0)
    ax.set_xlim(-room - aside, room + aside)
    ax.set_ylim(-room, room)
    ax.add_patch(Circle((0, 0), 1.0, facecolor="#F4F6F8", edgecolor=GREY, lw=1.0, zorder=0))
    scatter_classes(ax, dots, y, marks, s=dot_size(len(H)), alpha=0.55, linewidths=0, zorder=2)
    # Raw dots lie under arrows of their own colour, which are thinner than they are, with an edge.
    wide = 2.2 if len(W) <= _BOLD and not raw else 1.2
    edge = [withStroke(linewidth=wide + 1.2, foreground="white")] if raw else []
    for (at_x, at_y), (colour, _) in zip(tips, marks, strict=True):
        ax.annotate("", (at_x, at_y), (0.0, 0.0), zorder=3, annotation_clip=False,
                    arrowprops={"arrowstyle": "-|>", "color": colour, "lw": wide, "shrinkA": 0,
                                "shrinkB": 0, "path_effects": edge,
                                "mutation_scale": 13.0 if raw else 6.0 * wide})  # fmt: skip
    if keyed:
        _name_around(ax, tips, reach * _directions(_spread(angles, _APART / reach)), marks, named)
    ax.annotate(note, (0.5, 0.0), (0, -6), xycoords="axes fraction", textcoords="offset points",
                ha="center", va="top", fontsize=9, color=INK)  # fmt: skip


def _name_around(
    ax: Any, tips: np.ndarray, places: np.ndarray, marks: Sequence[Mark], named: Sequence[str]
) -> None:
    """The mark and the name of each class, with a line to the tip of its arrow."""
    for k, ((x, y), (colour, shape)) in enumerate(zip(places, marks, strict=True)):
        ax.plot([tips[k, 0], x], [tips[k, 1], y], color=GREY, lw=0.8, zorder=1)
        ax.plot([x], [y], ls="none", marker=shape, ms=6.5, mfc=colour, mec="white", mew=0.5,
                zorder=3)  # fmt: skip
        if named:
            far = np.hypot(x, y)
            side = "center" if abs(x) < 0.12 else "left" if x > 0.0 else "right"
            up = "center" if abs(x) >= 0.12 else "bottom" if y > 0.0 else "top"
            ax.annotate(named[k], (x, y), (7.0 * x / far, 7.0 * y / far), ha=side, va=up,
                        textcoords="offset points", fontsize=10, annotation_clip=False)  # fmt: skip


def _spread(angles: np.ndarray, apart: float) -> np.ndarray:
    """Angles near these, in their order around the circle, no two closer than `apart`."""
    apart = min(apart, 1.8 * np.pi / len(angles))
    order = np.argsort(angles, kind="stable")
    at = angles[order].astype(float)
    for _ in range(200):
        after = np.concatenate([at[1:], at[:1] + 2.0 * np.pi])
        lack = np.maximum(0.0, apart - (after - at)) / 2.0
        if not lack.max() > 1e-3 or len(at) < 2:
            break
        at = at - lack + np.roll(lack, 1)
    spread = np.empty(len(at))
    spread[order] = at
    return spread


def _directions(angles: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _units(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)


def _by_longest(rows: np.ndarray) -> tuple[np.ndarray, float]:
    """Rows in units of the longest, and its length."""
    longest = float(np.linalg.norm(rows, axis=1).max(initial=0.0))
    return rows / max(longest, 1e-300), longest
