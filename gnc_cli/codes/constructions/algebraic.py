"""Rows with exact coordinates in a real number field: the Gram matrix in integers, ordered exactly.

Coordinates may carry a positive weight from the field, `<x, y> = sum_j weight_j x_j y_j`: a code
whose Gram matrix lies in the field need not have all its coordinates there.
"""

from functools import cached_property, cmp_to_key

import numpy as np

from gnc_cli.codes.constructions.construction import Cosine, Rows, Verified
from gnc_cli.codes.constructions.number_field import RealField

__all__ = ["AlgebraicRows"]

_BLOCK = 512
"""Rows of a block of the Gram matrix."""


class AlgebraicRows(Rows):
    """Vectors of one length over a real number field.

    Args:
        field: degree D.
        vectors: integer coefficients of 1, t, .., of each coordinate, shape (K, n, D).
        weights: of the coordinates, shape (n, D); all 1 where None.

    Raises:
        ValueError: the lengths differ, a row is zero, a weight is not positive, or the
            coefficients are too large for exact 64-bit products.

    Example:
        >>> root2 = RealField((2, 0), (1, 2))
        >>> points = np.array([[[1, 0], [1, 0]], [[0, 1], [0, 0]], [[1, 0], [-1, 0]]])
        >>> AlgebraicRows(root2, points).verify().max_cosine.text
        '1/sqrt(2)'
    """

    def __init__(
        self, field: RealField, vectors: np.ndarray, weights: np.ndarray | None = None
    ) -> None:
        self.field = field
        self.vectors = vectors.astype(np.int64)
        n, D = self.vectors.shape[1:]
        unit = np.eye(1, D, dtype=np.int64).repeat(n, axis=0)
        self.weights = unit if weights is None else weights.astype(np.int64)
        if any(field.sign(tuple(int(c) for c in weight)) <= 0 for weight in self.weights):
            raise ValueError("a weight is not positive")
        self._check_size()
        self._weighted = field.multiply(self.vectors, self.weights)
        squares = np.stack([
            self._gram(self.vectors[k : k + 1], self._weighted[k : k + 1])[0, 0]
            for k in range(len(vectors))
        ])
        if (squares != squares[0]).any() or not squares[0].any():
            raise ValueError("the vectors have different lengths, or are zero")
        self.square = tuple(int(c) for c in squares[0])
        """Common squared length, an element of the field."""
        self.shape = (len(vectors), n)

    def unit(self, start: int, stop: int) -> np.ndarray:
        rows = self.field.values(self.vectors[start:stop]) * self._axes
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def verify(self) -> Verified:
        """Every pair: equal and different products told apart by integers, then ordered."""
        K = len(self.vectors)
        counts: dict[tuple[int, ...], int] = {}
        for i in range(0, K, _BLOCK):
            for j in range(i, K, _BLOCK):
                tile = self._gram(self.vectors[i : i + _BLOCK], self._weighted[j : j + _BLOCK])
                entries = tile[np.triu_indices(len(tile), 1)] if i == j else tile
                found, pairs = np.unique(
                    entries.reshape(-1, self.field.degree), axis=0, return_counts=True
                )
                for product, number in zip(found.tolist(), pairs.tolist(), strict=True):
                    counts[tuple(product)] = counts.get(tuple(product), 0) + number
        order = sorted(counts, key=cmp_to_key(self._compare), reverse=True)
        distribution = tuple((self._cosine(product), counts[product]) for product in order)
        return Verified(
            K=K,
            distinct=self.square not in counts,
            max_cosine=distribution[0][0],
            distribution=distribution,
            how=f"all pairs, exact in the field of {self.field.definition}",
        )

    @cached_property
    def _axes(self) -> np.ndarray:
        return np.sqrt(self.field.values(self.weights))

    def _cosine(self, product: tuple[int, ...]) -> Cosine:
        return self.field.cosine(product, self.square)

    def _compare(self, x: tuple[int, ...], y: tuple[int, ...]) -> int:
        return self.field.sign(tuple(a - b for a, b in zip(x, y, strict=True)))

    def _gram(self, x: np.ndarray, weighted: np.ndarray) -> np.ndarray:
        """Inner products of rows of two blocks, (len(x), len(weighted), D)."""
        D = self.field.degree
        powers = np.zeros((len(x), len(weighted), 2 * D - 1), dtype=np.int64)
        for a in range(D):
            for b in range(D):
                powers[..., a + b] += x[..., a] @ weighted[..., b].T
        return self.field.reduce(powers)

    def _check_size(self) -> None:
        """No product, sum or reduction on the way to the Gram matrix leaves 64 bits."""
        n, D = self.vectors.shape[1:]
        # A product of elements has D terms a power, and D - 1 reductions multiply by `step` each.
        step = 1 + sum(abs(r) for r in self.field.relation)
        growth = D * step ** (D - 1)
        largest, weight = int(np.abs(self.vectors).max()), int(np.abs(self.weights).max())
        if largest**2 * weight * n * growth**2 >= 2**62:
            raise ValueError("coefficients too large for exact products")
