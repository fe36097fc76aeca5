"""All pairs of rows, tile by tile: means (CDNV, angles, energies), and the pairs that coincide.

For means, squared distances come from the Gram tile, and from differences where that form cancels.
Beyond 30000 rows the pairs are too many: a seeded sample of rows is compared with all.

Classes whose weights nearly coincide are duplicate identities, or tokens never seen. They own the
minimum that GNC2 is: the closest pairs are named, all are counted, and one class of each group is
kept. `merges` says into which the others are to be merged. Thousands of coinciding rows make
millions of pairs, of which only the closest stay.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gnc_cli.geometry.gram import candidate_pairs, gram_tiles
from gnc_cli.geometry.rounding import gamma
from gnc_cli.geometry.sphere import as_unit_points, pair_chords, pair_cosines
from gnc_cli.runtime.deadline import Deadline

_SIDE = 512
"""Side of a tile: its few float64 arrays (2 MB each) stay near the processor."""
_ALL_ROWS = 30_000
"""Up to this many rows every pair is looked at."""
_SAMPLED_PAIRS = 100_000_000
"""Ordered pairs of a sample, or `_SIDE` rows where that is more."""
_CANCELS = 1e-5
"""Squared distances below this share of the squared norms are taken from differences."""
_DIFFERENCES = 1 << 20
"""Bytes of differences at a time: within the cache."""


_MOST_CHORDS = 4096
"""Up to this many pairs of a tile chords are computed; beyond, float64 products are faster."""


@dataclass(frozen=True, eq=False)
class PairTile:
    """Some rows and some other rows, each of the one with each of the other."""

    rows: np.ndarray
    """Indices of the tile's rows, shape (r,)."""
    columns: np.ndarray
    """Indices of the rows they are compared with, shape (c,)."""
    own: tuple[np.ndarray, np.ndarray]
    """Where in the tile a row meets itself; no pair."""
    weight: int
    """2 for a tile above the diagonal, which stands for the one below it too; otherwise 1."""
    products: np.ndarray
    """Inner products, shape (r, c)."""
    squares: np.ndarray
    """Squared distances, shape (r, c): exactly 0 where two rows coincide, 1 in place of `own`."""

    @property
    def count(self) -> int:
        """Ordered pairs in the tile itself."""
        return self.products.size - len(self.own[0])


def pair_rows(K: int) -> int:
    """How many of K rows `pair_tiles` compares with all others.

    >>> pair_rows(10_000), pair_rows(100_000)
    (10000, 1000)
    """
    return K if K <= _ALL_ROWS else max(_SIDE, _SAMPLED_PAIRS // K)


def pair_means(
    X: np.ndarray,
    *sums: Callable[[PairTile], np.ndarray],
    floor: float = 0.0,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> list[np.ndarray | None]:
    """Means over the pairs of rows of X.

    Args:
        X: float64, shape (K, d); centre it first where the rows share an offset.
        sums: each gives sums over the pairs of a tile, shape (m + 1,), their number last.
        floor: distances at or below this are rounding, and become 0.
        seed: of the sample of rows, where there are too many for all pairs.
        deadline: polled at each tile.

    Returns:
        For each of `sums` the means, shape (m,); None where there is no pair or one is not finite.

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
    """Every ordered pair of rows of X, or of `pair_rows(K)` seeded rows with all, in tiles; the
    arguments are those of `pair_means`.
    """
    K = len(X)
    count = pair_rows(K)
    sampled = count < K
    chosen = np.random.default_rng(seed).permutation(K)[:count] if sampled else np.arange(K)
    chosen.sort()
    norms = np.einsum("kd,kd->k", X, X)
    for some, across in gram_tiles(count, _SIDE, K if sampled else None, deadline):
        rows, columns = chosen[some], np.arange(across.start, across.stop)
        products = X[rows] @ X[across].T
        inside = np.flatnonzero((rows >= across.start) & (rows < across.stop))
        own = (inside, rows[inside] - across.start)
        scale = norms[rows, None] + norms[across]
        squares = scale - 2.0 * products
        scale *= _CANCELS
        near = squares <= scale
        if near.any():
            _from_differences(X[rows], X[across], near, squares)
        squares[squares <= floor * floor] = 0.0
        squares[own] = 1.0
        weight = 1 if sampled or some == across else 2
        yield PairTile(rows, columns, own, weight, products, squares)


def _from_differences(X: np.ndarray, Y: np.ndarray, where: np.ndarray, squares: np.ndarray) -> None:
    """Squared distances of the pairs marked in `where`, written over those in `squares`."""
    i, j = np.nonzero(where)
    step = max(1, _DIFFERENCES // (8 * X.shape[1]))
    for s in range(0, len(i), step):
        a, b = i[s : s + step], j[s : s + step]
        difference = X[a] - Y[b]
        squares[a, b] = np.einsum("md,md->m", difference, difference)


def cdnv_sums(tile: PairTile, spread: np.ndarray, sampled: np.ndarray) -> np.ndarray:
    """Of a tile for `pair_means`: CDNV, mean of `(var_k + var_j) / (2 |m_k - m_j|^2)` over k != j.

    The class-distance normalised variance of Galanti, Gyorgy and Hutter, On the role of neural
    collapse in transfer learning (arXiv 2112.15121). Collapsed at 0; undefined where two class
    means coincide. `spread` is var_k, the mean squared distance of class k to its mean, which may
    be that of other data, shape (P,); pairs with classes that are not `sampled`, bool, (P,), are
    left out.

    Example:
        >>> from functools import partial
        >>> cdnv = partial(cdnv_sums, spread=np.array([1.0, 3.0]), sampled=np.array([True, True]))
        >>> pair_means(np.array([[0.0], [2.0]]), cdnv)
        [array([0.5])]
    """
    counted = sampled[tile.rows, None] & sampled[tile.columns]
    counted[tile.own] = False
    inverse = np.where(counted, 1.0 / tile.squares, 0.0)
    rows = spread[tile.rows] @ inverse.sum(axis=1)
    columns = (inverse @ spread[tile.columns]).sum()
    return np.array([0.5 * (rows + columns), counted.sum()])


def angle_sums(tile: PairTile, norms: np.ndarray) -> np.ndarray:
    """Of a tile of centred class means M for `pair_means`: excess cosines.

    The excess is `cos(M_k, M_j) + 1/(K - 1)`, 0 at collapse, so that nothing cancels there. The
    means are those of the excess, whose standard deviation is the equiangularity, of its square,
    and of its absolute value, the maximal angle. Undefined where a row of M is zero. `norms` are of
    all rows of M, shape (K,).
    """
    excess = tile.products / norms[tile.rows, None]
    excess /= norms[tile.columns]
    excess += 1.0 / max(1, len(norms) - 1)
    excess[tile.own] = 0.0
    return np.array([excess.sum(), np.vdot(excess, excess), np.abs(excess).sum(), tile.count])


def energy_sums(tile: PairTile) -> np.ndarray:
    """Of a tile for `pair_means`: `-log |x - y|` and `1 / |x - y|`; smaller is more even.

    Logarithmic and Riesz energy (s = 1), here means rather than sums, so that sizes compare.
    Undefined where two points coincide.

    Example:
        >>> pair_means(np.array([[1.0, 0.0], [-1.0, 0.0]]), energy_sums)[0].round(12)
        array([-0.69314718,  0.5       ])
    """
    # A row's distance to itself reads 1: its logarithm is 0, its inverse is taken off.
    inverse = 1.0 / np.sqrt(tile.squares)
    own = len(tile.own[0])
    return np.array([-0.5 * np.log(tile.squares).sum(), inverse.sum() - own, tile.count])


def find_duplicates(
    W: np.ndarray, cosine: float, *, limit: int = 1000, deadline: Deadline | None = None
) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
    """Pairs of rows whose cosine is at least `cosine`, and the groups that they join.

    Two rows are in one group when a chain of such pairs connects them.

    Args:
        W: unit rows, shape (K, d).
        cosine: the threshold, -1 to 1; cosines are `1 - chord**2 / 2` in float64.
        limit: number of pairs listed at most.
        deadline: polled at each tile.

    Returns:
        The closest pairs i < j, integers, shape (m, 2), the closest first, ties by index (where
        thousands tie to rounding, some of them); their cosines, shape (m,); how many pairs there
        are in all; and the first row of the group of each row, integers, shape (K,).

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
        near = tile_cosines >= cosine
        if not near.any():
            continue
        i, j, tile_cosines = i[near], j[near], tile_cosines[near]
        count += len(i)
        _join(parents, i, j)
        if len(i) > (most := max(limit, _MOST_CHORDS)):
            # The closest of a full tile, with some to spare for rounding.
            best = np.argpartition(-tile_cosines, most - 1)[:most]
            i, j = i[best], j[best]
        pairs = np.concatenate([pairs, np.stack([i, j], axis=1)])
        cosines = np.concatenate([cosines, pair_cosines(W, i, j)])
        first = np.lexsort((pairs[:, 1], pairs[:, 0], -cosines))[:limit]
        pairs, cosines = pairs[first], cosines[first]
    return pairs, cosines, count, parents


def merges(
    W: np.ndarray, first: np.ndarray, counts: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which rows to merge into which: of each group the row with most samples is kept, the first of
    ties.

    Args:
        W: unit rows, shape (K, d).
        first: of each row the first of its group, as `find_duplicates` gives it, shape (K,).
        counts: samples of each row, shape (K,); None where there are none: the first is kept.

    Returns:
        The rows that go, group by group, integers, shape (m,); the row kept in place of each; and
        the angles between the two in radians, float64.

    Example:
        >>> W = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
        >>> merges(W, np.array([0, 1, 0]), np.array([3, 5, 4]))
        (array([0]), array([2]), array([0.]))
    """
    samples = np.zeros(len(W)) if counts is None else counts
    joined = np.flatnonzero(np.bincount(first)[first] > 1)
    order = joined[np.lexsort((joined, -samples[joined], first[joined]))]
    _, start, group = np.unique(first[order], return_index=True, return_inverse=True)
    kept = order[start][group]
    others = order != kept
    rows, kept = order[others], kept[others]
    return rows, kept, 2.0 * np.arcsin(np.minimum(pair_chords(W, rows, kept) / 2.0, 1.0))


def _cosines(W: np.ndarray, i: np.ndarray, j: np.ndarray, threshold: float) -> np.ndarray:
    """Cosines of the pairs of one tile, on the same side of the threshold as those of chords."""
    if len(i) <= _MOST_CHORDS:
        return pair_cosines(W, i, j)
    rows, columns = int(i.min()), int(j.min())
    tile = W[rows : int(i.max()) + 1] @ W[columns : int(j.max()) + 1].T
    cosines: np.ndarray = tile[i - rows, j - columns]
    close = np.abs(cosines - threshold) <= 1e-7 + 2.0 * gamma(W.shape[1] + 3)
    cosines[close] = pair_cosines(W, i[close], j[close])
    return cosines


def _join(parents: np.ndarray, i: np.ndarray, j: np.ndarray) -> None:
    """Union of the groups of paired rows, in place; every row points at the first of its group."""
    while (apart := (a := parents[i]) != (b := parents[j])).any():
        np.minimum.at(parents, np.maximum(a, b)[apart], np.minimum(a, b)[apart])
        while (parents[parents] < parents).any():
            parents[:] = parents[parents]
