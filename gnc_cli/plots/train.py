"""The picture of `gnc train --plot`: a run over its epochs, or placements of classes compared."""

import os
from typing import Any

from gnc_cli.plots.style import check_plot_suffix, save, show_heading, styled
from gnc_cli.plots.train_assignments import MANY_ROWS, ranked, show_assignments, show_ends
from gnc_cli.plots.train_panels import metric_panels, show_accuracies, show_loss
from gnc_cli.plots.train_places import show_places
from gnc_cli.results.train import TrainResult, TrainSeries

__all__ = ["plot_train"]

_MOST_ROWS = 60
"""Placements that are drawn, the best of them."""


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
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    check_plot_suffix(path)
    with styled():
        one = isinstance(result, TrainResult)
        figure = _run_figure(result) if one else _series_figure(result)
        figure.get_layout_engine().set(w_pad=0.14, h_pad=0.1)
        _settle(figure)
        save(figure, path)


def _run_figure(result: Any) -> Any:
    from matplotlib.figure import Figure

    reference = None if result.measured is None else result.measured.gnc2_reference
    history, extras = result.history, result.extras
    metrics = metric_panels(history, reference)
    weights = extras.get("weights")
    if weights is None:
        rows = 2 if metrics else 1
        figure = Figure(figsize=(12.5, 3.7 * rows + 0.5), layout="constrained")
        grid = figure.add_gridspec(rows, 6)
        wide = 6 // max(len(metrics), 1)
        places = [grid[0, i * wide : (i + 1) * wide] for i in range(len(metrics))]
        accuracy, loss = grid[-1, :4], grid[-1, 4:]
    else:
        figure = Figure(figsize=(15.5, 8.6), layout="constrained")
        grid = figure.add_gridspec(3, 3, width_ratios=(1.9, 1.0, 1.0))
        seen = figure.add_subplot(grid[:, 0])
        raw = result.head.constraint == "decay" and _flat(result)
        show_places(seen, extras.get("features"), extras.get("labels"), weights,
                    extras.get("class_names", ()), raw=raw)  # fmt: skip
        kind = "Raw" if raw else "Unit"
        shape = "arrows" if _flat(result) else "outlines"
        seen.set_title(f"{kind} features (dots) and weights ({shape})", loc="center")
        cells = [grid[0, 1], grid[0, 2], grid[1, 1]]
        places, loss, accuracy = cells[: len(metrics)], grid[1, 2], grid[2, 1:]
    for draw, place in zip(metrics, places, strict=True):
        draw(figure.add_subplot(place))
    show_accuracies(figure.add_subplot(accuracy), history)
    show_loss(figure.add_subplot(loss), history)
    show_heading(figure, _title(result), _facts(result))
    return figure


def _series_figure(series: Any) -> Any:
    from matplotlib.figure import Figure

    placements = ranked(series.rows)
    rows = placements[:_MOST_ROWS]
    ends = len(rows) > 1 and all(_flat(row) for row in (placements[0], placements[-1]))
    many = len(rows) > MANY_ROWS
    tall = max(4.8, (0.135 if many else 0.3) * len(rows) + 1.6)
    if ends:
        # The circles stand above each other beside a tall strip, else side by side.
        stacked = tall > 7.5
        figure = Figure(figsize=(10.5 if stacked else 15.0, tall), layout="constrained")
        widths = (1.0, 1.1) if stacked else (1.15, 1.0, 1.0)
        grid = figure.add_gridspec(2 if stacked else 1, len(widths), width_ratios=widths)
        show_assignments(figure.add_subplot(grid[:, 0]), rows)
        cells = [grid[0, 1], grid[1, 1] if stacked else grid[0, 2]]
        show_ends([figure.add_subplot(cell) for cell in cells], placements)
    else:
        figure = Figure(figsize=(9.5, tall), layout="constrained")
        if rows:
            show_assignments(figure.add_subplot(), rows)
    said = f"the best {_MOST_ROWS} of " if len(series.rows) > _MOST_ROWS else ""
    facts = f"{said}{len(series.rows)} placements of the classes"
    if rows:
        facts += f"     {_code(rows[0])}"
    show_heading(figure, "Assignment of classes to a fixed classifier", facts)
    return figure


def _settle(figure: Any) -> None:
    """Fix the layout, rounded: its solver's last digits differ from call to call, and so would
    the bytes of the picture."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for ax in figure.axes:
        ax.set_position([round(x, 6) for x in ax.get_position(original=True).bounds])


def _flat(row: TrainResult) -> bool:
    weights = row.extras.get("weights")
    return weights is not None and weights.shape[1] == 2


def _title(result: TrainResult) -> str:
    kinds = {"learned": "learned classifier", "cmf": "class means as classifier",
             "fixed": "fixed classifier"}  # fmt: skip
    head = kinds.get(result.head.kind, result.head.kind)
    name = str(result.data.get("name", "data")).replace("$", r"\$")
    return f"{name}: {result.model}, {head}"


def _code(result: TrainResult) -> str:
    size = f"d = {result.measured.d}, K = {result.measured.K:,}     " if result.measured else ""
    if result.head.constraint == "decay":
        return size + "weight decay"
    return size + rf"$\tau$ = {result.head.tau:g}"


def _facts(result: TrainResult) -> str:
    epochs = f"{result.epochs:,} epoch" + ("" if result.epochs == 1 else "s")
    figures = [
        ("test accuracy", result.test_accuracy, ".4f"),
        ("training accuracy", result.train_accuracy, ".4f"),
    ]
    said = [f"{name} {value:{form}}" for name, value, form in figures if value is not None]
    return "     ".join([_code(result), epochs, *said])
