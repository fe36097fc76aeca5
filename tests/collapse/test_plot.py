"""Pictures of measurements: whole, not blank, reproducible; runs told apart as they should be."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from gnc_cli import measure
from gnc_cli.collapse.plot import draw_series, has_outliers, lines_of, plot_measure
from gnc_cli.collapse.plot_epochs import COLOUR_OF_SET
from gnc_cli.collapse.result import MeasureGroup, MeasureResult, MeasureSeries
from gnc_cli.errors import UsageError
from gnc_cli.records import Bracket
from gnc_cli.training.plot import show_accuracies, show_metric
from tests.training.pictures import epoch_row


def cases(result: MeasureResult, series: MeasureSeries) -> dict[str, Any]:
    """Measurements of every kind that a picture can be of."""
    weights = measure(weights=np.eye(3))
    assert isinstance(weights, MeasureResult)
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
        "groups": series,
        "runs": replace(series, groups=()),
        "many runs": replace(series, rows=tuple(many), groups=()),
        "models": replace(series, rows=models, groups=()),
        "groups of models": replace(
            series,
            rows=models,
            groups=(MeasureGroup(None, None, None, None, None, {}, 2, {"gnc2.lower": 0.5}, {}),),
        ),
        "no rows": replace(series, rows=(), groups=()),
    }


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


def test_run_folders_are_a_line_each(series: MeasureSeries) -> None:
    one = series.rows[::2]
    runs = [replace(r, file=f"runs/{run}/snapshots.h5") for run in ("a", "b") for r in one]
    assert names_of(series, runs) == ("epoch", ["a", "b"])
    _, lines, _ = lines_of(replace(series, rows=tuple(runs), groups=()))
    assert [line.x.tolist() for line in lines] == [[1, 2, 10]] * 2
    # A file per epoch in each folder, and nothing else to tell the runs apart.
    files = [replace(r, file=f"{run}/{i}.h5") for run in ("a", "b") for i, r in enumerate(one)]
    assert names_of(series, files) == ("epoch", ["a", "b"])


def test_layers_of_one_moment_stand_in_their_order(series: MeasureSeries) -> None:
    one = series.rows[0]
    layers = [
        replace(one, layer=layer, split=split, snapshot=f"{layer}-{split}")
        for layer in ("stem", "body", "head")
        for split in ("train", "test")
    ]
    axis, lines, ticks = lines_of(replace(series, rows=tuple(layers), groups=()))
    assert (axis, ticks) == ("layer", ["stem", "body", "head"])
    assert {line.name: line.x.tolist() for line in lines} == {"train": [0, 1, 2], "test": [0, 1, 2]}
    later = [replace(row, epoch=20.0) for row in layers]
    found = names_of(series, [*layers, *later])
    assert found[0] == "epoch" and len(found[1]) == 6, "over epochs a layer is a line"


def test_classic_metrics_are_drawn_where_they_are_asked_for(series: MeasureSeries) -> None:
    rows = [replace(row, policy=replace(row.policy, variants="classic")) for row in series.rows]
    for found, panels in ((series, 4), (replace(series, rows=tuple(rows)), 8)):
        figure = Figure()
        draw_series(figure, found)
        titles = [ax.get_title(loc="left") or ax.get_title() for ax in figure.axes]
        assert len(titles) == panels
        assert [title[:3] for title in titles[4:]] == ["NC1", "NC2", "NC3", "NC4"][: panels - 4]


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
    values = {1: 1.0, 2: 0.01, 10: 0.0}
    done = [replace(r, gnc1=values[r.epoch or 0], gnc3=0.0) for r in series.rows[::2]]
    figure = Figure()
    draw_series(figure, replace(series, rows=tuple(done), groups=()))
    figure.canvas.draw()
    ax, gnc3 = figure.axes[0], figure.axes[2]
    (line,) = [found for found in ax.lines if found.get_marker() == "v"]
    assert line.get_xdata().tolist() == [10.0] and not line.get_clip_on()
    seen = line.get_transform().transform([(10.0, 0.0)])
    assert seen[:, 1] == pytest.approx(ax.get_window_extent().y0)
    assert [text.get_text() for text in ax.texts] == ["0"]
    assert (ax.get_yscale(), gnc3.get_yscale(), gnc3.get_ylim()) == ("log", "log", (0.1, 1.0))


def test_a_run_has_the_same_axes_in_the_pictures_of_measure_and_train(
    series: MeasureSeries,
) -> None:
    """Also where the snapshots begin late, and their values would ask for another scale."""
    late = replace(series.rows[-1], epoch=3, gnc1=0.005, gnc3=0.5, accuracy=0.97)
    figure = Figure()
    rows = (late, replace(late, epoch=9, gnc1=0.004, gnc3=0.45, accuracy=0.98))
    draw_series(figure, replace(series, rows=rows, groups=()))
    figure.draw_without_rendering()
    history = [epoch_row(1, 2, gnc1=0.009, gnc3=0.9, train_accuracy=0.1)]
    history += [epoch_row(9, 2, gnc1=0.004, gnc3=0.45, train_accuracy=0.98)]
    trained: Any = Figure().subplots(3)
    show_metric(trained[0], history, "gnc1")
    show_metric(trained[1], history, "gnc3")
    show_accuracies(trained[2], history)
    trained[0].figure.draw_without_rendering()
    gnc1, _, gnc3, shares = figure.axes
    for one, other in zip((gnc1, gnc3, shares), trained, strict=True):
        for ax in (one, other):
            low, high = ax.get_ylim()
            assert all(low <= y <= high for line in ax.lines for y in line.get_ydata())
        assert one.get_yscale() == other.get_yscale()
        assert one.get_ylim() == other.get_ylim()
        assert one.get_xlim() == pytest.approx(other.get_xlim(), rel=0.05)
        ticks = [[t.get_text() for t in ax.get_yticklabels()] for ax in (one, other)]
        assert ticks[0] == ticks[1]
    assert shares.get_ylim() == (0.0, 1.0) and shares.get_yscale() == "linear"


def test_sets_have_the_colours_that_train_gives_them(series: MeasureSeries) -> None:
    rows = [replace(r, split=s) for r in series.rows[::2] for s in ("test", "train")]
    figure = Figure()
    draw_series(figure, replace(series, rows=tuple(rows), groups=()))
    named = {h.get_label(): h.get_color() for h in figure.legends[0].legend_handles}
    assert named == {name: COLOUR_OF_SET[name] for name in ("test", "train")}
    history = [epoch_row(1, 2), epoch_row(2, 2)]
    ax = Figure().add_subplot()
    show_accuracies(ax, history)
    told = {line.get_label(): line.get_color() for line in ax.lines}
    assert told["training set"] == told["NCC, training set"] == COLOUR_OF_SET["train"]
    assert told["test set"] == told["NCC, test set"] == COLOUR_OF_SET["test"]


def test_a_set_with_outliers_has_logarithmic_axes(tmp_path: Path, result: MeasureResult) -> None:
    near = np.r_[1e-4, np.linspace(0.4, 0.6, 11)]
    assert has_outliers(near) and not has_outliers(near[1:]) and not has_outliers(0.0 * near)
    plot_measure(replace(result, one_vs_rest=(near, near), K=1200, N=36000), tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert "<!-- 0.001 -->" in text and "K = 1,200, N = 36,000" in text


def test_gnc2_of_class_means_is_said_and_breaks_no_line(series: MeasureSeries) -> None:
    first, *others = series.rows[::2]
    means = replace(first, policy=replace(first.policy, weights="class means stand in"))
    found = replace(series, rows=(means, *others), groups=())
    assert [line.x.tolist() for line in lines_of(found)[1]] == [[1, 2, 10]]
    figure = Figure()
    draw_series(figure, found)
    titles = " ".join(ax.get_title(loc="left") or ax.get_title() for ax in figure.axes)
    assert "GNC2, of class means where there are no weights" in titles
