"""Axes of d or K: as they are, or by logarithms of our own, for K has up to 300 digits."""

import math
from collections.abc import Sequence
from typing import Any

from gnc_cli.plots.bounds_labels import size_text
from gnc_cli.results import ClassesBest
from gnc_cli.results.figures import count

__all__ = ["Places", "dress_dimensions", "dress_powers", "open_powers"]

_WIDE = 20.0
"""A quotient from which on the axis is logarithmic."""
_FEW = 9
"""So many sizes are ticks themselves."""


class Places:
    """Where sizes stand on the axis: as they are, or by their logarithm where they range widely."""

    def __init__(self, sizes: Sequence[int], over_K: bool) -> None:
        self.sizes = sizes
        few = len(sizes) <= _FEW and sizes[-1] > 3 * sizes[0]
        self.log = few or sizes[-1] > _WIDE * sizes[0] or (over_K and sizes[-1] > 10**9)

    def of(self, size: int) -> float:
        """The logarithm is ours, for K has up to 300 digits."""
        return math.log10(size) if self.log else float(size)

    def dress(self, ax: Any, name: str, pad: float = 0.02) -> None:
        """Ticks, label and limits.

        Args:
            pad: room at the ends, a share of the axis.
        """
        ax.set_xlabel(name)
        first, last = self.of(self.sizes[0]), self.of(self.sizes[-1])
        room = pad * (last - first)
        ax.set_xlim(first - room, last + room)
        if not self.log:
            ax.xaxis.get_major_locator().set_params(integer=True)
            ax.xaxis.set_major_formatter(lambda value, _: count(round(value)))
            return
        places = [self.of(size) for size in self.sizes]
        if self._readable() and min(map(_step, places, places[1:])) > 0.09 * (last - first):
            ax.set_xticks(places, [_tick(size, self.sizes[-1]) for size in self.sizes])
        elif self.sizes[-1] >= 10**6:
            dress_powers(ax.xaxis)
        else:
            steps = (1, 2, 5) if last - first < 3.2 else (1,)
            ticks = [s * 10**n for n in range(int(last) + 2) for s in steps]
            ticks = [t for t in ticks if self.sizes[0] <= t <= self.sizes[-1]]
            ax.set_xticks([math.log10(t) for t in ticks], [count(t) for t in ticks])

    def _readable(self) -> bool:
        """Whether the sizes are short enough to stand at the ticks."""
        short = self.sizes[-1] < 10**6 or all(str(s).rstrip("0") == "1" for s in self.sizes)
        return short and len(self.sizes) <= _FEW


def open_powers(best: ClassesBest) -> tuple[float | None, float | None]:
    """Decimal logarithms of the K between which it is open, None where no end is known. Between
    K and K + 1 there is nothing: both ends lie halfway.
    """
    low, high = best.log10_guaranteed, best.log10_excluded
    if low is None or high is None or best.guaranteed is None:
        return low, high
    if best.excluded == best.guaranteed + 1:
        low = high = (low + high) / 2.0
    return low, high


def dress_powers(axis: Any) -> None:
    """An axis of decimal logarithms: whole powers of ten."""
    axis.set_major_formatter(lambda value, _: f"$10^{{{value:g}}}$" if value else "1")
    axis.get_major_locator().set_params(integer=True)


def dress_dimensions(axis: Any) -> None:
    """`100`, not a power of ten; its limits are set."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if axis.get_scale() == "log":
        low, high = axis.get_view_interval()
        decades = math.log10(high / low)
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 3.2 else (1.0,)))
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.get_major_locator().set_params(integer=True)
    axis.set_major_formatter(FuncFormatter(lambda value, _: count(round(value))))


def _tick(size: int, largest: int) -> str:
    """All of them in full, or all as powers of ten."""
    return f"$10^{{{len(str(size)) - 1}}}$" if largest >= 10**6 else size_text(size)


def _step(low: float, high: float) -> float:
    return high - low
