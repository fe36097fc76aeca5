"""Pictures of bounds: what is drawn is what the result says, and no words lie on each other."""

import itertools
import math
import os
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from gnc_cli.errors import UsageError
from gnc_cli.plots.bounds import bounds_figure, plot_bounds
from gnc_cli.plots.bounds_ends import spread
from gnc_cli.plots.bounds_labels import asked_at
from gnc_cli.plots.bounds_paths import held, joined
from gnc_cli.plots.style import styled
from gnc_cli.results import BoundsResult
from tests.bounds_samples import classes, dimension, pair, sweep

DIMS = [2**i for i in range(1, 10)]
SIZES = [10**i for i in range(2, 9)]
RESULTS: dict[str, BoundsResult] = {
    "pair": pair(10, 100, 0.6), "angles": pair(10, 100, quantity="one-vs-one"),
    "failed": pair(30, 15), "tiny": pair(3, 10**9),
    "asked angle": replace(pair(10, 100, quantity="one-vs-one"), max_cosine=0.5,
                           arcface_m=math.pi / 3),
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
    "sparse": sweep([128], [2, 10002, 20002, 30002, 40002]),
    "cosine": replace(dimension([10**6]), margin=None, max_cosine=0.5, quantity="one-vs-one"),
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
    guess = [(p, b.conjectured) for p, b in zip(places, result.best, strict=True)]
    assert drawn(lines["with ρ* = 1 − t*"]) == [g for g in guess if g[1] is not None]
    for label, ends in (
        ("best proved upper", [b.upper for b in result.best]),
        ("best proved lower", [b.lower for b in result.best]),
        ("codes", [r.value for r in result.rows if r.name == "known-code"]),
    ):
        assert set(zip(places, ends, strict=True)) <= set(drawn(lines[label]))
    assert set(lines["margin 0.3"].get_ydata()) == {0.3}
    said = "margin 0.3: a code from d = 16, none up to d = 4 (of those asked)"
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
        low, high = lines["best proved lower"], lines["best proved upper"]
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
    shown = [r for r in result.rows if r.proven or r.value < best.upper]
    assert sorted(dots) == sorted(r.value if r.angle_deg is None else r.angle_deg for r in shown)
    assert [t.get_text() for t in ax.get_yticklabels()] != []


def test_conjectural_rows_that_say_nothing_more_are_left_out() -> None:
    result = RESULTS["pair"]
    row = next(r for r in result.rows if not r.proven)
    idle = replace(row, name="conjecture-idle", value=1.01 * result.best[0].upper)
    with styled():
        (ax,) = bounds_figure(replace(result, rows=(*result.rows, idle))).axes
    names = [t.get_text() for t in ax.get_yticklabels()]
    assert row.name in names and idle.name not in names


def figures_of(said: str) -> Decimal:
    """The number in a label."""
    said = said.replace(" ", "")
    found = re.search(r"[≤≥<=]\$?([0-9.]+)(?:\\times10\^\{(-?\d+)\}\$)?", said)
    assert found is not None, said
    return Decimal(found[1]).scaleb(int(found[2] or 0))


@pytest.mark.parametrize("name", ["pair", "angles", "failed", "tiny", "asked angle"])
def test_shown_values_are_rounded_to_the_safe_side(name: str) -> None:
    result = RESULTS[name]
    best = result.best[0]
    with styled():
        (ax,) = bounds_figure(result).axes
    shown = [r for r in result.rows if r.proven or r.value < best.upper]
    at = {id(r): r.value if r.angle_deg is None else r.angle_deg for r in shown}
    shown.sort(key=lambda r: (at[id(r)], not r.exists))
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
        if row.proven and not row.exists:
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
