"""Rows of a few classes and their sums about a fixed point of each class: the kernel of moments.

Sums by class are a product with a sparse one-hot matrix, which reads the rows once in any order
(20 times faster than `np.add.reduceat` on sorted rows).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Batch", "BatchSums"]


@dataclass(frozen=True, eq=False)
class BatchSums:
    """Sums over a batch of deviations `D = rows - shift[label]`."""

    classes: np.ndarray
    """Classes in the batch, ascending, shape (c,)."""
    counts: np.ndarray
    """Rows of each, shape (c,)."""
    mass: np.ndarray
    """Sums of weights, shape (c,)."""
    sums: np.ndarray
    """Weighted sums of D by class, shape (c, d)."""
    squares: np.ndarray
    """Weighted sums of |D|^2 by class, shape (c,)."""
    scatter: np.ndarray
    """D^T diag(weights) D over all rows, shape (d, d)."""


class Batch:
    """Rows with labels, made ready to be summed by class.

    Args:
        rows: float64, shape (n, d); they belong to the batch, which overwrites them.
        labels: classes, all >= 0, shape (n,), n >= 1.
        weights: positive, shape (n,); None for 1.
    """

    def __init__(
        self, rows: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None
    ) -> None:
        from scipy.sparse import csr_array

        self._rows = rows
        self._labels = labels
        self._weights = weights
        order = np.argsort(labels, kind="stable")
        ranked = labels[order]
        starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
        self.classes: np.ndarray = ranked[starts]
        self.counts: np.ndarray = np.diff(starts, append=len(labels))
        values = np.ones(len(labels)) if weights is None else weights[order]
        ends = np.append(starts, len(labels))
        # Row c picks, with their weights, the rows of the c-th class.
        self._pick: Any = csr_array((values, order, ends), shape=(len(starts), len(labels)))
        self.mass: np.ndarray = np.add.reduceat(values, starts)

    def means(self, chosen: np.ndarray) -> np.ndarray:
        """Means of the chosen classes, a mask (c,), over this batch: before `sums` is called."""
        return (self._pick[chosen] @ self._rows) / self.mass[chosen, None]

    def sums(self, shift: np.ndarray) -> BatchSums:
        """Sums about `shift`, (K, d) by class. Uses up the rows."""
        D = self._rows
        D -= shift.take(self._labels, axis=0)
        sums = self._pick @ D
        squares = self._pick @ np.einsum("nd,nd->n", D, D)
        if self._weights is not None:
            D *= np.sqrt(self._weights)[:, None]
        return BatchSums(self.classes, self.counts, self.mass, sums, squares, D.T @ D)
