"""Rows with exact integer coordinates, and the operations that keep them exact.

Integer vectors of one common length may span a smaller space than they are written in; `frame` then
holds an orthonormal basis of that space, and inner products are still those of the integers.
"""

from fractions import Fraction

import numpy as np

from gnc_cli.codes.constructions.construction import Cosine, Rows, Verified
from gnc_cli.numerics.integer_gram import pair_counts

__all__ = ["IntegerRows", "spanned_frame"]


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
        """Every pair, by blocked products of exact integers; one row of each +- pair is enough.

        Raises:
            ValueError: the frame is not one of the rows' space.
        """
        if self.frame is not None:
            self._check(self.frame)
        counts, how = pair_counts(self.vectors)
        order = sorted(counts, reverse=True)
        return Verified(
            K=len(self.vectors),
            distinct=self.square not in counts,
            max_cosine=Cosine.of(Fraction(order[0], self.square)),
            distribution=tuple((Cosine.of(Fraction(c, self.square)), counts[c]) for c in order),
            how=how,
        )

    def _check(self, frame: np.ndarray) -> None:
        """The products of `unit` rows are those of the integers only in a frame of their space.

        What the frame misses of a row is seen in random directions: a few cost no more than a look.
        """
        worst = float(np.abs(frame.T @ frame - np.eye(frame.shape[1])).max())
        directions = np.random.default_rng(0).standard_normal((len(frame), 4))
        missed = directions - frame @ (frame.T @ directions)
        for start in range(0, len(self.vectors), 4096):
            rows: np.ndarray = self.vectors[start : start + 4096] / self.square**0.5
            worst = max(worst, float(np.abs(rows @ missed).max()))
        if worst > 1e-11:
            raise ValueError(f"the frame misses the rows' space by {worst:.1e}")


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
