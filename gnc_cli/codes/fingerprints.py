"""What rotation and relabelling cannot change, in a few numbers: which stored code may this be?

The distribution of inner products is the invariant of first choice where they take few values; its
moments are as good for telling codes apart, never depend on where a rounding falls, and cost one
blocked product. Equal fingerprints are a reason to look (`congruence`), never a proof.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gnc_cli.geometry.gram import gram_tiles
from gnc_cli.geometry.sphere import as_points, normalise
from gnc_cli.runtime.deadline import Deadline

_ALL_PAIRS = 6000
"""Up to this many rows every inner product enters the higher moments."""
_ORDER = 6
_GRID = 1e-10
"""Inner products this near are one from the start: their rounding is far below."""
_FEW = 256
_SIDE = 1024


@dataclass(frozen=True)
class Fingerprint:
    """Invariants of a code."""

    K: int
    moments: tuple[float, ...]
    """Means of the powers 1, 2, .. of the inner products of different rows: 6 of them, or 2 where
    there are too many rows to look at every pair."""

    def agrees(self, other: "Fingerprint", tolerance: float = 1e-7) -> bool:
        """Whether codes with these fingerprints can be one, rows `tolerance` apart at most."""
        return self.K == other.K and all(
            abs(mine - theirs) <= 2.0 * power * (tolerance + tolerance**2) + 1e-12
            for power, (mine, theirs) in enumerate(
                zip(self.moments, other.moments, strict=False), start=1
            )
        )


def fingerprint(W: np.ndarray, *, deadline: Deadline | None = None) -> Fingerprint:
    """Number of rows and moments of a code, rows (K, d) that stand for directions.

    Raises:
        TimeoutError: the deadline came first.

    Example:
        >>> square = fingerprint(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]))
        >>> square.K, square.moments[:2]
        (4, (-0.333333333333, 0.333333333333))
    """
    W = normalise(as_points(W))
    K = len(W)
    pairs = max(1, K * (K - 1))
    form = W.T @ W
    total = W.sum(axis=0)
    sums = np.array([total @ total, (form * form).sum()]) - K
    if K <= _ALL_PAIRS:
        sums = np.zeros(_ORDER)
        for entries in _entries(W, deadline):
            power = np.ones_like(entries)
            for p in range(_ORDER):
                power *= entries
                sums[p] += 2.0 * power.sum()
    return Fingerprint(K, tuple(float(round(s / pairs, 12)) for s in sums))


def distribution(
    W: np.ndarray,
    *,
    tolerance: float = 1e-8,
    most: int = 100_000,
    deadline: Deadline | None = None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """All inner products of different rows, from large to small, and their unordered pairs of rows.

    Neighbours in the sorted list within the tolerance are one value, their mean. None where there
    are more than `most` different values.

    Raises:
        TimeoutError: the deadline came first.

    Example:
        >>> distribution(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]))
        (array([ 0., -1.]), array([4, 2]))
    """
    W = normalise(as_points(W))
    keys: np.ndarray = np.empty(0, dtype=np.int64)
    sums: np.ndarray = np.empty(0)
    counts: np.ndarray = np.empty(0)
    for entries in _entries(W, deadline):
        found, where = _grid_cells(entries, keys)
        merged, place = np.unique(np.concatenate([keys, found]), return_inverse=True)
        into = place[len(keys) :][where]
        old = place[: len(keys)]
        sums = np.bincount(old, sums, len(merged)) + np.bincount(into, entries, len(merged))
        fresh = np.bincount(into, minlength=len(merged))
        counts = np.bincount(old, counts, len(merged)) + fresh  # integers, exact below 2**53
        keys = merged
        if len(keys) > 20 * most:
            return None
    cut = np.concatenate([[0], np.cumsum(np.diff(keys) * _GRID > tolerance)])
    totals = np.bincount(cut, counts)
    if len(totals) > most:
        return None
    values = np.bincount(cut, sums) / totals
    return values[::-1] + 0.0, totals[::-1].astype(np.int64)


def _grid_cells(entries: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Grid cells of the entries: the different ones, sorted, and which of them each entry has."""
    cells = np.rint(entries / _GRID).astype(np.int64)
    if 0 < len(known) <= _FEW:  # most codes of algebra: no sorting needed
        at = np.minimum(np.searchsorted(known, cells), len(known) - 1)
        if np.array_equal(known[at], cells):
            return known, at
    found, where = np.unique(cells, return_inverse=True)
    return found, where


def _entries(W: np.ndarray, deadline: Deadline | None) -> Iterator[np.ndarray]:
    """The entries above the diagonal of the Gram matrix, flat, tile by tile."""
    for rows, columns in gram_tiles(len(W), _SIDE, deadline=deadline):
        tile = W[rows] @ W[columns].T
        yield tile[np.triu_indices(len(tile), 1)] if rows == columns else tile.ravel()
