"""Rows with exact integer coordinates, and the counts of their inner products over all pairs.

Integer vectors of one common length may span a smaller space than they are written in; a frame then
holds an orthonormal basis of that space, and inner products are still those of the integers.

Every partial sum of an inner product is an integer of size at most the squared length (Cauchy and
Schwarz, on the coordinates summed so far), so floating point is exact as long as that squared
length is: below 2^24 in float32, below 2^53 in float64, whatever the order of summation.

A cross section holds the rows at cosine t from a fixed row, projected orthogonally to that row and
scaled to unit length, in one dimension less. Cosines become `(<x, y> - t^2) / (1 - t^2)`; the bound
`(c - t^2) / (1 - t^2)` is attained wherever two of the rows are at the code's largest cosine c. A
sharp code gives another one dimension lower (240, 56, 27, 16, 10; 196560, 4600, 891). (J. H. Conway
and N. J. A. Sloane, Sphere Packings, Lattices and Groups, 1988, chapter 14.)
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import isqrt

import numpy as np

from gnc_cli.constructions.construction import CodeRows, Construction, Cosine, SumRows, Verification

_TILE = (256, 1024)
"""Rows and columns of a tile of the Gram matrix: 1 MB of float32, to be counted in cache."""
_MAX_COMPARED_VALUES = 48
"""Number of different values up to which comparing a tile with each is faster than sorting it."""

_MARKS = (1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
"""Numbers that mark lengths: products of two of them are all different."""


class IntegerRows(CodeRows):
    """Rows from integer vectors of one length, shape (K, D).

    For vectors that span a space of d < D dimensions, either d is given and a frame is computed, or
    the frame is given: orthonormal columns that span the rows, shape (D, d).

    Raises:
        ValueError: the lengths differ, a row is zero, or the rows span another dimension than d.
    """

    def __init__(
        self, vectors: np.ndarray, d: int | None = None, frame: np.ndarray | None = None
    ) -> None:
        squares = np.einsum("kd,kd->k", vectors, vectors, dtype=np.int64)
        if squares.min() != squares.max() or squares[0] == 0:
            raise ValueError("the vectors have different lengths, or are zero")
        self.vectors = vectors
        self.frame = frame if d is None else _spanned_frame(vectors, d)
        self.square = int(squares[0])
        """Common squared length."""
        columns = vectors.shape[1] if self.frame is None else self.frame.shape[1]
        self.shape = (len(vectors), columns)

    def _unit(self, start: int, stop: int) -> np.ndarray:
        rows: np.ndarray = self.vectors[start:stop].astype(np.float64)
        if self.frame is not None:
            rows = np.matmul(rows, self.frame)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def verify(self) -> Verification:
        """Count every pair by blocked exact products, with one row of each pair x, -x.

        Raises:
            ValueError: the frame is not one of the rows' space.
        """
        if self.frame is not None:
            self._check(self.frame)
        counts = pair_counts(self.vectors)
        distribution = tuple(
            (Cosine.rational(Fraction(c, self.square)), n) for c, n in counts.items()
        )
        return Verification(len(self), self.square not in counts, distribution[0][0], distribution)

    def _check(self, frame: np.ndarray) -> None:
        """Check that the frame spans the space of the rows.

        Only then products of `unit` rows are those of the integers. Components of the rows outside
        the frame show up in a few random directions, almost surely.
        """
        worst = float(np.abs(frame.T @ frame - np.eye(frame.shape[1])).max())
        directions = np.random.default_rng(0).standard_normal((len(frame), 4))
        missed = directions - frame @ (frame.T @ directions)
        for start in range(0, len(self.vectors), 4096):
            rows: np.ndarray = self.vectors[start : start + 4096] / self.square**0.5
            worst = max(worst, float(np.abs(rows @ missed).max()))
        if worst > 1e-11:
            raise ValueError(f"the frame misses the rows' space by {worst:.1e}")


class UnequalRows(IntegerRows):
    """Rows from integer vectors of several lengths, shape (K, D); d as in `IntegerRows`.

    The inner product p of two vectors is the cosine p / sqrt(s t) for their squared lengths s and
    t: a rational number or the square root of one. One more column, a multiple of a number for each
    length, adds a multiple of their product to p. These products are different for different pairs
    of lengths, so that one count of integers distinguishes the pairs.

    Raises:
        ValueError: a row is zero, there are too many lengths, or as in `IntegerRows`.
    """

    def __init__(self, vectors: np.ndarray, d: int | None = None) -> None:
        squares = np.einsum("kd,kd->k", vectors, vectors, dtype=np.int64)
        self.squares, kinds = np.unique(squares, return_inverse=True)
        """Different squared lengths, rising, shape (number of lengths,)."""
        if self.squares[0] == 0 or len(self.squares) > len(_MARKS):
            raise ValueError(f"a vector is zero, or there are more than {len(_MARKS)} lengths")
        self.vectors = vectors
        self.frame = None if d is None else _spanned_frame(vectors, d)
        self.square = int(self.squares[-1])
        self.shape = (len(vectors), vectors.shape[1] if d is None else d)
        self._kinds = kinds

    def verify(self) -> Verification:
        """Count every pair by blocked exact products.

        Raises:
            ValueError: the frame is not one of the rows' space.
        """
        if self.frame is not None:
            self._check(self.frame)
        scale = isqrt(2 * self.square) + 1
        marks = np.array(_MARKS)[self._kinds]
        counts = pair_counts(np.column_stack([self.vectors, scale * marks]))
        lengths = dict(zip(_MARKS, self.squares.tolist(), strict=False))
        denominators = {m * n: lengths[m] * lengths[n] for m in lengths for n in lengths}
        pairs: Counter[Fraction] = Counter()
        for value, number in counts.items():
            product = round(Fraction(value, scale**2))
            inner = value - product * scale**2
            pairs[Fraction(inner * abs(inner), denominators[product])] += number
        distribution = tuple(
            (Cosine.root(square) if square >= 0 else -Cosine.root(-square), pairs[square])
            for square in sorted(pairs, reverse=True)
        )
        return Verification(len(self), 1 not in pairs, distribution[0][0], distribution)


def _spanned_frame(vectors: np.ndarray, d: int) -> np.ndarray:
    """Return an orthonormal basis, shape (D, d), of the d-dimensional space of the rows."""
    _, sizes, axes = np.linalg.svd(vectors.astype(np.float64), full_matrices=False)
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    if rank != d:
        raise ValueError(f"the rows span {rank} dimensions, not {d}")
    return np.asarray(axes[:d].T)


def pair_counts(vectors: np.ndarray) -> dict[int, int]:
    """Count unordered pairs of different rows at each inner product, the largest product first.

    The rows are integers, shape (K, D). In a set that is closed under negation one row of each pair
    x, -x is enough: a quarter of the work. Cost: K^2 D flops (a quarter of it then), one tile of
    memory per thread.

    Raises:
        ValueError: a squared length of 2^53 or more.
    """
    square = np.einsum("kd,kd->k", vectors, vectors, dtype=np.float64).max(initial=0.0)
    if not square < 2**53:
        raise ValueError(f"a squared length of {square:.3g} is too large for exact products")
    rows: np.ndarray = vectors.astype(np.float32 if square < 2**24 else np.float64)
    half = _antipodal_half(rows)
    if half is None:
        counts = _counts(rows)
    else:
        counts = Counter(-int(square) for square in np.einsum("kd,kd->k", half, half))
        for value, pairs in _counts(half).items():
            # The pair x, y stands for (x, y), (-x, -y) at this value, (x, -y), (-x, y) at minus it.
            for signed in (value, -value):
                counts[signed] += 2 * pairs
    return dict(sorted(counts.items(), reverse=True))


def _antipodal_half(rows: np.ndarray) -> np.ndarray | None:
    """Return one row of each pair x, -x if all rows, floats, form such pairs; else None."""
    if len(rows) % 2:
        return None
    weights = np.random.default_rng(0).integers(-(2**36), 2**36, rows.shape[1]).astype(np.float64)
    # A row's key is minus that of its negation, so sorted by key the pairs lie mirrored. Keys only
    # order the rows: the comparison decides, and a clash of keys costs no more than the shortcut.
    ordered = rows[np.argsort(rows @ weights, kind="stable")]
    half: np.ndarray = ordered[: len(rows) // 2]
    return half if np.array_equal(half, -ordered[: len(rows) // 2 - 1 : -1]) else None


def _counts(rows: np.ndarray) -> Counter[int]:
    """Count pairs of different rows at each inner product; the type of the rows is exact."""
    from gnc_cli.runtime.threads import limit_threads, threads_for

    height, width = _TILE
    starts = range(0, len(rows), height)
    tiles = [(i, j) for i in starts for j in range(i // width * width, len(rows), width)]
    threads = min(threads_for(float(len(rows)) ** 2 * rows.shape[1]), len(tiles) or 1)

    def work(first: int) -> dict[float, int]:
        tally: dict[float, int] = {}
        for i, j in tiles[first::threads]:
            tile = np.matmul(rows[i : i + height], rows[j : j + width].T)
            if j < i + height:  # the tile meets the diagonal: count what lies above it
                upper = np.arange(j, j + tile.shape[1]) > np.arange(i, i + len(tile))[:, None]
                tile = tile[upper]
            _tally(tile, tally)
        return tally

    counts: Counter[int] = Counter()
    with limit_threads(1), ThreadPoolExecutor(threads) as pool:
        for tally in pool.map(work, range(threads)):
            counts.update({int(value): pairs for value, pairs in tally.items()})
    return counts


def _tally(tile: np.ndarray, tally: dict[float, int]) -> None:
    """Add the entries of a tile to the counts of the values seen so far."""
    if len(tally) <= _MAX_COMPARED_VALUES:
        remaining = tile.size
        for value in sorted(tally, key=lambda value: -tally[value]):  # the most frequent first
            entries = int(np.count_nonzero(tile == value))
            tally[value] += entries
            remaining -= entries
            if not remaining:
                return
        tile = tile[~np.isin(tile, list(tally))]
    for value, entries in zip(*np.unique(tile, return_counts=True), strict=True):
        tally[float(value)] = tally.get(float(value), 0) + int(entries)


def cross_section(rows: IntegerRows, base_row: int, cosine: Fraction) -> IntegerRows:
    """Return the rows at `cosine` from row `base_row`, projected orthogonally to it.

    The result keeps the order of the rows and has coprime coordinates; its dimension is that of its
    span, at most one less.
    """
    base = rows.vectors[base_row].astype(np.int64)
    product = cosine * rows.square
    products = rows.vectors @ base
    neighbours = rows.vectors[products * product.denominator == product.numerator].astype(np.int64)
    vectors = rows.square * neighbours - int(product) * base
    vectors //= np.gcd.reduce(vectors, axis=None)
    return IntegerRows(vectors, int(np.linalg.matrix_rank(vectors)))


def section(code: Construction, t: Fraction, d: int) -> CodeRows:
    """Return the rows of an integer code at cosine t from its first row, in R^d."""
    rows = code.build()
    assert isinstance(rows, IntegerRows), f"{code.name} has no integer coordinates"
    part = cross_section(rows, 0, t)
    return part if part.shape[1] == d else SumRows([part], d)
