"""The picture of `gnc train --plot`: a run over its epochs, or placements of classes compared."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gnc_cli.collapse.plot import Line, draw_line
from gnc_cli.collapse.result import Gnc2Reference
from gnc_cli.console.plot_style import BLUE, GREEN, GREY, INK, ORANGE, save, show_heading, styled
from gnc_cli.training.places import MOST_NAMED, class_labels, show_places
from gnc_cli.training.result import EpochRow, TrainResult, TrainSeries

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


_ACCURACIES = (
    ("train_accuracy", "training set", BLUE, "-"),
    ("test_accuracy", "test set", ORANGE, "-"),
    ("ood_accuracy", "out of distribution", GREEN, "-"),
    ("ncc_accuracy", "NCC, training set", "#56B4E9", "--"),
    ("test_ncc_accuracy", "NCC, test set", "#E69F00", "--"),
)
_SPAN = 10.0
"""A metric is drawn on a logarithmic axis where it spans more than this factor."""
_FEW_TICKS = 300.0
"""Within this factor a logarithmic axis has ticks between the powers of ten."""
_LEAST_SPAN = 4.0
"""A logarithmic axis spans at least this factor, so that noise does not look like a change."""
_KINDS = {"file": "reached by", "pinned": "given"}
_LONGEST = 34
"""Letters of the name of a reference."""


def metric_panels(
    history: Sequence[EpochRow], reference: Gnc2Reference | None
) -> list[Callable[[Any], None]]:
    """What draws GNC1, GNC2 and GNC3 on axes of their own; those that were never measured lack."""

    def gnc1(ax: Any) -> None:
        show_metric(ax, history, "gnc1", "GNC1: variability within classes", always_log=True)

    def gnc2(ax: Any) -> None:
        show_gnc2(ax, history, reference)

    def gnc3(ax: Any) -> None:
        show_metric(ax, history, "gnc3", "GNC3: distance from self-duality")

    panels = {"gnc1": gnc1, "gnc2": gnc2, "gnc3": gnc3}
    return [draw for key, draw in panels.items()
            if any(getattr(row, key) is not None for row in history)]  # fmt: skip


def show_metric(
    ax: Any, history: Sequence[EpochRow], key: str, title: str, *, always_log: bool = False
) -> None:
    """One metric over the epochs it was measured at, logarithmic where it spans decades."""
    line = _line(history, key)
    positive = line.y[key][line.y[key] > 0.0]
    span = float(positive.max() / positive.min()) if positive.size else 1.0
    scale = "log" if span > _SPAN or (always_log and positive.size > 1) else "linear"
    draw_line(ax, line, key, scale, BLUE, "-")
    ax.set_yscale(scale)
    if scale == "linear" and line.x.size:
        ax.set_ylim(bottom=0.0, top=1.12 * max(float(line.y[key].max()), 1e-12))
    elif scale == "log":
        low, high = ax.get_ylim()
        more = max(1.0, _LEAST_SPAN / (high / low)) ** 0.5
        ax.set_ylim(low / more, high * more)
        if span < _FEW_TICKS:
            _plain_ticks(ax)
    _epochs(ax, history, title)


def show_gnc2(ax: Any, history: Sequence[EpochRow], reference: Gnc2Reference | None) -> None:
    """The certified lower end of GNC2, its bracket where that is wide, and what is within reach."""
    lower = _line(history, "gnc2", lambda bracket: bracket.lower)
    upper = _line(history, "gnc2", lambda bracket: bracket.upper)
    draw_line(ax, lower, "gnc2", "linear", BLUE, "-")
    low, high = lower.y["gnc2"], upper.y["gnc2"]
    if len(low) == len(high) and (high - low > 0.005).any():
        ax.fill_between(lower.x, low, high, color=BLUE, alpha=0.18, lw=0)
        ax.vlines(lower.x, low, high, color=BLUE, lw=1.0, alpha=0.6)
    top = max(float(np.max(values)) for values in (low, high, np.zeros(1)) if values.size)
    if reference is not None:
        best = "optimal" if reference.proven else "best known lower bound"
        said = _KINDS.get(reference.kind, best)
        ax.axhline(reference.value, color=GREY, lw=1.3, ls="--", zorder=1)
        ax.annotate(
            f"{said} {reference.value:.4f}\n{_name(reference)}", (0.98, reference.value), (0, 3),
            xycoords=("axes fraction", "data"), textcoords="offset points", color=INK, fontsize=9,
            ha="right", va="bottom",
        )  # fmt: skip
        top = max(top, reference.value)
    ax.set_ylim(0.0, (1.16 if reference is None else 1.32) * max(top, 1e-6))
    _epochs(ax, history, "GNC2: one-vs-rest distance")


def show_accuracies(ax: Any, history: Sequence[EpochRow]) -> None:
    """Shares of right answers, with a legend above the axes."""
    running = _line(history, "running_accuracy")
    few = len(running.x) <= 2
    ax.plot(running.x, running.y["running_accuracy"], color=GREY, lw=1.0,
            marker="." if few else None, label="while training", zorder=1.5)  # fmt: skip
    seen = [looks for looks in _ACCURACIES if _line(history, looks[0]).x.size]
    for key, _, colour, style in reversed(seen):  # the accuracies above NCC
        draw_line(ax, _line(history, key), key, "linear", colour, style)
    for _, name, colour, style in seen:
        ax.plot([], [], color=colour, ls=style, lw=1.7, marker="o" if style == "-" else "D",
                ms=4.5, mfc="white" if style == "--" else colour, label=name)  # fmt: skip
    low, high = ax.get_ylim()
    ax.set_ylim(*((max(low, -0.02), min(high, 1.02)) if len(running.x) > 1 else (-0.02, 1.02)))
    ax.set_ylabel("share of samples")
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, columnspacing=1.4,
              borderaxespad=0.2)  # fmt: skip
    _epochs(ax, history, "Accuracy")


def show_loss(ax: Any, history: Sequence[EpochRow]) -> None:
    """The mean loss of each epoch, as it was trained on."""
    show_metric(ax, history, "loss", "Loss while training")


def _line(history: Sequence[EpochRow], key: str, value: Callable[[Any], float] = float) -> Line:
    """The finite values of a key, with their epochs."""
    found = [(row.epoch, value(getattr(row, key))) for row in history
             if getattr(row, key) is not None]  # fmt: skip
    pairs = np.array(found, dtype=float).reshape(-1, 2)
    pairs = pairs[np.isfinite(pairs[:, 1])]
    return Line("", pairs[:, 0], {key: pairs[:, 1]})


def _name(reference: Gnc2Reference) -> str:
    """Where the value is from: the theorem, the entry of the table, the file."""
    name = reference.source if reference.kind == "pinned" else reference.id
    name = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
    return name.replace("$", r"\$")


def _plain_ticks(ax: Any) -> None:
    """Plain numbers where powers of ten are few: at 1, 2 and 5 times them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6g}"))
    ax.yaxis.set_minor_locator(NullLocator())


def _epochs(ax: Any, history: Sequence[EpochRow], title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    last = max((row.epoch for row in history), default=1)
    room = max(0.5, 0.03 * last)
    ax.set_xlim(1.0 - room if last > 1 else 0.0, last + room if last > 1 else 2.0)
    if last > 1:
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    else:
        ax.set_xticks([last])
    ax.set_title(title)
    ax.set_xlabel("epoch")
    ax.grid()


MANY_ROWS = 16
"""More lines than these are set close together, in small letters."""
_HIGH = 0.5
"""Where all shares are above it, the axis does not start at 0."""
_SHARES = (
    ("train_accuracy", "training set", BLUE, "o", "white"),
    ("test_accuracy", "test set", ORANGE, "o", ORANGE),
    ("ood_accuracy", "out of distribution", GREEN, "D", GREEN),
)


def ranked(rows: Sequence[TrainResult]) -> list[TrainResult]:
    """The best first, by test accuracy, by training accuracy where there is no test set."""

    def value(row: TrainResult) -> float:
        found = _judged(row)[1]
        return -1.0 if found is None else found

    return sorted(rows, key=value, reverse=True)


def placement_text(row: TrainResult) -> str:
    """Who stands next to whom: around the circle where d is 2, else the row of each class.

    The name of the run where the classes are too many to be listed.
    """
    permutation = row.head.permutation or ()
    names = list(row.extras.get("class_names") or map(str, range(len(permutation))))
    if 0 < len(names) <= MOST_NAMED:
        names = class_labels(names)
    else:
        return os.path.basename(row.run)
    weights = row.extras.get("weights")
    if weights is None or np.shape(weights)[1] != 2:
        return "  ".join(f"{n} → {p}" for n, p in zip(names, permutation, strict=False))
    W = np.asarray(weights, dtype=float)
    order = np.argsort(np.arctan2(W[:, 1], W[:, 0]), kind="stable")
    first = int(np.flatnonzero(order == 0)[0])
    order = np.roll(order, -first)
    if len(order) > 2 and order[1] > order[-1]:  # a mirror image is the same arrangement
        order = np.roll(order[::-1], 1)
    return " - ".join(names[k] for k in order)


def show_assignments(ax: Any, rows: Sequence[TrainResult]) -> None:
    """A line a placement, the best on top: its accuracies as dots, one a little below another.

    The axis starts at 0, with a line at the share that chance gets right, unless all shares are so
    high that nothing could be told apart; it then says where it starts.

    Args:
        ax: Matplotlib axes.
        rows: in the order of `ranked`, at least one.
    """
    height = np.arange(len(rows))[::-1]
    many = len(rows) > MANY_ROWS
    seen = [looks for looks in _SHARES if any(getattr(row, looks[0]) is not None for row in rows)]
    aside = np.linspace(0.2, -0.2, len(seen)) if len(seen) > 1 else np.zeros(len(seen))
    for y in height[::2]:
        ax.axhspan(y - 0.5, y + 0.5, color="#F1F3F5", lw=0, zorder=0)
    lowest = 1.0
    for (key, name, colour, marker, face), up in zip(seen, aside, strict=True):
        found = [(getattr(row, key), y + up) for row, y in zip(rows, height, strict=True)
                 if getattr(row, key) is not None]  # fmt: skip
        lowest = min(lowest, *(value for value, _ in found))
        ax.plot(*zip(*found, strict=True), ls="none", marker=marker, ms=4 if many else 7, mfc=face,
                mec=colour, mew=1.0 if many else 1.5, label=name, clip_on=False)  # fmt: skip
    K = len(rows[0].head.permutation or ())
    label = "share of samples"
    ax.margins(x=0.08)
    if lowest < _HIGH:
        ax.set_xlim(left=0.0)
        if K:
            ax.axvline(1.0 / K, color=GREY, lw=1.3, ls="--", zorder=1, label=f"chance, 1/{K}")
    else:
        label += f"; the axis starts at {ax.get_xlim()[0]:.3f}"
    ax.set_yticks(height, [placement_text(row) for row in rows])
    ax.tick_params(axis="y", labelsize=7.0 if many else 10.0, length=0.0)
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.grid(axis="x")
    ax.set_xlabel(label)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2 if len(seen) > 2 else 3)


def show_ends(axes: Sequence[Any], rows: Sequence[TrainResult]) -> None:
    """The best and the worst placement in the plane, one an axes, and how many tie with it.

    Args:
        axes: two.
        rows: all of them, in the order of `ranked`, with `weights` among their extras.
    """
    for ax, row, word in zip(axes, (rows[0], rows[-1]), ("Best", "Worst"), strict=True):
        extras = row.extras
        show_places(ax, extras.get("features"), extras.get("labels"), extras["weights"],
                    extras.get("class_names", ()))  # fmt: skip
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
