"""The plot of `gnc measure --plot`: the classes of one set, or several sets over the epochs."""

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from gnc_cli.collapse.result import (
    FILE_ATTRIBUTES,
    NAMES,
    ClassRow,
    Gnc2Reference,
    MeasureResult,
    MeasureSeries,
    distinct_names,
    value_under,
)
from gnc_cli.console.drawing import (
    BLUE,
    COLOURS,
    GREEN,
    GREY,
    ORANGE,
    Curve,
    draw_curves,
    draw_distances,
    new_figure,
    open_limits,
    save,
    styled,
)
from gnc_cli.escaping import in_plot
from gnc_cli.figures import count

TITLES = {
    "gnc1": "GNC1: variability within classes",
    "gnc1_centred": "GNC1 centred: variability within classes",
    "gnc2": "GNC2: one-vs-rest distance",
    "gnc3": "GNC3: distance from self-duality",
    "gnc3_centred": "GNC3 centred: distance from self-duality",
    "accuracy": "Accuracy (solid, dots) and NCC (dashed, crosses)",
}
COLOUR_OF_SET = {"train": BLUE, "test": ORANGE, "ood": GREEN}
_CLASSIC = {
    "NC1: variability within classes": ("nc1",),
    "NC2: norms (solid), angles (dashed), ETF (dotted)": (
        "nc2_equinorm_means",
        "nc2_equiangularity",
        "nc2_etf_error",
    ),
    "NC3: distance from self-duality": ("nc3",),
    "NC4: classifier agrees with nearest mean": ("nc4",),
}
"""Panels of `--variants classic`."""
_UNLABELLED = {
    "Effective rank (solid), participation ratio (dashed)": (
        "features.effective_rank",
        "features.participation_ratio",
    ),
    "Mean cosine (solid), centred (dashed)": (
        "features.mean_cosine",
        "features.mean_cosine_centred",
    ),
    "Uniformity: 0 is collapse": ("features.uniformity",),
    "Share of the first eigenvalue": ("features.first_share",),
}
"""Panels of features without labels."""
_SHARES = ("accuracy", "nc4")
_STYLES = ("-", "--", ":")
_KINDS = {"file": "reached by", "pinned": "reference"}
_MAX_NAME_LETTERS = 18
"""Number of letters of a class name that fit next to the plot."""
_MAX_NAMES = 12
"""Number of lines in the legend and of ticks with names that fit into the plot."""
_MAX_REFERENCES = 3
"""Number of references that fit into a panel without hiding its curves."""
_MAX_REFERENCE_LETTERS = 40
"""Number of letters of a reference's name that fit into its legend."""


def plot_measure(result: MeasureResult | MeasureSeries, path: str | os.PathLike[str]) -> None:
    """Draw a measurement into a .png, .svg or .pdf file.

    One set: the one-vs-rest distances of its classes with GNC2 and its reference, and the ten
    classes nearest to the hull of the others; without labels the eigenvalues of the covariance.
    Several: GNC1, GNC2, GNC3, NCC and accuracy over the epochs, as in figure 2 of the paper, with
    `--variants classic` also NC1 to NC4. Layers of one moment are side by side, in their order.

    Args:
        result: the result of `measure` or `measure_series`.
        path: the file; an existing one is replaced in one step.

    Raises:
        UsageError: the suffix is unknown.
        OutputError: the file cannot be written; nothing has changed.
    """
    with styled():
        if isinstance(result, MeasureSeries):
            figure = series_figure(result)
        else:
            figure = set_figure(result) if result.gnc2 else spectrum_figure(result)
        save(figure, path)


def spectrum_figure(result: MeasureResult) -> Any:
    """Draw the eigenvalues of the covariance of features without labels, as shares of the sum."""
    features = result.features
    assert features is not None
    title = f"{_set_name(result)}     d = {result.d}, N = {count(result.N)}, no labels"
    cosines = {"mean cosine": features.mean_cosine, "centred": features.mean_cosine_centred}
    facts = [f"{name} {value:.3g}" for name, value in cosines.items() if value is not None]
    figure = new_figure(8.5, 5.0, title, "     ".join(facts))
    ax = figure.add_subplot()
    positive = features.eigenvalues[features.eigenvalues > 0.0]
    ax.plot(np.arange(1, len(positive) + 1), positive / positive.sum(), "-o", ms=3.0, color=BLUE)
    for key, colour in {"effective_rank": ORANGE, "participation_ratio": GREEN}.items():
        if (value := getattr(features, key)) is not None:
            label = f"{key.replace('_', ' ')} {value:.4g}"
            ax.axvline(value, color=colour, lw=1.3, ls="--", label=label)
    ax.set(
        title="Eigenvalues of the covariance",
        xlabel="eigenvalue, the largest first",
        ylabel="share of the sum",
        xlim=(0.5, result.d + 0.5),
        yscale="log",
    )
    ax.grid()
    ax.legend(loc="best")
    return figure


def _set_name(result: MeasureResult) -> str:
    name = os.path.basename(result.file or "arrays")
    return in_plot(f"{name}: {result.snapshot}" if result.snapshot else name)


def set_figure(result: MeasureResult) -> Any:
    """Draw the one-vs-rest distances of the classes of one set, and its worst classes."""
    rho, samples = result.gnc2, "" if result.N is None else f", N = {count(result.N)}"
    assert rho is not None
    one, three = result.forms.values()
    figures = (
        (NAMES[one], getattr(result, one), ".3g"),
        ("GNC2", rho.lower, ".6g"),
        (NAMES[three], getattr(result, three), ".3g"),
        ("NCC accuracy", result.ncc_accuracy, ".4f"),
        ("accuracy", result.accuracy, ".4f"),
    )
    title = f"{_set_name(result)}     d = {result.d}, K = {count(result.K)}{samples}"
    facts = "     ".join(f"{word} {v:{form}}" for word, v, form in figures if v is not None)
    figure = new_figure(11.5, 5.6, title, facts)
    distances, worst_classes = figure.subplots(1, 2)
    lower, upper = result.one_vs_rest or (np.zeros(0), np.zeros(0))
    if len(lower):
        levels = [(rho.lower, "GNC2", ORANGE)]
        if (reference := result.gnc2_reference) is not None:
            levels.append((reference.value, f"GNC2, {_reference_word(reference)}", GREEN))
        draw_distances(distances, lower, upper, np.zeros(len(lower), dtype=bool), levels)
        if len(lower) < len(result.per_class):
            distances.set_xlabel(f"classes, sorted ({count(len(lower))} of {count(result.K)})")
    else:
        distances.set_axis_off()
    worst = [c for c in result.worst_classes if c.one_vs_rest is not None]
    if worst:
        _draw_worst(worst_classes, worst)
    else:
        worst_classes.set_axis_off()
    return figure


def _draw_worst(ax: Any, worst: Sequence[ClassRow]) -> None:
    """Draw a line per class, the class nearest to the hull at the top."""
    ends = np.array([(c.one_vs_rest.lower, c.one_vs_rest.upper) for c in worst if c.one_vs_rest])
    lines = range(len(worst))
    half = np.ptp(ends, axis=1) / 2.0
    ax.errorbar(ends.mean(axis=1), lines, xerr=half, fmt="o", color=BLUE, elinewidth=3.0)
    names = [_name(c.label, c.name) for c in worst]
    for line, c in enumerate(worst):
        if c.nearest is not None:
            names[line] += f" – {_name(c.nearest, c.nearest_name)}, {c.nearest_cosine:.3f}"
    ax.set_yticks(lines, names)
    ax.set(
        title="Worst classes: class – nearest class, cosine",
        xlabel="one-vs-rest distance",
        xlim=open_limits(ends),
        ylim=(len(worst) - 0.5, -0.5),
    )
    ax.locator_params(axis="x", nbins=5)
    ax.grid()


def _name(label: int, name: str | None) -> str:
    text = str(label) if name is None else name
    return in_plot(text if len(text) <= _MAX_NAME_LETTERS else f"{text[: _MAX_NAME_LETTERS - 1]}…")


def series_figure(result: MeasureSeries) -> Any:
    """Draw the panels of the measured metrics, two per row, with one legend below."""
    rows = result.rows
    axis, lines, ticks = lines_of(rows)
    one, three = result.forms.values()
    weights = all(row.policy.weights == "given" for row in rows if row.gnc2 is not None)
    two = TITLES["gnc2"] if weights else "GNC2, of class means where there are no weights"
    panels = {
        TITLES[one]: (one,),
        two: ("gnc2.lower",),
        TITLES[three]: (three,),
        TITLES["accuracy"]: ("accuracy", "ncc_accuracy"),
    }
    if any(row.policy.variants == "classic" for row in rows):
        panels |= _CLASSIC
    if any(row.K is None for row in rows):
        panels |= _UNLABELLED
    panels = {
        title: keys
        for title, keys in panels.items()
        if any(value_under(row, key) is not None for key in keys for row in rows)
    }
    sizes = {f"d = {row.prefix_of or row.d}, K = {count(row.K)}" for row in rows}
    files = [*distinct_names(row.file or "arrays" for row in rows).values()]
    facts = [files[0] if len(files) == 1 else f"{len(files)} files", f"{len(rows)} rows"]
    facts += sizes if len(sizes) == 1 else []
    height = max(4.8, 3.6 * -(-len(panels) // 2))
    figure = new_figure(11.5, height, "Neural collapse", in_plot("     ".join(facts)))
    # Sets of samples have fixed colours, as in the plot of `train`; runs have them in order.
    colours = COLOUR_OF_SET if {*lines} <= {*COLOUR_OF_SET} else dict(zip(lines, cycle(COLOURS)))
    handles: dict[str, Any] = {}
    for index, (title, keys) in enumerate(panels.items()):
        ax = figure.add_subplot(-(-len(panels) // 2), 2, index + 1)
        curves = [
            Curve(
                name if key == keys[0] else "",
                [x for x, _ in line],
                [value_under(row, key) for _, row in line],
                colours[name],
                style,
                [row.gnc2.upper if row.gnc2 else math.nan for _, row in line]
                if key == "gnc2.lower"
                else None,
            )
            for key, style in zip(keys, _STYLES, strict=False)
            for name, line in lines.items()
        ]
        shows_prefixes = keys[0] == "gnc2.lower" and axis == "d"
        if shows_prefixes:
            first = next(iter(lines.values()))
            ends = [(x, row.gnc2_possible) for x, row in first if row.gnc2_possible]
            possible = Curve(
                f"possible for K = {count(first[0][1].K)}",
                [x for x, _ in ends],
                [rho.lower for _, rho in ends],
                GREY,
                "--",
                [rho.upper for _, rho in ends],
            )
            curves.append(possible)
        log = keys[0] not in ("gnc2.lower", *_SHARES)
        draw_curves(ax, title, curves, log=log, joined=axis != "row")
        handles |= {name: line for line, name in zip(*ax.get_legend_handles_labels(), strict=True)}
        if keys[0] == "gnc2.lower":
            draw_references(
                ax, [r.gnc2_reference for r in rows if r.gnc2_reference and not shows_prefixes]
            )
        if shows_prefixes:
            ax.legend(handles=[handles[possible.name]], loc="lower right")
        if keys[0] in _SHARES:
            ax.set(ylim=(0.0, 1.04), ylabel="share of samples")
        ax.set_xlabel("" if axis == "row" else axis)
        ax.locator_params(axis="x", integer=True, min_n_ticks=1)
        if ticks:
            positions = range(0, len(ticks), -(-len(ticks) // _MAX_NAMES))
            slanted = {} if axis == "d" else {"rotation": 30, "ha": "right"}
            ax.set_xticks(positions, [ticks[i] for i in positions], **slanted)
    if len(lines) > 1:
        entries = [handles[name] for name in [*lines][:_MAX_NAMES] if name in handles]
        figure.legend(handles=entries, loc="outside lower center", ncols=4)
    return figure


def draw_references(ax: Any, references: Iterable[Gnc2Reference]) -> None:
    """Draw the references of GNC2 as lines, and begin its axis at 0."""
    lines = []
    for reference in [*{r.value: r for r in references}.values()][-_MAX_REFERENCES:]:
        name = reference.source if reference.kind == "pinned" else reference.id
        label = (
            f"{reference.value:.4f} {_reference_word(reference)}\n"
            f"{in_plot(name[:_MAX_REFERENCE_LETTERS])}"
        )
        lines.append(ax.axhline(reference.value, color=GREY, lw=1.3, ls="--", label=label))
    ax.set_ylim(bottom=0.0)
    if lines:
        ax.legend(handles=lines, loc="best")


def _reference_word(reference: Gnc2Reference) -> str:
    return _KINDS.get(reference.kind, "optimum" if reference.proven else "best known")


def lines_of(
    rows: Sequence[MeasureResult],
) -> tuple[str, dict[str, list[tuple[float, MeasureResult]]], list[str]]:
    """Return the quantity on the x axis, the rows of each line with their x, and names of ticks.

    The quantity is `epoch`, `step`, `layer`, `d` of prefixes, or `row`. Ticks have names if x is an
    index: of layers, dimensions or rows. A line is a set of samples of a run. A run is a file of
    file_rows rows, else the files of a folder with the same attributes, or each file if two rows
    would otherwise have the same x.
    """
    axis = next(
        (k for k in ("epoch", "step") if all(getattr(r, k) is not None for r in rows)), "row"
    )
    layers = [*dict.fromkeys(str(row.layer) for row in rows)]
    if len(layers) > 1 and len({(row.epoch, row.step) for row in rows}) == 1:
        axis = "layer"
    places = layers if axis == "layer" else []
    if all(row.prefix_of is not None for row in rows):
        axis, places = "d", [str(d) for d in sorted({row.d for row in rows})]
    if axis == "row":
        names = _names(rows, ("split", "layer", "snapshot"), by_file=True)
        return axis, {"": [*enumerate(rows)]}, names
    values = [getattr(row, axis) for row in rows]
    x = [float(places.index(str(value)) if places else value) for value in values]
    keys = {"layer": ("split",), "d": ("split", "layer", "snapshot")}.get(axis, ("split", "layer"))
    names = _names(rows, keys, by_file=False)
    if len({*zip(names, x, strict=True)}) < len(rows):
        names = _names(rows, keys, by_file=True)
    lines: dict[str, list[tuple[float, MeasureResult]]] = {}
    for name, position, row in sorted(zip(names, x, rows, strict=True), key=lambda item: item[1]):
        lines.setdefault(name, []).append((position, row))
    return axis, lines, places


def _names(rows: Sequence[MeasureResult], keys: Sequence[str], by_file: bool) -> list[str]:
    """Return distinct names of rows, from file or folder, attributes, and fields such as split."""
    file_rows = Counter(row.file for row in rows)
    places = [
        row.file or "arrays"
        if by_file or file_rows[row.file] > 1
        else os.path.dirname(row.file or "")
        for row in rows
    ]
    names = distinct_names(places)
    parts = []
    for row, place in zip(rows, places, strict=True):
        part = {"place": names[place]}
        if not by_file and file_rows[row.file] == 1:
            part |= {k: f"{k} = {v}" for k, v in row.attrs.items() if k not in FILE_ATTRIBUTES}
        parts.append(part | {key: getattr(row, key) or "" for key in keys})
    all_keys = dict.fromkeys(key for part in parts for key in part)
    differ = [key for key in all_keys if len({part.get(key) for part in parts}) > 1]
    return [in_plot(", ".join(filter(None, map(part.get, differ)))) for part in parts]
