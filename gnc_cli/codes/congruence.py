"""Congruence of codes: equality up to rotation, reflection and relabelling. Symmetries and orbits.

Fingerprints distinguish most codes: the distribution of inner products is the invariant of first
choice where they take few values; its moments are as good, do not depend on rounding to a grid,
and cost one blocked product. Equal fingerprints are a reason to search, never a proof.

Rows of A that span its space are sent one after the other to rows of B with the same inner
products. After each, the rows of both codes are coloured again by all that is known of them
(`matching`), which refutes most wrong guesses at once. Once each colour has a single row the
relabelling is known, and the rotation is the least-squares one.

No K x K matrix is stored. A guess costs O(K (d^2 + log K)): codes of 10^5 rows go through.

A symmetry is a permutation g of the rows with `gram[g(i), g(j)] = gram[i, j]` for every pair, up to
a tolerance. Two rows are in one orbit if the reflection that exchanges them is a symmetry, as it is
in most algebraic codes; otherwise the code is matched with itself. The group is never listed: its
order is the product of the orbits along a chain of stabilisers (C. C. Sims), and symmetries found
once serve every later orbit. A simplex of 100 rows, which has 100! symmetries, needs 99 of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from gnc_cli.codes.matching import (
    REFINEMENT_LABELS,
    Level,
    Match,
    MatchingSearch,
    SearchEnd,
    agreement,
)
from gnc_cli.errors import UsageError
from gnc_cli.geometry.gram import gram_tiles
from gnc_cli.geometry.sphere import as_points, normalise
from gnc_cli.runtime.deadline import Deadline

_MAX_ALL_PAIRS_ROWS = 6000
"""Largest number of rows for which a search may begin with all inner products, and for which all of
them enter the higher moments of a fingerprint."""
_EFFORT = 1e8
"""Largest number of rows that a search sorts, counted at each sort: some ten seconds."""
_MIN_SORT_ROWS = 1000
"""Number of rows whose sorting takes as long as the overhead of a sort."""
_MOMENTS = 6
"""Number of moments of a fingerprint."""
_GRID = 1e-10
"""Width of the cells in which inner products count as one: their rounding is far below."""
_MAX_LOOKED_UP = 256
"""Largest number of values among which entries are looked up, which is faster than sorting."""
_SIDE = 1024
"""Side of a tile of the Gram matrix."""
_MAX_ROWS = 100
"""Default limit of the rows of a code whose symmetries are computed."""


@dataclass(frozen=True, eq=False)
class Congruence:
    """Proof that two codes are congruent: `A @ rotation` is B relabelled, up to `deviation`."""

    permutation: np.ndarray
    """Row of B, `permutation[k]`, to which row k of A goes, shape (K,)."""
    rotation: np.ndarray
    """Rotation, shape (d of A, d of B); orthogonal if these are equal."""
    deviation: float
    """Largest distance between a row of `A @ rotation` and its partner."""


@dataclass(frozen=True)
class Undecided:
    """End of a search that was cut short: nothing is claimed."""

    reason: str
    """Reason why nothing is decided."""


def congruence(
    A: np.ndarray,
    B: np.ndarray,
    *,
    tolerance: float = 1e-7,
    deadline: Deadline | None = None,
) -> Congruence | Undecided | None:
    """Match the rows of two codes.

    Args:
        A: rows that represent directions, shape (K, d).
        B: rows of the other code, shape (K', d'); the dimensions may differ, as a code may lie in a
            subspace.
        tolerance: largest distance of corresponding rows under the least-squares rotation; beyond
            6e-4 nothing can be matched.
        deadline: polled at each guess.

    Returns:
        The matching; None if there is none, which is proved up to rounding; `Undecided` if the
        search was cut short, rows lie too close together to be distinguished, or a matching is a
        little wider than the tolerance.

    Raises:
        DataError: not matrices of at least two finite nonzero rows.

    Example:
        >>> square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        >>> turned = square @ np.array([[0.6, 0.8], [-0.8, 0.6]])
        >>> match = congruence(square, turned[::-1])
        >>> isinstance(match, Congruence) and match.deviation < 1e-12
        True
        >>> congruence(square[:3], np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])) is None
        True
    """
    A, B = normalise(as_points(A, "A")), normalise(as_points(B, "B"))
    if len(A) != len(B):
        return None
    d = max(A.shape[1], B.shape[1])
    X, Y = (np.pad(Z, ((0, 0), (0, d - Z.shape[1]))) for Z in (A, B))
    # Singular values, at most sqrt(K), move by at most the norm of the difference (Weyl).
    squares = [np.linalg.eigvalsh(Z.T @ Z) for Z in (X, Y)]
    if np.abs(squares[0] - squares[1]).max() > 2.0 * agreement(tolerance) * len(X):
        return None
    end = _search(X, Y, tolerance, _EFFORT / (len(X) + _MIN_SORT_ROWS), deadline or Deadline())
    if isinstance(end, SearchEnd):
        return None if end.reason is None else Undecided(end.reason)
    rotation = end.rotation[: A.shape[1], : B.shape[1]]
    return Congruence(end.partner, rotation, end.deviation)


def _search(
    X: np.ndarray, Y: np.ndarray, tolerance: float, labels: float, deadline: Deadline
) -> Match | SearchEnd:
    """Match unit rows X with Y, (K, d) both; Y with X if that takes long."""
    search = MatchingSearch(X, Y, tolerance)
    thorough = len(X) <= _MAX_ALL_PAIRS_ROWS
    first_labels = min(labels, 2.0 * REFINEMENT_LABELS * (X.shape[1] + 8))
    # Most congruent codes are matched by the first guesses; otherwise all pairs are compared.
    for budget, exhaustive in ((first_labels, False), (labels / 2.0, thorough)):
        end = search.run(budget, deadline, thorough=exhaustive)
        if isinstance(end, Match) or not end.cut_short:
            return end
    # Only symmetries of the second code save work: exchange the codes.
    end = MatchingSearch(Y, X, tolerance).run(labels / 2.0, deadline, thorough=thorough)
    if isinstance(end, Match):
        return Match(np.argsort(end.partner), end.rotation.T, end.deviation)
    return end


@dataclass(frozen=True)
class Fingerprint:
    """Invariants of a code."""

    K: int
    """Number of rows."""
    moments: tuple[float, ...]
    """Means of the powers 1, 2, .. of the inner products of different rows: 6 moments, or 2 if
    there are too many rows for all pairs."""

    def agrees(self, other: "Fingerprint", tolerance: float = 1e-7) -> bool:
        """Return True if codes with these fingerprints can be congruent up to `tolerance`."""
        return self.K == other.K and all(
            abs(moment - other_moment) <= 2.0 * power * (tolerance + tolerance**2) + 1e-12
            for power, (moment, other_moment) in enumerate(
                zip(self.moments, other.moments, strict=False), start=1
            )
        )


def fingerprint(W: np.ndarray, *, deadline: Deadline | None = None) -> Fingerprint:
    """Compute number of rows and moments of a code, rows (K, d) that represent directions.

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
    if K <= _MAX_ALL_PAIRS_ROWS:
        sums = np.zeros(_MOMENTS)
        for entries in _entries(W, deadline):
            power = np.ones_like(entries)
            for p in range(_MOMENTS):
                power *= entries
                sums[p] += 2.0 * power.sum()
    return Fingerprint(K, tuple(float(round(s / pairs, 12)) for s in sums))


def distribution(
    W: np.ndarray,
    *,
    tolerance: float = 1e-8,
    max_values: int = 100_000,
    deadline: Deadline | None = None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """List the inner products of different rows, descending, with their numbers of pairs of rows.

    W are rows (K, d) that represent directions. Neighbours in the sorted list within the tolerance
    are one value, their mean. None if there are more than `max_values` values; else values and
    numbers of unordered pairs, shape (m,) both.

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
        cells, index = _grid_cells(entries, keys)
        merged, place = np.unique(np.concatenate([keys, cells]), return_inverse=True)
        target = place[len(keys) :][index]
        old = place[: len(keys)]
        sums = np.bincount(old, sums, len(merged)) + np.bincount(target, entries, len(merged))
        fresh = np.bincount(target, minlength=len(merged))
        counts = np.bincount(old, counts, len(merged)) + fresh  # integers, exact below 2**53
        keys = merged
        if len(keys) > 20 * max_values:
            return None
    cut = np.concatenate([[0], np.cumsum(np.diff(keys) * _GRID > tolerance)])
    totals = np.bincount(cut, counts)
    if len(totals) > max_values:
        return None
    values = np.bincount(cut, sums) / totals
    return values[::-1] + 0.0, totals[::-1].astype(np.int64)


def _grid_cells(entries: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different grid cells of entries, sorted, and the index of each entry's cell."""
    cells = np.rint(entries / _GRID).astype(np.int64)
    if 0 < len(keys) <= _MAX_LOOKED_UP:  # most algebraic codes: no sorting needed
        index = np.minimum(np.searchsorted(keys, cells), len(keys) - 1)
        if np.array_equal(keys[index], cells):
            return keys, index
    different, inverse = np.unique(cells, return_inverse=True)
    return different, inverse


def _entries(W: np.ndarray, deadline: Deadline | None) -> Iterator[np.ndarray]:
    """Yield the entries above the diagonal of the Gram matrix, flat, tile by tile."""
    for rows, columns in gram_tiles(len(W), _SIDE, deadline=deadline):
        tile = W[rows] @ W[columns].T
        yield tile[np.triu_indices(len(tile), 1)] if rows == columns else tile.ravel()


class CodeSymmetries:
    """Group of the permutations of a code's rows that preserve every cosine.

    Args:
        code: rows that represent directions, shape (K, d).
        tolerance: largest distance between a rotated row and its image.
        max_rows: codes with more rows are refused.
        max_labels: largest number of sorts of the rows, in all searches together: by default half a
            minute at 100 rows.
        deadline: a search that it cuts short counts as one of too many cases.

    Raises:
        DataError: not a matrix of at least two finite nonzero rows.
        UsageError: more than `max_rows` rows, or too many cases for the search.

    Example:
        >>> square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        >>> CodeSymmetries(square).order
        8
    """

    order: int
    """Number of symmetries, the identity included."""

    def __init__(
        self,
        code: np.ndarray,
        *,
        tolerance: float = 1e-6,
        max_rows: int = _MAX_ROWS,
        max_labels: int = 100_000,
        deadline: Deadline | None = None,
    ) -> None:
        self._W, self._tolerance = normalise(as_points(code, "code")), tolerance
        self._K, self._deadline = len(self._W), deadline or Deadline()
        if self._K > max_rows:
            raise UsageError(
                f"code of {self._K} rows: its symmetries are looked for up to {max_rows} rows"
            )
        self._search = MatchingSearch(self._W, self._W, tolerance)
        self._search.labels, self._search.thorough = max_labels, True
        self._levels: dict[tuple[int, ...], Level] = {}
        # Permutations whose products are all symmetries: row k goes to `g[k]`.
        self._generators: list[np.ndarray] = []
        self._orbits: dict[tuple[int, ...], np.ndarray] = {}
        self.order = 1
        for row in range(self._K):
            orbits = self.orbits(range(row))
            self.order *= int((orbits == orbits[row]).sum())
            if (orbits == np.arange(self._K)).all():  # only the identity remains
                break

    def orbits(self, fixed: Iterable[int] = ()) -> np.ndarray:
        """Return the orbits of the symmetries that fix some rows: the smallest row of each orbit.

        Integers, one per row, shape (K,).
        """
        rows = tuple(sorted(set(fixed)))
        if rows not in self._orbits:
            self._orbits[rows] = self._find_orbits(rows)
        return self._orbits[rows]

    def _find_orbits(self, fixed: tuple[int, ...]) -> np.ndarray:
        colours = self._level(fixed).colours.a
        orbits = np.arange(self._K)
        for symmetry in self._generators:
            if all(symmetry[row] == row for row in fixed):
                _join(orbits, symmetry)
        for row in range(self._K):
            refused = {int(orbits[other]) for other in fixed} | ({row} if row in fixed else set())
            # Neighbours first: a chain of transpositions serves the stabilisers, a star does not.
            for other in np.flatnonzero(colours[:row] == colours[row])[::-1].tolist():
                if orbits[row] != row or row in refused:
                    break
                if int(orbits[other]) in refused:
                    continue
                refused.add(int(orbits[other]))
                exchange = self._reflection(fixed, row, other)
                if exchange is None:
                    exchange = self._by_search(fixed, row, other)
                if exchange is not None:
                    self._generators.append(exchange)
                    _join(orbits, exchange)
        return orbits

    def _level(self, fixed: tuple[int, ...]) -> Level:
        """Return the state of the search after each of these rows was sent to itself."""
        if fixed not in self._levels:
            parent = self._level(fixed[:-1]) if fixed else None
            level = (
                self._search.fix(parent, fixed[-1], fixed[-1]) if parent else self._search.start()
            )
            assert level is not None  # the identity always remains
            self._levels[fixed] = level
        return self._levels[fixed]

    def _reflection(self, fixed: tuple[int, ...], row: int, other: int) -> np.ndarray | None:
        """Return the reflection that exchanges two rows, if it is a symmetry and fixes others."""
        W, difference = self._W, self._W[row] - self._W[other]
        square = difference @ difference
        if square <= self._tolerance**2:
            images = np.arange(self._K)
            images[[row, other]] = other, row
            return images
        mirrored = W - np.outer(W @ difference, 2.0 / square * difference)
        images = (mirrored @ W.T).argmax(axis=1)
        permuted = (np.sort(images) == np.arange(self._K)).all() and all(
            images[list(fixed)] == fixed
        )
        deviation = np.linalg.norm(mirrored - W[images], axis=1).max()
        return images if permuted and deviation <= self._tolerance else None

    def _by_search(self, fixed: tuple[int, ...], row: int, other: int) -> np.ndarray | None:
        level = self._search.fix(self._level(fixed), other, row)
        if level is None:
            return None
        end = self._search.search_from(level, self._deadline)
        if isinstance(end, Match):
            symmetry = end.partner
            for k, image in level.fixed:  # the search may have chosen another of equal rows
                holder = int(np.flatnonzero(symmetry == image)[0])
                symmetry[[k, holder]] = image, symmetry[k]
            return symmetry
        if end.cut_short:
            raise UsageError(f"code of {self._K} rows: too many cases to find its symmetries")
        return None


def _join(orbits: np.ndarray, symmetry: np.ndarray) -> None:
    """Merge the orbits, in place, that a symmetry maps to each other."""
    while len(split := np.flatnonzero(orbits != orbits[symmetry])):
        pair = orbits[split[0]], orbits[symmetry[split[0]]]
        orbits[orbits == max(pair)] = min(pair)
