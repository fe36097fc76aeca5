"""Which of many linear scores is the largest: float32 products, proved, and float64 where they tie.

A score is `<x, v_j> + o_j`: a logit, or the nearest of many means. One blocked float32 product of
all rows gives every score to within a proved bound (`geometry/rounding.py`), which settles nearly
all rows; the few whose two largest scores lie within it are scored again in float64. (Products in
float64 throughout would take twice the time. A GPU multiplies in float64: what is left to the CPU
is then next to nothing.)

Scores of one row may be scaled without changing their order, so the float32 product takes unit
rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnc_cli.geometry.gram import gram_tiles
from gnc_cli.geometry.rounding import UNIT, UNIT32, gamma
from gnc_cli.geometry.sphere import row_norms
from gnc_cli.metrics.rows import Rows, blocks, read_block, to_numpy

_SIDE = 1024
"""Of a tile of scores: 4 MB in float32; twice as long on a device, 32 MB in float64."""
_TOO_LARGE = 1e30
"""Offsets this much larger than a row's scores leave no digit of them in float32."""


@dataclass(frozen=True, eq=False)
class SampleBlock:
    """The samples of one block that count, B of them."""

    labels: np.ndarray
    """All >= 0, shape (B,)."""
    raw: np.ndarray
    """As stored, float64, shape (B, d)."""
    norms: np.ndarray
    """Shape (B,)."""
    unit: np.ndarray
    """Float64, norm 1 (zero rows stay zero), shape (B, d)."""
    small: Any
    """The unit rows, `placed`, with a spare column for the factor of offsets, shape (B, d + 1)."""

    @classmethod
    def read(
        cls,
        rows: Rows,
        labels: np.ndarray,
        unit: bool,
        where: str,
        start: int,
        stop: int,
        device: str | None = None,
    ) -> "SampleBlock":
        """Rows from start to stop; raises as `read_block`."""
        block = read_block(rows, labels, ("unit", "raw") if unit else ("raw",), where, start, stop)
        raw, norms = block.rows["raw"], block.norms
        directions = block.rows.get("unit")
        if directions is None:
            directions = raw / np.where(norms > 0.0, norms, 1.0)[:, None]
        small = np.empty((len(raw), raw.shape[1] + 1), dtype=precision(device))
        small[:, :-1] = directions
        return cls(block.labels, raw, norms, directions, placed(small, device))


def precision(device: str | None) -> type[np.floating[Any]]:
    """Of the products: float32 on the CPU, float64 on a device."""
    return np.float32 if device is None else np.float64


def placed(array: np.ndarray, device: str | None) -> Any:
    """What products are made of, in their `precision`: an array, or a tensor on the device."""
    made: Any = array.astype(precision(device), copy=False)
    if device is not None:
        import torch

        made = torch.from_numpy(made).to(device)
    return made


class Leaders:
    """Of each row the score of its own column and the two largest of the others, in float64."""

    def __init__(self, rows: int) -> None:
        self.own, self.top, self.second = np.full((3, rows), -np.inf)
        """Own: -inf for rows without a column of their own."""
        self.at = np.zeros(rows, dtype=np.intp)
        """Column of `top`."""

    def see(self, tile: Any, rows: slice, columns: slice, own: np.ndarray) -> None:
        """Take in a tile of scores, an array or a tensor; it is left as it was."""
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
        mine, top, second, at = (to_numpy(values) for values in (mine, top, second, at))

        self.own[rows][inside] = mine
        best, runner_up = self.top[rows], self.second[rows]
        np.maximum(runner_up, np.maximum(second, np.minimum(best, top)), out=runner_up)
        better = top > best
        self.at[rows][better] = at[better] + columns.start
        np.maximum(best, top, out=best)

    def lead(self) -> np.ndarray:
        """How far the largest of all scores is ahead of the next, shape (rows,)."""
        after = np.where(self.own > self.top, self.top, np.maximum(self.own, self.second))
        return np.maximum(self.own, self.top) - after


def screen(
    A: Any,
    V: Any,
    own: np.ndarray,
    changes: Sequence[Callable[[Any, slice, slice], None]] = (),
) -> list[Leaders]:
    """Leaders of every row of the product `A V^T`, (B, d) times (d, K), both `placed` alike, tile
    by tile; then of what each of `changes` makes of the tile, in place, given its rows and columns.

    `own` is each row's own column, shape (B,); -1 for none.
    """
    stages = [Leaders(len(A)) for _ in range(1 + len(changes))]
    side = _SIDE if isinstance(V, np.ndarray) else 2 * _SIDE
    for rows, columns in gram_tiles(len(A), side, len(V)):
        tile = A[rows] @ V[columns].T
        stages[0].see(tile, rows, columns, own[rows])
        for stage, change in zip(stages[1:], changes, strict=True):
            change(tile, rows, columns)
            stage.see(tile, rows, columns, own[rows])
    return stages


class Scores:
    """The scores `<x, v_j / divisor_j> + offset_j` of K columns, x unit or raw rows; V, (K, d)
    float64, is not copied.
    """

    def __init__(
        self,
        V: np.ndarray,
        divisor: np.ndarray,
        *,
        unit: bool,
        offsets: np.ndarray | None = None,
        device: str | None = None,
    ) -> None:
        self.V, self.divisor, self.unit, self.device = V, divisor, unit, device
        self.offsets = np.zeros(len(V)) if offsets is None else offsets
        self.longest = float((row_norms(V) / divisor).max(initial=0.0))
        self.largest = float(np.abs(self.offsets).max(initial=0.0))

    def small(self) -> Any:
        """Columns for `screen`, `placed`, with the offsets last, shape (K, d + 1)."""
        K, d = self.V.shape
        small = np.empty((K, d + 1), dtype=precision(self.device))
        for start, stop in blocks(K, _SIDE):
            small[start:stop, :d] = self.V[start:stop] / self.divisor[start:stop, None]
        small[:, d] = self.offsets
        return placed(small, self.device)

    def factors(self, samples: SampleBlock) -> tuple[np.ndarray, np.ndarray]:
        """Of the offsets beside unit rows, and the proved error of screened scores, (B,) each.

        Both factors of a product are rounded once, products and sums d + 1 times; `change` may
        round six times more, and underflow adds less than 1e-36. The error is infinite where
        float32 cannot hold the factor, which is then 0.
        """
        with np.errstate(divide="ignore"):
            factor = 1.0 / (np.ones(len(samples.norms)) if self.unit else samples.norms)
        held = factor < _TOO_LARGE
        factor = np.where(held, factor, 0.0)
        size = self.longest + factor * self.largest
        rounding = gamma(self.V.shape[1] + 8, UNIT32 if self.device is None else UNIT)
        error = 1.001 * rounding * size + 1e-36
        return factor, np.where(held, error, np.inf)

    def decide(
        self, samples: SampleBlock, leaders: Leaders, error: np.ndarray, own: np.ndarray
    ) -> np.ndarray:
        """The column of each row's largest score, the first of ties, as in float64, (B,); `leaders`
        are of screened scores with that `error`, (B,).
        """
        chosen = np.where(leaders.own > leaders.top, own, leaders.at)
        again = np.flatnonzero(~(leaders.lead() > 2.0 * error))
        mine, top, at = self.exact(samples, again, own[again])
        own_first = (mine > top) | ((mine == top) & (own[again] < at))
        chosen[again] = np.where(own_first, own[again], at)
        return chosen

    def rows(self, samples: SampleBlock, which: np.ndarray | slice) -> np.ndarray:
        """Some float64 rows in the space of the scores."""
        return (samples.unit if self.unit else samples.raw)[which]

    def exact(
        self, samples: SampleBlock, which: np.ndarray, own: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The leaders of some rows in float64; equal columns tie exactly.

        A product may add up the terms of two columns in different orders, so close scores are
        computed once more, alike. That makes the answer on a row independent of the other rows.

        Returns:
            own score (-inf for none), the largest of the others and its first column, (m,) each.
        """
        mine, top = np.full((2, len(which)), -np.inf)
        at = np.zeros(len(which), dtype=np.intp)
        if not len(which):
            return mine, top, at
        X = self.rows(samples, which)
        has = np.flatnonzero(own >= 0)
        mine[has] = self._pairs(X, has, own[has])
        # Twice the rounding of a float64 score.
        size = 1.0 if self.unit else samples.norms[which]
        near = 2.0 * gamma(self.V.shape[1] + 3) * (size * self.longest + self.largest)
        every = np.arange(len(X))
        for start, stop in blocks(len(self.V), _SIDE):
            tile = self._finish(X @ self.V[start:stop].T, own, slice(start, stop))
            i, j = np.nonzero((tile >= (tile.max(axis=1) - near)[:, None]) & (tile > -np.inf))
            tile[i, j] = self._pairs(X, i, j + start)
            best = tile.argmax(axis=1)
            value = tile[every, best]
            better = value > top
            top[better], at[better] = value[better], best[better] + start
        return mine, top, at

    def _finish(self, tile: np.ndarray, own: np.ndarray, columns: slice) -> np.ndarray:
        """Products of rows with some columns made scores, -inf in a row's own column."""
        tile /= self.divisor[columns]
        tile += self.offsets[columns]
        inside = np.flatnonzero((own >= columns.start) & (own < columns.stop))
        tile[inside, own[inside] - columns.start] = -np.inf
        return tile

    def _pairs(self, X: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Scores of row i[m] in column j[m], each added up in the same order."""
        scores = np.empty(len(i))
        for start, stop in blocks(len(i), _SIDE):
            a, b = i[start:stop], j[start:stop]
            scores[start:stop] = np.einsum("md,md->m", X[a], self.V[b]) / self.divisor[b]
        return scores + self.offsets[j]
