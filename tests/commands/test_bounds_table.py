"""Tables of bounds: exact words, figures rounded to the safe side, nothing lost at any width."""

import io
import math
import shlex
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from gnc_cli.commands.bounds_build import command_cost, command_lines
from gnc_cli.commands.bounds_said import CLASSES, DIMENSION, Asking
from gnc_cli.commands.bounds_table import bounds_table
from gnc_cli.commands.bounds_words import classes_text, dimension_text, interval_text
from gnc_cli.results import BoundsResult
from gnc_cli.results.figures import cosine, points, rounded
from tests.bounds_samples import LONG, classes, dimension, pair, sweep

RESULTS: dict[str, BoundsResult] = {
    "pair": pair(10, 100), "asked": pair(10, 100, 0.6, 0.9), "angles":
    pair(10, 100, quantity="one-vs-one"), "failed": pair(30, 15),
    "sweep": sweep([16, 512], [1000, 10**30], 0.3, 0.9),
    "sweep of angles": sweep([8, 64], [1000], quantity="one-vs-one"),
    "dimension": dimension([10**6], 0.6), "dimensions": dimension([10**4, 10**30]),
    "classes": classes([64]), "classes of several": classes([16, 64, 512]),
    "many": classes(range(10, 30)),
}  # fmt: skip


def drawn(table: RenderableType, width: int = 100) -> str:
    text = io.StringIO()
    console = Console(file=text, width=width, highlight=False, markup=False, emoji=False)
    console.print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def shown(name: str, width: int = 100, verbose: bool = False) -> str:
    return drawn(bounds_table(RESULTS[name].to_json(), verbose), width)


def said(body: dict[str, Any], asking: Asking) -> list[dict[str, Any]]:
    return asking.said(body[asking.key], False).rows if body[asking.key] else []


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("name", RESULTS)
def test_no_value_is_lost(name: str, width: int) -> None:
    text = shown(name, width)
    assert all(len(line) <= width for line in text.splitlines())
    words = " ".join(text.split())
    body: dict[str, Any] = RESULTS[name].to_json()
    single = body["quantity"] == "one-vs-one"
    show = cosine if single else rounded
    for b in body["best"] if "sweep" in name else ():
        assert show(b["lower"], False, 8) in words and show(b["upper"], True, 8) in words
    for row in body["rows"] if "sweep" not in name else ():
        assert f" {row['side']} {row['name']} {show(row['value'], row['side'] == 'upper')}" in words
        assert row["source"][:9] in words or not row["valid"]
    for row in said(body, DIMENSION):
        assert row["name"] in words and (row["d"] == 2 or row["source"][:9] in words)
        assert row["d"] is None or row["d"] == 2 or f" {row['d']} " in words
    for row in said(body, CLASSES) if name != "many" else ():
        assert row["log10_K"] is None or points(row["K"], row["log10_K"], row["side"] == "upper"
                                                ) in words  # fmt: skip


def test_one_pair() -> None:
    lines = shown("asked").splitlines()
    assert lines[0] == "Bounds   d = 10, K = 100"
    assert lines[2].endswith("distance of the best code: 0.38858437035 <= rho* <= 0.530644359009")
    assert lines[3] == "  from below: known-code; from above: levenshtein"
    assert lines[4].startswith("margin 0.6: no code exists (levenshtein)")
    assert "enough" not in "".join(lines)
    sides = [line.split()[:2] for line in lines if line.startswith(("lower", "upper"))]
    assert sides == [["lower", n] for n in ("known-code", "covering", "construction",
                                            "theorem-3.9")] + [
        ["upper", n] for n in ("levenshtein", "rankin", "theorem-3.9")]
    assert lines[-3] == ("bisector theorem: rho* = 1 - t*, t* the smallest possible largest cosine "
                         "(docs/theorem.md)")  # fmt: skip
    assert lines[-1].startswith("build it (known-code): gnc solve --d 10")


@pytest.mark.parametrize(
    ("margin", "said"),
    [(0.3, "margin 0.3: a code exists (known-code)"),
     (0.5, "margin 0.5: open: no such code is known, and none is excluded"),
     (1.2, "margin 1.2: no code exists (lev")],
)
def test_verdicts(margin: float, said: str) -> None:
    assert said in drawn(bounds_table(pair(10, 100, margin).to_json()))


def test_a_hypothesis_that_fails_is_said_and_dim() -> None:
    text = shown("failed")
    rows = [line for line in text.splitlines() if " theorem-3.9 " in line]
    assert len(rows) == 2 and all("does not hold: K >= 17.6" in row for row in rows)
    # After what holds on its side.
    before = text.splitlines()[text.splitlines().index(rows[0]) - 1]
    assert before.startswith("lower  construction")


def test_one_vs_one_has_cosines_and_degrees() -> None:
    text = shown("angles")
    assert "largest cosine of the best code: 0.469355640991 <= t <= 0.61141562965" in text
    assert "its smallest angle: 52.30806726 to 62.00752208 degrees" in text
    assert "lower  levenshtein   0.469355640991   62.00752208" in text


def test_sources_are_whole_with_verbose() -> None:
    body = RESULTS["pair"].to_json()
    body["rows"][4]["source"] = "B 1955, " + "on spheres " * 9
    text = drawn(bounds_table(body))
    assert text.count("on spheres") < 8 and "\u2026" in text
    assert "\nlower  known-code    0.38858437035 " in text
    assert drawn(bounds_table(body, verbose=True)).count("spheres") == 9


def test_verbose_names_the_keys() -> None:
    text = shown("pair", verbose=True)
    value = RESULTS["pair"].to_json()["rows"][1]
    assert f"{value['name']:<12}  {rounded(value['value'], False)}  rows.1" in text
    assert "dimension.rows.1 " in shown("dimension", verbose=True)


def test_dimensions_in_words() -> None:
    text = shown("dimension", 120)
    assert "a code of K = 1 000 000 points with margin 0.6 exists from d = 32 on; " \
        "below d = 10 none exists; between them it is open" in " ".join(text.split())  # fmt: skip
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "theorem-3.9 exists from never, by this bound source of theorem-3.9" in rows
    assert "known-code exists from not up to 10^6 source of known-code" in rows
    assert "say nothing here: rankin" in rows
    assert "rankin excludes nothing dimension.rows.6" in " ".join(
        shown("dimension", verbose=True).split()
    )
    assert "s = 1/tau >= 53.25 brings every softmax probability to 0.9 at margin 0.6" in text


@pytest.mark.parametrize(
    ("sufficient", "necessary", "said"),
    [
        (32, 8, "a code of K = 9 points with M exists from d = 32 on; below d = 8 none exists; "
                "between them it is open"),
        (8, 8, "a code of K = 9 points with M exists from d = 8 on, and below none exists"),
        (8, 2, "a code of K = 9 points with M exists from d = 8 on; no dimension is excluded; "
               "between them it is open"),
        (2, 2, "a code of K = 9 points with M exists from d = 2 on, that is always"),
        (None, 8, "no dimension is known to have a code of K = 9 points with M; below d = 8 none "
                  "exists, from there on it is open"),
        (None, None, "no code of K = 9 points with M exists in any dimension"),
    ],
)  # fmt: skip
def test_endings_of_dimensions(sufficient: int | None, necessary: int | None, said: str) -> None:
    best = {"K": 9, "sufficient": sufficient, "necessary": necessary}
    assert dimension_text(best, "M") == said


def test_numbers_of_points_in_words() -> None:
    best = dict(d=3, guaranteed=5, log10_guaranteed=math.log10(5), excluded=None,
                log10_excluded=45.678901)  # fmt: skip
    assert classes_text(best, "margin 1") == (
        "up to K = 5 points a code with margin 1 in d = 3 exists; "
        "from K = 10^45.679 on none exists; between it is open"
    )
    best |= {"excluded": 6, "log10_excluded": math.log10(6)}
    assert classes_text(best, "margin 1").endswith("exists; from K = 6 on none exists")


def test_closed_forms_are_points() -> None:
    best = {"quantity": "one-vs-rest", "lower": 1.0, "upper": 1.0 + 2e-16, "exact": True}
    assert interval_text(best) == "one-vs-rest distance of the best code: rho* = 1 (known exactly)"
    best |= {"quantity": "one-vs-one", "lower": -0.0, "upper": 6e-17}
    best |= {"lower_deg": 90.0, "upper_deg": 90.0}
    assert interval_text(best) == "largest cosine of the best code: t = 0 (known exactly)"


@given(st.floats(1e-12, 2.0), st.integers(4, 15), st.booleans())
def test_figures_are_rounded_to_the_safe_side(value: float, digits: int, up: bool) -> None:
    said = Decimal(rounded(value, up, digits))
    slip = (said - Decimal(value)) * (1 if up else -1)
    assert -Decimal(3e-15) * Decimal(value) <= slip <= Decimal(10) ** (1 - digits) * said
    assert len(said.normalize().as_tuple().digits) <= digits


@given(st.floats(-1.0, 1.0), st.booleans())
def test_cosines_are_rounded_to_the_safe_side(value: float, up: bool) -> None:
    slip = (Decimal(cosine(value, up)) - Decimal(value)) * (1 if up else -1)
    assert Decimal(-3e-15) <= slip <= Decimal(1.01e-12)


@pytest.mark.parametrize(
    ("K", "log10", "up", "said"),
    [
        (999, None, False, "999"), (10**14, None, False, "100 000 000 000 000"),
        (1e300, None, False, "10^300"), (None, 34012.34567, False, "10^34012.3"),
        (None, 34012.34567, True, "10^34012.4"), (None, None, False, "-"),
    ],
)  # fmt: skip
def test_points(K: float | None, log10: float | None, up: bool, said: str) -> None:
    assert points(K, log10, up) == said


@pytest.mark.parametrize("width", [72, 80, 100])
def test_commands_are_copied_as_shells_read_them(width: int) -> None:
    names = ("known-code", "construction", "known-code")
    _, line = command_lines([{"name": name, "how": LONG} for name in names])
    text = drawn(line, width)
    assert all(len(part) <= width for part in text.splitlines())
    label, _, command = text.partition(": ") if ": " in text else text.partition(":")
    assert label == "build it (known-code, construction)"
    assert shlex.split(command.replace("\\\n", "")) == shlex.split(LONG)


def test_sentences_keep_numbers_whole() -> None:
    for width in range(34, 90):
        text = shown("dimension", width)
        assert "K = 1 000 000 points" in text or "K = 1 000 000\npoints" in text
        assert "s = 1/tau >= 53.25" in text


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_narrow_sweeps_cut_no_figure(width: int) -> None:
    body = sweep([2, 512], [10**6, 999_999_999_999_999], 0.3, 0.9).to_json()
    text = drawn(bounds_table(body), width)
    rest = " ".join(text.split())
    assert "pairs of d and K; margin 0.3 d K lower" in rest and "exists?" in rest
    assert all(len(line) <= width for line in text.splitlines())
    for best in body["best"]:
        assert f" {points(best['K'])} {rounded(best['lower'], False, 8)} " in rest
        assert rounded(best["upper"], True, 8) in rest
    if width in (60, 160):
        assert ("hidden: by, " in text) == (width == 60) != ("levenshtein" in text)


def test_cosines_near_one_keep_their_distance() -> None:
    best = dict(quantity="one-vs-one", lower=1.0, upper=1.0, lower_deg=3.6e-10, upper_deg=7.2e-10,
                exact=False)  # fmt: skip
    assert interval_text(best) == (
        "largest cosine of the best code: 1 - 7.89569e-23 <= t <= 1 - 1.97392e-23"
    )
    best |= {"upper_deg": 3.6e-10, "exact": True}
    assert interval_text(best).startswith("largest cosine of the best code: t = 1 - 1.9739")


@given(st.floats(1e-150, 1e-3), st.booleans())
def test_distances_from_one_are_rounded_to_the_safe_side(degrees: float, up: bool) -> None:
    exact = 2 * math.sin(math.radians(degrees) / 2) ** 2
    said = cosine(1.0 - exact, up, degrees=degrees)
    if exact < 0.9e-9:
        apart = Decimal(said.removeprefix("1 - "))
        slip = (Decimal(exact) - apart) * (1 if up else -1) / Decimal(exact)
        assert Decimal(-3e-15) <= slip <= Decimal(1.01e-5)


@pytest.mark.parametrize(
    ("asked", "title", "words"),
    [
        ({"margin": 0.3}, "margin of 0.3", "margin 0.3"),
        ({"max_cosine": 0.5}, "largest cosine of 0.5", "largest cosine at most 0.5"),
        ({"max_cosine": math.cos(0.5), "arcface_m": 0.5},
         "smallest angle of 0.5 rad (28.65 degrees)",
         "smallest angle at least 0.5 rad (28.65 degrees)"),
    ],
)  # fmt: skip
def test_answers_are_in_the_words_of_the_question(
    asked: dict[str, float], title: str, words: str
) -> None:
    nothing = {"margin": None, "max_cosine": None, "arcface_m": None}
    text = drawn(bounds_table(dimension([10**6]).to_json() | nothing | asked), 120)
    assert text.startswith(f"Dimensions for a {title}\n")
    assert f"points with {words} exists" in " ".join(text.split())
    text = drawn(bounds_table(classes([64]).to_json() | nothing | asked), 120)
    assert text.startswith(f"Points with {words}\n") and f"a code with {words} in d" in text
    assert "margin" not in text or "margin" in asked


def test_two_bounds_of_one_name_are_told_apart() -> None:
    text = drawn(bounds_table(classes([64], 0.6).to_json()))
    assert "say nothing here: theorem-3.9 (existence), rankin" in text
    assert "theorem-3.9  excluded from" in text


@pytest.mark.parametrize(
    ("command", "cost"),
    [
        ("gnc solve --d 500000 --K 1000000", "needs 4 TB"),
        ("gnc solve --d 64 --K 1000000000 --construction bch-64-30", "needs 512 GB"),
        ("gnc solve --d 26 --K 1000000", ""),
        ("gnc solve --method descent --d 9 --K 99", "minutes"),
    ],
)  # fmt: skip
def test_commands_say_what_they_need(command: str, cost: str) -> None:
    assert command_cost(command) == cost
    _, line = command_lines([{"name": "construction", "how": command}])
    label = f"build it (construction{'; ' if cost else ''}{cost}): gnc solve"
    assert drawn(line).startswith(label)


def test_remarks_keep_terms_whole() -> None:
    body = pair(10, 100).to_json()
    body["rows"][0]["source"] = "theorem 3.3: rho* never grows with K, and is 1 at K = 2 d"
    for width in range(40, 60):
        assert "K = 2 d" in drawn(bounds_table(body), width)
