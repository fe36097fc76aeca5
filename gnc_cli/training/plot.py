"""The picture of `gnc train --plot`: a run over its epochs, or placements of classes compared."""

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
_MOST_ROWS = 60
"""Placements that are drawn, the best of them."""
_MOST_NAMES = 12
"""Classes that a legend names."""
_MOST_POINTS = 6000
_LONGEST = 30
"""Letters of the name of a class."""
_HUES = 6
"""Colours of classes; more differ in shape."""
_SHAPES = ("o", "^", "s", "D", "v", "P")
_RING = (1.04, 1.2)
"""Where features of the plane are spread, in radii."""


def plot_train(result: TrainResult | TrainSeries, path: str | os.PathLike[str]) -> None:
    """Draw a training run into a .png, .svg or .pdf file.

    One run: GNC1, GNC2 with what is within reach, and GNC3 over the epochs, as figure 2 of the
    paper has them, with accuracies and loss; for d = 2 and 3 also features and weights on the
    circle or the sphere (figure 4), for d = 2 raw where weight decay holds them (figure B.1).
    Several placements of the classes: their accuracies, the best first.

    Args:
        result: what `train` returned; `extras` are used where present.
        path: an existing picture is replaced, in one step.

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
                f"{os.fspath(path)!r} is not written: the run has no epoch yet; go on with "
                f"{spelled('resume')}"
            )
        save(run_figure(result), path)


def run_figure(result: TrainResult) -> Any:
    """Metrics, accuracies and loss over the epochs, beside the features where they can be seen."""
    history, extras = result.history, result.extras
    facts = [_code(result), plural(result.epochs, "epoch")]
    name = f"{result.data.get('name', 'data')}: {result.model}, {_HEADS[result.head.kind]}"
    size = (15.5, 8.6) if extras else (13.4, 7.9)
    figure = new_figure(*size, in_plot(name), "     ".join(facts))
    layout = [["gnc1", "gnc2", "gnc3"], ["accuracy", "accuracy", "loss"]]
    if extras:
        layout = [
            ["places", "gnc1", "gnc2"],
            ["places", "gnc3", "loss"],
            ["places", "accuracy", "accuracy"],
        ]
    axes = figure.subplot_mosaic(layout, width_ratios=(1.9 if extras else 1.0, 1.0, 1.0))
    if extras:
        draw_places(axes["places"], **extras, raw=result.head.constraint == "decay")
    training = COLOUR_OF_SET["train"]
    for place, key in {**result.forms, "loss": "loss"}.items():
        title = TITLES.get(key, "Loss while training")
        _draw_epochs(axes[place], title, [_curve(history, key, training)], log=True)
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
    """One figure over the epochs it was measured at."""
    values = [(row.epoch, getattr(row, key)) for row in history if getattr(row, key) is not None]
    return Curve(name, [epoch for epoch, _ in values], [v for _, v in values], colour, style)


def _draw_epochs(ax: Any, title: str, curves: Sequence[Curve], log: bool = False) -> None:
    """Axes with nothing measured are blank."""
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


def draw_places(
    ax: Any,
    features: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    class_names: Sequence[str],
    *,
    raw: bool,
) -> None:
    """Features (N, d) and weights (K, d) with d = 2 or 3 on bare axes.

    Directions on the sphere; on the circle the features stand in a ring around it, each at its own
    angle and at a random height, so that the points of a collapsed class make a spoke and none
    hides the others. `raw` keeps lengths for d = 2: what weight decay leaves uneven.
    """
    rng = np.random.default_rng(0)
    some = rng.permutation(len(features))[:_MOST_POINTS]
    H, y = np.asarray(features, dtype=float)[some], labels[some]
    W = np.asarray(weights, dtype=float)
    flat = W.shape[1] == 2
    if raw and flat:
        title = "Raw features (dots) and weights (lines)"
        note = "features and weights each in units of the longest"
        H, W = (rows / max(np.linalg.norm(rows, axis=1).max(), 1e-300) for rows in (H, W))
    else:
        title = f"Unit features (dots) and weights ({'lines' if flat else 'outlines'})"
        note = "dots are spread outward so that they can be seen" if flat else ""
        H, W = unit_or_zero(H), unit_or_zero(W)
    view = draw_ball(ax, W)
    place = np.arange(len(W))
    if flat:
        H = H if raw else H * rng.uniform(*_RING, (len(H), 1))
        ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3))
        if len(W) > _HUES:  # neighbours differ in colour
            place = np.argsort(np.argsort(np.arctan2(W[:, 1], W[:, 0])))
        for (x, height), at in zip(W, place, strict=True):
            ax.plot([0.0, x], [0.0, height], color=COLOURS[at % _HUES], lw=2.0, zorder=3)
    dot = float(np.clip(9000.0 / max(len(H), 1), 4.0, 24.0))
    _scatter(ax, H @ view, place[y], dot, linewidths=0.0)
    if not flat:
        size = float(np.clip(4200.0 / len(W), 30.0, 150.0))
        _scatter(ax, W @ view, place, size, facecolors="none", linewidths=2.2)
    for at, name in zip(place, class_names if len(W) <= _MOST_NAMES else (), strict=False):
        looks = {"color": COLOURS[at % _HUES], "marker": _SHAPES[at // _HUES % len(_SHAPES)]}
        ax.plot([], [], ls="none", label=in_plot(name[:_LONGEST]), **looks)
    ax.set_title(title, loc="center")
    handles, _ = ax.get_legend_handles_labels()
    ax.legend(handles=handles, title=note, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3)


def _scatter(ax: Any, points: np.ndarray, place: np.ndarray, size: float, **looks: Any) -> None:
    """Points (n, 3) in the colours and shapes of their classes' places (n,), faint behind."""
    colours = np.array(COLOURS)[place % _HUES]
    behind = points[:, 2] < 0.0
    for at, shape in enumerate(_SHAPES):
        for back in (True, False):
            some = (place // _HUES % len(_SHAPES) == at) & (behind == back)
            ax.scatter(
                *points[some, :2].T,
                s=size,
                marker=shape,
                edgecolors=colours[some],
                alpha=0.2 if back else 0.75,
                zorder=1 if back else 4,
                rasterized=len(points) > 1000,
                **{"facecolors": colours[some]} | looks,
            )


def training_figure(series: TrainSeries) -> Any:
    """A line per placement, the best on top, with its accuracies."""
    key = "train_accuracy" if series.rows[0].test_accuracy is None else "test_accuracy"
    rows = sorted(series.rows, key=lambda row: getattr(row, key) or 0.0, reverse=True)[:_MOST_ROWS]
    facts = f"the best {len(rows)} of {len(series.rows)} placements     {_code(rows[0])}"
    height = 2.8 + 0.22 * len(rows)
    figure = new_figure(9.5, height, "Assignment of classes to a fixed classifier", facts)
    ax = figure.add_subplot()
    lines = range(len(rows))
    for name in ("train_accuracy", "test_accuracy", "ood_accuracy"):
        shares = np.array([getattr(row, name) for row in rows], dtype=float)
        label, colour, _ = _ACCURACIES[name]
        if np.isfinite(shares).any():
            # Rings around the dots of the test set, which would hide smaller ones.
            looks = {"mfc": "none", "ms": 10.0} if name == "train_accuracy" else {}
            ax.plot(shares, lines, "o", color=colour, label=label, **looks)
    K = len(rows[0].head.permutation or ())
    ax.axvline(1.0 / K, color=GREY, lw=1.3, ls="--", label=f"chance, 1/{K}")
    placements = [" ".join(map(str, row.head.permutation or ())) for row in rows]
    names = [in_plot(os.path.basename(row.run)) for row in rows]
    ax.set_yticks(lines, placements if K <= _MOST_NAMES else names)
    ax.set(xlim=(0.0, 1.02), ylim=(len(rows) - 0.5, -0.5), xlabel="share of samples")
    ax.set_ylabel("row of each class" if K <= _MOST_NAMES else "run")
    ax.grid()
    figure.legend(loc="outside lower center", ncols=4)
    return figure
