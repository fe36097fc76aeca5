"""How stationary a code is, and what a first-order move could still gain.

The linear programme: over tangent moves u of the free rows, every coordinate at most 1 radian,
minimise the largest of `c_p + <grad c_p, u>`. What its optimum lies below the present value is the
first-order gain; at a first-order (KKT) point it is 0. By duality convex multipliers bound it:
`gain <= sum lambda (max c - c) + |J^T lambda|_1`, and polished multipliers make that bound tight
to rounding. Where the bound is not small the programme itself is solved (HiGHS).
"""

from dataclasses import dataclass

import numpy as np

from gnc_cli.numerics.terms import Terms, linearise

__all__ = ["FirstOrder", "first_order"]

_SMALL = 1e-9
_MOST_ENTRIES = 2_000_000


@dataclass(frozen=True)
class FirstOrder:
    """First-order optimality of one configuration."""

    stationarity: float
    """Largest absolute component of sum lambda grad c."""
    gain: float
    """Optimum of the linear programme, or its dual bound where that is below 1e-9; NaN where the
    programme was not solved."""
    bound: float = np.inf
    """The dual bound of the gain: how much at most a first-order move could gain."""


def first_order(
    points: np.ndarray,
    terms: Terms,
    multipliers: np.ndarray,
    free: np.ndarray,
    seconds: float = np.inf,
) -> FirstOrder:
    """Measure stationarity and gain.

    Args:
        points: unit rows, shape (P, d).
        terms: those near the largest, m of them.
        multipliers: convex weights, shape (m,).
        free: rows that may move, shape (P,), bool.
        seconds: for the linear programme.
    """
    values = terms.values(points)
    linear = linearise(terms, points, free)
    gradient = linear.adjoint(multipliers)
    gap = float(multipliers @ (values.max() - values))
    stationarity = float(np.abs(gradient).max(initial=0.0))
    bound = gap + float(np.abs(gradient).sum())
    if bound <= _SMALL:
        return FirstOrder(stationarity, bound, bound)
    if seconds <= 0.0 or sum(g.size for g in linear.gradients) > _MOST_ENTRIES:
        return FirstOrder(stationarity, np.nan, bound)
    return FirstOrder(stationarity, _programme(linear.jacobian(), values, seconds), bound)


def _programme(jacobian: object, values: np.ndarray, seconds: float) -> float:
    """The gain by the linear programme; NaN where it was not solved."""
    from scipy import sparse
    from scipy.optimize import linprog

    m, n = jacobian.shape  # type: ignore[attr-defined]
    # Unknowns (u, s): minimise s with values - max + J u <= s; the gain is -s.
    matrix = sparse.hstack([jacobian, -np.ones((m, 1))], format="csr")
    cost = np.zeros(n + 1)
    cost[-1] = 1.0
    box = [(-1.0, 1.0)] * n + [(None, None)]
    limit = {"time_limit": seconds} if np.isfinite(seconds) else {}
    done = linprog(
        cost, matrix, values.max() - values, bounds=box, method="highs-ipm", options=limit
    )
    return max(0.0, -float(done.fun)) if done.status == 0 else np.nan
