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

from gnc_cli.console.plot_style import BLUE, GREEN, GREY, ORANGE
from gnc_cli.escaping import in_picture
from gnc_cli.search.plot import draw_sphere, open_view

MOST_NAMED = 12
"""Classes that are named."""
_MOST_POINTS = 6000
_LONGEST = 16
_RING = (1.04, 1.2)
_HUES = (BLUE, ORANGE, GREEN, "#CC79A7", "#E69F00", "#56B4E9")
_SHAPES = ("o", "^", "s", "D", "v", "P")

Mark = tuple[str, str]
"""A colour and a shape, as Matplotlib names them."""


def show_places(
    ax: Any,
    features: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    class_names: Sequence[str],
    *,
    raw: bool = False,
) -> None:
    """Draw features (N, d) and weights (K, d) with d = 2 or 3 on bare axes: their directions.

    `raw` keeps lengths for d = 2, features and weights each in units of their longest.
    """
    some = np.random.default_rng(0).permutation(len(features))[:_MOST_POINTS]
    H, y = np.asarray(features, dtype=float)[some], labels[some]
    W = np.asarray(weights, dtype=float)
    ax.set_aspect("equal")
    ax.set_axis_off()
    if W.shape[1] == 2:
        marks, note = _draw_circle(ax, H, y, W, raw)
    else:
        marks, note = _draw_features_on_sphere(ax, H, y, W), None
    names = class_labels(class_names) if len(class_names) <= MOST_NAMED else []
    for (colour, shape), name in zip(marks, names, strict=False):
        ax.plot([], [], ls="none", marker=shape, color=colour, label=name)
    ax.legend(
        handles=ax.get_legend_handles_labels()[0],
        title=note,
        title_fontsize=9,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=4,
        handletextpad=0.2,
    )


def _draw_circle(
    ax: Any, H: np.ndarray, y: np.ndarray, W: np.ndarray, raw: bool
) -> tuple[list[Mark], str]:
    """Features as dots and weights as arrows; the marks, and a note of what was done to them."""
    from matplotlib.patches import Circle

    turn = np.argsort(np.argsort(np.arctan2(W[:, 1], W[:, 0]), kind="stable"))
    # Neighbours differ in colour; few classes keep theirs from one picture to another.
    marks = class_marks(turn if len(W) > len(_HUES) else np.arange(len(W)))
    if raw:
        longest, heaviest = (np.linalg.norm(rows, axis=1).max() for rows in (H, W))
        dots, tips = H / max(longest, 1e-300), W / max(heaviest, 1e-300)
        note = f"the circle: the longest weight, {heaviest:.3g}, and the longest feature, "
        note += f"{longest:.3g}, each on a scale of its own"
    else:
        dots, tips = _unit(H) * np.random.default_rng(0).uniform(*_RING, (len(H), 1)), _unit(W)
        note = "dots are spread outward so that they can be seen"
    reach = 1.1 if raw else 1.05 * _RING[1]
    ax.set_xlim(-reach, reach)
    ax.set_ylim(-reach, reach)
    ax.add_patch(Circle((0, 0), 1.0, facecolor="#F4F6F8", edgecolor=GREY, lw=1.0, zorder=0))
    _scatter(ax, dots, y, marks, s=_dot_size(len(H)), alpha=0.55, linewidths=0, zorder=2)
    origin = np.zeros(len(W))
    ax.quiver(
        origin,
        origin,
        *tips.T,
        color=[colour for colour, _ in marks],
        angles="xy",
        scale_units="xy",
        scale=1.0,
        width=0.008 if len(W) <= MOST_NAMED else 0.004,
        zorder=3,
        edgecolor="white",
        linewidth=0.5,
    )
    return marks, note


def _draw_features_on_sphere(ax: Any, H: np.ndarray, y: np.ndarray, W: np.ndarray) -> list[Mark]:
    view = open_view(_unit(W))
    H, W, marks = _unit(H) @ view.T, _unit(W) @ view.T, class_marks(np.arange(len(W)))
    draw_sphere(ax)
    size = float(np.clip(4200.0 / len(W), 30.0, 150.0))
    for behind in (True, False):
        seen, k = (H[:, 2] < 0.0) == behind, np.flatnonzero((W[:, 2] < 0.0) == behind)
        _scatter(
            ax,
            H[seen, :2],
            y[seen],
            marks,
            s=_dot_size(len(H)),
            linewidths=0,
            alpha=0.12 if behind else 0.75,
            zorder=2 if behind else 5,
        )
        _scatter(
            ax,
            W[k, :2],
            k,
            marks,
            s=size,
            linewidths=2.2,
            facecolors="none",
            alpha=0.3 if behind else 1.0,
            zorder=3 if behind else 6,
        )
    return marks


def class_marks(place: np.ndarray) -> list[Mark]:
    """The mark of each class, given its place in a row or around a circle.

    Neighbours differ in colour, the last and the first too; classes of one colour differ in shape,
    up to thirty of them.

    >>> class_marks(np.array([0, 1, 6]))
    [('#0072B2', 'o'), ('#D55E00', 'o'), ('#0072B2', '^')]
    """
    count = next((c for c in (6, 5, 4) if len(place) % c != 1), 6)
    return [(_HUES[p % count], _SHAPES[p // count % len(_SHAPES)]) for p in place]


def class_labels(names: Sequence[str]) -> list[str]:
    """Names short enough for a legend, without the words that all share.

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
        return in_picture("".join(drawn))

    return [label(name) for name in names]


def _scatter(
    ax: Any, points: np.ndarray, classes: np.ndarray, marks: Sequence[Mark], **looks: Any
) -> None:
    """Points (n, 2) with the marks of their classes (n,)."""
    shapes = np.array([marks[k][1] for k in classes])
    for shape in dict.fromkeys(shapes):
        seen = shapes == shape
        colours = [marks[k][0] for k in classes[seen]]
        hollow = looks.get("facecolors") == "none"
        ax.scatter(
            *points[seen].T,
            marker=shape,
            rasterized=len(points) > 1000,
            **({"edgecolors": colours} if hollow else {"c": colours}),
            **looks,
        )


def _dot_size(count: int) -> float:
    """Area of each of so many dots, in square points."""
    return float(np.clip(9000.0 / max(count, 1), 4.0, 24.0))


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
