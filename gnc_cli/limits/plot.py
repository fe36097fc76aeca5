"""The plot of `gnc bounds --plot`: bounds as bars for one question, as curves for several.

Codes exist in the blue range, and none exist in the orange one. Between them the question is open.
"""

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gnc_cli.console.drawing import BLUE, GREY, INK, MOST_MARKS, ORANGE, new_figure, save, styled
from gnc_cli.figures import points, rounded
from gnc_cli.limits.result import (
    STATUS,
    BestBounds,
    BoundRow,
    BoundsResult,
    ClassesBest,
    DimensionAnswer,
    DimensionBest,
    rank,
    short_decimal,
)
from gnc_cli.limits.view import interval, row_words

_LOG_AXIS_RATIO = 20.0
"""Ratio of the largest to the smallest value from which on an axis is logarithmic."""
_POWER_FORMAT = "$10^{{{x:g}}}$"
"""Format of ticks on an axis of decimal logarithms."""
_MAX_DIGITS_RATIO = 2.0
"""End of an axis of numbers of points, as a multiple of the digits of the best bounds: weak bounds
may have hundreds of digits more."""
_MOST_NAMES = 12
"""Largest number of curves in the legend."""


def plot_bounds(result: BoundsResult, path: str | os.PathLike[str]) -> None:
    """Draw bounds into a .png, .svg or .pdf file.

    One pair of d and K, or one K or d with a margin, is plotted as a bar per bound; several as the
    limits of existence against d or K. Values are rounded outwards.

    Args:
        result: the result to draw.
        path: the file; an existing one is replaced.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    with styled():
        save(bounds_figure(result), path)


def bounds_figure(result: BoundsResult) -> Any:
    """Return the matplotlib figure, to be drawn and saved within `styled()`."""
    best = result.answer.best
    dims, sizes = (sorted({getattr(b, key) for b in best if hasattr(b, key)}) for key in "dK")
    facts = "     ".join(_range_text(key, v) for key, v in (("d", dims), ("K", sizes)) if v)
    if len(result.best) == 1:
        facts = f"best code: {interval(result.best[0])}"
    figure = new_figure(9.5, 6.0, f"Bounds: {result.title}", facts)
    if len(best) == 1:
        ax = figure.add_subplot()
        bars = _draw_bars(ax, result)
        figure.set_size_inches(9.5, 2.4 + 0.32 * bars)
    elif not result.best or result.probability is None:
        ax = figure.add_subplot()
        _draw_curves(ax, result, dims, sizes)
    else:
        figure.set_size_inches(9.5, 9.0)
        ax, scale_ax = figure.subplots(2, height_ratios=(3, 2))
        _draw_curves(ax, result, dims, sizes)
        _draw_scales(scale_ax, result, dims, sizes)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _draw_bars(ax: Any, result: BoundsResult) -> int:
    """Draw a bar for each bound of one question, the smallest first, and the open interval.

    Bounds that guarantee or exclude nothing have no bar. Return the number of bars.
    """
    answer = result.dimension or result.classes or result
    (best,) = answer.best
    # Existence extends to larger d, but to smaller distances and smaller K.
    exists_upwards = isinstance(answer, DimensionAnswer)
    rows: list[Any] = [row for row in answer.rows if row_words(row)]
    rows.sort(key=lambda row: (abs(rank(row)), not row.exists))
    target = _target(result)
    values = [abs(rank(row)) for row in rows]
    start, stop = _value_axis(ax, "x", result, values + ([] if target is None else [target]))
    labels = {
        BLUE: "a code exists",
        ORANGE: "no code exists",
        GREY: "unproved, or not applicable",
    }
    for index, (value, row) in enumerate(zip(values, rows, strict=True)):
        is_bound = row.proven and getattr(row, "valid", True)
        colour = GREY if not is_bound else BLUE if row.exists else ORANGE
        end = min(value, stop)
        bar = (end, stop) if row.exists is exists_upwards else (start, end)
        ax.hlines(index, *bar, color=colour, lw=9, alpha=0.35, label=labels.pop(colour, None))
        ax.plot(end, index, "o" if end == value else ">", color=colour, clip_on=False)
    ends = _ends(best)
    low, high = np.nan_to_num(ends[::-1] if exists_upwards else ends, nan=stop)
    if high > low * (1.0 + 1e-12) and not (
        isinstance(best, ClassesBest) and best.excluded == (best.guaranteed or -1) + 1
    ):
        ax.axvspan(low, high, color=GREY, alpha=0.16, lw=0, label="open")
    ax.set_yticks(range(len(rows)), [f"{row.name}   {_text(row)}" for row in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.grid(axis="x")
    if target is not None:
        ax.axvline(target, color=INK, lw=1.2, ls="--", label=result.target)
    if isinstance(best, BestBounds) and best.status is not None:
        ax.set_title(f"{result.target}: {STATUS[best.status]}")
    return len(rows)


def _text(row: Any) -> str:
    """Return the value of a bound in words, rounded outwards."""
    if not isinstance(row, BoundRow):
        return " ".join(row_words(row) or ())
    sign = "≥" if row.exists else "<" if row.strict else "≤"
    unit = "" if row.angle_deg is None else "°"
    return f"{sign} {rounded(row.distance, upward=not row.exists, digits=6)}{unit}"


def _ends(best: Any) -> np.ndarray:
    """Return the ends of existence and of exclusion, shape (2,), NaN if unknown."""
    if isinstance(best, BestBounds):
        return np.array(best.distances)
    if isinstance(best, DimensionBest):
        return np.array([best.sufficient, best.necessary], dtype=float)
    return np.array([best.log10_guaranteed, best.log10_excluded], dtype=float)


def _value_axis(
    ax: Any, side: str, result: BoundsResult, values: Sequence[float]
) -> tuple[float, float]:
    """Prepare the axis `x` or `y` of distances, dimensions or powers of ten; return its limits."""
    axis, set_scale = getattr(ax, f"{side}axis"), getattr(ax, f"set_{side}scale")
    best = result.answer.best
    ends = [end for b in best for end in _ends(b) if end > 0.0]
    positive = [value for value in (*values, *ends) if 0.0 < value < math.inf] or [1.0]
    largest = max(positive)
    angles = result.quantity.is_cosine
    label = "minimal angle (degrees)" if angles else r"one-vs-rest distance $\rho^\ast$"
    low, high = 0.0, 1.05 * largest
    if isinstance(best[0], DimensionBest):
        label, low, high = "d", 1.7, 2.0 * largest
        set_scale("log", base=2)
        axis.set_major_formatter("{x:,.0f}")
    elif not isinstance(best[0], BestBounds):
        label, high = "K", min(1.12 * largest, _MAX_DIGITS_RATIO * max([1.0, *ends]))
        axis.get_major_locator().set_params(integer=True)
        axis.set_major_formatter(_POWER_FORMAT)
    elif largest > _LOG_AXIS_RATIO * min([*ends, largest]):
        set_scale("log")
        low, high = min(positive) / 1.5, 1.5 * largest
    ax.set(**{f"{side}label": label, f"{side}lim": (low, high)})
    return low, high


def _draw_curves(ax: Any, result: BoundsResult, dims: list[int], sizes: list[int]) -> None:
    """Draw the limits of existence over d for each K, or over K for each d if there are fewer d."""
    x_key, values = ("K", sizes) if len(dims) < len(sizes) else ("d", dims)
    _size_axis(ax, x_key, values)
    target = _target(result)
    edges = _value_axis(ax, "y", result, [] if target is None else [target])
    # Codes exist from a dimension on, but up to a distance or number of points.
    _draw_steps(ax, result, x_key, _ends, edges if dims else edges[::-1])
    sides = ("up to here", "above") if dims else ("from here on", "below")
    ax.plot([], [], color=INK, label=f"a code exists {sides[0]}")
    ax.plot([], [], color=INK, ls="--", label=f"no code exists {sides[1]}")
    if target is not None:
        ax.axhline(target, color=INK, lw=1.2, ls="-.", label=result.target)


def _draw_scales(ax: Any, result: BoundsResult, dims: list[int], sizes: list[int]) -> None:
    """Draw the smallest softmax scales over d or K, as in `_draw_curves`, with those of AdaCos."""
    x_key, values = ("K", sizes) if len(dims) < len(sizes) else ("d", dims)
    _size_axis(ax, x_key, values)
    ends = np.array([_scale_ends(best) for best in result.best])
    low, high = 0.0, 1.05 * float(ends.max())
    if high > _LOG_AXIS_RATIO * ends.min() > 0.0:
        ax.set_yscale("log")
        low, high = float(ends.min()) / 1.5, 1.5 * high
    chance = short_decimal(result.probability or 0.0)
    ax.set(ylim=(low, high), ylabel=f"smallest scale s for probability {chance}")
    for curve, colour in _draw_steps(ax, result, x_key, _scale_ends, (high, low)):
        x = [float(getattr(best, x_key)) for best in curve]
        fixed = [best.margins.adacos_scale for best in curve if best.margins is not None]
        ax.plot(x, fixed, color=colour, ls=":")
    styles = {"-": "enough for the best code known", "--": "needed by every code", ":": "AdaCos"}
    ax.legend([*(ax.plot([], [], color=INK, ls=style)[0] for style in styles)], [*styles.values()])


def _scale_ends(best: BestBounds) -> np.ndarray:
    """Return the sufficient and the necessary scale, shape (2,)."""
    assert best.margins is not None and best.margins.scale is not None
    scale = best.margins.scale
    return np.array([scale.upper, scale.lower])


def _draw_steps(
    ax: Any,
    result: BoundsResult,
    x_key: str,
    ends: Callable[[Any], np.ndarray],
    edges: tuple[float, float],
) -> list[tuple[list[Any], Any]]:
    """Draw two lines for each K over d, or for each d over K: limits of existence and exclusion.

    Args:
        ax: the axes.
        result: the result.
        x_key: `d` or `K`, the field of the x axis.
        ends: returns the ends of existence and of exclusion of one row of `best`.
        edges: ends of the y axis towards which codes exist, and towards which none do.

    Returns:
        The rows of each curve, in order, and its colour.
    """
    from matplotlib import colormaps

    group = "K" if x_key == "d" else "d"
    curves: dict[int, list[Any]] = {}
    for best in sorted(result.answer.best, key=lambda best: getattr(best, x_key)):
        curves.setdefault(getattr(best, group, 0), []).append(best)
    coloured = []
    for index, value in enumerate(sorted(curves)):
        x = [float(getattr(best, x_key)) for best in curves[value]]
        colour: Any = colormaps["viridis"](0.9 * index / max(1, len(curves) - 1))
        in_legend = len(curves) > 1 and index % math.ceil(len(curves) / _MOST_NAMES) == 0
        sides = np.transpose([*map(ends, curves[value])])
        for exists, y, edge in zip((True, False), sides, edges, strict=True):
            # A code also exists in more dimensions and with fewer points.
            step: Any = "post" if (x_key == "d") is exists else "pre"
            if len(curves) == 1:
                colour = BLUE if exists else ORANGE
                filled = np.where(np.isnan(y), edge, y)
                ax.fill_between(x, filled, edge, step=step, color=colour, alpha=0.16, lw=0)
            ax.step(
                x,
                y,
                where=step,
                color=colour,
                ls="-" if exists else "--",
                marker="o" if len(x) <= MOST_MARKS else None,
                ms=3.5,
                label=f"{group} = {points(value)}" if in_legend and exists else None,
            )
        coloured.append((curves[value], INK if len(curves) == 1 else colour))
    return coloured


def _target(result: BoundsResult) -> float | None:
    """Return the target as a distance or a minimal angle in degrees; None without d or K."""
    if not result.best or result.max_cosine is None:
        return result.margin if result.best else None
    radians = result.arcface_m
    return math.degrees(math.acos(result.max_cosine) if radians is None else radians)


def _range_text(name: str, values: Sequence[int]) -> str:
    """Return up to four values, or the ends of more, in words."""
    if len(values) <= 4:
        return f"{name} = {', '.join(map(points, values))}"
    return f"{name} from {points(values[0])} to {points(values[-1])}"


def _size_axis(ax: Any, name: str, values: Sequence[int]) -> None:
    """Prepare the x axis of d or K, logarithmic for wide ranges."""
    if values[-1] > _LOG_AXIS_RATIO * values[0]:
        ax.set_xscale("log", base=2 if name == "d" else 10)
    else:
        ax.locator_params(axis="x", integer=True)
    if name == "d" or ax.get_xscale() == "linear":
        ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set(xlim=(float(values[0]), float(values[-1])), xlabel=name)
    ax.grid()
