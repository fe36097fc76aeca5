"""Sylvester's Hadamard matrices and the fast Walsh transform of many integer rows at once."""

from functools import lru_cache

import numpy as np

__all__ = ["hadamard", "walsh", "walsh_block"]

_INT8_PASSES = 6
"""After so many additions of entries up to 1, int8 still holds the sums."""
_BLOCK_BYTES = 1 << 19
"""int16 entries of a block: the two copies of the transform stay in a core's cache."""


@lru_cache(maxsize=12)
def hadamard(m: int) -> np.ndarray:
    """The matrix (-1)^<a, x> over a, x in F_2^m, shape (2^m, 2^m), int8, read-only.

    Example:
        >>> hadamard(1).tolist()
        [[1, 1], [1, -1]]
    """
    matrix = np.ones((1, 1), dtype=np.int8)
    for _ in range(m):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    matrix.setflags(write=False)
    return matrix


def walsh_block(d: int) -> int:
    """How many rows of length d to transform at once."""
    return max(1, _BLOCK_BYTES // (2 * d))


def walsh(values: np.ndarray) -> np.ndarray:
    """Coefficients W[a] = sum over x of (-1)^<a, x> values[x], for each row, exactly.

    Args:
        values: -1, 0 and 1, shape (n, 2^m) with m <= 14, int8.

    Returns:
        shape (2^m, n), int16: the coefficients of a row stand in a column, as the transform leaves
        them.

    Example:
        >>> walsh(np.array([[1, 1, 1, -1]], dtype=np.int8))[:, 0].tolist()
        [2, 2, 2, -2]
    """
    n, d = values.shape
    # Transposed, each pass adds and subtracts long contiguous runs.
    now = np.ascontiguousarray(values.T, dtype=np.int8)
    other = np.empty_like(now)
    h = 1
    while h < d:
        if h == 1 << _INT8_PASSES:
            now = now.astype(np.int16)
            other = np.empty_like(now)
        shape = (d // (2 * h), 2, h * n)
        source, target = now.reshape(shape), other.reshape(shape)
        np.add(source[:, 0], source[:, 1], out=target[:, 0])
        np.subtract(source[:, 0], source[:, 1], out=target[:, 1])
        now, other = other, now
        h *= 2
    return now.astype(np.int16, copy=False)
