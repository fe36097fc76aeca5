"""Rows with exact integer coordinates, and the operations that keep them exact.

Integer vectors of one common length may span a smaller space than they are written in; `frame` then
holds an orthonormal basis of that space, and inner products are still those of the integers.
"""

from fractions import Fraction

import numpy as np

from gnc_cli.codes.constructions.construction import Cosine, Rows, Verified

__all__ = ["IntegerRows", "spanned_frame"]

_TILE = 2048
"""Rows of a tile of the Gram matrix: its float32 entries take 16 MB."""
_EXACT32 = 2**24
"""Integers below this are exact in float32, sums of them too."""


class IntegerRows(Rows):
    """Integer vectors of one length.

    Args:
        vectors: shape (K, D), integers.
        frame: orthonormal columns spanning the rows, shape (D, d); None where D = d.

    Raises:
        ValueError: the lengths differ, or a row is zero.

    Example:
        >>> rows = IntegerRows(np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]))
        >>> rows.verify().max_cosine.text
        '0'
    """

    def __init__(self, vectors: np.ndarray, frame: np.ndarray | None = None) -> None:
        squares = np.einsum("kd,kd->k", vectors, vectors, dtype=np.int64)
        if squares.min() != squares.max() or squares[0] == 0:
            raise ValueError("the vectors have different lengths, or are zero")
        self.vectors = vectors
        self.frame = frame
        self.square = int(squares[0])
        """Common squared length."""
        self.shape = (len(vectors), vectors.shape[1] if frame is None else frame.shape[1])

    def unit(self, start: int, stop: int) -> np.ndarray:
        rows: np.ndarray = self.vectors[start:stop].astype(np.float64)
        if self.frame is not None:
            rows = np.matmul(rows, self.frame)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def verify(self) -> Verified:
        """Every pair, by blocked products of exact integers."""
        K = len(self.vectors)
        largest = int(np.abs(self.vectors).max())
        exact32 = self.square < _EXACT32 and largest**2 * self.vectors.shape[1] < _EXACT32
        dtype = np.float32 if exact32 else np.float64
        if not exact32 and largest**2 * self.vectors.shape[1] >= 2**53:
            raise ValueError("coordinates too large for exact products")
        vectors: np.ndarray = self.vectors.astype(dtype)
        counts: dict[int, int] = {}
        for i in range(0, K, _TILE):
            for j in range(i, K, _TILE):
                tile = np.matmul(vectors[i : i + _TILE], vectors[j : j + _TILE].T)
                entries = tile[np.triu_indices(len(tile), 1)] if i == j else tile.ravel()
                offset = entries.astype(np.int64) + self.square
                for value in np.flatnonzero(found := np.bincount(offset)):
                    key = int(value) - self.square
                    counts[key] = counts.get(key, 0) + int(found[value])
        distinct = self.square not in counts
        order = sorted(counts, reverse=True)
        return Verified(
            K=K,
            distinct=distinct,
            max_cosine=Cosine.of(Fraction(order[0], self.square)),
            distribution=tuple((Cosine.of(Fraction(c, self.square)), counts[c]) for c in order),
            how="all pairs, exact integers",
        )


def spanned_frame(vectors: np.ndarray, d: int) -> np.ndarray:
    """Orthonormal basis, as columns (D, d), of the d-dimensional space that the rows span.

    Raises:
        ValueError: the rows span another dimension than d.
    """
    _, sizes, axes = np.linalg.svd(vectors.astype(np.float64), full_matrices=False)
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    if rank != d:
        raise ValueError(f"the rows span {rank} dimensions, not {d}")
    return np.asarray(axes[:d].T)
