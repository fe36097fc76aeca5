"""Largest of many linear scores: float32 products with a proved error, and float64 for ties.

A score is `<x, v_j> + o_j`: a logit, or the nearest of many means. One blocked float32 product of
all rows gives every score to within a proved bound (`geometry/rounding.py`), which decides nearly
all rows; the few whose two largest scores lie within it are scored again in float64. (Products in
float64 throughout would take twice the time. A GPU multiplies in float64, so that almost no row is
scored again.)

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

_TILE_ROWS = 1024
"""Rows and columns of a tile of scores, 4 MB in float32; twice as many on a device, 32 MB in
float64."""
_MAX_FACTOR = 1e30
"""Largest factor of the offsets, beyond which float32 keeps no digit of a row's scores."""


@dataclass(frozen=True, eq=False)
class SampleBlock:
    """Labelled samples of one block, B of them."""

    labels: np.ndarray
    """Labels, all >= 0, shape (B,)."""
    raw: np.ndarray
    """Rows as stored, float64, shape (B, d)."""
    norms: np.ndarray
    """Norms of the raw rows, shape (B,)."""
    unit: np.ndarray
    """Rows of norm 1 (zero rows stay zero), float64, shape (B, d)."""
    product_rows: Any
    """Unit rows, from `place`, with a spare column for the factor of offsets, shape (B, d + 1)."""

    @classmethod
    def read(
        cls,
        rows: Rows,
        labels: np.ndarray,
        unit: bool,
        name: str,
        start: int,
        stop: int,
        device: str | None = None,
    ) -> "SampleBlock":
        """Read the rows from start to stop; arguments and errors are those of `read_block`."""
        block = read_block(rows, labels, ("unit", "raw") if unit else ("raw",), name, start, stop)
        raw, norms = block.rows["raw"], block.norms
        directions = block.rows.get("unit")
        if directions is None:
            directions = raw / np.where(norms > 0.0, norms, 1.0)[:, None]
        product_rows = np.empty((len(raw), raw.shape[1] + 1), dtype=precision(device))
        product_rows[:, :-1] = directions
        return cls(block.labels, raw, norms, directions, place(product_rows, device))


def precision(device: str | None) -> type[np.floating[Any]]:
    """Return the type of the products: float32 on the CPU, float64 on a device."""
    return np.float32 if device is None else np.float64


def place(array: np.ndarray, device: str | None) -> Any:
    """Convert to the `precision` of products, as an array or a tensor on the device."""
    result: Any = array.astype(precision(device), copy=False)
    if device is not None:
        import torch

        result = torch.from_numpy(result).to(device)
    return result


class Leaders:
    """Score of each row's own column and the two largest of the others, in float64."""

    def __init__(self, rows: int) -> None:
        self.own_scores, self.top, self.second = np.full((3, rows), -np.inf)
        """Scores, shape (B,) each; `own_scores` is -inf for rows without a column of their own."""
        self.columns = np.zeros(rows, dtype=np.intp)
        """Column of `top`, shape (B,)."""

    def see(self, tile: Any, rows: slice, columns: slice, own_columns: np.ndarray) -> None:
        """Take in a tile of scores, an array or a tensor, and leave it as it was.

        `own_columns` are those of the rows of the tile, shape (b,).
        """
        inside = np.flatnonzero((own_columns >= columns.start) & (own_columns < columns.stop))
        positions = own_columns[inside] - columns.start
        own_scores = tile[inside, positions]
        tile[inside, positions] = -np.inf
        index = np.arange(len(tile))
        leading = tile.argmax(axis=1)
        top = tile[index, leading]
        tile[index, leading] = -np.inf
        second = tile[index, tile.argmax(axis=1)]
        tile[index, leading] = top
        tile[inside, positions] = own_scores
        own_scores, top, second, leading = (
            to_numpy(values) for values in (own_scores, top, second, leading)
        )

        self.own_scores[rows][inside] = own_scores
        best, runner_up = self.top[rows], self.second[rows]
        np.maximum(runner_up, np.maximum(second, np.minimum(best, top)), out=runner_up)
        better = top > best
        self.columns[rows][better] = leading[better] + columns.start
        np.maximum(best, top, out=best)

    def lead(self) -> np.ndarray:
        """Return the largest of all scores less the next, shape (B,)."""
        runner_up = np.where(
            self.own_scores > self.top, self.top, np.maximum(self.own_scores, self.second)
        )
        return np.asarray(np.maximum(self.own_scores, self.top) - runner_up)


def screen(
    A: Any,
    V: Any,
    own_columns: np.ndarray,
    changes: Sequence[Callable[[Any, slice, slice], None]] = (),
) -> list[Leaders]:
    """Return leaders of the rows of the product `A V^T`, then those after each change of it.

    Args:
        A: rows, from `place`, shape (B, d).
        V: columns, from `place`, shape (K, d).
        own_columns: each row's own column, shape (B,); -1 for none.
        changes: functions that change a tile in place, given its rows and columns.
    """
    stages = [Leaders(len(A)) for _ in range(1 + len(changes))]
    side = _TILE_ROWS if isinstance(V, np.ndarray) else 2 * _TILE_ROWS
    for rows, columns in gram_tiles(len(A), side, len(V)):
        tile = A[rows] @ V[columns].T
        stages[0].see(tile, rows, columns, own_columns[rows])
        for stage, change in zip(stages[1:], changes, strict=True):
            change(tile, rows, columns)
            stage.see(tile, rows, columns, own_columns[rows])
    return stages


class Scores:
    """Scores `<x, v_j / divisor_j> + offset_j` of K columns, x unit or raw rows.

    Args:
        V: float64, shape (K, d); not copied.
        divisor: shape (K,).
        unit: True for unit rows x.
        offsets: shape (K,); None for none.
        device: of the products; None for the CPU.
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
        self.max_norm = float((row_norms(V) / divisor).max(initial=0.0))
        self.max_offset = float(np.abs(self.offsets).max(initial=0.0))

    def product_columns(self) -> Any:
        """Return columns for `screen`, from `place`, with the offsets last, shape (K, d + 1)."""
        K, d = self.V.shape
        columns = np.empty((K, d + 1), dtype=precision(self.device))
        for start, stop in blocks(K, _TILE_ROWS):
            columns[start:stop, :d] = self.V[start:stop] / self.divisor[start:stop, None]
        columns[:, d] = self.offsets
        return place(columns, self.device)

    def factors(self, samples: SampleBlock) -> tuple[np.ndarray, np.ndarray]:
        """Return the factors of the offsets for unit rows, and the errors of screened scores, (B,).

        The errors are proved: row and column of a product are rounded once each, products and
        sums d + 1 times; a change of `screen` may round six times more, and underflow adds less
        than 1e-36. The error is infinite, and the factor 0, where float32 cannot hold the factor.
        """
        with np.errstate(divide="ignore"):
            factor = 1.0 / (np.ones(len(samples.norms)) if self.unit else samples.norms)
        valid = factor < _MAX_FACTOR
        factor = np.where(valid, factor, 0.0)
        size = self.max_norm + factor * self.max_offset
        rounding = gamma(self.V.shape[1] + 8, UNIT32 if self.device is None else UNIT)
        error = 1.001 * rounding * size + 1e-36
        return factor, np.where(valid, error, np.inf)

    def decide(
        self, samples: SampleBlock, leaders: Leaders, error: np.ndarray, own_columns: np.ndarray
    ) -> np.ndarray:
        """Return the column of each row's largest score, the first of ties, as in float64, (B,).

        `leaders` are those of screened scores with that `error`, (B,).
        """
        winners = np.where(leaders.own_scores > leaders.top, own_columns, leaders.columns)
        doubtful = np.flatnonzero(~(leaders.lead() > 2.0 * error))
        own_scores, top, rivals = self.decide_exactly(samples, doubtful, own_columns[doubtful])
        own_first = (own_scores > top) | ((own_scores == top) & (own_columns[doubtful] < rivals))
        winners[doubtful] = np.where(own_first, own_columns[doubtful], rivals)
        return winners

    def rows(self, samples: SampleBlock, index: np.ndarray | slice) -> np.ndarray:
        """Return selected float64 rows in the space of the scores, (m, d)."""
        return (samples.unit if self.unit else samples.raw)[index]

    def decide_exactly(
        self, samples: SampleBlock, index: np.ndarray, own_columns: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute the leaders of selected rows in float64; equal columns tie exactly.

        A product may add up the terms of two columns in different orders, so close scores are
        computed once more in the same order. That makes the answer on a row independent of the
        other rows.

        Returns:
            Own scores (-inf for none), the largest of the others and its first column, (m,) each.
        """
        own_scores, top = np.full((2, len(index)), -np.inf)
        rivals = np.zeros(len(index), dtype=np.intp)
        if not len(index):
            return own_scores, top, rivals
        X = self.rows(samples, index)
        members = np.flatnonzero(own_columns >= 0)
        own_scores[members] = self._pairs(X, members, own_columns[members])
        # Twice the rounding of a float64 score.
        size = 1.0 if self.unit else samples.norms[index]
        tolerance = 2.0 * gamma(self.V.shape[1] + 3) * (size * self.max_norm + self.max_offset)
        positions = np.arange(len(X))
        for start, stop in blocks(len(self.V), _TILE_ROWS):
            tile = self._finish(X @ self.V[start:stop].T, own_columns, slice(start, stop))
            i, j = np.nonzero((tile >= (tile.max(axis=1) - tolerance)[:, None]) & (tile > -np.inf))
            tile[i, j] = self._pairs(X, i, j + start)
            best = tile.argmax(axis=1)
            value = tile[positions, best]
            better = value > top
            top[better], rivals[better] = value[better], best[better] + start
        return own_scores, top, rivals

    def _finish(self, tile: np.ndarray, own_columns: np.ndarray, columns: slice) -> np.ndarray:
        """Turn products of rows with some columns into scores, -inf in a row's own column."""
        tile /= self.divisor[columns]
        tile += self.offsets[columns]
        inside = np.flatnonzero((own_columns >= columns.start) & (own_columns < columns.stop))
        tile[inside, own_columns[inside] - columns.start] = -np.inf
        return tile

    def _pairs(self, X: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Compute scores of row i[m] in column j[m], each added up in the same order."""
        scores = np.empty(len(i))
        for start, stop in blocks(len(i), _TILE_ROWS):
            a, b = i[start:stop], j[start:stop]
            scores[start:stop] = np.einsum("md,md->m", X[a], self.V[b]) / self.divisor[b]
        return np.asarray(scores + self.offsets[j])
