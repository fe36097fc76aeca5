"""The picture of `gnc measure --plot`: the classes of one set, or many sets over the epochs."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from gnc_cli.collapse.result import (
    OF_THE_FILE,
    ClassRow,
    MeasureGroup,
    MeasureResult,
    MeasureSeries,
)
from gnc_cli.console.plot_style import BLUE, GREEN, GREY, INK, ORANGE, save, show_heading, styled
from gnc_cli.io.outputs import check_plot_suffix

COLOURS = (BLUE, ORANGE, GREEN, "#CC79A7", "#E69F00", "#56B4E9", INK)
_LONGEST = 18
"""Letters of a class's name that fit beside the picture."""
_NARROW = 1e-6
"""Distances that agree to this are one, up to rounding."""
_MOST_LABELS = 12
"""Lines or files that are named."""
Row = MeasureResult | MeasureGroup
_PANELS = (
    ("GNC1: variability within classes", "log", ("gnc1",)),
    ("GNC2: one-vs-rest distance", "linear", ("gnc2.lower",)),
    ("GNC3: distance from self-duality", "log", ("gnc3",)),
    ("NCC (solid, filled) and accuracy (dashed, open)", "linear", ("ncc_accuracy", "accuracy")),
)


def plot_measure(result: MeasureResult | MeasureSeries, path: str | os.PathLike[str]) -> None:
    """Draw a measurement into a .png, .svg or .pdf file.

    One set: the one-vs-rest distances of its classes with GNC2 and its reference, beside the ten
    classes nearest to the hull of the others. Several: GNC1, GNC2, GNC3, NCC and accuracy over the
    epochs, as figure 2 of the paper has them; groups as mean lines with bands of one deviation.

    Args:
        result: what `measure` returned.
        path: an existing picture is replaced, in one step.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    check_plot_suffix(path)
    from matplotlib.figure import Figure

    with styled():
        one = isinstance(result, MeasureResult)
        figure: Any = Figure(figsize=(11.5, 5.6 if one else 7.6), layout="constrained")
        if isinstance(result, MeasureResult):
            _draw_set(figure, result)
        else:
            draw_series(figure, result)
        figure.get_layout_engine().set(w_pad=0.14, h_pad=0.1)
        save(figure, path)


def _draw_set(figure: Any, result: MeasureResult) -> None:
    worst = [c for c in result.worst_classes if c.one_vs_rest is not None]
    lower, upper = result.one_vs_rest or (np.zeros(0), np.zeros(0))
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    if len(lower):
        _draw_distances(left, (lower + upper) / 2.0, result)
    else:
        left.set_axis_off()
    if worst:
        _draw_worst(right, worst)
    else:
        right.set_axis_off()
    name = os.path.basename(result.file or "arrays")
    title = f"{name}: {result.snapshot}" if result.snapshot else name
    samples = "" if result.N is None else f", N = {result.N:,}"
    figures = (
        ("GNC1", result.gnc1, ".3g"), ("GNC2", result.gnc2.lower, ".6g"),
        ("GNC3", result.gnc3, ".3g"), ("NCC accuracy", result.ncc_accuracy, ".4f"),
        ("accuracy", result.accuracy, ".4f"),
    )  # fmt: skip
    show_heading(
        figure, f"{title}     d = {result.d}, K = {result.K:,}{samples}",
        "     ".join(f"{name} {v:{form}}" for name, v, form in figures if v is not None),
    )  # fmt: skip


def _draw_distances(ax: Any, distances: np.ndarray, result: MeasureResult) -> None:
    """Histogram of the classes' one-vs-rest distances, with GNC2 and its reference marked."""
    low, high = float(distances.min()), float(distances.max())
    bins = int(np.clip(2.0 * len(distances) ** 0.5, 12, 80))
    if high - low < _NARROW:
        low, high, bins = low - 0.01, high + 0.01, 21
    ax.hist(distances, bins=bins, range=(low, high), color=BLUE, linewidth=0)
    rho, reference = result.gnc2.lower, result.gnc2_reference
    ax.axvline(rho, color=ORANGE, lw=1.6, label=f"GNC2 {rho:.4f}")
    if reference is not None:
        kind = "optimum" if reference.proven else "reference"
        label = f"{kind} {reference.value:.4f}"
        ax.axvline(reference.value, color=GREEN, lw=1.6, ls="--", label=label)
    ax.margins(y=0.2)
    ax.legend(loc="upper right", frameon=True, framealpha=0.9, edgecolor="none")
    some = len(distances) < result.K
    of = f" ({len(distances):,} of {result.K:,} classes)" if some else ""
    ax.set_title(f"One-vs-rest distances{of}")
    ax.set_xlabel("distance to the convex hull of the others")
    ax.set_ylabel("classes")
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.locator_params(axis="x", nbins=6)
    ax.grid(axis="y")


def _draw_worst(ax: Any, worst: Sequence[ClassRow]) -> None:
    """A line per class, the nearest to the hull on top; on the right its nearest neighbour."""
    ax.set_title("Classes nearest to the hull")
    ends = np.array([(c.one_vs_rest.lower, c.one_vs_rest.upper) for c in worst if c.one_vs_rest])
    middle, half = ends.mean(axis=1), np.ptp(ends, axis=1) / 2.0
    place = np.arange(len(worst))
    ax.errorbar(middle, place, xerr=half, ls="none", ecolor=BLUE, elinewidth=3.0)
    ax.scatter(middle, place, s=46, color=[ORANGE, *[BLUE] * (len(worst) - 1)], zorder=3)
    # A difference of rounding is none: the axis opens to what can be seen.
    span = max(float(np.ptp(ends)), 0.02 * float(middle.max()), _NARROW)
    ax.set_xlim(max(0.0, float(ends.min()) - 0.15 * span), float(ends.max()) + 0.15 * span)
    ax.set_yticks(place, [_name(c.label, c.name) for c in worst])
    ax.set_ylim(len(worst) - 0.4, -0.6)
    beside = ax.secondary_yaxis("right")
    beside.set_yticks(place, [
        "" if c.nearest is None else f"{_name(c.nearest, c.nearest_name)}  {c.nearest_cosine:.3f}"
        for c in worst
    ])  # fmt: skip
    beside.set_ylabel("nearest class, cosine", color=GREY)
    for axis in (ax, beside):
        axis.tick_params(axis="y", length=0)
        axis.spines[["left", "right"]].set_visible(False)
    ax.set_xlabel("distance to the convex hull of the others")
    ax.locator_params(axis="x", nbins=5)
    ax.grid()


def _name(label: int, name: str | None) -> str:
    text = str(label) if name is None else _escaped(name)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _escaped(text: str) -> str:
    """A dollar sign would begin a formula."""
    return text.replace("$", r"\$")


@dataclass(frozen=True, eq=False)
class Line:
    """One run, or the mean of a group of runs, along the epochs."""

    name: str
    x: np.ndarray
    """Epochs, increasing, shape (m,)."""
    y: dict[str, np.ndarray]
    """By dotted key, NaN where there is none."""
    band: dict[str, np.ndarray] | None = None
    """Standard deviations; None for a single run."""


def draw_series(figure: Any, result: MeasureSeries) -> None:
    """The panels of what was measured, two a line, with one legend below, in an empty figure."""
    axis, lines, ticks = lines_of(result)
    panels = [
        panel for panel in _PANELS
        if any(np.isfinite(line.y[key]).any() for line in lines for key in panel[2])
    ]  # fmt: skip
    columns = min(2, max(1, len(panels)))
    rows = -(-len(panels) // columns) or 1
    axes = list(figure.subplots(rows, columns, squeeze=False, sharex=True).flat)
    colours = _colours(len(lines))
    for ax, (title, scale, keys) in zip(axes, panels, strict=False):
        for line, colour in zip(lines, colours, strict=True):
            for key, style in zip(keys, ("-", "--"), strict=False):
                draw_line(ax, line, key, scale, colour, style, joined=not ticks)
        ax.set_title(title)
        ax.set_yscale(scale)
        ax.grid()
        if scale == "log" and not any((line.y[keys[0]] > 0.0).any() for line in lines):
            ax.tick_params(axis="y", which="both", left=False, labelleft=False)
        if "gnc2.lower" in keys:
            _draw_references(ax, result.rows)
        if "accuracy" in keys:
            ax.set_ylabel("share of samples")
    for ax in axes[max(0, len(panels) - columns) : len(panels)]:
        ax.tick_params(labelbottom=True)
        if ticks:
            some = range(0, len(ticks), -(-len(ticks) // _MOST_LABELS))
            ax.set_xticks(some, [ticks[i] for i in some], rotation=30, ha="right")
        else:
            ax.set_xlabel(axis)
            ax.locator_params(axis="x", integer=True)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    if len(lines) > 1:
        handles = [
            axes[0].plot([], [], color=colour, lw=2.2, label=line.name)[0]
            for line, colour in zip(lines[:_MOST_LABELS], colours, strict=False)
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(4, len(handles)))
    files = {os.path.basename(row.file or "arrays") for row in result.rows}
    sizes = {f"d = {row.d}, K = {row.K:,}" for row in result.rows}
    facts = [files.pop() if len(files) == 1 else f"{len(files)} files", f"{len(result.rows)} rows"]
    facts += [sizes.pop()] if len(sizes) == 1 else []
    facts += [f"mean and one deviation over {result.group}"] if result.groups else []
    show_heading(figure, "Neural collapse", "     ".join(facts))


def lines_of(result: MeasureSeries) -> tuple[str, list[Line], list[str]]:
    """What x is (`epoch`, `step` or `row`), a line per run or group of runs, names of bare rows."""
    rows: Sequence[Row] = result.groups or result.rows
    grouped = bool(result.groups)
    axis = next((k for k in ("epoch", "step") if None not in {getattr(r, k) for r in rows}), "row")
    if axis == "row":
        names = _names(rows, file=not grouped, attrs=grouped, snapshot=True)
        return axis, [_line("", range(len(rows)), rows)], names
    # A file per epoch is one run; files that share an epoch are several.
    apart = not grouped and len({row.file for row in result.rows}) < len(rows)
    names = _names(rows, file=apart, attrs=not apart)
    x = [getattr(row, axis) for row in rows]
    if not apart and len({*zip(names, x, strict=True)}) < len(rows):
        names = _names(rows, file=True)
    runs: dict[str, list[Row]] = {}
    for name, row in zip(names, rows, strict=True):
        runs.setdefault(name, []).append(row)
    lines = [_line(name, [getattr(r, axis) for r in run], run) for name, run in runs.items()]
    return axis, lines, []


def _names(
    rows: Sequence[Row], *, file: bool = False, attrs: bool = False, snapshot: bool = False
) -> list[str]:
    """What tells the rows apart: file, attributes or snapshot as asked for; split and layer."""
    known: list[dict[str, Any]] = []
    for row in rows:
        facts: dict[str, Any] = {}
        if file and isinstance(row, MeasureResult):
            facts["file"] = os.path.basename(row.file or "arrays")
        for name, value in row.attrs.items() if attrs else ():
            if name not in OF_THE_FILE:
                text = f"{value:g}" if isinstance(value, float) else value
                facts[f"attribute {name}"] = f"{name} = {text}"
        keys = ("split", "layer", "snapshot") if snapshot else ("split", "layer")
        known.append(facts | {key: getattr(row, key) for key in keys})
    every = dict.fromkeys(key for facts in known for key in facts)
    differ = [key for key in every if len({str(facts.get(key)) for facts in known}) > 1]
    return [
        _escaped(", ".join(str(facts[key]) for key in differ if facts.get(key) is not None))
        for facts in known
    ]


def _line(name: str, x: Sequence[float], rows: Sequence[Row]) -> Line:
    order = np.argsort(np.asarray(x, dtype=float), kind="stable")
    y, band = {}, {}
    for key in (key for *_, keys in _PANELS for key in keys):
        value = attrgetter(key)
        pairs = [
            (row.mean.get(key), row.deviation.get(key)) if isinstance(row, MeasureGroup)
            else (value(row), None)
            for row in rows
        ]  # fmt: skip
        y[key], band[key] = np.array(pairs, dtype=float).reshape(-1, 2)[order].T
    grouped = any(isinstance(row, MeasureGroup) for row in rows)
    deviations = {key: np.nan_to_num(values) for key, values in band.items()} if grouped else None
    return Line(name, np.asarray(x, dtype=float)[order], y, deviations)


def draw_line(
    ax: Any, line: Line, key: str, scale: str, colour: Any, style: str, joined: bool = True
) -> None:
    """One key of a line: marked points where there are few, filled with style `-`, open with `--`;
    a band where it has deviations. The scale `log` puts zeros on the bottom edge. Values that are
    not finite are left out."""
    y = line.y[key]
    if scale == "log":
        _mark_zeros(ax, line.x[y == 0.0], colour)
        y = np.where(y > 0.0, y, np.nan)
    seen = np.isfinite(y)
    if not seen.any():
        return
    few = len(line.x) <= 40
    ax.plot(
        line.x[seen], y[seen], ls=style if joined else "none", color=colour, lw=1.7,
        marker=("o" if style == "-" else "D") if few else None, ms=4.5 if joined else 7,
        mfc="white" if style == "--" else colour,
    )  # fmt: skip
    if line.band is None:
        return
    x, y, deviation = line.x[seen], y[seen], line.band[key][seen]
    if not joined:
        ax.errorbar(x, y, deviation, ls="none", ecolor=colour, lw=1.4)
        return
    # On a logarithmic axis a deviation above the mean would reach below zero.
    low = np.maximum(y - deviation, y / 10.0) if scale == "log" else y - deviation
    ax.fill_between(x, low, y + deviation, color=colour, alpha=0.18, lw=0)


def _mark_zeros(ax: Any, x: np.ndarray, colour: Any) -> None:
    """What a logarithmic axis cannot hold stands on its bottom edge, labelled 0."""
    if not x.size:
        return
    edge = ax.get_xaxis_transform()
    ax.plot(x, np.zeros(x.size), ls="none", marker="v", ms=7, color=colour, transform=edge,
            clip_on=False, zorder=3)  # fmt: skip
    for at in x[:_MOST_LABELS]:
        ax.annotate("0", (at, 0.0), (0, 5), xycoords=edge, textcoords="offset points",
                    ha="center", va="bottom", color=INK, fontsize=9)  # fmt: skip


def _draw_references(ax: Any, rows: Sequence[MeasureResult]) -> None:
    known = {r.gnc2_reference.value: r.gnc2_reference.proven for r in rows if r.gnc2_reference}
    for value, proven in sorted(known.items())[-3:]:
        label = f"{'optimum' if proven else 'reference'} {value:.4f}"
        ax.axhline(value, color=GREY, lw=1.3, ls="--", zorder=1, label=label)
    low, high = ax.get_ylim()
    ax.set_ylim(min(0.0, low), high + 0.05 * (high - min(0.0, low)))
    if known:
        ax.legend(loc="lower right")


def _colours(count: int) -> list[Any]:
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    from matplotlib import colormaps

    return [colormaps["viridis"](0.9 * i / (count - 1)) for i in range(count)]
