"""The point of a convex hull nearest to the origin, and a proof of how near it is.

The nearest point of conv{v_j} is a non-negative least squares problem: with `a >= 0` minimising
`|V^T a|^2 + (1 - sum a)^2`, the point `V^T a / sum a` is exact, not penalised (its optimality
conditions are those of the min-norm point up to the factor `sum a`). Large ones go through block
pivoting first (`block_pivoting.py`); where the solvers stop short, Wolfe's method takes over.

References:
    C. L. Lawson and R. J. Hanson, Solving Least Squares Problems (1974), chapter 23.
    P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11 (1976).
"""

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.numerics.block_pivoting import pivoted_weights
from gnc_cli.numerics.rounding import UNDERFLOW, UNIT, gamma
from gnc_cli.results import Bracket

__all__ = [
    "certify",
    "hull_distance_bound",
    "min_norm_point",
    "supporting_normal",
    "wolfe",
]

_FEW = 32
"""Up to so many rows or dimensions one row at a time is as fast as many at once."""


def min_norm_point(
    V: np.ndarray, start: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Nearest point to the origin in the convex hull of the rows of V.

    Args:
        V: points, one a row, shape (m, d), finite.
        start: a guess of the rows that carry the point, indices; it only saves time. By default
            the shortest rows.

    Returns:
        The point x, shape (d,), and its convex weights, shape (m,): non-negative, summing to 1,
        `x = weights @ V`. Zero (to rounding) when the origin lies in the hull.

    Raises:
        DataError: V is not a finite matrix with at least one row.

    Example:
        >>> x, weights = min_norm_point(np.array([[1.0, 1.0], [1.0, -1.0]]))
        >>> print(x.round(12) + 0.0, weights.round(12))
        [1. 0.] [0.5 0.5]
    """
    V = _as_hull(V)
    d = V.shape[1]
    norms = np.linalg.norm(V, axis=1)
    scale = float(norms.max())
    nearest = np.zeros(len(V))
    nearest[norms.argmin()] = 1.0
    if norms.min() == 0.0 or len(V) == 1:
        return nearest @ V, nearest
    weights = None
    # Few rows in many dimensions may be a simplex, which all of them carry.
    if min(V.shape) > _FEW or len(V) <= d:
        if start is None or not len(start):
            count = len(V) if len(V) <= d else d // 3
            start = np.argpartition(norms, count - 1)[:count]
        weights = pivoted_weights(V / scale, start)
    if weights is None:
        weights = _nnls_weights(V / scale)
    if weights is None:
        weights = wolfe(V / scale, nearest)
    return weights @ V, weights


def certify(x: np.ndarray, V: np.ndarray, weights: np.ndarray | None = None) -> Bracket:
    """Bracket the distance from the origin to the convex hull of the rows of V.

    Every point of the hull lies beyond the hyperplane normal to x through the row nearest along x,
    so `min_j <x, v_j> / |x|` is a lower bound, whatever x is; a hull point's own length is an upper
    one. Both are moved outward by a proved bound of their float64 rounding, so that the bracket is
    a proof for the rows as given.

    Args:
        x: a direction for the lower bound and, without weights, a point of the hull to rounding,
            such as a computed `weights @ V`, shape (d,).
        V: points, one a row, shape (m, d).
        weights: non-negative weights of a hull point, shape (m,), scaled to sum 1 here; the upper
            bound is then proved for them, instead of resting on x being in the hull.

    Raises:
        DataError: the shapes disagree, a weight is negative, an entry is not finite, or x without
            weights is no point of the hull.

    Example:
        >>> bracket = certify(np.array([1.0, 0.0]), np.array([[1.0, 1.0], [1.0, -1.0]]))
        >>> bracket.lower <= 1.0 <= bracket.upper and bracket.width < 1e-14
        True
    """
    V = _as_hull(V)
    m, d = V.shape
    x = np.asarray(x, dtype=np.float64)
    if x.shape != (d,) or (weights is not None and np.shape(weights) != (m,)):
        shapes = [np.shape(a) for a in (x, V, weights) if a is not None]
        raise DataError(f"x, V, weights have shapes {shapes}; expected (d,), (m, d), (m,)")
    if not np.isfinite(x).all():
        raise DataError("x holds NaN or infinity")
    if weights is None:
        reach = float(np.linalg.norm(V, axis=1).max())
        rounding = gamma(2 * m + 3) * reach + UNDERFLOW
        upper = float(np.linalg.norm(x)) * (1.0 + gamma(d + 2)) + rounding
    else:
        upper = hull_distance_bound(V, weights)
    largest = float(np.abs(x).max())
    if largest == 0.0:
        return Bracket(0.0, upper)
    # Scaled by a power of two, exactly, so that short x lose nothing to underflow.
    h = np.ldexp(x, -int(np.frexp(largest)[1]))
    norm = float(np.linalg.norm(h))
    error = gamma(d + 4) * norm * np.linalg.norm(V, axis=1)
    lowest = float((V @ h - error).min())
    if lowest <= 0.0:
        return Bracket(0.0, upper)
    lower = lowest / norm * (1.0 - gamma(d + 4))
    if weights is None and lower > upper:
        raise DataError(f"x has length {upper:.9g}, the hull is {lower:.9g} away: x is not in it")
    return Bracket(lower, upper)


def hull_distance_bound(V: np.ndarray, weights: np.ndarray) -> float:
    """Proved upper bound of the hull's distance from 0: the length of one of its points.

    Each row may itself be a difference rounded once: that error is covered too.

    Args:
        V: points, shape (m, d).
        weights: non-negative, not all zero, shape (m,); only the positive ones count.

    Raises:
        DataError: a weight is negative or NaN, or none is positive.
    """
    weights = np.asarray(weights, dtype=np.float64)
    if not (weights >= 0.0).all() or not weights.any():
        raise DataError("convex weights must be non-negative and not all zero")
    used = np.flatnonzero(weights)
    rows, a = V[used], weights[used]
    point = a @ rows / a.sum()
    reach = float(np.linalg.norm(rows, axis=1).max())
    length = float(np.linalg.norm(point))
    if not rows.any():
        return 0.0
    rounding = gamma(2 * len(used) + 3) * reach + UNDERFLOW
    return length * (1.0 + gamma(V.shape[1] + 2)) + rounding


def supporting_normal(V: np.ndarray) -> np.ndarray:
    """Unit normal of the affine hull of the rows of V, on the side away from the origin.

    Sharper than the min-norm point itself where the hull nearly touches the origin: the normal's
    error is of the order of the rounding unit, not of rounding over distance. Rows are shifted by
    the first one, so they must all lie on the face.

    Args:
        V: the rows that carry the min-norm point, shape (s, d).

    Returns:
        Unit vector, shape (d,); zeros when the affine hull is the whole space.
    """
    from scipy.linalg import qr

    first = V[0]
    edges = (V[1:] - first).T
    normal = first.copy()
    if edges.shape[1]:
        basis, triangle, _ = qr(edges, mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(triangle))
        basis = basis[:, : int((diagonal > 1e-13 * max(diagonal[0], UNIT)).sum())]
        if basis.shape[1] >= V.shape[1]:
            return np.zeros(V.shape[1])
        # Once more on the short remainder makes it orthogonal to full precision.
        for _ in range(3):
            normal = normal - basis @ (basis.T @ normal)
    length = float(np.linalg.norm(normal))
    return normal / length if length > 0.0 else normal


def wolfe(V: np.ndarray, weights: np.ndarray, max_rounds: int | None = None) -> np.ndarray:
    """Wolfe's method from a hull point given by its weights: slower, but never further away.

    Args:
        V: points, shape (m, d), of norm about 1.
        weights: convex weights of the start, shape (m,).
        max_rounds: rounds at most, `20 (d + 10)` by default; each brings a row in.

    Returns:
        Convex weights of the nearest point, shape (m,).
    """
    m, d = V.shape
    corral = np.flatnonzero(weights)
    a = weights[corral] / weights[corral].sum()
    best, best_length = (corral, a), np.inf
    for _ in range(max_rounds or 20 * (d + 10)):
        corral, a = _descend(V, corral, a)
        x = a @ V[corral]
        length = float(x @ x)
        if length >= best_length:
            break
        best, best_length = (corral, a), length
        slopes = V @ x
        j = int(slopes.argmin())
        if length - slopes[j] <= 2.0 * UNIT * length or j in corral:
            break
        corral, a = np.append(corral, j), np.append(a, 0.0)
    result = np.zeros(m)
    result[best[0]] = best[1]
    return result / result.sum()


def _descend(V: np.ndarray, corral: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Move towards the affine minimiser of the corral, dropping the rows that get in the way."""
    from scipy.linalg import lstsq

    while len(corral) > 1:
        edges = V[corral[1:]] - V[corral[0]]
        tail = lstsq(edges.T, -V[corral[0]], cond=1e-14, lapack_driver="gelsy")[0]
        target = np.concatenate([[1.0 - tail.sum()], tail])
        if (target > 0.0).all():
            return corral, target
        blocking = target <= 0.0
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = np.where(blocking, a / (a - target), np.inf)
        ratios[blocking & (a == 0.0)] = 0.0
        step = float(ratios.min())
        a = a + step * (target - a)
        a[int(ratios.argmin())] = 0.0
        keep = a > 0.0
        corral, a = corral[keep], a[keep] / a[keep].sum()
    return corral, np.ones(len(corral))


def _nnls_weights(V: np.ndarray) -> np.ndarray | None:
    """Convex weights by non-negative least squares; None where the solver gives up."""
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls

    m, d = V.shape
    factor = _factor(V) if 2 * m <= d else None
    lengths = np.ones(m)
    if factor is not None:
        # Few points in many dimensions: the same problem in coordinates of their own span.
        columns = factor.T
        target = solve_triangular(factor, np.ones(m), lower=True, check_finite=False)
    else:
        # As in `block_pivoting.py`, the least norm keeps the digits of rows that are much shorter
        # than others; columns of length 1 let the solver see all of them alike.
        columns, target = np.empty((d + 1, m)), np.zeros(d + 1)
        columns[:d], columns[d], target[d] = V.T, np.linalg.norm(V, axis=1).min(), 1.0
        lengths = np.linalg.norm(columns, axis=0)
        columns /= lengths
    try:
        a = nnls(columns, target)[0] / lengths
    except (RuntimeError, np.linalg.LinAlgError):
        return None
    total = float(a.sum())
    if not np.isfinite(total) or total <= 0.0:
        return None
    return a / total


def _factor(V: np.ndarray) -> np.ndarray | None:
    """Cholesky factor (lower) of `V V^T + 1 1^T`; None unless it is well conditioned.

    Forming it squares the condition number, which is harmless while that is small.
    """
    if len(V) > V.shape[1]:
        return None
    try:
        factor = np.linalg.cholesky(V @ V.T + 1.0)
    except np.linalg.LinAlgError:
        return None
    diagonal = np.diag(factor)
    return factor if diagonal.min() > 1e-3 * diagonal.max() else None


def _as_hull(V: np.ndarray) -> np.ndarray:
    V = np.asarray(V, dtype=np.float64)
    if V.ndim != 2 or not V.size or not np.isfinite(V).all():
        raise DataError(f"V has shape {V.shape}; expected finite points, one a row, (m, d)")
    return V
