"""The picture of `gnc bounds --plot`: bounds as bars for one question, as curves for several.

Blue is what exists, orange what is excluded, and between them it is open.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gnc_cli.console.numbers import count, points, rounded
from gnc_cli.console.plot_style import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    save,
    show_heading,
    styled,
)
from gnc_cli.io.outputs import check_plot_suffix
from gnc_cli.limits.limit import LARGEST_D, Ending, Quantity
from gnc_cli.limits.result import (
    STATUS,
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
_LARGE = 10**6
"""Axes that reach so far show powers of ten."""
_MOST_NAMES = 12
_MOST_MARKS = 60
_REACH = 2.0
"""Axes of numbers of points end so many times beyond the best bound, in digits: weak bounds may be
hundreds of digits further."""


def plot_bounds(result: BoundsResult, path: str | os.PathLike[str]) -> None:
    """Draw bounds into a .png, .svg or .pdf file.

    One pair of d and K, or one K or d with a margin: a bar for each bound. Several: where codes
    exist and where none do, against d or K. Figures are rounded to the safe side.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    check_plot_suffix(path)
    with styled():
        save(bounds_figure(result), path)


def bounds_figure(result: BoundsResult) -> "Figure":
    """The figure, to be drawn and saved within `styled()`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 6.0), layout="constrained")
    ax = figure.add_subplot()
    dims, sizes = (
        sorted({getattr(b, key) for b in result.answer.best if hasattr(b, key)}) for key in "dK"
    )
    facts = "     ".join(_listed(key, of) for key, of in (("d", dims), ("K", sizes)) if of)
    title = result.title[:1].upper() + result.title[1:]
    if isinstance(result.answer, DimensionAnswer):
        draw = _dimension_bars if len(sizes) == 1 else _dimension_regions
        draw(ax, result.answer)
    elif isinstance(result.answer, ClassesAnswer):
        (_classes_bars if len(dims) == 1 else _classes_regions)(ax, result.answer)
    elif len(result.best) == 1:
        _pair_bars(ax, result)
        (best,) = result.best
        title = facts.replace("     ", ", ")
        angles = best.quantity is Quantity.ONE_VS_ONE
        facts = f"smallest angle: {angle(best)}" if angles else f"best code: {interval(best)}"
    else:
        _curves(ax, result, dims, sizes)
        one = result.quantity is Quantity.ONE_VS_ONE
        title = f"{'Smallest angle' if one else 'One-vs-rest distance'} of the best code"
    show_heading(figure, title, facts)
    handles, _ = ax.get_legend_handles_labels()
    side: Any = "outside right upper" if len(handles) > 12 else "outside lower center"
    figure.legend(handles=handles, loc=side, ncols=1 if len(handles) > 12 else 4)
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
    counts: bool
    """Grey where not: its hypothesis fails, or it is not proved."""


def _bars(
    ax: "Axes",
    bars: Sequence[_Bar],
    left: float,
    right: float,
    between: tuple[float, float],
    *,
    upward: bool = False,
) -> None:
    """A line for each bound, the smallest first, before the interval that the best leave open.

    Args:
        upward: whether a code that exists at one place of the axis exists right of it too.
    """
    bars = sorted(bars, key=lambda bar: (bar.at, not bar.exists))
    figure: Any = ax.figure
    figure.set_size_inches(9.5, 2.4 + 0.32 * len(bars))
    ax.set_xlim(left, right)
    for line, bar in enumerate(bars):
        colour = GREY if not bar.counts else BLUE if bar.exists else ORANGE
        start, end = (bar.at, right) if bar.exists is upward else (left, bar.at)
        ax.barh(
            line,
            max(0.0, min(end, right) - start),
            left=start,
            height=0.4,
            color=colour,
            alpha=0.35,
        )
        ax.plot([bar.at], [line], "o", color=colour, ms=6)
    ax.fill([], [], color=BLUE, alpha=0.35, label="a code exists")
    if between[1] > between[0]:
        ax.axvspan(*between, color=GREY, alpha=0.16, lw=0, zorder=0, label="open")
    ax.fill([], [], color=ORANGE, alpha=0.35, label="no code exists")
    ax.set_yticks(range(len(bars)), [bar.name for bar in bars])
    ax.set_ylim(len(bars) - 0.4, -0.6)
    texts = ax.secondary_yaxis("right")
    texts.set_yticks(range(len(bars)), [bar.text for bar in bars])
    for axis in (ax.yaxis, texts.yaxis):
        axis.set_tick_params(length=0)
        for label, bar in zip(axis.get_ticklabels(), bars, strict=True):
            label.set_color(INK if bar.counts else GREY)
    for spine in (ax.spines["left"], texts.spines["right"]):
        spine.set_visible(False)
    ax.grid(axis="x")


def _pair_bars(ax: "Axes", result: BoundsResult) -> None:
    (best,) = result.best
    bars = []
    for row, name in zip(result.rows, full_names(result.rows), strict=True):
        unit = "" if row.angle_deg is None else "°"
        sign = "≥" if row.exists else "<" if row.strict else "≤"
        text = f"{sign} {rounded(row.distance, up=not row.exists, digits=6)}{unit}"
        if not row.valid:
            text += f", does not hold: {row.condition}"
        bars.append(_Bar(name, row.distance, text, row.exists, row.valid and row.proven))
    low, high = best.distances
    held = [bar.at for bar in bars if bar.at > 0.0] + [_target(result) or low]
    left, right = 0.0, 1.04 * max(held)
    if right > _WIDE * low > 0.0:
        left, right = min(held) ** 1.1 / max(held) ** 0.1, 1.5 * max(held)
        ax.set_xscale("log")
    _bars(ax, bars, left, right, (low, low if best.exact else high))
    ax.set_xlabel(_distance(result))
    if (target := _target(result)) is not None:
        ax.axvline(target, color=INK, lw=1.2, ls="--", label=result.target)
    if best.status is not None:
        ax.set_title(f"{result.target}: {STATUS[best.status]}")


def _dimension_bars(ax: "Axes", answer: DimensionAnswer) -> None:
    """What guarantees or excludes no dimension has no bar."""
    bars = []
    rows = [r for r in answer.rows if (r.d is not None if r.exists else r.d != 2)]
    for row, name in zip(rows, full_names(rows), strict=True):
        text = f"d {'≥' if row.exists else '<'} {count(row.d)}"
        if row.d is None:
            text = "every d" if row.ending is Ending.NEVER else f"every d up to {count(LARGEST_D)}"
        at = math.inf if row.d is None else row.d
        bars.append(_Bar(name, at, text, row.exists, row.proven))
    # The axis begins below d = 2, so that what ends there can be seen.
    left, right = 1.7, 4.0 * max([2.0, *(bar.at for bar in bars if bar.at < math.inf)])
    (best,) = answer.best
    low, high = (
        right if d is None else left if d == 2 else d for d in (best.necessary, best.sufficient)
    )
    ax.set_xscale("log")
    _bars(ax, bars, left, right, (low, high), upward=True)
    _number_axis(ax.xaxis)
    ax.set_xlabel("d")


def _classes_bars(ax: "Axes", answer: ClassesAnswer) -> None:
    """What guarantees or excludes no number of points has no bar."""
    bars = []
    rows = [row for row in answer.rows if row.log10_K is not None]
    for row, name in zip(rows, full_names(rows), strict=True):
        text = f"K {'≤' if row.exists else '≥'} {points(row.K, row.log10_K, not row.exists)}"
        bars.append(_Bar(name, row.log10_K or 0.0, text, row.exists, row.proven))
    low, high = _open_powers(answer.best[0])
    farthest = max([1.0, *(bar.at for bar in bars)])
    right = min(1.12 * farthest, _REACH * max(v for v in (low, high, 1.0) if v is not None))
    _bars(ax, bars, 0.0, right, (low or 0.0, right if high is None else high))
    _power_axis(ax.xaxis)
    ax.set_xlabel("K")


# Regions and curves: several d or K


def _curves(ax: "Axes", result: BoundsResult, dims: list[int], sizes: list[int]) -> None:
    """Over d for each K, or over K for each d where there are fewer d."""
    over_K = len(dims) < len(sizes)
    group, along = ("d", "K") if over_K else ("K", "d")
    groups = dims if over_K else sizes
    places = _size_axis(ax, along, sizes if over_K else dims)
    lows, highs = zip(*(b.distances for b in result.best), strict=True)
    top = 1.05 * max(highs)
    log = over_K and min(v for v in lows + highs if v > 0.0) < 0.01 * top
    bottom = min(v for v in lows + highs if v > 0.0) / 1.5 if log else 0.0
    step = math.ceil(len(groups) / _MOST_NAMES)
    for rank, value in enumerate(groups):
        best = sorted(
            (b for b in result.best if getattr(b, group) == value), key=lambda b: getattr(b, along)
        )
        x = [places[getattr(b, along)] for b in best]
        ends = [b.distances for b in best]
        if len(groups) == 1:
            _regions(ax, along, x, ends, bottom, top)
            _bound_lines(ax, result, along, places)
        else:
            from matplotlib import colormaps

            colour = colormaps["viridis"](0.9 * rank / (len(groups) - 1))
            named = rank % step == 0 or value == groups[-1]
            name = f"{group} = {points(value)}" if named else None
            for side, style, label in ((0, "-", name), (1, "--", None)):
                ax.step(
                    x,
                    [pair[side] for pair in ends],
                    where=_holds(along, side == 0),
                    color=colour,
                    lw=1.5,
                    ls=style,
                    label=label,
                    marker="o" if len(x) <= _MOST_MARKS else None,
                    ms=3,
                )
    if len(groups) > 1:
        ax.plot([], [], color=INK, lw=1.5, label="a code exists up to here")
        ax.plot([], [], color=INK, lw=1.5, ls="--", label="no code exists above")
    ax.set(ylabel=_distance(result), ylim=(bottom, top), yscale="log" if log else "linear")
    if (target := _target(result)) is not None:
        ax.axhline(target, color=INK, lw=1.2, ls=(0, (5, 3)), label=result.target)


_LINES: tuple[tuple[str, tuple[str, ...], bool, dict[str, Any]], ...] = (
    ("theorem 3.9, upper", ("theorem-3.9",), False, {"color": GREY, "ls": "--"}),
    ("Levenshtein", ("levenshtein",), False, {"color": PURPLE, "ls": "-."}),
    ("linear programme", ("delsarte-lp",), False, {"color": PURPLE, "ls": ":"}),
    (
        "codes",
        ("known-code", "solved-code", "construction", "theorem-3.3"),
        True,
        {"color": GREEN, "ls": "-"},
    ),
    ("covering", ("covering", "covering-3"), True, {"color": INK, "ls": "-"}),
    ("theorem 3.9, lower", ("theorem-3.9",), True, {"color": GREY, "ls": ":"}),
)
"""What is drawn beside the best ends: a label, the bounds, whether codes exist there, the style."""


def _bound_lines(ax: "Axes", result: BoundsResult, along: str, places: dict[int, float]) -> None:
    """Codes are drawn where none of the existence theorems has more: elsewhere they are fewer than
    what is known, and their line would only fall and rise."""
    lower = {getattr(best, along): best.distances[0] for best in result.best}
    for label, names, exists, style in _LINES:
        found: dict[int, float] = {}
        for row in result.rows:
            if row.valid and row.exists is exists and row.name in names:
                size, best_of = getattr(row, along), max if exists else min
                found[size] = best_of(found.get(size, row.distance), row.distance)
        if label == "codes":
            found = {s: v if v >= lower[s] * (1.0 - 1e-9) else math.nan for s, v in found.items()}
        if found:
            marker = "o" if len(found) <= _MOST_MARKS else None
            at = sorted(found)
            ax.step(
                [places[s] for s in at],
                [found[s] for s in at],
                where=_holds(along, exists),
                label=label,
                lw=1.4,
                ms=3.5,
                marker=marker,
                **style,
            )


def _dimension_regions(ax: "Axes", answer: DimensionAnswer) -> None:
    """The smallest d known to be enough and the smallest not excluded, against K."""
    best = sorted(answer.best, key=lambda b: b.K)
    ends = [(b.sufficient, b.necessary) for b in best]
    known = [float(d) for pair in ends for d in pair if d is not None] or [2.0]
    places = _size_axis(ax, "K", [b.K for b in best])
    log = max(known) > _WIDE * min(known)
    ax.set(ylabel="d", ylim=(2.0, 1.3 * max(known)), yscale="log" if log else "linear")
    _regions(ax, "K", [places[b.K] for b in best], ends, 0.0, 1.3 * max(known), upward=True)
    _number_axis(ax.yaxis)


def _classes_regions(ax: "Axes", answer: ClassesAnswer) -> None:
    """The largest K guaranteed and the smallest excluded, in powers of ten, against d."""
    best = sorted(answer.best, key=lambda b: b.d)
    ends = [_open_powers(b) for b in best]
    top = 1.12 * max([1.0, *(v for pair in ends for v in pair if v is not None)])
    places = _size_axis(ax, "d", [b.d for b in best])
    ax.set(ylabel="K", ylim=(0.0, top))
    _regions(ax, "d", [places[b.d] for b in best], ends, 0.0, top)
    _power_axis(ax.yaxis)


def _regions(
    ax: "Axes",
    along: str,
    x: Sequence[float],
    ends: Sequence[tuple[float | None, float | None]],
    bottom: float,
    top: float,
    *,
    upward: bool = False,
) -> None:
    """Blue where a code exists, orange where none does, white between.

    Args:
        ends: at each place the end of what exists and that of what is excluded; None where unknown.
        upward: whether what exists lies above its line.
    """
    for side, label, edge_label, colour in (
        (0, "a code exists", "best existence bound", BLUE),
        (1, "no code exists", "best exclusion bound", ORANGE),
    ):
        exists = side == 0
        edge = top if exists is upward else bottom
        nothing = bottom if exists and not upward else top
        seen = [math.nan if (v := pair[side]) is None else v for pair in ends]
        filled = [nothing if math.isnan(v) else v for v in seen]
        where = _holds(along, exists)
        ax.fill_between(x, filled, edge, step=where, color=colour, alpha=0.16, lw=0, label=label)
        marker = "o" if len(x) <= _MOST_MARKS else None
        ax.step(
            x,
            seen,
            where=where,
            color=colour,
            lw=1.8,
            marker=marker,
            ms=5.5,
            clip_on=False,
            label=edge_label,
        )


def _holds(along: str, exists: bool) -> Literal["pre", "post"]:
    """To which side of its sample an end is proved: a code stays in more dimensions and with fewer
    points."""
    return "post" if (along == "d") is exists else "pre"


# What they share


def _distance(result: BoundsResult) -> str:
    one = result.quantity is Quantity.ONE_VS_ONE
    return "smallest angle (degrees)" if one else r"one-vs-rest distance $\rho^\ast$"


def _target(result: BoundsResult) -> float | None:
    """What was asked for: a distance, or the smallest angle in degrees."""
    if result.max_cosine is None:
        return result.margin
    angle = result.arcface_m
    return math.degrees(math.acos(result.max_cosine) if angle is None else angle)


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


def _size_axis(ax: "Axes", name: str, values: Sequence[int]) -> dict[int, float]:
    """Prepare the axis of the d or K that were asked; where each lies on it."""
    large = values[-1] >= _LARGE
    places = {value: math.log10(value) if large else float(value) for value in values}
    ax.set_xlim(places[values[0]], places[values[-1]])
    ax.set_xlabel(name)
    ax.grid()
    if large:
        _power_axis(ax.xaxis)
        return places
    if values[-1] > _WIDE * values[0]:
        ax.set_xscale("log")
    _number_axis(ax.xaxis)
    return places


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
