"""`bounds` from Python: what each bound says at (d, K), the best of all, and what files carry.

It tests gnc_cli/limits: api.py, run.py and result.py.
"""

import csv
import json
import math
import threading
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli import bounds, schemas
from gnc_cli.errors import DataError
from gnc_cli.limits.result import BestBounds, BoundRow, BoundsResult

VALIDATOR = jsonschema.Draft202012Validator(schemas.load("bounds"))

dims = st.integers(2, 30) | st.integers(2, 2000) | st.integers(2, 10**5)
sizes = st.integers(2, 500) | st.integers(2, 10**9) | st.integers(2, 10**18)
quantities = st.sampled_from(["one-vs-rest", "one-vs-one"])


@cache
def at(d: int, K: int, **options: Any) -> BoundsResult:
    return bounds(d, K, **options)


def only(result: BoundsResult) -> BestBounds:
    VALIDATOR.validate(result.to_json())
    (best,) = result.best
    return best


def row(result: BoundsResult, name: str, side: str = "lower") -> BoundRow:
    (found,) = [r for r in result.rows if (r.name, r.side) == (name, side)]
    return found


# Values


@pytest.mark.parametrize(
    ("pair", "name", "side", "value"),
    [
        ((10, 100), "theorem-3.9", "lower", 0.16970409734631223),
        ((10, 100), "theorem-3.9", "upper", 1.5048813799058967),
        ((512, 10_000), "theorem-3.9", "lower", 0.4781604975501637),
        ((512, 10_000), "theorem-3.9", "upper", 1.9798566152734043),
        ((3, 24), "theorem-3.9", "lower", 1 / 36),
        ((3, 24), "theorem-3.9", "upper", 0.8164965809277259),
        ((10, 100), "covering", "lower", 0.315698980536572712),
        ((512, 10_000), "covering", "lower", 0.836509780485234601),
        ((512, 10**6), "covering", "lower", 0.791924947964717437),
        ((64, 10**5), "covering", "lower", 0.497549562995926431),
        ((64, 10**5), "construction", "lower", 0.75),
        ((512, 10_000), "construction", "lower", 23 / 24),
        ((10, 100), "rankin", "upper", 1.0),
        ((10, 100), "levenshtein", "upper", 0.7215536536695407),
        ((512, 10_000), "levenshtein", "upper", 0.9762045362149357),
    ],
)
def test_check_values(pair: tuple[int, int], name: str, side: str, value: float) -> None:
    found = row(at(*pair), name, side)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.valid and found.quantity == "one-vs-rest"


@pytest.mark.parametrize(
    ("d", "K", "value"),
    [
        (2, 2, 2.0),
        (2, 3, 1.5),
        (2, 7, 1 - math.cos(2 * math.pi / 7)),
        (2, 10**6, 2 * math.sin(math.pi / 10**6) ** 2),
        (5, 4, 4 / 3),
        (3, 4, 4 / 3),
        (3, 5, 1.0),
        (512, 1000, 1.0),
        (512, 1024, 1.0),
        (10**5, 2, 2.0),
        (10**5, 2 * 10**5, 1.0),
    ],
)
def test_closed_forms_make_the_interval_a_point(d: int, K: int, value: float) -> None:
    best = only(at(d, K))
    assert best.lower == pytest.approx(value, rel=1e-13)
    assert best.upper == pytest.approx(value, rel=1e-13)
    assert best.exact and best.lower_name == "theorem-3.3"
    cosine = only(at(d, K, quantity="one-vs-one"))
    assert cosine.upper == pytest.approx(1 - value, abs=1e-15)
    assert cosine.lower == pytest.approx(1 - value, abs=1e-15)


@settings(max_examples=40)
@given(dims, sizes, quantities)
def test_the_best_is_the_best_of_what_holds(d: int, K: int, quantity: str) -> None:
    result = bounds(d, K, quantity=quantity)
    best = only(result)
    held = [r for r in result.rows if r.valid]
    assert best.lower <= best.upper and (best.d, best.K) == (d, K)
    low = max(r.value for r in held if r.side == "lower")
    high = min(r.value for r in held if r.side == "upper")
    assert (best.lower, best.upper) == (low, max(low, high))  # ends that meet may cross
    assert row(result, best.lower_name, "lower").value == low
    assert row(result, best.upper_name, "upper").value == high
    assert len({(r.name, r.side) for r in result.rows}) == len(result.rows)
    for r in result.rows:
        assert (r.d, r.K, r.quantity) == (d, K, quantity)
        assert r.source and r.side == ("lower" if r.exists == (quantity[-1] == "t") else "upper")
        assert r.how is None or (r.exists and r.how.startswith("gnc solve "))


@settings(max_examples=40)
@given(dims, sizes)
def test_both_quantities_tell_the_same(d: int, K: int) -> None:
    """rho* = 1 - t*; theorem 3.9 has a chord from above."""
    rests = {(r.name, r.exists): r for r in bounds(d, K).rows}
    for one in bounds(d, K, quantity="one-vs-one").rows:
        if not one.valid:
            continue
        assert one.angle_deg is not None and -1 <= one.value <= 1
        if one.angle_deg > 1e-3:
            assert one.angle_deg == pytest.approx(math.degrees(math.acos(one.value)), rel=1e-6)
        clearance = 2 * math.sin(math.radians(one.angle_deg) / 2) ** 2
        assert 1 - one.value == pytest.approx(clearance, abs=1e-15)
        rest = rests[one.name, one.exists].value
        printed = one.name == "theorem-3.9" and not one.exists
        margin = rest**2 / 2 if printed else rest
        assert margin == pytest.approx(clearance, rel=1e-12, abs=1e-307)


def test_rows_say_where_the_bisector_theorem_is_used() -> None:
    rest, one = at(10, 100), at(10, 100, quantity="one-vs-one")
    assert {(r.name, r.exists) for r in rest.rows if not r.bisector} == {
        ("theorem-3.9", False),
        *((r.name, True) for r in rest.rows if r.exists),
    }
    assert [r.name for r in one.rows if r.bisector] == ["solved-code"]


@pytest.mark.parametrize(
    ("d", "K"), [(3, 13), (3, 24), (4, 24), (4, 120), (7, 56), (8, 240), (24, 196560), (21, 162)]
)
def test_proved_tammes_optima_are_known_exactly(d: int, K: int) -> None:
    for quantity in ("one-vs-rest", "one-vs-one"):
        best = only(at(d, K, quantity=quantity))
        assert best.exact and best.upper - best.lower <= 1e-12
    assert not only(at(d, K + 2)).exact


# Several pairs, and a margin beside them


@pytest.mark.parametrize(
    ("d", "K", "margin", "status"),
    [
        (10, 20, 1.0, "exists"),
        (10, 21, 1.0, "excluded"),
        (10, 20, 1.0000001, "excluded"),
        (10, 21, 1.0000001, "excluded"),
        (64, 10**5, 0.75, "exists"),
        (64, 10**5, 0.7500001, "open"),
        (64, 10**5, 1.01, "excluded"),
        (4, 24, 0.5, "exists"),
        (4, 25, 0.5, "excluded"),
        (4, 25, 0.48, "open"),
        (2, 6, 0.5, "exists"),
        (2, 7, 0.5, "excluded"),
        (9, 10, 10 / 9, "exists"),
        (9, 10, 1.1111112, "excluded"),
        (3, 2, 2.0, "exists"),
        (3, 3, 2.0, "excluded"),
        (10**5, 10**18, 1e-12, "exists"),
        (2, 10**18, 1e-12, "excluded"),
    ],
)
def test_status_and_its_ties(d: int, K: int, margin: float, status: str) -> None:
    result = bounds(d, K, margin=margin)
    assert only(result).status == status
    assert result.margin == margin and result.max_cosine is None


def test_every_softmax_reaches_its_probability() -> None:
    """The second witness: the icosahedron's own softmax at the scale."""
    best = only(bounds(3, 12, probability=0.99))
    assert best.scale is not None
    from gnc_cli.constructions.registry import find

    code = find("icosahedron")
    assert code is not None
    logits = best.scale * np.asarray(code.build()) @ np.asarray(code.build()).T
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    assert np.all(np.diag(odds) / odds.sum(axis=1) >= 0.99 - 1e-12)


# Tables, files, and what Python does with the result


def test_one_better_line(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("10,100,0.3\n")
    best = only(bounds(10, 100, table=tmp_path / "t.txt"))
    assert best.lower == pytest.approx(0.7, rel=1e-15) and best.lower_name == "known-code"
    assert "t.txt" in row(bounds(10, 100, table=tmp_path / "t.txt"), "known-code").source
    # Our copy stays beside it.
    (tmp_path / "t.txt").write_text("10,100,0.9\n")
    assert bounds(10, 100, table=tmp_path / "t.txt").rows == at(10, 100).rows
    (tmp_path / "t.txt").write_text("10,100,2\n")
    with pytest.raises(DataError, match=r"t\.txt.*line 1"):
        bounds(10, 100, table=tmp_path / "t.txt")


@pytest.mark.parametrize(
    "line",
    [
        "3,24,0.1",
        "3,24,0.723",
        "8,241,0.5",
        "10,100,0",
        "3,13,0.54",
        "4,25,0.5",
        "2,5,0.309",
        "8,240,0.4999999999",
    ],
)
def test_a_table_that_contradicts_a_proof_is_bad_data(tmp_path: Path, line: str) -> None:
    (tmp_path / "t.txt").write_text(f"4,24,0.5\n{line}\n")
    for question in ({"d": 7, "K": 9}, {"d": 8, "margin": 0.5}, {"K": 24, "margin": 0.5}):
        with pytest.raises(DataError, match=r"t\.txt.* is impossible") as caught:
            bounds(**question, table=tmp_path / "t.txt")  # type: ignore[arg-type]
        assert "\n" not in str(caught.value)


def test_rows_are_read_back(tmp_path: Path) -> None:
    names = [tmp_path / f"rows{suffix}" for suffix in (".csv", ".json", ".h5")]
    for name in names:
        result = bounds(d=[10, 11], K=[100, 10**18], out=name)
    read = list(csv.DictReader(names[0].read_text().splitlines()))
    assert len(read) == len(result.rows)
    assert [float(r["value"]) for r in read] == [r.value for r in result.rows]
    assert [r["name"] for r in read] == [r.name for r in result.rows]
    bounds(d=[10, 11], K=100, best=True, out=tmp_path / "best.csv")
    read_best = list(csv.DictReader((tmp_path / "best.csv").read_text().splitlines()))
    assert [r["lower_name"] for r in read_best] == ["solved-code", "solved-code"]
    assert {r["K"] for r in read} == {"100", "1000000000000000000"}
    body = json.loads(names[1].read_text())
    VALIDATOR.validate(body)
    assert body["rows"] == result.to_json()["rows"] and body["best"] == result.to_json()["best"]
    with h5py.File(names[2]) as file:
        assert file.attrs["gnc_format"] == 1
        assert file["rows/value"][:].tolist() == [r.value for r in result.rows]
        assert file["rows/name"].asstr()[:].tolist() == [r.name for r in result.rows]
        assert file["rows/valid"][:].tolist() == [r.valid for r in result.rows]


def test_interruption_and_progress() -> None:
    stop = threading.Event()
    reports: list[tuple[str, int, int]] = []

    def tell(stage: str, done: int, total: int, worst: float) -> None:
        reports.append((stage, done, total))
        if done == 2:
            stop.set()

    result = bounds(d=[3, 4, 5], K=24, interrupt=stop, progress=tell)
    assert reports == [("bounds", 1, 3), ("bounds", 2, 3)]
    assert [b.d for b in result.best] == [3, 4] and result.outcome == "interrupted"
    VALIDATOR.validate(result.to_json())
    assert at(10, 100).outcome == "complete"


def test_nothing_is_drawn_where_nothing_was_answered(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    for asked in ({"d": 3, "K": [24, 25]}, {"d": 3, "margin": 0.5}, {"K": 24, "margin": 0.5}):
        result = bounds(**asked, interrupt=stop, plot=tmp_path / "a.png")  # type: ignore[arg-type]
        assert result.outcome == "interrupted" and not any(tmp_path.iterdir())


def test_one_pair_in_few_dimensions_has_the_linear_program() -> None:
    def asks(d: Any, K: Any, **more: Any) -> bool:
        return any(row.name == "delsarte-lp" for row in bounds(d, K, **more).rows)

    assert asks(3, 15) and asks(8, 300) and asks(4, 60, max_cosine=0.6)
    # Many dimensions, several pairs, an interval that is closed.
    assert not (asks(9, 300) or asks(3, [15, 16]) or asks([3, 4], 15) or asks(8, 240))
    best = bounds(4, 60).best[0]
    assert (best.upper, best.upper_name) == (bounds(4, 60, lp=True).best[0].upper, "delsarte-lp")


def test_the_linear_program_is_one_more_row() -> None:
    plain, more = at(9, 80), bounds(9, 80, lp=True)
    VALIDATOR.validate(more.to_json())
    added = [r for r in more.rows if r not in plain.rows]
    assert [r.name for r in added] == ["delsarte-lp"]
    assert [r for r in more.rows if r not in added] == list(plain.rows)
    # No weaker than Levenshtein's bound, whose polynomial it may take; no stronger than the truth.
    value = row(more, "delsarte-lp", "upper").value
    assert row(more, "known-code", "lower").value <= value
    assert value <= row(more, "levenshtein", "upper").value * (1 + 1e-9)
