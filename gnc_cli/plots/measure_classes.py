"""The classes of one classifier: their one-vs-rest distances, and the ten nearest to the hull."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc_cli.plots.style import BLUE, GREEN, GREY, INK, ORANGE
from gnc_cli.results import ClassRow, MeasureResult

__all__ = ["show_one_vs_rest", "show_worst"]

_LONGEST = 18
"""Letters of a class's name that fit beside the picture."""
_NARROW = 1e-6
"""Distances that agree to this are one, up to rounding."""


def show_one_vs_rest(
    ax: Any, lower: np.ndarray, upper: np.ndarray, result: MeasureResult
) -> None:
    """Histogram of the classes' one-vs-rest distances, with GNC2 and its reference marked.

    Args:
        ax: where.
        lower, upper: brackets of the classes looked at, shape (m,).
        result: gives GNC2, the reference and K.
    """
    middle = (lower + upper) / 2.0
    rho, reference = result.gnc2.lower, result.gnc2_reference
    low, high = float(middle.min()), float(middle.max())
    bins = int(np.clip(2.0 * len(middle) ** 0.5, 12, 80))
    if high - low < _NARROW:
        low, high, bins = low - 0.01, high + 0.01, 21
    ax.hist(middle, bins=bins, range=(low, high), color=BLUE, linewidth=0)
    ax.set_ylim(top=1.25 * ax.get_ylim()[1])  # room for the labels of the lines
    marks = [(rho, ORANGE, f"GNC2 {rho:.4f}", "-")]
    if reference is not None:
        said = "optimum" if reference.proven else "reference"
        marks.append((reference.value, GREEN, f"{said} {reference.value:.4f}", "--"))
    left, right = min(low, *(m[0] for m in marks)), max(high, *(m[0] for m in marks))
    room = 0.06 * (right - left)
    ax.set_xlim(left - room, right + room)
    # Labels on one line where the marks are apart, on two where they would run into each other.
    crowded = len(marks) > 1 and abs(marks[0][0] - marks[1][0]) < 0.75 * (right - left)
    for at, (x, colour, said, style) in enumerate(marks):
        ax.axvline(x, color=colour, lw=1.6, ls=style)
        leftwards = x - left > 0.6 * (right - left)
        ax.annotate(
            said, (x, 1.0), (-5 if leftwards else 5, -3 - 15 * at * crowded),
            xycoords=("data", "axes fraction"), textcoords="offset points",
            ha="right" if leftwards else "left", va="top", color=colour, fontweight="bold",
        )  # fmt: skip
    sampled = f" ({len(middle):,} of {result.K:,} classes)" if len(middle) < result.K else ""
    ax.set_title("One-vs-rest distances" + sampled)
    ax.set_xlabel("distance to the convex hull of the others")
    ax.set_ylabel("classes")
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.locator_params(axis="x", nbins=6)
    ax.grid(axis="y")


def show_worst(ax: Any, worst: Sequence[ClassRow]) -> None:
    """A line a class, the nearest to the hull on top; on the right its nearest neighbour.

    Args:
        ax: where.
        worst: classes with brackets, the nearest first; may be empty.
    """
    ax.set_title("Classes nearest to the hull")
    if not worst:
        ax.set_axis_off()
        return
    ends = [(c.one_vs_rest.lower, c.one_vs_rest.upper) for c in worst if c.one_vs_rest]
    lower, upper = np.array(ends).T
    middle = (lower + upper) / 2.0
    place = np.arange(len(worst))
    # A difference of rounding is none: the axis opens to what can be seen.
    span = max(float(np.ptp(middle)), 0.02 * float(middle.max()))
    span = span if span > _NARROW else 0.01
    left = max(0.0, float(lower.min()) - 0.25 * span)
    ax.hlines(place, left, middle, color=GREY, lw=1.2, alpha=0.6)
    ax.hlines(place, lower, upper, color=BLUE, lw=3.0)
    ax.scatter(middle, place, s=46, color=[ORANGE if k == 0 else BLUE for k in place], zorder=3)
    right = float(upper.max()) + 0.15 * span
    ax.set_xlim(left - 0.02 * span, right)
    ax.set_ylim(len(worst) - 0.4, -0.6)
    ax.set_yticks(place, [_name(c.label, c.name) for c in worst])
    ax.tick_params(axis="y", length=0)
    beside = ax.secondary_yaxis("right")
    beside.set_yticks(place, [_neighbour(c) for c in worst])
    beside.tick_params(axis="y", length=0, labelcolor=INK, labelsize=9)
    beside.spines["right"].set_visible(False)
    ax.annotate("nearest, cosine", (1.0, 1.0), (6, 6), xycoords="axes fraction",
                textcoords="offset points", fontsize=9, color=GREY)  # fmt: skip
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("distance to the convex hull of the others")
    ax.locator_params(axis="x", nbins=5)
    ax.grid(axis="x")


def _neighbour(c: ClassRow) -> str:
    if c.nearest is None:
        return ""
    cosine = "" if c.nearest_cosine is None else f"  {c.nearest_cosine:.3f}"
    return _name(c.nearest, c.nearest_name) + cosine


def _name(label: int, name: str | None) -> str:
    # A dollar sign would begin a formula.
    text = str(label) if name is None else name.replace("$", r"\$")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
