"""Classes whose weights nearly coincide: duplicate identities, tokens never seen.

They own the minimum that GNC2 is: the closest pairs are named, all are counted, and one class of
each group is kept. `merges` says into which the others are to be merged. Thousands of coinciding
rows make millions of pairs, so that pairs pass through in tiles and only the closest stay.
"""

import numpy as np

from gnc_cli.geometry.gram import candidate_pairs
from gnc_cli.geometry.rounding import gamma
from gnc_cli.geometry.sphere import as_unit_points, pair_chords, pair_cosines
from gnc_cli.runtime.deadline import Deadline

__all__ = ["find_duplicates", "merges"]

_FEW = 4096
"""Up to this many pairs of a tile chords are computed; beyond, float64 products are faster."""


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
        if len(i) > max(limit, _FEW):
            # The closest of a full tile, with some to spare for rounding.
            best = np.argpartition(-tile_cosines, max(limit, _FEW) - 1)[: max(limit, _FEW)]
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
    if len(i) <= _FEW:
        return pair_cosines(W, i, j)
    rows, columns = int(i.min()), int(j.min())
    tile = W[rows : int(i.max()) + 1] @ W[columns : int(j.max()) + 1].T
    cosines: np.ndarray = tile[i - rows, j - columns]
    close = np.abs(cosines - threshold) <= 1e-7 + 2.0 * gamma(W.shape[1] + 3)
    cosines[close] = pair_cosines(W, i[close], j[close])
    return cosines


def _join(parents: np.ndarray, i: np.ndarray, j: np.ndarray) -> None:
    """Union of the groups of paired rows, in place; every row points at the first of its group."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    a, b = parents[i], parents[j]
    apart = a != b
    if not apart.any():
        return
    # Only the groups that meet here are looked at, by their first rows.
    heads, places = np.unique(np.concatenate([a[apart], b[apart]]), return_inverse=True)
    n, m = len(heads), int(apart.sum())
    places = places.astype(np.int32)  # SciPy before 1.12 joins no others
    graph = coo_array((np.ones(m, dtype=bool), (places[:m], places[m:])), shape=(n, n))
    groups = connected_components(graph, directed=False)[1]
    first = np.full(int(groups.max()) + 1, len(parents))
    np.minimum.at(first, groups, heads)
    moved = np.arange(len(parents))
    moved[heads] = first[groups]
    parents[:] = moved[parents]
