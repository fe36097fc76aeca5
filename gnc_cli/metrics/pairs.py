"""All pairs of rows, tile by tile: means (CDNV, angles, energies), and the pairs that coincide.

For means, squared distances come from the Gram tile, and from differences where that form cancels.
Beyond 30000 rows the pairs are too many: a seeded sample of rows is compared with all.

Classes whose weights nearly coincide are duplicate identities, or tokens without a sample. They
determine the minimum, which is GNC2. The closest pairs are named, all are counted, and `merges`
names the class of each group into which the others are to be merged. Thousands of coinciding rows
make millions of pairs, of which only the closest are listed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gnc_cli.geometry.gram import candidate_pairs, gram_tiles
from gnc_cli.geometry.rounding import gamma
from gnc_cli.geometry.sphere import as_unit_points, pair_chords, pair_cosines
from gnc_cli.runtime.deadline import Deadline

_TILE_ROWS = 512
"""Rows and columns of a tile, whose few float64 arrays (2 MB each) stay in the cache."""
_MAX_PAIRED_ROWS = 30_000
"""Largest number of rows all of whose pairs are compared."""
_SAMPLED_PAIRS = 100_000_000
"""Ordered pairs of a sample, unless `_TILE_ROWS` rows have more."""
_CANCELLATION_SHARE = 1e-5
"""Share of the squared norms below which squared distances are taken from differences."""
_DIFFERENCE_BYTES = 1 << 20
"""Bytes of the differences that are computed at a time, which fit the cache."""
_MAX_CHORDS = 4096
"""Largest number of pairs of a tile by chords; beyond, float64 products are faster."""


@dataclass(frozen=True, eq=False)
class PairTile:
    """All pairs of some rows with some other rows."""

    rows: np.ndarray
    """Indices of the tile's rows, shape (r,)."""
    columns: np.ndarray
    """Indices of the rows with which they are compared, shape (c,)."""
    diagonal: tuple[np.ndarray, np.ndarray]
    """Positions in the tile of rows with themselves, which are not pairs, shape (s,) each."""
    weight: int
    """Weight in sums: 2 for a tile above the diagonal, which also represents its mirror; else 1."""
    products: np.ndarray
    """Inner products, shape (r, c)."""
    squares: np.ndarray
    """Squared distances, shape (r, c): exactly 0 for rows that coincide, 1 on `diagonal`."""

    @property
    def count(self) -> int:
        """Number of ordered pairs in the tile itself."""
        return self.products.size - len(self.diagonal[0])


def pair_rows(K: int) -> int:
    """Return the number of K rows that `pair_tiles` compares with all others.

    >>> pair_rows(10_000), pair_rows(100_000)
    (10000, 1000)
    """
    return K if K <= _MAX_PAIRED_ROWS else max(_TILE_ROWS, _SAMPLED_PAIRS // K)


def pair_means(
    X: np.ndarray,
    *sums: Callable[[PairTile], np.ndarray],
    floor: float = 0.0,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> list[np.ndarray | None]:
    """Return means over the pairs of rows of X.

    Args:
        X: float64, shape (K, d); centre it first if the rows share an offset.
        sums: functions that sum over a tile's pairs, their number last, shape (m + 1,).
        floor: largest distance that is rounding alone, and becomes 0.
        seed: seed of the sample of rows, if there are too many for all pairs.
        deadline: polled at each tile.

    Returns:
        Means for each of `sums`, shape (m,); None if there is no pair or one is not finite.

    Raises:
        TimeoutError: the deadline expired first.
    """
    totals = [np.zeros(1)] * len(sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        for tile in pair_tiles(X, floor=floor, seed=seed, deadline=deadline):
            totals = [t + tile.weight * f(tile) for t, f in zip(totals, sums, strict=True)]
    return [t[:-1] / t[-1] if t[-1] > 0 and np.isfinite(t).all() else None for t in totals]


def pair_tiles(
    X: np.ndarray, *, floor: float, seed: int, deadline: Deadline | None
) -> Iterator[PairTile]:
    """Yield all ordered pairs of rows of X, or of `pair_rows(K)` seeded rows with all, in tiles.

    The arguments are those of `pair_means`.
    """
    K = len(X)
    count = pair_rows(K)
    sampled = count < K
    selection = np.random.default_rng(seed).permutation(K)[:count] if sampled else np.arange(K)
    selection.sort()
    norms = np.einsum("kd,kd->k", X, X)
    for part, span in gram_tiles(count, _TILE_ROWS, K if sampled else None, deadline):
        rows, columns = selection[part], np.arange(span.start, span.stop)
        products = X[rows] @ X[span].T
        inside = np.flatnonzero((rows >= span.start) & (rows < span.stop))
        diagonal = (inside, rows[inside] - span.start)
        scale = norms[rows, None] + norms[span]
        squares = scale - 2.0 * products
        scale *= _CANCELLATION_SHARE
        close = squares <= scale
        if close.any():
            _from_differences(X[rows], X[span], close, squares)
        squares[squares <= floor * floor] = 0.0
        squares[diagonal] = 1.0
        weight = 1 if sampled or part == span else 2
        yield PairTile(rows, columns, diagonal, weight, products, squares)


def _from_differences(X: np.ndarray, Y: np.ndarray, mask: np.ndarray, squares: np.ndarray) -> None:
    """Write squared distances of the pairs in `mask` over those in `squares`."""
    i, j = np.nonzero(mask)
    step = max(1, _DIFFERENCE_BYTES // (8 * X.shape[1]))
    for s in range(0, len(i), step):
        a, b = i[s : s + step], j[s : s + step]
        difference = X[a] - Y[b]
        squares[a, b] = np.einsum("md,md->m", difference, difference)


def cdnv_sums(tile: PairTile, spread: np.ndarray, sampled: np.ndarray) -> np.ndarray:
    """Sum CDNV terms of a tile for `pair_means`: `(var_k + var_j) / (2 |m_k - m_j|^2)`, k != j.

    The class-distance normalised variance of Galanti, Gyorgy and Hutter, On the role of neural
    collapse in transfer learning (arXiv 2112.15121). The mean is 0 at collapse, and
    undefined if two class means coincide.

    Args:
        tile: pairs of class means.
        spread: var_k, the mean squared distance of class k to its mean, which may be that of other
            data, shape (P,).
        sampled: False for classes whose pairs are left out, shape (P,).

    Example:
        >>> from functools import partial
        >>> cdnv = partial(cdnv_sums, spread=np.array([1.0, 3.0]), sampled=np.array([True, True]))
        >>> pair_means(np.array([[0.0], [2.0]]), cdnv)
        [array([0.5])]
    """
    mask = sampled[tile.rows, None] & sampled[tile.columns]
    mask[tile.diagonal] = False
    inverse = np.where(mask, 1.0 / tile.squares, 0.0)
    rows = spread[tile.rows] @ inverse.sum(axis=1)
    columns = (inverse @ spread[tile.columns]).sum()
    return np.array([0.5 * (rows + columns), mask.sum()])


def angle_sums(tile: PairTile, norms: np.ndarray) -> np.ndarray:
    """Sum excess cosines of a tile of centred class means M for `pair_means`.

    The excess is `cos(M_k, M_j) + 1/(K - 1)`, 0 at collapse, so that nothing cancels there. The
    means are those of the excess, whose standard deviation is the equiangularity, of its square,
    and of its absolute value, the maximal angle. Undefined if a row of M is zero. `norms` are
    those of all rows of M, shape (K,).
    """
    excess = tile.products / norms[tile.rows, None]
    excess /= norms[tile.columns]
    excess += 1.0 / max(1, len(norms) - 1)
    excess[tile.diagonal] = 0.0
    return np.array([excess.sum(), np.vdot(excess, excess), np.abs(excess).sum(), tile.count])


def energy_sums(tile: PairTile) -> np.ndarray:
    """Sum `-log |x - y|` and `1 / |x - y|` over a tile for `pair_means`; smaller is more even.

    Logarithmic and Riesz energy (s = 1), here means rather than sums, so that sizes compare.
    Undefined if two points coincide.

    Example:
        >>> pair_means(np.array([[1.0, 0.0], [-1.0, 0.0]]), energy_sums)[0].round(12)
        array([-0.69314718,  0.5       ])
    """
    # A row's distance to itself is set to 1: its logarithm is 0, its inverse is subtracted.
    inverse = 1.0 / np.sqrt(tile.squares)
    diagonal = len(tile.diagonal[0])
    return np.array([-0.5 * np.log(tile.squares).sum(), inverse.sum() - diagonal, tile.count])


def find_duplicates(
    W: np.ndarray, cosine: float, *, limit: int = 1000, deadline: Deadline | None = None
) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
    """Find the pairs of rows whose cosine is at least `cosine`, and the groups that they form.

    Two rows are in one group if a chain of such pairs connects them.

    Args:
        W: unit rows, shape (K, d).
        cosine: threshold, -1 to 1; cosines are `1 - chord**2 / 2` in float64.
        limit: largest number of pairs listed.
        deadline: polled at each tile.

    Returns:
        The closest pairs i < j, integers, shape (m, 2), the closest first, ties by index (if
        thousands tie to rounding, some of them); their cosines, shape (m,); the number of all
        pairs; and the first row of the group of each row, integers, shape (K,).

    Raises:
        DataError: W is not a matrix of at least two finite unit rows.
        TimeoutError: the deadline expired first.

    Example:
        >>> find_duplicates(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), 0.9)
        (array([[0, 2]]), array([1.]), 1, array([0, 1, 0]))
    """
    W = as_unit_points(W)
    parents = np.arange(len(W))
    pairs, cosines = np.empty((0, 2), dtype=np.intp), np.empty(0)
    count = 0
    for i, j in candidate_pairs(W, cosine, deadline=deadline):
        tile_cosines = _cosines(W, i, j, cosine)
        close = tile_cosines >= cosine
        if not close.any():
            continue
        i, j, tile_cosines = i[close], j[close], tile_cosines[close]
        count += len(i)
        _join(parents, i, j)
        if len(i) > (max_pairs := max(limit, _MAX_CHORDS)):
            # The closest pairs of a full tile, with a margin for rounding.
            best = np.argpartition(-tile_cosines, max_pairs - 1)[:max_pairs]
            i, j = i[best], j[best]
        pairs = np.concatenate([pairs, np.stack([i, j], axis=1)])
        cosines = np.concatenate([cosines, pair_cosines(W, i, j)])
        first = np.lexsort((pairs[:, 1], pairs[:, 0], -cosines))[:limit]
        pairs, cosines = pairs[first], cosines[first]
    return pairs, cosines, count, parents


def merges(
    W: np.ndarray, first: np.ndarray, counts: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Name the rows to merge: into the row of each group with most samples, the first of ties.

    Args:
        W: unit rows, shape (K, d).
        first: first row of the group of each row, from `find_duplicates`, shape (K,).
        counts: samples of each row, shape (K,); None to merge into the first row.

    Returns:
        The rows that are merged, group by group, integers, shape (m,); the row that replaces each,
        shape (m,); and the angles between the two in radians, float64, shape (m,).

    Example:
        >>> W = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
        >>> merges(W, np.array([0, 1, 0]), np.array([3, 5, 4]))
        (array([0]), array([2]), array([0.]))
    """
    samples = np.zeros(len(W)) if counts is None else counts
    joined = np.flatnonzero(np.bincount(first)[first] > 1)
    order = joined[np.lexsort((joined, -samples[joined], first[joined]))]
    _, start, group = np.unique(first[order], return_index=True, return_inverse=True)
    leaders = order[start][group]
    others = order != leaders
    rows, leaders = order[others], leaders[others]
    return rows, leaders, 2.0 * np.arcsin(np.minimum(pair_chords(W, rows, leaders) / 2.0, 1.0))


def _cosines(W: np.ndarray, i: np.ndarray, j: np.ndarray, threshold: float) -> np.ndarray:
    """Compute cosines of the pairs of a tile, on the same side of the threshold as by chords."""
    if len(i) <= _MAX_CHORDS:
        return pair_cosines(W, i, j)
    rows, columns = int(i.min()), int(j.min())
    tile = W[rows : int(i.max()) + 1] @ W[columns : int(j.max()) + 1].T
    cosines: np.ndarray = tile[i - rows, j - columns]
    close = np.abs(cosines - threshold) <= 1e-7 + 2.0 * gamma(W.shape[1] + 3)
    cosines[close] = pair_cosines(W, i[close], j[close])
    return cosines


def _join(parents: np.ndarray, i: np.ndarray, j: np.ndarray) -> None:
    """Join the groups of paired rows, in place: each row points at the first of its group."""
    while (split := (a := parents[i]) != (b := parents[j])).any():
        np.minimum.at(parents, np.maximum(a, b)[split], np.minimum(a, b)[split])
        while (parents[parents] < parents).any():
            parents[:] = parents[parents]
