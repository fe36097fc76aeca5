"""Bounds against d, as the left axis of the paper's figure 3 has them, or against K."""

import math
from collections.abc import Sequence
from typing import Any

from gnc_cli.plots.bounds_ends import label_ends
from gnc_cli.plots.bounds_labels import asked_at, asked_label, size_text
from gnc_cli.plots.bounds_panel import LOWER, UPPER, lower_end, show_panel, upper_end
from gnc_cli.plots.bounds_paths import held
from gnc_cli.plots.bounds_places import Places
from gnc_cli.plots.style import INK
from gnc_cli.results import BoundsResult

__all__ = ["curves_figure"]

_MOST_PANELS = 6
_MOST_NAMES = 18
"""So many lines of one panel are named, about the same number apart, the ends among them."""


def curves_figure(result: BoundsResult) -> Any:
    """A panel for each K over d; for each d over K where there are fewer d. Many K and many d share
    one panel, with a pair of lines for each K.

    Args:
        result: with several pairs of d and K.
    """
    from matplotlib.figure import Figure

    dims, sizes = {b.d for b in result.best}, {b.K for b in result.best}
    over_K = len(dims) < len(sizes) and len(dims) <= _MOST_PANELS
    groups = sorted(dims if over_K else sizes)
    if len(groups) > _MOST_PANELS:
        figure = Figure(figsize=(10.0, 6.0), layout="constrained")
        _many(figure.add_subplot(), result, groups)
        return figure
    if len(groups) == 1:
        figure = Figure(figsize=(9.8, 6.0), layout="constrained")
        _single(figure.add_subplot(), result, groups[0], over_K)
        return figure
    columns = min(len(groups), 3 if len(groups) != 4 else 2)
    lines = -(-len(groups) // columns)
    size = (4.3 * columns + 0.6, 3.4 * lines + 1.4)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for ax in axes[len(groups) :]:
        ax.set_axis_off()
    for at, (ax, group) in enumerate(zip(axes, groups, strict=False)):
        show_panel(ax, result, group, over_K, alone=False)
        ax.set_title(f"{'d' if over_K else 'K'} = {size_text(group)}")
        # Below an empty place the axis is labelled too.
        ax.tick_params(labelbottom=at + columns >= len(groups))
        if at + columns < len(groups):
            ax.set_xlabel("")
        ax.set_ylabel(_axis(result) if at % columns == 0 else "")
    _set_height(axes[0], [line for ax in axes for line in ax.get_lines()], over_K)
    handles: dict[str, Any] = {}
    for ax in axes:
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    # Both ends look alike.
    del handles[LOWER]
    handles = {("best ends" if said == UPPER else said): h for said, h in handles.items()}
    figure.legend(list(handles.values()), list(handles), loc="outside lower center",
                  ncols=min(5, len(handles)))  # fmt: skip
    return figure


def _single(ax: Any, result: BoundsResult, group: int, over_K: bool) -> None:
    show_panel(ax, result, group, over_K, alone=True)
    ax.set_ylabel(_axis(result))
    _set_height(ax, ax.get_lines(), over_K)
    ends = []
    for line in ax.get_lines():
        if not line.get_label().startswith("_"):
            x, y = line.get_xdata()[-1], line.get_ydata()[-1]
            ends.append((float(x), float(y), line.get_label(), line.get_color()))
    left, right = ax.get_xlim()
    far = left + 0.6 * (right - left)
    label_ends(ax, [end for end in ends if end[0] > far])
    for x, y, label, colour in ends:
        if x <= far:
            ax.annotate(label, (x, y), (6, 6), textcoords="offset points", fontsize=9,
                        color=colour)  # fmt: skip
    (band,) = ax.patches
    ax.figure.legend([band], ["open: between the best bounds"], loc="outside lower center")


def _many(ax: Any, result: BoundsResult, groups: Sequence[int]) -> None:
    """Both ends of each K as a pair of lines of its colour."""
    from matplotlib import colormaps

    ends = []
    step = -(-len(groups) // _MOST_NAMES)
    named = {*range(0, len(groups) - step, step), len(groups) - 1}
    sizes = sorted({b.d for b in result.best})
    x = Places(sizes, over_K=False)
    for rank, K in enumerate(groups):
        colour = colormaps["viridis"](0.88 * rank / (len(groups) - 1))
        best = sorted((b for b in result.best if b.K == K), key=lambda b: b.d)
        dims = [b.d for b in best]
        low, high = [lower_end(b) for b in best], [upper_end(b) for b in best]
        ax.plot(*held(dims, low, x.of, earlier=True), color=colour, lw=1.6)
        ax.plot(*held(dims, high, x.of, earlier=False), color=colour, lw=1.4, ls=(0, (4, 2)))
        if len(dims) <= 20:
            ax.plot([x.of(d) for d in dims], low, "o", color=colour, ms=3.5)
        if rank in named:
            ends.append((x.of(dims[-1]), low[-1], f"K = {size_text(K)}", colour))
    x.dress(ax, "d")
    _set_height(ax, ax.get_lines(), False)
    ax.plot([], [], color=INK, lw=1.6, label=LOWER)
    ax.plot([], [], color=INK, lw=1.4, ls=(0, (4, 2)), label=UPPER)
    at = asked_at(result)
    if at is not None:
        said = asked_label(result)
        ax.plot(ax.get_xlim(), [at, at], color=INK, lw=1.1, ls=(0, (1, 2)), label=said)
    ax.figure.legend(loc="outside lower center", ncols=3)
    ax.set_ylabel(_axis(result))
    ax.grid()
    label_ends(ax, ends[::-1])


def _axis(result: BoundsResult) -> str:
    if result.quantity == "one-vs-one":
        return "smallest angle (degrees)"
    return r"one-vs-rest distance $\rho^\ast$"


def _set_height(ax: Any, lines: Sequence[Any], over_K: bool) -> None:
    drawn = [y for line in lines for y in line.get_ydata() if math.isfinite(y) and y > 0.0]
    top, bottom = max(drawn), min(drawn)
    if over_K and bottom < 0.01 * top:
        ax.set_yscale("log")
        ax.set_ylim(bottom / 1.5, top * 1.3)
    else:
        ax.set_ylim(0.0, top * 1.05)
