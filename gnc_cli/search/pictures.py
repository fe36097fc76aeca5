"""What the pictures of codes are made of: the sphere, the contact graph, the cosines."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.console.plot_style import BLUE, GREY, INK, ORANGE

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


_MOST_POINTS = 2000
_MOST_CURVES = 20_000
_BEND = 0.55
"""How far a curve is drawn to the centre: 0 is a straight line, 1 touches it."""
_ARC = 18


def draw_contacts(
    ax: Any, K: int, pairs: np.ndarray, rattlers: np.ndarray, *, listed: bool = True
) -> None:
    """Draw the contact graph on bare axes.

    Args:
        ax: Matplotlib axes.
        K: number of points.
        pairs: contacts as pairs of rows, shape (m, 2).
        rattlers: which rows are free to move, shape (K,), bool.
        listed: the contacts are known; where not, the axes say so.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Circle

    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_xlim(-1.1, 1.1)
    ax.set_ylim(-1.1, 1.1)
    ax.add_patch(Circle((0, 0), 1.0, facecolor="#F4F6F8", edgecolor=GREY, lw=0.8, zorder=0))
    if not listed or K > _MOST_POINTS:
        said = f"{K:,} points:\ntoo many to draw" if listed else "contacts not listed"
        ax.text(0, 0, said, ha="center", va="center", color=INK)
        return
    turn = np.empty(K)
    turn[circular_order(K, pairs)] = 2.0 * np.pi * np.arange(K) / K
    at = np.column_stack([np.sin(turn), np.cos(turn)])
    shown = pairs
    if len(pairs) > _MOST_CURVES:
        shown = pairs[np.linspace(0, len(pairs) - 1, _MOST_CURVES).astype(np.intp)]
    t = np.linspace(0.0, 1.0, _ARC)[None, :, None]
    a, b = at[shown[:, :1]], at[shown[:, 1:]]
    middle = (1.0 - _BEND) * (a + b) / 2.0
    curves = (1 - t) ** 2 * a + 2 * t * (1 - t) * middle + t**2 * b
    # Darkness shared by all curves: few are solid, thousands make a tone.
    alpha = float(np.clip(18.0 / np.sqrt(max(len(shown), 1)) / 2.0, 0.05, 0.9))
    width = float(np.clip(16.0 / np.sqrt(max(len(shown), 1)), 0.35, 1.4))
    ax.add_collection(LineCollection(list(curves), colors=INK, lw=width, alpha=alpha, zorder=1))
    size = float(np.clip(2600.0 / K, 3.0, 70.0))
    for free, colour, label in ((False, BLUE, "point"), (True, ORANGE, "rattler")):
        some = rattlers == free
        if some.any():
            ax.scatter(at[some, 0], at[some, 1], s=size, color=colour, zorder=3, linewidths=0,
                       rasterized=K > 500)  # fmt: skip
            ax.scatter([], [], s=45, color=colour, label=label)
    sampled = f" ({_MOST_CURVES:,} of {len(pairs):,} drawn)" if len(shown) < len(pairs) else ""
    ax.plot([], [], color=INK, lw=1.3, label="contact" + sampled)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=3, handletextpad=0.4)


def circular_order(K: int, pairs: np.ndarray) -> np.ndarray:
    """Points in the order of their angle in the plane of the two slowest modes of the graph.

    Of the normalised Laplacian: eigenvectors 2 and 3 place neighbours near each other, so a circle
    in their order has short chords where the graph has any.

    Returns:
        A permutation, shape (K,).
    """
    if K < 3:
        return np.arange(K)
    adjacency = np.zeros((K, K))
    adjacency[pairs[:, 0], pairs[:, 1]] = adjacency[pairs[:, 1], pairs[:, 0]] = 1.0
    root = 1.0 / np.sqrt(np.maximum(adjacency.sum(axis=1), 1.0))
    _, modes = np.linalg.eigh(root[:, None] * adjacency * root)
    first, second = root * modes[:, -2], root * modes[:, -3]
    return np.argsort(np.arctan2(second, first), kind="stable")


_BLOCK_BYTES = 64_000_000
_FINE = 8191  # odd: 0 and simple fractions fall inside a bin, not on an edge
_MOST_PRODUCTS = 1e8


@dataclass(frozen=True, eq=False)
class CosineHistogram:
    """Counts of ordered pairs (k, j), j != k, by cosine."""

    edges: np.ndarray
    """Bin edges, shape (bins + 1,)."""
    share: np.ndarray
    """Share of the pairs in each bin, shape (bins,); adds to 1."""
    centre: np.ndarray
    """Mean cosine of the pairs in each bin, to 2.5e-4, shape (bins,); NaN where there are none."""
    rows: np.ndarray
    """The rows k that were compared with all others, shape (r,); all K unless K is very large."""
    nearest: np.ndarray
    """Largest cosine of each of these rows with another, shape (r,)."""


def cosine_histogram(W: np.ndarray, bins: int = 60) -> CosineHistogram:
    """Histogram of `<w_k, w_j>`, j != k, over the range where there are any.

    Where K squared passes 1e8, evenly spaced rows stand in for all: a picture needs no more.

    Args:
        W: unit rows, shape (K, d).
        bins: about so many bins.
    """
    K = len(W)
    sample = min(K, max(1, int(_MOST_PRODUCTS / K)))
    rows = np.unique(np.linspace(0, K - 1, sample).astype(np.intp))
    fine = np.linspace(-1.0, 1.0, _FINE + 1)
    counts = np.zeros(_FINE)
    nearest = np.empty(len(rows))
    # A block of products, its bin numbers and a mask live at once: a third of the bytes each.
    step = max(1, _BLOCK_BYTES // (3 * 8 * K))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        cosines = np.clip(W[block] @ W.T, -1.0, 1.0)
        cosines[np.arange(len(block)), block] = -1.0
        nearest[start : start + step] = cosines.max(axis=1)
        counts += np.histogram(cosines, bins=_FINE, range=(-1.0, 1.0))[0]
        counts[0] -= len(block)  # the diagonal, parked at -1
    used = np.flatnonzero(counts)
    first, last = used[0], used[-1] + 1
    width = max(1, -(-(last - first) // bins))
    starts = np.arange(first, last, width)
    grouped = np.add.reduceat(counts[:last], starts)
    moment = np.add.reduceat((counts * (fine[:-1] + fine[1:]) / 2)[:last], starts)
    centre = np.divide(moment, grouped, out=np.full(len(starts), np.nan), where=grouped > 0)
    edges = fine[np.minimum(np.append(starts, starts[-1] + width), _FINE)]
    return CosineHistogram(edges, grouped / grouped.sum(), centre, rows, nearest)


def unit_rows(W: np.ndarray) -> np.ndarray:
    """Rows divided by their lengths, shape (K, d); a zero row stays zero."""
    lengths = np.linalg.norm(W, axis=1, keepdims=True)
    return W / np.where(lengths > 0.0, lengths, 1.0)
