"""From which d, or up to which K: how far each bound reaches, or the band that they leave open."""

import math
from typing import Any

from gnc_cli.plots.bounds_bars import CONJECTURED, Bar, name_regions, show_bars, size_text
from gnc_cli.plots.style import BLUE, INK, ORANGE
from gnc_cli.results import BoundsResult, ClassesAnswer, DimensionAnswer

__all__ = ["show_band", "show_reaches"]

_WIDE = 30.0
"""A quotient from which on an axis is logarithmic."""


def show_reaches(ax: Any, result: BoundsResult) -> None:
    """A line for each bound of one K, over d; or of one d, over K.

    Args:
        ax: an empty one.
        result: with a dimension or a classes answer for a single K or d.
    """
    if result.dimension is not None:
        _dimension_bars(ax, result.dimension)
    elif result.classes is not None:
        _classes_bars(ax, result.classes)


def _dimension_bars(ax: Any, answer: DimensionAnswer) -> None:
    never = {"never": "in no dimension, by this bound", "beyond": "not up to a million dimensions"}
    every = {"never": "excludes every dimension", "beyond": "excludes all up to a million"}
    bars = []
    for row in answer.rows:
        if not row.exists and row.d == 2:
            continue  # it excludes nothing
        said = f"d = {row.d:,}" if row.d is not None else never[row.ending]
        if not row.exists and row.d is None:
            said = every[row.ending]
        at = None if row.d is None else float(row.d)
        bars.append(Bar(row.name, at, said, row.exists, not row.exists, row.proven))
    bars.sort(key=lambda b: (b.at is None, b.at or 0.0, b.proven))
    best = answer.best[0]
    found = [bar.at for bar in bars if bar.at is not None] or [2.0]
    ax.set_xscale("log")
    right = max(8.0, 4.0 * max(found))
    low = 2.0 if best.necessary is None else float(best.necessary)
    high = right if best.sufficient is None else float(best.sufficient)
    open_end = None if best.necessary is None else (low, high)
    show_bars(ax, bars, 1.7, right, open_end)
    _plain_ticks(ax.xaxis)
    ax.set_xlabel("d")
    name_regions(ax, (low, high), leftward=False)


def _classes_bars(ax: Any, answer: ClassesAnswer) -> None:
    bars = []
    for row in answer.rows:
        if row.log10_K is None:
            continue  # it says nothing
        said = f"K = $10^{{{row.log10_K:.6g}}}$" if row.K is None else f"K = {row.K:,}"
        bars.append(Bar(row.name, row.log10_K, said, row.exists, row.exists, row.proven))
    bars.sort(key=lambda b: (b.at is None, b.at or 0.0, not b.proven))
    found = [bar.at for bar in bars if bar.at is not None] or [1.0]
    right = 1.12 * max(found)
    best = answer.best[0]
    low = 0.0 if best.log10_guaranteed is None else best.log10_guaranteed
    high = right if best.log10_excluded is None else best.log10_excluded
    show_bars(ax, bars, 0.0, right, (low, high))
    ax.xaxis.set_major_formatter(_power)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("K")
    name_regions(ax, (low, high), leftward=True)


def show_band(ax: Any, result: BoundsResult) -> None:
    """The smallest d known to be enough and the smallest not excluded against K; or the largest K
    guaranteed and the smallest excluded against d.

    Args:
        ax: an empty one.
        result: with a dimension or a classes answer for several K or d.
    """
    if result.dimension is not None:
        best = sorted(result.dimension.best, key=lambda b: b.K)
        x = [math.log10(b.K) for b in best]
        exists = [None if b.sufficient is None else float(b.sufficient) for b in best]
        excluded = [None if b.necessary is None else float(b.necessary) for b in best]
        ax.set_yscale("log" if _wide([*exists, *excluded]) else "linear")
        ax.xaxis.set_major_formatter(_power)
        if x[-1] - x[0] >= 2.0:
            ax.xaxis.get_major_locator().set_params(integer=True)
        else:
            ax.set_xticks(x, [size_text(b.K) for b in best])
        guess = [None if b.conjectured is None else float(b.conjectured) for b in best]
        _fill(ax, x, exists, excluded, guess, upward=True)
        _plain_ticks(ax.yaxis)
        ax.set_xlabel("K")
        ax.set_ylabel("d")
    elif result.classes is not None:
        some = sorted(result.classes.best, key=lambda b: b.d)
        d = [float(b.d) for b in some]
        ax.set_xscale("log" if _wide([*d]) else "linear")
        _fill(ax, d, [b.log10_guaranteed for b in some], [b.log10_excluded for b in some],
              [b.log10_conjectured for b in some], upward=False)  # fmt: skip
        _plain_ticks(ax.xaxis)
        ax.yaxis.set_major_formatter(_power)
        ax.yaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("d")
        ax.set_ylabel("K")
    ax.grid()


def _fill(
    ax: Any, x: list[float], exists: list[float | None], excluded: list[float | None],
    guess: list[float | None], upward: bool,
) -> None:  # fmt: skip
    """Blue where a code exists, orange where none does, white between.

    Args:
        upward: whether what exists lies above its line.
    """
    held = [y for y in (*exists, *excluded) if y is not None] or [1.0]
    log = ax.get_yscale() == "log"
    low = min(held) / 1.6 if log else 0.0
    high = max(held) * (1.6 if log else 1.12)
    ax.set_ylim(low, high)
    marks = "o" if len(x) <= 40 else None
    for values, colour, above, said in (
        (exists, BLUE, upward, "a code exists"), (excluded, ORANGE, not upward, "no code exists"),
    ):  # fmt: skip
        nowhere = high if above else low
        y = [nowhere if v is None else v for v in values]
        ax.fill_between(x, y, high if above else low, color=colour, alpha=0.16, lw=0)
        known = [(a, v) for a, v in zip(x, values, strict=True) if v is not None]
        if known:
            ax.plot(*zip(*known, strict=True), color=colour, lw=1.8, marker=marks, ms=5)
        ax.annotate(said, (0.02 if above else 0.98, 0.96 if above else 0.04),
                    xycoords="axes fraction", ha="left" if above else "right",
                    va="top" if above else "bottom", color=colour, fontsize=11,
                    fontweight="bold")  # fmt: skip
    guessed = [(a, v) for a, v in zip(x, guess, strict=True) if v is not None]
    if guessed:
        ax.plot(
            *zip(*guessed, strict=True),
            color=CONJECTURED,
            lw=2.0,
            ls=":",
            label=f"no code {'below' if upward else 'above'}, with ρ* = 1 − t*",
        )
        ax.figure.legend(loc="outside lower center")
    # Where nothing, not even the conjecture, says more.
    excluded = [u if v is None else v for u, v in zip(excluded, guess, strict=True)]
    gaps = [
        (abs(_height(ax, u) - _height(ax, v)), a, (_height(ax, u) + _height(ax, v)) / 2.0)
        for a, u, v in zip(x, exists, excluded, strict=True) if u is not None and v is not None
    ]  # fmt: skip
    inner = gaps[1:-1] or gaps
    if inner and max(inner)[0] > 0.08:
        _, at, middle = max(inner)
        ax.annotate("open", (at, middle), xycoords=("data", "axes fraction"), ha="center",
                    va="center", color=INK, fontsize=11)  # fmt: skip


def _height(ax: Any, y: float) -> float:
    """As a share of the axis."""
    low, high = ax.get_ylim()
    if ax.get_yscale() == "log":
        return math.log(y / low) / math.log(high / low)
    return float((y - low) / (high - low))


def _wide(values: list[float | None]) -> bool:
    held = [v for v in values if v is not None]
    return bool(held) and max(held) > _WIDE * min(held)


def _plain_ticks(axis: Any) -> None:
    """`100`, not a power of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    if axis.get_scale() == "log":
        low, high = axis.get_view_interval()
        decades = math.log10(high / low)
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 3.2 else (1.0,)))
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.get_major_locator().set_params(integer=True)


def _power(value: float, _: Any) -> str:
    return f"$10^{{{value:g}}}$" if value else "1"
