"""Good directions for many one-vs-rest distances at once, without a proof of their own.

For each class a few candidate rows are given; accelerated projected gradient steps move convex
weights on them towards the class's projection on their hull, for a whole batch of classes in
float32. The unit differences "row minus projection" are sharp enough to rule out most classes of a
search for the minimum; the proof is the caller's float64 product of them with all rows.

References:
    A. Beck and M. Teboulle, A fast iterative shrinkage-thresholding algorithm, SIAM J. Imaging
    Sci. 2 (2009); J. Duchi et al., Efficient projections onto the l1-ball, ICML 2008 (fig. 1).
"""

import numpy as np

__all__ = ["hull_directions", "onto_simplex"]

_STEPS = 40
_BLOCK = 16 << 20


def hull_directions(W: np.ndarray, classes: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Directions from approximate projections on hulls of candidate rows.

    Args:
        W: the code, float32, shape (K, d).
        classes: indices of the rows to project, shape (m,).
        candidates: indices of the rows whose hull each is projected on, shape (m, n).

    Returns:
        Unit vectors (to rounding), float64, shape (m, d); zero where a row lies on its projection.
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
        gram = rows @ rows.transpose(0, 2, 1)
        a = _weights(gram, (rows @ own[:, :, None])[:, :, 0])
        directions[s : s + step] = own - (a[:, None, :] @ rows)[:, 0]
    norms = np.linalg.norm(directions, axis=1, keepdims=True)
    return np.divide(directions, norms, out=np.zeros_like(directions), where=norms > 0.0)


def onto_simplex(a: np.ndarray) -> np.ndarray:
    """Nearest convex weights to each row of a, shape (m, n): non-negative, summing to 1.

    Example:
        >>> onto_simplex(np.array([[0.5, 0.5], [2.0, -1.0]]))
        array([[0.5, 0.5],
               [1. , 0. ]])
    """
    falling = -np.sort(-a, axis=1)
    counts = np.arange(1, a.shape[1] + 1, dtype=a.dtype)
    shifts = (np.cumsum(falling, axis=1) - 1.0) / counts
    # The shift that fits is the last one below its own entry; the first always is.
    last = a.shape[1] - 1 - (falling > shifts)[:, ::-1].argmax(axis=1)
    return np.maximum(a - np.take_along_axis(shifts, last[:, None], axis=1), 0.0)


def _weights(gram: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """Convex weights near the minimum of `a^T gram a - 2 pull^T a`, shape (m, n)."""
    m, n = pull.shape
    # Every eigenvalue is below the largest row sum; a step of its inverse never overshoots.
    lipschitz = np.abs(gram).sum(axis=2).max(axis=1)[:, None]
    a = onto_simplex(pull / np.maximum(lipschitz, np.float32(1e-30)))
    ahead, t = a, 1.0
    for _ in range(_STEPS):
        slope = (gram @ ahead[:, :, None])[:, :, 0] - pull
        after = onto_simplex(ahead - slope / np.maximum(lipschitz, np.float32(1e-30)))
        t_after = (1.0 + (1.0 + 4.0 * t * t) ** 0.5) / 2.0
        ahead = after + np.float32((t - 1.0) / t_after) * (after - a)
        a, t = after, t_after
    return a
