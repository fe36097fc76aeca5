"""Lines over epochs, as the pictures of `measure` and `train` both draw them.

A colour is a set of samples or a run, a solid line with filled points a metric or an accuracy, a
dashed one with open points the nearest class mean. The scale belongs to the metric, so that the
pictures of one run agree: GNC1, GNC3 and the loss have a logarithmic axis of whole decades, GNC2 a
linear one from 0, shares one from 0 to 1.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.collapse.result import Gnc2Reference
from gnc_cli.console.plot_style import BLUE, GREEN, GREY, INK, ORANGE
from gnc_cli.escaping import in_picture

TITLES = {
    "gnc1": "GNC1: variability within classes",
    "gnc2": "GNC2: one-vs-rest distance",
    "gnc3": "GNC3: distance from self-duality",
    "gnc1_centred": "GNC1 centred: variability within classes",
    "gnc3_centred": "GNC3 centred: distance from self-duality",
}
COLOUR_OF_SET = {"train": BLUE, "test": ORANGE, "ood": GREEN}
_KINDS = {"file": "reached by", "pinned": "given"}
_BEST = {True: "optimum", False: "best known"}
_FEW_DECADES = 2
"""Up to so many a logarithmic axis has ticks between the powers of ten."""
_PLAIN = (-4, 6)
"""Powers of ten that are written out, as 0.001."""
_MANY = 40
"""Beyond this number of points of a line they are not marked."""
_LONGEST = 34
"""Letters of the name of a reference."""
_MARKERS = {"-": "o", "--": "D", ":": "."}
_MOST_ZEROS = 12
_ROOM = 1.35
"""The axis of GNC2 goes on to this many times its reference, whose name stands above it."""


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


def draw_metrics(
    ax: Any,
    lines: Sequence[Line],
    keys: Mapping[str, str],
    colours: Sequence[Any],
    joined: bool = True,
) -> None:
    """Metrics of all lines, each in its style, on a logarithmic axis; zeros lie on its bottom
    edge."""
    for key, style in keys.items():
        for line, colour in zip(lines, colours, strict=True):
            draw_line(ax, line, key, "log", colour, style, joined)
    _set_decades(ax, np.concatenate([line.y[key] for line in lines for key in keys]))


def set_shares(ax: Any) -> None:
    """The y axis of shares of samples, from 0 to 1 whatever they are."""
    ax.set_ylim(0.0, 1.0)
    ax.set_yticks([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    ax.set_ylabel("share of samples")


def draw_gnc2(
    ax: Any,
    lines: Sequence[Line],
    colours: Sequence[Any],
    references: Iterable[Gnc2Reference] = (),
    joined: bool = True,
) -> None:
    """The certified lower end of GNC2, its bracket where that is wide, and what is within reach."""
    for line, colour in zip(lines, colours, strict=True):
        draw_line(ax, line, "gnc2.lower", "linear", colour, "-", joined)
        low, high = line.y["gnc2.lower"], line.y.get("gnc2.upper")
        if joined and line.band is None and high is not None and np.isfinite(high).any():
            seen = np.isfinite(low) & np.isfinite(high)
            ax.fill_between(line.x[seen], low[seen], high[seen], color=colour, alpha=0.18, lw=0)
    known = list({reference.value: reference for reference in references}.values())[-3:]
    for reference in known:
        said = _KINDS.get(reference.kind, _BEST[reference.proven])
        words = f"{said} {reference.value:.4f}"
        ax.axhline(reference.value, color=GREY, lw=1.3, ls="--", zorder=1, label=words)
        if len(known) == 1:
            name = reference.source if reference.kind == "pinned" else reference.id
            name = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
            ax.annotate(
                f"{words}\n{in_picture(name)}",
                (0.98, reference.value),
                (0, 3),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                color=INK,
                fontsize=9,
                ha="right",
                va="bottom",
            )
    if len(known) > 1:
        ax.legend(loc="lower right")
    ax.margins(y=0.12)
    highest = max((reference.value for reference in known), default=0.0)
    ax.set_ylim(0.0, max(ax.get_ylim()[1], _ROOM * highest))


def draw_line(
    ax: Any,
    line: Line,
    key: str,
    scale: str,
    colour: Any,
    style: str,
    joined: bool = True,
    label: str | None = None,
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
    ax.plot(
        line.x[seen],
        y[seen],
        ls=style if joined else "none",
        color=colour,
        lw=1.7,
        marker=_MARKERS[style] if len(line.x) <= _MANY else None,
        ms=4.5 if joined else 7,
        mfc="white" if style == "--" else colour,
        zorder=2.1 if style == "-" else 2.0,
        label=label,
        clip_on=False,
    )
    if line.band is None:
        return
    x, y, deviation = line.x[seen], y[seen], line.band[key][seen]
    if not joined:
        ax.errorbar(x, y, deviation, ls="none", ecolor=colour, lw=1.4)
        return
    # On a logarithmic axis a deviation above the mean would reach below zero.
    low = np.maximum(y - deviation, y / 10.0) if scale == "log" else y - deviation
    ax.fill_between(x, low, y + deviation, color=colour, alpha=0.18, lw=0)


def _set_decades(ax: Any, values: np.ndarray) -> None:
    """A logarithmic axis from one power of ten to another; from 0.1 to 1 where nothing is
    positive."""
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

    positive = values[np.isfinite(values) & (values > 0.0)]
    low = math.floor(math.log10(positive.min(initial=math.inf))) if positive.size else -1
    high = math.ceil(math.log10(positive.max(initial=0.0))) if positive.size else 0
    high = max(high, low + 1)
    ax.set_yscale("log")
    ax.set_ylim(10.0**low, 10.0**high)
    if high - low <= _FEW_DECADES:
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_minor_locator(NullLocator())
    if low >= _PLAIN[0] and high <= _PLAIN[1]:
        ax.yaxis.set_major_formatter(spaced)
        ax.yaxis.set_minor_formatter(NullFormatter())


def set_epochs(ax: Any, axis: str = "epoch") -> None:
    """Whole numbers along the x axis."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    ax.xaxis.set_major_formatter(spaced)
    ax.set_xlabel(axis)
    if axis == "epoch":
        ax.set_xlim(left=0.0)


def spaced(value: float, _: int | None = None) -> str:
    """A tick's number, in groups of three as in the tables.

    >>> spaced(50000.0), spaced(0.2)
    ('50,000', '0.2')
    """
    return f"{value:,.6g}"


def _mark_zeros(ax: Any, x: np.ndarray, colour: Any) -> None:
    """What a logarithmic axis cannot hold stands on its bottom edge, labelled 0."""
    if not x.size:
        return
    edge = ax.get_xaxis_transform()
    ax.plot(
        x,
        np.zeros(x.size),
        ls="none",
        marker="v",
        ms=7,
        color=colour,
        transform=edge,
        clip_on=False,
        zorder=3,
    )
    for at in x[:_MOST_ZEROS]:
        ax.annotate(
            "0",
            (at, 0.0),
            (0, 5),
            xycoords=edge,
            textcoords="offset points",
            ha="center",
            va="bottom",
            color=INK,
            fontsize=9,
        )
