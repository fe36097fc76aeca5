"""Bounds against d, as the left axis of the paper's figure 3 has them, or against K."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.plots.bounds_bars import CONJECTURED, size_text
from gnc_cli.plots.bounds_ends import label_ends
from gnc_cli.plots.bounds_places import Places
from gnc_cli.plots.style import BLUE, GREEN, GREY, INK, ORANGE
from gnc_cli.results import BestBounds, BoundRow, BoundsResult

__all__ = ["curves_figure"]

_CODES = ("known-code", "solved-code", "construction")
_MOST_PANELS = 6
_MOST_DOTS = 60


@dataclass(frozen=True)
class _Line:
    """How bounds of some names are drawn."""

    label: str
    names: tuple[str, ...]
    exists: bool
    colour: str
    style: Any = "-"
    width: float = 1.6


_LINES = (
    _Line("theorem 3.9, upper", ("theorem-3.9",), False, GREY, (0, (5, 2.5))),
    _Line("theorem 3.9, lower", ("theorem-3.9",), True, GREY, (0, (5, 2.5))),
    _Line("covering", ("covering", "covering-3"), True, BLUE),
    _Line("Levenshtein", ("levenshtein",), False, ORANGE, "-."),
    _Line("linear programme", ("delsarte-lp",), False, ORANGE, (0, (3, 1.5))),
)


def curves_figure(result: BoundsResult) -> Any:
    """A panel for each K over d; for each d over K where there are fewer d. Many K and many d share
    one panel, with a pair of lines for each K.

    Args:
        result: with several pairs of d and K.
    """
    from matplotlib.figure import Figure

    dims, sizes = {b.d for b in result.best}, {b.K for b in result.best}
    over_K = len(dims) < len(sizes) and len(dims) <= _MOST_PANELS
    groups = sorted(dims if over_K else sizes)
    if len(groups) > _MOST_PANELS:
        figure = Figure(figsize=(10.0, 6.0), layout="constrained")
        _many(figure.add_subplot(), result, groups)
        return figure
    columns = min(len(groups), 3 if len(groups) != 4 else 2)
    lines = -(-len(groups) // columns)
    alone = len(groups) == 1
    size = (9.8, 5.8) if alone else (4.3 * columns + 0.6, 3.4 * lines + 1.4)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for ax in axes[len(groups) :]:
        ax.set_axis_off()
    for at, (ax, group) in enumerate(zip(axes, groups, strict=False)):
        _panel(ax, result, group, over_K, alone)
        if not alone:
            ax.set_title(f"{'d' if over_K else 'K'} = {size_text(group)}")
            # Below an empty place the axis is labelled too.
            ax.tick_params(labelbottom=at + columns >= len(groups))
            if at + columns < len(groups):
                ax.set_xlabel("")
            ax.set_ylabel(_axis(result) if at % columns == 0 else "")
    _set_height(axes[0], [line for ax in axes for line in ax.get_lines()], over_K)
    if alone:
        label_ends(axes[0], _ends(axes[0]))
    else:
        handles: dict[str, Any] = {}
        for ax in axes:
            handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
        figure.legend(list(handles.values()), list(handles), loc="outside lower center",
                      ncols=min(5, len(handles)))  # fmt: skip
    return figure


def _axis(result: BoundsResult) -> str:
    if result.quantity == "one-vs-one":
        return "smallest angle (degrees)"
    return r"one-vs-rest distance $\rho^\ast$"


def _panel(ax: Any, result: BoundsResult, group: int, over_K: bool, alone: bool) -> None:
    rows = [r for r in result.rows if (r.d if over_K else r.K) == group and r.valid]
    best = sorted((b for b in result.best if (b.d if over_K else b.K) == group),
                  key=lambda b: b.K if over_K else b.d)  # fmt: skip
    x = Places([b.K if over_K else b.d for b in best], over_K)
    high = [_upper(b) for b in best]
    at = [x.of(b.K if over_K else b.d) for b in best]
    codes = _kept(_curve([r for r in rows if r.name in _CODES and r.exists], over_K), over_K)
    others = _curve([r for r in rows if r.name not in _CODES and r.exists and r.proven], over_K)
    edge_x, edge = _stepped(best, over_K, others, x)
    ax.fill_between(edge_x, edge, np.interp(edge_x, at, high), color=BLUE, alpha=0.10, lw=0,
                    label="open", zorder=0)  # fmt: skip

    def draw(label: str, px: list[float], py: list[float], colour: str, **style: Any) -> None:
        if px:
            ax.plot(px, py, color=colour, label=label, **style)

    for line in _LINES:
        some = _curve([r for r in rows if r.name in line.names and r.exists is line.exists], over_K)
        draw(line.label, [x.of(v) for v in some], list(some.values()), line.colour, ls=line.style,
             lw=line.width, zorder=2)  # fmt: skip
    guessed = _curve([r for r in rows if not r.proven], over_K)
    draw("with ρ* = 1 − t*", [x.of(v) for v in guessed], list(guessed.values()),
         CONJECTURED, ls=":", lw=2.0, zorder=3)  # fmt: skip
    draw("best proved upper", at, high, INK, lw=2.0, zorder=4)
    draw("best proved lower", edge_x, edge, INK, lw=2.0, zorder=4)
    # A code stays where d grows, and where K shrinks.
    draw("codes", [x.of(v) for v in codes], list(codes.values()), GREEN, lw=1.1, zorder=5,
         drawstyle="steps-pre" if over_K else "steps-post",
         marker="o" if len(codes) <= _MOST_DOTS else None, ms=4)  # fmt: skip
    x.dress(ax, "K" if over_K else "d")
    ax.set_ylabel(_axis(result))
    ax.grid()
    asked = _asked(result)
    if asked is not None:
        _show_asked(ax, best, x, asked, over_K, alone)


def _stepped(
    best: Sequence[BestBounds], over_K: bool, others: dict[int, float], x: Places
) -> tuple[list[float], list[float]]:
    """The lower edge of the open band: what holds at one d holds at every larger one, what holds
    at one K at every smaller one; bounds by formulas change between, in straight lines."""
    edge: list[tuple[float, float]] = []
    rising = best[::-1] if over_K else best
    for before, b in zip([None, *rising], rising, strict=False):
        size = b.K if over_K else b.d
        if before is not None:
            start, end = edge[-1][0], x.of(size)
            flat = _lower(before)
            low = others.get(before.K if over_K else before.d, 0.0)
            high = others.get(size, 0.0)
            if high > flat >= low:
                edge.append((start + (flat - low) / (high - low) * (end - start), flat))
            edge.append((end, max(flat, high)))
        edge.append((x.of(size), _lower(b)))
    points = edge[::-1] if over_K else edge
    return [p[0] for p in points], [p[1] for p in points]


def _ends(ax: Any) -> list[tuple[float, float, str, Any]]:
    """The last points of the labelled lines; of several that end together in black, the other."""
    ends = []
    for line in ax.get_lines():
        label, x, y = line.get_label(), line.get_xdata(), line.get_ydata()
        if not label.startswith("_"):
            ends.append((float(x[-1]), float(y[-1]), label, line.get_color()))
    named = {(e[0], round(e[1], 12)) for e in ends if e[2] != "best proved lower"}
    return [e for e in ends if e[2] != "best proved lower" or (e[0], round(e[1], 12)) not in named]


def _curve(rows: Sequence[BoundRow], over_K: bool) -> dict[int, float]:
    """The best value of some rows at each d or K, in order."""
    found: dict[int, float] = {}
    for row in rows:
        place, value = row.K if over_K else row.d, _value(row)
        better = max if row.exists else min
        found[place] = better(found[place], value) if place in found else value
    return dict(sorted(found.items()))


def _kept(values: dict[int, float], over_K: bool) -> dict[int, float]:
    """A code stays a code in more dimensions, and where points are taken away."""
    best, kept = 0.0, {}
    for place in sorted(values, reverse=over_K):
        kept[place] = best = max(best, values[place])
    return dict(sorted(kept.items()))


def _value(row: BoundRow) -> float:
    return row.value if row.angle_deg is None else row.angle_deg


def _lower(best: BestBounds) -> float:
    return best.lower if best.lower_deg is None else best.lower_deg


def _upper(best: BestBounds) -> float:
    return best.upper if best.upper_deg is None else best.upper_deg


def _asked(result: BoundsResult) -> tuple[float, str] | None:
    """Where on the axis, and its words."""
    if result.quantity == "one-vs-one" and result.max_cosine is not None:
        angle = math.degrees(math.acos(max(-1.0, min(1.0, result.max_cosine))))
        return angle, f"largest cosine {result.max_cosine:.15g}"
    if result.quantity != "one-vs-one" and result.margin is not None:
        return result.margin, f"margin {result.margin:.15g}"
    return None


def _show_asked(
    ax: Any, best: Sequence[BestBounds], x: Places, asked: tuple[float, str], over_K: bool,
    alone: bool,
) -> None:  # fmt: skip
    """The line that was asked for, and where codes begin to reach it and bounds to forbid it."""
    value, said = asked
    ax.plot(ax.get_xlim(), [value, value], color=INK, lw=1.1, ls=(0, (5, 3)), zorder=1, label=said)
    words = []
    for some, exists in (
        ([b for b in best if b.status == "exists"], True),
        ([b for b in best if b.status == "excluded"], False),
    ):
        if not some:
            continue
        pick = some[-1 if exists is over_K else 0]
        size = pick.K if over_K else pick.d
        ax.plot([x.of(size)], [value], "o" if exists else "X", color=INK, ms=7, zorder=6)
        to = "up to" if exists is over_K else "from"
        name = f"{'K' if over_K else 'd'} = {size_text(size)}"
        words.append(f"{'a code' if exists else 'none'} {to} {name}")
    facts = ", ".join(words) or "open throughout"
    ax.set_title(f"{said}: {facts}" if alone else facts, loc="left" if alone else "right",
                 fontsize=10 if alone else 9, fontweight="normal")  # fmt: skip


def _many(ax: Any, result: BoundsResult, groups: Sequence[int]) -> None:
    """Both ends of each K as a pair of lines of its colour."""
    from matplotlib import colormaps

    ends = []
    x = Places(sorted({b.d for b in result.best}), over_K=False)
    for rank, K in enumerate(groups):
        colour = colormaps["viridis"](0.88 * rank / (len(groups) - 1))
        best = sorted((b for b in result.best if b.K == K), key=lambda b: b.d)
        at = [x.of(b.d) for b in best]
        low, high = [_lower(b) for b in best], [_upper(b) for b in best]
        ax.plot(at, low, color=colour, lw=1.6, marker="o" if len(at) <= 20 else None, ms=3.5)
        ax.plot(at, high, color=colour, lw=1.4, ls=(0, (4, 2)))
        ends.append((at[-1], low[-1], f"K = {size_text(K)}", colour))
    x.dress(ax, "d")
    _set_height(ax, ax.get_lines(), False)
    ax.plot([], [], color=INK, lw=1.6, label="best proved lower")
    ax.plot([], [], color=INK, lw=1.4, ls=(0, (4, 2)), label="best proved upper")
    asked = _asked(result)
    if asked is not None:
        ax.plot(ax.get_xlim(), [asked[0]] * 2, color=INK, lw=1.1, ls=(0, (1, 2)), label=asked[1])
    ax.legend(loc="lower right", frameon=True, facecolor="white", edgecolor="none")
    ax.set_ylabel(_axis(result))
    ax.grid()
    label_ends(ax, ends)


def _set_height(ax: Any, lines: Sequence[Any], over_K: bool) -> None:
    held = [y for line in lines for y in line.get_ydata() if y > 0.0]
    top, bottom = max(held), min(held)
    if over_K and bottom < 0.01 * top:
        ax.set_yscale("log")
        ax.set_ylim(bottom / 1.5, top * 1.3)
    else:
        ax.set_ylim(0.0, top * 1.05)
