"""Pictures of bounds: written whole, and no words lie on each other."""

import itertools
import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from gnc_cli.errors import UsageError
from gnc_cli.plots.bounds import bounds_figure, plot_bounds
from gnc_cli.plots.bounds_ends import spread
from gnc_cli.plots.style import styled
from tests.plots.bounds_pictures import RESULTS


def places(texts: Any) -> dict[Any, Any]:
    """Boxes of texts in pixels, without the arrows of annotations."""
    from matplotlib.text import Text

    return {t: Text.get_window_extent(t) for t in texts if t.get_text() and t.get_visible()}


def ticks(ax: Any, name: str) -> dict[Any, Any]:
    """Labels of ticks within the view; matplotlib keeps others, undrawn."""
    end = {"x": ("x0", "x1"), "y": ("y0", "y1")}[name]
    low, high = (getattr(ax.bbox, e) for e in end)
    found = places(getattr(ax, f"get_{name}ticklabels")())
    return {t: b for t, b in found.items()
            if low - 1 <= sum(getattr(b, e) for e in end) / 2 <= high + 1}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_words_stay_within_the_picture_and_apart(name: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with styled():
        figure = bounds_figure(RESULTS[name])
        FigureCanvasAgg(figure).draw()
        groups = [places([*figure.texts, *figure.artists])]
        for ax in figure.axes:
            groups.append(places([*ax.texts, ax._left_title, ax._right_title]))
            groups += [ticks(ax, "x"), ticks(ax, "y"), places([ax.xaxis.label, ax.yaxis.label])]
        for group in groups:
            for text, box in group.items():
                said = text.get_text()
                assert -2 <= box.x0 and box.x1 <= figure.bbox.x1 + 2, said
                assert -2 <= box.y0 and box.y1 <= figure.bbox.y1 + 2, said
            for (one, a), (two, b) in itertools.combinations(group.items(), 2):
                width = min(a.x1, b.x1) - max(a.x0, b.x0)
                height = min(a.y1, b.y1) - max(a.y0, b.y0)
                # Boxes of letters hold room above and below them.
                apart = width <= 1 or height <= 0.3 * min(a.height, b.height)
                heading = one.figure is figure and one.axes is None  # its facts lie in its box
                assert apart or heading, (one.get_text(), two.get_text())


def test_a_picture_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    plot_bounds(RESULTS["over d"], path)
    with Image.open(path) as image:
        image.load()
        assert image.format == "PNG"
    assert os.listdir(tmp_path) == ["a.png"]


@pytest.mark.parametrize("name", ["pair", pytest.param("over K", marks=pytest.mark.slow)])
def test_pictures_are_reproducible(tmp_path: Path, name: str) -> None:
    for run in ("one", "two"):
        plot_bounds(RESULTS[name], tmp_path / f"{run}.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_bad_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        plot_bounds(RESULTS["pair"], tmp_path / "a.jpg")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("heights", "placed"),
    [([], []), ([0.5], [0.5]), ([0.1, 0.5, 0.5], [0.1, 0.4, 0.6]), ([0, 0, 0], [-0.2, 0, 0.2])],
)
def test_labels_move_apart(heights: list[float], placed: list[float]) -> None:
    assert spread(heights, 0.2, -1.0, 1.0) == pytest.approx(placed)


@pytest.mark.parametrize(
    ("heights", "placed"),
    [([0.9, 0.9, 1.0], [0.6, 0.8, 1.0]), ([0.0, 0.05, 0.7], [0.0, 0.2, 0.7]),
     ([0.5] * 6, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])],
)  # fmt: skip
def test_labels_stay_inside(heights: list[float], placed: list[float]) -> None:
    assert spread(heights, 0.2, 0.0, 1.0) == pytest.approx(placed)
