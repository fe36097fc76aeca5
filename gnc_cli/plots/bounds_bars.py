"""Bounds one below the other on a common axis: what exists, what is excluded, what is open."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gnc_cli.plots.style import BLUE, GREY, INK, ORANGE

__all__ = ["Bar", "CONJECTURED", "asked_line", "name_regions", "show_bars", "size_text"]

CONJECTURED = "#B0558B"
"""A darker relative of the palette's reddish purple, readable as letters."""


@dataclass(frozen=True)
class Bar:
    """One bound."""

    name: str
    at: float | None
    """On the axis; None where the bound reaches nowhere."""
    said: str
    """Written beside the dot, or in place of the bar."""
    exists: bool
    leftward: bool
    """Whether the bound speaks for what is left of `at`."""
    proven: bool = True
    valid: bool = True

    @property
    def colour(self) -> str:
        """Blue for what exists, orange for what is excluded, purple under the conjecture."""
        if not self.valid:
            return GREY
        return (BLUE if self.exists else ORANGE) if self.proven else CONJECTURED


def show_bars(
    ax: Any, bars: Sequence[Bar], left: float, right: float, between: tuple[float, float] | None
) -> None:
    """A line for each bound, from the top down; the open interval is shaded behind them.

    Args:
        ax: its scale is set; limits are set here.
        bars: in the order of the lines.
        left, right: ends of the axis.
        between: the interval that the best proven bounds leave open; None where there is none.
    """
    ax.set_xlim(left, right)
    if between is not None and between[1] > between[0]:
        ax.axvspan(*between, color=GREY, alpha=0.16, lw=0, zorder=0)
    for line, bar in enumerate(bars):
        if bar.at is None:
            ax.annotate(bar.said, (0.0, line), (6, 0), xycoords=("axes fraction", "data"),
                        textcoords="offset points", va="center", color=GREY, fontsize=9,
                        fontstyle="italic")  # fmt: skip
            continue
        end = left if bar.leftward else right
        ax.plot([bar.at, end], [line, line], color=bar.colour, lw=7 if bar.proven else 2.2,
                alpha=0.32 if bar.proven else 0.8, solid_capstyle="butt", zorder=2,
                ls="-" if bar.proven else ":")  # fmt: skip
        ax.plot([bar.at], [line], "o", color=bar.colour, ms=6, zorder=3, clip_on=False,
                mfc=bar.colour if bar.proven and bar.valid else "white")  # fmt: skip
        # Beside the bar; over it where the axis ends there.
        share = _share(ax, bar.at, left, right)
        on_right = (bar.leftward and share < 0.86) or share < 0.12
        ax.annotate(bar.said, (bar.at, line), (8 if on_right else -8, 0),
                    textcoords="offset points", ha="left" if on_right else "right", va="center",
                    fontsize=9, color=INK if bar.valid else GREY, zorder=4,
                    bbox={"fc": "white", "ec": "none", "alpha": 0.75, "pad": 0.8}
                    if on_right is not bar.leftward else None)  # fmt: skip
    ax.set_yticks(range(len(bars)), [bar.name for bar in bars])
    for label, bar in zip(ax.get_yticklabels(), bars, strict=True):
        label.set_color(INK if bar.valid else GREY)
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")


def asked_line(ax: Any, at: float, said: str) -> None:
    """What was asked for, as a line across all bounds, its words above those of the regions."""
    ax.plot([at, at], [0.0, 1.0], color=INK, lw=1.2, ls=(0, (5, 3)), zorder=1,
            transform=ax.get_xaxis_transform())  # fmt: skip
    ax.annotate(said, (at, 1.0), (0, 17), xycoords=("data", "axes fraction"), ha="center",
                va="bottom", textcoords="offset points", fontsize=9, color=INK)  # fmt: skip


def name_regions(ax: Any, ends: tuple[float, float], leftward: bool) -> None:
    """What holds left of the open interval, in it and right of it, where there is room.

    Args:
        leftward: whether codes exist left of it.
    """
    left, right = ax.get_xlim()
    names = [("a code exists", BLUE), ("open", INK), ("no code", ORANGE)]
    edges = [_share(ax, at, left, right) for at in (left, *ends, right)]
    for at, (name, colour) in enumerate(names if leftward else names[::-1]):
        if edges[at + 1] - edges[at] > 0.013 * len(name):
            middle = (edges[at] + edges[at + 1]) / 2.0
            ax.annotate(name, (middle, 1.0), (0, 3), xycoords="axes fraction", ha="center",
                        va="bottom", textcoords="offset points", fontsize=9.5,
                        color=colour)  # fmt: skip


def size_text(K: int, most: int = 10**7) -> str:
    """A number of points or dimensions: in full, or as a power of ten from `most` on.

    >>> size_text(1000), size_text(10**30)
    ('1,000', '$10^{30}$')
    """
    if K < most:
        return f"{K:,}"
    power = f"{math.log10(K):.6f}".rstrip("0").rstrip(".")
    return f"$10^{{{power}}}$"


def _share(ax: Any, at: float, left: float, right: float) -> float:
    """Where a place lies on the axis, 0 at its left end and 1 at its right."""
    if ax.get_xscale() == "log":
        return math.log(at / left) / math.log(right / left)
    return (at - left) / (right - left)
