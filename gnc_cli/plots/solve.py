"""The picture of `gnc solve --plot`: the code itself where it can be seen, and its numbers."""

import os
from typing import Any

import numpy as np

from gnc_cli.plots.cosines import cosine_histogram, unit_rows
from gnc_cli.plots.panels import has_history, show_convergence, show_cosines, show_distances
from gnc_cli.plots.sphere import contact_pairs, draw_code
from gnc_cli.plots.style import BLUE, ORANGE, check_plot_suffix, save, show_heading, styled
from gnc_cli.plots.ufm import show_length_ratios, show_sweep, show_vectors
from gnc_cli.results import SolveResult, SolveSweep

__all__ = ["plot_solve"]


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
    check_plot_suffix(path)
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
