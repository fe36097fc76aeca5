"""The point of a convex hull nearest to the origin, bounds of its distance, and approximations.

The nearest point of conv{v_j} is a non-negative least squares problem: with `a >= 0` minimising
`|V^T a|^2 + (1 - sum a)^2`, the point `V^T a / sum a` is exact, not penalised (its optimality
conditions are those of the min-norm point up to the factor `sum a`).

Lawson and Hanson's active sets let rows in one by one: hundreds of steps where the support is
large. Such problems go through block principal pivoting first: it guesses the whole support, solves
for it by one Cholesky factorisation, and exchanges all rows that are on the wrong side. From a fair
guess it settles in two to seven exchanges, which need a third of the time or less. It may cycle or
meet dependent rows; then active sets take over, and Wolfe's method where they stop short.

Thousands of vertices that tie can make all of these slow. Accelerated projected gradient on the
convex weights takes a fixed number of steps and proves nothing; every iterate is a point of the
hull.

References:
    C. L. Lawson and R. J. Hanson, Solving Least Squares Problems (1974), chapter 23.
    P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11 (1976).
    L. F. Portugal, J. J. Judice, L. N. Vicente, A comparison of block pivoting and interior-point
    algorithms for linear least squares problems with nonnegative variables, Math. Comp. 63 (1994).
    A. Bjorck, Stability analysis of the method of seminormal equations for linear least squares
    problems, Linear Algebra Appl. 88 (1987): the correction.
    A. Beck and M. Teboulle, A fast iterative shrinkage-thresholding algorithm, SIAM J. Imaging
    Sci. 2 (2009); J. Duchi et al., Efficient projections onto the l1-ball, ICML 2008 (fig. 1).
"""

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.geometry.rounding import UNDERFLOW, UNIT, gamma

_MIN_BLOCK_SIZE = 32
"""Rows or dimensions above which exchanges of many rows are faster than those of one."""
_MIN_EXCHANGE_SHARE = 2.0**-6
"""Smallest share of the free places that one exchange of block pivoting fills; a smaller one would
be an exchange of single rows, at which active sets are better."""
_MAX_GRAM_ROWS = 128
"""Largest number of rows whose Gram matrix (128 kB) is formed at once."""
_MAX_GAP = 1e-10
"""Largest gap of a point that is accepted as the one of least norm: SciPy's solver may stop too
early if rows are equal."""
_MAX_ROUNDING_GAP = 1e-13
"""Largest gap, as a share of the norm, of a point whose bracket is closed to rounding."""
_PROJECTION_STEPS = 40
"""Steps of an approximate projection, which need to exclude classes only."""
_BLOCK_BYTES = 16 << 20
"""Bytes of the candidates that are projected together."""


def min_norm_point(
    V: np.ndarray, start: np.ndarray | None = None, *, numpy_only: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the point of the convex hull of the rows of V that is nearest to the origin.

    Args:
        V: points, one per row, shape (m, d), finite.
        start: initial support, a guess of the rows that carry the point, indices, shape (n,). It
            only saves time. By default the shortest rows.
        numpy_only: solve without SciPy if that takes few steps. Its solvers are several times
            faster, but take half a second to load.

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
    V = np.asarray(V, dtype=np.float64)
    if V.ndim != 2 or not V.size or not np.isfinite(V).all():
        raise DataError(f"V has shape {V.shape}; expected finite points, one per row, (m, d)")
    d = V.shape[1]
    norms = np.linalg.norm(V, axis=1)
    scale = float(norms.max())
    nearest = np.zeros(len(V))
    nearest[norms.argmin()] = 1.0
    if norms.min() == 0.0 or len(V) == 1:
        return nearest @ V, nearest
    weights, single = None, min(V.shape) <= _MIN_BLOCK_SIZE
    if numpy_only and single:
        first = wolfe(V / scale, nearest)
        if _gap(V / scale, first) <= _MAX_ROUNDING_GAP * float(np.linalg.norm(first @ V)) / scale:
            return first @ V, first
    # Few rows in many dimensions may be a simplex, which all of them carry.
    if not single or len(V) <= d:
        if start is None or not len(start):
            count = len(V) if len(V) <= d else d // 3
            start = np.argpartition(norms, count - 1)[:count]
        weights = pivoted_weights(V / scale, start, numpy_only)
    if weights is None:
        weights = _nnls_weights(V / scale)
    if weights is None or _gap(V / scale, weights) > _MAX_GAP:
        weights = wolfe(V / scale, nearest if weights is None else weights)
    return weights @ V, weights


def hull_distance_bound(V: np.ndarray, weights: np.ndarray) -> float:
    """Return a proved upper bound of the hull's distance from 0: the length of one of its points.

    Weights have shape (m,). Each row of V (m, d) may itself be a difference rounded once; the bound
    covers that error.

    Raises:
        DataError: a weight is negative or NaN, or none is positive.
    """
    weights = np.asarray(weights, dtype=np.float64)
    if not (weights >= 0.0).all() or not weights.any():
        raise DataError("convex weights must be non-negative and not all zero")
    support = np.flatnonzero(weights)
    rows, a = V[support], weights[support]
    point = a @ rows / a.sum()
    reach = float(np.linalg.norm(rows, axis=1).max())
    length = float(np.linalg.norm(point))
    if not rows.any():
        return 0.0
    rounding = gamma(2 * len(support) + 3) * reach + UNDERFLOW
    return length * (1.0 + gamma(V.shape[1] + 2)) + rounding


def supporting_normal(V: np.ndarray) -> np.ndarray:
    """Return the unit normal of the affine hull of the rows of V (m, d), away from the origin.

    It is sharper than the min-norm point itself if the hull nearly touches the origin: the normal's
    error is of the order of the rounding unit, not of rounding over distance. All rows must lie on
    the face, that is, carry the min-norm point. Zeros when the affine hull is the whole space.
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
        # Repeated on the short remainder, which makes it orthogonal to full precision.
        for _ in range(3):
            normal = normal - basis @ (basis.T @ normal)
    length = float(np.linalg.norm(normal))
    return np.asarray(normal / length if length > 0.0 else normal)


def pivoted_weights(
    V: np.ndarray, start: np.ndarray, numpy_only: bool = False
) -> np.ndarray | None:
    """Compute convex weights of the point of conv(rows of V) nearest to the origin by pivoting.

    With t the least norm of a row, they solve the non-negative least squares problem
    `min |V^T a|^2 + t^2 (1 - sum a)^2` over `a >= 0`, whose solution has the direction of the
    weights sought whatever t is (see the top of this file); this t keeps the digits of rows that
    are much shorter than others.

    Args:
        V: points, shape (m, d), none of them zero, of norm 1 at most.
        start: initial support, indices, shape (n,), not empty.
        numpy_only: factorise without SciPy, unless rows are dependent.

    Returns:
        Weights, shape (m,), optimal to rounding, but without a proof. None if pivoting cycles or
        meets dependent rows.

    Example:
        >>> pivoted_weights(np.array([[0.5, 0.5], [0.5, -0.5], [1.0, 0.0]]), np.array([0, 1, 2]))
        array([0.5, 0.5, 0. ])
    """
    m, d = V.shape
    norms = np.linalg.norm(V, axis=1)
    squared = float(norms.min()) ** 2
    gram = V @ V.T + squared if m <= _MAX_GRAM_ROWS else None
    mask = np.zeros(m, dtype=bool)
    mask[start[: d + 1]] = True
    fewest, share = m + 1, 0.5
    while share > _MIN_EXCHANGE_SHARE:
        support = np.flatnonzero(mask)
        rows = V[support]
        square = rows @ rows.T + squared if gram is None else gram[support[:, None], support]
        solve, independent = _cholesky(square, numpy_only)
        if independent < len(support):
            # The rows before this one are independent: continue with them.
            mask[support[independent:]] = False
            share /= 2.0
            if independent == 0:
                return None
            continue
        a = solve(np.full(len(support), squared))
        # The products square the condition number; one correction from the true residual fixes it.
        a += solve(squared * (1.0 - a.sum()) - rows @ (a @ rows))
        point = a @ rows
        slopes = V @ point - squared * (1.0 - a.sum())
        noise = gamma(d + 4) * float(np.linalg.norm(point)) + UNIT * float(
            np.abs(a) @ norms[support]
        )
        wrong = slopes < -noise * norms
        wrong[support] = a < 0.0
        count = int(np.count_nonzero(wrong))
        if count == 0:
            weights = np.zeros(m)
            weights[support] = a / a.sum()
            return weights
        # If large exchanges do not help, smaller ones are tried.
        share = share if count < fewest else share / 2.0
        fewest = min(fewest, count)
        entering = np.flatnonzero(wrong & ~mask)
        mask &= ~wrong
        # More than d + 1 rows are dependent: the steepest come in, half of the free places.
        places = max(1, int(share * (d - np.count_nonzero(mask))))
        if len(entering) > places:
            entering = entering[np.argpartition(slopes[entering], places - 1)[:places]]
        mask[entering] = True
        if not mask.any():
            return None
    return None


def _cholesky(
    square: np.ndarray, numpy_only: bool
) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    """Return the solver of a symmetric system (n, n), and its number of independent leading rows.

    That number is n if the system can be solved. `square` is overwritten.
    """
    if numpy_only:
        with suppress(np.linalg.LinAlgError):
            inverse = np.linalg.inv(np.linalg.cholesky(square))
            return lambda b: inverse.T @ (inverse @ b), len(square)
    from scipy.linalg.lapack import dpotrf, dpotrs

    factor, failed = dpotrf(square.T, lower=True, overwrite_a=True, clean=False)
    return lambda b: dpotrs(factor, b, lower=True)[0], failed - 1 if failed else len(square)


def wolfe(V: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Improve convex weights (m,) of rows (m, d) of norm about 1 by Wolfe's method.

    The point of the new weights is never further from the origin.
    """
    m, d = V.shape
    corral = np.flatnonzero(weights)
    a = weights[corral] / weights[corral].sum()
    best, best_length = (corral, a), np.inf
    for _ in range(20 * (d + 10)):  # each round brings a row in
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
    return np.asarray(result / result.sum())


def _descend(V: np.ndarray, corral: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Move towards the affine minimiser of the corral, dropping the rows that block the way."""
    while len(corral) > 1:
        edges = V[corral[1:]] - V[corral[0]]
        tail = np.linalg.lstsq(edges.T, -V[corral[0]], rcond=1e-14)[0]
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


def _gap(V: np.ndarray, weights: np.ndarray) -> float:
    """Return `|x|^2 - min_j <x, v_j>` for a point x of the hull: 0 only at that of least norm."""
    x = weights @ V
    return float(x @ x - (V @ x).min())


def _nnls_weights(V: np.ndarray) -> np.ndarray | None:
    """Compute convex weights by non-negative least squares; None if the solver fails."""
    from scipy.optimize import nnls

    m, d = V.shape
    # As in `pivoted_weights`, the least norm keeps the digits of rows that are much shorter than
    # others; columns of length 1 make its tolerances the same for all rows.
    columns, target = np.empty((d + 1, m)), np.zeros(d + 1)
    columns[:d], columns[d], target[d] = V.T, np.linalg.norm(V, axis=1).min(), 1.0
    lengths = np.linalg.norm(columns, axis=0)
    try:
        a = nnls(columns / lengths, target)[0] / lengths
    except (RuntimeError, ValueError, np.linalg.LinAlgError):  # ValueError: a length has no square
        return None
    total = float(a.sum())
    return a / total if np.isfinite(total) and total > 0.0 else None


def hull_directions(W: np.ndarray, classes: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Return unit differences "row minus projection" of m rows and hulls of candidates (m, n).

    They are sharp enough to exclude most classes of a search for the least one-vs-rest distance.
    The caller proves it by float64 products of them with all rows. W is float32, (K, d), classes
    and candidates are indices of rows, directions float64, (m, d); zero if a row lies on its
    projection.
    """
    m, n = candidates.shape
    d = W.shape[1]
    directions = np.empty((m, d))
    step = max(1, _BLOCK_BYTES // (4 * n * max(n, d)))
    for s in range(0, m, step):
        rows = W[candidates[s : s + step]]
        # Convex weights do not depend on the origin: at the rows' mean the steps can be longest.
        mean = rows.mean(axis=1)
        rows -= mean[:, None, :]
        offsets = W[classes[s : s + step]] - mean
        weights = _batch_weights(
            rows @ rows.transpose(0, 2, 1), (rows @ offsets[:, :, None])[:, :, 0]
        )
        directions[s : s + step] = offsets - (weights[:, None, :] @ rows)[:, 0]
    norms = np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(
        np.divide(directions, norms, out=np.zeros_like(directions), where=norms > 0.0)
    )


def near_hull(
    point: np.ndarray, vertices: np.ndarray, weights: np.ndarray, steps: int = 300
) -> float:
    """Return the distance from `point` (d,) to a near point of the hull of `vertices` (m, d).

    Steps of projected gradient from convex weights (m,) lead to that point, which need not be the
    nearest. The distance is correct to rounding.

    Example:
        >>> corners = np.array([[1.0, 1.0], [1.0, -1.0]])
        >>> round(near_hull(np.array([2.0, 0.0]), corners, np.array([1.0, 0.0])), 12)
        1.0
    """
    curvature = _largest_square(vertices)
    best = np.inf

    def step(a: np.ndarray) -> np.ndarray:
        nonlocal best
        gap = a @ vertices - point
        if (a >= 0.0).all():
            best = min(best, float(np.linalg.norm(gap)))
        return np.asarray(vertices @ gap / curvature)

    weights = _accelerated(weights, step, steps)
    return min(best, float(np.linalg.norm(weights @ vertices - point)))


def onto_simplex(a: np.ndarray) -> np.ndarray:
    """Return the nearest convex weights to each row of a, (..., n): non-negative, summing to 1.

    Example:
        >>> onto_simplex(np.array([[0.5, 0.5], [2.0, -1.0]]))
        array([[0.5, 0.5],
               [1. , 0. ]])
    """
    falling = -np.sort(-a, axis=-1)
    counts = np.arange(1, a.shape[-1] + 1, dtype=a.dtype)
    shifts = (np.cumsum(falling, axis=-1) - 1.0) / counts
    # The right shift is the last one that is below its entry; the first always is.
    last = a.shape[-1] - 1 - (falling > shifts)[..., ::-1].argmax(axis=-1, keepdims=True)
    return np.asarray(np.maximum(a - np.take_along_axis(shifts, last, axis=-1), 0.0))


def _accelerated(a: np.ndarray, step: Callable[[np.ndarray], np.ndarray], steps: int) -> np.ndarray:
    """Take accelerated steps from convex weights a; `step` gives gradient times step size."""
    extrapolated, t = a, 1.0
    for _ in range(steps):
        projected = onto_simplex(extrapolated - step(extrapolated))
        next_t = (1.0 + (1.0 + 4.0 * t * t) ** 0.5) / 2.0
        extrapolated = projected + (t - 1.0) / next_t * (projected - a)
        a, t = projected, next_t
    return a


def _batch_weights(gram: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """Approximate the minimum of `a^T gram a - 2 linear^T a` by convex weights, shape (m, n)."""
    # Every eigenvalue is below the largest row sum; a step of its inverse never overshoots.
    lipschitz = np.maximum(np.abs(gram).sum(axis=2).max(axis=1)[:, None], np.float32(1e-30))
    return _accelerated(
        onto_simplex(linear / lipschitz),
        lambda a: ((gram @ a[:, :, None])[:, :, 0] - linear) / lipschitz,
        _PROJECTION_STEPS,
    )


def _largest_square(vertices: np.ndarray) -> float:
    """Estimate the largest squared singular value of rows (m, d): power steps and a margin."""
    v = np.random.default_rng(0).standard_normal(len(vertices))
    size = float(np.linalg.norm(v))
    for _ in range(30):
        if size == 0.0:
            return float((vertices**2).sum()) or 1.0
        v = vertices @ ((v / size) @ vertices)
        size = float(np.linalg.norm(v))
    return 1.1 * size or 1.0
