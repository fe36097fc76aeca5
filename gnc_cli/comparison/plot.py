"""The picture of `gnc compare --plot`: one code, gaps of many, or the table."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnc_cli.comparison.result import CompareResult, CompareRow, Mode
from gnc_cli.console.numbers import count
from gnc_cli.console.plot_style import BLUE, GREEN, GREY, INK, ORANGE, save, show_heading, styled
from gnc_cli.console.viewer import write_code_page
from gnc_cli.escaping import in_picture
from gnc_cli.io.outputs import is_page
from gnc_cli.known_codes.best import Reference, best
from gnc_cli.known_codes.verdict import ComparisonStatus

_TITLES = {
    Mode.FILES: "Codes beside the best known ones",
    Mode.SOLVE: "Fresh solves beside the best known codes",
    Mode.HUNT: "Visits of a hunt beside the best known codes",
    Mode.LIST: "Best known spherical codes",
}
_GAP = "size of the gap, largest cosine - best known"
_FLOOR = 1e-13
"""Smaller gaps are rounding, the table's or ours: they lie on the floor."""
_TICKS = {_FLOOR: "< 1e-13", 1e-9: "1e-9", 1e-5: "1e-5", 1e-1: "0.1"}
_SIGNED_TICKS = {
    -1e-1: "-0.1",
    -1e-5: "-1e-5",
    -1e-9: "-1e-9",
    0.0: "0",
    1e-9: "1e-9",
    1e-5: "1e-5",
    1e-1: "0.1",
}
_MOST_LABELS = 14
_NEIGHBOURS = 8
"""Sizes above and below K whose best known codes are shown beside a code."""
_MARKS: dict[ComparisonStatus | None, tuple[str, str, int, str]] = {
    ComparisonStatus.MATCHES: (BLUE, "o", 30, "ties"),
    ComparisonStatus.WORSE: (ORANGE, "o", 30, "missed"),
    ComparisonStatus.IMPROVES: (GREEN, "^", 60, "improves"),
    ComparisonStatus.NO_ENTRY: (GREY, "|", 30, "no entry"),
}
"""Colour, marker, its size and its name in the legend."""


def plot_compare(result: CompareResult, path: str | os.PathLike[str]) -> None:
    """Draw a comparison into a .png, .svg or .pdf file.

    One file: its largest cosine among the best known ones of about its size, and its gap beside
    their differences; .html is a page to turn the code. Several files: one line each with the gap.
    Fresh solves: gaps against K, one panel for each d. The list: packing density against K, one
    colour for each d.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    codes = result.codes
    if is_page(path):
        _write_page(codes[0], path)
        return
    with styled():
        if result.mode is Mode.LIST:
            figure = _density_figure(result)
        elif len(codes) == 1 and codes[0].row.max_cosine is not None:
            figure = code_figure(codes[0])
        else:
            figure = _gap_figure(result)
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
        save(figure, path)


def _write_page(code: Any, path: str | os.PathLike[str]) -> None:
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


def code_figure(code: Any) -> Any:
    """The code among the best known ones of about its size, and its gap beside theirs."""
    from matplotlib.figure import Figure

    row: CompareRow = code.row
    sizes = range(max(2, row.K - _NEIGHBOURS), row.K + _NEIGHBOURS + 1)
    known = {K: found for K in sizes if (found := best(row.d, K)) is not None}
    if row.best_known is None:
        figure = Figure(figsize=(8.0, 5.2), layout="constrained")
        _show_neighbours(figure.add_subplot(), row, known)
    else:
        figure = Figure(figsize=(12.0, 5.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        _show_neighbours(left, row, known)
        _show_gap(right, row, known)
    show_heading(figure, *_heading(row))
    return figure


def _heading(row: CompareRow) -> tuple[str, str]:
    """Title and facts of one code."""
    said = [] if row.max_cosine is None else [f"largest cosine {row.max_cosine:.12g}"]
    if row.best_known is not None and row.gap is not None:
        said += [f"best known {row.best_known:.12g}", f"gap {row.gap:.2g}"]
    if row.contacts is not None:
        said.append(f"{count(row.contacts)} contacts")
    name = f"{in_picture(row.congruent_to)}: " if row.congruent_to else ""
    return f"{name}d = {row.d}, K = {count(row.K)}", "     ".join(said)


def _show_neighbours(ax: Any, row: CompareRow, known: Mapping[int, Reference]) -> None:
    """Largest cosines against K; the code is a ring, so that what it surrounds is seen."""
    for proven, face, name in ((True, GREEN, "proved optimal"), (False, "white", "best known")):
        some = [(K, found.max_cosine) for K, found in known.items() if found.proven is proven]
        if some:
            ax.scatter(
                *zip(*some, strict=True),
                s=46,
                facecolors=face,
                edgecolors=GREEN,
                label=name,
                zorder=3,
            )
    ax.scatter(
        [row.K],
        [row.max_cosine],
        s=170,
        facecolors="none",
        edgecolors=ORANGE,
        linewidths=1.8,
        label="this code",
        zorder=4,
    )
    ax.set(title=f"Best known codes in d = {row.d}", xlabel="K", ylabel="largest cosine")
    _count_points(ax)
    ax.grid()
    ax.legend()


def _show_gap(ax: Any, row: CompareRow, known: Mapping[int, Reference]) -> None:
    """How far this code, and the best known ones of other sizes, are from the best known of K."""
    at = row.best_known or 0.0
    others = {K: found.max_cosine - at for K, found in known.items() if K != row.K}
    gap = row.gap or 0.0
    # Linear within rounding of 0, so that a tie lies on the line.
    ax.set_yscale("symlog", linthresh=_FLOOR, linscale=0.5)
    ax.axhline(0.0, color=GREY, lw=0.8)
    if others:
        ax.scatter(
            others.keys(),
            others.values(),
            s=40,
            facecolors="white",
            edgecolors=GREEN,
            label="best known code of K points",
            zorder=3,
            clip_on=False,
        )
    colour, marker, size, word = _mark(row)
    ax.vlines(row.K, 0.0, gap, color=colour, lw=1.6)
    ax.scatter(
        row.K,
        gap,
        s=2 * size,
        color=colour,
        marker=marker,
        zorder=4,
        clip_on=False,
        label=f"this code: {word}, gap {gap:.2g}",
    )
    seen = [*others.values(), gap]
    ax.set_ylim(min(-1e-8, 4.0 * min(seen)), max(1e-8, 4.0 * max(seen)))
    ax.set_yticks(list(_SIGNED_TICKS), list(_SIGNED_TICKS.values()))
    ax.set_yticks([], minor=True)
    ax.set(
        title=f"Difference from the best known code of {count(row.K)} points",
        xlabel="K",
        ylabel=f"largest cosine - {at:.6g}",
    )
    _count_points(ax)
    ax.grid(axis="y")
    ax.legend(loc="upper left")


def _count_points(ax: Any) -> None:
    """Whole numbers along the axis of K, in groups of three."""
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.xaxis.set_major_formatter(lambda value, _: count(round(value)))


# How far many codes are from the best known ones, on a log scale


def _gap_figure(result: CompareResult) -> Any:
    from matplotlib.figure import Figure

    rows = result.rows
    if rows and all(row.file for row in rows):
        figure = Figure(figsize=(9.0, 2.0 + 0.3 * len(rows)), layout="constrained")
        _show_gaps_by_file(figure.add_subplot(), rows)
    else:
        dims = sorted({row.d for row in rows}) or [0]
        columns = 1 if len(dims) <= 6 else 2
        lines = -(-len(dims) // columns)
        figure = Figure(figsize=(9.5 * columns, 1.6 + 1.75 * lines), layout="constrained")
        axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
        _show_gaps_by_size(figure, list(axes.T.ravel()), dims, rows)
    counts = Counter(_mark(row)[3] for row in rows)
    said = ",  ".join(f"{n} {name}" for name, n in counts.items()) or "no rows"
    show_heading(figure, _TITLES[result.mode], f"{said}     table of {result.table.date}")
    return figure


def _show_gaps_by_size(
    figure: Any, axes: Sequence[Any], dims: Sequence[int], rows: Sequence[CompareRow]
) -> None:
    """One panel for each dimension: size of the gap against K; left-over panels are blank."""
    for ax in axes[len(dims) :]:
        ax.set_axis_off()
    for ax, d in zip(axes, dims, strict=False):
        ax.set_yscale("log")
        ax.set_ylim(*_gap_limits(rows))
        ax.axhline(_FLOOR, color=GREY, lw=0.8)
        some = [row for row in rows if row.d == d]
        for row in some:
            colour, marker, size, _ = _mark(row)
            ax.vlines(row.K, _FLOOR, _height(row), color=colour, lw=0.9, alpha=0.6)
            ax.scatter(
                row.K, _height(row), s=size, color=colour, marker=marker, zorder=3, clip_on=False
            )
        missed = [row for row in some if _height(row) > _FLOOR]
        for row in missed if len(missed) <= _MOST_LABELS else ():
            ax.annotate(
                str(row.K),
                (row.K, _height(row)),
                (0, 5),
                ha="center",
                fontsize=8,
                textcoords="offset points",
                color=_mark(row)[0],
            )
        ax.set_title(f"d = {d}")
        ax.grid(axis="y")
        _count_points(ax)
        ax.tick_params(labelbottom=True)
        ax.set_yticks(list(_TICKS), list(_TICKS.values()))
    figure.supxlabel("K", fontsize=10)
    figure.supylabel(_GAP, fontsize=10)
    _show_legend(axes[0], rows)


def _show_gaps_by_file(ax: Any, rows: Sequence[CompareRow]) -> None:
    """One line for each file, from the top down: the size of its gap."""
    ax.set_xscale("log")
    ax.set_xlim(*_gap_limits(rows))
    for line, row in enumerate(rows):
        colour, marker, size, _ = _mark(row)
        ax.hlines(line, _FLOOR, _height(row), color=colour, lw=1.0, alpha=0.6)
        ax.scatter(_height(row), line, s=size, color=colour, marker=marker, zorder=3, clip_on=False)
    names = [in_picture(f"{row.file}  ({row.d}, {count(row.K)})") for row in rows]
    ax.set_yticks(range(len(rows)), names)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xticks(list(_TICKS), list(_TICKS.values()))
    ax.set_xlabel(_GAP)
    ax.grid(axis="x")
    _show_legend(ax, rows)


def _mark(row: CompareRow) -> tuple[str, str, int, str]:
    return _MARKS[row.status or ComparisonStatus.NO_ENTRY]


def _height(row: CompareRow) -> float:
    """Size of the gap, at least the floor; the floor where there is nothing to compare with."""
    compared = row.gap is not None and row.status not in (None, ComparisonStatus.NO_ENTRY)
    return max(abs(row.gap or 0.0), _FLOOR) if compared else _FLOOR


def _gap_limits(rows: Sequence[CompareRow]) -> tuple[float, float]:
    return _FLOOR / 4.0, max([60.0 * _height(row) for row in rows] + [1e-8])


def _show_legend(ax: Any, rows: Sequence[CompareRow]) -> None:
    for colour, marker, size, name in dict.fromkeys(_mark(row) for row in rows):
        ax.scatter([], [], s=size, color=colour, marker=marker, label=name)
    if rows:
        ax.legend(
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            ncols=len(_MARKS),
            handletextpad=0.2,
            borderaxespad=0.1,
        )


# Packing density of the table


def _density_figure(result: CompareResult) -> Any:
    """Marks for each dimension; filled ones are proved optimal."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 6.4), layout="constrained")
    ax = figure.add_subplot()
    dims = sorted({row.d for row in result.rows})
    least = 1.0
    for rank, d in enumerate(dims):
        colour = colormaps["viridis"](0.85 * rank / max(1, len(dims) - 1))
        some = sorted((row for row in result.rows if row.d == d), key=lambda row: row.K)
        K = np.array([row.K for row in some])
        density = np.array([packing_density(d, row.K, row.best_known or 0.0) for row in some])
        least = min(least, *density)
        proven = np.array([bool(row.proven) for row in some])
        ax.scatter(K[proven], density[proven], s=24, color=[colour], zorder=3)
        ax.scatter(
            K[~proven],
            density[~proven],
            s=14,
            facecolors="white",
            edgecolors=[colour],
            linewidths=0.9,
            zorder=3,
        )
        ax.plot([], [], "o", color=colour, ms=4, label=f"d = {d}")
    sizes = [row.K for row in result.rows]
    if sizes and max(sizes) > 30 * min(sizes):
        ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: count(round(value)))
    ax.scatter([], [], s=24, color=INK, label="proved optimal")
    ax.scatter([], [], s=14, facecolors="white", edgecolors=INK, label="best known")
    figure.legend(loc="outside right upper", ncols=1 + len(dims) // 25)
    if least < 0.1:
        ax.set_yscale("log")
    else:
        ax.set_ylim(0.0, 1.02)
    ax.set_xlabel("K")
    ax.set_ylabel("share of the sphere under caps of half the smallest angle")
    ax.grid()
    facts = f"{count(len(sizes))} codes in {len(dims)} dimensions     table of {result.table.date}"
    show_heading(figure, _TITLES[Mode.LIST], facts)
    return figure


def packing_density(d: int, K: int, max_cosine: float) -> float:
    """Share of the sphere in R^d that K caps cover whose radius is half the smallest angle.

    The share of one cap of angle theta <= pi/2 is `I(sin^2 theta; (d-1)/2, 1/2) / 2`, the
    regularised incomplete beta function; half of any angle is that small.
    """
    from scipy.special import betainc

    half_sine_squared = (1.0 - max_cosine) / 2.0
    share = 0.5 * float(betainc((d - 1) / 2.0, 0.5, half_sine_squared))
    return K * share
