"""The picture of `gnc bounds --plot`: one pair on a ruler, curves against d or K, or an answer."""

import math
import os
from typing import Any

from gnc_cli.plots.bounds_answers import show_band, show_reaches
from gnc_cli.plots.bounds_bars import Bar, asked_line, name_regions, show_bars, size_text
from gnc_cli.plots.bounds_curves import curves_figure
from gnc_cli.plots.style import check_plot_suffix, save, show_heading, styled
from gnc_cli.results import BoundRow, BoundsResult

__all__ = ["bounds_figure", "plot_bounds"]


def plot_bounds(result: BoundsResult, path: str | os.PathLike[str]) -> None:
    """Draw bounds into a .png, .svg or .pdf file.

    One pair of d and K: every bound on a ruler. Several: the bounds against d, a panel for each K,
    as the left axis of the paper's figure 3 has them; against K where d is one. Dimensions and
    numbers of points: how far each bound reaches, or the band left open against K or d. One-vs-one
    results have degrees on their axis.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    check_plot_suffix(path)
    with styled():
        save(bounds_figure(result), path)


def bounds_figure(result: BoundsResult) -> Any:
    """The figure, to be drawn and saved within `styled()`."""
    if result.dimension is not None or result.classes is not None:
        figure = _answer_figure(result)
    elif len(result.best) == 1:
        figure = _pair_figure(result)
    else:
        figure = curves_figure(result)
        show_heading(figure, _what(result), _sizes(result))
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
    return figure


def _pair_figure(result: BoundsResult) -> Any:
    from matplotlib.figure import Figure

    best = result.best[0]
    figure = Figure(figsize=(9.5, 2.3 + 0.34 * len(result.rows)), layout="constrained")
    ax = figure.add_subplot()
    bars = [_bar(row) for row in result.rows]
    bars.sort(key=lambda bar: (bar.at or 0.0, not bar.exists))
    right = 1.04 * max(bar.at or 0.0 for bar in bars)
    angles = best.lower_deg is not None and best.upper_deg is not None
    low, high = (best.lower_deg, best.upper_deg) if angles else (best.lower, best.upper)
    ends = (low or 0.0, high or 0.0)
    show_bars(ax, bars, 0.0, right, ends)
    name_regions(ax, ends, leftward=True)
    if result.margin is not None and not angles:
        asked_line(ax, result.margin, f"margin {result.margin:.15g}")
    elif result.max_cosine is not None and angles:
        angle = math.degrees(math.acos(max(-1.0, min(1.0, result.max_cosine))))
        asked_line(ax, angle, f"largest cosine {result.max_cosine:.15g}")
    if angles:
        ax.set_xlabel("smallest angle (degrees)")
        interval = f"smallest angle of the best code: {low:.8g}°"
        interval += f" to {high:.8g}°" if f"{low:.8g}" != f"{high:.8g}" else ""
    else:
        ax.set_xlabel(r"one-vs-rest distance $\rho^\ast$")
        interval = f"best code: {low:.8g} ≤ ρ* ≤ {high:.8g}"
        if f"{low:.8g}" == f"{high:.8g}":
            interval = f"best code: ρ* = {low:.8g}"
    show_heading(figure, f"d = {best.d:,}, K = {size_text(best.K)}", interval)
    return figure


def _bar(row: BoundRow) -> Bar:
    if row.angle_deg is None:
        at, said = row.value, f"{row.value:.6g}"
    else:
        at, said = row.angle_deg, f"{row.angle_deg:.6g}°"
    if not row.valid:
        said += f"  does not hold: {row.condition}" if row.condition else "  does not hold"
    return Bar(row.name, at, said, row.exists, row.exists, row.proven, row.valid)


def _answer_figure(result: BoundsResult) -> Any:
    from matplotlib.figure import Figure

    answer = result.dimension or result.classes
    asked = _asked(result)
    many = answer is not None and len(answer.best) > 1
    figure = Figure(figsize=(9.5, 5.4), layout="constrained")
    ax = figure.add_subplot()
    if many:
        show_band(ax, result)
    else:
        show_reaches(ax, result)
        figure.set_figheight(2.1 + 0.36 * len(ax.get_yticks()))
    if result.dimension is not None:
        sizes = sorted({b.K for b in result.dimension.best})
        what, facts = f"Dimensions for a {asked}", _range("K", sizes)
    else:
        dims = sorted({b.d for b in result.classes.best}) if result.classes is not None else []
        what, facts = f"Numbers of points with a {asked}", _range("d", dims)
    show_heading(figure, what, facts)
    return figure


def _asked(result: BoundsResult) -> str:
    if result.max_cosine is not None:
        return f"largest cosine of {result.max_cosine:.15g}"
    return "margin" if result.margin is None else f"margin of {result.margin:.15g}"


def _what(result: BoundsResult) -> str:
    if result.quantity == "one-vs-one":
        return "Smallest angle of the best code"
    return "One-vs-rest distance of the best code"


def _sizes(result: BoundsResult) -> str:
    dims = sorted({b.d for b in result.best})
    sizes = sorted({b.K for b in result.best})
    return f"{_range('d', dims)}     {_range('K', sizes)}"


def _range(name: str, values: list[int]) -> str:
    if len(values) <= 4:
        return f"{name} = {', '.join(map(size_text, values))}"
    return f"{name} from {size_text(values[0])} to {size_text(values[-1])}"
