"""The picture of `gnc bounds --plot`: one pair on a ruler, curves against d or K, or an answer."""

import os
from typing import Any

from gnc_cli.plots.bounds_band import show_class_band, show_dimension_band
from gnc_cli.plots.bounds_curves import curves_figure
from gnc_cli.plots.bounds_labels import asked_title, list_text
from gnc_cli.plots.bounds_pair import pair_figure
from gnc_cli.plots.bounds_reaches import show_class_reaches, show_dimension_reaches
from gnc_cli.plots.style import check_plot_suffix, save, show_heading, styled
from gnc_cli.results import BoundsResult, ClassesAnswer, DimensionAnswer

__all__ = ["bounds_figure", "plot_bounds"]


def plot_bounds(result: BoundsResult, path: str | os.PathLike[str]) -> None:
    """Draw bounds into a .png, .svg or .pdf file.

    One pair of d and K: every bound on a ruler. Several: the bounds against d, a panel for each K,
    as the left axis of the paper's figure 3 has them; against K where d is one. Dimensions and
    numbers of points: how far each bound reaches, or the band left open against K or d. One-vs-one
    results have degrees on their axis. Figures are rounded to the safe side.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    check_plot_suffix(path)
    with styled():
        save(bounds_figure(result), path)


def bounds_figure(result: BoundsResult) -> Any:
    """The figure, to be drawn and saved within `styled()`."""
    if result.dimension is not None:
        figure = _dimension_figure(result, result.dimension)
    elif result.classes is not None:
        figure = _classes_figure(result, result.classes)
    elif len(result.best) == 1:
        figure = pair_figure(result)
    else:
        figure = curves_figure(result)
        what = "One-vs-rest distance of the best code"
        if result.quantity == "one-vs-one":
            what = "Smallest angle of the best code"
        dims = list_text("d", sorted({b.d for b in result.best}))
        sizes = list_text("K", sorted({b.K for b in result.best}))
        show_heading(figure, what, f"{dims}     {sizes}")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
    return figure


def _dimension_figure(result: BoundsResult, answer: DimensionAnswer) -> Any:
    figure, ax = _empty()
    if len(answer.best) > 1:
        show_dimension_band(ax, answer)
    else:
        show_dimension_reaches(ax, answer)
        figure.set_figheight(2.1 + 0.36 * len(ax.get_yticks()))
    sizes = list_text("K", sorted(b.K for b in answer.best))
    show_heading(figure, f"Dimensions for {asked_title(result)}", sizes)
    return figure


def _classes_figure(result: BoundsResult, answer: ClassesAnswer) -> Any:
    figure, ax = _empty()
    if len(answer.best) > 1:
        show_class_band(ax, answer)
    else:
        show_class_reaches(ax, answer)
        figure.set_figheight(2.1 + 0.36 * len(ax.get_yticks()))
    dims = list_text("d", sorted(b.d for b in answer.best))
    show_heading(figure, f"Numbers of points with {asked_title(result)}", dims)
    return figure


def _empty() -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 5.4), layout="constrained")
    return figure, figure.add_subplot()
