"""What is the best known code for (d, K)? Four commands, one answer."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli.collapse.api import measure
from gnc_cli.collapse.reference import gnc2_reference
from gnc_cli.comparison.api import compare
from gnc_cli.comparison.result import FileRow
from gnc_cli.errors import DataError
from gnc_cli.geometry.sphere import random_points
from gnc_cli.known_codes.best import best
from gnc_cli.limits.api import bounds
from gnc_cli.limits.result import BestBounds
from gnc_cli.search.api import solve

PAIRS = [
    # theorem 3.3
    (2, 3),
    (2, 4),
    (2, 17),
    (3, 4),
    (5, 6),
    (5, 8),
    (9, 18),
    (20, 30),
    # proved entries, and parts of them
    (3, 7),
    (3, 12),
    (3, 13),
    (3, 14),
    (3, 24),
    (4, 10),
    (4, 24),
    (5, 16),
    (6, 27),
    (7, 56),
    (8, 240),
    (8, 239),
    (8, 200),
    (4, 16),
    (6, 26),
    (21, 112),
    (22, 100),
    (22, 275),
    (23, 552),
    # other entries of the table, and parts of them
    (3, 15),
    (3, 50),
    (3, 129),
    (4, 30),
    (4, 64),
    (5, 20),
    (6, 40),
    (7, 64),
    (8, 120),
    (9, 96),
    (10, 40),
    (10, 130),
    (12, 60),
    # constructions
    (16, 512),
    (17, 600),
    (24, 1000),
    (64, 700),
    (11, 300),
    # solved by this project, and parts of them
    (10, 100),
    (10, 99),
    (20, 200),
    (30, 150),
    (11, 200),
]


@pytest.mark.parametrize(("d", "K"), PAIRS)
def test_all_commands_agree(d: int, K: int) -> None:
    answer = best(d, K)
    assert answer is not None

    row = compare(random_points(np.random.default_rng(0), K, d)).rows[0]
    assert isinstance(row, FileRow)
    assert (row.best_known, row.source) == (answer.max_cosine, answer.source)
    assert (row.proven, row.reference) == (answer.proven, answer.kind)
    assert (row.date, row.figure) == (answer.date, answer.figure)
    assert row.best_known_table == answer.table

    (bound,) = bounds(d, K).best
    assert isinstance(bound, BestBounds) and bound.best_known == answer
    assert bound.lower >= 1.0 - answer.max_cosine - 1e-12
    assert not answer.proven or bound.exact

    reference = gnc2_reference(d, K)
    assert reference is not None and reference.value == 1.0 - answer.max_cosine
    assert (reference.kind, reference.proven) == (answer.kind, answer.proven)

    solved = solve(d, K, method="descent", time_limit=1e-9)
    assert solved.best_known == answer
    assert solved.optimum is not None
    if bound.upper_name == "delsarte-lp":  # takes too long beside a search
        assert solved.optimum.upper > bound.upper
    else:
        assert solved.optimum.name == bound.upper_name
    # A Softmax Code is judged by its distance, for which the solve had no time.
    again = compare(solved).rows[0]
    assert solved.gap is not None and again.gap is not None
    assert solved.status is again.status and again.gap <= solved.gap
    solved = solve(d, K, problem="tammes", method="descent", time_limit=1e-9)
    again = compare(solved).rows[0]
    assert (solved.status, solved.gap) == (again.status, again.gap)


@pytest.mark.parametrize("named", ["option", "environment"])
def test_a_table_counts_in_all_commands(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "now.txt"
    path.write_text("# of today\r\nd,N,cosine\r\n6,99,0.57\r\n")
    os.utime(path, (0, 1e9))
    monkeypatch.setenv("GNC_TABLE", str(path) if named == "environment" else "")
    table: dict[str, Any] = {"table": path} if named == "option" else {}
    rows = random_points(np.random.default_rng(0), 99, 6)
    (compared,) = compare(rows, **table).rows
    (bound,) = bounds(6, 99, **table).best
    solved = solve(6, 99, method="descent", restarts=1, **table)
    measured = measure(weights=rows, **table)
    assert isinstance(compared, FileRow) and isinstance(bound, BestBounds)
    assert bound.best_known is not None and bound.best_known == solved.best_known
    known = bound.best_known
    assert (known.figure, known.source, known.date) == ("0.57", "now.txt", "2001-09-09")
    assert known.table == compared.best_known_table == "the table of 2001-09-09"
    assert compared.best_known == known.max_cosine == 0.57
    reference = measured.gnc2_reference
    assert reference is not None and reference.value == 1.0 - 0.57
    assert reference.id == "now.txt" and "2001-09-09" in str(reference.data_version)
    path.write_text("6,99,0.57\n6,98,0.2\n")
    for command in (compare, measure, solve, bounds):
        asked: dict[str, Any] = {"d": 6, "K": 99} if command in (solve, bounds) else {}
        files = [] if asked else [tmp_path / "code.npy"]
        np.save(tmp_path / "code.npy", rows)
        with pytest.raises(DataError, match=r"now\.txt', line 2: d = 6, N = 98 .* is impossible"):
            command(*files, **asked, **table)


def test_the_pairs_are_of_every_kind() -> None:
    kinds = {known.kind for pair in PAIRS if (known := best(*pair)) is not None}
    assert kinds == {"theorem", "table", "construction", "solved"}
