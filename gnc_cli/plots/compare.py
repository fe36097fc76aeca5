"""The picture of `gnc compare --plot`: one code, gaps of many, or the table."""

import os
from typing import Any

import numpy as np

from gnc_cli.plots.contacts import draw_contacts
from gnc_cli.plots.cosines import cosine_histogram
from gnc_cli.plots.density import show_densities
from gnc_cli.plots.gaps import Dots, show_dots_by_name, show_dots_by_size
from gnc_cli.plots.panels import show_cosines
from gnc_cli.plots.sphere import draw_code
from gnc_cli.plots.style import check_plot_suffix, save, show_heading, styled
from gnc_cli.results import CompareResult, CompareRow, Standing

__all__ = ["plot_compare"]

_TITLES = {
    "files": "Codes beside the best known ones",
    "solve": "Fresh solves beside the best known codes",
    "list": "Best known spherical codes",
}
_AXIS = "|largest cosine - best known|"


def plot_compare(result: CompareResult, path: str | os.PathLike[str]) -> None:
    """Draw a comparison into a .png, .svg or .pdf file; `result.extras["mode"]` says which.

    One file: its contact graph beside the distribution of its inner products. Several files: a
    line each with the gap. Fresh solves: gaps against K, a panel for each d. The list: packing
    density against K, a curve for each d.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    check_plot_suffix(path)
    mode = result.extras.get("mode", "files")
    codes = result.extras.get("codes", ())
    with styled():
        if mode == "list":
            figure = _density_figure(result)
        elif mode == "files" and len(codes) == 1 and codes[0].row.max_cosine is not None:
            figure = _code_figure(codes[0])
        else:
            figure = _gap_figure(result, mode)
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
        save(figure, path)


def _code_figure(code: Any) -> Any:
    from matplotlib.figure import Figure

    row: CompareRow = code.row
    W = code.weights
    figure = Figure(figsize=(12.0, 6.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
    none = np.empty((0, 2), dtype=np.intp)
    pairs = none if code.contact_pairs is None else code.contact_pairs
    rattles = np.zeros(len(W), bool) if code.rattles is None else code.rattles
    if row.d <= 3:
        draw_code(left, W, pairs, rattles)
    else:
        draw_contacts(left, len(W), pairs, rattles, listed=code.contact_pairs is not None)
    show_cosines(right, cosine_histogram(W), row.K)
    name = f"{row.congruent_to}: " if row.congruent_to else ""
    facts = f"largest cosine {row.max_cosine:.12g}"
    if row.best_known is not None and row.status is not None:
        said = {
            Standing.MATCHES: "ties the best known",
            Standing.IMPROVES: "improves on the best known",
            Standing.WORSE: "best known",
            Standing.NO_ENTRY: "of a construction",
        }[row.status]
        facts += f"     {said} {row.best_known:.12g}"
    if row.contacts is not None:
        facts += f"     {row.contacts:,} contacts"
    if row.rattlers is not None and row.rattlers.one_vs_one:
        facts += f"     {row.rattlers.one_vs_one} rattlers"
    show_heading(figure, f"{name}d = {row.d}, K = {row.K:,}", facts)
    return figure


def _gap_figure(result: CompareResult, mode: str) -> Any:
    from matplotlib.figure import Figure

    dots = [_dot(row) for row in result.rows]
    named = [row.file for row in result.rows]
    if dots and all(named):
        figure = Figure(figsize=(9.0, 2.0 + 0.3 * len(dots)), layout="constrained")
        names = [f"{n}  ({r.d}, {r.K:,})" for n, r in zip(named, result.rows, strict=True)]
        show_dots_by_name(figure.add_subplot(), names, dots, _AXIS)
    else:
        dims = sorted({row.d for row in result.rows}) or [0]
        columns = 1 if len(dims) <= 6 else 2
        lines = -(-len(dims) // columns)
        figure = Figure(figsize=(9.5 * columns, 1.6 + 1.75 * lines), layout="constrained")
        axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
        some = [[dot for dot in dots if dot.d == d] for d in dims]
        show_dots_by_size(list(axes.T.ravel()), dims, some, _AXIS)
    counts: dict[str, int] = {}
    for dot in dots:
        counts[dot.kind] = counts.get(dot.kind, 0) + 1
    said = ",  ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in counts.items())
    show_heading(figure, _TITLES[mode], f"{said or 'no rows'}     table of {result.table.date}")
    return figure


def _dot(row: CompareRow) -> Dots:
    """How far a row is from its reference; positive is worse."""
    kind = "no_entry" if row.status is None else row.status.value
    return Dots(row.d, row.K, row.gap if kind != "no_entry" else None, kind)


def _density_figure(result: CompareResult) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 6.4), layout="constrained")
    show_densities(figure.add_subplot(), result.rows)
    dims = len({row.d for row in result.rows})
    facts = f"{len(result.rows):,} codes in {dims} dimensions     table of {result.table.date}"
    show_heading(figure, _TITLES["list"], facts)
    return figure
