"""The Gram matrix `W W^T` in tiles, never stored: row maxima, the closest pair, close pairs.

Large matrices are computed in square tiles of float32 products, each pair once. A float32 inner
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

_MAX_DENSE_ROWS = 1024
"""Largest number of rows whose Gram matrix (8 MB) is formed at once."""
MAX_TREE_DIMENSIONS = 6
"""Largest dimension in which a k-d tree finds the nearest rows of large codes faster than tiles."""
_SIDE = 1024
"""Side of a tile: its float32 entries (4 MB) and factors stay in cache."""
_BLOCK_BYTES = 64 << 20
"""Working memory in addition to W and its float32 copy."""
_MAX_CHORD_RANKED = 1e-6
"""Largest `1 - cosine` at which nearest neighbours are ranked by chords: the chord is 1.4e-3 there,
and the rounding of a cosine (1e-16) is 1e-10 of `1 - cosine`."""

_CONTACT_GAP = 1e-3
"""Largest distance of a contact's cosine from the largest one, relative to 1 - max_cosine: wide, so
that codes can be searched for contacts before their polish."""


def gram_tiles(
    rows: int, side: int, columns: int | None = None, deadline: Deadline | None = None
) -> Iterator[tuple[slice, slice]]:
    """Yield the tiles of a matrix of products, as slices of its rows and columns, `side` of each.

    Without `columns` the matrix is symmetric, and only tiles on and above the diagonal are yielded.

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
    """Return each row's largest cosine to another row, and the index of that row, shape (K,) both.

    W are unit rows, shape (K, d). Cosines are `1 - chord**2 / 2` of the winning pair, accurate to a
    few 1e-16; among ties any index may be returned. The deadline is polled at each tile.

    Raises:
        DataError: W is not a matrix of at least two finite unit rows.
        TimeoutError: the deadline expired first; a partial maximum would bound nothing.

    Example:
        >>> row_maxima(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]))
        (array([0., 0., 0.]), array([1, 0, 0]))
    """
    W = as_unit_points(W)
    K = len(W)
    if K <= _MAX_DENSE_ROWS:
        gram = W @ W.T
        np.fill_diagonal(gram, -np.inf)
        best = gram.argmax(axis=1)
        coarse = gram[np.arange(K), best]
    elif W.shape[1] <= MAX_TREE_DIMENSIONS:
        best = _tree_neighbours(W, deadline)
        return pair_cosines(W, np.arange(K), best), best
    else:
        coarse, best = _tiled_maxima(W, deadline)
    ambiguous = np.flatnonzero(coarse > 1.0 - _MAX_CHORD_RANKED)
    best[ambiguous] = _nearest_by_chord(W, ambiguous)
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
    """Return the two nearest unit rows i < j and their chord, rho_one_vs_one.

    W has shape (K, d); `maxima` is `row_maxima(W)`, if it was computed before. Raises as
    `row_maxima`.
    """
    W = as_unit_points(W)
    cosines, best = row_maxima(W, deadline=deadline) if maxima is None else maxima
    top = np.flatnonzero(cosines >= cosines.max() - 1e-15)
    chords = pair_chords(W, top, best[top])
    index = int(chords.argmin())
    i, j = sorted((int(top[index]), int(best[top[index]])))
    return i, j, float(chords[index])


def max_cosine(W: np.ndarray, *, deadline: Deadline | None = None) -> float:
    """Return the largest cosine of two different unit rows (K, d); raises as `row_maxima`."""
    return float(row_maxima(W, deadline=deadline)[0].max())


def max_abs_cosine(W: np.ndarray, *, deadline: Deadline | None) -> float:
    """Return the largest absolute cosine of two different unit rows (K, d): their coherence.

    Products are float64, with an error of about 1e-16 sqrt(d). Raises as `row_maxima`.

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
    """Return Welch's lower bound on the largest absolute cosine of K unit vectors in R^d.

    It is the largest over k of `((K / binomial(d + k - 1, k) - 1) / (K - 1))^(1 / 2k)`. Antipodal
    codes have one line per two rows, so K / 2 takes the place of K. L. R. Welch, Lower bounds
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
    """Return the mean of `<w_k, w_j>^2` over k != j, from a product of size d x d or K x K.

    Args:
        W: unit rows, shape (K, d), K at least 2.

    Example:
        >>> round(mean_square_cosine(np.array([[1.0, 0.0], [0.6, 0.8]])), 12)
        0.36
    """
    K, d = W.shape
    product = W.T @ W if d <= K else W @ W.T
    squares = np.einsum("kd,kd->k", W, W)
    total = float(np.vdot(product, product) - np.vdot(squares, squares))
    return float(max(0.0, total) / (K * (K - 1)))


def one_vs_one_rattlers(row_max: np.ndarray, tolerance: float) -> np.ndarray:
    """Mark the rows whose nearest chord exceeds the smallest by more than `tolerance`, shape (K,).

    `row_max` is each row's largest cosine to another row (`row_maxima`), shape (K,).

    Raises:
        UsageError: the tolerance is below 0.

    Example:
        >>> one_vs_one_rattlers(np.array([0.5, 0.5, 0.1]), 1e-7)
        array([False, False,  True])
    """
    if not tolerance >= 0.0:
        raise UsageError(f"rattler tolerance {tolerance}: must be 0 or more")
    chords = np.sqrt(2.0 * np.maximum(1.0 - row_max, 0.0))
    return np.asarray(chords > chords.min() + tolerance)


def candidate_pairs(
    W: np.ndarray, threshold: float, *, deadline: Deadline | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield, for each tile, the pairs i < j of unit rows (K, d) that may reach `threshold`.

    Each pair whose cosine is at least `threshold` is in one of the tiles; float32 products exclude
    the others. Indices have shape (m,) each.
    """
    side = _side(_BLOCK_BYTES // 8)
    single = W.astype(np.float32)
    cut = np.float32(max(threshold - 2.0 * _error32(W.shape[1]), -4.0))
    for rows, columns in gram_tiles(len(W), side, deadline=deadline):
        tile = single[rows] @ single[columns].T
        i, j = np.divmod(np.flatnonzero(tile >= cut), tile.shape[1])
        i, j = i + rows.start, j + columns.start
        yield i[i < j], j[i < j]


def _tiled_maxima(W: np.ndarray, deadline: Deadline | None) -> tuple[np.ndarray, np.ndarray]:
    """Return row maxima (cosines, indices), float64: float32 tiles name candidates for them."""
    K, d = W.shape
    side = _side(_BLOCK_BYTES // 4)
    single = W.astype(np.float32)
    tiles = math.ceil(K / side)
    # Tile maxima are stored per group of tiles, so that they too stay within the working memory.
    group = math.ceil(tiles * K * 4 / max(_BLOCK_BYTES // 2, 4 * K))
    tops = np.full((K, math.ceil(tiles / group)), -np.inf, dtype=np.float32)
    for rows, columns in gram_tiles(K, side, deadline=deadline):
        tile = single[rows] @ single[columns].T
        row_group, column_group = columns.start // side // group, rows.start // side // group
        if rows == columns:
            np.fill_diagonal(tile, -np.inf)
        else:
            lower_part = tops[columns, column_group]
            np.maximum(lower_part, tile.max(axis=0), out=lower_part)
        upper_part = tops[rows, row_group]
        np.maximum(upper_part, tile.max(axis=1), out=upper_part)
    floor = tops.max(axis=1) - np.float32(4.0 * _error32(d))
    cosines, best = np.full(K, -np.inf), np.zeros(K, dtype=np.intp)
    for g in range(tops.shape[1]):
        suspects = np.flatnonzero(tops[:, g] >= floor)
        start, stop = g * group * side, min(K, (g + 1) * group * side)
        for part, columns in gram_tiles(len(suspects), side, stop - start, deadline):
            chosen_rows, c = suspects[part], columns.start + start
            tile64 = W[chosen_rows] @ W[c : columns.stop + start].T
            diagonal = (chosen_rows >= c) & (chosen_rows < c + tile64.shape[1])
            tile64[diagonal, chosen_rows[diagonal] - c] = -np.inf
            column = tile64.argmax(axis=1)
            value = tile64[np.arange(len(column)), column]
            better = value > cosines[chosen_rows]
            cosines[chosen_rows[better]] = value[better]
            best[chosen_rows[better]] = column[better] + c
    return cosines, best


def _nearest_by_chord(W: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the row nearest to each of `rows` (m,) by chords, which differ where cosines are 1."""
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
    """Bound the error of a float32 product of nearly unit rows: both roundings and the sum."""
    return 1.001 * gamma(d + 3, UNIT32)


def _side(entries: int) -> int:
    """Return the side of a tile that has at most this number of entries."""
    return max(1, min(_SIDE, math.isqrt(max(1, entries))))


def contacts(W: np.ndarray) -> np.ndarray:
    """Mark the pairs of unit rows (K, d) at nearly the smallest distance, shape (K, K), bool."""
    gram = W @ W.T
    np.fill_diagonal(gram, -2.0)
    return np.asarray(gram > gram.max() - _CONTACT_GAP * (1.0 - gram.max()))


def without_contacts(W: np.ndarray, K: int) -> np.ndarray:
    """Return K of the unit rows (L, d): rows with the most contacts are removed one by one."""
    touching, mask = contacts(W), np.ones(len(W), dtype=bool)
    number = touching.sum(axis=1)
    for _ in range(len(W) - K):
        row = int(np.where(mask, number, -1).argmax())
        mask[row] = False
        number -= touching[row]
    return W[mask]
