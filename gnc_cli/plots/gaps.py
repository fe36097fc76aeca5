"""How far many codes are from their references: against K, or a line each, on a log scale."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.plots.style import BLUE, GREEN, GREY, ORANGE

__all__ = ["Dots", "show_dots_by_name", "show_dots_by_size"]

_FLOOR = 1e-13
"""Smaller gaps are rounding, the table's or ours: they lie on the floor."""
_TICKS, _SAID = [_FLOOR, 1e-9, 1e-5, 1e-1], ["< 1e-13", "1e-9", "1e-5", "0.1"]
_MOST_LABELS = 14
_KINDS = {
    "matches": (BLUE, "o", "ties"),
    "worse": (ORANGE, "o", "missed"),
    "improves": (GREEN, "^", "improves"),
    "no_entry": (GREY, "|", "no entry"),
}


@dataclass(frozen=True)
class Dots:
    """One code in the picture."""

    d: int
    K: int
    gap: float | None
    """Positive is worse; None where there is nothing to compare with."""
    kind: str
    """A status of `compare`."""


def show_dots_by_size(
    axes: Sequence[Any], dims: Sequence[int], dots: Sequence[Sequence[Dots]], label: str
) -> None:
    """A panel for each dimension: size of the gap against K.

    Args:
        axes: at least one for each dimension; the others are left blank.
        dims: dimensions.
        dots: of each dimension.
        label: of the gap.
    """
    top = _top([dot for some in dots for dot in some])
    for ax in axes[len(dims) :]:
        ax.set_axis_off()
    for ax, d, some in zip(axes, dims, dots, strict=False):
        _scale(ax.set_yscale, ax.set_ylim, top)
        ax.axhline(_FLOOR, color=GREY, lw=0.8)
        for dot in some:
            colour, marker, _ = _KINDS[dot.kind]
            at = _height(dot)
            if at > _FLOOR:
                ax.vlines(dot.K, _FLOOR, at, color=colour, lw=0.9, alpha=0.6)
            ax.scatter(dot.K, at, s=30 if marker in "o|" else 60, color=colour, marker=marker,
                       zorder=3, clip_on=False)  # fmt: skip
        missed = [dot for dot in some if _height(dot) > _FLOOR]
        if len(missed) <= _MOST_LABELS:
            for dot in missed:
                ax.annotate(str(dot.K), (dot.K, _height(dot)), (0, 5), ha="center", fontsize=8,
                            textcoords="offset points", color=_KINDS[dot.kind][0])  # fmt: skip
        ax.set_title(f"d = {d}")
        ax.grid(axis="y")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.tick_params(labelbottom=True)
        ax.set_yticks(_TICKS, _SAID)
    figure = axes[0].figure
    figure.supxlabel("K", fontsize=10)
    figure.supylabel(label, fontsize=10)
    _legend(axes[0], [dot for some in dots for dot in some])


def show_dots_by_name(ax: Any, names: Sequence[str], dots: Sequence[Dots], label: str) -> None:
    """A line for each code, from the top down: the size of its gap."""
    _scale(ax.set_xscale, ax.set_xlim, _top(dots))
    rank = np.arange(len(dots))
    for line, dot in zip(rank, dots, strict=True):
        colour, marker, _ = _KINDS[dot.kind]
        at = _height(dot)
        ax.hlines(line, _FLOOR, at, color=colour, lw=1.0, alpha=0.6)
        ax.scatter(at, line, s=34 if marker in "o|" else 70, color=colour, marker=marker,
                   zorder=3, clip_on=False)  # fmt: skip
    ax.set_yticks(rank, names)
    ax.set_ylim(len(dots) - 0.4, -0.6)
    ax.set_xticks(_TICKS, _SAID)
    ax.set_xlabel(label)
    ax.grid(axis="x")
    _legend(ax, dots)


def _height(dot: Dots) -> float:
    return _FLOOR if dot.gap is None else max(abs(dot.gap), _FLOOR)


def _top(dots: Sequence[Dots]) -> float:
    return max((_height(dot) for dot in dots), default=_FLOOR)


def _scale(set_scale: Any, set_limits: Any, top: float) -> None:
    set_scale("log")
    set_limits(_FLOOR / 4.0, max(60.0 * top, 1e-8))


def _legend(ax: Any, dots: Sequence[Dots]) -> None:
    held = {dot.kind for dot in dots}
    for kind, (colour, marker, said) in _KINDS.items():
        if kind in held:
            ax.scatter([], [], s=34, color=colour, marker=marker, label=said)
    if held:
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(held),
                  handletextpad=0.2, borderaxespad=0.1)  # fmt: skip
