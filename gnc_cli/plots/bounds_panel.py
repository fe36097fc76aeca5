"""One panel of a sweep: bounds and codes against d or K, the band that they leave open."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gnc_cli.plots.bounds_labels import asked_at, asked_label, size_text
from gnc_cli.plots.bounds_paths import held, joined
from gnc_cli.plots.bounds_places import Places
from gnc_cli.plots.style import BLUE, GREEN, GREY, INK, ORANGE
from gnc_cli.results import BestBounds, BoundRow, BoundsResult

__all__ = ["LOWER", "UPPER", "lower_end", "show_panel", "upper_end"]

LOWER, UPPER = "best lower", "best upper"
_CODES = ("known-code", "solved-code", "construction", "theorem-3.3")
_MOST_DOTS = 60


@dataclass(frozen=True)
class _Line:
    """How bounds of some names are drawn."""

    label: str
    names: tuple[str, ...]
    exists: bool
    colour: str
    style: Any = "-"


_LINES = (
    _Line("theorem 3.9, upper", ("theorem-3.9",), False, GREY, (0, (5, 2.5))),
    _Line("theorem 3.9, lower", ("theorem-3.9",), True, GREY, (0, (5, 2.5))),
    _Line("covering", ("covering", "covering-3"), True, BLUE),
    _Line("Levenshtein", ("levenshtein",), False, ORANGE, "-."),
    _Line("linear programme", ("delsarte-lp",), False, ORANGE, (0, (3, 1.5))),
)


def show_panel(ax: Any, result: BoundsResult, group: int, over_K: bool, alone: bool) -> None:
    """The bounds of one K against d, or of one d against K.

    Between samples the best ends and the codes take steps, for they only rise with d and fall
    with K; formulas are joined where samples are near, else they are triangles that point to what
    they leave.

    Args:
        ax: an empty one.
        group: the K, or the d.
        over_K: whether K is on the axis.
        alone: whether this panel is the whole figure.
    """
    rows = [r for r in result.rows if (r.d if over_K else r.K) == group and r.valid]
    found = {(b.K if over_K else b.d): b for b in result.best
             if (b.d if over_K else b.K) == group}  # fmt: skip
    best = dict(sorted(found.items()))
    sizes = list(best)
    x = Places(sizes, over_K)
    low = held(sizes, [lower_end(b) for b in best.values()], x.of, earlier=not over_K)
    high = held(sizes, [upper_end(b) for b in best.values()], x.of, earlier=over_K)
    ax.fill([*low[0], *high[0][::-1]], [*low[1], *high[1][::-1]], color=BLUE, alpha=0.10, lw=0,
            label="open", zorder=0)  # fmt: skip
    for line in _LINES:
        some = _curve([r for r in rows if r.name in line.names and r.exists is line.exists], over_K)
        _formula(ax, some, x, over_K, line.exists, label=line.label, color=line.colour,
                 ls=line.style, lw=1.6, zorder=4.5)  # fmt: skip
    ax.plot(*high, color=INK, lw=2.0, zorder=4, label=UPPER)
    ax.plot(*low, color=INK, lw=2.0, zorder=4, label=LOWER)
    codes = _kept(_curve([r for r in rows if r.name in _CODES and r.exists], over_K), sizes, over_K)
    if codes:
        path = held(list(codes), list(codes.values()), x.of, earlier=not over_K)
        ax.plot(*path, color=GREEN, lw=1.1, zorder=5, label="codes")
        if len(codes) <= _MOST_DOTS:
            ax.plot([x.of(v) for v in codes], list(codes.values()), "o", color=GREEN, ms=4,
                    zorder=5)  # fmt: skip
    x.dress(ax, "K" if over_K else "d")
    ax.grid()
    at = asked_at(result)
    if at is not None:
        _show_asked(ax, best, x, at, asked_label(result) or "", over_K, alone)


def _formula(
    ax: Any, values: Mapping[int, float], x: Places, over_K: bool, exists: bool, **style: Any
) -> None:
    if not values:
        return
    px, py, alone = joined(values, x.of, over_K)
    if alone:
        style |= {"marker": "^" if exists else "v", "markevery": alone, "ms": 5}
    if len(alone) == len(values):
        style["ls"] = "none"
    ax.plot(px, py, **style)


def _curve(rows: Sequence[BoundRow], over_K: bool) -> dict[int, float]:
    """The best value of some rows at each d or K, in order."""
    found: dict[int, float] = {}
    for row in rows:
        place = row.K if over_K else row.d
        value = row.value if row.angle_deg is None else row.angle_deg
        better = max if row.exists else min
        found[place] = better(found[place], value) if place in found else value
    return dict(sorted(found.items()))


def _kept(values: dict[int, float], sizes: Sequence[int], over_K: bool) -> dict[int, float]:
    """A code stays a code in more dimensions, and where points are taken away."""
    best, kept = -math.inf, {}
    for size in sorted(sizes, reverse=over_K):
        best = max(best, values.get(size, best))
        if best > -math.inf:
            kept[size] = best
    return dict(sorted(kept.items()))


def lower_end(best: BestBounds) -> float:
    """Proved: a distance, or the smallest angle in degrees."""
    return best.lower if best.lower_deg is None else best.lower_deg


def upper_end(best: BestBounds) -> float:
    """Proved: a distance, or the smallest angle in degrees."""
    return best.upper if best.upper_deg is None else best.upper_deg


def _show_asked(
    ax: Any, best: Mapping[int, BestBounds], x: Places, at: float, said: str, over_K: bool,
    alone: bool,
) -> None:  # fmt: skip
    """The line that was asked for, and where codes begin to reach it and bounds to forbid it."""
    sizes = list(best)
    words = []
    for status, exists in (("exists", True), ("excluded", False)):
        some = [size for size, b in best.items() if b.status == status]
        if not some:
            continue
        size = some[-1] if exists is over_K else some[0]
        ax.plot([x.of(size)], [at], "o" if exists else "X", color=INK, ms=7, zorder=6)
        to = "up to" if exists is over_K else "from"
        words.append(f"{'a code' if exists else 'none'} {to} {'K' if over_K else 'd'} = "
                     f"{size_text(size)}")  # fmt: skip
    facts = ", ".join(words) or "open throughout"
    # Codes and exclusions may begin between the samples.
    sparse = sizes[-1] - sizes[0] >= len(sizes)
    label = said if alone or not sparse else f"{said}, of those asked"
    ax.plot(ax.get_xlim(), [at, at], color=INK, lw=1.1, ls=(0, (5, 3)), zorder=1, label=label)
    if words and alone and sparse:
        facts += " (of those asked)"
    ax.set_title(f"{said}: {facts}" if alone else facts, loc="left" if alone else "right",
                 fontsize=10 if alone else 9, fontweight="normal")  # fmt: skip
