"""Features and weights where they can be seen: in the plane, and on the sphere.

On the sphere each weight is the outline of a mark, around the features of its class.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc_cli.plots.sphere import draw_sphere, open_view
from gnc_cli.plots.style import INK
from gnc_cli.plots.train_circle import show_circle
from gnc_cli.plots.train_marks import class_marks, dot_size, scatter_classes

__all__ = ["MOST_NAMED", "class_labels", "show_places"]

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
