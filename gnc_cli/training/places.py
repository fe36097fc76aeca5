"""Features and weights where they can be seen: in the plane, and on the sphere.

On the sphere each weight is the outline of a mark, around the features of its class. On the circle
(the paper's figure 4) the features stand in a ring around it, each at its own angle and at a random
height, so that the points of a collapsed class make a spoke and none hides the others. Raw features
and weights (figure B.1) keep their lengths, which is what weight decay leaves uneven.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc_cli.collapse.plot import COLOURS
from gnc_cli.console.plot_style import GREY, INK
from gnc_cli.search.plot import draw_sphere, open_view

Mark = tuple[str, str]
"""A colour and a shape, as Matplotlib names them."""

MOST_NAMED = 12
"""Classes that are named."""
_MOST_POINTS = 6000
_LONGEST = 16


def show_places(
    ax: Any,
    features: np.ndarray | None,
    labels: np.ndarray | None,
    weights: np.ndarray,
    class_names: Sequence[str] = (),
    *,
    raw: bool = False,
) -> None:
    """Draw features and weights with d = 2 or 3 on bare axes: their directions, or as they are.

    Args:
        ax: Matplotlib axes.
        features: (N, d), of any length; those that are not finite or have no direction are left
            out, and of very many a sample is drawn. None draws the weights alone.
        labels: (N,), integers.
        weights: (K, d), of any length.
        class_names: K of them, written where there are at most 12.
        raw: for d = 2 lengths are kept, features and weights each in units of their longest.
    """
    W = np.nan_to_num(np.asarray(weights, dtype=float))
    flat = W.shape[1] == 2
    H, y = _sample(features, labels, len(W), zeros=raw and flat)
    named = class_labels(class_names) if 0 < len(class_names) <= MOST_NAMED else []
    ax.set_aspect("equal")
    ax.set_axis_off()
    if flat:
        show_circle(ax, H, y, W, named, raw=raw)
    else:
        _show_sphere(ax, H, y, W, named)


def class_labels(names: Sequence[str]) -> list[str]:
    """Names short enough to stand beside their weights, without the words that all share.

    Characters that the font of the pictures lacks are written as `U+4E00`.

    >>> class_labels(["LATIN SMALL LETTER A", "LATIN SMALL LETTER B"]), class_labels(["cat"])
    (['…A', '…B'], ['cat'])
    """
    from matplotlib.font_manager import findfont, get_font

    font = get_font(findfont("DejaVu Sans"))
    start = end = ""
    if len(names) > 1 and max(map(len, names)) > _LONGEST:
        start = os.path.commonprefix(list(names))
        start = start[: start.rfind(" ") + 1]
        end = os.path.commonprefix([name[len(start) :][::-1] for name in names])[::-1]
        end = end[end.find(" ") :] if " " in end else ""

    def label(name: str) -> str:
        kept = name[len(start) : len(name) - len(end)]
        name = "…" * bool(start) + kept + "…" * bool(end)
        name = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
        drawn = (c if font.get_char_index(ord(c)) else f"U+{ord(c):04X}" for c in name)
        return "".join(drawn).replace("$", r"\$")

    return [label(name) for name in names]


def _show_sphere(
    ax: Any, H: np.ndarray, y: np.ndarray, W: np.ndarray, named: Sequence[str]
) -> None:
    from matplotlib.patheffects import withStroke

    W, H = _unit(W), _unit(H.reshape(-1, 3))
    view = open_view(W)
    H, W = H @ view.T, W @ view.T
    marks = class_marks(np.arange(len(W)))
    draw_sphere(ax)
    for behind in (True, False):
        seen = (H[:, 2] < 0.0) == behind
        scatter_classes(ax, H[seen, :2], y[seen], marks, s=dot_size(len(H)), linewidths=0,
                        alpha=0.12 if behind else 0.75, zorder=2 if behind else 5)  # fmt: skip
    size = float(np.clip(4200.0 / len(W), 30.0, 150.0))
    for k, (at_x, at_y, depth) in enumerate(W):
        behind = depth < 0.0
        ax.scatter([at_x], [at_y], s=size, facecolors="none", edgecolors=[marks[k][0]],
                   marker=marks[k][1], linewidths=2.2, alpha=0.3 if behind else 1.0,
                   zorder=3 if behind else 6)  # fmt: skip
        if named:
            ax.annotate(named[k], (at_x, at_y), (0, 8), textcoords="offset points",
                        ha="center", va="bottom", fontsize=10, alpha=0.55 if behind else 1.0,
                        color=INK, zorder=4 if behind else 7, annotation_clip=False,
                        path_effects=[withStroke(linewidth=2.5, foreground="white")])  # fmt: skip


def _sample(
    features: np.ndarray | None, labels: np.ndarray | None, K: int, zeros: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Features and their classes, some of them in random order, so that none lies on top."""
    if features is None or labels is None:
        return np.empty((0, 0)).reshape(0, 2), np.empty(0, dtype=int)
    rows, classes = np.asarray(features, dtype=float), np.asarray(labels)
    good = np.isfinite(rows).all(axis=1) & (classes >= 0) & (classes < K)
    if not zeros:
        good &= rows.any(axis=1)
    some = np.random.default_rng(0).permutation(np.flatnonzero(good))[:_MOST_POINTS]
    return rows[some], classes[some]


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)


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
