"""The semidefinite programme: known optima, another solver, and the path to a certificate."""

import math

import clarabel
import numpy as np
import pytest
from scipy import sparse

from gnc_cli.limits.certificate import Unresolved
from gnc_cli.limits.three_point_programme import _programme, _solve, three_point_certificate
from gnc_cli.runtime.deadline import Deadline


def optimum(d: int, s: float, degree: int) -> float:
    programme = _programme(d, s, degree)
    solution = _solve(programme, programme.b, -math.inf, 1e-4, Deadline())
    assert solution.primal - solution.dual < 1e-3
    return (solution.primal + solution.dual) / 2.0


@pytest.mark.parametrize(
    ("d", "s", "points"), [(8, 0.5, 240), (4, 1 / 6, 10), (3, 0.0, 6), (5, 0.2, 16), (6, 0.25, 27)]
)
def test_sharp_codes_are_sharp(d: int, s: float, points: int) -> None:
    assert optimum(d, s, 6) == pytest.approx(points, rel=1e-3)


def test_kissing_numbers_are_those_of_the_literature() -> None:
    # Mittelmann and Vallentin 2010: 12.38 and 24.06 at degree 14; a lower degree says more points.
    assert 12.38 < optimum(3, 0.5, 10) < 12.46
    assert 24.06 < optimum(4, 0.5, 10) < 24.15


def test_clarabel_finds_the_same_optimum() -> None:
    programme = _programme(4, 0.4, 6)
    columns, cost, blocks, cones, start = [], [], [], [], 0
    for cone in programme.cones:
        n = len(cone.C)
        for j in range(n):
            for i in range(j + 1):
                unit = np.zeros((n, n))
                unit[i, j] = unit[j, i] = 1.0 if i == j else math.sqrt(0.5)
                columns.append(cone.conditions(unit).astype(float))
                cost.append(float((cone.C * unit).sum()))
        cones.append(clarabel.PSDTriangleConeT(n))
        start += n * (n + 1) // 2
        blocks.append(n)
    A = np.array(columns).T
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix((start, start)),
        np.array(cost),
        sparse.csc_matrix(np.concatenate([A, -np.eye(start)])),
        np.concatenate([programme.b, np.zeros(start)]),
        [clarabel.ZeroConeT(len(programme.b)), *cones],
        settings,
    ).solve()
    assert 1.0 + solution.obj_val == pytest.approx(optimum(4, 0.4, 6), abs=2e-3)


def test_larger_degrees_exclude_more() -> None:
    small, large = (three_point_certificate(3, 12, degree) for degree in (6, 8))
    assert small is not None and large is not None
    assert float(eval_fraction(small.cosine)) <= float(eval_fraction(large.cosine))


def eval_fraction(text: str) -> float:
    numerator, _, denominator = text.partition("/")
    return int(numerator) / int(denominator or 1)


def test_expired_deadlines_end_the_search() -> None:
    with pytest.raises(Unresolved):
        three_point_certificate(3, 13, 8, deadline=Deadline(1e-9))
