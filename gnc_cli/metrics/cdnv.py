"""CDNV: the class-distance normalised variance, a mean over pairs of classes."""

import numpy as np

from gnc_cli.metrics.pairs import PairTile

__all__ = ["Cdnv"]


class Cdnv:
    """Mean over ordered pairs k != j of `(var_k + var_j) / (2 |m_k - m_j|^2)`.

    Galanti, Gyorgy and Hutter, On the role of neural collapse in transfer learning (arXiv
    2112.15121). `var_k` is the mean squared distance of class k to its mean, which may be that of
    other data. A class without samples has no `var_k`: leave its pairs out of the tiles
    (`PairTile.among`). Collapsed at 0.

    Args:
        spread: var_k of the classes whose means make the tiles, shape (P,).

    Example:
        >>> from gnc_cli.metrics.pairs import pair_tiles
        >>> cdnv = Cdnv(np.array([1.0, 3.0]))
        >>> for tile in pair_tiles(np.array([[0.0], [2.0]])):
        ...     cdnv.add(tile)
        >>> cdnv.value
        0.5
    """

    def __init__(self, spread: np.ndarray) -> None:
        self._spread = spread
        self._sum = 0.0
        self._pairs = 0
        self._coincident = False

    def add(self, tile: PairTile) -> None:
        """Take in the pairs of a tile of the class means."""
        self._pairs += tile.pairs
        if not tile.squares.all():
            self._coincident = True
        if self._coincident:
            return
        inverse = 1.0 / tile.squares
        inverse[tile.own] = 0.0
        rows = float(self._spread[tile.rows] @ inverse.sum(axis=1))
        columns = float((inverse @ self._spread[tile.columns]).sum())
        self._sum += tile.weight * 0.5 * (rows + columns)

    @property
    def value(self) -> float | None:
        """None where two class means coincide, or fewer than two classes are present."""
        return None if self._coincident or not self._pairs else self._sum / self._pairs
