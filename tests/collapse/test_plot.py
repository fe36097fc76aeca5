"""Plots of measurements: whole, not blank, reproducible, with the runs distinguished."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from gnc_cli import measure
from gnc_cli.brackets import Bracket
from gnc_cli.collapse.plot import (
    draw_references,
    lines_of,
    series_figure,
)
from gnc_cli.collapse.result import Gnc2Reference, MeasureResult, MeasureSeries
from gnc_cli.console.drawing import styled
from gnc_cli.errors import UsageError


def cases(result: MeasureResult, series: MeasureSeries) -> dict[str, Any]:
    """Measurements of every kind that can be plotted."""
    weights = measure(weights=np.eye(3))
    inside = Bracket(0.0, 0.0)
    odd = [
        replace(c, name=name, nearest_name="$5 \\frac", one_vs_rest=inside)
        for c, name in zip(
            result.worst_classes, ("$x", "a very long name, indeed", "_^{}"), strict=False
        )
    ]
    many = [replace(r, file=f"{i}.h5") for i in range(14) for r in series.rows[::2]]
    models = tuple(replace(weights, file=f"{i}.h5") for i in range(20))
    flat = np.full(12, 0.66), np.full(12, 0.66)
    return {
        "classes": result,
        "names": replace(result, gnc2=inside, worst_classes=tuple(odd)),
        "a solved code": replace(result, one_vs_rest=flat),
        "no worst": replace(result, worst_classes=()),
        "no arrays": replace(result, one_vs_rest=None),
        "nothing": replace(result, one_vs_rest=None, worst_classes=()),
        "runs": series,
        "many runs": replace(series, rows=tuple(many)),
        "models": replace(series, rows=models),
        "no rows": replace(series, rows=()),
    }


def test_every_measurement_has_a_plot(
    tmp_path: Path, result: MeasureResult, series: MeasureSeries
) -> None:
    for name, found in cases(result, series).items():
        found.plot(tmp_path / "a.png")
        with Image.open(tmp_path / "a.png") as image:
            image.load()
            shades = np.asarray(image.convert("L"))
        assert 0.001 < (shades < 160).mean() < 0.6, name
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        result.plot(tmp_path / "a.jpg")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("classes", ["GNC2 0.", "optimum 0.5527", "K = 12, N = 240", "NCC accuracy"]),
        ("runs", ["seed0.h5", "seed1.h5", "0.5528 optimum", "GNC1: variability"]),
    ],
)
def test_the_plot_says_what_it_shows(
    tmp_path: Path, result: MeasureResult, series: MeasureSeries, name: str, said: list[str]
) -> None:
    for run in ("one", "two"):  # reproducible
        cases(result, series)[name].plot(tmp_path / f"{run}.svg")
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    for words in said:
        assert f"<!-- {words}" in text or words in text, words


def names_of(rows: Any) -> tuple[str, list[str]]:
    axis, lines, _ = lines_of(rows)
    return axis, [*lines]


def places(rows: Any) -> dict[str, list[float]]:
    """Where the rows of each line lie."""
    return {name: [x for x, _ in line] for name, line in lines_of(rows)[1].items()}


def test_an_epoch_is_a_whole_number(series: MeasureSeries) -> None:
    for ax in series_figure(replace(series, rows=series.rows[:1])).axes:
        assert all(tick == round(tick) for tick in ax.get_xticks())


def test_runs_are_told_apart(series: MeasureSeries) -> None:
    one = series.rows[::2]
    assert names_of(one) == ("epoch", [""])
    split = [replace(r, split=s) for r in one for s in ("test", "train")]
    assert names_of(split) == ("epoch", ["test", "train"])
    both = [replace(r, file=f"x/{Path(str(r.file)).name}") for r in series.rows]
    assert names_of(both) == ("epoch", ["seed0.h5", "seed1.h5"])


def test_a_file_per_epoch_is_one_run(series: MeasureSeries) -> None:
    files = [replace(r, file=f"{i}.h5", snapshot=None) for i, r in enumerate(series.rows[::2])]
    assert names_of(files) == ("epoch", [""])
    other = [replace(r, file=f"x{r.file}", attrs={"seed": 1}) for r in files]
    assert names_of([*files, *other]) == ("epoch", ["seed = 0", "seed = 1"])
    # Without a difference in their attributes the names of the files are all there is.
    twins = [replace(r, file=f"x{r.file}") for r in files]
    assert len(names_of([*files, *twins])[1]) == 6


def test_run_folders_are_a_line_each(series: MeasureSeries) -> None:
    one = series.rows[::2]
    runs = [replace(r, file=f"runs/{run}/snapshots.h5") for run in ("a", "b") for r in one]
    assert places(runs) == {"a": [1, 2, 10], "b": [1, 2, 10]}
    # A file per epoch in each folder, and nothing else to tell the runs apart.
    files = [replace(r, file=f"{run}/{i}.h5") for run in ("a", "b") for i, r in enumerate(one)]
    assert names_of(files) == ("epoch", ["a", "b"])


def test_layers_of_one_moment_stand_in_their_order(series: MeasureSeries) -> None:
    one = series.rows[0]
    layers = [
        replace(one, layer=layer, split=split, snapshot=f"{layer}-{split}")
        for layer in ("stem", "body", "head")
        for split in ("train", "test")
    ]
    axis, _, ticks = lines_of(layers)
    assert (axis, ticks) == ("layer", ["stem", "body", "head"])
    assert places(layers) == {"train": [0, 1, 2], "test": [0, 1, 2]}
    later = [replace(row, epoch=20.0) for row in layers]
    axis, names = names_of([*layers, *later])
    assert axis == "epoch" and len(names) == 6, "over epochs a layer is a line"


def drawn(series: MeasureSeries, rows: Any) -> Any:
    with styled():
        return series_figure(replace(series, rows=tuple(rows)))


def titles(figure: Any) -> list[str]:
    return [ax.get_title(loc="left") or ax.get_title() for ax in figure.axes]


def test_classic_metrics_are_drawn_where_they_are_asked_for(series: MeasureSeries) -> None:
    assert len(titles(drawn(series, series.rows))) == 4
    rows = [replace(row, policy=replace(row.policy, variants="classic")) for row in series.rows]
    assert [title[:3] for title in titles(drawn(series, rows))[4:]] == ["NC1", "NC2", "NC3", "NC4"]


def test_gnc2_of_class_means_is_said_and_breaks_no_line(series: MeasureSeries) -> None:
    first, *others = series.rows[::2]
    means = replace(first, policy=replace(first.policy, weights="class means stand in"))
    assert places([means, *others]) == {"": [1, 2, 10]}
    assert "GNC2, of class means where there are no weights" in titles(
        drawn(series, [means, *others])
    )


@pytest.mark.parametrize(
    ("kind", "word", "name"),
    [
        ("theorem", "optimum", "x"),
        ("solved", "best known", "x"),
        ("pinned", "reference", "proven optimal Tammes code"),
        ("file", "reached by", "x"),
    ],
)
def test_references_are_named_and_only_proved_ones_called_optimal(
    kind: str, word: str, name: str
) -> None:
    ax = Figure().add_subplot()
    proven = word == "optimum"
    draw_references(
        ax, [Gnc2Reference(0.75, kind, "x", "proven optimal Tammes code", None, proven)]
    )
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [f"0.7500 {word}\n{name}"]
    assert ax.get_ylim()[0] == 0.0
