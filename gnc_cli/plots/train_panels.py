"""A training run over its epochs: the panels of the paper's figure 2, accuracies and loss."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gnc_cli.plots.measure_series import Line, draw_line
from gnc_cli.plots.style import BLUE, GREEN, GREY, INK, ORANGE
from gnc_cli.results.measure import Gnc2Reference
from gnc_cli.results.train import EpochRow

__all__ = ["metric_panels", "show_accuracies", "show_gnc2", "show_loss", "show_metric"]

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
