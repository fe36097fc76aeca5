"""Pictures of bounds: what is drawn is what the result says, and no words lie on each other."""

import itertools
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from gnc_cli.errors import UsageError
from gnc_cli.plots.bounds import bounds_figure, plot_bounds
from gnc_cli.plots.bounds_ends import spread
from gnc_cli.plots.style import styled
from gnc_cli.results import BoundsResult
from tests.bounds_samples import classes, dimension, pair, sweep

DIMS = [2**i for i in range(1, 10)]
SIZES = [10**i for i in range(2, 9)]
RESULTS: dict[str, BoundsResult] = {
    "pair": pair(10, 100, 0.6), "angles": pair(10, 100, quantity="one-vs-one"),
    "failed": pair(30, 15), "tiny": pair(3, 10**9),
    "over d": sweep(DIMS, [1000], 0.3),
    "degrees over d": sweep(DIMS, [1000], quantity="one-vs-one"),
    "dense": sweep(range(2, 200), [10**6]), "two": sweep([127, 128], [500], 0.9),
    "panels": sweep(DIMS, [1000, 10**6, 10**30], 0.3), "matrix": sweep([128, 512], [10572, 85742]),
    "over K": sweep([3], SIZES), "panels over K": sweep([8, 64], SIZES, 0.3),
    "very large K": sweep([512], [10**i for i in range(2, 301, 20)]),
    "many K": sweep(DIMS, [10**i for i in range(2, 13)], 0.3),
    "dimension": dimension([10**6]), "never": dimension([10**6], 0.6),
    "dimensions": dimension([10**i for i in range(3, 13)]),
    "three dimensions": dimension([10572, 85742, 360232]), "classes": classes([64]),
    "many classes": classes([10**5]), "classes over d": classes(DIMS),
    "classes of near d": classes([10, 11, 12, 14], 0.6),
}  # fmt: skip


def lines_of(ax: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in ax.get_lines() if line.get_label()[0] != "_"}


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


@pytest.mark.parametrize("name", ["pair", "over K"])
def test_pictures_are_reproducible(tmp_path: Path, name: str) -> None:
    for run in ("one", "two"):
        plot_bounds(RESULTS[name], tmp_path / f"{run}.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_bad_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        plot_bounds(RESULTS["pair"], tmp_path / "a.jpg")
    assert os.listdir(tmp_path) == []


def test_curves_are_the_rows() -> None:
    result = RESULTS["over d"]
    with styled():
        (ax,) = bounds_figure(result).axes
    lines = lines_of(ax)
    assert [float(x) for x in lines["covering"].get_xdata()] == [math.log10(d) for d in DIMS]
    for label, name, side in (
        ("covering", "covering", "lower"), ("codes", "known-code", "lower"),
        ("theorem 3.9, lower", "theorem-3.9", "lower"), ("Levenshtein", "levenshtein", "upper"),
        ("with ρ* = 1 − t*", "conjecture-levenshtein", "upper"),
    ):  # fmt: skip
        rows = [r.value for r in result.rows if (r.name, r.side, r.valid) == (name, side, True)]
        assert list(lines[label].get_ydata()) == rows
    assert list(lines["best proved upper"].get_ydata()) == [b.upper for b in result.best]
    assert set(lines["margin 0.3"].get_ydata()) == {0.3}
    assert ax.get_title("left") == "margin 0.3: a code from d = 16, none up to d = 4"
    assert {t.get_text() for t in ax.texts} == set(lines) - {"best proved lower"}


def test_a_code_stays_in_more_dimensions() -> None:
    """Where a row of codes is missing or worse, that of fewer dimensions holds."""
    result = RESULTS["over d"]
    rows = tuple(replace(r, value=0.1) if (r.name, r.d) == ("known-code", 512) else r
                 for r in result.rows if (r.name, r.d) != ("construction", 512))  # fmt: skip
    with styled():
        (ax,) = bounds_figure(replace(result, rows=rows)).axes
    heights = list(lines_of(ax)["codes"].get_ydata())
    assert heights[-1] == heights[-2] == max(heights)


@pytest.mark.parametrize("name", ["over d", "over K"])
def test_the_open_band_claims_nothing_between_the_points(name: str) -> None:
    """Its lower edge never exceeds the value of the worse neighbour, or the straight line between
    the formulas' values."""
    result = RESULTS[name]
    with styled():
        (ax,) = bounds_figure(result).axes
    lines = lines_of(ax)
    edge = lines["best proved lower"]
    x, y = edge.get_xdata(), edge.get_ydata()
    best = {math.log10(b.d if name == "over d" else b.K): b.lower for b in result.best}
    assert all(any(math.isclose(a, p) and math.isclose(b, q) for a, b in zip(x, y, strict=True))
               for p, q in best.items())  # fmt: skip
    assert all(a <= b for a, b in zip(x, x[1:], strict=False))
    cover = dict(zip(lines["covering"].get_xdata(), lines["covering"].get_ydata(), strict=True))
    places = sorted(best)
    for p, q in zip(places, places[1:], strict=False):
        middle = (p + q) / 2
        at = max(i for i, a in enumerate(x) if a <= middle)
        share = (middle - x[at]) / (x[at + 1] - x[at])
        drawn = y[at] + share * (y[at + 1] - y[at])
        worse = min(best[p], best[q])
        assert drawn <= max(worse, (cover[p] + cover[q]) / 2) + 1e-12
        assert drawn >= worse - 1e-12


def test_panels_name_their_K_and_share_a_legend() -> None:
    with styled():
        figure = bounds_figure(RESULTS["panels"])
    assert [ax.get_title("left") for ax in figure.axes] == [
        "K = 1,000", "K = 1,000,000", "K = $10^{30}$"
    ]  # fmt: skip
    (legend,) = figure.legends
    said = [t.get_text() for t in legend.get_texts()]
    assert {"open", "codes", "covering", "Levenshtein", "margin 0.3"} <= set(said)
    assert len(set(said)) == len(said)
    assert not any(ax.texts for ax in figure.axes)


def test_many_K_are_pairs_of_lines() -> None:
    result = RESULTS["many K"]
    with styled():
        (ax,) = bounds_figure(result).axes
    assert len({t.get_text() for t in ax.texts}) == 11
    heights = [list(line.get_ydata()) for line in ax.get_lines()]
    for K in {b.K for b in result.best}:
        some = [b for b in result.best if b.K == K]
        assert [b.lower for b in some] in heights and [b.upper for b in some] in heights


@pytest.mark.parametrize(
    ("name", "low", "high"), [("pair", "lower", "upper"), ("angles", "lower_deg", "upper_deg")]
)
def test_the_ruler_shades_what_is_open(name: str, low: str, high: str) -> None:
    result = RESULTS[name]
    with styled():
        (ax,) = bounds_figure(result).axes
    (span,) = ax.patches
    best = result.best[0]
    assert span.get_x() == getattr(best, low)
    assert span.get_x() + span.get_width() == pytest.approx(getattr(best, high))
    dots = [line.get_xdata()[0] for line in ax.get_lines() if line.get_marker() == "o"]
    values = [r.value if r.angle_deg is None else r.angle_deg for r in result.rows]
    assert sorted(dots) == sorted(values)
    assert [t.get_text() for t in ax.get_yticklabels()] != []


def test_what_does_not_hold_is_said() -> None:
    with styled():
        (ax,) = bounds_figure(RESULTS["failed"]).axes
    assert sum("does not hold: K >= 17.6" in t.get_text() for t in ax.texts) == 2


def test_dimensions_reach_from_where_they_hold() -> None:
    with styled():
        (ax,) = bounds_figure(RESULTS["never"]).axes
    said = [t.get_text() for t in ax.texts]
    for text in ("d = 32", "d = 36", "d = 10", "in no dimension, by this bound",
                 "not up to a million dimensions", "open"):  # fmt: skip
        assert text in said
    (span,) = ax.patches
    assert (span.get_x(), span.get_x() + span.get_width()) == (10.0, 32.0)


def test_bands_follow_their_answers() -> None:
    for name, key in (("dimensions", "K"), ("classes over d", "d")):
        result = RESULTS[name]
        with styled():
            (ax,) = bounds_figure(result).axes
        drawn = [list(line.get_ydata()) for line in ax.get_lines()]
        if result.dimension is not None:
            best = result.dimension.best
            assert [b.sufficient for b in best] in drawn and [b.necessary for b in best] in drawn
            assert [b.conjectured for b in best] in drawn
        if result.classes is not None:
            some = result.classes.best
            assert [b.log10_guaranteed for b in some] in drawn
            assert [b.log10_excluded for b in some] in drawn
        assert ax.get_xlabel() == key
        assert {"a code exists", "no code exists"} <= {t.get_text() for t in ax.texts}


@pytest.mark.parametrize(
    ("heights", "placed"),
    [([], []), ([0.5], [0.5]), ([0.1, 0.5, 0.5], [0.1, 0.4, 0.6]), ([0, 0, 0], [-0.2, 0, 0.2])],
)
def test_labels_move_apart(heights: list[float], placed: list[float]) -> None:
    assert spread(heights, 0.2) == pytest.approx(placed)
