"""The plot of `gnc train --plot`: a run over its epochs, or a comparison of assignments."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc_cli.collapse.plot import COLOUR_OF_SET, TITLES, draw_references
from gnc_cli.console.drawing import (
    COLOURS,
    GREY,
    Curve,
    draw_ball,
    draw_curves,
    new_figure,
    save,
    styled,
)
from gnc_cli.errors import DataError
from gnc_cli.escaping import in_plot
from gnc_cli.figures import count, plural
from gnc_cli.geometry.sphere import unit_or_zero
from gnc_cli.parameters import spelled
from gnc_cli.training.result import EpochRow, TrainResult, TrainSeries

_ACCURACIES = {
    "running_accuracy": ("while training", GREY, ":"),
    "train_accuracy": ("training set", COLOUR_OF_SET["train"], "-"),
    "test_accuracy": ("test set", COLOUR_OF_SET["test"], "-"),
    "ood_accuracy": ("out of distribution", COLOUR_OF_SET["ood"], "-"),
    "ncc_accuracy": ("NCC, training set", COLOUR_OF_SET["train"], "--"),
    "test_ncc_accuracy": ("NCC, test set", COLOUR_OF_SET["test"], "--"),
}
_HEADS = {
    "learned": "learned classifier",
    "cmf": "class means as classifier",
    "fixed": "fixed classifier",
}
_MAX_ROWS = 60
"""Largest number of assignments that are drawn, the best ones: 16 inches of plot."""
_MAX_NAMES = 12
"""Largest number of classes that a legend lists: four lines of three."""
_MAX_POINTS = 6000
"""Largest number of features that are drawn: more only cover each other."""
_MAX_NAME_LENGTH = 30
"""Number of letters of a class name in the legend, three of which fit into a line."""
_COLOUR_COUNT = 6
"""Number of colours of classes that are distinguished easily; more classes differ in shape."""
_SHAPES = ("o", "^", "s", "D", "v", "P")
_RING_RADII = (1.04, 1.2)
"""Smallest and largest radius at which features of the plane are drawn around the circle."""


def plot_train(result: TrainResult | TrainSeries, path: str | os.PathLike[str]) -> None:
    """Draw a training run into a .png, .svg or .pdf file.

    The plot of one run has GNC1, GNC2 with its best known value, and GNC3 over the epochs, as in
    Figure 2 of the paper, with accuracies and loss. For d = 2 and 3 it also has features and
    weights on the circle or the sphere (Figure 4), for d = 2 with weight decay as they are (the
    paper's figure B.1). The plot of several assignments has their accuracies, the best first.

    Args:
        result: a result of `train` or `train_series`; `extras` are drawn if present.
        path: an existing file is replaced, in one step.

    Raises:
        DataError: the run ended before its first epoch did.
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    with styled():
        if isinstance(result, TrainSeries):
            save(training_figure(result), path)
            return
        if not result.history:
            raise DataError(
                f"{os.fspath(path)!r} is not written: the run has no epoch yet; continue with "
                f"{spelled('resume')}"
            )
        save(run_figure(result), path)


def run_figure(result: TrainResult) -> Any:
    """Draw metrics, accuracies and loss over the epochs, next to features of d = 2 or 3."""
    history, extras = result.history, result.extras
    facts = [_code(result), plural(result.epochs, "epoch")]
    name = f"{result.data.get('name', 'data')}: {result.model}, {_HEADS[result.head.kind]}"
    size = (15.5, 8.6) if extras else (13.4, 7.9)
    figure = new_figure(*size, in_plot(name), "     ".join(facts))
    layout = [["gnc1", "gnc2", "gnc3"], ["accuracy", "accuracy", "loss"]]
    if extras:
        layout = [
            ["features", "gnc1", "gnc2"],
            ["features", "gnc3", "loss"],
            ["features", "accuracy", "accuracy"],
        ]
    axes = figure.subplot_mosaic(layout, width_ratios=(1.9 if extras else 1.0, 1.0, 1.0))
    if extras:
        draw_features(axes["features"], **extras, raw=result.head.constraint == "decay")
    training = COLOUR_OF_SET["train"]
    for panel, key in {**result.forms, "loss": "loss"}.items():
        title = TITLES.get(key, "Loss while training")
        _draw_epochs(axes[panel], title, [_curve(history, key, training)], log=True)
    brackets = [(row.epoch, row.gnc2) for row in history if row.gnc2 is not None]
    epochs, lower = [epoch for epoch, _ in brackets], [bracket.lower for _, bracket in brackets]
    gnc2 = Curve("", epochs, lower, training, upper=[bracket.upper for _, bracket in brackets])
    _draw_epochs(axes["gnc2"], TITLES["gnc2"], [gnc2])
    reference = None if result.measured is None else result.measured.gnc2_reference
    draw_references(axes["gnc2"], [reference] if reference else [])
    curves = [
        _curve(history, key, colour, style, label)
        for key, (label, colour, style) in _ACCURACIES.items()
    ]
    _draw_epochs(axes["accuracy"], TITLES["accuracy"], [curve for curve in curves if curve.x])
    axes["accuracy"].set(ylim=(0.0, 1.04), ylabel="share of samples")
    handles, _ = axes["accuracy"].get_legend_handles_labels()
    figure.legend(handles=handles, loc="outside lower right", ncols=6)
    return figure


def _curve(
    history: Sequence[EpochRow], key: str, colour: str, style: str = "-", name: str = ""
) -> Curve:
    """Return a curve of one value over the epochs at which it was measured."""
    values = [(row.epoch, getattr(row, key)) for row in history if getattr(row, key) is not None]
    return Curve(name, [epoch for epoch, _ in values], [v for _, v in values], colour, style)


def _draw_epochs(ax: Any, title: str, curves: Sequence[Curve], log: bool = False) -> None:
    """Draw curves over the epochs; leave the axes blank if nothing was measured."""
    draw_curves(ax, title, curves, log=log)
    ax.set_xlabel("epoch")
    ax.locator_params(axis="x", integer=True, min_n_ticks=1)
    if not any(curve.x for curve in curves):
        ax.set_axis_off()
        ax.set_title("")


def _code(result: TrainResult) -> str:
    m = result.measured
    size = f"d = {m.d}, K = {count(m.K)}     " if m else ""
    if result.head.constraint == "decay":
        return size + "weight decay"
    return size + rf"$\tau$ = {result.head.tau:g}"


def draw_features(
    ax: Any,
    features: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    class_names: Sequence[str],
    *,
    raw: bool,
) -> None:
    """Draw features (N, d) of labels (N,) and weights (K, d) with d = 2 or 3.

    On the sphere directions are drawn. On the circle features are drawn in a ring around it, each
    at its angle and at a random radius, so that a collapsed class is a spoke and does not hide the
    others. `raw` keeps the lengths for d = 2, which differ with weight decay.
    """
    rng = np.random.default_rng(0)
    sample = rng.permutation(len(features))[:_MAX_POINTS]
    H, y = np.asarray(features, dtype=float)[sample], labels[sample]
    W = np.asarray(weights, dtype=float)
    is_circle = W.shape[1] == 2
    if raw and is_circle:
        title = "Raw features (dots) and weights (lines)"
        note = "features and weights each in units of the longest"
        H, W = (rows / max(np.linalg.norm(rows, axis=1).max(), 1e-300) for rows in (H, W))
    else:
        title = f"Unit features (dots) and weights ({'lines' if is_circle else 'outlines'})"
        note = "dots are spread outward so that they can be seen" if is_circle else ""
        H, W = unit_or_zero(H), unit_or_zero(W)
    view = draw_ball(ax, W)
    positions = np.arange(len(W))
    if is_circle:
        H = H if raw else H * rng.uniform(*_RING_RADII, (len(H), 1))
        ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3))
        if len(W) > _COLOUR_COUNT:  # neighbours get different colours
            positions = np.argsort(np.argsort(np.arctan2(W[:, 1], W[:, 0])))
        for (x, height), number in zip(W, positions, strict=True):
            ax.plot(
                [0.0, x], [0.0, height], color=COLOURS[number % _COLOUR_COUNT], lw=2.0, zorder=3
            )
    dot = float(np.clip(9000.0 / max(len(H), 1), 4.0, 24.0))
    _scatter(ax, H @ view, positions[y], dot, linewidths=0.0)
    if not is_circle:
        size = float(np.clip(4200.0 / len(W), 30.0, 150.0))
        _scatter(ax, W @ view, positions, size, facecolors="none", linewidths=2.2)
    for number, name in zip(positions, class_names if len(W) <= _MAX_NAMES else (), strict=False):
        ax.plot(
            [],
            [],
            ls="none",
            label=in_plot(name[:_MAX_NAME_LENGTH]),
            color=COLOURS[number % _COLOUR_COUNT],
            marker=_SHAPES[number // _COLOUR_COUNT % len(_SHAPES)],
        )
    ax.set_title(title, loc="center")
    handles, _ = ax.get_legend_handles_labels()
    ax.legend(handles=handles, title=note, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3)


def _scatter(ax: Any, points: np.ndarray, positions: np.ndarray, size: float, **style: Any) -> None:
    """Draw points (n, 3) in the colours and shapes of their classes, by `positions` (n,)."""
    colours = np.array(COLOURS)[positions % _COLOUR_COUNT]
    is_behind = points[:, 2] < 0.0
    for number, shape in enumerate(_SHAPES):
        for is_back in (True, False):
            sample = (positions // _COLOUR_COUNT % len(_SHAPES) == number) & (is_behind == is_back)
            ax.scatter(
                *points[sample, :2].T,
                s=size,
                marker=shape,
                edgecolors=colours[sample],
                alpha=0.2 if is_back else 0.75,
                zorder=1 if is_back else 4,
                rasterized=len(points) > 1000,
                **{"facecolors": colours[sample]} | style,
            )


def training_figure(series: TrainSeries) -> Any:
    """Draw a line with the accuracies for each assignment, the best on top."""
    key = "train_accuracy" if series.rows[0].test_accuracy is None else "test_accuracy"
    rows = sorted(series.rows, key=lambda row: getattr(row, key) or 0.0, reverse=True)[:_MAX_ROWS]
    facts = f"the best {len(rows)} of {len(series.rows)} assignments     {_code(rows[0])}"
    height = 2.8 + 0.22 * len(rows)
    figure = new_figure(9.5, height, "Assignment of classes to a fixed classifier", facts)
    ax = figure.add_subplot()
    lines = range(len(rows))
    for name in ("train_accuracy", "test_accuracy", "ood_accuracy"):
        shares = np.array([getattr(row, name) for row in rows], dtype=float)
        label, colour, _ = _ACCURACIES[name]
        if np.isfinite(shares).any():
            # Rings, as dots would hide those of the test set.
            style = {"mfc": "none", "ms": 10.0} if name == "train_accuracy" else {}
            ax.plot(shares, lines, "o", color=colour, label=label, **style)
    K = len(rows[0].head.permutation or ())
    ax.axvline(1.0 / K, color=GREY, lw=1.3, ls="--", label=f"chance, 1/{K}")
    assignments = [" ".join(map(str, row.head.permutation or ())) for row in rows]
    names = [in_plot(os.path.basename(row.run)) for row in rows]
    ax.set_yticks(lines, assignments if K <= _MAX_NAMES else names)
    ax.set(xlim=(0.0, 1.02), ylim=(len(rows) - 0.5, -0.5), xlabel="share of samples")
    ax.set_ylabel("row of each class" if K <= _MAX_NAMES else "run")
    ax.grid()
    figure.legend(loc="outside lower center", ncols=4)
    return figure
