"""paper/theorem.md: its table of intervals is what `bounds` says today, rounded outward, and its
sentences are those that can be supported."""

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

from gnc_cli import bounds

NOTE = Path(__file__).parents[2] / "paper/theorem.md"
ROW = (
    r"^\| \((\d+), (\d+)\) \| ([.\d]+) \.\. ([.\d]+) \| (?:= )?(\S+?)(?:\.\.\.)?(?: \.\. (\S+))? \|"
)
ROWS = re.findall(ROW, NOTE.read_text(encoding="utf-8"), re.MULTILINE)


def _outward(shown: str, value: float, up: bool) -> bool:
    """Return True if a printed value is the true one rounded outward, or its exact fraction."""
    if "/" in shown:
        return math.isclose(Fraction(shown), value, rel_tol=1e-15)
    scale = 10 ** len(shown.partition(".")[2])
    return round(float(shown) * scale) == (math.ceil if up else math.floor)(value * scale)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]},{row[1]}")
def test_the_intervals_are_those_of_bounds(row: tuple[str, ...]) -> None:
    d, K, old_lower, old_upper, lower, upper = row
    result = bounds(d=int(d), K=int(K))
    old = {r.side: r.value for r in result.rows if r.name == "theorem-3.9"}
    assert _outward(old_lower, old["lower"], False) and _outward(old_upper, old["upper"], True)
    (best,) = result.best
    assert _outward(lower, best.lower, False)
    assert best.exact if upper == "" else _outward(upper, best.upper, True)


def test_the_dimensions_for_a_million_classes_are_those_of_bounds() -> None:
    dimension = bounds(K=1e6, margin=0.3).dimension
    assert dimension is not None
    enough, needed = dimension.sufficient, dimension.necessary
    text = " ".join(NOTE.read_text(encoding="utf-8").split())
    assert len(ROWS) == 13
    assert f"now d = {enough} is enough, and no code exists below d = {needed} [10]." in text
    page = (NOTE.parents[1] / "docs/theory/theorem.md").read_text(encoding="utf-8")
    assert f"| {enough} is enough, {needed} is needed |" in page
    paper = " ".join((NOTE.parent / "paper.md").read_text(encoding="utf-8").split())
    assert f"is now known to lie in {needed} .. {enough}." in paper


ROOT = NOTE.parents[1]


def _text(name: str) -> str:
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def test_the_proof_has_one_text() -> None:
    note, page = _text("paper/theorem.md"), _text("docs/theory/theorem.md")
    assert note.count("*Proof.*") == 8 and "Proof" not in page and "paper/theorem.md" in page
    assert len(page.split()) < 0.5 * len(note.split())


def test_the_abstract_needs_two_dimensions() -> None:
    """On the line (1, 1, -1) solves both problems, and two of its points touch nothing else."""
    abstract = _text("paper/theorem.md").partition("## 1.")[0]
    assert r"Let $d \ge 2$. Then the converse holds" in abstract


def test_limits_of_minimisers_are_softmax_codes() -> None:
    for name in ("README.md", "docs/theory/theorem.md", "docs/tutorials/best-code.md"):
        text = _text(name)
        assert "limit of temperature 0" not in text and "s the temperature falls to 0" in text
    assert "falls to 0, but not to every one" in _text("README.md")


def test_what_is_said_of_solved_cases_can_be_supported() -> None:
    note, page = _text("paper/theorem.md"), _text("docs/theory/theorem.md")
    assert "solved case that we know of" not in note + page
    for pair in ("(16, 288)", "(20, 56)", "(21, 50)", "(21, 77)", "(64, 4224)", "(256, 66048)"):
        # Proved optimal by bounds on triples of points: the converse is open.
        assert pair in note.partition("Cohn et al. [9] proved")[2].partition("## 5.")[0]
    assert "(52, 325)" in note and "By theorem 7 and this proposition it is a theorem" in note
    assert "It is not among the statements that Coq checks" in note.replace("it is", "It is")
    assert "HardMax" in page and "prose, not Coq" in page


def test_the_exponent_that_was_claimed_is_a_claim() -> None:
    assert "claimed a smaller one in 2026; we have not been able to read it" in _text(
        "docs/theory/bounds.md"
    )
