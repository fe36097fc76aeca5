"""Hadamard matrices: Paley's of prime fields, doubled by Sylvester's."""

from functools import lru_cache

import numpy as np

from gnc_cli.codes.constructions.log_fields import prime_power
from gnc_cli.codes.constructions.walsh import hadamard

__all__ = ["hadamard_matrix", "has_hadamard_matrix"]


def has_hadamard_matrix(d: int) -> bool:
    """Whether `hadamard_matrix(d)` makes one: d = 2^t, 2^t (q + 1) with q = 3 mod 4, or
    2^(t + 1) (q + 1) with q = 1 mod 4, q prime and below 8192.

    Example:
        >>> [d for d in range(1, 61) if has_hadamard_matrix(d)]
        [1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 56, 60]
    """
    return _seed(d) is not None


def hadamard_matrix(d: int) -> np.ndarray:
    """Entries +-1, orthogonal rows; shape (d, d), int8.

    R. E. A. C. Paley, On orthogonal matrices, 1933; J. J. Sylvester, 1867.

    Raises:
        ValueError: none is known here.
    """
    seed = _seed(d)
    if seed is None:
        raise ValueError(f"no Hadamard matrix of order {d} from a prime field")
    doublings, q = seed
    matrix = _paley(q) if q else np.ones((1, 1), dtype=np.int8)
    return np.asarray(np.kron(hadamard(doublings), matrix))


def _prime(q: int) -> bool:
    return prime_power(q) == (q, 1)


@lru_cache(maxsize=1 << 14)
def _seed(d: int) -> tuple[int, int] | None:
    """Doublings and the prime of Paley's matrix (0 for the matrix of order 1), or None."""
    if d >= 1 and d & (d - 1) == 0:
        return d.bit_length() - 1, 0
    doublings = 0
    while d > 2:
        if d % 4 == 0 and _prime(d - 1):
            return doublings, d - 1
        if d % 4 == 0 and d // 2 % 4 == 2 and _prime(d // 2 - 1):
            return doublings, d // 2 - 1
        if d % 2:
            return None
        d, doublings = d // 2, doublings + 1
    return None


def _paley(q: int) -> np.ndarray:
    """Order q + 1 for q = 3 mod 4, order 2 q + 2 for q = 1 mod 4."""
    character = np.full(q, -1, dtype=np.int8)
    character[np.arange(q) ** 2 % q] = 1
    character[0] = 0
    x = np.arange(q)
    conference = np.ones((q + 1, q + 1), dtype=np.int8)
    conference[0, 0] = 0
    conference[1:, 1:] = character[(x[None, :] - x[:, None]) % q]
    unit = np.eye(q + 1, dtype=np.int8)
    if q % 4 == 3:
        conference[1:, 0] = -1
        return np.asarray(conference + unit)
    side = np.array([[1, 1], [1, -1]], dtype=np.int8)
    turned = np.array([[1, -1], [-1, -1]], dtype=np.int8)
    return np.asarray(np.kron(conference, side) + np.kron(unit, turned))

