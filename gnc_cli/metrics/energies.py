"""How evenly points lie on the sphere: pair energies, and the effective rank."""

import math

import numpy as np

from gnc_cli.metrics.pairs import PairTile
from gnc_cli.numerics.deadline import Deadline

__all__ = ["Energies", "effective_rank"]

_ROWS_BYTES = 32 << 20
"""Rows folded into the triangular factor at a time."""


class Energies:
    """Mean over pairs of `-log |x - y|` and of `1 / |x - y|`; smaller is more even.

    Logarithmic and Riesz energy (s = 1), here means rather than sums, so that sizes compare.

    Example:
        >>> from gnc_cli.metrics.pairs import pair_tiles
        >>> energies = Energies()
        >>> for tile in pair_tiles(np.array([[1.0, 0.0], [-1.0, 0.0]])):
        ...     energies.add(tile)
        >>> round(energies.log, 12), energies.riesz
        (-0.69314718056, 0.5)
    """

    def __init__(self) -> None:
        self._log = 0.0
        self._riesz = 0.0
        self._pairs = 0
        self._coincident = False

    def add(self, tile: PairTile) -> None:
        """Take in the pairs of a tile."""
        self._pairs += tile.pairs
        if not tile.squares.all():
            self._coincident = True
        if self._coincident:
            return
        # A row's distance to itself reads 1: its logarithm is 0, its inverse is taken off.
        self._log -= 0.5 * tile.weight * float(np.log(tile.squares).sum())
        inverse = 1.0 / np.sqrt(tile.squares)
        self._riesz += tile.weight * (float(inverse.sum()) - len(tile.own[0]))

    @property
    def log(self) -> float | None:
        """None where two points coincide, or there are fewer than two."""
        return None if self._coincident or not self._pairs else self._log / self._pairs

    @property
    def riesz(self) -> float | None:
        """None where two points coincide, or there are fewer than two."""
        return None if self._coincident or not self._pairs else self._riesz / self._pairs


def effective_rank(X: np.ndarray, *, deadline: Deadline | None = None) -> float | None:
    """`exp(entropy of the normalised singular values)`, between 1 and the rank.

    Roy and Vetterli, The effective rank, EUSIPCO 2007. The singular values are those of the
    triangular factor of X, not roots of eigenvalues, which would lose the small ones.

    Args:
        X: shape (K, d).
        deadline: polled at each block of rows.

    Returns:
        None where X is zero or has no rows.

    Raises:
        TimeoutError: the deadline expired first.

    Example:
        >>> round(effective_rank(np.eye(3)), 12)
        3.0
    """
    d = X.shape[1]
    step = max(d, _ROWS_BYTES // (8 * d))
    factor = np.zeros((0, d))
    for start in range(0, len(X), step):
        if deadline is not None and deadline.expired:
            raise TimeoutError("the deadline expired before the effective rank was found")
        stacked = np.concatenate([factor, X[start : start + step]])
        factor = np.asarray(np.linalg.qr(stacked, mode="r"))
    values = np.linalg.svd(factor, compute_uv=False) if len(factor) else np.zeros(0)
    total = float(values.sum())
    if total == 0.0:
        return None
    shares = values[values > 0.0] / total
    return math.exp(-float(shares @ np.log(shares)))
