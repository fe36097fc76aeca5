"""The picture of `gnc measure --plot`: the classes of one set, or many sets over the epochs."""

import os
from typing import Any

import numpy as np

from gnc_cli.plots.measure_classes import show_one_vs_rest, show_worst
from gnc_cli.plots.measure_series import show_series
from gnc_cli.plots.style import check_plot_suffix, save, show_heading, styled
from gnc_cli.results import MeasureResult, MeasureSeries

__all__ = ["plot_measure"]


def plot_measure(result: MeasureResult | MeasureSeries, path: str | os.PathLike[str]) -> None:
    """Draw a measurement into a .png, .svg or .pdf file.

    One set: the one-vs-rest distances of its classes with GNC2 and its reference, beside the ten
    classes nearest to the hull of the others. Several: GNC1, GNC2, GNC3, NCC and accuracy over the
    epochs, as figure 2 of the paper has them; groups as mean lines with bands of one deviation.

    Args:
        result: what `measure` returned; `extras` are used where present.
        path: an existing picture is replaced, in one step.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file cannot be written; nothing has changed.
    """
    check_plot_suffix(path)
    with styled():
        one = isinstance(result, MeasureResult)
        figure = _classes_figure(result) if one else _series_figure(result.to_json())
        figure.get_layout_engine().set(w_pad=0.14, h_pad=0.1)
        save(figure, path)


def _classes_figure(result: Any) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 5.6), layout="constrained")
    lower, upper = (
        np.asarray(result.extras.get(f"one_vs_rest_{end}", ()), dtype=float)
        for end in ("lower", "upper")
    )
    worst = [c for c in result.worst_classes if c.one_vs_rest is not None]
    if lower.size and worst:
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
        show_one_vs_rest(left, lower, upper, result)
        show_worst(right, worst)
    elif lower.size:
        show_one_vs_rest(figure.add_subplot(), lower, upper, result)
    else:
        show_worst(figure.add_subplot(), worst)
    name = os.path.basename(result.file or "arrays")
    title = f"{name}: {result.snapshot}" if result.snapshot else name
    size = f"d = {result.d}, K = {result.K:,}"
    size += "" if result.N is None else f", N = {result.N:,}"
    show_heading(figure, f"{title}     {size}", _facts(result))
    return figure


def _facts(result: MeasureResult) -> str:
    figures = [
        ("GNC1", result.gnc1, ".3g"), ("GNC2", result.gnc2.lower, ".6g"),
        ("GNC3", result.gnc3, ".3g"), ("NCC accuracy", result.ncc_accuracy, ".4f"),
        ("accuracy", result.accuracy, ".4f"),
    ]  # fmt: skip
    return "     ".join(f"{name} {value:{form}}" for name, value, form in figures
                        if value is not None)  # fmt: skip


def _series_figure(body: dict[str, Any]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 7.6), layout="constrained")
    show_series(figure, body)
    rows = body["rows"]
    files = {os.path.basename(r["file"] or "arrays") for r in rows}
    sizes = {f"d = {r['d']}, K = {r['K']:,}" for r in rows}
    said = [files.pop() if len(files) == 1 else f"{len(files)} files", f"{len(rows)} rows"]
    said += [sizes.pop()] if len(sizes) == 1 else []
    if body["groups"]:
        said.append(f"mean and one deviation over {body['group']}")
    show_heading(figure, "Neural collapse", "     ".join(said))
    return figure
