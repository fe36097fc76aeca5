"""The plot of `gnc solve --plot`: the points where a plane or space shows them, and the values."""

import os
from typing import Any

import numpy as np

from gnc_cli.console.drawing import (
    BLUE,
    COSINES,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    Curve,
    draw_code,
    draw_cosines,
    draw_curves,
    draw_distances,
    new_figure,
    save,
    styled,
)
from gnc_cli.console.viewer import seriated, write_code_page
from gnc_cli.figures import count
from gnc_cli.geometry.sphere import antipodes, normalise
from gnc_cli.known_codes.best import best
from gnc_cli.parameters import is_page
from gnc_cli.search.result import TITLES, SolveResult, SolveSweep

_MIN_SPREAD = 1e-6
"""Smallest spread of distances that is drawn, and smallest width of a bracket that is printed with
both ends: the plot does not resolve smaller ones."""


def plot_solve(result: SolveResult | SolveSweep, path: str | os.PathLike[str]) -> None:
    """Draw a solve, or a sweep over tau, into a .png, .svg or .pdf file; .html is a page to turn.

    d = 2 and 3 show the points with their contacts, more dimensions the Gram matrix; all show the
    cosines of the pairs with the best known one and the proved bound, and, where they differ, the
    distances of the points. A UFM optimum of free lengths with d = 2 shows its weights and features
    (the paper's figures B.1, B.2), a sweep the largest cosine and rho by tau (the paper's figure
    C.1).

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    if is_page(path):
        code = result.rows[-1] if isinstance(result, SolveSweep) else result
        title, facts = _heading(code)
        rattlers, distance = _rattlers(code)
        write_code_page(
            path,
            title=title,
            facts=facts,
            weights=_points(code),
            distance=distance,
            contacts=code.extras.get("contact_pairs"),
            rattlers=rattlers,
        )
        return
    with styled():
        if isinstance(result, SolveSweep):
            save(sweep_figure(result), path)
        elif result.d == 2 and result.ufm is not None and result.ufm.weight_decay is not None:
            save(plane_figure(result), path)
        else:
            save(code_figure(result), path)


def code_figure(result: SolveResult) -> Any:
    """Draw the points or the Gram matrix of a code, its cosines, distances and search."""
    W, extras = _points(result), result.extras
    cosine = result.max_cosine if result.coherence is None else result.coherence
    best_known, optimum = result.best_known, result.optimum
    optimal = best_known is not None and bool(best_known.proven)
    levels = [] if cosine is None else [(cosine, "largest", ORANGE)]
    # Lines of a smaller difference coincide in the plot.
    if best_known is not None and (cosine is None or best_known.max_cosine < cosine - 5e-5):
        levels.append((best_known.max_cosine, "optimal" if optimal else "best known", GREEN))
    if optimum is not None and not optimum.proved and not optimal:
        levels.append((1.0 - optimum.upper, "proved lower bound", PURPLE))
    lower = extras.get("one_vs_rest_lower", np.zeros(0))
    differ = len(lower) and np.ptp(lower) > _MIN_SPREAD
    history = np.reshape([] if extras.get("history") is None else extras["history"], (-1, 2))
    panels = 1 + bool(differ) + (len(history) > 1)
    figure = new_figure(12.0, max(6.0, 2.6 * panels), *_heading(result))
    grid = figure.add_gridspec(panels, 2, width_ratios=(1.3, 1.0))
    code_panel = figure.add_subplot(grid[:, 0])
    if result.d <= 3:
        contacts = extras.get("contact_pairs", np.empty((0, 2), np.intp))
        draw_code(code_panel, W, contacts, _rattlers(result)[0])
    else:
        _draw_gram(figure, code_panel, W, "bottom" if panels > 2 else "right")
    value_panels = [figure.add_subplot(grid[row, 1]) for row in range(panels)]
    draw_cosines(value_panels[0], W, levels)
    if differ:
        free = extras.get("rattlers_one_vs_rest", np.zeros(result.K, dtype=bool))
        floor = (float(lower.min()), "certified minimum", GREEN)
        draw_distances(
            value_panels[1], lower, extras.get("one_vs_rest_upper", lower), free, [floor]
        )
    if len(history) > 1:
        curve = Curve("", history[:, 0].tolist(), history[:, 1].tolist(), BLUE)
        draw_curves(value_panels[-1], "Objective during the search", [curve])
        value_panels[-1].set(xlabel="steps", ylabel="objective")
        value_panels[-1].locator_params(axis="x", nbins=6, integer=True)
        value_panels[-1].xaxis.set_major_formatter("{x:,.0f}")
    return figure


def _points(result: SolveResult) -> np.ndarray:
    """Return the unit rows of a code, shape (K, d); of lines with their opposites, (2 K, d)."""
    W = normalise(np.asarray(result.weights))
    return W if result.coherence is None else antipodes(W)


def _draw_gram(figure: Any, ax: Any, W: np.ndarray, location: str) -> None:
    """Draw the cosines of all pairs, close points together; of large codes, of a sample of rows."""
    from matplotlib.colors import LinearSegmentedColormap

    order = seriated(W)
    cosines = W[order] @ W[order].T
    reach = float(np.abs(cosines - np.eye(len(order))).max())
    colours = LinearSegmentedColormap.from_list("cosines", COSINES)
    image = ax.imshow(cosines, cmap=colours, vmin=-reach, vmax=reach, rasterized=True)
    sampled = f" ({count(len(order))} of {count(len(W))})" if len(order) < len(W) else ""
    ax.set(title="Cosines, near points side by side" + sampled, xticks=[], yticks=[])
    figure.colorbar(image, ax=ax, location=location, shrink=0.6, label="cosine")


def plane_figure(result: SolveResult) -> Any:
    """Draw weights and features in the plane as vectors, with the circles of their mean lengths."""
    figure = new_figure(11.0, 6.5, *_heading(result))
    panels = figure.subplots(1, 2)
    weights, features = ("Classifier weights", BLUE), ("Features", ORANGE)
    rows = (result.weights, result.features)
    for ax, vectors, (title, colour) in zip(panels, rows, (weights, features), strict=True):
        lengths = np.linalg.norm(vectors, axis=1)
        mean, angles = float(lengths.mean()), np.linspace(0.0, 2.0 * np.pi, 200)
        ax.plot(mean * np.cos(angles), mean * np.sin(angles), color=GREY, lw=0.9, ls="--")
        for vector in vectors:
            ax.plot(*np.stack([np.zeros(2), vector]).T, color=colour, alpha=0.55)
        ax.scatter(*vectors.T, s=26, color=colour, zorder=3)
        ax.set(title=title, aspect="equal")
        spread = 100.0 * float(lengths.std()) / mean
        ax.set_xlabel(f"mean length {mean:.4g} (dashed), spread {spread:.2g} %")
        ax.grid()
    return figure


def sweep_figure(sweep: SolveSweep) -> Any:
    """Draw largest cosine and one-vs-rest distance by tau, with those of the best known code."""
    taus = [row.ufm.tau for row in sweep.rows if row.ufm is not None]
    facts = f"{count(len(taus))} temperatures from {min(taus):g} to {max(taus):g}"
    title = f"UFM optimum: d = {sweep.d}, K = {count(sweep.K)}"
    figure = new_figure(11.5, 4.8, title, facts if len(taus) > 1 else rf"$\tau$ = {taus[0]:g}")
    best_known = best(sweep.d, sweep.K)
    cosines = [row.max_cosine for row in sweep.rows]
    distances = [row.ufm.gnc2.lower for row in sweep.rows if row.ufm is not None]
    for ax, values, title in zip(
        figure.subplots(1, 2),
        (cosines, distances),
        ("Largest cosine", "One-vs-rest distance"),
        strict=True,
    ):
        order = np.argsort(taus)
        x, y = (np.array(series)[order].tolist() for series in (taus, values))
        draw_curves(ax, title, [Curve("cross-entropy optimum", x, y, BLUE)])
        if best_known is not None:
            limit = best_known.max_cosine if values is cosines else best_known.distance
            name = "optimal" if best_known.proven else "best known"
            label = rf"$\tau \to 0$: {name} code, {limit:z.4f}"
            ax.axhline(limit, color=GREEN, lw=1.4, ls="--", label=label)
        ax.set(xscale="log", xlabel=r"temperature $\tau$")
        ax.legend()
    return figure


def _heading(result: SolveResult) -> tuple[str, str]:
    """Return the title and the values below it."""
    title = f"{TITLES[result.problem]}: d = {result.d}, K = {count(result.K)}"
    if result.ufm is not None:
        title += f", \N{GREEK SMALL LETTER TAU} = {result.ufm.tau:g}"
    rho = result.rho_one_vs_rest
    if result.coherence is not None:
        facts = (
            f"coherence {result.coherence:.9f}     minimal angle {result.min_angle_deg:.5f}"
            f"\N{DEGREE SIGN}     drawn as {count(2 * result.K)} antipodal points"
        )
        return title, facts
    if rho is None:
        return title, result.verdict or ""
    if rho.width <= _MIN_SPREAD:
        bracket = f"{rho.lower:.9g}, certified to {max(rho.width, 1e-16):.0e}"
    else:
        bracket = f"in [{rho.lower:.6f}, {rho.upper:.6f}]"
    facts = (
        f"one-vs-rest distance {bracket}     largest cosine {result.max_cosine:z.9f}     "
        f"minimal angle {result.min_angle_deg:.5f}\N{DEGREE SIGN}"
    )
    return title, facts


def _rattlers(result: SolveResult) -> tuple[np.ndarray, str]:
    """Return which points are rattlers, shape (K,), and the name of the distance that decides it.

    It is the distance that the problem maximises, else the other one.
    """
    distances = ["one-vs-rest", "one-vs-one"]
    for distance in reversed(distances) if result.problem == "tammes" else distances:
        name = f"rattlers_{distance.replace('-', '_')}"
        if name in result.extras:
            return np.asarray(result.extras[name]), distance
    return np.zeros(len(_points(result)), dtype=bool), distances[0]
