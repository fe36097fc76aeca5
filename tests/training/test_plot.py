"""Pictures of training: whole, reproducible, and true to the numbers."""

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

DRAWN = ("one epoch", "never measured", "sphere", "many in the plane", "three placements")


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
    for words in (
        "glyphs: cnn, learned classifier",
        "optimum 1.0000",
        "automobile",
        "GNC1: variability",
        "NCC, test set",
        "Unit features (dots)",
    ):
        assert f"<!-- {words}" in text, words
    plot_train(RESULTS["uneven lengths"], tmp_path / "raw.svg")
    raw = (tmp_path / "raw.svg").read_text()
    assert "<!-- Raw features (dots) and weights (arrows) -->" in raw
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        plot_train(RESULTS["square"], tmp_path / "a.jpg")


@pytest.mark.parametrize(
    ("kind", "said", "name"),
    [
        ("theorem", "optimum", "x"),
        ("solved", "best known", "x"),
        ("pinned", "given", "proven optimal Tammes code"),
        ("file", "reached by", "x"),
    ],
)
def test_references_are_named_and_only_proved_ones_called_optimal(
    kind: str, said: str, name: str
) -> None:
    ax = Figure().add_subplot()
    reference = Gnc2Reference(
        0.75, kind, "x", "proven optimal Tammes code", None, said == "optimum"
    )
    show_gnc2(ax, run(3).history, reference)
    assert [text.get_text() for text in ax.texts] == [f"{said} 0.7500\n{name}"]
    assert ax.get_ylim()[0] == 0.0 and ax.get_ylim()[1] > 0.75


def test_panels_hold_what_was_measured() -> None:
    history = gaps().history
    gnc1, gnc2, accuracy = Figure().subplots(3)
    show_metric(gnc1, history, "gnc1")
    assert gnc1.lines[0].get_xdata().tolist() == [1, 8, 24, 32, 40]
    assert gnc1.get_yscale() == "log" and gnc1.lines[0].get_marker() == "o"
    show_gnc2(gnc2, history, None)
    assert len(gnc2.collections) == 1  # the bracket
    show_accuracies(accuracy, history)
    named = [text.get_text() for text in accuracy.get_legend().get_texts()]
    assert named == [
        "while training",
        "training set",
        "test set",
        "out of distribution",
        "NCC, training set",
        "NCC, test set",
    ]


@pytest.mark.parametrize(
    ("first", "last", "decades"),
    [
        (1.0, 0.05, (0.01, 1.0)),
        (0.9, 0.5, (0.1, 1.0)),
        (0.0, 0.5, (0.1, 1.0)),
        (0.0, 0.0, (0.1, 1.0)),
        (30.0, 1e-7, (1e-7, 100.0)),
    ],
)
def test_metrics_have_an_axis_of_whole_decades(
    first: float, last: float, decades: tuple[float, float]
) -> None:
    ax = Figure().add_subplot()
    show_metric(ax, [epoch_row(1, 2, gnc3=first), epoch_row(2, 2, gnc3=last)], "gnc3")
    assert ax.get_yscale() == "log" and ax.get_ylim() == pytest.approx(decades, rel=1e-12)
    assert ax.get_xlim()[0] == 0.0 and ax.get_xlim()[1] >= 2.0


H = np.array([[5.0, 0.0], [0.0, 0.1], [0.0, 0.0], [3.0, 3.0]])


@pytest.mark.parametrize("raw", [True, False])
def test_features_stand_outside_the_circle_at_their_angles_or_raw(raw: bool) -> None:
    ax = Figure().add_subplot()
    W = np.array([[0.4, 0.0], [0.0, 0.1]])
    show_places(ax, H, np.array([0, 1, 1, 0]), W, ("cat", "dog"), raw=raw)
    dots, arrows = ax.collections
    at = np.asarray(dots.get_offsets())
    lengths, tips = np.linalg.norm(at, axis=1), np.column_stack([arrows.U, arrows.V])
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["cat", "dog"]
    note = legend.get_title().get_text()
    if raw:
        assert sorted((5.0 * lengths).round(6)) == [0.0, 0.1, 4.242641, 5.0]
        assert tips.tolist() == [[1.0, 0.0], [0.0, 0.25]]
        assert "weight, 0.4," in note and "feature, 5," in note
    else:
        assert ((lengths == 0.0) | (lengths > 1.03)).all() and (lengths < 1.3).all()
        turned = np.degrees(np.arctan2(at[:, 1], at[:, 0]))
        assert sorted(turned[lengths > 0.0].round(6).tolist()) == [0.0, 45.0, 90.0]
        assert tips.tolist() == [[1.0, 0.0], [0.0, 1.0]] and "spread outward" in note


@pytest.mark.parametrize("K", [2, 7, 10, 12, 13, 25, 30])
def test_each_class_has_a_mark_of_its_own_unlike_its_neighbours(K: int) -> None:
    marks = class_marks(np.arange(K))
    assert len(set(marks)) == K
    assert all(marks[k][0] != marks[k - 1][0] for k in range(K))


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
    assert ax.get_xlim() == (0.0, 1.0) and ax.lines[2].get_xdata() == [1 / 6, 1 / 6]
    high = Figure().add_subplot()
    show_assignments(high, ranked(square().rows))
    assert high.get_xlim() == (0.0, 1.0)
    (beside,) = high.child_axes
    assert [t.get_text() for t in beside.get_yticklabels()] == ["0.9500", "0.9300", "0.9100"]
    assert "test accuracy" in high.get_xlabel()
    ends: Any = Figure().subplots(2)
    show_ends(ends, rows)
    assert [ax.get_title() for ax in ends] == [
        "Best: test accuracy 0.9000\none of 3 that tie",
        "Worst: test accuracy 0.2667\none of 3 that tie",
    ]


def test_long_names_keep_what_tells_them_apart() -> None:
    names = [f"LATIN SMALL LETTER {c} WITH HOOK" for c in ("A", "THORN", "AB")]
    assert class_labels(names) == ["…A…", "…THORN…", "…AB…"]
    assert class_labels(["x" * 30, "y"]) == ["x" * 15 + "…", "y"]
    assert class_labels(["a b c d e f g h i"] * 2)  # nothing differs, something is written
    assert class_labels(["猫", "$5", "a\nb"]) == ["U+732B", r"\$5", "aU+000Ab"]
