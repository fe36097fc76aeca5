"""The contact graph of a code in any dimension: its points around a circle, in spectral order."""

from typing import Any

import numpy as np

from gnc_cli.plots.style import BLUE, GREY, INK, ORANGE

__all__ = ["circular_order", "draw_contacts"]

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
