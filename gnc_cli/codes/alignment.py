"""Laying one set of rows upon another: the best rotation, and the best pairing."""

import numpy as np

__all__ = ["assign", "procrustes"]


def procrustes(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The orthogonal matrix Q with the smallest sum of squares of `X Q - Y`, shape (d, d).

    Source: P. H. Schoenemann, A generalized solution of the orthogonal Procrustes problem, 1966.
    """
    left, _, right = np.linalg.svd(X.T @ Y)
    return np.asarray(left @ right)


def assign(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """For each row of X its own row of Y, all together as near as can be."""
    if len(X) == 1:
        return np.zeros(1, dtype=np.intp)
    from scipy.optimize import linear_sum_assignment

    squares = (X * X).sum(1)[:, None] + (Y * Y).sum(1) - 2.0 * (X @ Y.T)
    return np.asarray(linear_sum_assignment(squares)[1])
