"""`limits/semidefinite.py`: optima that eigenvalues give, and changes that meet the conditions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.limits.claim import UnresolvedError
from gnc_cli.limits.semidefinite import Cone, Dense, Squares, complete, conditions, solve_program
from gnc_cli.runtime.deadline import Deadline


def trace_program(C: np.ndarray) -> list[Cone]:
    """Return the cones of: minimise <C, X> under tr X + x = 1, x >= 0."""
    n = len(C)
    return [Dense(np.eye(n)[None], C, np.eye(n)), Squares([np.ones((1, 1))], slice(0, 1), 1)]


def symmetric(seed: int, n: int) -> np.ndarray:
    matrix = np.random.default_rng(seed).normal(size=(n, n))
    return matrix + matrix.T - 3.0 * np.eye(n)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 6))
def test_the_optimum_is_the_least_eigenvalue(seed: int, n: int) -> None:
    C = symmetric(seed, n)
    solution = solve_program(trace_program(C), np.ones(1), -math.inf, 1e-7, Deadline())
    least = min(0.0, float(np.linalg.eigvalsh(C)[0]))
    assert solution.primal == pytest.approx(least, abs=2e-5)
    assert solution.dual <= least + 2e-5


def test_completed_matrices_meet_all_conditions() -> None:
    cones = trace_program(symmetric(1, 4))
    X = [np.diag([0.1, 0.2, 0.3, 0.3]), np.eye(1)]
    changed = complete(cones, X, np.ones(1), np.array([1e4, 1e4]))
    assert conditions(cones, X) != pytest.approx(np.ones(1))
    assert conditions(cones, changed) == pytest.approx(np.ones(1), abs=1e-12)


def test_expired_deadlines_end_a_program() -> None:
    with pytest.raises(UnresolvedError):
        solve_program(trace_program(np.eye(2)), np.ones(1), 0.0, 0.0, Deadline(1e-9))
