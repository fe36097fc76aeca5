"""Which of many linear scores is the largest: float32 products, proved, and float64 where they tie.

A score is `<x, v_j> + o_j`: a logit, or the nearest of many means. One blocked float32 product of
all rows gives every score to within a proved bound (`numerics/rounding.py`), which settles nearly
all rows; the few whose two largest scores lie within it are scored again in float64.

Scores of one row may be scaled without changing their order, so rows and columns of any magnitude
(1e-300 to 1e300) are brought near 1: by their norm for the screen, by powers of two, which are
exact, for the second look.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gnc_cli.numerics.rounding import UNIT32, gamma

__all__ = ["Leaders", "Scores", "row_norms", "screen"]

_ROWS, _COLUMNS = 2048, 1024
"""Sides of a tile of scores: 8 MB in float32."""
_CROWD = 32
"""More close scores of one row than this are looked at together."""

Stage = Callable[[np.ndarray, slice, slice], None]
"""Changes a tile of scores in place; told its rows and its columns."""


def row_norms(X: np.ndarray) -> np.ndarray:
    """Euclidean norms of float64 rows, shape (N,); no overflow or underflow on the way.

    NaN or infinite where a row is.

    Example:
        >>> row_norms(np.array([[3e200, 4e200], [0.0, 0.0]])) / 1e200
        array([5., 0.])
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares = np.einsum("nd,nd->n", X, X)
        norms = np.sqrt(squares)
        far = np.flatnonzero(~((squares > 1e-280) & (squares < 1e300)))
        if far.size:
            largest = np.abs(X[far]).max(axis=1)
            scaled = X[far] / np.where(largest > 0.0, largest, 1.0)[:, None]
            norms[far] = largest * np.sqrt(np.einsum("nd,nd->n", scaled, scaled))
    return norms


@dataclass(frozen=True, eq=False)
class Leaders:
    """Of each row: the score of its own column and the two largest of the others."""

    own: np.ndarray
    """-inf for rows without a column of their own."""
    top: np.ndarray
    at: np.ndarray
    """Column of `top`."""
    second: np.ndarray
    """Largest of the rest."""
    tile_tops: np.ndarray
    """Largest of the others within each tile of columns, shape (tiles, rows)."""

    @classmethod
    def start(cls, rows: int, K: int) -> "Leaders":
        """Nothing seen yet."""
        low = np.full((3 + -(-K // _COLUMNS), rows), -np.inf, dtype=np.float32)
        return cls(low[0], low[1], np.zeros(rows, dtype=np.intp), low[2], low[3:])

    def see(self, tile: np.ndarray, rows: slice, columns: slice, own: np.ndarray) -> None:
        """Take in a tile of scores; it is left as it was."""
        inside = np.flatnonzero((own >= columns.start) & (own < columns.stop))
        at_own = own[inside] - columns.start
        mine = tile[inside, at_own]
        tile[inside, at_own] = -np.inf
        every = np.arange(len(tile))
        at = tile.argmax(axis=1)
        top = tile[every, at]
        tile[every, at] = -np.inf
        second = tile[every, tile.argmax(axis=1)]
        tile[every, at] = top
        tile[inside, at_own] = mine

        self.own[rows][inside] = mine
        self.tile_tops[columns.start // _COLUMNS, rows] = top
        best, runner_up = self.top[rows], self.second[rows]
        np.maximum(runner_up, np.maximum(second, np.minimum(best, top)), out=runner_up)
        better = top > best
        self.at[rows][better] = at[better] + columns.start
        np.maximum(best, top, out=best)

    def lead(self) -> np.ndarray:
        """How far the largest of all scores is ahead of the next, float64, shape (rows,)."""
        first = np.maximum(self.own, self.top)
        own_first = self.own > self.top
        after = np.where(own_first, self.top, np.maximum(self.own, self.second))
        return first.astype(np.float64) - after


def screen(
    A: np.ndarray, V: np.ndarray, own: np.ndarray, stages: Sequence[Stage | None] = (None,)
) -> list[Leaders]:
    """Leaders of every row of the float32 product `A V^T`, tile by tile.

    Args:
        A: float32 rows, shape (B, d).
        V: float32 columns' vectors, shape (K, d).
        own: each row's own column, shape (B,); -1 for none.
        stages: what is done to each tile, one after the other; its leaders are taken after each.

    Returns:
        For each stage the leaders, float32.
    """
    (B, _), K = A.shape, len(V)
    found = [Leaders.start(B, K) for _ in stages]
    room = np.empty(min(_ROWS, B) * min(_COLUMNS, K), dtype=np.float32)
    for r in range(0, B, _ROWS):
        rows = slice(r, min(B, r + _ROWS))
        for c in range(0, K, _COLUMNS):
            columns = slice(c, min(K, c + _COLUMNS))
            shape = rows.stop - r, columns.stop - c
            tile = room[: shape[0] * shape[1]].reshape(shape)
            np.matmul(A[rows], V[columns].T, out=tile)
            for stage, leaders in zip(stages, found, strict=True):
                if stage is not None:
                    stage(tile, rows, columns)
                leaders.see(tile, rows, columns, own[rows])
    return found


class Scores:
    """The scores `<x, v_j / divisor_j> + 2**rise * offset_j` of K columns.

    Args:
        V: float64, finite, shape (K, d); not copied.
        divisor: positive, shape (K,), such that no `v_j / divisor_j` is much longer than 1.
        offsets: at most about 1 in magnitude, shape (K,); None for zeros.
        rise: exponent of the offsets' size.
    """

    def __init__(
        self,
        V: np.ndarray,
        divisor: np.ndarray,
        offsets: np.ndarray | None = None,
        rise: int = 0,
    ) -> None:
        self.V, self.divisor, self.offsets, self.rise = V, divisor, offsets, rise
        self.longest = float((row_norms(V) / divisor).max(initial=0.0))
        self.largest = 0.0 if offsets is None else float(np.abs(offsets).max(initial=0.0))

    def columns(self, which: slice | np.ndarray) -> np.ndarray:
        """`v_j / divisor_j`, float64, a new array."""
        return self.V[which] / self.divisor[which, None]

    def small(self) -> np.ndarray:
        """Float32 columns for `screen`, shape (K, d), or (K, d + 1) with the offsets last."""
        K, d = self.V.shape
        small = np.empty((K, d + (self.offsets is not None)), dtype=np.float32)
        for s in range(0, K, _COLUMNS):
            small[s : s + _COLUMNS, :d] = self.columns(slice(s, s + _COLUMNS))
        if self.offsets is not None:
            small[:, d] = self.offsets
        return small

    def error(self, raised: np.ndarray) -> np.ndarray:
        """Proved error of the screen's float32 scores of unit rows, float64, shape (B,).

        Both factors are rounded once, products and sums d + 1 times; a stage may round six times
        more, and underflow adds less than 1e-36.

        Args:
            raised: each row's factor of the offsets, `2**rise` over its norm, shape (B,).
        """
        size = self.longest + raised * self.largest
        return 1.001 * gamma(self.V.shape[1] + 8, UNIT32) * size + 1e-36

    def exact(
        self,
        X: np.ndarray,
        raised: np.ndarray,
        own: np.ndarray,
        tile_tops: np.ndarray,
        floor: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The leaders of some rows in float64; equal columns tie exactly.

        A product may add up the terms of two columns in different orders, so close scores are
        looked at once more. That makes the answer on a row independent of the other rows, too.

        Args:
            X: float64 rows, shape (m, d), of norm at most about 1.
            raised: each row's factor of the offsets, shape (m,).
            own: each row's own column, shape (m,); -1 for none.
            tile_tops: of their screen, shape (tiles, m).
            floor: tiles whose top is below cannot hold the largest score, shape (m,).

        Returns:
            own score (-inf for none), the largest of the others and its first column, (m,) each.
        """
        mine = np.full(len(X), -np.inf)
        has = np.flatnonzero(own >= 0)
        mine[has] = self._pairs(X, raised, has, own[has])
        top, at = np.full(len(X), -np.inf), np.zeros(len(X), dtype=np.intp)
        # Twice the rounding of a float64 score.
        near = 2.0 * gamma(self.V.shape[1] + 3) * (self.longest + raised * self.largest)
        for c in range(0, len(self.V), _COLUMNS):
            some = np.flatnonzero(tile_tops[c // _COLUMNS] >= floor)
            if not some.size:
                continue
            tile = self._tile(X[some], raised[some], own[some] - c, c, np.matmul)
            close = (tile >= (tile.max(axis=1) - near[some])[:, None]) & (tile > -np.inf)
            many = np.flatnonzero(close.sum(axis=1) > _CROWD)
            close[many] = False
            i, j = np.nonzero(close)
            tile[i, j] = self._pairs(X, raised, some[i], j + c)
            crowd = some[many]
            tile[many] = self._tile(X[crowd], raised[crowd], own[crowd] - c, c, _alike)
            best = tile.argmax(axis=1)
            value = tile[np.arange(len(some)), best]
            better = value > top[some]
            top[some[better]] = value[better]
            at[some[better]] = best[better] + c
        return mine, top, at

    def _tile(
        self,
        X: np.ndarray,
        raised: np.ndarray,
        own: np.ndarray,
        start: int,
        product: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """Scores of rows in the columns from `start` on, -inf in their own one."""
        columns = slice(start, start + _COLUMNS)
        tile = product(X, self.V[columns].T)
        tile /= self.divisor[columns]
        if self.offsets is not None:
            tile += raised[:, None] * self.offsets[columns]
        inside = np.flatnonzero((own >= 0) & (own < tile.shape[1]))
        tile[inside, own[inside]] = -np.inf
        return tile

    def _pairs(self, X: np.ndarray, raised: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Scores of row i[m] in column j[m], bit by bit those of a tile made by `_alike`."""
        scores = np.empty(len(i))
        for s in range(0, len(i), _COLUMNS):
            a, b = i[s : s + _COLUMNS], j[s : s + _COLUMNS]
            scores[s : s + _COLUMNS] = np.einsum("md,md->m", X[a], self.V[b]) / self.divisor[b]
        if self.offsets is not None:
            scores += raised[i] * self.offsets[j]
        return scores


def _alike(X: np.ndarray, V: np.ndarray) -> np.ndarray:
    """`X @ V`, slowly, each entry added up in the same order."""
    return np.einsum("md,kd->mk", X, V.T)
