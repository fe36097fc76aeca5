"""Bars of bounds: where they end, how their figures are rounded, what they are called."""

import math
import re
from dataclasses import replace
from decimal import Decimal

import pytest

from gnc_cli.plots.bounds import bounds_figure
from gnc_cli.plots.bounds_labels import asked_at
from gnc_cli.plots.style import styled
from tests.plots.bounds_pictures import RESULTS


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
    values = sorted(r.value if r.angle_deg is None else r.angle_deg for r in result.rows)
    assert sorted(dots) == values
    assert [t.get_text() for t in ax.get_yticklabels()] != []


def figures_of(said: str) -> Decimal:
    """The number in a label."""
    said = said.replace(" ", "")
    found = re.search(r"[≤≥<=]\$?([0-9.]+)(?:\\times10\^\{(-?\d+)\}\$)?", said)
    assert found is not None, said
    return Decimal(found[1]).scaleb(int(found[2] or 0))


@pytest.mark.parametrize("name", ["pair", "angles", "failed", "tiny", "asked angle"])
def test_shown_values_are_rounded_to_the_safe_side(name: str) -> None:
    result = RESULTS[name]
    with styled():
        (ax,) = bounds_figure(result).axes
    at = {id(r): r.value if r.angle_deg is None else r.angle_deg for r in result.rows}
    shown = sorted(result.rows, key=lambda r: (at[id(r)], not r.exists))
    labels = [t.get_text() for t in ax.texts if t.get_text()[0] in "≤≥"]
    assert len(labels) == len(shown)
    for row, said in zip(shown, labels, strict=True):
        figure, value = figures_of(said), Decimal(at[id(row)])
        noise = value * Decimal("2e-15")
        assert figure <= value + noise if row.exists else figure >= value - noise, said
        assert said[0] == ("≥" if row.exists else "≤")
        assert abs(figure - value) <= value * Decimal("1e-5")


def test_shown_dimensions_and_powers_are_true() -> None:
    for name in ("dimension", "never"):
        answer = RESULTS[name].dimension
        assert answer is not None
        with styled():
            (ax,) = bounds_figure(RESULTS[name]).axes
        said = {t.get_text() for t in ax.texts}
        for row in answer.rows:
            if row.d not in (None, 2):
                assert f"d {'≥' if row.exists else '<'} {row.d}" in said
    answer_K = RESULTS["many classes"].classes
    assert answer_K is not None
    with styled():
        (ax,) = bounds_figure(RESULTS["many classes"]).axes
    said = {t.get_text() for t in ax.texts}
    for row_K in answer_K.rows:
        if row_K.log10_K is None:
            continue
        (text,) = [t for t in said if t.startswith("K")
                   and abs(float(t[t.index("{") + 1 : -2]) - row_K.log10_K) < 0.1]  # fmt: skip
        power = Decimal(text[text.index("{") + 1 : -2])
        noise = Decimal("1e-9")
        exact = Decimal(row_K.log10_K)
        assert power <= exact + noise if row_K.exists else power >= exact - noise


def test_half_open_ends_have_open_dots() -> None:
    with styled():
        (ax,) = bounds_figure(RESULTS["dimension"]).axes
    dots = {line.get_xdata()[0]: line for line in ax.get_lines() if line.get_marker() == "o"}
    assert dots[10.0].get_markerfacecolor() == "white"  # d < 10 is excluded, 10 is not
    assert dots[32.0].get_markerfacecolor() == dots[32.0].get_color()


def test_what_is_known_not_to_be_attained_is_closed() -> None:
    result = RESULTS["pair"]
    rows = tuple(replace(r, strict=r.name == "rankin") for r in result.rows)
    with styled():
        (ax,) = bounds_figure(replace(result, rows=rows)).axes
    dots = {at.get_xdata()[0]: at for at in ax.get_lines() if at.get_marker() == "o"}
    for row in rows:
        if not row.exists:
            assert (dots[row.value].get_markerfacecolor() == "white") is not row.strict
    assert sum(t.get_text()[0] == "<" for t in ax.texts) == 1


def test_names_of_two_bounds_say_which() -> None:
    with styled():
        (ax,) = bounds_figure(RESULTS["pair"]).axes
    names = [t.get_text() for t in ax.get_yticklabels()]
    assert {"theorem-3.9 (existence)", "theorem-3.9 (exclusion)", "covering"} <= set(names)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", ["pair", "tiny", "asked angle", "dimension", "classes"])
def test_regions_are_named(name: str) -> None:
    with styled():
        (ax,) = bounds_figure(RESULTS[name]).axes
    assert {"a code exists", "open", "no code"} <= {t.get_text() for t in ax.texts}


def test_between_neighbours_nothing_is_open() -> None:
    with styled():
        (ax,) = bounds_figure(RESULTS["nothing open"]).axes
        (band,) = bounds_figure(RESULTS["nothing open over d"]).axes
    for panel in (ax, band):
        assert "open" not in {t.get_text() for t in panel.texts}
    assert {"a code exists", "no code"} <= {t.get_text() for t in ax.texts}
    assert not ax.patches
    middle = math.log10(240 * 241) / 2
    blue, orange = (c.get_paths()[0].vertices[:, 1] for c in band.collections)
    assert max(blue) == pytest.approx(middle) == min(orange)


def test_far_ends_lie_on_a_logarithmic_ruler() -> None:
    with styled():
        scales = [bounds_figure(RESULTS[n]).axes[0].get_xscale() for n in ("pair", "tiny")]
    assert scales == ["linear", "log"]


def test_the_target_is_said_in_the_users_words() -> None:
    with styled():
        (ax,) = bounds_figure(RESULTS["asked angle"]).axes
        title = bounds_figure(RESULTS["cosine"]).texts[0].get_text()
    line = next(at for at in ax.get_lines() if at.get_linestyle() == "--")
    assert line.get_xdata()[0] == pytest.approx(60.0, rel=1e-15)
    assert any("1.0471975511965976 rad" in t.get_text() for t in ax.texts)
    assert title.strip() == "Dimensions for largest cosine at most 0.5"


@pytest.mark.parametrize(
    ("cosine", "degrees"), [(0.5, 60.0), (-1.0, 180.0), (1.0 - 2.0**-50, math.degrees(2.0**-24.5))]
)
def test_a_cosine_stands_at_its_angle(cosine: float, degrees: float) -> None:
    result = replace(RESULTS["angles"], max_cosine=cosine)
    assert asked_at(result) == pytest.approx(degrees, rel=1e-12)


def test_what_does_not_hold_is_said() -> None:
    with styled():
        (ax,) = bounds_figure(RESULTS["failed"]).axes
    assert sum("does not hold: K >= 17.6" in t.get_text() for t in ax.texts) == 2


def test_dimensions_reach_from_where_they_hold() -> None:
    with styled():
        (ax,) = bounds_figure(RESULTS["never"]).axes
    said = [t.get_text() for t in ax.texts]
    for text in ("d ≥ 32", "d ≥ 36", "d < 10", "theorem-3.9 (existence)", "known-code", "open"):
        assert text in said
    names = [t.get_text() for t in ax.get_yticklabels()]
    assert names[-2:] == ["in no dimension", "not up to 1 000 000"]
    (span,) = ax.patches
    assert (span.get_x(), span.get_x() + span.get_width()) == (10.0, 32.0)
