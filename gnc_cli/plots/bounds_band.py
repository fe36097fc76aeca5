"""Which d a target needs against K, or how many points it allows against d: the band left open."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gnc_cli.plots.bounds_ends import label_ends
from gnc_cli.plots.bounds_paths import held
from gnc_cli.plots.bounds_places import Places, dress_dimensions, dress_powers, open_powers
from gnc_cli.plots.style import BLUE, INK, ORANGE
from gnc_cli.results import ClassesAnswer, DimensionAnswer

__all__ = ["show_class_band", "show_dimension_band"]

_WIDE = 30.0
"""A quotient from which on an axis is logarithmic."""
_MOST_MARKS = 40
_THIN = 0.015
"""A share of the axis below which a region has no room for the end of a line."""


@dataclass(frozen=True)
class _Band:
    """What is known at each size, None beyond the axis."""

    sizes: list[int]
    exists: Sequence[float | None]
    excluded: Sequence[float | None]
    between: Sequence[tuple[float | None, float | None]]
    """The ends of what is open: of what exists, and of what is excluded."""
    upward: bool
    """Whether what exists lies above its line: d against K. Else K against d."""


def show_dimension_band(ax: Any, answer: DimensionAnswer) -> None:
    """The smallest d known to be enough and the smallest not excluded, against K.

    Args:
        ax: an empty one.
        answer: for several K.
    """
    best = sorted(answer.best, key=lambda b: b.K)
    band = _Band([b.K for b in best], [b.sufficient for b in best], [b.necessary for b in best],
                 [(b.sufficient, b.necessary) for b in best], upward=True)  # fmt: skip
    ends = (*band.exists, *band.excluded)
    known = [y for y in ends if y is not None] or [2.0]
    wide = max(known) > _WIDE * min(known)
    ax.set_yscale("log" if wide else "linear")
    ax.set_ylim(2.0, max(known) * 1.6 if wide else max(1.12 * max(known), 4.0))
    Places(band.sizes, over_K=True).dress(ax, "K", pad=0.0)
    _fill(ax, band)
    dress_dimensions(ax.yaxis)
    ax.set_ylabel("d")


def show_class_band(ax: Any, answer: ClassesAnswer) -> None:
    """The largest K guaranteed and the smallest excluded, in powers of ten, against d.

    Args:
        ax: an empty one.
        answer: for several d.
    """
    best = sorted(answer.best, key=lambda b: b.d)
    band = _Band([b.d for b in best], [b.log10_guaranteed for b in best],
                 [b.log10_excluded for b in best], [open_powers(b) for b in best],
                 upward=False)  # fmt: skip
    known = [y for y in (*band.exists, *band.excluded) if y is not None] or [1.0]
    ax.set_ylim(0.0, 1.12 * max(1.0, *known))
    Places(band.sizes, over_K=False).dress(ax, "d", pad=0.0)
    _fill(ax, band)
    dress_powers(ax.yaxis)
    ax.set_ylabel("K")


def _fill(ax: Any, band: _Band) -> None:
    """Blue where a code exists, orange where none does, white between."""
    x = Places(band.sizes, over_K=band.upward)
    low, high = ax.get_ylim()
    # Where no d is known, or where every d or no K is excluded, the end lies at the top; where no
    # K is known, at the bottom.
    exists = [(high if band.upward else low) if v is None else v for v, _ in band.between]
    excluded = [high if v is None else v for _, v in band.between]
    # A code stays where points are taken away, and in more dimensions.
    for known, ends, colour, above, earlier, closed in (
        (band.exists, exists, BLUE, band.upward, not band.upward, True),
        (band.excluded, excluded, ORANGE, not band.upward, band.upward, not band.upward),
    ):
        path = held(band.sizes, ends, x.of, earlier)
        ax.fill_between(*path, high if above else low, color=colour, alpha=0.16, lw=0)
        seen = [math.nan if v is None else v for v in known]
        ax.plot(*held(band.sizes, seen, x.of, earlier), color=colour, lw=1.8)
        if len(band.sizes) <= _MOST_MARKS:
            ax.plot([x.of(s) for s in band.sizes], seen, "o", color=colour, ms=5.5, mew=1.4,
                    mfc=colour if closed else "white", clip_on=False, zorder=5)  # fmt: skip
    ax.grid()
    _name(ax, [x.of(s) for s in band.sizes], exists, excluded, band.upward)


def _name(
    ax: Any, x: list[float], exists: list[float], excluded: list[float], upward: bool
) -> None:
    """Names of the regions at their right ends, or where they are widest."""
    low, high = ax.get_ylim()
    regions = []
    for name, colour, one, two in (
        ("a code exists", BLUE, exists, [high if upward else low] * len(x)),
        ("open", INK, exists, excluded),
        ("no code exists", ORANGE, excluded, [low if upward else high] * len(x)),
    ):
        spans = [abs(_height(ax, b) - _height(ax, a)) for a, b in zip(one, two, strict=True)]
        widest = max(spans)
        if widest < _THIN:
            continue
        at = len(x) - 1 if spans[-1] >= _THIN else spans.index(widest)
        middle = _at(ax, (_height(ax, one[at]) + _height(ax, two[at])) / 2.0)
        if spans[-1] >= _THIN:
            regions.append((x[-1], middle, name, colour))
        else:
            ax.annotate(name, (x[at], middle), (6 if at == 0 else 0, 0), va="center",
                        ha="left" if at == 0 else "center", textcoords="offset points",
                        fontsize=9, color=colour)  # fmt: skip
    label_ends(ax, regions)


def _height(ax: Any, y: float) -> float:
    """As a share of the axis."""
    low, high = ax.get_ylim()
    if ax.get_yscale() == "log":
        return math.log(y / low) / math.log(high / low)
    return float((y - low) / (high - low))


def _at(ax: Any, share: float) -> float:
    low, high = ax.get_ylim()
    if ax.get_yscale() == "log":
        return float(low * (high / low) ** share)
    return float(low + share * (high - low))
