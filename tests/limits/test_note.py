"""The table of intervals in paper/theorem.md is what `bounds` says today, rounded outward."""

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
    """Whether a figure is the value rounded down or up, or a fraction the value itself."""
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
