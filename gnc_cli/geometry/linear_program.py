"""Linear programmes that a deadline and an interrupt end: HiGHS looks at neither by itself."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from gnc_cli.runtime.deadline import Deadline

_SECONDS = 60.0
"""Time limit of a programme: one that takes longer would take hours."""

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

    Returns:
        SciPy's result, whose `status` is 0 at the optimum; None where the deadline came first.
    """
    from scipy.optimize import linprog

    options = {"time_limit": min(_SECONDS, deadline.remaining)}
    solve = partial(linprog, method=method, options=options)
    return deadline.wait_for(lambda: solve(cost, matrix, upper, bounds=bounds))
