"""Collapse over the epochs: the panels of the paper's figure 2, a line a run or a group of runs."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.plots.style import BLUE, GREEN, GREY, INK, ORANGE

__all__ = ["COLOURS", "Course", "Line", "course_of", "draw_line", "show_series"]

COLOURS = (BLUE, ORANGE, GREEN, "#CC79A7", "#E69F00", "#56B4E9", INK)
_OF_THE_FILE = ("gnc_format", "kind", "created", "gnc_version", "provenance")
"""Attributes that tell files apart, not runs."""
_MOST_LABELS = 12
"""Lines or files that are named."""
_PANELS = (
    ("gnc1", "GNC1: variability within classes", "log", ("gnc1",)),
    ("gnc2.lower", "GNC2: one-vs-rest distance", "linear", ("gnc2.lower",)),
    ("gnc3", "GNC3: distance from self-duality", "log", ("gnc3",)),
    ("ncc_accuracy", "NCC (solid) and accuracy (dashed)", "linear", ("ncc_accuracy", "accuracy")),
)


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


@dataclass(frozen=True, eq=False)
class Course:
    """All lines of a picture."""

    lines: list[Line]
    axis: str
    """What x is: `epoch`, `step` or `row`."""
    ticks: list[str]
    """Names of the rows where they have no epoch."""


def course_of(body: dict[str, Any]) -> Course:
    """The lines of a series: a run each, or a group of runs.

    Args:
        body: `MeasureSeries.to_json()`.
    """
    rows = body["groups"] or body["rows"]
    if not rows:
        return Course([], "epoch", [])
    axis = next((k for k in ("epoch", "step") if all(r[k] is not None for r in rows)), "row")
    if axis == "row":
        line = _line("", list(range(len(rows))), rows)
        return Course([line], axis, [_row_name(row, rows) for row in rows])
    # A file an epoch is one run; files that share an epoch are several.
    apart = "mean" not in rows[0] and len({r["file"] for r in rows}) < len(rows)
    runs = _runs(rows, by_file=apart)
    if not apart and any(len({r[axis] for r in run}) < len(run) for run in runs.values()):
        runs = _runs(rows, by_file=True)
    lines = [_line(name, [r[axis] for r in run], run) for name, run in runs.items()]
    return Course(lines, axis, [])


def _runs(rows: Sequence[dict[str, Any]], by_file: bool) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(_run_name(row, rows, by_file), []).append(row)
    return found


def _line(name: str, x: Sequence[float], rows: Sequence[dict[str, Any]]) -> Line:
    keys = dict.fromkeys(key for *_, some in _PANELS for key in some)
    order = np.argsort(np.asarray(x, dtype=float), kind="stable")
    grouped = "mean" in rows[0]

    def column(part: str | None, key: str) -> np.ndarray:
        held = [row if part is None else row[part] for row in rows]
        values = [h.get(key) if part else _look_up(h, key) for h in held]
        return np.array([np.nan if v is None else v for v in values], dtype=float)[order]

    y = {key: column("mean" if grouped else None, key) for key in keys}
    band = {k: np.nan_to_num(column("deviation", k)) for k in keys} if grouped else None
    return Line(name, np.asarray(x, dtype=float)[order], y, band)


def show_series(figure: Any, body: dict[str, Any]) -> None:
    """The panels of what was measured, two a line, with one legend below.

    Args:
        figure: an empty one.
        body: `MeasureSeries.to_json()`.
    """
    course = course_of(body)
    lines, ticks = course.lines, course.ticks
    shown = [p for p in _PANELS if any(np.isfinite(line.y[k]).any() for line in lines
                                       for k in p[3])]  # fmt: skip
    if not shown:
        figure.add_subplot().set_axis_off()
        return
    columns = min(2, len(shown))
    axes = figure.subplots(-(-len(shown) // columns), columns, squeeze=False, sharex=True).ravel()
    for ax in axes[len(shown) :]:
        ax.set_axis_off()
    colours = _colours(len(lines))
    for ax, (key, title, scale, keys) in zip(axes, shown, strict=False):
        for line, colour in zip(lines, colours, strict=True):
            for name, style in zip(keys, ("-", "--"), strict=False):
                draw_line(ax, line, name, scale, colour, style, joined=not ticks)
        ax.set_title("NCC (filled) and accuracy (open)" if ticks and len(keys) > 1 else title)
        ax.set_yscale(scale)
        ax.grid()
        if scale == "log" and not any((line.y[key] > 0.0).any() for line in lines):
            ax.tick_params(axis="y", which="both", left=False, labelleft=False)
        if key == "gnc2.lower":
            _references(ax, body["rows"])
        if key == "ncc_accuracy":
            ax.set_ylabel("share of samples")
    for ax in axes[max(0, len(shown) - columns) : len(shown)]:
        ax.tick_params(labelbottom=True)
        if ticks:
            some = list(range(0, len(ticks), -(-len(ticks) // _MOST_LABELS)))
            ax.set_xticks(some, [ticks[i] for i in some], rotation=30, ha="right")
        else:
            ax.set_xlabel(course.axis)
            ax.locator_params(axis="x", integer=True)
    if len(lines) > 1:
        handles = [axes[0].plot([], [], color=c, lw=2.2, label=line.name)[0]
                   for line, c in zip(lines[:_MOST_LABELS], colours, strict=False)]  # fmt: skip
        figure.legend(handles=handles, loc="outside lower center", ncols=min(4, len(handles)))


def draw_line(
    ax: Any, line: Line, key: str, scale: str, colour: Any, style: str, joined: bool = True
) -> None:
    """One key of a line: marked points where there are few, a band where it has deviations.

    Args:
        ax: Matplotlib axes.
        line: values that are not finite are left out.
        key: of `line.y`.
        scale: `log` puts zeros on the bottom edge.
        colour: of all of it.
        style: `-` has filled markers, `--` open ones.
        joined: points are joined by lines.
    """
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
    if not joined:
        ax.errorbar(line.x[seen], y[seen], line.band[key][seen], ls="none", ecolor=colour, lw=1.4)
    else:
        low, high = y - line.band[key], y + line.band[key]
        if scale == "log":
            low = np.maximum(low, y / 10.0)  # a deviation above the mean reaches below zero
        ax.fill_between(line.x[seen], low[seen], high[seen], color=colour, alpha=0.18, lw=0)


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


def _references(ax: Any, rows: Sequence[dict[str, Any]]) -> None:
    known = {r["gnc2_reference"]["value"]: r["gnc2_reference"]["proven"] for r in rows
             if r["gnc2_reference"] is not None}  # fmt: skip
    for value, proven in sorted(known.items())[-3:]:
        said = "optimum" if proven else "reference"
        ax.axhline(value, color=GREY, lw=1.3, ls="--", zorder=1)
        ax.annotate(
            f"{said} {value:.4f}", (0.02, value), (0, 3), xycoords=("axes fraction", "data"),
            textcoords="offset points", color=INK, fontsize=9, va="bottom",
        )  # fmt: skip
    low, high = ax.get_ylim()
    ax.set_ylim(min(0.0, low), high + 0.08 * (high - min(0.0, low)))


def _colours(count: int) -> list[Any]:
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    from matplotlib import colormaps

    return [colormaps["viridis"](0.9 * i / (count - 1)) for i in range(count)]


def _run_name(row: dict[str, Any], rows: Sequence[dict[str, Any]], by_file: bool) -> str:
    """What tells a run from the others: its file or its attributes, then split and layer."""
    parts = []
    if by_file and "file" in row:
        if len({r["file"] for r in rows}) > 1:
            parts.append(os.path.basename(row["file"] or "arrays"))
    else:
        names = dict.fromkeys(n for r in rows for n in r["attrs"] if n not in _OF_THE_FILE)
        differ = [n for n in names if len({str(r["attrs"].get(n)) for r in rows}) > 1]
        parts += [f"{n} = {_said(row['attrs'].get(n))}" for n in differ]
    parts += [str(row[k]) for k in ("split", "layer") if len({r[k] for r in rows}) > 1]
    return ", ".join(parts).replace("$", r"\$")


def _row_name(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> str:
    name = _run_name(row, rows, by_file=True)
    snapshot = row["snapshot"] if len({r["snapshot"] for r in rows}) > 1 else None
    return ": ".join(part for part in (name, snapshot) if part)


def _said(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _look_up(row: dict[str, Any], key: str) -> Any:
    value: Any = row
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value
