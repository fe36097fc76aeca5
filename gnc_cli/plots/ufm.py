"""Pictures of the unconstrained feature model: its optimum in the plane, and a sweep over tau."""

from typing import Any

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.plots.style import BLUE, GREEN, GREY, INK, ORANGE
from gnc_cli.results import SolveSweep

__all__ = ["show_length_ratios", "show_sweep", "show_vectors"]


def show_vectors(ax: Any, vectors: np.ndarray, colour: str, title: str) -> None:
    """Arrows from the origin with their true lengths, shape (m, 2)."""
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Circle

    lengths = np.linalg.norm(vectors, axis=1)
    reach = float(lengths.max()) or 1.0
    mean = float(lengths.mean())
    ax.add_patch(Circle((0, 0), mean, facecolor="none", edgecolor=GREY, lw=0.9, ls=(0, (4, 3))))
    spokes = np.stack([np.zeros_like(vectors), vectors], axis=1)
    ax.add_collection(LineCollection(list(spokes), colors=colour, lw=1.2, alpha=0.55))
    ax.scatter(*vectors.T, s=26, color=colour, zorder=3, edgecolors="white", linewidths=0.6)
    ax.scatter([0], [0], s=10, color=INK, zorder=4)
    ax.set_aspect("equal")
    ax.locator_params(nbins=5)
    ax.set_xlim(-1.12 * reach, 1.12 * reach)
    ax.set_ylim(-1.12 * reach, 1.12 * reach)
    ax.set_title(title)
    spread = float(lengths.std() / mean) if mean > 0.0 else 0.0
    ax.set_xlabel(f"mean length {mean:.4g} (dashed), spread {100 * spread:.2g} %")
    ax.grid()


def show_length_ratios(ax: Any, weights: np.ndarray, features: np.ndarray) -> None:
    """|w_k| / |h_k| of each class, in the order in which the weights go round the circle."""
    order = np.argsort(np.arctan2(weights[:, 1], weights[:, 0]))
    norms = np.linalg.norm(features, axis=1)
    ratio = (np.linalg.norm(weights, axis=1) / np.where(norms > 0.0, norms, np.nan))[order]
    rank = np.arange(1, len(ratio) + 1)
    middle = float(np.nanmean(ratio))
    ax.axhline(middle, color=GREEN, lw=1.4, ls="--")
    ax.vlines(rank, middle, ratio, color=GREY, lw=1.0)
    ax.scatter(rank, ratio, s=18, color=BLUE, zorder=3)
    reach = max(1.45 * float(np.nanmax(np.abs(ratio - middle))), 0.05 * middle)
    ax.set_ylim(middle - reach, middle + reach)
    ax.set_title("Length ratios")
    ax.set_xlabel("classes, around the circle")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylabel(r"$|w_k|\,/\,|h_k|$")
    ax.annotate(
        f"mean {middle:.4f}",
        (0.98, 0.97),
        xycoords="axes fraction",
        ha="right",
        va="top",
        color=GREEN,
        fontsize=9,
    )
    ax.grid(axis="y")


def show_sweep(axes: list[Any], sweep: SolveSweep, reference: float | None) -> None:
    """Largest cosine against tau on `axes[0]`; with a reference, the gap to it on `axes[1]`.

    Raises:
        UsageError: the rows of the sweep have no tau.
    """
    rows = [row for row in sweep.rows if row.ufm is not None]
    if not rows:
        raise UsageError("only a sweep over --tau of --problem ufm has a picture")
    rows.sort(key=lambda row: row.ufm.tau if row.ufm is not None else 0.0)
    tau = np.array([row.ufm.tau for row in rows if row.ufm is not None])
    cosine = np.array([row.max_cosine for row in rows])
    ax = axes[0]
    if reference is not None:
        ax.axhline(reference, color=GREEN, lw=1.4, ls="--", label=f"HardMax limit {reference:.9f}")
    ax.plot(tau, cosine, color=BLUE, lw=1.5, marker="o", ms=5, label="cross-entropy optimum")
    ax.set_xscale("log")
    ax.set_title("Largest cosine")
    ax.set_ylabel("largest cosine between classes")
    ax.legend(loc="best")
    if reference is not None:
        gap = np.abs(cosine - reference)
        seen = gap > 0.0
        axes[1].plot(tau[seen], gap[seen], color=ORANGE, lw=1.5, marker="o", ms=5)
        axes[1].set_xscale("log")
        if seen.any():
            axes[1].set_yscale("log")
        axes[1].set_title("Distance to the HardMax limit")
        axes[1].set_ylabel("|largest cosine - limit|")
    for ax in axes:
        ax.set_xlabel(r"temperature $\tau$")
        ax.grid()
