"""Colour refinement of the rows of two codes at once: colours that any rotation must respect.

Suppose a rotation and a relabelling carry A to within `delta` of B, row by row. Then every number
computed from inner products alone (a *label*) nearly agrees on corresponding rows, by a bound that
is known beforehand. Labels are sorted for both codes together and cut only where the gap exceeds
that bound, so corresponding rows always share a colour: unequal counts prove that no such rotation
exists. Coincidences merge colours, which costs pruning and never truth.
"""

from dataclasses import dataclass

import numpy as np

_ROUNDING = 1e-12
"""Rounding of a label, generously: sums of unit rows in float64."""
_PITCH = 5.0
"""Slope of the function that mixes all powers of an inner product into one label."""
_TILE = 1 << 20
"""Entries of a tile of inner products."""
_MOST_COLOURS = 1024
"""Colours that take part in one label; beyond that each would weigh too little to matter."""


@dataclass(frozen=True)
class Colouring:
    """A partition of the rows of both codes, with equally many rows of each in every colour."""

    a: np.ndarray
    """Colour of each row of A, shape (K,), integers 0 .. count - 1."""
    b: np.ndarray
    """Colour of each row of B, shape (K,)."""
    count: int

    @classmethod
    def uniform(cls, K: int) -> "Colouring":
        """All K rows of both codes in one colour."""
        return cls(np.zeros(K, dtype=np.intp), np.zeros(K, dtype=np.intp), 1)

    @property
    def discrete(self) -> bool:
        """Every colour has one row of each code: the relabelling is known."""
        return self.count == len(self.a)

    def sizes(self) -> np.ndarray:
        """Rows of A (as of B) of each colour, shape (count,)."""
        return np.bincount(self.a, minlength=self.count)

    def split(self, a: np.ndarray, b: np.ndarray, tolerance: float) -> "Colouring | None":
        """Divide by a label on the rows of A and of B, between -2 and 2, shape (K,) both.

        Corresponding rows differ by at most the tolerance. None where the counts disagree: then
        nothing corresponds.
        """
        K = len(self.a)
        # One key in place of two: ten times faster to sort, and its rounding joins the tolerance.
        key = 4.0 * np.concatenate([self.a, self.b]) + np.concatenate([a, b])
        order = np.argsort(key)
        gap = tolerance + 8.0 * self.count * np.finfo(np.float64).eps
        number = np.empty(2 * K, dtype=np.intp)
        number[order] = np.concatenate([[0], np.cumsum(np.diff(key[order]) > gap)])
        count = int(number[order[-1]]) + 1
        new_a, new_b = number[:K], number[K:]
        if (np.bincount(new_a, minlength=count) != np.bincount(new_b, minlength=count)).any():
            return None
        return Colouring(new_a, new_b, count)

    def refine(
        self, A: np.ndarray, B: np.ndarray, delta: float, *, reach: int
    ) -> "Colouring | None":
        """Divide by what the colours themselves say of each row, until nothing changes.

        Each row x is labelled by `sum_k w_k f(<x, a_k>)`, where the weights w depend on the colour
        of a_k alone: f(s) = s and s**2 over all rows, O(K d^2), and a function that mixes all
        powers over the smallest colours, O(K reach d). Over all rows the last one sees what colour
        refinement of the whole Gram matrix sees.

        A and B are unit rows, shape (K, d). None where the counts disagree.
        """
        colours, before = self, 0
        while not colours.discrete and colours.count != before:
            before = colours.count
            for labels, slope, bound in _LABELS:
                weight = _weights(colours.sizes(), reach if bound else None)
                if not weight.any():
                    continue
                new = colours.split(
                    labels(A, weight[colours.a]),
                    labels(B, weight[colours.b]),
                    slope * agreement(delta),
                )
                if new is None:
                    return None
                colours = new
        return colours


def by_profile(A: np.ndarray, B: np.ndarray, delta: float) -> Colouring | None:
    """Rows divided by some of their sorted inner products: both ends and quartiles, O(K^2 d).

    Sorting keeps the agreement: the n-th largest of two lists differ no more than their entries.
    One row out of place shows here undiluted, where sums over all rows might hide it.
    """
    K = len(A)
    ranks = np.unique([r % K for r in (0, 1, K // 4, K // 2, 3 * K // 4, K - 3, K - 2)])
    colours: Colouring | None = Colouring.uniform(K)
    for a, b in zip(_profiles(A, ranks), _profiles(B, ranks), strict=True):
        colours = colours.split(a, b, agreement(delta)) if colours is not None else None
    return colours


def agreement(delta: float) -> float:
    """How far inner products of corresponding unit rows can differ: `2 delta + delta**2`."""
    return 2.0 * delta + delta * delta + _ROUNDING


def _weights(sizes: np.ndarray, reach: int | None) -> np.ndarray:
    """A weight for the rows of each colour, shape (count,): unlike, not negative, total 1.

    Total 1 keeps the label within the slope of f times the agreement of inner products. With
    `reach` only the smallest colours, with so many rows together, weigh anything.
    """
    # Multiples of the golden ratio modulo 1 are as unlike each other as numbers can be.
    mark = 0.5 + np.modf(np.arange(1, len(sizes) + 1) * 0.6180339887498949)[0]
    order = np.argsort(sizes, kind="stable")
    mark[order[_MOST_COLOURS:]] = 0.0
    if reach is not None:
        mark[order[np.cumsum(sizes[order]) > reach]] = 0.0
    return np.asarray(mark / (max(mark.sum(), 1.0) * sizes))


def _profiles(X: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Entries of these ranks in each sorted row of the Gram matrix, shape (ranks, K)."""
    profile = np.empty((len(X), len(ranks)))
    step = max(1, _TILE // len(X))
    for k in range(0, len(X), step):
        tile = X[k : k + step] @ X.T
        tile.partition(ranks, axis=1)
        profile[k : k + step] = tile[:, ranks]
    return profile.T


def _first(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.asarray(X @ (weight @ X))


def _second(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    form = (X * weight[:, None]).T @ X
    return np.einsum("kd,kd->k", X @ form, X)


def _mixed(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    seen = np.flatnonzero(weight)
    label = np.zeros(len(X))
    step = max(1, _TILE // max(1, len(seen)))
    for k in range(0, len(X), step):
        tile = X[k : k + step] @ X[seen].T
        tile *= _PITCH
        tile += 1.0
        label[k : k + step] = np.sin(tile, out=tile) @ weight[seen]
    return label


_LABELS = ((_first, 1.0, False), (_second, 2.0, False), (_mixed, _PITCH, True))
"""Labels, the largest slope of their f on [-1, 1], and whether they look at few rows only."""
