"""The picture of `gnc train --plot`: a run over its epochs, or placements of classes compared."""

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
)
from gnc_cli.collapse.result import Gnc2Reference
from gnc_cli.console.numbers import count
from gnc_cli.console.plot_style import GREY, save, show_heading, styled
from gnc_cli.errors import DataError
from gnc_cli.escaping import in_picture
from gnc_cli.parameters import spelled
from gnc_cli.training.places import MOST_NAMED, class_labels, show_places
from gnc_cli.training.result import EpochRow, TrainResult, TrainSeries

_LOSS = "Loss while training"
_ACCURACIES = (
    ("train_accuracy", "training set", COLOUR_OF_SET["train"], "-"),
    ("test_accuracy", "test set", COLOUR_OF_SET["test"], "-"),
    ("ood_accuracy", "out of distribution", COLOUR_OF_SET["ood"], "-"),
    ("ncc_accuracy", "NCC, training set", COLOUR_OF_SET["train"], "--"),
    ("test_ncc_accuracy", "NCC, test set", COLOUR_OF_SET["test"], "--"),
)
_HEADS = {
    "learned": "learned classifier",
    "cmf": "class means as classifier",
    "fixed": "fixed classifier",
}
_MOST_ROWS = 60
"""Placements that are drawn, the best of them."""
_BELOW = -0.28
"""Where the legend of the accuracies begins, in heights of their axes."""


def plot_train(result: TrainResult | TrainSeries, path: str | os.PathLike[str]) -> None:
    """Draw a training run into a .png, .svg or .pdf file.

    One run: GNC1, GNC2 with what is within reach, and GNC3 over the epochs, as figure 2 of the
    paper has them, above accuracies and loss; for d = 2 also features and weights on the circle
    (figure 4), raw where weight decay holds them (figure B.1); for d = 3 on
    the sphere. Several placements: their accuracies, and for d = 2 the best and the worst.

    Args:
        result: what `train` returned; `extras` are used where present.
        path: an existing picture is replaced, in one step.

    Raises:
        DataError: the run ended before its first epoch did.
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    with styled():
        one = isinstance(result, TrainResult)
        figure = _run_figure(result, path) if one else _series_figure(result)
        figure.get_layout_engine().set(w_pad=0.14, h_pad=0.1)
        _settle(figure)
        save(figure, path)


def _run_figure(result: Any, path: str | os.PathLike[str]) -> Any:
    from matplotlib.figure import Figure

    history, extras = result.history, result.extras
    if not history:
        raise DataError(
            f"{os.fspath(path)!r} is not written: the run has no epoch yet; go on with "
            f"{spelled('resume')}"
        )
    rows: Any = [["gnc1", "gnc2", "gnc3"], ["accuracy", "accuracy", "loss"]]
    if extras:
        rows = [
            ["places", "gnc1", "gnc2"],
            ["places", "gnc3", "loss"],
            ["places", "accuracy", "accuracy"],
        ]
        figure, widths = Figure(figsize=(15.5, 8.6), layout="constrained"), (1.9, 1.0, 1.0)
    else:
        figure, widths = Figure(figsize=(12.5, 7.9), layout="constrained"), (1.0, 1.0, 1.0)
    axes = figure.subplot_mosaic(rows, width_ratios=widths)
    if extras:
        flat = extras["weights"].shape[1] == 2
        raw = flat and result.head.constraint == "decay"
        show_places(axes["places"], **extras, raw=raw)
        kind, shape = "Raw" if raw else "Unit", "arrows" if flat else "outlines"
        axes["places"].set_title(f"{kind} features (dots) and weights ({shape})", loc="center")
    for name, key in {**result.forms, "loss": "loss"}.items():
        show_metric(axes[name], history, key)
    reference = None if result.measured is None else result.measured.gnc2_reference
    show_gnc2(axes["gnc2"], history, reference)
    show_accuracies(axes["accuracy"], history)
    name = str(result.data.get("name", "data"))
    facts = [_code(result), f"{count(result.epochs)} epoch" + ("" if result.epochs == 1 else "s")]
    shares = {"test": result.test_accuracy, "training": result.train_accuracy}
    facts += [f"{of} accuracy {value:.4f}" for of, value in shares.items() if value is not None]
    title = in_picture(f"{name}: {result.model}, {_HEADS[result.head.kind]}")
    show_heading(figure, title, "     ".join(facts))
    return figure


def _series_figure(series: Any) -> Any:
    from matplotlib.figure import Figure

    placements = ranked(series.rows)
    rows = placements[:_MOST_ROWS]
    tall = max(4.8, 0.22 * len(rows) + 1.6)
    weights = [row.extras.get("weights", np.empty((0, 0))) for row in placements]
    if len(rows) > 1 and all(W.shape[1] == 2 for W in weights):
        # The circles stand above each other beside a tall strip, else side by side.
        stacked = tall > 7.5
        figure = Figure(figsize=(10.5 if stacked else 15.0, tall), layout="constrained")
        axes = figure.subplot_mosaic(
            [["rows", "best"], ["rows", "worst"]] if stacked else [["rows", "best", "worst"]]
        )
        show_assignments(axes["rows"], rows)
        show_ends([axes["best"], axes["worst"]], placements)
    else:
        figure = Figure(figsize=(9.5, tall), layout="constrained")
        show_assignments(figure.add_subplot(), rows)
    said = f"the best {_MOST_ROWS} of " if len(series.rows) > _MOST_ROWS else ""
    facts = f"{said}{len(series.rows)} placements of the classes     {_code(rows[0])}"
    show_heading(figure, "Assignment of classes to a fixed classifier", facts)
    return figure


def _settle(figure: Any) -> None:
    """Fix the layout, rounded: its solver's last digits differ from call to call, and so would
    the bytes of the picture."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for ax in figure.axes:
        ax.set_position([round(x, 6) for x in ax.get_position(original=True).bounds])


def _code(result: TrainResult) -> str:
    m = result.measured
    size = f"d = {m.d}, K = {count(m.K)}     " if m else ""
    if result.head.constraint == "decay":
        return size + "weight decay"
    return size + rf"$\tau$ = {result.head.tau:g}"


def show_metric(ax: Any, history: Sequence[EpochRow], key: str) -> None:
    """One metric, or the loss, over the epochs it was measured at, on a logarithmic axis."""
    line = _line(history, key)
    if line.x.size:
        draw_metrics(ax, [line], {key: "-"}, [COLOUR_OF_SET["train"]])
    _finish(ax, TITLES.get(key, _LOSS))


def show_gnc2(ax: Any, history: Sequence[EpochRow], reference: Gnc2Reference | None) -> None:
    """The certified lower end of GNC2, its bracket where that is wide, and what is within reach."""
    measured = [row for row in history if row.gnc2 is not None]
    line = _line(measured, "gnc2.lower", "gnc2.upper")
    if line.x.size:
        draw_gnc2(ax, [line], [COLOUR_OF_SET["train"]], [reference] if reference else [])
    _finish(ax, TITLES["gnc2"])


def show_accuracies(ax: Any, history: Sequence[EpochRow]) -> None:
    """Shares of right answers, with a legend below the axes."""
    running = ("running_accuracy", "while training", GREY, ":")
    for key, name, colour, style in (running, *_ACCURACIES):
        line = _line(history, key)
        if line.x.size:
            draw_line(ax, line, key, "linear", colour, style, label=name)
    _finish(ax, "Accuracy (solid, filled) and NCC (dashed, open)")
    set_shares(ax)
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(0.0, _BELOW),
        ncols=6,
        columnspacing=1.4,
        borderaxespad=0.2,
    )


def _line(history: Sequence[EpochRow], key: str, *others: str) -> Line:
    """The finite values of a key, and what others are there, along their epochs."""
    values = {
        k: np.array([attrgetter(k)(row) for row in history], dtype=float) for k in (key, *others)
    }
    seen = np.isfinite(values[key])
    epochs = np.array([row.epoch for row in history], dtype=float)[seen]
    return Line("", epochs, {k: y[seen] for k, y in values.items()})


def _finish(ax: Any, title: str) -> None:
    """Title, grid and epochs of axes with lines; axes without any are blank."""
    if not ax.lines:
        ax.set_axis_off()
        return
    ax.set_title(title)
    ax.grid(True)
    set_epochs(ax)


def ranked(rows: Sequence[TrainResult]) -> list[TrainResult]:
    """The best first, by test accuracy, by training accuracy where there is no test set."""
    return sorted(rows, key=lambda row: _judged(row)[1] or 0.0, reverse=True)


def placement_text(row: TrainResult) -> str:
    """Who stands next to whom: around the circle where d is 2, else the row of each class.

    The name of the run where the classes are too many to be listed.
    """
    permutation = row.head.permutation or ()
    names = list(row.extras.get("class_names") or map(str, range(len(permutation))))
    if len(names) > MOST_NAMED:
        return in_picture(os.path.basename(row.run))
    names = class_labels(names)
    weights = row.extras.get("weights")
    if weights is None or weights.shape[1] != 2:
        return "  ".join(f"{n} → {p}" for n, p in zip(names, permutation, strict=True))
    order = np.argsort(np.arctan2(weights[:, 1], weights[:, 0]), kind="stable")
    order = np.roll(order, -int(np.flatnonzero(order == 0)[0]))
    if len(order) > 2 and order[1] > order[-1]:  # a mirror image is the same arrangement
        order = np.roll(order[::-1], 1)
    return " - ".join(names[k] for k in order)


def show_assignments(ax: Any, rows: Sequence[TrainResult]) -> None:
    """A line per placement, the best on top: its accuracies as dots, one a little below another.

    The axis goes from 0 to 1, with a line at the share that chance gets right; what the placements
    are ranked by is written on the right.

    Args:
        ax: Matplotlib axes.
        rows: in the order of `ranked`, at least one.
    """
    height = np.arange(len(rows))[::-1]
    for y in height[::2]:
        ax.axhspan(y - 0.5, y + 0.5, color="#F1F3F5", lw=0, zorder=0)
    for (key, name, colour, _), up in zip(_ACCURACIES[:3], (0.2, -0.2, 0.0), strict=True):
        found = [
            (getattr(row, key), y + up)
            for row, y in zip(rows, height, strict=True)
            if getattr(row, key) is not None
        ]
        if found:
            ax.plot(
                *zip(*found, strict=True),
                "o",
                ms=5,
                mec=colour,
                label=name,
                clip_on=False,
                mfc="white" if key == "train_accuracy" else colour,
            )
    K = len(rows[0].head.permutation or ())
    ax.set_xlim(0.0, 1.0)
    ax.axvline(1.0 / K, color=GREY, lw=1.3, ls="--", zorder=1, label=f"chance, 1/{K}")
    ax.set_yticks(height, [placement_text(row) for row in rows])
    beside = ax.secondary_yaxis("right")
    judged = [_judged(row)[1] for row in rows]
    beside.set_yticks(height, ["" if share is None else f"{share:.4f}" for share in judged])
    beside.tick_params(axis="y", labelsize=8.0, length=0.0)
    beside.spines["right"].set_visible(False)
    ax.tick_params(axis="y", labelsize=8.0, length=0.0)
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.grid(axis="x")
    ax.set_xlabel(f"share of samples; on the right the {_judged(rows[0])[0]}")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def show_ends(axes: Sequence[Any], rows: Sequence[TrainResult]) -> None:
    """The best and the worst placement in the plane, one per axes, and how many tie with it.

    Args:
        axes: two.
        rows: all of them, in the order of `ranked`, with `weights` among their extras.
    """
    for ax, row, word in zip(axes, (rows[0], rows[-1]), ("Best", "Worst"), strict=True):
        show_places(ax, **row.extras)
        name, share = _judged(row)
        ties = sum(_judged(other)[1] == share for other in rows)
        shared = f"\none of {ties} that tie" if ties > 1 else ""
        said = word if share is None else f"{word}: {name} {share:.4f}{shared}"
        ax.set_title(said, loc="center", pad=12.0)


def _judged(row: TrainResult) -> tuple[str, float | None]:
    """What placements are ranked by."""
    if row.test_accuracy is None:
        return "training accuracy", row.train_accuracy
    return "test accuracy", row.test_accuracy
