"""The picture of `gnc solve --plot`: the code itself where it can be seen, and its numbers."""

import os
from typing import Any

import numpy as np

from gnc_cli.console.plot_style import BLUE, GREEN, GREY, INK, ORANGE, save, show_heading, styled
from gnc_cli.errors import UsageError
from gnc_cli.search.pictures import (
    CosineHistogram,
    contact_pairs,
    cosine_histogram,
    draw_code,
    unit_rows,
)
from gnc_cli.search.result import SolveResult, SolveSweep


def plot_solve(
    result: SolveResult | SolveSweep,
    path: str | os.PathLike[str],
    *,
    reference: float | None = None,
) -> None:
    """Draw a solve, or a sweep over tau, into a .png, .svg or .pdf file.

    d = 2 and 3 show the points with their contacts; every d shows the pairwise cosines, the
    one-vs-rest distances and, where there is a history, the convergence. A UFM optimum with d = 2
    shows its weights and features with their lengths (figures B.1, B.2 of the paper), a sweep the
    largest cosine against tau (figure C.1).

    Args:
        result: what `solve` returned; `extras` are used where present.
        path: an existing picture is replaced, in one step.
        reference: for a sweep, the HardMax (Tammes) value of the largest cosine.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    with styled():
        if isinstance(result, SolveSweep):
            figure = _sweep_figure(result, reference)
        elif result.problem == "ufm" and result.d == 2 and _paired(result):
            figure = _plane_figure(result)
        else:
            figure = _code_figure(result)
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
        save(figure, path)


def _code_figure(result: SolveResult) -> Any:
    from matplotlib.figure import Figure

    W = unit_rows(np.asarray(result.weights, dtype=float))
    histogram = cosine_histogram(W)
    panels = 3 if has_history(result) else 2
    if result.d <= 3:
        figure = Figure(figsize=(11.5, 7.4 if panels == 3 else 6.4), layout="constrained")
        grid = figure.add_gridspec(panels, 2, width_ratios=(1.45, 1.0))
        draw_code(figure.add_subplot(grid[:, 0]), W, _contacts(result, W), _rattlers(result))
        axes = [figure.add_subplot(grid[row, 1]) for row in range(panels)]
    else:
        figure = Figure(figsize=(4.6 * panels, 4.3), layout="constrained")
        axes = list(figure.subplots(1, panels, squeeze=False)[0])
    show_cosines(axes[0], histogram, result.K)
    show_distances(axes[1], result, histogram)
    if panels == 3:
        show_convergence(axes[2], result)
    _head(figure, result)
    return figure


def _plane_figure(result: SolveResult) -> Any:
    from matplotlib.figure import Figure

    assert result.features is not None
    history = has_history(result)
    figure = Figure(figsize=(11.0, 9.0), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(1.35, 1.0))
    show_vectors(figure.add_subplot(grid[0, 0]), result.weights, BLUE, "Classifier weights")
    show_vectors(figure.add_subplot(grid[0, 1]), result.features, ORANGE, "Features")
    below = figure.add_subplot(grid[1, 0] if history else grid[1, :])
    show_length_ratios(below, result.weights, result.features)
    if history:
        show_convergence(figure.add_subplot(grid[1, 1]), result)
    _head(figure, result)
    return figure


def _sweep_figure(sweep: SolveSweep, reference: float | None) -> Any:
    from matplotlib.figure import Figure

    panels = 1 if reference is None else 2
    figure = Figure(figsize=(6.4 if panels == 1 else 11.0, 4.6), layout="constrained")
    show_sweep(list(figure.subplots(1, panels, squeeze=False)[0]), sweep, reference)
    figure.suptitle(
        f"UFM optimum against temperature: d = {sweep.d}, K = {sweep.K:,}",
        fontsize=13,
        fontweight="bold",
    )
    return figure


def _head(figure: Any, result: SolveResult) -> None:
    names = {"softmax": "Softmax Code", "tammes": "Tammes code", "ufm": "UFM optimum"}
    title = f"{names.get(result.problem, result.problem)}: d = {result.d}, K = {result.K:,}"
    if result.ufm is not None:
        title += rf", $\tau$ = {result.ufm.tau:g}"
    rho = result.rho_one_vs_rest
    if rho.width <= 1e-6:
        bracket = rf"$\rho$ = {rho.lower:.9g}, certified to {max(rho.width, 1e-16):.0e}"
    else:
        bracket = rf"$\rho$ in [{rho.lower:.6f}, {rho.upper:.6f}]"
    facts = (
        f"one-vs-rest distance {bracket}     largest cosine {result.max_cosine:z.9f}     "
        f"smallest angle {result.min_angle_deg:.5f}\N{DEGREE SIGN}"
    )
    show_heading(figure, title, facts)


def _contacts(result: SolveResult, W: np.ndarray) -> np.ndarray:
    pairs = result.extras.get("contact_pairs")
    if pairs is None:
        return contact_pairs(W, max(result.rattlers.tolerance, 1e-12))
    return np.asarray(pairs, dtype=np.intp).reshape(-1, 2)


def _rattlers(result: SolveResult) -> np.ndarray:
    """By the distance that the problem is about, else by the other one, shape (K,)."""
    names = ["rattlers_one_vs_rest", "rattlers_one_vs_one"]
    for name in reversed(names) if result.problem == "tammes" else names:
        if result.extras.get(name) is not None:
            return np.asarray(result.extras[name], dtype=bool)
    return np.zeros(result.K, dtype=bool)


def _paired(result: SolveResult) -> bool:
    return result.features is not None and result.features.shape == result.weights.shape


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
