"""The picture of `gnc bounds --plot`: bounds as bars for one question, as curves for several.

Blue is what exists, orange what is excluded, and between them it is open.
"""

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli.console.drawing import MOST_MARKS
from gnc_cli.console.numbers import count, points, rounded
from gnc_cli.console.plot_style import BLUE, GREY, INK, ORANGE, new_figure, save, styled
from gnc_cli.limits.limit import Quantity
from gnc_cli.limits.result import (
    STATUS,
    BestBounds,
    BoundRow,
    BoundsResult,
    ClassesRow,
    DimensionAnswer,
    DimensionBest,
    DimensionRow,
    full_names,
)
from gnc_cli.limits.view import angle, interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDE = 20.0
"""An axis is logarithmic if its largest value is this many times its smallest."""
_POWERS = "$10^{{{x:g}}}$"
"""Of ticks on an axis of decimal logarithms."""
_REACH = 2.0
"""Axes of numbers of points end at this multiple of the digits of the best bounds: weak bounds may
have hundreds of digits more."""
_MOST_NAMES = 12
"""Curves that a legend names."""


def plot_bounds(result: BoundsResult, path: str | os.PathLike[str]) -> None:
    """Draw bounds into a .png, .svg or .pdf file.

    One pair of d and K, or one K or d with a margin: a bar for each bound. Several: where codes
    exist and where none do, against d or K. Figures are rounded to the safe side.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    with styled():
        save(bounds_figure(result), path)


def bounds_figure(result: BoundsResult) -> "Figure":
    """The figure, to be drawn and saved within `styled()`."""
    best = result.answer.best
    dims, sizes = (sorted({getattr(b, key) for b in best if hasattr(b, key)}) for key in "dK")
    facts = "     ".join(_listed(key, of) for key, of in (("d", dims), ("K", sizes)) if of)
    title = result.title[:1].upper() + result.title[1:]
    if isinstance(best[0], BestBounds):
        angles = result.quantity is Quantity.ONE_VS_ONE
        title = f"{'Minimal angle' if angles else 'One-vs-rest distance'} of the best code"
        if len(best) == 1:
            title = facts.replace("     ", ", ")
            code = angle(best[0]) if angles else interval(best[0])
            facts = f"{'minimal angle' if angles else 'best code'}: {code}"
    figure: Any = new_figure(9.5, 6.0, title, facts)
    ax = figure.add_subplot()
    if len(best) == 1:
        bars = _draw_bars(ax, result)
        figure.set_size_inches(9.5, 2.4 + 0.32 * bars)
    else:
        _draw_curves(ax, result, dims, sizes)
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def _draw_bars(ax: "Axes", result: BoundsResult) -> int:
    """A line for each bound of one question, the smallest first, and the interval that is open.

    What guarantees or excludes nothing has no line. Returns the number of lines.
    """
    answer = result.answer
    (best,) = answer.best
    # A code in few dimensions is one in more; else it holds fewer points, or smaller distances.
    upward = isinstance(answer, DimensionAnswer)
    rows: list[Any] = [row for row in answer.rows if _says_something(row)]
    bars = [(_end(row), name, row) for row, name in zip(rows, full_names(rows), strict=True)]
    bars.sort(key=lambda bar: (bar[0], not bar[2].exists))
    target = _target(result)
    values = [at for at, _, _ in bars] + ([] if target is None else [target])
    left, right = _value_axis(ax, "x", result, values)
    some_do_not_count = False
    for line, (at, _, row) in enumerate(bars):
        counts = row.proven and getattr(row, "valid", True)
        some_do_not_count |= not counts
        colour = GREY if not counts else BLUE if row.exists else ORANGE
        end = min(at, right)
        ends = (end, right) if row.exists is upward else (left, end)
        ax.hlines(line, *ends, color=colour, lw=9, alpha=0.35)
        ax.plot(at, line, "o", color=colour)
    ax.fill([], [], color=BLUE, alpha=0.35, label="a code exists")
    ax.fill([], [], color=ORANGE, alpha=0.35, label="no code exists")
    if some_do_not_count:
        ax.fill([], [], color=GREY, alpha=0.5, label="unproved, or not applicable")
    exists, excluded = _ends(best)
    low = np.nan_to_num(excluded if upward else exists, nan=right if upward else left)
    high = np.nan_to_num(exists if upward else excluded, nan=right)
    if high > low * (1.0 + 1e-12):
        ax.axvspan(low, high, color=GREY, alpha=0.16, lw=0, label="open")
    ax.set_yticks(range(len(bars)), [f"{name}   {_text(row)}" for _, name, row in bars])
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.grid(axis="x")
    if target is not None:
        ax.axvline(target, color=INK, lw=1.2, ls="--", label=result.target)
    if isinstance(best, BestBounds) and best.status is not None:
        ax.set_title(f"{result.target}: {STATUS[best.status]}")
    return len(bars)


def _says_something(row: BoundRow | DimensionRow | ClassesRow) -> bool:
    if isinstance(row, DimensionRow):
        return row.d is not None if row.exists else row.d != 2
    return isinstance(row, BoundRow) or row.log10_K is not None


def _end(row: Any) -> float:
    """Where the line of a bound ends: a distance, a dimension, the logarithm of a number."""
    if isinstance(row, BoundRow):
        return row.distance
    end: float | None = row.d if isinstance(row, DimensionRow) else row.log10_K
    return math.inf if end is None else end


def _text(row: Any) -> str:
    """What a bound says, rounded to the safe side."""
    if isinstance(row, DimensionRow):
        return "every d" if row.d is None else f"d {'≥' if row.exists else '<'} {count(row.d)}"
    if isinstance(row, ClassesRow):
        return f"K {'≤' if row.exists else '≥'} {points(row.K, row.log10_K, not row.exists)}"
    sign = "≥" if row.exists else "<" if row.strict else "≤"
    unit = "" if row.angle_deg is None else "°"
    return f"{sign} {rounded(row.distance, up=not row.exists, digits=6)}{unit}"


def _ends(best: Any) -> tuple[float, float]:
    """The end of what exists and that of what is excluded, NaN where none is known."""
    if isinstance(best, BestBounds):
        return best.distances
    ends: Any
    if isinstance(best, DimensionBest):
        ends = (best.sufficient, best.necessary)
    else:
        ends = (best.log10_guaranteed, best.log10_excluded)
        # Between K and K + 1 there is nothing: both ends lie halfway.
        if best.guaranteed is not None and best.excluded == best.guaranteed + 1:
            ends = (sum(ends) / 2.0,) * 2
    low, high = (math.nan if end is None else float(end) for end in ends)
    return low, high


def _value_axis(
    ax: "Axes", side: str, result: BoundsResult, values: Sequence[float], along: str = ""
) -> tuple[float, float]:
    """Prepare the axis of distances, dimensions or powers of ten for all values; its limits.

    Args:
        side: `x` or `y`.
        along: of curves, what the other axis has.
    """
    axis: Any = getattr(ax, f"{side}axis")
    best = result.answer.best
    ends = [end for b in best for end in _ends(b) if not math.isnan(end)]
    finite = [value for value in (*values, *ends) if 0.0 < value < math.inf] or [1.0]
    largest, label = max(finite), _distance(result)
    low, high = 0.0, 1.05 * largest
    if isinstance(best[0], BestBounds):
        if along != "d" and largest > _WIDE * min(end for end in (*ends, largest) if end > 0.0):
            getattr(ax, f"set_{side}scale")("log")
            low, high = min(finite) / 1.5, 1.5 * largest
    elif isinstance(best[0], DimensionBest):
        label, low, high = "d", 1.7, 2.0 * largest
        getattr(ax, f"set_{side}scale")("log", base=2)
        axis.set_major_formatter("{x:,.0f}")
    else:
        label, high = "K", min(1.12 * largest, _REACH * max([1.0, *ends]))
        axis.get_major_locator().set_params(integer=True)
        axis.set_major_formatter(_POWERS)
    ax.set(**{f"{side}label": label, f"{side}lim": (low, high)})
    return low, high


def _draw_curves(ax: "Axes", result: BoundsResult, dims: list[int], sizes: list[int]) -> None:
    """Where codes exist and where none do, over d for each K, or over K for each d where there are
    fewer d."""
    from matplotlib import colormaps

    over_K = len(dims) < len(sizes)
    group, along = ("d", "K") if over_K else ("K", "d")
    groups = (dims if over_K else sizes) or [0]
    _size_axis(ax, along, sizes if over_K else dims)
    target = _target(result)
    _value_axis(ax, "y", result, [] if target is None else [target], along)
    for rank, value in enumerate(groups):
        some = [best for best in result.answer.best if getattr(best, group, 0) == value]
        some.sort(key=lambda best: getattr(best, along))
        x = [float(getattr(best, along)) for best in some]
        low, high = np.array([_ends(best) for best in some]).T
        if len(groups) == 1:
            _fill_regions(ax, along, x, low, high, upward=not dims)
            continue
        named = rank % math.ceil(len(groups) / _MOST_NAMES) == 0
        colour = colormaps["viridis"](0.9 * rank / (len(groups) - 1))
        for y, exists, style in ((low, True, "-"), (high, False, "--")):
            label = f"{group} = {points(value)}" if named and exists else None
            _step(ax, along, x, y, exists, color=colour, ls=style, label=label)
    if len(groups) > 1:
        ax.plot([], [], color=INK, label="a code exists up to here")
        ax.plot([], [], color=INK, ls="--", label="no code exists above")
    else:
        _mark_sources(ax, result.best, along)
    if target is not None:
        ax.axhline(target, color=INK, lw=1.2, ls=(0, (5, 3)), label=result.target)


def _mark_sources(ax: "Axes", best: Sequence[BestBounds], along: str) -> None:
    """Marks of the bounds that are the best somewhere, where they are."""
    from matplotlib import colormaps

    places: dict[str, list[tuple[float, float]]] = {}
    for b in best:
        for name, end in zip((b.lower_name, b.upper_name), b.distances, strict=True):
            places.setdefault(name, []).append((float(getattr(b, along)), end))
    for rank, (name, ends) in enumerate(sorted(places.items())):
        x, y = zip(*ends, strict=True)
        marker, colour = "osD^vP*X"[rank % 8], colormaps["tab10"](rank % 10)
        ax.scatter(x, y, s=26, marker=marker, color=colour, label=name, zorder=3)


def _fill_regions(
    ax: "Axes", along: str, x: list[float], low: np.ndarray, high: np.ndarray, *, upward: bool
) -> None:
    """Blue where a code exists, orange where none does, white between.

    Args:
        low, high: the end of what exists, that of what is excluded; NaN where unknown.
        upward: whether what exists lies above its line.
    """
    bottom, top = ax.get_ylim()
    ends = ((low, True, BLUE, "a code exists"), (high, False, ORANGE, "no code exists"))
    for y, exists, colour, label in ends:
        edge = top if exists is upward else bottom
        _step(ax, along, x, y, exists, color=colour, lw=1.8)
        filled = np.where(np.isnan(y), edge, y)
        where = _holds(along, exists)
        ax.fill_between(x, filled, edge, step=where, color=colour, alpha=0.16, lw=0, label=label)


def _step(
    ax: "Axes", along: str, x: Sequence[float], y: np.ndarray, exists: bool, **looks: Any
) -> None:
    marker = "o" if len(x) <= MOST_MARKS else None
    ax.step(x, y, where=_holds(along, exists), marker=marker, ms=3.5, **looks)


def _holds(along: str, exists: bool) -> Any:
    """To which side of its sample an end is proved: a code stays in more dimensions and with fewer
    points."""
    return "post" if (along == "d") is exists else "pre"


def _distance(result: BoundsResult) -> str:
    angles = result.quantity is Quantity.ONE_VS_ONE
    return "minimal angle (degrees)" if angles else r"one-vs-rest distance $\rho^\ast$"


def _target(result: BoundsResult) -> float | None:
    """What was asked for: a distance, or the minimal angle in degrees. None for other questions."""
    if not result.best or result.max_cosine is None:
        return result.margin if result.best else None
    radians = result.arcface_m
    return math.degrees(math.acos(result.max_cosine) if radians is None else radians)


def _listed(name: str, values: Sequence[int]) -> str:
    """All of a few, the ends of many."""
    if len(values) <= 4:
        return f"{name} = {', '.join(map(points, values))}"
    return f"{name} from {points(values[0])} to {points(values[-1])}"


def _size_axis(ax: "Axes", name: str, values: Sequence[int]) -> None:
    """The axis of the d or K that were asked; of dimensions in powers of two where it is long."""
    if values[-1] > _WIDE * values[0]:
        ax.set_xscale("log", base=2 if name == "d" else 10)
    else:
        ax.locator_params(axis="x", integer=True)
    if name == "d" or ax.get_xscale() == "linear":
        ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set(xlim=(float(values[0]), float(values[-1])), xlabel=name)
    ax.grid()
