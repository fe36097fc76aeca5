"""The picture of `gnc compare --plot`: a code and its contacts, gaps, densities, the conjecture."""

import os
from typing import Any

import numpy as np

from gnc_cli.plots.compare_panels import draw_graph, show_density, show_excess, show_gaps
from gnc_cli.plots.cosines import cosine_histogram
from gnc_cli.plots.panels import show_cosines
from gnc_cli.plots.sphere import draw_code
from gnc_cli.plots.style import INK, check_plot_suffix, save, styled
from gnc_cli.results import CompareResult, CompareRow

__all__ = ["plot_compare"]


def plot_compare(result: CompareResult, path: str | os.PathLike[str]) -> None:
    """Draw a comparison into a .png, .svg or .pdf file.

    One code shows its contact graph (on the sphere where d is 2 or 3) and its cosines; several
    codes or solves show their gaps against K and their densities; the list shows densities; the
    conjecture how far certified distances stay below 1 - t.

    Args:
        result: what `compare` returned, with the codes in its `extras`.
        path: an existing picture is replaced, in one step.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    check_plot_suffix(path)
    mode, codes = result.extras.get("mode"), result.extras.get("codes", ())
    with styled():
        if len(codes) == 1 and codes[0].row.max_cosine is not None:
            figure = _one_code(codes[0])
        elif mode == "list":
            figure = _panels(result, show_density)
        elif mode == "conjecture":
            figure = _panels(result, show_excess)
        else:
            figure = _panels(result, show_gaps, show_density)
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
        save(figure, path)


def _one_code(code: Any) -> Any:
    from matplotlib.figure import Figure

    row, W = code.row, code.weights
    pairs = np.empty((0, 2), dtype=np.intp) if code.contact_pairs is None else code.contact_pairs
    figure = Figure(figsize=(11.0, 5.6), layout="constrained")
    grid = figure.add_gridspec(1, 2, width_ratios=(1.25, 1.0))
    left = figure.add_subplot(grid[0, 0])
    (draw_code if row.d <= 3 else draw_graph)(left, W, pairs, code.rattles)
    show_cosines(figure.add_subplot(grid[0, 1]), cosine_histogram(W), row.K)
    figure.suptitle(
        f"{row.file or 'code'}: d = {row.d}, K = {row.K:,}\n{_facts(row)}", fontsize=12, color=INK
    )
    return figure


def _facts(row: CompareRow) -> str:
    said = f"largest cosine {row.max_cosine:z.12f}"
    if row.gap is not None:
        said += f"     best known {row.best_known:z.12f}     gap {row.gap:.2g}"
    if row.status is not None:
        said += f"     {row.status.value.replace('_', ' ')}"
    return said + (f"     {row.congruent_to}" if row.congruent_to else "")


def _panels(result: CompareResult, *shows: Any) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0 * len(shows), 4.8), layout="constrained")
    for ax, show in zip(figure.subplots(1, len(shows), squeeze=False)[0], shows, strict=True):
        show(ax, result.rows)
    return figure
