"""Fresh solves beside the table: verdicts, ledgers, order, and what the solver is asked."""

import json
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli.errors import DataError, OutputError, UsageError
from gnc_cli.results import CompareRow, Standing
from gnc_cli.workflows import compare_solve as module
from gnc_cli.workflows import known
from gnc_cli.workflows.compare_rows import pairs, row_of
from gnc_cli.workflows.compare_solve import compare_solve
from gnc_cli.workflows.known import read_table
from gnc_cli.workflows.solve import solve
from tests.workflows.compare_fakes import Solver, named_rows, random_rows


def answer(d: int, K: int, **_: Any) -> np.ndarray:
    names = {(3, 12): "icosahedron", (4, 10): "petersen", (3, 8): "square-antiprism"}
    return named_rows(names[d, K]) if (d, K) in names else random_rows(d, K)


@pytest.fixture
def solver(monkeypatch: pytest.MonkeyPatch) -> Solver:
    fake = Solver(answer)
    monkeypatch.setattr("gnc_cli.workflows.solve.solve", fake)
    monkeypatch.setattr(module, "_load", lambda: None)
    return fake


def test_each_pair_is_solved_and_judged(solver: Solver) -> None:
    rows = compare_solve([3, 4], [10, 12], budget=7.0, seed=3).rows
    assert [(r.d, r.K) for r in rows] == [(3, 10), (3, 12), (4, 10), (4, 12)]
    assert [r.status for r in rows] == [
        Standing.WORSE, Standing.MATCHES, Standing.MATCHES, Standing.WORSE,
    ]  # fmt: skip
    assert rows[1].congruent_to == "icosahedron"
    assert rows[1].gap == pytest.approx(0.0, abs=1e-14)
    assert rows[0].gap is not None and rows[0].gap > 0.01
    assert rows[1].more["rho_one_vs_rest"]["lower"] == pytest.approx(1 - 5**-0.5)
    for call in solver.calls:
        assert call["time_limit"] == 7.0 and call["threads"] == 1 and call["seed"] == 3
        assert call["method"] == "descent" and call["problem"] == "tammes"


def test_closed_forms_are_allowed_where_a_theorem_has_them(solver: Solver) -> None:
    compare_solve([2, 3], [6, 7])
    asked = {(c["d"], c["K"]): c["method"] for c in solver.calls}
    assert asked == {(2, 6): "auto", (2, 7): "auto", (3, 6): "auto", (3, 7): "descent"}


def test_the_other_problem(solver: Solver) -> None:
    row = compare_solve([3], [12], problem="softmax").rows[0]
    assert solver.calls[0]["problem"] == row.more["problem"] == "softmax"
    with pytest.raises(UsageError, match="--problem ufm"):
        compare_solve([3], [12], problem="ufm")


def test_an_improvement_is_proved(
    solver: Solver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "table.txt"
    table.write_text("3,8,0.262\n")
    # Our copy holds this code: a poorer table makes no news of it.
    assert compare_solve([3], [8], table=table).rows[0].status is Standing.MATCHES
    monkeypatch.setattr(known, "_ours", lambda: read_table(table))
    monkeypatch.setattr(known, "constructed", lambda d, K: None)
    row = compare_solve([3], [8], table=table).rows[0]
    assert row.status is Standing.IMPROVES
    # (2 sqrt(2) - 1) / 7, rounded up.
    assert row.more["proved_cosine"].startswith("0.26120387496374")
    assert float(row.more["proved_cosine"]) >= (8**0.5 - 1) / 7
    stamp = read_table(table).stamp
    assert stamp.date in row.more["improves_on"] and stamp.sha256 in row.more["improves_on"]
    assert row.more["improves_on"] in row.more["advice"] and row.more["reference"] == "table"


def test_rows_go_to_the_ledger_and_come_back(solver: Solver, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    told: list[CompareRow] = []
    first = compare_solve([3], [10, 12], out=out, on_row=told.append)
    assert [r.K for r in told] == [10, 12]
    assert len(solver.calls) == 2
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["K"] for line in lines] == [10, 12]
    told.clear()
    second = compare_solve([3, 4], [10, 12], out=out, resume=True, on_row=told.append)
    assert len(solver.calls) == 4
    assert second.rows[:2] == first.rows
    assert [(r.d, r.K) for r in told] == [(3, 10), (3, 12), (4, 10), (4, 12)]
    assert len(out.read_text().splitlines()) == 4
    # A narrower range takes what it asks for and leaves the rest alone.
    third = compare_solve([4], [12], out=out, resume=True)
    assert [(r.d, r.K) for r in third.rows] == [(4, 12)]
    assert len(solver.calls) == 4
    assert len(out.read_text().splitlines()) == 4


@pytest.mark.parametrize(
    "other", [{"budget": 9.0}, {"seed": 1}, {"problem": "softmax"}, {"table": "another"}]
)
def test_other_options_do_not_share_a_ledger(
    solver: Solver, tmp_path: Path, other: dict[str, Any]
) -> None:
    out, table = tmp_path / "rows.jsonl", tmp_path / "table.txt"
    table.write_text("3,12,0.5\n")
    if "table" in other:
        other = {"table": table}
    compare_solve([3], [12], out=out)
    with pytest.raises(DataError, match="was made with"):
        compare_solve([3], [12], out=out, resume=True, **other)
    with pytest.raises(OutputError, match="--force"):
        compare_solve([3], [12], out=out, **other)
    assert compare_solve([3], [12], out=out, force=True, **other).rows


def test_an_interruption_keeps_the_rows_so_far(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stop, out = threading.Event(), tmp_path / "rows.jsonl"

    def stopping(d: int, K: int, **_: Any) -> np.ndarray:
        if K == 12:
            stop.set()
        return random_rows(d, K)

    monkeypatch.setattr("gnc_cli.workflows.solve.solve", Solver(stopping))
    monkeypatch.setattr(module, "_load", lambda: None)
    result = compare_solve([3], [11, 12, 13], out=out, interrupt=stop)
    assert [r.K for r in result.rows] == [11]
    assert result.extras == {"mode": "solve", "interrupted": True}
    stop.clear()
    rest = compare_solve([3], [11, 13], out=out, resume=True, interrupt=stop)
    assert [r.K for r in rest.rows] == [11, 13]
    assert not rest.extras["interrupted"]


def test_progress_tells_the_largest_gap(solver: Solver) -> None:
    told: list[tuple[str, int, int, float]] = []
    result = compare_solve([3], [12, 13], progress=lambda *said: told.append(said))
    gaps = [r.gap for r in result.rows if r.gap is not None]
    assert [t[1:3] for t in told] == [(1, 2), (2, 2)]
    assert told[-1][3] == max(gaps)


@pytest.mark.parametrize(
    ("dims", "sizes", "budget", "said"),
    [([], [3], 1.0, "--d"), ([3], [], 1.0, "--K"), ([1], [3], 1.0, "--d 1"),
     ([3], [1], 1.0, "--K 1"), ([3], [3], 0.0, "--budget 0"),
     ([3], [3], float("nan"), "--budget nan")],
)  # fmt: skip
def test_pairs_are_checked(dims: list[int], sizes: list[int], budget: float, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        pairs(dims, sizes, budget)


def test_pairs_are_ordered_and_single() -> None:
    assert pairs([4, 3, 4], [6, 5], 1.0) == [(3, 5), (3, 6), (4, 5), (4, 6)]


def test_rows_survive_json(solver: Solver) -> None:
    for row in compare_solve([3, 4], [9, 12]).rows:
        assert row_of(json.loads(json.dumps(row.to_json()))) == row


def test_a_real_solve_of_a_small_code(monkeypatch: pytest.MonkeyPatch) -> None:
    # Effort is counted, so that a busy machine changes nothing.
    few = partial(solve, restarts=16)
    monkeypatch.setattr("gnc_cli.workflows.solve.solve", few)
    row = compare_solve([3], [9], budget=600.0).rows[0]
    assert row.status is Standing.MATCHES
    assert row.congruent_to == "tammes-9"
    assert row.more["origin"] == "descent"
