"""Plots of training: whole, reproducible, and true to the numbers."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gnc_cli.collapse.plot import TITLES
from gnc_cli.console.drawing import styled
from gnc_cli.errors import UsageError
from gnc_cli.training.plot import run_figure, training_figure
from tests.training.made_runs import RESULTS, gaps, square

DRAWN = ("one epoch", "never measured", "sphere", "many in the plane", "three placements")


@pytest.mark.parametrize("name", DRAWN)
def test_every_run_has_a_plot(tmp_path: Path, name: str) -> None:
    RESULTS[name].plot(tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as image:
        image.load()
        shades = np.asarray(image.convert("L"))
    assert 0.001 < (shades < 160).mean() < 0.6
    assert os.listdir(tmp_path) == ["a.png"]


def test_plots_are_reproducible_and_say_what_they_show(tmp_path: Path) -> None:
    for name in ("one", "two"):
        RESULTS["square"].plot(tmp_path / f"{name}.svg")
    text = (tmp_path / "one.svg").read_text()
    assert text == (tmp_path / "two.svg").read_text()
    for words in (
        "glyphs: cnn, learned classifier",
        "1.0000 optimum",
        "automobile",
        "GNC1: variability",
        "NCC, test set",
        "Unit features (dots)",
    ):
        assert f"<!-- {words}" in text, words
    RESULTS["uneven lengths"].plot(tmp_path / "raw.svg")
    raw = (tmp_path / "raw.svg").read_text()
    assert "<!-- Raw features (dots) and weights (lines) -->" in raw
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        RESULTS["square"].plot(tmp_path / "a.jpg")


def drawn(result: Any) -> dict[str, Any]:
    """The panels of a run by the first words of their titles."""
    with styled():
        figure = run_figure(result)
    titles = {ax.get_title(loc="left") or ax.get_title(): ax for ax in figure.axes}
    return {title.split(":")[0].split(" ")[0]: ax for title, ax in titles.items()}


def test_panels_hold_what_was_measured() -> None:
    panels = drawn(gaps())
    assert panels["GNC1"].lines[0].get_xdata().tolist() == [1, 8, 24, 32, 40]
    assert panels["GNC1"].get_yscale() == "log"
    assert len(panels["GNC2"].collections) == 1  # the bracket
    assert [line.get_label() for line in panels["Accuracy"].lines] == [
        "while training",
        "training set",
        "test set",
        "out of distribution",
        "NCC, training set",
        "NCC, test set",
    ]
    assert "GNC1" not in drawn(RESULTS["never measured"])


def test_no_title_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TITLES, "gnc3", TITLES["gnc3_centred"])  # the longest
    (row,) = RESULTS["one epoch"].history
    values = (0.53, 0.55, 6.1), (0.26, 0.43, 4.3)  # with wide ticks
    rows = [replace(row, gnc1=a, gnc3=b, loss=c) for a, b, c in values]
    history = tuple(replace(row, epoch=at) for at, row in enumerate(rows, 1))
    replace(RESULTS["one epoch"], history=history).plot(tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as image:
        assert np.asarray(image.convert("L"))[:, -2:].min() == 255


def test_assignments_are_ranked_and_chance_is_marked() -> None:
    with styled():
        (ax,) = training_figure(replace(square(), rows=square().rows[::-1])).axes
    training, test, chance = ax.lines
    assert training.get_xdata().tolist() == [1.0, 1.0, 1.0]
    assert test.get_xdata().tolist() == [0.95, 0.93, 0.91]
    assert chance.get_xdata() == [1 / 4, 1 / 4]
    named = [text.get_text() for text in ax.get_yticklabels()]
    assert named == ["0 1 2 3", "0 2 1 3", "0 1 3 2"]
