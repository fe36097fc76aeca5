"""The picture of `gnc bounds --plot`: bounds as bars for one question, as curves for several.

Blue is what exists, orange what is excluded, and between them it is open.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gnc_cli.console.numbers import count, points, rounded
from gnc_cli.console.plot_style import BLUE, GREEN, GREY, INK, ORANGE, save, show_heading, styled
from gnc_cli.io.outputs import check_plot_suffix
from gnc_cli.limits.limit import LARGEST_D, Ending, Quantity
from gnc_cli.limits.result import (
    STATUS,
    BestBounds,
    BoundRow,
    BoundsResult,
    ClassesAnswer,
    DimensionAnswer,
    full_names,
)
from gnc_cli.limits.view import angle, interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDE = 20.0
"""A quotient of the largest and the smallest value from which on an axis is logarithmic."""
_FEW = 9
"""So many values may be the ticks of an axis."""
_MOST_PANELS = 6
_MOST_NAMES = 12
_MOST_MARKS = 60
_REACH = 2.0
"""Axes of numbers of points end so many times beyond the best bound, in digits: weak bounds may be
hundreds of digits further."""


def plot_bounds(result: BoundsResult, path: str | os.PathLike[str]) -> None:
    """Draw bounds into a .png, .svg or .pdf file.

    One pair of d and K, or one K or d with a margin: a bar for each bound. Several pairs: the
    bounds against d, a panel for each K, or against K. Several K or d with a margin: the regions
    where a code exists and where none does. Figures are rounded to the safe side.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    check_plot_suffix(path)
    with styled():
        save(bounds_figure(result), path)


def bounds_figure(result: BoundsResult) -> "Figure":
    """The figure, to be drawn and saved within `styled()`."""
    if result.dimension is not None:
        sizes = sorted(b.K for b in result.dimension.best)
        draw = _dimension_bars if len(sizes) == 1 else _dimension_regions
        figure = draw(result.dimension)
        show_heading(figure, f"Dimensions for {result.wanted}", _listed("K", sizes))
    elif result.classes is not None:
        dims = sorted(b.d for b in result.classes.best)
        figure = (_classes_bars if len(dims) == 1 else _classes_regions)(result.classes)
        show_heading(figure, f"Numbers of points with {result.wanted}", _listed("d", dims))
    elif len(result.best) == 1:
        best = result.best[0]
        figure = _pair_bars(result, best)
        title = f"d = {count(best.d)}, K = {points(best.K)}"
        angles = best.quantity is Quantity.ONE_VS_ONE
        what = f"smallest angle: {angle(best)}" if angles else f"best code: {interval(best)}"
        show_heading(figure, title, what)
    else:
        figure = _curves(result)
        one = result.quantity is Quantity.ONE_VS_ONE
        what = "Smallest angle" if one else "One-vs-rest distance"
        dims, sizes = (sorted({getattr(b, k) for b in result.best}) for k in ("d", "K"))
        show_heading(
            figure, f"{what} of the best code", f"{_listed('d', dims)}     {_listed('K', sizes)}"
        )
    layout = figure.get_layout_engine()
    assert layout is not None
    layout.set(w_pad=0.12, h_pad=0.08)  # type: ignore[call-arg]
    return figure


# Bars: every bound of one question


@dataclass(frozen=True)
class _Bar:
    """One bound on the axis of what was asked for."""

    name: str
    at: float
    """Where it ends."""
    text: str
    """Written at its line."""
    exists: bool
    valid: bool = True


def _bars(
    bars: Sequence[_Bar], left: float, right: float, between: tuple[float, float], *,
    log: bool = False, upward: bool = False,
) -> "tuple[Figure, Axes]":  # fmt: skip
    """A line for each bound, the smallest first, before the interval that the best leave open.

    Args:
        upward: whether a code that exists at one place of the axis exists right of it too.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    bars = sorted(bars, key=lambda bar: (bar.at, not bar.exists))
    figure = Figure(figsize=(9.5, 2.4 + 0.32 * len(bars)), layout="constrained")
    ax = figure.add_subplot(xscale="log" if log else "linear", xlim=(left, right))
    for line, bar in enumerate(bars):
        colour = GREY if not bar.valid else BLUE if bar.exists else ORANGE
        start, end = (bar.at, right) if bar.exists is upward else (left, bar.at)
        ax.barh(line, max(0.0, min(end, right) - start), left=start, height=0.4, color=colour,
                alpha=0.35)  # fmt: skip
        ax.plot([bar.at], [line], "o", color=colour, ms=6)
    legend = [Patch(color=BLUE, alpha=0.35, label="a code exists")]
    if between[1] > between[0]:
        legend.append(ax.axvspan(*between, color=GREY, alpha=0.16, lw=0, zorder=0, label="open"))
    legend.append(Patch(color=ORANGE, alpha=0.35, label="no code exists"))
    figure.legend(handles=legend, loc="outside lower center", ncols=4)
    ax.set_yticks(range(len(bars)), [bar.name for bar in bars])
    ax.set_ylim(len(bars) - 0.4, -0.6)
    texts = ax.secondary_yaxis("right")
    texts.set_yticks(range(len(bars)), [bar.text for bar in bars])
    for axis in (ax.yaxis, texts.yaxis):
        axis.set_tick_params(length=0)
        for label, bar in zip(axis.get_ticklabels(), bars, strict=True):
            label.set_color(INK if bar.valid else GREY)
    for spine in (ax.spines["left"], texts.spines["right"]):
        spine.set_visible(False)
    ax.grid(axis="x")
    return figure, ax


def _pair_bars(result: BoundsResult, best: BestBounds) -> "Figure":
    bars = []
    for row, name in zip(result.rows, full_names(result.rows), strict=True):
        unit = "" if row.angle_deg is None else "°"
        sign = "≥" if row.exists else "<" if row.strict else "≤"
        text = f"{sign} {rounded(row.distance, up=not row.exists, digits=6)}{unit}"
        if not row.valid:
            text += f", does not hold: {row.condition}"
        bars.append(_Bar(name, row.distance, text, row.exists, row.valid))
    low, high = best.distances
    held = [bar.at for bar in bars if bar.at > 0.0] + [_target(result) or low]
    left, right = 0.0, 1.04 * max(held)
    log = right > _WIDE * low > 0.0
    if log:
        left, right = min(held) ** 1.1 / max(held) ** 0.1, 1.5 * max(held)
    figure, ax = _bars(bars, left, right, (low, low if best.exact else high), log=log)
    ax.set_xlabel(_axis(result))
    _show_target(ax, result)
    if best.status is not None:
        ax.set_title(f"{result.target}: {STATUS[best.status]}")
    return figure


def _dimension_bars(answer: DimensionAnswer) -> "Figure":
    """What guarantees or excludes no dimension has no bar."""
    bars = []
    rows = [r for r in answer.rows if (r.d is not None if r.exists else r.d != 2)]
    for row, name in zip(rows, full_names(rows), strict=True):
        if row.d is None:
            every = "every d" if row.ending is Ending.NEVER else f"every d up to {count(LARGEST_D)}"
            bars.append(_Bar(name, math.inf, every, False))
        else:
            text = f"d {'≥' if row.exists else '<'} {count(row.d)}"
            bars.append(_Bar(name, row.d, text, row.exists))
    # The axis begins below d = 2, so that what ends there can be seen.
    left, right = 1.7, 4.0 * max([2.0, *(bar.at for bar in bars if bar.at < math.inf)])
    best = answer.best[0]
    low, high = (right if d is None else left if d == 2 else d
                 for d in (best.necessary, best.sufficient))  # fmt: skip
    figure, ax = _bars(bars, left, right, (low, high), log=True, upward=True)
    _number_axis(ax.xaxis)
    ax.set_xlabel("d")
    return figure


def _classes_bars(answer: ClassesAnswer) -> "Figure":
    """What guarantees or excludes no number of points has no bar."""
    bars = []
    rows = [row for row in answer.rows if row.log10_K is not None]
    for row, name in zip(rows, full_names(rows), strict=True):
        text = f"K {'≤' if row.exists else '≥'} {points(row.K, row.log10_K, not row.exists)}"
        bars.append(_Bar(name, row.log10_K or 0.0, text, row.exists))
    low, high = _open_powers(answer.best[0])
    farthest = max([1.0, *(bar.at for bar in bars)])
    right = min(1.12 * farthest, _REACH * max(v for v in (low, high, 1.0) if v is not None))
    figure, ax = _bars(bars, 0.0, right, (low or 0.0, right if high is None else high))
    _power_axis(ax.xaxis)
    ax.set_xlabel("K")
    return figure


# Curves: several pairs


_LINES: tuple[tuple[str, tuple[str, ...], bool, dict[str, Any]], ...] = (
    ("theorem 3.9, upper", ("theorem-3.9",), False, {"color": GREY, "ls": "--"}),
    ("Levenshtein", ("levenshtein",), False, {"color": ORANGE, "ls": "-."}),
    ("linear programme", ("delsarte-lp",), False, {"color": ORANGE, "ls": ":"}),
    ("codes", ("known-code", "solved-code", "construction", "theorem-3.3"), True,
     {"color": GREEN, "ls": "-"}),
    ("covering", ("covering", "covering-3"), True, {"color": BLUE, "ls": "-"}),
    ("theorem 3.9, lower", ("theorem-3.9",), True, {"color": GREY, "ls": ":"}),
)  # fmt: skip
"""What is drawn beside the best ends: a label, the bounds, whether codes exist there, the style."""


def _curves(result: BoundsResult) -> "Figure":
    """A panel for each K over d, or for each d over K where there are fewer d; one for many K."""
    from matplotlib.figure import Figure

    dims, sizes = (sorted({getattr(b, key) for b in result.best}) for key in ("d", "K"))
    over_K = len(dims) < len(sizes) and len(dims) <= _MOST_PANELS
    group, along = ("d", "K") if over_K else ("K", "d")
    groups: list[int | None] = [*(dims if over_K else sizes)]
    if len(groups) > _MOST_PANELS:
        groups = [None]
    columns = min(len(groups), 3 if len(groups) != 4 else 2)
    lines = math.ceil(len(groups) / columns)
    size = (4.3 * columns + 0.6, 3.4 * lines + 1.4) if len(groups) > 1 else (9.5, 6.0)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    legend: dict[str, Any] = {}
    for at, (ax, value) in enumerate(zip(panels, groups, strict=False)):
        best = [b for b in result.best if value in (None, getattr(b, group))]
        if value is None:
            _many(ax, best, sizes)
        else:
            rows = [r for r in result.rows if r.valid and getattr(r, group) == value]
            _panel(ax, rows, sorted(best, key=lambda b: getattr(b, along)), along)
        _size_axis(ax, sizes if over_K else dims)
        _show_target(ax, result)
        ax.grid()
        if len(groups) > 1:
            ax.set_title(f"{group} = {points(value)}")
        if at + columns >= len(groups):  # the lowest of its column
            ax.set_xlabel(along)
            ax.tick_params(labelbottom=True)
        if at % columns == 0:
            ax.set_ylabel(_axis(result))
        handles, labels = ax.get_legend_handles_labels()
        legend |= dict(zip(labels, handles, strict=True))
    for ax in panels[len(groups) :]:
        ax.set_axis_off()
    ends = [y for ax in panels for line in ax.lines for y in line.get_ydata() if y > 0.0]
    if over_K and min(ends) < 0.01 * max(ends):
        panels[0].set(yscale="log", ylim=(min(ends) / 1.5, max(ends) * 1.3))
    else:
        panels[0].set_ylim(0.0, 1.05 * max(ends))
    many = groups == [None]
    columns = 1 if many else min(4, 2 * columns + 2)
    side: Any = "outside right upper" if many else "outside lower center"
    figure.legend([*legend.values()], [*legend], loc=side, ncols=columns)
    return figure


def _panel(ax: "Axes", rows: list[BoundRow], best: list[BestBounds], along: str) -> None:
    """The bounds of one K against d, or of one d against K."""
    sizes = [getattr(b, along) for b in best]
    lower, upper = zip(*(b.distances for b in best), strict=True)
    low = _steps(sizes, lower, earlier=along == "d")
    high = _steps(sizes, upper, earlier=along == "K")
    ax.fill([*low[0], *high[0][::-1]], [*low[1], *high[1][::-1]], color=BLUE, alpha=0.1, lw=0,
            label="open")  # fmt: skip
    ax.plot(*high, color=INK, lw=2.0, label="best ends")
    ax.plot(*low, color=INK, lw=2.0)
    marker = "o" if len(sizes) <= _MOST_MARKS else None
    for label, names, exists, style in _LINES:
        found: dict[int, float] = {}
        for row in rows:
            if row.exists is exists and row.name in names:
                size, best_of = getattr(row, along), max if exists else min
                found[size] = best_of(found.get(size, row.distance), row.distance)
        if found:
            at = sorted(found)
            ax.plot([float(s) for s in at], [found[s] for s in at], label=label, lw=1.4, ms=3.5,
                    marker=marker, **style)  # fmt: skip


def _many(ax: "Axes", best: list[BestBounds], sizes: Sequence[int]) -> None:
    """Both ends of each K against d, as a pair of lines of its colour."""
    from matplotlib import colormaps

    ax.plot([], [], color=INK, lw=1.6, label="best lower")
    ax.plot([], [], color=INK, lw=1.2, ls="--", label="best upper")
    step = math.ceil(len(sizes) / _MOST_NAMES)
    for rank, K in enumerate(sizes):
        some = sorted((b for b in best if b.K == K), key=lambda b: b.d)
        dims = [b.d for b in some]
        colour = colormaps["viridis"](0.9 * rank / (len(sizes) - 1))
        label = f"K = {points(K)}" if rank % step == 0 or K == sizes[-1] else None
        lower, upper = zip(*(b.distances for b in some), strict=True)
        ax.plot(*_steps(dims, lower, earlier=True), color=colour, lw=1.6, label=label)
        ax.plot(*_steps(dims, upper, earlier=False), color=colour, lw=1.2, ls="--")


# Regions: several K or d with a margin


def _dimension_regions(answer: DimensionAnswer) -> "Figure":
    """The smallest d known to be enough and the smallest not excluded, against K."""
    best = sorted(answer.best, key=lambda b: b.K)
    ends = [(b.sufficient, b.necessary) for b in best]
    known = [float(d) for pair in ends for d in pair if d is not None] or [2.0]
    figure, ax = _regions([b.K for b in best], ends, 1.3 * max(known), upward=True)
    ax.set(xlabel="K", ylabel="d", ylim=(2.0, 1.3 * max(known)))
    if max(known) > _WIDE * min(known):
        ax.set_yscale("log")
    _number_axis(ax.yaxis)
    return figure


def _classes_regions(answer: ClassesAnswer) -> "Figure":
    """The largest K guaranteed and the smallest excluded, in powers of ten, against d."""
    best = sorted(answer.best, key=lambda b: b.d)
    ends = [_open_powers(b) for b in best]
    top = 1.12 * max([1.0, *(v for pair in ends for v in pair if v is not None)])
    figure, ax = _regions([b.d for b in best], ends, top, upward=False)
    ax.set(xlabel="d", ylabel="K", ylim=(0.0, top))
    _power_axis(ax.yaxis)
    return figure


def _regions(
    sizes: Sequence[int],
    ends: Sequence[tuple[float | None, float | None]],
    top: float,
    upward: bool,
) -> "tuple[Figure, Axes]":
    """Blue where a code exists, orange where none does, white between.

    Args:
        ends: at each size the end of what exists and that of what is excluded; None where unknown.
        upward: whether what exists lies above its line: d against K. Else K against d.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 5.4), layout="constrained")
    ax = figure.add_subplot()
    _size_axis(ax, sizes)
    for side, label, colour in ((0, "a code exists", BLUE), (1, "no code exists", ORANGE)):
        # A code stays where points are taken away, and in more dimensions.
        earlier = (side == 0) is not upward
        edge = top if (side == 0) is upward else 0.0
        unknown = 0.0 if side == 0 and not upward else top
        filled = [unknown if (v := pair[side]) is None else v for pair in ends]
        ax.fill_between(*_steps(sizes, filled, earlier), edge, color=colour, alpha=0.16, lw=0,
                        label=label)  # fmt: skip
        seen = [math.nan if (v := pair[side]) is None else v for pair in ends]
        ax.plot(*_steps(sizes, seen, earlier), color=colour, lw=1.8)
        if len(sizes) <= _MOST_MARKS:
            ax.plot([float(s) for s in sizes], seen, "o", color=colour, ms=5.5, clip_on=False)
    figure.legend(loc="outside lower center", ncols=2)
    ax.grid()
    return figure, ax


# What they share


def _axis(result: BoundsResult) -> str:
    one = result.quantity is Quantity.ONE_VS_ONE
    return "smallest angle (degrees)" if one else r"one-vs-rest distance $\rho^\ast$"


def _target(result: BoundsResult) -> float | None:
    """What was asked for: a distance, or the smallest angle in degrees."""
    if result.max_cosine is None:
        return result.margin
    angle = result.arcface_m
    return math.degrees(math.acos(result.max_cosine) if angle is None else angle)


def _show_target(ax: "Axes", result: BoundsResult) -> None:
    """A dashed line at what was asked for: upright among bars."""
    at = _target(result)
    if at is not None:
        line = ax.axvline if len(result.best) == 1 else ax.axhline
        line(at, color=INK, lw=1.2, ls=(0, (5, 3)), label=result.target)


def _listed(name: str, values: Sequence[int]) -> str:
    """All of a few, the ends of many."""
    if len(values) <= 4:
        return f"{name} = {', '.join(map(points, values))}"
    return f"{name} from {points(values[0])} to {points(values[-1])}"


def _open_powers(best: Any) -> tuple[float | None, float | None]:
    """Decimal logarithms of the K between which it is open, None where no end is known.

    Between K and K + 1 there is nothing: both ends lie halfway.
    """
    low, high = best.log10_guaranteed, best.log10_excluded
    if best.guaranteed is not None and best.excluded == best.guaranteed + 1:
        low = high = (low + high) / 2.0
    return low, high


def _steps(
    sizes: Sequence[int], values: Sequence[float], earlier: bool
) -> tuple[list[float], list[float]]:
    """The path of a proved end that only grows, or only falls: one sample holds up to the next.

    Between consecutive integers there is nothing to claim, and the line is straight.

    Args:
        earlier: whether the value of the smaller or of the larger neighbour holds between.

    Example:
        >>> _steps([2, 3, 9], [1.0, 2.0, 5.0], earlier=True)
        ([2.0, 3.0, 9.0, 9.0], [1.0, 2.0, 2.0, 5.0])
    """
    x, y = [float(sizes[0])], [values[0]]
    for last, size, value in zip(sizes, sizes[1:], values[1:], strict=False):
        if size > last + 1:
            x.append(float(size if earlier else last))
            y.append(y[-1] if earlier else value)
        x.append(float(size))
        y.append(value)
    return x, y


def _size_axis(ax: "Axes", sizes: Sequence[int]) -> None:
    """The axis of the d or K that were asked, logarithmic where they range widely."""
    from matplotlib.ticker import MaxNLocator

    few = len(sizes) <= _FEW
    log = sizes[-1] > _WIDE * sizes[0] or (few and sizes[-1] > 3 * sizes[0])
    ax.set_xlim(float(sizes[0]), float(sizes[-1]))
    if log:
        ax.set_xscale("log")
    apart = not log or all(b > 1.5 * a for a, b in zip(sizes, sizes[1:], strict=False))
    if few and apart and sizes[-1] < 10**6:
        ax.set_xticks([*map(float, sizes)], [count(size) for size in sizes])
        ax.minorticks_off()
    elif sizes[-1] < 10**6 or not log:
        _number_axis(ax.xaxis)
    else:
        # matplotlib's own ticks overflow near 10^308.
        first, last = math.log10(sizes[0]), math.log10(sizes[-1])
        powers = MaxNLocator(8, integer=True).tick_values(first, last)
        ax.set_xticks([10.0**power for power in powers if first <= power <= last])
        ax.minorticks_off()


def _number_axis(axis: Any) -> None:
    """`100`, not a power of ten."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high < 1600 * low else (1.0,)
    log = axis.get_scale() == "log"
    axis.set_major_locator(LogLocator(subs=subs) if log else MaxNLocator(integer=True))
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(lambda value, _: count(round(value)))


def _power_axis(axis: Any) -> None:
    """An axis of decimal logarithms."""
    axis.get_major_locator().set_params(integer=True)
    axis.set_major_formatter(lambda value, _: f"$10^{{{value:g}}}$" if value else "1")
