"""The semidefinite program: known optima, and the path to a certificate.

It tests gnc_cli/limits: three_point_program.py.
"""

import math
from fractions import Fraction

import pytest

from gnc_cli.limits.claim import UnresolvedError
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.semidefinite import solve_program
from gnc_cli.limits.three_point_program import _program, three_point_certificate
from gnc_cli.runtime.deadline import Deadline


def optimum(d: int, s: float, degree: int) -> float:
    cones, b, _ = _program(d, s, degree)
    solution = solve_program(cones, b, -math.inf, 1e-4, Deadline())
    assert solution.primal - solution.dual < 1e-3
    return 1.0 + (solution.primal + solution.dual) / 2.0


@pytest.mark.parametrize(
    ("d", "s", "points"), [(8, 0.5, 240), (4, 1 / 6, 10), (3, 0.0, 6), (5, 0.2, 16), (6, 0.25, 27)]
)
def test_sharp_codes_are_sharp(d: int, s: float, points: int) -> None:
    assert optimum(d, s, 6) == pytest.approx(points, rel=1e-3)


@pytest.mark.slow
def test_kissing_numbers_are_those_of_the_literature() -> None:
    # Mittelmann and Vallentin 2010: 12.38 and 24.06 at degree 14; a lower degree says more points.
    assert 12.38 < optimum(3, 0.5, 10) < 12.46
    assert 24.06 < optimum(4, 0.5, 10) < 24.15


def test_many_points_have_at_least_the_bound_by_pairs() -> None:
    # Levenshtein's polynomial has degree 11 here: a_7 to a_11 count.
    levenshtein = LEVENSHTEIN.evaluate(3, 43)
    assert levenshtein is not None
    assert optimum(3, 1.0 - levenshtein.value, 6) < 43.001


@pytest.mark.slow
def test_larger_degrees_exclude_more() -> None:
    small, large = (three_point_certificate(3, 12, degree, deadline=None) for degree in (6, 8))
    assert small is not None and large is not None
    assert Fraction(small.cosine) < Fraction(large.cosine)


def test_expired_deadlines_end_the_search() -> None:
    with pytest.raises(UnresolvedError):
        three_point_certificate(3, 13, 8, deadline=Deadline(1e-9))
