"""All pairs of rows, tile by tile: one product a tile feeds every statistic over pairs.

Squared distances come from the Gram tile, and from differences where that form cancels. Beyond
30000 rows the pairs are too many for a side remark: a seeded sample of rows is held against all.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gnc_cli.numerics.deadline import Deadline

__all__ = ["PairTile", "pair_rows", "pair_tiles"]

_SIDE = 512
"""Side of a tile: its few float64 arrays (2 MB each) stay near the processor."""
_ALL_ROWS = 30_000
"""Up to this many rows every pair is looked at."""
_SAMPLED_PAIRS = 100_000_000
"""Ordered pairs of a sample, or `_SIDE` rows where that is more."""
_CANCELS = 1e-5
"""Squared distances below this share of the squared norms are taken from differences."""
_DIFFERENCES = 1 << 20
"""Bytes of differences at a time: within the cache."""


@dataclass(frozen=True, eq=False)
class PairTile:
    """Some rows against some other rows."""

    rows: np.ndarray
    """Indices of the tile's rows, shape (r,)."""
    columns: np.ndarray
    """Indices of the rows they are held against, shape (c,)."""
    own: tuple[np.ndarray, np.ndarray]
    """Where in the tile a row meets itself; no pair."""
    weight: int
    """2 for a tile above the diagonal, which stands for the one below it too; otherwise 1."""
    products: np.ndarray
    """Inner products, shape (r, c)."""
    squares: np.ndarray
    """Squared distances, shape (r, c): exactly 0 where two rows coincide, 1 in place of `own`."""

    @property
    def pairs(self) -> int:
        """Ordered pairs that the tile stands for."""
        return self.weight * (self.products.size - len(self.own[0]))

    def among(self, keep: np.ndarray) -> "PairTile":
        """The pairs both of whose rows are kept.

        Args:
            keep: of all rows, tiled or not, shape (K,), bool.
        """
        rows, columns = keep[self.rows], keep[self.columns]
        i, j = self.own
        kept = rows[i]
        own = (np.cumsum(rows) - 1)[i[kept]], (np.cumsum(columns) - 1)[j[kept]]
        at = np.ix_(rows, columns)
        return PairTile(
            self.rows[rows], self.columns[columns], own, self.weight,
            self.products[at], self.squares[at],
        )  # fmt: skip


def pair_rows(K: int) -> int:
    """How many of K rows `pair_tiles` holds against all others.

    >>> pair_rows(10_000), pair_rows(100_000)
    (10000, 1000)
    """
    return K if K <= _ALL_ROWS else max(_SIDE, _SAMPLED_PAIRS // K)


def pair_tiles(
    X: np.ndarray, *, floor: float = 0.0, seed: int = 0, deadline: Deadline | None = None
) -> Iterator[PairTile]:
    """Every ordered pair of rows of X, or of `pair_rows(K)` seeded rows with all, in tiles.

    Args:
        X: float64, shape (K, d); centre it first where the rows share an offset.
        floor: distances at or below this are rounding, and become 0.
        seed: of the sample of rows.
        deadline: polled at each tile.

    Raises:
        TimeoutError: the deadline expired first.
    """
    K = len(X)
    every = np.arange(K)
    count = pair_rows(K)
    rows = every if count == K else np.sort(np.random.default_rng(seed).permutation(K)[:count])
    norms = np.einsum("kd,kd->k", X, X)
    for r in range(0, count, _SIDE):
        at = rows[r : r + _SIDE]
        for c in range(r if count == K else 0, K, _SIDE):
            if deadline is not None and deadline.expired:
                raise TimeoutError("the deadline expired before every pair of classes was seen")
            columns = every[c : c + _SIDE]
            products = X[at] @ X[c : c + _SIDE].T
            inside = np.flatnonzero((at >= c) & (at < c + len(columns)))
            own = (inside, at[inside] - c)
            scale = norms[at, None] + norms[columns]
            squares = scale - 2.0 * products
            scale *= _CANCELS
            near = squares <= scale
            if near.any():
                _from_differences(X[at], X[columns], near, squares)
            squares[squares <= floor * floor] = 0.0
            squares[own] = 1.0
            weight = 2 if count == K and c > r else 1
            yield PairTile(at, columns, own, weight, products, squares)


def _from_differences(X: np.ndarray, Y: np.ndarray, where: np.ndarray, squares: np.ndarray) -> None:
    """Squared distances of the pairs marked in `where`, written over those in `squares`."""
    i, j = np.nonzero(where)
    step = max(1, _DIFFERENCES // (8 * X.shape[1]))
    for s in range(0, len(i), step):
        a, b = i[s : s + step], j[s : s + step]
        difference = X[a] - Y[b]
        squares[a, b] = np.einsum("md,md->m", difference, difference)
