"""Bounds one below the other on a common axis: what exists, what is excluded, what is open."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gnc_cli.plots.bounds_ends import spread
from gnc_cli.plots.style import BLUE, GREY, INK, ORANGE

__all__ = ["Bar", "asked_line", "name_regions", "show_bars"]

_MARKUP = re.compile(r"\\times|[${}^]")


@dataclass(frozen=True)
class Bar:
    """One bound."""

    name: str
    at: float | None
    """On the axis; None where it speaks for all of it (`said` is on the bar), or for nothing."""
    said: str
    """Written beside the dot, or in place of the bar."""
    exists: bool
    leftward: bool
    """Whether the bound speaks for what is left of `at`."""
    closed: bool
    """Whether it speaks for `at` itself."""
    valid: bool = True

    @property
    def colour(self) -> str:
        """Blue for what exists, orange for what is excluded."""
        if not self.valid:
            return GREY
        return BLUE if self.exists else ORANGE


def show_bars(
    ax: Any, bars: Sequence[Bar], left: float, right: float, between: tuple[float, float]
) -> None:
    """A line for each bound, from the top down; the open interval is shaded behind them.

    Args:
        ax: its scale is set; limits are set here.
        bars: in the order of the lines.
        left, right: ends of the axis.
        between: the interval that the best bounds leave open.
    """
    from matplotlib.patheffects import withStroke

    ax.set_xlim(left, right)
    if between[1] > between[0]:
        ax.axvspan(*between, color=GREY, alpha=0.16, lw=0, zorder=0)
    for line, bar in enumerate(bars):
        if bar.at is None:
            if not bar.exists:
                _line(ax, bar, line, left, right)
            ax.annotate(bar.said, (0.0, line), (6, 0), xycoords=("axes fraction", "data"),
                        textcoords="offset points", va="center", fontsize=9,
                        color=GREY if bar.exists else INK, fontstyle="italic",
                        zorder=4)  # fmt: skip
            continue
        _line(ax, bar, line, bar.at, left if bar.leftward else right)
        ax.plot([bar.at], [line], "o", color=bar.colour, ms=6, zorder=3, clip_on=False,
                mew=1.4, mfc=bar.colour if bar.closed and bar.valid else "white")  # fmt: skip
        # Beside the bar; over it where the axis ends there.
        share, width = _share(ax, bar.at), 0.02 + 0.012 * len(_MARKUP.sub("", bar.said))
        on_right = share + width < 1.0 if bar.leftward else share < width
        ax.annotate(bar.said, (bar.at, line), (8 if on_right else -8, 0),
                    textcoords="offset points", ha="left" if on_right else "right", va="center",
                    fontsize=9, color=INK if bar.valid else GREY, zorder=4,
                    path_effects=[withStroke(linewidth=2.5, foreground="white")])  # fmt: skip
    ax.set_yticks(range(len(bars)), [bar.name for bar in bars])
    for label, bar in zip(ax.get_yticklabels(), bars, strict=True):
        label.set_color(INK if bar.valid else GREY)
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")


def _line(ax: Any, bar: Bar, line: int, start: float, end: float) -> None:
    ax.plot([start, end], [line, line], color=bar.colour, lw=7, alpha=0.32,
            solid_capstyle="butt", zorder=2)  # fmt: skip


def asked_line(ax: Any, at: float, said: str) -> None:
    """What was asked for, as a line across all bounds, its words above those of the regions."""
    left, right = ax.get_xlim()
    if not left <= at <= right:
        return
    ax.plot([at, at], [0.0, 1.0], color=INK, lw=1.2, ls=(0, (5, 3)), zorder=1,
            transform=ax.get_xaxis_transform())  # fmt: skip
    share = _share(ax, at)
    side = "left" if share < 0.3 else "right" if share > 0.7 else "center"
    ax.annotate(said, (at, 1.0), (0, 19), xycoords=("data", "axes fraction"), ha=side,
                va="bottom", textcoords="offset points", fontsize=9, color=INK)  # fmt: skip


def name_regions(ax: Any, ends: tuple[float, float], leftward: bool) -> None:
    """What holds left of the open interval, in it and right of it; names of narrow regions stand
    aside, and a line leads back.

    Args:
        leftward: whether codes exist left of it.
    """
    names = [("a code exists", BLUE), ("open", INK), ("no code", ORANGE)]
    edges = [0.0, *(min(1.0, max(0.0, _share(ax, at))) for at in ends), 1.0]
    found = [(a, b, *name) for a, b, name in
             zip(edges, edges[1:], names if leftward else names[::-1], strict=False)
             if b > a]  # fmt: skip
    gap = 0.125
    places = spread([(a + b) / 2.0 for a, b, _, _ in found], gap, 0.05, 0.95)
    for (a, b, name, colour), place in zip(found, places, strict=True):
        inside = a <= place <= b
        ax.annotate(
            name, ((a + b) / 2.0, 1.0), (place, 5.0), xycoords="axes fraction",
            textcoords=("axes fraction", "offset points"), ha="center", va="bottom",
            fontsize=9.5, color=colour,
            arrowprops=None if inside else {"arrowstyle": "-", "color": colour, "lw": 0.7,
                                            "shrinkA": 0.0, "shrinkB": 0.0, "relpos": (0.5, 0.0)},
        )  # fmt: skip


def _share(ax: Any, at: float) -> float:
    """Where a place lies on the axis, 0 at its left end and 1 at its right."""
    left, right = ax.get_xlim()
    if ax.get_xscale() == "log":
        return math.log(at / left) / math.log(right / left)
    return float((at - left) / (right - left))
