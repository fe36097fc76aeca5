"""Packing density of the best known codes against K, as the public table draws it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc_cli.plots.style import INK
from gnc_cli.results import CompareRow

__all__ = ["neighbours", "packing_density", "show_densities"]

_NEAR = 1.3
"""Marks whose K differ by a larger factor are not joined: nothing is known between them."""


def packing_density(d: int, K: int, max_cosine: float) -> float:
    """Share of the sphere in R^d that K caps cover whose radius is half the smallest angle.

    The share of one cap of angle theta <= pi/2 is `I(sin^2 theta; (d-1)/2, 1/2) / 2`, the
    regularised incomplete beta function; half of any angle is that small.

    Example:
        >>> round(packing_density(3, 12, 5 ** -0.5), 4), round(packing_density(2, 4, 0.0), 12)
        (0.8961, 1.0)
    """
    from scipy.special import betainc

    half_sine_squared = (1.0 - max_cosine) / 2.0
    share = 0.5 * float(betainc((d - 1) / 2.0, 0.5, half_sine_squared))
    return K * share


def neighbours(K: np.ndarray) -> list[np.ndarray]:
    """Runs of entries that a line may join: each K follows the last or is within a factor of it.

    Args:
        K: numbers of points, increasing, shape (m,).

    Returns:
        Indices of each run, in order; together all of 0 .. m - 1.

    Example:
        >>> [K.tolist() for K in neighbours(np.array([2, 3, 4, 6, 24, 30, 120]))]
        [[0, 1, 2], [3], [4, 5], [6]]
    """
    far = (np.diff(K) > 1) & (K[1:] > _NEAR * K[:-1])
    return np.split(np.arange(len(K)), np.flatnonzero(far) + 1)


def show_densities(ax: Any, rows: Sequence[CompareRow]) -> None:
    """Marks for each dimension, joined where K is near; filled ones are proved optimal."""
    from matplotlib import colormaps

    known = [row for row in rows if row.best_known is not None]
    dims = sorted({row.d for row in known})
    places = []
    for rank, d in enumerate(dims):
        colour = colormaps["viridis"](0.85 * rank / max(1, len(dims) - 1))
        some = sorted((row for row in known if row.d == d), key=lambda row: row.K)
        K = np.array([row.K for row in some])
        density = np.array([packing_density(d, row.K, row.best_known or 0.0) for row in some])
        proven = np.array([bool(row.proven) for row in some])
        for run in neighbours(K):
            ax.plot(K[run], density[run], color=colour, lw=0.9, alpha=0.7)
        ax.scatter(K[proven], density[proven], s=24, color=[colour], zorder=3)
        ax.scatter(K[~proven], density[~proven], s=14, facecolors="white", edgecolors=[colour],
                   linewidths=0.9, zorder=3)  # fmt: skip
        places.append((K[-1], density[-1], d, colour))
    if places and max(p[0] for p in places) > 30 * min(row.K for row in known):
        ax.set_xscale("log")
    ax.set_yscale("log" if places and min(p[1] for p in places) < 0.1 else "linear")
    _label_ends(ax, places)
    ax.scatter([], [], s=24, color=INK, label="proved optimal")
    ax.scatter([], [], s=14, facecolors="white", edgecolors=INK, label="best known")
    ax.legend(loc="lower left")
    ax.set_xlabel("K")
    ax.set_ylabel("share of the sphere under caps of half the smallest angle")
    ax.grid()


def _label_ends(ax: Any, places: Sequence[tuple[float, float, int, Any]]) -> None:
    """The dimension at the right end of each curve, moved apart where ends crowd."""
    if not places:
        return
    right = ax.get_xlim()[1]
    low, high = ax.transLimits.inverted().transform([(0.0, 0.0), (0.0, 1.0)])[:, 1]
    log = ax.get_yscale() == "log"
    gap = 0.03 * (high - low)
    last = -np.inf
    for _, density, d, colour in sorted(places, key=lambda p: p[1]):
        raw = np.log10(density) if log else density
        at = max(raw, last + gap)
        last = at
        ax.annotate(f"d = {d}", (right, 10**at if log else at), (5, 0), va="center", fontsize=8,
                    textcoords="offset points", color=colour, annotation_clip=False)  # fmt: skip
