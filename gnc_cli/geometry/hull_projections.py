"""Approximate projections on convex hulls, in a fixed number of steps and without proofs.

Accelerated projected gradient on the convex weights: every iterate is a point of the hull. Exact
projections (`min_norm_point.py`) change active sets, which thousands of vertices that tie can make
slow; these never take longer than their steps.

References:
    A. Beck and M. Teboulle, A fast iterative shrinkage-thresholding algorithm, SIAM J. Imaging
    Sci. 2 (2009); J. Duchi et al., Efficient projections onto the l1-ball, ICML 2008 (fig. 1).
"""

from collections.abc import Callable

import numpy as np

_STEPS = 40
_BLOCK = 16 << 20


def hull_directions(W: np.ndarray, classes: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Unit differences "row minus projection" of some rows (m,) on hulls of candidates (m, n).

    They are sharp enough to rule out most classes of a search for the least one-vs-rest distance.
    The proof is the caller's: a float64 product of them with all rows. W is float32, (K, d), the
    directions float64, (m, d); zero where a row lies on its projection.
    """
    m, n = candidates.shape
    d = W.shape[1]
    directions = np.empty((m, d))
    step = max(1, _BLOCK // (4 * n * max(n, d)))
    for s in range(0, m, step):
        rows = W[candidates[s : s + step]]
        # With convex weights the origin is free: at the rows' mean the steps can be longest.
        mean = rows.mean(axis=1)
        rows -= mean[:, None, :]
        own = W[classes[s : s + step]] - mean
        weights = _batch_weights(rows @ rows.transpose(0, 2, 1), (rows @ own[:, :, None])[:, :, 0])
        directions[s : s + step] = own - (weights[:, None, :] @ rows)[:, 0]
    norms = np.linalg.norm(directions, axis=1, keepdims=True)
    return np.divide(directions, norms, out=np.zeros_like(directions), where=norms > 0.0)


def near_hull(
    point: np.ndarray, vertices: np.ndarray, weights: np.ndarray, steps: int = 300
) -> float:
    """A distance that some point of the hull of `vertices` (m, d) has from `point`, to rounding.

    It is found in so many steps from convex weights (m,), and not the least possible one.

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
        return vertices @ gap / curvature

    weights = _accelerated(weights, step, steps)
    return min(best, float(np.linalg.norm(weights @ vertices - point)))


def onto_simplex(a: np.ndarray) -> np.ndarray:
    """Nearest convex weights to each row of a, shape (..., n): non-negative, summing to 1.

    Example:
        >>> onto_simplex(np.array([[0.5, 0.5], [2.0, -1.0]]))
        array([[0.5, 0.5],
               [1. , 0. ]])
    """
    falling = -np.sort(-a, axis=-1)
    counts = np.arange(1, a.shape[-1] + 1, dtype=a.dtype)
    shifts = (np.cumsum(falling, axis=-1) - 1.0) / counts
    # The shift that fits is the last one below its own entry; the first always is.
    last = a.shape[-1] - 1 - (falling > shifts)[..., ::-1].argmax(axis=-1, keepdims=True)
    return np.maximum(a - np.take_along_axis(shifts, last, axis=-1), 0.0)


def _accelerated(a: np.ndarray, step: Callable[[np.ndarray], np.ndarray], steps: int) -> np.ndarray:
    """Convex weights after some steps from a; `step` gives the gradient times the step size."""
    ahead, t = a, 1.0
    for _ in range(steps):
        after = onto_simplex(ahead - step(ahead))
        t_after = (1.0 + (1.0 + 4.0 * t * t) ** 0.5) / 2.0
        ahead = after + (t - 1.0) / t_after * (after - a)
        a, t = after, t_after
    return a


def _batch_weights(gram: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """Convex weights near the minimum of `a^T gram a - 2 linear^T a`, shape (m, n)."""
    # Every eigenvalue is below the largest row sum; a step of its inverse never overshoots.
    lipschitz = np.maximum(np.abs(gram).sum(axis=2).max(axis=1)[:, None], np.float32(1e-30))
    return _accelerated(
        onto_simplex(linear / lipschitz),
        lambda a: ((gram @ a[:, :, None])[:, :, 0] - linear) / lipschitz,
        _STEPS,
    )


def _largest_square(vertices: np.ndarray) -> float:
    """About the largest squared singular value, from above: power steps and a margin."""
    v = np.random.default_rng(0).standard_normal(len(vertices))
    size = float(np.linalg.norm(v))
    for _ in range(30):
        if size == 0.0:
            return float((vertices**2).sum()) or 1.0
        v = vertices @ ((v / size) @ vertices)
        size = float(np.linalg.norm(v))
    return 1.1 * size or 1.0
