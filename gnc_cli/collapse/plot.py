"""The picture of `gnc measure --plot`: the classes of one set, or many sets over the epochs."""

import os
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from gnc_cli.collapse.plot_epochs import (
    COLOUR_OF_SET,
    TITLES,
    Line,
    draw_gnc2,
    draw_line,
    draw_metrics,
    set_epochs,
    set_shares,
    spaced,
)
from gnc_cli.collapse.result import (
    MAIN,
    NAMES,
    OF_THE_FILE,
    ClassRow,
    MeasureGroup,
    MeasureResult,
    MeasureSeries,
    told_apart,
)
from gnc_cli.console.numbers import count
from gnc_cli.console.plot_style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    save,
    show_heading,
    styled,
)
from gnc_cli.escaping import in_picture
from gnc_cli.io.outputs import check_plot_suffix

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9", INK)
_LONGEST = 18
"""Letters of a class's name that fit beside the picture."""
_NARROW = 1e-6
"""Distances that agree to this are one, up to rounding."""
_MOST_LABELS = 12
"""Lines or files that are named."""
Row = MeasureResult | MeasureGroup
_ACCURACY = ("accuracy", "ncc_accuracy")
_CLASSIC = (
    ("NC1: variability within classes", ("nc1",)),
    (
        "NC2: norms (solid), angles (dashed), ETF (dotted)",
        ("nc2_equinorm_means", "nc2_equiangularity", "nc2_etf_error"),
    ),
    ("NC3: distance from self-duality", ("nc3",)),
    ("NC4: classifier agrees with nearest mean", ("nc4",)),
)
"""Panels of `--variants classic`."""
_SHARES = (*_ACCURACY, "nc4")
_STYLES = ("-", "--", ":")
_LINES = (*NAMES, "gnc2.lower", "gnc2.upper", *_ACCURACY, *MAIN)


def plot_measure(result: MeasureResult | MeasureSeries, path: str | os.PathLike[str]) -> None:
    """Draw a measurement into a .png, .svg or .pdf file.

    One set: the one-vs-rest distances of its classes with GNC2 and its reference, beside the ten
    classes nearest to the hull of the others. Several: GNC1, GNC2, GNC3, NCC and accuracy over the
    epochs, as figure 2 of the paper has them, NC1 to NC4 with `--variants classic`; groups as mean
    lines with bands of one deviation. Layers of one moment stand side by side, in their order.

    Args:
        result: what `measure` returned.
        path: an existing picture is replaced, in one step.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    check_plot_suffix(path)
    with styled():
        from matplotlib.figure import Figure

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
    samples = "" if result.N is None else f", N = {count(result.N)}"
    one, three = result.forms.values()
    figures = (
        (NAMES[one], getattr(result, one), ".3g"),
        ("GNC2", result.gnc2.lower, ".6g"),
        (NAMES[three], getattr(result, three), ".3g"),
        ("NCC accuracy", result.ncc_accuracy, ".4f"),
        ("accuracy", result.accuracy, ".4f"),
    )
    show_heading(
        figure,
        f"{in_picture(title)}     d = {result.d}, K = {count(result.K)}{samples}",
        "     ".join(f"{name} {v:{form}}" for name, v, form in figures if v is not None),
    )


def _draw_distances(ax: Any, distances: np.ndarray, result: MeasureResult) -> None:
    """Histogram of the classes' one-vs-rest distances, with GNC2 and its reference marked.

    Both axes are logarithmic where some classes lie far nearer to the hull than most.
    """
    low, high = float(distances.min()), float(distances.max())
    bins = int(np.clip(2.0 * len(distances) ** 0.5, 12, 80))
    outliers = has_outliers(distances)
    edges: Any = bins
    if outliers:
        edges = np.geomspace(low, high, 2 * bins + 1)
        edges[0], edges[-1] = low, high  # the logarithms rounded them
    elif high - low < _NARROW:
        low, high, edges = low - 0.01, high + 0.01, 21
    ax.hist(distances, bins=edges, range=(low, high), color=BLUE, linewidth=0)
    rho, reference = result.gnc2.lower, result.gnc2_reference
    ax.axvline(rho, color=ORANGE, lw=1.6, label=f"GNC2 {_distance(rho)}")
    if reference is not None:
        kind = "optimum" if reference.proven else "reference"
        label = f"{kind} {_distance(reference.value)}"
        ax.axvline(reference.value, color=GREEN, lw=1.6, ls="--", label=label)
    if outliers:
        ax.set(xscale="log", yscale="log")
        ax.set_ylim(bottom=0.5)
        ax.xaxis.set_major_formatter(spaced)
    else:
        ax.locator_params(axis="x", nbins=6)
        ax.yaxis.get_major_locator().set_params(integer=True)
    ax.yaxis.set_major_formatter(spaced)
    ax.margins(y=0.08)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)
    some = len(distances) < result.K
    of = f" ({count(len(distances))} of {count(result.K)} classes)" if some else ""
    ax.set_title(f"One-vs-rest distances{of}")
    ax.set_xlabel("distance to the convex hull of the others")
    ax.set_ylabel("classes")
    ax.grid(axis="y")


def has_outliers(distances: np.ndarray) -> bool:
    """Whether the smallest distance is positive, and less than a tenth of the median."""
    return bool(0.0 < distances.min() < 0.1 * np.median(distances))


def _distance(value: float) -> str:
    return f"{value:.4f}" if value >= 0.01 else f"{value:.3g}"


def _draw_worst(ax: Any, worst: Sequence[ClassRow]) -> None:
    """A line per class, the nearest to the hull on top; on the right its nearest neighbour."""
    ax.set_title("Classes nearest to the hull")
    ends = np.array([(c.one_vs_rest.lower, c.one_vs_rest.upper) for c in worst if c.one_vs_rest])
    middle, half = ends.mean(axis=1), np.ptp(ends, axis=1) / 2.0
    place = np.arange(len(worst))
    ax.errorbar(middle, place, xerr=half, ls="none", ecolor=BLUE, elinewidth=3.0)
    ax.scatter(middle, place, s=46, color=[ORANGE, *[BLUE] * (len(worst) - 1)], zorder=3)
    # A difference of rounding is none: the axis opens to what can be seen.
    low, high = float(ends.min()), float(ends.max())
    if 0.0 < low < 0.1 * high:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(spaced)
        ax.set_xlim(low * (low / high) ** 0.08, high * (high / low) ** 0.08)
    else:
        span = max(high - low, 0.02 * float(middle.max()), _NARROW)
        ax.set_xlim(max(0.0, low - 0.15 * span), high + 0.15 * span)
        ax.locator_params(axis="x", nbins=5)
    ax.set_yticks(place, [_name(c.label, c.name) for c in worst])
    ax.set_ylim(len(worst) - 0.4, -0.6)
    beside = ax.secondary_yaxis("right")
    beside.set_yticks(
        place,
        [
            ""
            if c.nearest is None
            else f"{_name(c.nearest, c.nearest_name)}  {c.nearest_cosine:.3f}"
            for c in worst
        ],
    )
    beside.set_ylabel("nearest class, cosine", color=GREY)
    for axis in (ax, beside):
        axis.tick_params(axis="y", length=0)
        axis.spines[["left", "right"]].set_visible(False)
    ax.set_xlabel("distance to the convex hull of the others")
    ax.grid()


def _name(label: int, name: str | None) -> str:
    text = str(label) if name is None else name
    return in_picture(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def draw_series(figure: Any, result: MeasureSeries) -> None:
    """The panels of what was measured, two a line, with one legend below, in an empty figure."""
    axis, lines, ticks = lines_of(result)
    one, three = result.forms.values()
    given = [row.policy.weights == "given" for row in result.rows]
    two = TITLES["gnc2"] if all(given) else "GNC2, of class means where there are no weights"
    every: list[tuple[str, tuple[str, ...]]] = [
        (TITLES[one], (one,)),
        (two, ("gnc2.lower",)),
        (TITLES[three], (three,)),
        ("Accuracy (solid, filled) and NCC (dashed, open)", _ACCURACY),
    ]
    every += _CLASSIC if any(row.policy.variants == "classic" for row in result.rows) else ()
    panels = [
        panel
        for panel in every
        if any(np.isfinite(line.y[key]).any() for line in lines for key in panel[1])
    ]
    columns = min(2, max(1, len(panels)))
    rows = -(-len(panels) // columns) or 1
    figure.set_figheight(max(7.6, 3.6 * rows))
    axes = list(figure.subplots(rows, columns, squeeze=False, sharex=True).flat)
    colours = _colours([line.name for line in lines])
    joined = axis != "row"
    for ax, (title, keys) in zip(axes, panels, strict=False):
        ax.set_title(title)
        ax.grid()
        if keys[0] == "gnc2.lower":
            references = [r.gnc2_reference for r in result.rows if r.gnc2_reference]
            draw_gnc2(ax, lines, colours, references, joined)
        elif keys[0] in _SHARES:
            for key, style in zip(keys, _STYLES, strict=False):
                for line, colour in zip(lines, colours, strict=True):
                    draw_line(ax, line, key, "linear", colour, style, joined)
            set_shares(ax)
        else:
            draw_metrics(ax, lines, dict(zip(keys, _STYLES, strict=False)), colours, joined)
    for ax in axes[max(0, len(panels) - columns) : len(panels)]:
        ax.tick_params(labelbottom=True)
        if ticks:
            some = range(0, len(ticks), -(-len(ticks) // _MOST_LABELS))
            ax.set_xticks(some, [ticks[i] for i in some], rotation=30, ha="right")
        else:
            set_epochs(ax, axis)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    if len(lines) > 1:
        handles = [
            axes[0].plot([], [], color=colour, lw=2.2, label=line.name)[0]
            for line, colour in zip(lines[:_MOST_LABELS], colours, strict=False)
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(4, len(handles)))
    files = [*told_apart(row.file or "arrays" for row in result.rows).values()]
    sizes = {f"d = {row.d}, K = {count(row.K)}" for row in result.rows}
    facts = [files[0] if len(files) == 1 else f"{len(files)} files", f"{len(result.rows)} rows"]
    facts += [sizes.pop()] if len(sizes) == 1 else []
    facts += [f"mean and one deviation over {result.group}"] if result.groups else []
    show_heading(figure, "Neural collapse", in_picture("     ".join(facts)))


def lines_of(result: MeasureSeries) -> tuple[str, list[Line], list[str]]:
    """What x is (`epoch`, `step`, `layer` or `row`), a line per run or group of runs, and what the
    places are called where x is no number.

    A run is a file of several rows, else the files of a folder that have the same attributes; each
    file where that would put two rows at one place.
    """
    rows: Sequence[Row] = result.groups or result.rows
    axis = next((k for k in ("epoch", "step") if None not in {getattr(r, k) for r in rows}), "row")
    layers = list(dict.fromkeys(str(row.layer) for row in rows))
    facts, ticks = ["split", "layer"], []
    if len(layers) > 1 and len({(row.epoch, row.step) for row in rows}) == 1:
        axis, facts, ticks = "layer", ["split"], layers
    files = [] if result.groups else [row.file or "arrays" for row in result.rows]
    if axis == "row":
        ticks = _names(rows, files, [*facts, "snapshot"], attrs=bool(result.groups))
        return axis, [_line("", range(len(rows)), rows)], ticks
    x = [layers.index(str(row.layer)) if ticks else getattr(row, axis) for row in rows]
    if len({*files}) == len(files):
        names = _names(rows, [os.path.dirname(file) for file in files], facts, attrs=True)
    if len({*files}) < len(files) or len({*zip(names, x, strict=True)}) < len(rows):
        names = _names(rows, files, facts)
    runs: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        runs.setdefault(name, []).append(at)
    lines = [_line(name, [x[i] for i in at], [rows[i] for i in at]) for name, at in runs.items()]
    return axis, lines, ticks


def _names(
    rows: Sequence[Row], places: Sequence[str], keys: Sequence[str], attrs: bool = False
) -> list[str]:
    """What tells the rows apart: file or folder, attributes if asked for, fields such as split."""
    called = told_apart(places)
    known: list[dict[str, Any]] = []
    for at, row in enumerate(rows):
        facts: dict[str, Any] = {"place": called[places[at]]} if places else {}
        for name, value in row.attrs.items() if attrs else ():
            if name not in OF_THE_FILE:
                text = f"{value:g}" if isinstance(value, float) else value
                facts[f"attribute {name}"] = f"{name} = {text}"
        facts |= {key: getattr(row, key) for key in keys}
        known.append(facts)
    every = dict.fromkeys(key for facts in known for key in facts)
    differ = [key for key in every if len({str(facts.get(key)) for facts in known}) > 1]
    return [
        in_picture(", ".join(str(facts[key]) for key in differ if facts.get(key) is not None))
        for facts in known
    ]


def _line(name: str, x: Sequence[float], rows: Sequence[Row]) -> Line:
    order = np.argsort(np.asarray(x, dtype=float), kind="stable")
    y, band = {}, {}
    for key in _LINES:
        value = attrgetter(key)
        pairs = [
            (row.mean.get(key), row.deviation.get(key))
            if isinstance(row, MeasureGroup)
            else (value(row), None)
            for row in rows
        ]
        y[key], band[key] = np.array(pairs, dtype=float).reshape(-1, 2)[order].T
    grouped = any(isinstance(row, MeasureGroup) for row in rows)
    deviations = {key: np.nan_to_num(values) for key, values in band.items()} if grouped else None
    return Line(name, np.asarray(x, dtype=float)[order], y, deviations)


def _colours(names: Sequence[str]) -> list[Any]:
    """Sets of samples have theirs, as in the picture of `train`; runs come in order."""
    if set(names) <= set(COLOUR_OF_SET):
        return [COLOUR_OF_SET[name] for name in names]
    if len(names) <= len(COLOURS):
        return list(COLOURS[: len(names)])
    from matplotlib import colormaps

    return [colormaps["viridis"](0.9 * i / (len(names) - 1)) for i in range(len(names))]
