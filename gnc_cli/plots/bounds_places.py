"""An axis of d or K: as they are, or by logarithms of our own, for K has up to 300 digits."""

import math
from collections.abc import Sequence
from typing import Any

from gnc_cli.plots.bounds_bars import size_text

__all__ = ["Places"]

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

    def dress(self, ax: Any, name: str) -> None:
        """Ticks and label."""
        ax.set_xlabel(name)
        first, last = self.of(self.sizes[0]), self.of(self.sizes[-1])
        pad = 0.02 * (last - first)
        ax.set_xlim(first - pad, last + pad)
        if not self.log:
            ax.xaxis.get_major_locator().set_params(integer=True)
            return
        places = [self.of(size) for size in self.sizes]
        if len(places) <= _FEW and min(map(_step, places, places[1:])) > 0.09 * (last - first):
            far = self.sizes[-1] >= 10**7
            ax.set_xticks(places, [size_text(size, 1000 if far else 10**7) for size in self.sizes])
        elif self.sizes[-1] >= 10**6:
            ax.xaxis.get_major_locator().set_params(integer=True)
            ax.xaxis.set_major_formatter(lambda value, _: f"$10^{{{value:g}}}$")
        else:
            steps = (1, 2, 5) if last - first < 3.2 else (1,)
            ticks = [s * 10**n for n in range(int(last) + 2) for s in steps]
            ticks = [t for t in ticks if self.sizes[0] <= t <= self.sizes[-1]]
            ax.set_xticks([math.log10(t) for t in ticks], [f"{t:,}" for t in ticks])


def _step(low: float, high: float) -> float:
    return high - low
