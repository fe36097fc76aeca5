"""Inner products of integer vectors, counted exactly over all pairs at the speed of floats.

Every partial sum of an inner product is an integer of size at most the squared length (Cauchy and
Schwarz, on the coordinates summed so far), so floating point is exact as long as that squared
length is: below 2^24 in float32, below 2^53 in float64, whatever the order of summation.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from gnc_cli.numerics.threads import limit_threads, threads_for

__all__ = ["antipodal_half", "exact_floats", "pair_counts"]

_TILE = (256, 1024)
"""Rows and columns of a tile of the Gram matrix: 1 MB of float32, to be counted in cache."""
_FEW = 48
"""Up to so many different values, comparing a tile with each beats sorting it."""


def exact_floats(vectors: np.ndarray) -> np.ndarray:
    """The same integers in the narrowest floating type in which all their products are exact.

    Args:
        vectors: shape (K, D), integers.

    Raises:
        ValueError: a squared length of 2^53 or more.
    """
    square = np.einsum("kd,kd->k", vectors, vectors, dtype=np.float64).max(initial=0.0)
    if not square < 2**53:
        raise ValueError(f"a squared length of {square:.3g} is too large for exact products")
    exact: np.ndarray = vectors.astype(np.float32 if square < 2**24 else np.float64)
    return exact


def pair_counts(vectors: np.ndarray) -> tuple[dict[int, int], str]:
    """Number of unordered pairs of different rows at each inner product, and how it was found.

    Where the set is closed under negation, one row of each +- pair is enough: a quarter of the
    work. Cost: K^2 D flops (a quarter of it then), one tile of memory a thread.

    Args:
        vectors: shape (K, D), integers.

    Raises:
        ValueError: a squared length of 2^53 or more.

    Example:
        >>> pair_counts(np.array([[1, 0], [0, 1], [-1, 0]]))
        ({0: 2, -1: 1}, 'all pairs, exact integers')
    """
    rows = exact_floats(vectors)
    half = antipodal_half(rows)
    if half is None:
        return _counts(rows), "all pairs, exact integers"
    counts: dict[int, int] = {}
    for value, pairs in _counts(half).items():
        # The pair x, y stands for (x, y), (-x, -y) at this value, (x, -y), (-x, y) at minus it.
        for signed in (value, -value):
            counts[signed] = counts.get(signed, 0) + 2 * pairs
    opposite, each = np.unique(np.einsum("kd,kd->k", half, half), return_counts=True)
    for square, pairs in zip(opposite, each, strict=True):
        counts[-int(square)] = counts.get(-int(square), 0) + int(pairs)
    counts = dict(sorted(counts.items(), reverse=True))
    return counts, "all pairs, exact integers, one row of each antipodal pair"


def antipodal_half(rows: np.ndarray) -> np.ndarray | None:
    """One row of each pair x, -x where the rows are exactly such pairs; None where they are not.

    Args:
        rows: shape (K, D), no zero rows; a type in which negation is exact.
    """
    if len(rows) % 2:
        return None
    weights = np.random.default_rng(0).integers(-(2**36), 2**36, rows.shape[1]).astype(np.float64)
    # A row's key is minus that of its negation, so sorted by key the pairs lie mirrored. Keys only
    # order the rows: the comparison decides, and a clash of keys costs no more than the shortcut.
    ordered = rows[np.argsort(rows @ weights, kind="stable")]
    half: np.ndarray = ordered[: len(rows) // 2]
    return half if np.array_equal(half, -ordered[: len(rows) // 2 - 1 : -1]) else None


def _counts(rows: np.ndarray) -> dict[int, int]:
    """Pairs of different rows at each inner product; rows already of an exact type."""
    height, width = _TILE
    starts = range(0, len(rows), height)
    tiles = [(i, j) for i in starts for j in range(i // width * width, len(rows), width)]
    threads = min(threads_for(float(len(rows)) ** 2 * rows.shape[1]), len(tiles) or 1)

    def work(first: int) -> dict[float, int]:
        found: dict[float, int] = {}
        for i, j in tiles[first::threads]:
            tile = np.matmul(rows[i : i + height], rows[j : j + width].T)
            if j < i + height:  # the tile meets the diagonal: count what lies above it
                above = np.arange(j, j + tile.shape[1]) > np.arange(i, i + len(tile))[:, None]
                tile = tile[above]
            _tally(tile, found)
        return found

    counts: dict[int, int] = {}
    with limit_threads(1), ThreadPoolExecutor(threads) as pool:
        for found in pool.map(work, range(threads)):
            for value, pairs in found.items():
                counts[int(value)] = counts.get(int(value), 0) + pairs
    return dict(sorted(counts.items(), reverse=True))


def _tally(tile: np.ndarray, found: dict[float, int]) -> None:
    """Add the entries of a tile to the counts of the values found so far."""
    if len(found) <= _FEW:
        left = tile.size
        for value in sorted(found, key=lambda value: -found[value]):  # the commonest end it soonest
            here = int(np.count_nonzero(tile == value))
            found[value] += here
            left -= here
            if not left:
                return
        tile = tile[~np.isin(tile, list(found))]
    for value, here in zip(*np.unique(tile, return_counts=True), strict=True):
        found[float(value)] = found.get(float(value), 0) + int(here)
