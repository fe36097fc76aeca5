"""Plot of `gnc compare --plot`: one code, gaps of many, or the table."""

import os
from collections import Counter
from typing import Any

from gnc_cli.comparison.result import CompareResult, CompareRow, FileRow, Mode
from gnc_cli.console.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    draw_code,
    draw_cosines,
    new_figure,
    save,
    styled,
)
from gnc_cli.console.viewer import write_code_page
from gnc_cli.escaping import in_plot
from gnc_cli.figures import count
from gnc_cli.known_codes.verdict import ComparisonStatus
from gnc_cli.parameters import is_page

_FLOOR = 1e-13
"""Smallest gap that is drawn: smaller ones are rounding, of the table or of the code."""
_MARKS = {
    ComparisonStatus.MATCHES: (BLUE, "o", "matches"),
    ComparisonStatus.WORSE: (ORANGE, "v", "worse"),
    ComparisonStatus.IMPROVES: (GREEN, "^", "improves"),
    ComparisonStatus.NO_ENTRY: (GREY, "x", "no entry"),
    None: (GREY, "x", "not compared"),
}
"""Colour, marker and its name in the legend, by status."""


def plot_compare(result: CompareResult, path: str | os.PathLike[str]) -> None:
    """Draw a comparison into a .png, .svg or .pdf file.

    One code: its points if d is 2 or 3, else its cosines; .html is a page on which the code can be
    rotated. Several files: one line each with the gap. The list: largest cosines against K.

    Raises:
        UsageError: the suffix is unknown.
        OutputError: the file cannot be written; nothing has changed.
    """
    codes = result.codes
    if is_page(path) and len(codes) == 1:
        (code,) = codes
        title, facts = _heading(code.row)
        write_code_page(
            path,
            title=title,
            facts=facts,
            weights=code.weights,
            contacts=code.contact_pairs,
            rattlers=code.rattles,
            names=code.names,
        )
        return
    with styled():
        if result.mode is Mode.LIST:
            figure = _list_figure(result)
        elif len(codes) == 1 and codes[0].row.max_cosine is not None:
            figure = compared_figure(codes[0])
        else:
            figure = _gap_figure(result)
        save(figure, path)


def _heading(row: FileRow) -> tuple[str, str]:
    """Return title and facts of one code."""
    name = "largest cosine" if row.coherence is None else "both points of each line     coherence"
    facts = [] if row.compared is None else [f"{name} {row.compared:.12g}"]
    if row.best_known is not None and row.gap is not None:
        facts += [
            f"{'optimal' if row.proven else 'best known'} {row.best_known:.12g}",
            f"gap {row.gap:.2g}",
        ]
    if row.contacts is not None:
        facts.append(f"{count(row.contacts)} contacts")
    congruent = f"{in_plot(row.congruent_to)}: " if row.congruent_to else ""
    return f"{congruent}d = {row.d}, K = {count(row.K)}", "     ".join(facts)


def compared_figure(code: Any) -> Any:
    """Plot the points of a code if d is 2 or 3, else its cosines."""
    row: FileRow = code.row
    figure = new_figure(7.0, 6.4, *_heading(row))
    ax = figure.add_subplot()
    if row.d <= 3 and code.contact_pairs is not None:
        draw_code(ax, code.weights, code.contact_pairs, code.rattles)
    else:
        word = "optimal" if row.proven else "best known"
        draw_cosines(
            ax,
            code.weights,
            [] if row.best_known is None else [(row.best_known, word, GREEN)],
        )
    return figure


def _gap_figure(result: CompareResult) -> Any:
    """Plot the gaps of many codes to the best known ones, on a logarithmic axis."""
    rows = result.rows
    counts = Counter(_MARKS[row.status][2] for row in rows)
    verdicts = ",  ".join(f"{n} {name}" for name, n in counts.items()) or "no rows"
    by_file = all(row.file for row in rows)
    dims = [None] if by_file else sorted({row.d for row in rows})
    height = 2.4 + 0.3 * len(rows) if by_file else 2.0 + 1.6 * len(dims)
    title = "Gaps to the best known codes"
    facts = f"{verdicts}     table of {result.table.date}"
    figure = new_figure(9.5, height, title, facts)
    axes = figure.subplots(len(dims), sharex=True, sharey=True, squeeze=False).flat
    for ax, d in zip(axes, dims, strict=True):
        for place, row in enumerate(row for row in rows if d in (None, row.d)):
            colour, marker, _ = _MARKS[row.status]
            x, y = (_gap(row), place) if by_file else (row.K, _gap(row))
            ax.scatter(x, y, color=colour, marker=marker, zorder=3)
        ax.set_title(f"d = {d}" if d else "")
        ax.grid()
    label = f"gap to the best known code, drawn at {_FLOOR:g} if smaller"
    if by_file:
        names = [in_plot(f"{row.file}  ({row.d}, {count(row.K)})") for row in rows]
        ax.set_yticks(range(len(rows)), names)
        ax.set(xscale="log", xlabel=label, ylim=(len(rows) - 0.4, -0.6))
    else:
        ax.locator_params(axis="x", integer=True)
        ax.set(yscale="log", xlabel="K")
        figure.supylabel(label.replace(", ", ",\n"), fontsize=10)
    marks = dict.fromkeys(_MARKS[row.status] for row in rows)
    handles = [ax.scatter([], [], color=c, marker=m, label=name) for c, m, name in marks]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(_MARKS))
    return figure


def _gap(row: CompareRow) -> float:
    """Return the size of the gap, at least the floor; the floor if nothing was compared."""
    compared = row.gap is not None and row.status is not ComparisonStatus.NO_ENTRY
    return max(abs(row.gap or 0.0), _FLOOR) if compared else _FLOOR


def _list_figure(result: CompareResult) -> Any:
    """Plot the largest cosines of the table against K, one colour per d."""
    rows = result.rows
    dims = sorted({row.d for row in rows}) or [2]
    size = f"{count(len(rows))} codes{f' of d = {dims[0]}' if rows and len(dims) == 1 else ''}"
    figure = new_figure(
        10.0, 6.4, "Best known spherical codes", f"{size}     table of {result.table.date}"
    )
    ax = figure.add_subplot()
    for proven, marker, name in ((True, "o", "proved optimal"), (False, "+", "best known")):
        kind_rows = [row for row in rows if bool(row.proven) is proven]
        marks = ax.scatter(
            [row.K for row in kind_rows],
            [row.best_known or 0.0 for row in kind_rows],
            c=[row.d for row in kind_rows],
            norm="log",
            vmin=dims[0],
            vmax=dims[-1],
            marker=marker,
            label=name if kind_rows or not rows else None,
        )
    if len(dims) > 1:
        figure.colorbar(marks, ax=ax, label="d", format="{x:,.0f}")
    sizes = [row.K for row in rows]
    if sizes and max(sizes) > 30 * min(sizes):
        ax.set_xscale("log")
    ax.set(xlabel="K", ylabel="largest cosine")
    ax.grid()
    ax.legend()
    return figure
