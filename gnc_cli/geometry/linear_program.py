"""Linear programs that end at a deadline or an interrupt, which HiGHS does not poll itself."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from gnc_cli.runtime.deadline import Deadline

_SECONDS = 60.0
"""Time limit of one program: a program that takes longer would take hours."""

Bounds = tuple[float | None, float | None]


def solve_linear_program(
    cost: np.ndarray,
    matrix: np.ndarray | sparse.csr_matrix,
    upper: np.ndarray,
    bounds: Bounds | Sequence[Bounds],
    deadline: Deadline,
    *,
    method: str = "highs",
) -> Any:
    """Minimise `cost @ x` over `matrix @ x <= upper` within bounds.

    Args:
        cost: shape (n,).
        matrix: shape (m, n).
        upper: shape (m,).
        bounds: lower and upper bound of each x, or one pair for all; None for no bound.
        deadline: deadline of the program, in addition to its own time limit.
        method: method of `scipy.optimize.linprog`.

    Returns:
        SciPy's result, whose `status` is 0 at the optimum; None if the deadline came first.
    """
    from scipy.optimize import linprog

    options = {"time_limit": min(_SECONDS, deadline.remaining)}
    solve = partial(linprog, method=method, options=options)
    return deadline.wait_for(lambda: solve(cost, matrix, upper, bounds=bounds))
