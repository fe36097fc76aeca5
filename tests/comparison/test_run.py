"""Fresh solves beside the table: verdicts, ledgers, order, interruptions."""

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gnc_cli import compare
from gnc_cli.comparison.result import CompareResult, CompareRow, SolvedRow
from gnc_cli.search import api
from tests.comparison.samples import VALIDATOR


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """How the solver was called; its effort is small, and counted, not timed."""
    calls: list[dict[str, Any]] = []
    real = api.solve

    def small(d: int, K: int, **options: Any) -> Any:
        if "interrupt" in options:
            calls.append({"d": d, "K": K, **options})
        return real(d, K, **{"restarts": 16, **options, "time_limit": None})

    monkeypatch.setattr(api, "solve", small)
    return calls


def solves(d: Any, K: Any, **options: Any) -> CompareResult:
    result = compare(solve=True, d=d, K=K, **options)
    VALIDATOR.validate(result.to_json())
    return result


def test_each_pair_is_solved_and_judged(solved: list[dict[str, Any]]) -> None:
    """Closed forms are allowed where theorem 3.3 has them; everywhere else a descent."""
    result = solves([3, 2], "7,9", budget=7.0, seed=3)
    assert [(r.d, r.K) for r in result.rows] == [(2, 7), (2, 9), (3, 7), (3, 9)]
    assert result.counts["matches"] == 4
    last = result.rows[-1]
    assert isinstance(last, SolvedRow) and last.congruent_to == "tammes-9"
    assert (last.origin, last.problem, last.seed, last.passed) == ("descent", "tammes", 3, True)
    assert last.rho_one_vs_rest is not None
    assert last.rho_one_vs_rest.lower == pytest.approx(2 / 3, abs=1e-9)
    assert [call["method"] for call in solved] == ["auto", "auto", "descent", "descent"]
    for call in solved:
        assert (call["time_limit"], call["threads"], call["seed"]) == (7.0, 1, 3)
        assert call["problem"] == "tammes" and call["workers"] == 1


def test_rows_are_kept_and_come_back(solved: list[dict[str, Any]], tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    reported: list[CompareRow] = []
    progress: list[tuple[Any, ...]] = []
    first = solves(
        2, [5, 7], out=out, on_row=reported.append, progress=lambda *a: progress.append(a)
    )
    assert reported == list(first.rows) and len(solved) == 2
    assert [p[1:3] for p in progress] == [(1, 2), (2, 2)]
    assert progress[-1][3] == max(row.gap or 0.0 for row in first.rows)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["K"] for line in lines] == [5, 7] and "passed" not in lines[0]
    reported.clear()
    second = solves([2, 3], [5, 7], out=out, resume=True, on_row=reported.append)
    assert len(solved) == 4 and second.rows[:2] == first.rows
    assert [(r.d, r.K) for r in reported] == [(2, 5), (2, 7), (3, 5), (3, 7)]
    # A narrower range takes what it asks for and leaves the rest alone.
    third = solves(3, 7, out=out, resume=True)
    assert [(r.d, r.K) for r in third.rows] == [(3, 7)] and len(solved) == 4
    assert len(out.read_text().splitlines()) == 4


def test_an_interruption_keeps_the_rows_so_far(
    solved: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stop, out = threading.Event(), tmp_path / "rows.jsonl"
    real = api.solve

    def stopping(d: int, K: int, **options: Any) -> Any:
        if K == 6:
            stop.set()
        return real(d, K, **options)

    monkeypatch.setattr(api, "solve", stopping)
    result = solves(2, [5, 6, 7], out=out, interrupt=stop)
    assert [r.K for r in result.rows] == [5] and result.interrupted and not result.messages
    stop.clear()
    rest = solves(2, [5, 7], out=out, resume=True, interrupt=stop)
    assert [r.K for r in rest.rows] == [5, 7] and not rest.interrupted


def test_rows_do_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    """Closed forms and short descents, in the order of the pairs, whoever made them."""
    found = {}
    for workers in (1, 2):
        out = tmp_path / f"{workers}.jsonl"
        result = solves("2,3", "5,7", workers=workers, budget=300.0, out=out)
        found[workers] = [replace(row, seconds=0.0) for row in result.rows]
        assert len(out.read_text().splitlines()) == 4
    assert [(r.d, r.K) for r in found[1]] == [(2, 5), (2, 7), (3, 5), (3, 7)]
    assert found[1] == found[2]


def test_a_time_limit_is_no_interruption(solved: Any) -> None:
    result = solves(2, [5, 6], time_limit=1e-9)
    assert result.rows == () and not result.interrupted
    (message,) = result.messages
    assert "--time-limit came before all pairs" in message
