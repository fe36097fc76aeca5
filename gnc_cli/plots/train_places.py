"""Features and weights where they can be seen: on the circle (the paper's figure 4), on the sphere.

Classes next to each other have different colours. On the circle the features stand in a ring around
it, each at its own angle and at a random height, so that the points of a collapsed class make a
spoke and none hides the others; on the sphere each weight is a ring around the features.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc_cli.plots.measure_series import COLOURS
from gnc_cli.plots.sphere import draw_sphere, open_view
from gnc_cli.plots.style import GREY, INK

__all__ = ["MOST_NAMED", "class_labels", "show_places"]

MOST_NAMED = 12
"""Classes that are named."""
_MOST_POINTS = 6000
_RING = (1.04, 1.26)
_LABELS = 1.36
_LONGEST = 16
_APART = 0.26
"""Radians between two names."""
_HUES = COLOURS[:6]
"""Without ink, which is for words."""


def show_places(
    ax: Any,
    features: np.ndarray | None,
    labels: np.ndarray | None,
    weights: np.ndarray,
    class_names: Sequence[str] = (),
) -> None:
    """Draw directions of features and weights with d = 2 or 3 on bare axes.

    Args:
        ax: Matplotlib axes.
        features: (N, d), of any length; those that are zero or not finite are left out, and of
            very many a sample is drawn. None draws the weights alone.
        labels: (N,), integers.
        weights: (K, d), of any length.
        class_names: K of them, written where there are at most 12.
    """
    W = _unit(weights)
    H, y = _sample(features, labels, len(W))
    named = class_labels(class_names) if 0 < len(class_names) <= MOST_NAMED else []
    ax.set_aspect("equal")
    ax.set_axis_off()
    if W.shape[1] == 2:
        _show_circle(ax, H, y, W, named)
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


def _show_circle(
    ax: Any, H: np.ndarray, y: np.ndarray, W: np.ndarray, named: Sequence[str]
) -> None:
    from matplotlib.patches import Circle

    angles = np.arctan2(W[:, 1], W[:, 0])
    place = np.arange(len(W))
    if len(W) > len(_HUES):  # colours go around the circle, so that neighbours differ
        place[np.argsort(angles, kind="stable")] = np.arange(len(W))
    colours = _colours(place)
    room = _LABELS + 0.16 if named else _RING[1] + 0.04
    aside = 0.055 * max((len(name) for name in named), default=0)
    ax.set_xlim(-room - aside, room + aside)
    ax.set_ylim(-room, room)
    ax.add_patch(Circle((0, 0), 1.0, facecolor="#F4F6F8", edgecolor=GREY, lw=1.0, zorder=0))
    height = np.random.default_rng(0).uniform(*_RING, len(H))[:, None]
    ax.scatter(*(height * H).T, s=_size(len(H)), c=[colours[k] for k in y], alpha=0.55,
               linewidths=0, zorder=2, rasterized=len(H) > 1000)  # fmt: skip
    wide = 2.2 if len(W) <= MOST_NAMED else 1.2
    for (at_x, at_y), colour in zip(W, colours, strict=True):
        ax.annotate("", (at_x, at_y), (0.0, 0.0), zorder=3, annotation_clip=False,
                    arrowprops={"arrowstyle": "-|>", "color": colour, "lw": wide, "shrinkA": 0,
                                "shrinkB": 0, "mutation_scale": 6.0 * wide})  # fmt: skip
    _name_around(ax, angles, named)


def _name_around(ax: Any, angles: np.ndarray, names: Sequence[str]) -> None:
    """Names outside the ring; where weights are close, side by side with a line to each."""
    for angle, at, name in zip(angles, _spread(angles), names, strict=False):
        x, y = _LABELS * np.cos(at), _LABELS * np.sin(at)
        if abs(at - angle) > 0.02:
            inner = _RING[1] + 0.01
            ax.plot([inner * np.cos(angle), 0.98 * x], [inner * np.sin(angle), 0.98 * y],
                    color=GREY, lw=0.8, zorder=1)  # fmt: skip
        side = "center" if abs(x) < 0.12 else "left" if x > 0.0 else "right"
        up = "center" if abs(x) >= 0.12 else "bottom" if y > 0.0 else "top"
        ax.text(x, y, name, ha=side, va=up, fontsize=10)


def _spread(angles: np.ndarray) -> np.ndarray:
    """Angles near these, in their order around the circle, no two closer than `_APART`."""
    order = np.argsort(angles, kind="stable")
    at = angles[order].astype(float)
    for _ in range(200):
        after = np.concatenate([at[1:], at[:1] + 2.0 * np.pi])
        lack = np.maximum(0.0, _APART - (after - at)) / 2.0
        if not lack.max() > 1e-3 or len(at) < 2:
            break
        at = at - lack + np.roll(lack, 1)
    spread = np.empty(len(at))
    spread[order] = at
    return spread


def _show_sphere(
    ax: Any, H: np.ndarray, y: np.ndarray, W: np.ndarray, named: Sequence[str]
) -> None:
    from matplotlib.patheffects import withStroke

    view = open_view(W)
    H, W = H @ view.T, W @ view.T
    colours = _colours(np.arange(len(W)))
    draw_sphere(ax)
    for behind in (True, False):
        seen = (H[:, 2] < 0.0) == behind
        ax.scatter(*H[seen, :2].T, s=_size(len(H)), c=[colours[k] for k in y[seen]],
                   alpha=0.12 if behind else 0.75, linewidths=0, zorder=2 if behind else 5,
                   rasterized=len(H) > 1000)  # fmt: skip
    size = float(np.clip(4200.0 / len(W), 30.0, 150.0))
    for k, (at_x, at_y, depth) in enumerate(W):
        behind = depth < 0.0
        ax.scatter([at_x], [at_y], s=size, facecolors="none", edgecolors=[colours[k]],
                   linewidths=2.2, alpha=0.3 if behind else 1.0, zorder=3 if behind else 6)
        if named:
            ax.annotate(named[k], (at_x, at_y), (0, 8), textcoords="offset points",
                        ha="center", va="bottom", fontsize=10, alpha=0.55 if behind else 1.0,
                        color=INK, zorder=4 if behind else 7, annotation_clip=False,
                        path_effects=[withStroke(linewidth=2.5, foreground="white")])  # fmt: skip


def _unit(rows: np.ndarray) -> np.ndarray:
    rows = np.nan_to_num(np.asarray(rows, dtype=float))
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)


def _sample(
    features: np.ndarray | None, labels: np.ndarray | None, K: int
) -> tuple[np.ndarray, np.ndarray]:
    """Unit features and their classes, some of them in random order, so that none lies on top."""
    if features is None or labels is None:
        return np.empty((0, 0)).reshape(0, 2), np.empty(0, dtype=int)
    rows, classes = np.asarray(features, dtype=float), np.asarray(labels)
    good = np.isfinite(rows).all(axis=1) & rows.any(axis=1) & (classes >= 0) & (classes < K)
    some = np.random.default_rng(0).permutation(np.flatnonzero(good))[:_MOST_POINTS]
    return _unit(rows[some]), classes[some]


def _size(count: int) -> float:
    return float(np.clip(9000.0 / max(count, 1), 2.5, 14.0))


def _colours(place: np.ndarray) -> list[str]:
    """A colour for each place in a cycle; the last differs from the first also where they meet."""
    count = next((c for c in (6, 5, 4) if len(place) % c != 1), 6)
    return [_HUES[p % count] for p in place]
