"""Orthogonal polynomials at many points: in floating point, or exact in arrays of objects."""

import numpy as np


def chebyshev(degree: int, x: np.ndarray) -> np.ndarray:
    """Return T_0 to T_degree at each x, shape (degree + 1, *x.shape)."""
    T = [np.ones_like(x), x]
    for _ in range(1, degree):
        T.append(2 * x * T[-1] - T[-2])
    return np.array(T[: degree + 1])


def gegenbauer(d: int, degree: int, x: np.ndarray, square: np.ndarray | int = 1) -> np.ndarray:
    """Return the Gegenbauer polynomials P_0 to P_degree of R^d at each x, P_k(1) = 1.

    Args:
        d: dimension.
        degree: largest degree.
        x: points, any shape; floats, or objects with exact arithmetic.
        square: r^2, which returns r^k P_k(x / r) in place of P_k(x).

    Returns:
        Values, shape (degree + 1, *x.shape).
    """
    P = [np.ones_like(x), x]
    for i in range(1, degree):
        P.append(((2 * i + d - 2) * x * P[-1] - i * square * P[-2]) / (i + d - 2))
    return np.array(P[: degree + 1])
