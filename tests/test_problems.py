"""The table of known answers agrees with its own coordinates and with the shipped table."""

import csv
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.problems import PROBLEMS, WITH_POINTS, Problem

TABLE = Path(__file__).parents[1] / "data" / "known_codes" / "table.csv"


@pytest.mark.parametrize("problem", WITH_POINTS, ids=str)
def test_coordinates(problem: Problem) -> None:
    W = problem.points()
    assert W.shape == (problem.K, problem.d)
    assert np.abs((W**2).sum(axis=1) - 1.0).max() < 1e-14
    cosines = (W @ W.T)[np.triu_indices(problem.K, 1)]
    assert cosines.max() == pytest.approx(problem.max_cosine, abs=1e-14)
    if problem.contacts is not None:
        assert (cosines > problem.max_cosine - 1e-9).sum() == problem.contacts


def test_values_agree_with_the_shipped_table() -> None:
    with TABLE.open() as file:
        table = {(int(r["d"]), int(r["K"])): r for r in csv.DictReader(file)}
    shared = [p for p in PROBLEMS if (p.d, p.K) in table]
    assert len(shared) >= 15
    for problem in shared:
        row = table[problem.d, problem.K]
        cosine = float(Fraction(row["max_cosine"]))
        assert cosine == pytest.approx(problem.max_cosine, abs=3e-15), problem
        assert problem.proven == (row["status"] == "proved"), problem
        if problem.contacts is not None and row["contacts"]:
            assert problem.contacts == int(row["contacts"]), problem


def test_seven_points_solve_their_cubic() -> None:
    x = next(p.max_cosine for p in PROBLEMS if p.name == "seven")
    assert 3 * x**3 - 9 * x**2 - 3 * x + 1 == pytest.approx(0.0, abs=1e-14)
