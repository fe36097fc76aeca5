"""An upper bound of a point's distance from a convex hull, in a fixed number of steps.

Accelerated projected gradient on the convex weights (A. Beck and M. Teboulle, 2009, A fast
iterative shrinkage-thresholding algorithm): every iterate is a point of the hull, so each distance
seen is a bound. Active-set methods are exact, but thousands of vertices that tie can cost hours.
"""

import numpy as np

from gnc_cli.numerics import hull_directions

__all__ = ["near_hull", "onto_simplex"]


def near_hull(
    point: np.ndarray, vertices: np.ndarray, weights: np.ndarray, steps: int = 300
) -> float:
    """The least distance found between `point` and the hull of `vertices`.

    Args:
        point: shape (d,).
        vertices: shape (m, d).
        weights: convex weights to start from, shape (m,).
        steps: each takes two products with the vertices.

    Returns:
        A distance that some point of the hull has (to rounding), not the least possible one.

    Example:
        >>> corners = np.array([[1.0, 1.0], [1.0, -1.0]])
        >>> round(near_hull(np.array([2.0, 0.0]), corners, np.array([1.0, 0.0])), 12)
        1.0
    """
    curvature = _largest_square(vertices)
    momentum, ahead, best = 1.0, weights, np.inf
    for _ in range(steps):
        gap = ahead @ vertices - point
        best = min(best, float(np.linalg.norm(gap))) if (ahead >= 0.0).all() else best
        following = onto_simplex(ahead - vertices @ gap / curvature)
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = following + (momentum - 1.0) / grown * (following - weights)
        weights, momentum = following, grown
    return min(best, float(np.linalg.norm(weights @ vertices - point)))


def onto_simplex(weights: np.ndarray) -> np.ndarray:
    """The nearest convex weights: non-negative, of sum 1 (Held, Wolfe and Crowder, 1974).

    Example:
        >>> onto_simplex(np.array([1.0, 0.5, -3.0]))
        array([0.75, 0.25, 0.  ])
    """
    return hull_directions.onto_simplex(weights[None])[0]


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
