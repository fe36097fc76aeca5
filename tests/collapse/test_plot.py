"""Pictures of measurements: whole, not blank, reproducible; runs told apart as they should be."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from gnc_cli import measure
from gnc_cli.collapse.plot import draw_series, lines_of, plot_measure
from gnc_cli.collapse.result import MeasureGroup, MeasureResult, MeasureSeries
from gnc_cli.errors import UsageError
from gnc_cli.records import Bracket


def cases(result: MeasureResult, series: MeasureSeries) -> dict[str, Any]:
    """Measurements of every kind that a picture can be of."""
    weights = measure(weights=np.eye(3))
    assert isinstance(weights, MeasureResult)
    inside = Bracket(0.0, 0.0)
    odd = [replace(c, name=name, nearest_name="$5 \\frac", one_vs_rest=inside)
           for c, name in zip(result.worst_classes, ("$x", "a very long name, indeed", "_^{}"),
                              strict=False)]  # fmt: skip
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
        "groups": series,
        "runs": replace(series, groups=()),
        "many runs": replace(series, rows=tuple(many), groups=()),
        "models": replace(series, rows=models, groups=()),
        "groups of models": replace(
            series, rows=models,
            groups=(MeasureGroup(None, None, None, None, None, {}, 2, {"gnc2.lower": 0.5}, {}),),
        ),
        "no rows": replace(series, rows=(), groups=()),
    }  # fmt: skip


def test_every_measurement_has_a_picture(
    tmp_path: Path, result: MeasureResult, series: MeasureSeries
) -> None:
    for name, found in cases(result, series).items():
        plot_measure(found, tmp_path / "a.png")
        with Image.open(tmp_path / "a.png") as image:
            image.load()
            shades = np.asarray(image.convert("L"))
        assert 0.001 < (shades < 160).mean() < 0.6, name
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        plot_measure(result, tmp_path / "a.jpg")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("classes", ["GNC2 0.", "optimum 0.5528", "K = 12, N = 240", "NCC accuracy"]),
        ("groups", ["mean and one deviation over seed", "optimum 0.5528", "GNC1: variability"]),
        ("runs", ["seed0.h5", "seed1.h5"]),
    ],
)
def test_the_picture_says_what_it_shows(
    tmp_path: Path, result: MeasureResult, series: MeasureSeries, name: str, said: list[str]
) -> None:
    for run in ("one", "two"):  # reproducible
        plot_measure(cases(result, series)[name], tmp_path / f"{run}.svg")
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    for words in said:
        assert f"<!-- {words}" in text or words in text, words


def names_of(series: MeasureSeries, rows: Any, **more: Any) -> tuple[str, list[str]]:
    axis, lines, _ = lines_of(replace(series, rows=tuple(rows), **{"groups": (), **more}))
    return axis, [line.name for line in lines]


def test_runs_are_told_apart(series: MeasureSeries) -> None:
    one = series.rows[::2]
    assert names_of(series, one) == ("epoch", [""])
    split = [replace(r, split=s) for r in one for s in ("test", "train")]
    assert names_of(series, split) == ("epoch", ["test", "train"])
    both = [replace(r, file=f"x/{Path(str(r.file)).name}") for r in series.rows]
    assert names_of(series, both) == ("epoch", ["seed0.h5", "seed1.h5"])


def test_a_file_per_epoch_is_one_run(series: MeasureSeries) -> None:
    files = [replace(r, file=f"{i}.h5", snapshot=None) for i, r in enumerate(series.rows[::2])]
    assert names_of(series, files) == ("epoch", [""])
    other = [replace(r, file=f"x{r.file}", attrs={"seed": 1}) for r in files]
    assert names_of(series, [*files, *other]) == ("epoch", ["seed = 0", "seed = 1"])
    # Without a difference in their attributes the names of the files are all there is.
    twins = [replace(r, file=f"x{r.file}") for r in files]
    assert len(names_of(series, [*files, *twins])[1]) == 6


def test_groups_are_named_by_what_differs(series: MeasureSeries) -> None:
    groups = [replace(g, attrs={"tau": tau}) for tau in (0.1, 0.2) for g in series.groups]
    found = names_of(series, series.rows, groups=tuple(groups))
    assert found == ("epoch", ["tau = 0.1", "tau = 0.2"])
    _, (line,), _ = lines_of(series)
    assert line.band is not None and line.x.tolist() == [1, 2, 10]
    assert line.band["gnc1"].tolist() == [group.deviation["gnc1"] for group in series.groups]


def test_lines_follow_the_epochs_and_skip_what_is_null(series: MeasureSeries) -> None:
    mixed = [series.rows[i] for i in (4, 0, 2)]
    mixed[0] = replace(mixed[0], gnc1=None)
    _, (line,), _ = lines_of(replace(series, rows=tuple(mixed), groups=()))
    assert line.x.tolist() == [1.0, 2.0, 10.0]
    assert np.isnan(line.y["gnc1"]).tolist() == [False, False, True]
    assert line.y["gnc2.lower"].tolist() == [r.gnc2.lower for r in series.rows[::2]]


def test_zeros_stand_on_the_edge_of_logarithmic_panels(series: MeasureSeries) -> None:
    done = [replace(r, gnc1=0.0 if r.epoch == 10 else r.gnc1, gnc3=0.0) for r in series.rows[::2]]
    figure = Figure()
    draw_series(figure, replace(series, rows=tuple(done), groups=()))
    figure.canvas.draw()
    for panel, zeros in ((0, [10.0]), (2, [1.0, 2.0, 10.0])):
        ax = figure.axes[panel]
        (line,) = [found for found in ax.lines if found.get_marker() == "v"]
        assert line.get_xdata().tolist() == zeros and not line.get_clip_on()
        seen = line.get_transform().transform([(x, 0.0) for x in zeros])
        assert seen[:, 1] == pytest.approx(ax.get_window_extent().y0)
        assert [text.get_text() for text in ax.texts] == ["0"] * len(zeros)
    # Zeros alone have no scale.
    labelled = [[t.label1.get_visible() for t in ax.yaxis.get_major_ticks()] for ax in figure.axes]
    assert all(labelled[0]) and not any(labelled[2])
