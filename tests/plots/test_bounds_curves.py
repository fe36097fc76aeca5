"""Curves and bands of bounds: they are what the result says, and no more between samples."""

import math
from dataclasses import replace
from typing import Any

import pytest

from gnc_cli.plots.bounds import bounds_figure
from gnc_cli.plots.bounds_paths import held, joined
from gnc_cli.plots.style import styled
from tests.plots.bounds_pictures import DIMS, RESULTS


def lines_of(ax: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in ax.get_lines() if line.get_label()[0] != "_"}


def drawn(line: Any) -> list[tuple[float, float]]:
    """The points of a line, without its gaps."""
    pairs = zip(line.get_xdata(), line.get_ydata(), strict=True)
    return [(float(x), float(y)) for x, y in pairs if not math.isnan(y)]


def height(line: Any, at: float) -> float:
    """Of a path at a place between its points."""
    x, y = line.get_xdata(), line.get_ydata()
    left = max(i for i, a in enumerate(x) if a <= at)
    return float(y[left] + (y[left + 1] - y[left]) * (at - x[left]) / (x[left + 1] - x[left]))


def test_curves_are_the_rows() -> None:
    result = RESULTS["over d"]
    with styled():
        (ax,) = bounds_figure(result).axes
    lines = lines_of(ax)
    places = [math.log10(d) for d in DIMS]
    for label, name, side in (
        ("covering", "covering", "lower"), ("theorem 3.9, lower", "theorem-3.9", "lower"),
        ("Levenshtein", "levenshtein", "upper"),
    ):  # fmt: skip
        some = [r for r in result.rows if (r.name, r.side, r.valid) == (name, side, True)]
        rows = {r.d: r.value for r in some}
        assert drawn(lines[label]) == [(math.log10(d), v) for d, v in rows.items()]
        assert lines[label].get_linestyle() == "None"  # too far apart for a straight line
    for label, ends in (
        ("best upper", [b.upper for b in result.best]),
        ("best lower", [b.lower for b in result.best]),
        ("codes", [r.value for r in result.rows if r.name == "known-code"]),
    ):
        assert set(zip(places, ends, strict=True)) <= set(drawn(lines[label]))
    assert set(lines["margin 0.3"].get_ydata()) == {0.3}
    said = "margin 0.3: a code from d = 16, none up to d = 8 (of those asked)"
    assert ax.get_title("left") == said
    assert {t.get_text() for t in ax.texts} == set(lines)


def test_a_code_stays_in_more_dimensions() -> None:
    """Where a row of codes is missing or worse, that of fewer dimensions holds."""
    result = RESULTS["over d"]
    rows = tuple(replace(r, value=0.1) if (r.name, r.d) == ("known-code", 512) else r
                 for r in result.rows if (r.name, r.d) != ("construction", 512))  # fmt: skip
    with styled():
        (ax,) = bounds_figure(replace(result, rows=rows)).axes
    heights = list(lines_of(ax)["codes"].get_ydata())
    assert heights[-1] == heights[-2] == max(heights)


def test_codes_of_theorem_3_3_are_codes() -> None:
    result = RESULTS["sparse"]
    row = next(r for r in result.rows if r.K == 2 and r.name == "known-code")
    with styled():
        (ax,) = bounds_figure(replace(
            result, rows=(*result.rows, replace(row, name="theorem-3.3", value=2.0))
        )).axes  # fmt: skip
    assert drawn(lines_of(ax)["codes"])[0] == (math.log10(2), 2.0)


@pytest.mark.parametrize("name", ["over d", "over K", "sparse"])
def test_ends_claim_between_samples_what_is_monotone(name: str) -> None:
    """A code stays in more dimensions and with fewer points; so between two samples the best code
    has at least the worse lower end and at most the better upper one."""
    result = RESULTS[name]
    with styled():
        (ax,) = bounds_figure(result).axes
    lines = lines_of(ax)
    best = {math.log10(b.d if name == "over d" else b.K): b for b in result.best}
    places = sorted(best)
    for p, q in zip(places, places[1:], strict=False):
        middle = (p + q) / 2
        low, high = lines["best lower"], lines["best upper"]
        assert height(low, middle) == min(best[p].lower, best[q].lower)
        assert height(high, middle) == max(best[p].upper, best[q].upper)


def test_sparse_formulas_stand_alone() -> None:
    with styled():
        (ax,) = bounds_figure(RESULTS["sparse"]).axes
    line = lines_of(ax)["covering"]
    gaps = [i for i, y in enumerate(line.get_ydata()) if math.isnan(y)]
    assert gaps == [1, 3]  # 2 and 10002; 20002, 30002 and 40002 are near each other
    assert line.get_markevery() == [0, 2] and line.get_linestyle() == "-"


def test_bands_take_steps() -> None:
    result = RESULTS["three dimensions"]
    assert result.dimension is not None
    one, two, _ = result.dimension.best
    with styled():
        (ax,) = bounds_figure(result).axes
    blue, _, orange = ax.get_lines()[:3]
    middle = (math.log10(one.K) + math.log10(two.K)) / 2
    assert height(blue, middle) == two.sufficient != one.sufficient
    assert height(orange, middle) == one.necessary != two.necessary


@pytest.mark.parametrize(
    ("earlier", "path"),
    [(True, ([2, 3, 9, 9], [1, 2, 2, 5])), (False, ([2, 3, 3, 9], [1, 2, 5, 5]))],
)
def test_paths_step_but_between_consecutive_integers(
    earlier: bool, path: tuple[list[float], list[float]]
) -> None:
    assert held([2, 3, 9], [1, 2, 5], float, earlier) == path


def test_formulas_are_joined_where_samples_are_near() -> None:
    x, y, alone = joined({100: 0.1, 125: 0.2, 157: 0.3, 158: 0.4}, float, over_K=False)
    assert math.isnan(x[2]) and x[3:] == [157, 158] and not alone and y[3] == 0.3
    assert len(joined({100: 0.1, 150: 0.2, 226: 0.3}, float, over_K=True)[0]) == 4


def test_panels_name_their_K_and_share_a_legend() -> None:
    with styled():
        figure = bounds_figure(RESULTS["panels"])
    assert [ax.get_title("left") for ax in figure.axes] == [
        "K = 1 000", "K = 1 000 000", "K = $10^{30}$"
    ]  # fmt: skip
    (legend,) = figure.legends
    said = [t.get_text() for t in legend.get_texts()]
    assert {"open", "codes", "covering", "Levenshtein", "margin 0.3, of those asked"} <= set(said)
    assert len(set(said)) == len(said)
    assert not any(ax.texts for ax in figure.axes)


def test_many_K_are_pairs_of_lines() -> None:
    result = RESULTS["many K"]
    with styled():
        (ax,) = bounds_figure(result).axes
    assert len({t.get_text() for t in ax.texts}) == 11
    heights = [set(line.get_ydata()) for line in ax.get_lines()]
    for K in {b.K for b in result.best}:
        some = [b for b in result.best if b.K == K]
        assert {b.lower for b in some} in heights and {b.upper for b in some} in heights


def test_of_very_many_K_some_are_named() -> None:
    result = RESULTS["every K"]
    with styled():
        (ax,) = bounds_figure(result).axes
    named = [int(t.get_text()[4:]) for t in ax.texts]
    assert named == [60, *range(55, 9, -3)]  # the lowest line first, both ends among them
    heights = [set(line.get_ydata()) for line in ax.get_lines()]
    assert all({b.lower for b in result.best if b.K == K} in heights for K in range(10, 61))


def test_bands_follow_their_answers() -> None:
    for name, key in (("dimensions", "K"), ("classes over d", "d")):
        result = RESULTS[name]
        with styled():
            (ax,) = bounds_figure(result).axes
        drawn = [list(line.get_ydata()) for line in ax.get_lines()]
        if result.dimension is not None:
            best = result.dimension.best
            assert [b.sufficient for b in best] in drawn and [b.necessary for b in best] in drawn
        if result.classes is not None:
            some = result.classes.best
            assert [b.log10_guaranteed for b in some] in drawn
            assert [b.log10_excluded for b in some] in drawn
        assert ax.get_xlabel() == key
        assert {"a code exists", "no code exists"} <= {t.get_text() for t in ax.texts}
