"""Plots of bounds show what the results say."""

import math
import os
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from gnc_cli.console.drawing import BLUE, ORANGE, styled
from gnc_cli.errors import UsageError
from gnc_cli.limits.plot import bounds_figure
from tests.limits.questions import QUESTIONS, result

PLOTTED = [name for name, question in QUESTIONS.items() if name != "very large K"]


@cache
def drawn(name: str) -> Any:
    """Return the matplotlib figure of a question, laid out."""
    with styled():
        figure = bounds_figure(result(name))
        figure.draw_without_rendering()
    return figure


def axes(name: str) -> Any:
    """Those of the distances, dimensions or numbers of points; scales stand below them."""
    return drawn(name).axes[0]


@pytest.mark.parametrize("name", PLOTTED)
def test_every_question_has_a_plot_with_a_legend_of_its_own_names(name: str) -> None:
    named = [text.get_text() for text in drawn(name).legends[0].get_texts()]
    known = name not in ("impossible", "not up to a million")  # else no bar of a code is drawn
    assert {"no code e", *["a code ex"] * known} <= {text[:9] for text in named}
    assert known == any(text.startswith("a code exists") for text in named)
    assert len({*named}) == len(named)


def test_a_plot_is_written_whole_and_the_same_again(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg", "a.png"):
        result("pair").plot(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    with Image.open(tmp_path / "a.png") as image:
        image.load()
        assert image.format == "PNG"
    with pytest.raises(UsageError, match=r"\.png, \.svg, \.pdf"):
        result("pair").plot(tmp_path / "a.jpg")
    assert sorted(os.listdir(tmp_path)) == ["a.png", "a.svg", "b.svg"]


def _lines(name: str) -> list[list[str]]:
    """The name of the bound of each bar, and what the bar says."""
    return [text.get_text().split("   ") for text in axes(name).get_yticklabels()]


@pytest.mark.parametrize("name", ["pair", "angles", "hypothesis fails", "tiny"])
def test_bars_end_at_their_values_which_are_rounded_to_the_safe_side(name: str) -> None:
    ax = axes(name)
    dots = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    rows = sorted(result(name).rows, key=lambda r: (r.distance, not r.exists))
    for row, dot, (label, text) in zip(rows, dots, _lines(name), strict=True):
        assert dot == row.distance and label == row.name
        assert text[0] == ("≥" if row.exists else "<" if row.strict else "≤")
        shown, exact = Decimal(text[2:].rstrip("°")), Decimal(row.distance)
        slip = (exact - shown) * (1 if row.exists else -1)
        assert -exact * Decimal("2e-15") <= slip <= exact * Decimal("1e-5")
    best = result(name).best[0]
    spans = _open(name)
    assert len(spans) == (not best.exact)
    for span in spans:
        ends = span.get_x(), span.get_x() + span.get_width()
        assert ends == pytest.approx(best.distances, rel=1e-14)


def _open(name: str) -> list[Any]:
    return [p for p in axes(name).patches if p.get_label() == "open"]


def test_nothing_is_open_between_neighbouring_numbers_of_points() -> None:
    assert not _open("classes of one more") and len(_open("classes")) == 1


def test_dimensions_and_numbers_of_points_in_words() -> None:
    lines = _lines("dimension")
    assert ["construction", "exists from 21"] in lines
    assert ["levenshtein", "excluded below 18"] in lines
    assert ["theorem-3.9", "exists from 60"] in lines
    assert {"solved-code", "rankin"}.isdisjoint(bound for bound, _ in lines), "they say nothing"
    assert ["rankin", "excluded in every d"] in _lines("impossible")
    assert ["cardinality", "excluded from 241"] in _lines("classes of one more")
    assert ["theorem-3.9", "excluded from 10^178.962"] in _lines("classes")


def test_weak_bounds_do_not_stretch_the_axis() -> None:
    """Theorem 3.9 excludes K from 10^179 on, Levenshtein's bound from 2 118 401 016 on."""
    assert axes("classes").get_xlim() == pytest.approx((0.0, 2 * math.log10(2118401016)))


def test_the_target_is_shown_in_the_users_words() -> None:
    ax = axes("angles")
    assert not [line for line in axes("dimension").lines if line.get_marker() != "o"]
    (line,) = [line for line in ax.lines if line.get_marker() != "o"]
    assert line.get_xdata()[0] == pytest.approx(math.degrees(1.0), rel=1e-15)
    assert ax.get_title("left") == "minimal angle 1 rad (57.3 degrees): a code exists"
    assert drawn("angles").get_suptitle().startswith("Bounds: d = 10, K = 100, minimal angle 1 rad")
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


@pytest.mark.parametrize(("name", "held"), [("over d", "post"), ("over K", "pre")])
def test_ends_claim_between_samples_what_is_monotone(name: str, held: str) -> None:
    """A code stays in more dimensions and with fewer points; so between two samples the best code
    has at least the worse lower end and at most the better upper one."""
    for exists, end in ((True, "lower"), (False, "upper")):
        line = _steps(name, exists)
        assert [*line.get_ydata()] == [getattr(b, end) for b in result(name).best]
        assert (line.get_drawstyle() == f"steps-{held}") is exists


@pytest.mark.parametrize(("name", "held"), [("over d", "post"), ("panels over K", "pre")])
def test_scales_stand_below_the_margins(name: str, held: str) -> None:
    _, ax = drawn(name).axes
    solid = [line for line in ax.lines if line.get_drawstyle() == f"steps-{held}"]
    found = result(name).best
    for line, d in zip(solid, sorted({b.d for b in found}), strict=False):
        curve = [b for b in found if held == "post" or b.d == d]
        if line.get_linestyle() == "-":
            assert [*line.get_ydata()] == [b.margins.scale.upper for b in curve]
    assert {*ax.get_ylabel().split()} >= {"scale", "0.9"}
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == ["enough for the best code known", "needed by every code", "AdaCos"]
    assert len(drawn("every d").axes) == len(drawn("pair").axes) == 1
