"""Every bound of one pair of d and K on a ruler."""

from typing import Any

from gnc_cli.plots.bounds_bars import Bar, asked_line, name_regions, show_bars
from gnc_cli.plots.bounds_labels import (
    asked_at,
    asked_label,
    bound_name,
    size_text,
    two_sided,
    value_text,
)
from gnc_cli.plots.style import show_heading
from gnc_cli.results import BoundRow, BoundsResult
from gnc_cli.results.figures import STATUS

__all__ = ["pair_figure"]

_WIDE = 30.0
"""Where the axis would reach so many times beyond the best code it is logarithmic."""


def pair_figure(result: BoundsResult) -> Any:
    """Values as dots, with a bar over what exists or is excluded.

    Args:
        result: of one d and one K.
    """
    from matplotlib.figure import Figure

    best = result.best[0]
    ends, angles = (best.lower, best.upper), False
    if best.lower_deg is not None and best.upper_deg is not None:
        ends, angles = (best.lower_deg, best.upper_deg), True
    if best.exact:
        ends = (ends[0], ends[0])
    two = two_sided(result.rows)
    bars = [_bar(row, two) for row in result.rows]
    bars.sort(key=lambda bar: (bar.at or 0.0, not bar.exists))
    figure = Figure(figsize=(9.5, 2.3 + 0.34 * len(bars)), layout="constrained")
    ax = figure.add_subplot()
    at, asked = asked_at(result), asked_label(result)
    held = [bar.at for bar in bars if bar.at] + ([at] if at else [])
    left, right = 0.0, 1.04 * max(held)
    if right > _WIDE * ends[0] > 0.0:
        ax.set_xscale("log")
        spread = right / min(held)
        left, right = min(held) / spread**0.14, right * spread**0.03
    show_bars(ax, bars, left, right, ends)
    name_regions(ax, ends, leftward=True)
    if at is not None and asked is not None:
        verdict = "" if best.status is None else f": {STATUS[best.status]}"
        asked_line(ax, at, asked + verdict)
    ax.set_xlabel("smallest angle (degrees)" if angles else r"one-vs-rest distance $\rho^\ast$")
    title = f"d = {size_text(best.d)}, K = {size_text(best.K)}"
    show_heading(figure, title, _interval(ends, angles))
    return figure


def _bar(row: BoundRow, two: set[str]) -> Bar:
    at, unit = (row.value, "") if row.angle_deg is None else (row.angle_deg, "°")
    sign = "≥" if row.exists else "<" if row.strict else "≤"
    said = f"{sign} {value_text(at, up=not row.exists)}{unit}"
    if not row.valid:
        said += f"  does not hold: {row.condition}" if row.condition else "  does not hold"
    # No code has more; that none has as much either is said where it is known.
    return Bar(bound_name(row.name, row.exists, two), at, said, row.exists, row.exists,
               closed=row.exists or row.strict, valid=row.valid)  # fmt: skip


def _interval(ends: tuple[float, float], angles: bool) -> str:
    low, high = ends
    unit = "°" if angles else ""
    if high == low:
        said = f"{value_text(float(f'{low:.12g}'), up=False, digits=12)}{unit}"
        what = "smallest angle of the best code:" if angles else "best code: ρ* ="
        return f"{what} {said} (known exactly)"
    below, above = value_text(low, up=False, digits=8), value_text(high, up=True, digits=8)
    if angles:
        return f"smallest angle of the best code: at least {below}°, at most {above}°"
    return f"best code: {below} ≤ ρ* ≤ {above}"
