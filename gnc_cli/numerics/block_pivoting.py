"""The min-norm point of a convex hull by exchanging many rows at a time.

Lawson and Hanson's active sets let rows in one by one: hundreds of steps where the support is
large. Block principal pivoting guesses the whole support, solves for it by one Cholesky
factorisation, and exchanges all rows that are on the wrong side; from a fair guess it settles in
two to seven exchanges, which need a third of the time or less. It may cycle or meet dependent
rows: then it says so, and the caller takes the slower method.

References:
    L. F. Portugal, J. J. Judice, L. N. Vicente, A comparison of block pivoting and interior-point
    algorithms for linear least squares problems with nonnegative variables, Math. Comp. 63 (1994).
    A. Bjorck, Stability analysis of the method of seminormal equations for linear least squares
    problems, Linear Algebra Appl. 88 (1987): the correction.
"""

import numpy as np

from gnc_cli.numerics.rounding import UNIT, gamma

__all__ = ["pivoted_weights"]

_LEAST_SHARE = 2.0**-6
_DENSE = 128
"""Up to so many rows all their products are formed at once."""


def pivoted_weights(V: np.ndarray, start: np.ndarray) -> np.ndarray | None:
    """Convex weights of the point of conv(rows of V) nearest to the origin; None if not found.

    With t the least norm of a row, they solve the non-negative least squares problem
    `min |V^T a|^2 + t^2 (1 - sum a)^2` over `a >= 0`, whose solution has the direction of the
    weights sought whatever t is (see `min_norm_point.py`); this t keeps the digits of rows that
    are much shorter than others.

    Args:
        V: points, shape (m, d), none of them zero, of norm 1 at most.
        start: a guess of the rows that carry the point, indices, not empty.

    Returns:
        Weights, shape (m,), non-negative, summing to 1: optimal to rounding, but without a proof.

    Example:
        >>> pivoted_weights(np.array([[0.5, 0.5], [0.5, -0.5], [1.0, 0.0]]), np.array([0, 1, 2]))
        array([0.5, 0.5, 0. ])
    """
    from scipy.linalg.lapack import dpotrf, dpotrs

    m, d = V.shape
    norms = np.linalg.norm(V, axis=1)
    squared = float(norms.min()) ** 2
    gram = V @ V.T + squared if m <= _DENSE else None
    carries = np.zeros(m, dtype=bool)
    carries[start[: d + 1]] = True
    fewest, share = m + 1, 0.5
    while share > _LEAST_SHARE:
        used = np.flatnonzero(carries)
        rows = V[used]
        square = rows @ rows.T + squared if gram is None else gram[used[:, None], used]
        factor, failed = dpotrf(square.T, lower=True, overwrite_a=True, clean=False)
        if failed:
            # The rows before this one are independent: go on with them.
            carries[used[failed - 1 :]] = False
            share /= 2.0
            if failed == 1:
                return None
            continue
        a = dpotrs(factor, np.full(len(used), squared), lower=True)[0]
        # The products square the condition number; one correction from the true residual mends it.
        a += dpotrs(factor, squared * (1.0 - a.sum()) - rows @ (a @ rows), lower=True)[0]
        point = a @ rows
        slopes = V @ point - squared * (1.0 - a.sum())
        noise = gamma(d + 4) * float(np.linalg.norm(point)) + UNIT * float(np.abs(a) @ norms[used])
        wrong = slopes < -noise * norms
        wrong[used] = a < 0.0
        count = int(np.count_nonzero(wrong))
        if count == 0:
            weights = np.zeros(m)
            weights[used] = a / a.sum()
            return weights
        # Where exchanges in bulk gain nothing, smaller ones are tried.
        share = share if count < fewest else share / 2.0
        fewest = min(fewest, count)
        entering = np.flatnonzero(wrong & ~carries)
        carries &= ~wrong
        # More than d + 1 rows are dependent: the steepest come in, half of what there is room for.
        room = max(1, int(share * (d - np.count_nonzero(carries))))
        if len(entering) > room:
            entering = entering[np.argpartition(slopes[entering], room - 1)[:room]]
        carries[entering] = True
        if not carries.any():
            return None
    return None
