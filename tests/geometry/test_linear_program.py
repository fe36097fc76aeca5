"""`geometry/linear_program.py`: optima over boxes and simplices, and an end at the deadline."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.geometry.linear_program import solve_linear_program
from gnc_cli.runtime.deadline import Deadline


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 6))
def test_the_optimum_is_that_of_the_vertices(seed: int, n: int) -> None:
    cost = np.random.default_rng(seed).normal(size=n)
    # The vertices of sum(x) <= 1, x >= 0 are 0 and the unit vectors.
    solution = solve_linear_program(cost, np.ones((1, n)), np.ones(1), (0.0, None), Deadline())
    assert solution.status == 0
    assert solution.fun == pytest.approx(min(0.0, cost.min()), abs=1e-9)
    # A box has its optimum at the signs of the cost.
    box = solve_linear_program(cost, np.ones((1, n)), np.array([n]), (-1.0, 1.0), Deadline())
    assert box.fun == pytest.approx(-np.abs(cost).sum(), abs=1e-9)


def test_an_expired_deadline_leaves_no_solution() -> None:
    solution = solve_linear_program(
        np.ones(1), np.ones((1, 1)), np.ones(1), (0.0, None), Deadline(1e-9)
    )
    assert solution is None
