"""Pictures of bounds: no words lie on each other, and they show what the results say."""

import itertools
import math
import os
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from gnc_cli.console.plot_style import BLUE, GREEN, INK, ORANGE, styled
from gnc_cli.errors import UsageError
from gnc_cli.limits.plot import bounds_figure, plot_bounds
from tests.limits.questions import QUESTIONS, result


@cache
def drawn(name: str) -> Any:
    """The figure, laid out."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with styled():
        figure = bounds_figure(result(name))
        FigureCanvasAgg(figure).draw()
    return figure


def axes(name: str) -> Any:
    (ax,) = drawn(name).axes
    return ax


def _boxes(texts: Any) -> dict[Any, Any]:
    """Of texts, in pixels."""
    from matplotlib.text import Text

    return {t: Text.get_window_extent(t) for t in texts if t.get_text() and t.get_visible()}


def _ticks(axis: Any) -> dict[Any, Any]:
    """Labels within the view; matplotlib keeps others, undrawn."""
    low, high = sorted(axis.get_view_interval())
    return _boxes(
        t.label1 if t.label1.get_visible() else t.label2
        for t in axis.get_major_ticks()
        if low <= t.get_loc() <= high
    )


@pytest.mark.parametrize("name", QUESTIONS)
def test_words_stay_within_the_picture_and_apart(name: str) -> None:
    figure, ax = drawn(name), axes(name)
    (legend,) = figure.legends
    groups = [
        _boxes([*figure.texts, *figure.artists]),
        _boxes(legend.get_texts()),
        _boxes([*ax.texts, ax._left_title, ax.xaxis.label, ax.yaxis.label]),
        *(_ticks(axis) for panel in (ax, *ax.child_axes) for axis in (panel.xaxis, panel.yaxis)),
    ]
    for group in groups:
        for text, box in group.items():
            assert -2 <= box.x0 and box.x1 <= figure.bbox.x1 + 2, text.get_text()
            assert -2 <= box.y0 and box.y1 <= figure.bbox.y1 + 2, text.get_text()
        for (one, a), (two, b) in itertools.combinations(group.items(), 2):
            width = min(a.x1, b.x1) - max(a.x0, b.x0)
            height = min(a.y1, b.y1) - max(a.y0, b.y0)
            # Boxes of letters hold room above and below them; the facts lie in the heading's box.
            apart = width <= 1 or height <= 0.3 * min(a.height, b.height)
            assert apart or one.axes is None, (one.get_text(), two.get_text())
    named = [t.get_text() for t in legend.get_texts()]
    assert len({*named}) == len(named)
    below, box = legend.get_window_extent(), ax.get_tightbbox()
    assert below.y1 <= box.y0 + 1 or below.x0 >= box.x1 - 1, "the legend lies beside the axes"


def test_a_picture_is_written_whole_and_the_same_again(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg", "a.png"):
        plot_bounds(result("pair"), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    with Image.open(tmp_path / "a.png") as image:
        image.load()
        assert image.format == "PNG"
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        plot_bounds(result("pair"), tmp_path / "a.jpg")
    assert sorted(os.listdir(tmp_path)) == ["a.png", "a.svg", "b.svg"]


def _lines(name: str) -> dict[str, str]:
    """What is written at each bar, by the name of its bound."""
    names = [t.get_text() for t in axes(name).get_yticklabels()]
    (texts,) = axes(name).child_axes
    assert len({*names}) == len(names)
    return dict(zip(names, [t.get_text() for t in texts.get_yticklabels()], strict=True))


@pytest.mark.parametrize("name", ["pair", "angles", "hypothesis fails", "tiny"])
def test_bars_end_at_their_values_which_are_rounded_to_the_safe_side(name: str) -> None:
    ax = axes(name)
    dots = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    rows = sorted(result(name).rows, key=lambda r: (r.distance, not r.exists))
    for row, dot, (label, text) in zip(rows, dots, _lines(name).items(), strict=True):
        assert dot == row.distance and label.startswith(row.name)
        assert text[0] == ("≥" if row.exists else "<" if row.strict else "≤")
        shown, exact = Decimal(text.partition(",")[0][2:].rstrip("°")), Decimal(row.distance)
        slip = (exact - shown) * (1 if row.exists else -1)
        assert -exact * Decimal("2e-15") <= slip <= exact * Decimal("1e-5")
        assert ("does not hold: K >= 101.8" in text) is not row.valid
    best = result(name).best[0]
    spans = [p for p in ax.patches if p.get_label() == "open"]
    assert len(spans) == (not best.exact)
    for span in spans:
        ends = span.get_x(), span.get_x() + span.get_width()
        assert ends == pytest.approx(best.distances, rel=1e-14)


def test_dimensions_and_numbers_of_points_in_words() -> None:
    found = _lines("dimension")
    assert found["construction"] == "d ≥ 26" and found["levenshtein"] == "d < 18"
    assert found["theorem-3.9 (existence)"] == "d ≥ 60"
    assert found["theorem-3.9 (exclusion)"] == "d < 8"
    assert {"solved-code", "rankin"}.isdisjoint(found), "they say nothing"
    assert _lines("impossible")["rankin"] == "every d"
    found = _lines("classes of one more")
    assert found["construction"] == "K ≤ 240" and found["cardinality"] == "K ≥ 241"
    assert _lines("classes")["theorem-3.9"] == "K ≥ 10^178.962"


def test_weak_bounds_do_not_stretch_the_axis() -> None:
    """Theorem 3.9 excludes K from 10^179 on, Levenshtein's bound from 2 118 401 016 on."""
    assert axes("classes").get_xlim() == pytest.approx((0.0, 2 * math.log10(2118401016)))


def test_the_target_is_shown_in_the_users_words() -> None:
    ax = axes("angles")
    (line,) = [line for line in ax.lines if line.get_marker() != "o"]
    assert line.get_xdata()[0] == pytest.approx(math.degrees(1.0), rel=1e-15)
    assert ax.get_title("left") == "smallest angle 1 rad (57.3 degrees): a code exists"
    (legend,) = drawn("panels").legends
    assert "margin 0.3" in [t.get_text() for t in legend.get_texts()]


def _steps(name: str, exists: bool) -> Any:
    """The line of what exists, or of what is excluded."""
    colour = BLUE if exists else ORANGE
    (line,) = [
        line
        for line in axes(name).lines
        if line.get_color() == colour and line.get_drawstyle() != "default"
    ]
    return line


def test_curves_are_the_rows() -> None:
    lines = {line.get_label(): line for line in axes("over d").lines}
    for label, name, exists in (
        ("covering", "covering", True),
        ("theorem 3.9, lower", "theorem-3.9", True),
        ("Levenshtein", "levenshtein", False),
    ):
        rows = [r for r in result("over d").rows if (r.name, r.exists) == (name, exists)]
        assert [*zip(*lines[label].get_data(), strict=True)] == [
            (r.d, r.value) for r in rows if r.valid
        ]


def test_codes_are_drawn_where_they_are_the_best_that_is_known() -> None:
    lines = {line.get_label(): line for line in axes("every d").lines}
    places, heights = lines["codes"].get_data()
    lower = {b.d: b.distances[0] for b in result("every d").best}
    drawn_at = {d: v for d, v in zip(places, heights, strict=True) if not math.isnan(v)}
    assert drawn_at == {d: pytest.approx(lower[d], rel=1e-9) for d in drawn_at}
    assert 2 in drawn_at  # the polygon
    assert len(drawn_at) < len(places)  # covering knows more of some dimensions
    for label in ("best existence bound", "best exclusion bound"):
        assert label in lines


@pytest.mark.parametrize("name", ["over d", "every d", "two d", "over K"])
def test_nothing_is_slanted_between_whole_numbers(name: str) -> None:
    """A line that belongs to the best ends or to one bound claims between two sizes what is
    monotone: a code stays in more dimensions and with fewer points."""
    over_K = name == "over K"
    for line in axes(name).lines:
        x = [*line.get_xdata()]
        if len({*x}) < 2 or x == [0, 1]:
            continue  # a target
        exists = line.get_color() in (BLUE, GREEN, INK) or "lower" in str(line.get_label())
        assert line.get_drawstyle() == ("steps-post" if exists != over_K else "steps-pre"), (
            line.get_label()
        )


@pytest.mark.parametrize(("name", "held"), [("over d", "post"), ("over K", "pre")])
def test_ends_claim_between_samples_what_is_monotone(name: str, held: str) -> None:
    """A code stays in more dimensions and with fewer points; so between two samples the best code
    has at least the worse lower end and at most the better upper one."""
    for exists, end in ((True, "lower"), (False, "upper")):
        line = _steps(name, exists)
        assert [*line.get_ydata()] == [getattr(b, end) for b in result(name).best]
        assert (line.get_drawstyle() == f"steps-{held}") is exists


def test_many_K_are_pairs_of_lines() -> None:
    for name in ("many K", "panels"):
        heights = [{*line.get_ydata()} for line in axes(name).lines]
        for K in QUESTIONS[name]["K"]:
            some = [b for b in result(name).best if b.K == K]
            assert {b.lower for b in some} in heights and {b.upper for b in some} in heights


@pytest.mark.parametrize("name", ["dimensions", "classes of far d"])
def test_regions_follow_their_answers(name: str) -> None:
    marks = [[*_steps(name, exists).get_ydata()] for exists in (True, False)]
    answer, classes = result(name).dimension, result(name).classes
    if answer is not None:
        assert marks == [[b.sufficient for b in answer.best], [b.necessary for b in answer.best]]
    if classes is not None:
        assert marks == [
            [b.log10_guaranteed for b in classes.best],
            [b.log10_excluded for b in classes.best],
        ]


def test_between_neighbours_nothing_is_open() -> None:
    assert not [p for p in axes("classes of one more").patches if p.get_label() == "open"]
    blue, orange = (_steps("classes over d", exists).get_ydata()[6] for exists in (True, False))
    assert blue == orange == pytest.approx(math.log10(240 * 241) / 2)
