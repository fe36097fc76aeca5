"""The Gram matrix `W W^T` in tiles, never stored: row maxima, the closest pair, close pairs.

Large K goes through in square tiles of float32 products, each pair of rows once. A float32 inner
product of unit vectors is off by a proved `gamma(d + 3)`, so the tile maxima name the few places
where the true maximum can be; those alone are computed again in float64, and the winners a last
time through their chords. In up to six dimensions a k-d tree finds the nearest rows instead.
"""

import math
from collections.abc import Iterator

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.geometry.rounding import UNIT32, gamma
from gnc_cli.geometry.sphere import as_unit_points, pair_chords, pair_cosines
from gnc_cli.runtime.deadline import Deadline

_DENSE = 1024
"""Up to this many rows the Gram matrix (8 MB) is formed at once."""
FEW_DIMENSIONS = 6
"""Up to this d a k-d tree finds the nearest of more rows than that faster than tiles do."""
_SIDE = 1024
"""Side of a tile: its float32 entries (4 MB) and factors stay in cache."""
_BLOCK_BYTES = 64 << 20
"""Working memory beside W and its float32 copy."""
_COINCIDENT = 1e-6
"""Nearest neighbours of chord about 1e-3 and less are ranked by chords instead of cosines."""

_CONTACT = 1e-3
"""Pairs this near to the largest cosine, relative to 1 - max_cosine, are contacts: wide, for codes
before their polish too."""


def gram_tiles(
    rows: int, side: int, columns: int | None = None, deadline: Deadline | None = None
) -> Iterator[tuple[slice, slice]]:
    """The tiles of a matrix of products, as slices of its rows and columns, `side` of each.

    Without `columns` the matrix is symmetric, and its tiles on and above the diagonal are enough.

    Raises:
        TimeoutError: the deadline expired first.

    Example:
        >>> [(r.start, c.start) for r, c in gram_tiles(5, 3)]
        [(0, 0), (0, 3), (3, 3)]
    """
    count = rows if columns is None else columns
    for r in range(0, rows, side):
        for c in range(r if columns is None else 0, count, side):
            if deadline is not None:
                deadline.check()
            yield slice(r, min(rows, r + side)), slice(c, min(count, c + side))


def row_maxima(W: np.ndarray, *, deadline: Deadline | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Each row's largest cosine to another row, and the index of that row, shape (K,) both.

    Cosines are `1 - chord**2 / 2` of the winning pair, accurate to a few 1e-16; among ties any one
    may be named. The deadline is polled at each tile.

    Raises:
        DataError: W is not a matrix of at least two finite unit rows.
        TimeoutError: the deadline expired first; a partial maximum would bound nothing.

    Example:
        >>> row_maxima(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]))
        (array([0., 0., 0.]), array([1, 0, 0]))
    """
    W = as_unit_points(W)
    K = len(W)
    if K <= _DENSE:
        gram = W @ W.T
        np.fill_diagonal(gram, -np.inf)
        best = gram.argmax(axis=1)
        coarse = gram[np.arange(K), best]
    elif W.shape[1] <= FEW_DIMENSIONS:
        best = _tree_neighbours(W, deadline)
        return pair_cosines(W, np.arange(K), best), best
    else:
        coarse, best = _tiled_maxima(W, deadline)
    near = np.flatnonzero(coarse > 1.0 - _COINCIDENT)
    best[near] = _nearest_by_chord(W, near)
    return pair_cosines(W, np.arange(K), best), best


def _tree_neighbours(W: np.ndarray, deadline: Deadline | None) -> np.ndarray:
    """Return the nearest other row of each row by chords, shape (K,), from a k-d tree."""
    from scipy.spatial import cKDTree

    tree, nearest = cKDTree(W), np.empty(len(W), dtype=np.intp)
    for rows, _ in gram_tiles(len(W), _SIDE, 1, deadline):
        first, second = tree.query(W[rows], k=2)[1].T
        # The first is the row itself, or one equal to it.
        nearest[rows] = np.where(first == np.arange(rows.start, rows.stop), second, first)
    return nearest


def closest_pair(
    W: np.ndarray,
    maxima: tuple[np.ndarray, np.ndarray] | None = None,
    *,
    deadline: Deadline | None = None,
) -> tuple[int, int, float]:
    """The two nearest unit rows i < j and their chord, rho_one_vs_one; raises as `row_maxima`.

    `maxima` is `row_maxima(W)`, where known.
    """
    W = as_unit_points(W)
    cosines, best = row_maxima(W, deadline=deadline) if maxima is None else maxima
    top = np.flatnonzero(cosines >= cosines.max() - 1e-15)
    chords = pair_chords(W, top, best[top])
    at = int(chords.argmin())
    i, j = sorted((int(top[at]), int(best[top[at]])))
    return i, j, float(chords[at])


def max_cosine(W: np.ndarray, *, deadline: Deadline | None = None) -> float:
    """The largest cosine between two different rows; raises as `row_maxima`."""
    return float(row_maxima(W, deadline=deadline)[0].max())


def max_abs_cosine(W: np.ndarray, *, deadline: Deadline | None) -> float:
    """The largest absolute cosine between two different rows, the coherence of their lines.

    In float64 products, off by some 1e-16 sqrt(d). Rows and errors as in `row_maxima`.

    Example:
        >>> max_abs_cosine(np.array([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]]), deadline=None)
        0.8
    """
    W = as_unit_points(W)
    largest = 0.0
    for rows, columns in gram_tiles(len(W), _side(_BLOCK_BYTES // 8), deadline=deadline):
        tile = np.abs(W[rows] @ W[columns].T)
        if rows == columns:
            np.fill_diagonal(tile, 0.0)
        largest = max(largest, float(tile.max()))
    return min(largest, 1.0)


def welch(d: int, K: int) -> float:
    """Welch's lower bound on the largest absolute cosine of K unit vectors in R^d.

    The best over powers k of `((K / binomial(d + k - 1, k) - 1) / (K - 1))^(1 / 2k)`. Antipodal
    codes have one line for two rows, which is what K / 2 stands for here. L. R. Welch, Lower bounds
    on the maximum cross correlation of signals, IEEE Trans. Inf. Theory 20 (1974).

    Example:
        >>> round(welch(512, 10000), 3)
        0.042
    """
    lines = K / 2
    bounds = [0.0]
    for k in range(1, 12):
        dimensions = math.comb(d + k - 1, k)
        if dimensions >= lines:
            break
        bounds.append(((lines / dimensions - 1.0) / (lines - 1.0)) ** (0.5 / k))
    return max(bounds)


def mean_square_cosine(W: np.ndarray) -> float:
    """The mean of `<w_k, w_j>^2` over k != j, by a product of d x d, or K x K where K is less.

    Args:
        W: unit rows, shape (K, d), two at least.

    Example:
        >>> round(mean_square_cosine(np.array([[1.0, 0.0], [0.6, 0.8]])), 12)
        0.36
    """
    K, d = W.shape
    product = W.T @ W if d <= K else W @ W.T
    own = np.einsum("kd,kd->k", W, W)
    total = float(np.vdot(product, product) - np.vdot(own, own))
    return max(0.0, total) / (K * (K - 1))


def one_vs_one_rattlers(row_max: np.ndarray, tolerance: float) -> np.ndarray:
    """Rows whose nearest neighbour is farther than the smallest chord by more than `tolerance`.

    `row_max` is each row's largest cosine to another row (`row_maxima`); Booleans, shape (K,).

    Raises:
        UsageError: the tolerance is below 0.

    Example:
        >>> one_vs_one_rattlers(np.array([0.5, 0.5, 0.1]), 1e-7)
        array([False, False,  True])
    """
    if not tolerance >= 0.0:
        raise UsageError(f"rattler tolerance {tolerance}: must be 0 or more")
    chords = np.sqrt(2.0 * np.maximum(1.0 - row_max, 0.0))
    return chords > chords.min() + tolerance


def candidate_pairs(
    W: np.ndarray, threshold: float, *, deadline: Deadline | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Tile by tile, pairs i < j of unit rows that float32 cannot tell to be below `threshold`.

    Every pair whose cosine is at least `threshold` is in one of the tiles; indices, (m,) each.
    """
    side = _side(_BLOCK_BYTES // 8)
    small = W.astype(np.float32)
    cut = np.float32(max(threshold - 2.0 * _error32(W.shape[1]), -4.0))
    for rows, columns in gram_tiles(len(W), side, deadline=deadline):
        tile = small[rows] @ small[columns].T
        i, j = np.divmod(np.flatnonzero(tile >= cut), tile.shape[1])
        i, j = i + rows.start, j + columns.start
        yield i[i < j], j[i < j]


def _tiled_maxima(W: np.ndarray, deadline: Deadline | None) -> tuple[np.ndarray, np.ndarray]:
    """Row maxima (cosines, indices), float64, by float32 tiles and a second look at candidates."""
    K, d = W.shape
    side = _side(_BLOCK_BYTES // 4)
    small = W.astype(np.float32)
    tiles = math.ceil(K / side)
    # Tile maxima are kept for groups of tiles, so that they too stay within the memory allowed.
    group = math.ceil(tiles * K * 4 / max(_BLOCK_BYTES // 2, 4 * K))
    tops = np.full((K, math.ceil(tiles / group)), -np.inf, dtype=np.float32)
    for rows, columns in gram_tiles(K, side, deadline=deadline):
        tile = small[rows] @ small[columns].T
        at_rows, at_columns = columns.start // side // group, rows.start // side // group
        if rows == columns:
            np.fill_diagonal(tile, -np.inf)
        else:
            below = tops[columns, at_columns]
            np.maximum(below, tile.max(axis=0), out=below)
        right = tops[rows, at_rows]
        np.maximum(right, tile.max(axis=1), out=right)
    floor = tops.max(axis=1) - np.float32(4.0 * _error32(d))
    cosines, best = np.full(K, -np.inf), np.zeros(K, dtype=np.intp)
    for g in range(tops.shape[1]):
        suspects = np.flatnonzero(tops[:, g] >= floor)
        start, stop = g * group * side, min(K, (g + 1) * group * side)
        for some, columns in gram_tiles(len(suspects), side, stop - start, deadline):
            rows_at, c = suspects[some], columns.start + start
            tile64 = W[rows_at] @ W[c : columns.stop + start].T
            own = (rows_at >= c) & (rows_at < c + tile64.shape[1])
            tile64[own, rows_at[own] - c] = -np.inf
            at = tile64.argmax(axis=1)
            value = tile64[np.arange(len(at)), at]
            better = value > cosines[rows_at]
            cosines[rows_at[better]] = value[better]
            best[rows_at[better]] = at[better] + c
    return cosines, best


def _nearest_by_chord(W: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Index of the row nearest to each of `rows`, by chords: exact where cosines all round to 1."""
    nearest = np.empty(len(rows), dtype=np.intp)
    step = max(1, _BLOCK_BYTES // (8 * len(W)))
    for s in range(0, len(rows), step):
        gram = W[rows[s : s + step]] @ W.T
        for a, k in enumerate(rows[s : s + step]):
            gram[a, k] = -np.inf
            candidates = np.flatnonzero(gram[a] >= gram[a].max() - 4.0 * gamma(W.shape[1] + 2))
            chords = pair_chords(W, np.full(len(candidates), k), candidates)
            nearest[s + a] = candidates[chords.argmin()]
    return nearest


def _error32(d: int) -> float:
    """Proved error of a float32 inner product of (nearly) unit rows: both roundings and the sum."""
    return 1.001 * gamma(d + 3, UNIT32)


def _side(entries: int) -> int:
    """Side of a tile that has at most this number of entries."""
    return max(1, min(_SIDE, math.isqrt(max(1, entries))))


def contacts(W: np.ndarray) -> np.ndarray:
    """Mark the pairs of unit rows (K, d) at the smallest distance, or nearly so; (K, K), bool."""
    gram = W @ W.T
    np.fill_diagonal(gram, -2.0)
    return np.asarray(gram > gram.max() - _CONTACT * (1.0 - gram.max()))


def without_contacts(W: np.ndarray, K: int) -> np.ndarray:
    """Return K of the unit rows: those with the most contacts are left out, one after the other."""
    touching, kept = contacts(W), np.ones(len(W), dtype=bool)
    number = touching.sum(axis=1)
    for _ in range(len(W) - K):
        leaving = int(np.where(kept, number, -1).argmax())
        kept[leaving] = False
        number -= touching[leaving]
    return W[kept]
