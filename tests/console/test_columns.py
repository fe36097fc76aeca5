"""CSV has one header for each kind of row, whatever is asked, found or null."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli import bounds, compare, measure, solve, solve_sweep
from gnc_cli.cli import app
from gnc_cli.collapse.result import CLASSIC
from gnc_cli.comparison.result import FileRow, ListedRow
from gnc_cli.limits.result import (
    BestBounds,
    BoundRow,
    ClassesBest,
    ClassesRow,
    DimensionBest,
    DimensionRow,
)
from gnc_cli.records import Result
from tests.conftest import runner
from tests.problems import icosahedron
from tests.training.made_runs import gaps, square
from tests.training.made_runs import run as made_run

SQUARE = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]


def _measured() -> list[Result]:
    rng = np.random.default_rng(0)
    H, y, W = rng.standard_normal((60, 3)), np.repeat(np.arange(12), 5), icosahedron()
    return [
        measure(weights=W),
        measure(features=H, labels=y),
        measure(features=H, labels=y, weights=W, variants="classic", duplicates=0.9),
        measure(features=H, labels=y, logits=H @ W.T, weights=W, normalize="off"),
    ]


def _bounded(best: bool) -> dict[type, list[Result]]:
    row, interval = (DimensionRow, DimensionBest), (ClassesRow, ClassesBest)
    return {
        (BoundRow, BestBounds)[best]: [
            bounds(3, 5, best=best),
            bounds([8, 9], [240, 241], max_cosine=0.5, probability=0.9, best=best),
            bounds(10, 100, margin=0.6, lp=True, best=best),
        ],
        row[best]: [
            bounds(K=100, margin=0.3, best=best),
            bounds(K=[3, 9], arcface_m=2.0, best=best),
        ],
        interval[best]: [
            bounds(d=8, max_cosine=0.5, best=best),
            bounds(d=[512, 64], margin=0.9, best=best),
        ],
    }


def _compared() -> dict[type, list[Result]]:
    return {
        FileRow: [compare(SQUARE), compare([icosahedron(), SQUARE], digits=5)],
        ListedRow: [compare(list=True, d=3), compare(list=True, d=1000, K=2)],
    }


def _same(results: list[Result], kind: type) -> None:
    names = results[0].csv_rows()[0]
    assert len({*names}) == len(names)
    for result in results:
        assert result.line_kinds == (kind,) and result.csv_rows()[0] == names
        # What JSON lines have, CSV has, but for tables inside a row.
        for line in result.lines():
            for key, value in line.items():
                empty = value is None or isinstance(value, list)
                assert empty or any(n.split(".")[0] == key for n in names), key


def test_measure() -> None:
    results = _measured()
    _same(results, type(results[0]))
    names, (row,) = results[2].csv_rows()
    assert {"policy.spaces", "policy.class_means", "attrs"} <= {*names}
    assert json.loads(row["attrs"]) == {} and row["variants.classic.log_energy"] is not None
    # Both forms of GNC1 and GNC3, and the classic metrics, have columns of their own.
    for key in ("gnc1", "gnc1_centred", "gnc3", "gnc3_centred", *CLASSIC):
        assert isinstance(row[key], float), key


@pytest.mark.parametrize("best", [False, True])
def test_bounds(best: bool) -> None:
    for kind, results in _bounded(best).items():
        _same(results, kind)
        names, _rows = results[0].csv_rows()
        line = results[0].lines()[0]
        assert {*names} - {*line} <= {"margin", "max_cosine", *(n for n in names if "." in n)}


def test_compare() -> None:
    for kind, results in _compared().items():
        _same(results, kind)


def test_solve() -> None:
    pytest.importorskip("torch")
    plain = [solve(3, 4), solve(2, 3, problem="tammes", target=0.9), solve(2, 5, seed=1)]
    asked: dict[str, Any] = {"d": 2, "K": 3, "problem": "ufm"}
    ufm: list[Any] = [solve(**asked, tau=0.5), solve_sweep(**asked, tau=[1.0, 0.5])]
    names = plain[0].csv_rows()[0]
    assert all(result.csv_rows()[0] == names for result in [*plain, *ufm])


def test_train() -> None:
    runs = [made_run(), gaps(), square()]
    assert runs[0].csv_rows()[0] == runs[2].csv_rows()[0]
    assert runs[0].csv_rows()[0] == runs[1].csv_rows()[0]
    assert runs[0].csv_rows()[0][:3] == ["run", "epoch", "step"]


def test_a_file_of_rows_is_what_csv_prints(tmp_path: Path) -> None:
    for option in ((), ("--best",)):
        file = tmp_path / f"{len(option)}.csv"
        words = ("bounds", "--d", "3", "--K", "5,9", "--csv", "--out", file, *option)
        printed = runner(app)(*words).stdout
        assert file.read_text() == printed
        assert all(None not in row.values() for row in csv.DictReader(io.StringIO(printed)))
