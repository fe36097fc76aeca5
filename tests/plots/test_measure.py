"""Pictures of measurements: whole, not blank, reproducible; runs told apart as they should be."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gnc_cli.errors import UsageError
from gnc_cli.plots.measure import plot_measure
from gnc_cli.plots.measure_series import course_of, show_series
from gnc_cli.results import Bracket, Gnc2Reference, MeasureResult
from tests.cli.measure_fakes import (
    class_row,
    epochs,
    full,
    group,
    grouped,
    means_only,
    row,
    series,
    weights_only,
)

OPTIMUM = Gnc2Reference(1.0, "theorem", "theorem 3.3: orthoplex", "theorem 3.3", None, True)


def with_classes(made: MeasureResult, lower: np.ndarray, width: float = 1e-12) -> MeasureResult:
    extras = {"one_vs_rest_lower": lower, "one_vs_rest_upper": lower + width}
    return replace(made, extras=extras)


SPREAD = 0.55 + 0.1 * np.random.default_rng(0).beta(2, 5, 100)
ZERO = Bracket(0.0, 0.0)
RESULTS: dict[str, Any] = {
    "classes": with_classes(row(), SPREAD),
    "names": with_classes(
        replace(full(), worst_classes=tuple(
            class_row(k, name=name, nearest_name="$5 \\frac") for k, name in
            enumerate(["$x", "a very long name of a class, indeed", "_^{}"])
        )), SPREAD, 0.01,
    ),
    "a solved code": with_classes(row(), np.full(100, 0.66), 0.0),
    "inside the hull": with_classes(
        weights_only(gnc2=ZERO, gnc2_reference=OPTIMUM,
                     worst_classes=(class_row(3, one_vs_rest=ZERO, nearest=None),)), SPREAD,
    ),
    "no worst": with_classes(means_only(worst_classes=()), SPREAD[:7]),
    "no arrays": row(),
    "nothing": row(worst_classes=()),
    "two runs": series(*epochs("a.h5"), *epochs("b$.h5", 1.5)),
    "many runs": series(*(r for i in range(14) for r in epochs(f"{i}.h5", 1.0 + i / 9))),
    "groups": grouped(),
    "groups without epoch": series(
        weights_only(), groups=(group(None, mean={"gnc2.lower": 0.5}),), group="seed"
    ),
    "models": series(*(row(file=f"{i}.h5", epoch=None) for i in range(20))),
    "weights only": series(*(weights_only(file=f"{i}.h5", epoch=float(i)) for i in range(3))),
    "no rows": series(),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_every_measurement_has_a_picture(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.png"
    plot_measure(RESULTS[name], path)
    with Image.open(path) as image:
        image.load()
        assert image.format == "PNG"
        shades = np.asarray(image.convert("L"))
    assert 0.001 < (shades < 160).mean() < 0.6
    assert os.listdir(tmp_path) == ["a.png"]


@pytest.mark.parametrize("name", ["names", "groups without epoch"])
def test_pictures_are_reproducible(tmp_path: Path, name: str) -> None:
    for run in ("one", "two"):
        plot_measure(RESULTS[name], tmp_path / f"{run}.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_bad_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        plot_measure(row(), tmp_path / "a.jpg")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("classes", ["GNC2 0.6600", "reference 0.6690", "K = 100", "NCC accuracy 0.9985"]),
        ("inside the hull", ["optimum 1.0000", "100 of 32,000 classes"]),
        ("groups", ["mean and one deviation over seed", "reference 0.6690", "GNC1: variability"]),
        ("models", ["NCC (filled)"]),
    ],
)
def test_the_picture_says_what_it_shows(tmp_path: Path, name: str, said: list[str]) -> None:
    path = tmp_path / "a.svg"
    plot_measure(RESULTS[name], path)
    text = path.read_text()
    for words in said:
        assert f"<!-- {words}" in text or words in text, words
    assert ("optimum" in text) == (name == "inside the hull")


def names_of(*rows: MeasureResult, **more: Any) -> tuple[str, list[str]]:
    course = course_of(series(*rows, **more).to_json())
    return course.axis, [line.name for line in course.lines]


def test_runs_are_told_apart() -> None:
    assert names_of(*epochs()) == ("epoch", [""])
    assert names_of(*epochs("x/a.h5"), *epochs("b.h5")) == ("epoch", ["a.h5", "b.h5"])
    split = [replace(r, split="train") for r in epochs()]
    assert names_of(*epochs(), *split) == ("epoch", ["test", "train"])


def test_a_file_an_epoch_is_one_run() -> None:
    files = [replace(r, file=f"{i}.h5", snapshot=None) for i, r in enumerate(epochs())]
    assert names_of(*files) == ("epoch", [""])
    other = [replace(r, file=f"x{r.file}", attrs={"seed": 1}) for r in files]
    assert names_of(*files, *other) == ("epoch", ["seed = 0", "seed = 1"])
    # Without a difference in their attributes the names of the files are all there is.
    twins = [replace(r, file=f"x{r.file}") for r in files]
    assert len(names_of(*files, *twins)[1]) == 8


def test_groups_are_named_by_what_differs() -> None:
    one, two = group(0.0), group(0.0, attrs={"tau": 0.2})
    axis, names = names_of(row(), groups=(one, replace(one, epoch=5.0), two), group="seed")
    assert (axis, names) == ("epoch", ["tau = 0.1", "tau = 0.2"])


def test_lines_follow_the_epochs_and_skip_what_is_null() -> None:
    mixed = [epochs()[i] for i in (2, 0, 3, 1)]
    mixed[0] = replace(mixed[0], gnc1=None)
    (line,) = course_of(series(*mixed).to_json()).lines
    assert line.x.tolist() == [0.0, 5.0, 9.0, 10.0]
    assert np.isnan(line.y["gnc1"]).tolist() == [False, False, True, False]
    assert line.y["gnc2.lower"].tolist() == [r.gnc2.lower for r in epochs()]
    assert line.band is None


def test_zeros_stand_on_the_edge_of_logarithmic_panels() -> None:
    from matplotlib.figure import Figure

    done = [replace(r, gnc1=0.0 if r.epoch > 5 else r.gnc1, gnc3=0.0) for r in epochs()]
    figure = Figure()
    show_series(figure, series(*done).to_json())
    figure.canvas.draw()
    for panel, zeros in ((0, [9.0, 10.0]), (2, [0.0, 5.0, 9.0, 10.0])):
        ax = figure.axes[panel]
        assert ax.get_yscale() == "log"
        (line,) = [found for found in ax.lines if found.get_marker() == "v"]
        assert line.get_xdata().tolist() == zeros
        bottom = ax.get_window_extent().y0
        seen = line.get_transform().transform([(x, 0.0) for x in zeros])
        assert seen[:, 1] == pytest.approx(bottom)
        assert not line.get_clip_on()
        assert [text.get_text() for text in ax.texts] == ["0"] * len(zeros)
    # Zeros alone have no scale.
    labelled = [[t.label1.get_visible() for t in ax.yaxis.get_major_ticks()] for ax in figure.axes]
    assert all(labelled[0]) and not any(labelled[2])
    assert not [line for line in figure.axes[3].lines if line.get_marker() == "v"]


def test_bands_are_deviations() -> None:
    (line,) = course_of(grouped().to_json()).lines
    assert line.band is not None
    assert line.band["accuracy"].tolist() == [0.0123, 0.0, 0.0123, 0.0123]
