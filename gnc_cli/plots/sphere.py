"""Points and their contact graph on the circle and on the sphere, seen from outside.

The sphere is drawn in orthographic projection by hand: what lies in front is solid, what lies
behind shines through faintly. Matplotlib's own 3-D axes cannot hide the far side.
"""

from typing import Any

import numpy as np

from gnc_cli.plots.style import BLUE, GREY, INK, ORANGE

__all__ = ["contact_pairs", "draw_code", "draw_sphere", "open_view"]

_ARC = 25
_MOST_ARCS = 20_000
_VIEWS = 300


def draw_code(ax: Any, W: np.ndarray, pairs: np.ndarray, rattlers: np.ndarray) -> None:
    """Draw unit rows with d = 2 or 3, their contacts and rattlers, on bare axes.

    Args:
        ax: Matplotlib axes.
        W: unit rows, shape (K, 2) or (K, 3).
        pairs: contacts as pairs of rows, shape (m, 2).
        rattlers: which rows are free to move, shape (K,), bool.
    """
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_xlim(-1.08, 1.08)
    ax.set_ylim(-1.08, 1.08)
    if W.shape[1] == 2:
        _draw_circle(ax, W, pairs)
        depth = np.ones(len(W))
    else:
        W = W @ open_view(W).T
        draw_sphere(ax)
        _draw_arcs(ax, W, pairs)
        depth = W[:, 2]
    size = float(np.clip(3200.0 / len(W), 3.0, 70.0))
    for behind in (True, False):
        for free, colour, label in ((False, BLUE, "class"), (True, ORANGE, "rattler")):
            some = (rattlers == free) & ((depth < 0.0) == behind)
            if not some.any():
                continue
            ax.scatter(
                W[some, 0],
                W[some, 1],
                s=size * (0.55 if behind else 1.0),
                color=colour,
                alpha=0.28 if behind else 1.0,
                edgecolors="none" if behind else "white",
                linewidths=0.0 if behind else min(1.0, size / 30.0),
                zorder=2 if behind else 5,
                rasterized=len(W) > 5000,
            )
            if not behind:
                ax.scatter([], [], s=45, color=colour, label=label)
    if len(pairs):
        ax.plot([], [], color=INK, lw=1.3, label="contact")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.01), ncols=3, handletextpad=0.4)


def contact_pairs(W: np.ndarray, tolerance: float) -> np.ndarray:
    """Pairs whose cosine is within `tolerance` of the largest, shape (m, 2), k < j.

    Meant for pictures: K x K numbers are formed, so none are returned beyond K = 2000.
    """
    if len(W) > 2000:
        return np.empty((0, 2), dtype=np.intp)
    gram = W @ W.T
    upper = np.triu_indices(len(W), 1)
    close = gram[upper] >= gram[upper].max() - tolerance
    return np.column_stack(upper)[close]


def _draw_circle(ax: Any, W: np.ndarray, pairs: np.ndarray) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Circle

    ax.add_patch(Circle((0, 0), 1.0, facecolor="#F4F6F8", edgecolor=GREY, lw=1.0, zorder=0))
    spokes = np.stack([np.zeros_like(W), W], axis=1)
    if len(W) <= 500:
        ax.add_collection(LineCollection(list(spokes), colors=BLUE, alpha=0.25, lw=0.8, zorder=1))
    ax.add_collection(LineCollection(list(W[pairs[:_MOST_ARCS]]), colors=INK, lw=1.3, zorder=3))


def draw_sphere(ax: Any) -> None:
    """A pale unit ball on square axes, seen from the third axis."""
    from matplotlib.patches import Circle

    x = np.linspace(-1.0, 1.0, 240)
    height = np.sqrt(np.clip(1.0 - x**2 - x[:, None] ** 2, 0.0, None))
    normal = np.stack([np.broadcast_to(x, height.shape), np.broadcast_to(x[:, None], height.shape)])
    # Lambert's law with a lamp at the upper left; kept pale, the code is the subject.
    light = np.clip(-0.45 * normal[0] + 0.5 * normal[1] + 0.74 * height, 0.0, 1.0)
    shade = np.stack([0.83 + 0.16 * light, 0.86 + 0.13 * light, 0.90 + 0.095 * light], axis=-1)
    ball = ax.imshow(shade, extent=(-1, 1, -1, 1), origin="lower", interpolation="bilinear")
    ball.set_zorder(0)
    rim = Circle((0, 0), 1.0, facecolor="none", edgecolor=GREY, lw=0.8, zorder=4)
    ax.add_patch(rim)
    ball.set_clip_path(rim)
    ax.set_xlim(-1.08, 1.08)
    ax.set_ylim(-1.08, 1.08)


def _draw_arcs(ax: Any, W: np.ndarray, pairs: np.ndarray) -> None:
    from matplotlib.collections import LineCollection

    pairs = pairs[:_MOST_ARCS]
    t = np.linspace(0.0, 1.0, _ARC)[None, :, None]
    chord = W[pairs[:, :1]] * (1.0 - t) + W[pairs[:, 1:]] * t
    length = np.linalg.norm(chord, axis=2, keepdims=True)
    arcs = chord / np.where(length > 1e-9, length, 1.0)  # antipodes have no arc: a point
    pieces = np.stack([arcs[:, :-1], arcs[:, 1:]], axis=2).reshape(-1, 2, 3)
    behind = pieces[:, :, 2].mean(axis=1) < 0.0
    front = pieces[~behind, :, :2]
    width = float(np.clip(24.0 / np.sqrt(max(len(W), 1)), 0.5, 1.5))
    ax.add_collection(
        LineCollection(list(pieces[behind, :, :2]), colors=INK, alpha=0.13, lw=width, zorder=1)
    )
    ax.add_collection(LineCollection(list(front), colors=INK, lw=width, capstyle="round", zorder=3))


def open_view(W: np.ndarray) -> np.ndarray:
    """A rotation, shape (3, 3), under which no two points hide each other, as far as possible."""
    rng = np.random.default_rng(0)
    best, view = -1.0, np.eye(3)
    some = W[:150]
    near = np.triu_indices(len(some), 1)
    for _ in range(_VIEWS):
        rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        flat = some @ rotation[:2].T
        gaps = flat[near[0]] - flat[near[1]]
        apart = float((gaps**2).sum(axis=1).min())
        if apart > best:
            best, view = apart, rotation
    return view
