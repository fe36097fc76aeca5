"""The panels that describe a code of any dimension: cosines, distances, convergence."""

from typing import Any

import numpy as np

from gnc_cli.plots.cosines import CosineHistogram
from gnc_cli.plots.style import BLUE, GREEN, GREY, INK, ORANGE
from gnc_cli.results import SolveResult

__all__ = ["has_history", "show_convergence", "show_cosines", "show_distances"]


def show_cosines(ax: Any, histogram: CosineHistogram, K: int) -> None:
    """Histogram of the pairwise cosines, with the largest marked."""
    share = 100.0 * histogram.share
    edges = histogram.edges
    held = share > 0.0
    if np.count_nonzero(held) <= 12:
        # A handful of distinct cosines: a bar on each, wide enough to be seen.
        wide = max(0.012 * (edges[-1] - edges[0]), 0.006)
        ax.bar(histogram.centre[held], share[held], wide, color=BLUE)
    else:
        ax.bar(edges[:-1], share, np.diff(edges), align="edge", color=BLUE, linewidth=0)
    left, right = ax.get_xlim()
    margin = max(0.0, 0.6 - (right - left)) / 2  # a single cosine should look like one
    ax.set_xlim(left - margin, right + margin)
    top = float(histogram.nearest.max())
    ax.axvline(top, color=ORANGE, lw=1.4, ls="--")
    ax.annotate(
        f"largest {top:z.4f}",
        (top, 1.0),
        (-4, -2),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="right",
        va="top",
        color=ORANGE,
        fontsize=9,
    )
    if share.max() > 200.0 * share[held].min():
        ax.set_yscale("log")
    ax.set_ylim(top=ax.get_ylim()[1] * (3.0 if ax.get_yscale() == "log" else 1.12))
    sampled = f" (rows: {len(histogram.rows):,} of {K:,})" if len(histogram.rows) < K else ""
    ax.set_title("Pairwise cosines" + sampled)
    ax.set_xlabel(r"cosine of classes $k \neq j$")
    ax.set_ylabel("share of pairs (%)")
    ax.grid(axis="y")


def show_distances(ax: Any, result: SolveResult, histogram: CosineHistogram) -> None:
    """One-vs-rest distance of each class, sorted; nearest chords where those were not computed."""
    lower = result.extras.get("one_vs_rest_lower")
    upper = result.extras.get("one_vs_rest_upper")
    if lower is None and upper is None:
        distance = np.sqrt(np.maximum(0.0, 2.0 - 2.0 * histogram.nearest))
        floor, name, title = result.rho_one_vs_one, "minimum", "Distance to the nearest class"
        rattlers, label = result.extras.get("rattlers_one_vs_one"), "chord"
        if rattlers is not None:
            rattlers = np.asarray(rattlers)[histogram.rows]
        low = high = distance
    else:
        low = np.asarray(lower if lower is not None else upper, dtype=float)
        high = np.asarray(upper if upper is not None else lower, dtype=float)
        floor, name = result.rho_one_vs_rest.lower, "certified minimum"
        title, label = "One-vs-rest distances", "distance"
        rattlers = result.extras.get("rattlers_one_vs_rest")
    order = np.argsort(low, kind="stable")
    rank = np.arange(1, len(low) + 1)
    low, high = low[order], high[order]
    free = np.zeros(len(low), bool) if rattlers is None else np.asarray(rattlers, bool)[order]
    size = float(np.clip(1200.0 / len(low), 2.0, 22.0))
    ax.axhline(floor, color=GREEN, lw=1.4, ls="--", zorder=1)
    if np.any(high - low > 1e-3 * max(1e-12, abs(floor))):
        ax.vlines(rank, low, high, color=GREY, lw=max(0.3, size / 12), alpha=0.7, zorder=2)
    for some, colour, what in ((~free, BLUE, "class"), (free, ORANGE, "rattler")):
        if some.any():
            ax.scatter(
                rank[some],
                low[some],
                s=size,
                color=colour,
                label=what,
                zorder=3,
                linewidths=0,
                rasterized=len(low) > 5000,
            )
    # Equal to the last digit is the usual end: keep rounding noise from filling the panel.
    span = max(float(high.max()) - min(floor, float(low.min())), 0.1 * abs(floor), 1e-6)
    base = min(floor, float(low.min()))
    ax.set_ylim(base - 0.3 * span, float(high.max()) + (0.25 if free.any() else 0.5) * span)
    ax.annotate(
        f"{name} {floor:.6f}",
        (0.02, floor),
        (0, -4),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="top",
        color=GREEN,
        fontsize=9,
    )
    if free.any():
        ax.legend(loc="upper left", ncols=2, handletextpad=0.2)
    ax.set_title(title)
    ax.set_xlabel("classes, sorted")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylabel(label)
    ax.grid(axis="y")


def has_history(result: SolveResult) -> bool:
    """Whether there is a convergence curve to draw: two finite points at least."""
    return len(_history(result)) >= 2


def show_convergence(ax: Any, result: SolveResult) -> None:
    """How far the best value so far was from the final one, against the steps taken."""
    history = _history(result)
    step, value = history[:, 0], history[:, 1]
    gap = np.abs(value - value[-1])
    name = {"softmax": r"$\rho$", "tammes": "the largest cosine"}.get(result.problem, "the loss")
    ax.set_title(f"Convergence of {name}")
    ax.set_xlabel("steps")
    ax.grid()
    if np.count_nonzero(gap > 0.0) >= 2:
        seen = gap > 0.0
        ax.plot(step[seen], gap[seen], color=BLUE, lw=1.5, drawstyle="steps-post")
        ax.scatter(step[seen][-1:], gap[seen][-1:], color=BLUE, s=14)
        ax.set_yscale("log")
        ax.set_ylabel("|best so far - last|")
        ax.annotate(
            f"last: {value[-1]:.9g}",
            (0.98, 0.96),
            xycoords="axes fraction",
            ha="right",
            va="top",
            fontsize=9,
            color=INK,
        )
    else:
        ax.plot(step, value, color=BLUE, lw=1.5, marker="o", ms=3, drawstyle="steps-post")
        ax.set_ylabel("best so far")
        if np.ptp(value) < 1e-9:  # found at once: do not magnify rounding
            ax.set_ylim(value[-1] - 1e-3, value[-1] + 1e-3)


def _history(result: SolveResult) -> np.ndarray:
    history = result.extras.get("history")
    history = np.empty((0, 2)) if history is None else np.asarray(history, float).reshape(-1, 2)
    return history[np.isfinite(history).all(axis=1)]
