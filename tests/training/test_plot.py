"""Pictures of training: whole, reproducible, true to the numbers, and no name runs into another."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from gnc_cli.collapse.result import Gnc2Reference
from gnc_cli.errors import UsageError
from gnc_cli.training.places import class_labels, class_marks, show_places
from gnc_cli.training.plot import (
    placement_text,
    plot_train,
    ranked,
    show_accuracies,
    show_assignments,
    show_ends,
    show_gnc2,
    show_metric,
)
from tests.training.pictures import RESULTS, epoch_row, gaps, hexagon, run, square

DRAWN = ("one epoch", "never measured", "sphere", "three placements")


@pytest.mark.parametrize("name", DRAWN)
def test_every_run_has_a_picture(tmp_path: Path, name: str) -> None:
    plot_train(RESULTS[name], tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as image:
        image.load()
        shades = np.asarray(image.convert("L"))
    assert 0.001 < (shades < 160).mean() < 0.6
    assert os.listdir(tmp_path) == ["a.png"]


def test_pictures_are_reproducible_and_say_what_they_show(tmp_path: Path) -> None:
    for name in ("one", "two"):
        plot_train(RESULTS["square"], tmp_path / f"{name}.svg")
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    for words in ("glyphs: cnn, learned classifier", "optimal 1.0000", "automobile",
                  "GNC1: variability", "NCC, test set"):  # fmt: skip
        assert f"<!-- {words}" in text, words
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        plot_train(RESULTS["square"], tmp_path / "a.jpg")


@pytest.mark.parametrize(
    ("kind", "said", "name"),
    [("theorem", "optimal", "x"), ("solved", "best known lower bound", "x"),
     ("pinned", "given", "proven optimal Tammes code"), ("file", "reached by", "x"),
     ("table", "optimal", "x"),
     ("table", "best known lower bound", "x"), ("construction", "best known lower bound", "x")],
)  # fmt: skip
def test_references_are_named_and_only_proved_ones_called_optimal(
    kind: str, said: str, name: str
) -> None:
    ax = Figure().add_subplot()
    proven = said == "optimal"
    reference = Gnc2Reference(0.75, kind, "x", "proven optimal Tammes code", None, proven)
    show_gnc2(ax, run(3).history, reference)
    assert [text.get_text() for text in ax.texts] == [f"{said} 0.7500\n{name}"]
    assert ax.get_ylim()[0] == 0.0 and ax.get_ylim()[1] > 0.75


def test_panels_hold_what_was_measured() -> None:
    history = gaps().history
    figure = Figure()
    gnc1, gnc2, accuracy = figure.subplots(3)
    show_metric(gnc1, history, "gnc1", "", always_log=True)
    assert gnc1.lines[0].get_xdata().tolist() == [1, 8, 24, 32, 40]
    assert gnc1.get_yscale() == "log" and gnc1.lines[0].get_marker() == "o"
    show_gnc2(gnc2, history, None)
    assert len(gnc2.collections) == 2  # the band and a bar at each measurement
    show_accuracies(accuracy, history)
    named = [text.get_text() for text in accuracy.get_legend().get_texts()]
    assert named == ["while training", "training set", "test set", "out of distribution",
                     "NCC, training set", "NCC, test set"]  # fmt: skip
    assert accuracy.get_ylim()[1] <= 1.02


def test_metrics_are_logarithmic_where_they_span_decades() -> None:
    def scale(first: float, last: float, **more: Any) -> str:
        history = [epoch_row(1, 2, gnc3=first), epoch_row(2, 2, gnc3=last)]
        ax = Figure().add_subplot()
        show_metric(ax, history, "gnc3", "", **more)
        return str(ax.get_yscale())

    assert [scale(1.0, 0.05), scale(1.0, 0.5), scale(0.0, 0.5)] == ["log", "linear", "linear"]
    assert scale(1.0, 0.5, always_log=True) == "log"


def test_noise_on_a_logarithmic_axis_looks_small() -> None:
    history = [epoch_row(e, 3, gnc1=x) for e, x in ((1, 0.0855), (2, 0.0825), (3, 0.0850))]
    ax = Figure().add_subplot()
    show_metric(ax, history, "gnc1", "", always_log=True)
    low, high = ax.get_ylim()
    assert high / low == pytest.approx(4.0)
    assert low < 0.0825 / 1.5 and high > 0.0855 * 1.5
    assert any(low < tick < high for tick in ax.get_yticks())


def test_features_stand_at_their_angles_outside_the_circle() -> None:
    ax = Figure().add_subplot()
    W = np.eye(2)
    H = np.array([[5.0, 0.0], [0.0, 0.1], [np.nan, 1.0], [0.0, 0.0], [3.0, 3.0]])
    show_places(ax, H, np.array([0, 1, 0, 1, 0]), W)
    at = np.asarray(ax.collections[0].get_offsets())
    radius = np.linalg.norm(at, axis=1)
    assert (radius > 1.03).all() and (radius < 1.3).all()
    turned = np.degrees(np.arctan2(at[:, 1], at[:, 0]))
    assert sorted(turned.round(6).tolist()) == [0.0, 45.0, 90.0]


def test_raw_features_and_weights_keep_their_lengths() -> None:
    ax = Figure().add_subplot()
    H = np.array([[5.0, 0.0], [0.0, 0.1], [np.nan, 1.0], [0.0, 0.0], [3.0, 3.0]])
    show_places(ax, H, np.array([0, 1, 0, 1, 0]), np.array([[0.4, 0.0], [0.0, 0.1]]), raw=True)
    at = np.asarray(ax.collections[0].get_offsets())
    assert sorted(np.linalg.norm(5.0 * at, axis=1).round(6)) == [0.0, 0.1, 4.242641, 5.0]
    tips = [text.xy for text in ax.texts if getattr(text, "arrow_patch", None)]
    assert tips == [(1.0, 0.0), (0.0, 0.25)]
    assert "weight, 0.4," in ax.texts[-1].get_text() and "feature, 5," in ax.texts[-1].get_text()


def test_weight_decay_is_drawn_raw(tmp_path: Path) -> None:
    unmeasured = replace(RESULTS["uneven lengths"], history=RESULTS["never measured"].history)
    plot_train(unmeasured, tmp_path / "a.svg")
    assert "<!-- Raw features (dots) and weights (arrows) -->" in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize("K", [2, 7, 10, 12, 13, 25, 30])
def test_each_class_has_a_mark_of_its_own_unlike_its_neighbours(K: int) -> None:
    marks = class_marks(np.arange(K))
    assert len(set(marks)) == K
    assert all(marks[k][0] != marks[k - 1][0] for k in range(K))


@pytest.mark.parametrize("angles", [np.linspace(0.0, 0.3, 12), np.pi / 2 + np.linspace(0, 0.1, 5)])
def test_names_of_near_classes_do_not_overlap(angles: np.ndarray) -> None:
    figure = Figure(figsize=(6.5, 8.0))
    ax = figure.add_subplot()
    W = np.column_stack([np.cos(angles), np.sin(angles)])
    show_places(ax, None, None, W, [f"class {k}" for k in range(len(W))])
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    assert len(boxes) == len(W)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_placements_are_ranked_and_named_by_neighbours() -> None:
    rows = ranked(square().rows[::-1])
    assert [row.test_accuracy for row in rows] == [0.95, 0.93, 0.91]
    assert placement_text(rows[0]) == "automobile - cat - dog - truck"
    mirrored = rows[0].extras["weights"] * [1.0, -1.0]
    mirror = replace(rows[0], extras=rows[0].extras | {"weights": mirrored})
    assert placement_text(mirror) == placement_text(rows[0])
    assert placement_text(replace(rows[1], extras={})) == "0 → 0  1 → 2  2 → 1  3 → 3"
    many = replace(rows[0], extras={"class_names": [str(k) for k in range(13)]})
    assert placement_text(many) == "assignment-0"


def test_dots_of_a_placement_lie_apart_and_chance_is_marked() -> None:
    rows = ranked(hexagon().rows)
    ax = Figure().add_subplot()
    show_assignments(ax, rows)
    train, test = (np.asarray(line.get_ydata()) for line in ax.lines[:2])
    assert train - test == pytest.approx(0.4)
    assert ax.get_xlim()[0] == 0.0 and ax.lines[2].get_xdata() == [1 / 6, 1 / 6]
    high = Figure().add_subplot()
    show_assignments(high, ranked(square().rows))
    assert "the axis starts at 0.9" in high.get_xlabel()


def test_the_best_says_of_what_and_with_how_many_it_ties() -> None:
    rows = ranked(hexagon().rows)
    axes = Figure().subplots(2)
    show_ends(axes, rows)
    assert [ax.get_title() for ax in axes] == [
        "Best: test accuracy 0.9000\none of 3 that tie",
        "Worst: test accuracy 0.2667\none of 3 that tie",
    ]


def test_long_names_keep_what_tells_them_apart() -> None:
    names = [f"LATIN SMALL LETTER {c} WITH HOOK" for c in ("A", "THORN", "AB")]
    assert class_labels(names) == ["…A…", "…THORN…", "…AB…"]
    assert class_labels(["x" * 30, "y"]) == ["x" * 15 + "…", "y"]
    assert class_labels(["a b c d e f g h i"] * 2)  # nothing differs, something is written
    assert class_labels(["猫", "$5", "a\nb"]) == ["U+732B", r"\$5", "aU+000Ab"]
