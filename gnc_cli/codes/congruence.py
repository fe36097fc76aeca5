"""Are two codes equal up to rotation, reflection and relabelling? Yes with the rotation, or no.
And the symmetries of a code, by which it is equal to itself; their orbits.

Fingerprints tell most codes apart: the distribution of inner products is the invariant of first
choice where they take few values; its moments are as good, never depend on where a rounding falls,
and cost one blocked product. Equal fingerprints are a reason to look, never a proof.

Rows of A that span its space are sent one after the other to rows of B with the same inner
products. After each, the rows of both codes are coloured anew by what is known of them
(`matching`), which shows most wrong guesses at once. Once each colour has a single row the
relabelling is known, and the rotation is the least-squares one.

No K x K matrix is held. A guess costs O(K (d^2 + log K)): codes of 10^5 rows go through.

A symmetry is a permutation g of the rows with `gram[g(i), g(j)] = gram[i, j]` for every pair, up to
a tolerance. Two rows are in one orbit if the reflection that exchanges them is a symmetry, as it is
in most codes of algebra; otherwise the code is matched with itself. The group is never listed: its
order is the product of the orbits along a chain of stabilisers (C. C. Sims), and symmetries found
once serve every later orbit. A simplex of 100 rows, which has 100! symmetries, needs 99 of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from gnc_cli.codes.matching import REFINING, Level, Match, MatchingSearch, SearchEnd, agreement
from gnc_cli.errors import UsageError
from gnc_cli.geometry.gram import gram_tiles
from gnc_cli.geometry.sphere import as_points, normalise
from gnc_cli.runtime.deadline import Deadline

_ALL_PAIRS = 6000
"""Up to this many rows a search may begin with a look at every inner product, and all of them enter
the higher moments of a fingerprint."""
_EFFORT = 1e8
"""The search may sort this many rows, counted each time: some ten seconds."""
_OVERHEAD = 1000
"""Sorting few rows takes the time of sorting this many."""
_ORDER = 6
"""Moments of a fingerprint."""
_GRID = 1e-10
"""Inner products this near are taken for one: their rounding is far below."""
_FEW = 256
"""Up to this many values are looked up, not sorted."""
_SIDE = 1024
"""Side of a tile of the Gram matrix."""
_MOST_ROWS = 100
"""Codes with more rows are refused, where the caller sets no other limit."""


@dataclass(frozen=True, eq=False)
class Congruence:
    """The proof that two codes are one: `A @ rotation` is B relabelled, up to `deviation`."""

    permutation: np.ndarray
    """Row k of A goes to row `permutation[k]` of B, shape (K,)."""
    rotation: np.ndarray
    """Shape (d of A, d of B); orthogonal where these are equal."""
    deviation: float
    """Largest distance between a row of `A @ rotation` and its partner."""


@dataclass(frozen=True)
class Undecided:
    """The search was given up: nothing is claimed."""

    reason: str


def congruence(
    A: np.ndarray,
    B: np.ndarray,
    *,
    tolerance: float = 1e-7,
    deadline: Deadline | None = None,
) -> Congruence | Undecided | None:
    """Match the rows of two codes.

    Args:
        A, B: rows that stand for directions, shapes (K, d) and (K', d'); the dimensions may differ
            (a code may lie in a subspace).
        tolerance: largest distance of corresponding rows under the least-squares rotation; beyond
            6e-4 nothing can be matched.
        deadline: polled at each guess.

    Returns:
        The matching; None where there is none (this is proved, up to rounding); `Undecided` where
        the search was cut short, rows lie too close together to tell apart, or a matching is a
        little wider than the tolerance.

    Raises:
        DataError: not matrices of at least two finite nonzero rows.

    Example:
        >>> square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        >>> turned = square @ np.array([[0.6, 0.8], [-0.8, 0.6]])
        >>> found = congruence(square, turned[::-1])
        >>> isinstance(found, Congruence) and found.deviation < 1e-12
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
    end = _search(X, Y, tolerance, _EFFORT / (len(X) + _OVERHEAD), deadline or Deadline())
    if isinstance(end, SearchEnd):
        return None if end.reason is None else Undecided(end.reason)
    rotation = end.rotation[: A.shape[1], : B.shape[1]]
    return Congruence(end.partner, rotation, end.deviation)


def _search(
    X: np.ndarray, Y: np.ndarray, tolerance: float, labels: float, deadline: Deadline
) -> Match | SearchEnd:
    """Match X with Y; from the other side where this side takes long."""
    search = MatchingSearch(X, Y, tolerance)
    thorough = len(X) <= _ALL_PAIRS
    few = min(labels, 2.0 * REFINING * (X.shape[1] + 8))
    # Most codes that agree are matched by the first guesses; every pair is looked at only if not.
    for most, look in ((few, False), (labels / 2.0, thorough)):
        end = search.run(most, deadline, thorough=look)
        if isinstance(end, Match) or not end.cut_short:
            return end
    # The symmetries of the second code are the ones that spare work: try the other for second.
    end = MatchingSearch(Y, X, tolerance).run(labels / 2.0, deadline, thorough=thorough)
    if isinstance(end, Match):
        return Match(np.argsort(end.partner), end.rotation.T, end.deviation)
    return end


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
        cells, where = _grid_cells(entries, keys)
        merged, place = np.unique(np.concatenate([keys, cells]), return_inverse=True)
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
    different, where = np.unique(cells, return_inverse=True)
    return different, where


def _entries(W: np.ndarray, deadline: Deadline | None) -> Iterator[np.ndarray]:
    """The entries above the diagonal of the Gram matrix, flat, tile by tile."""
    for rows, columns in gram_tiles(len(W), _SIDE, deadline=deadline):
        tile = W[rows] @ W[columns].T
        yield tile[np.triu_indices(len(tile), 1)] if rows == columns else tile.ravel()


class CodeSymmetries:
    """The group of permutations of a code's rows that keep every cosine.

    Args:
        code: rows that stand for directions, shape (K, d).
        tolerance: largest distance between a row, rotated, and its image.
        most_rows: codes with more rows are refused.
        most_labels: how often the rows are sorted at most, in all searches together: by
            default half a minute at 100 rows.
        deadline: a search that it cuts short counts as one of too many cases.

    Raises:
        DataError: not a matrix of at least two finite nonzero rows.
        UsageError: more than `most_rows` rows, or too many cases for the search.

    Example:
        >>> square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        >>> CodeSymmetries(square).order
        8
    """

    order: int
    """How many there are, the identity included."""

    def __init__(
        self,
        code: np.ndarray,
        *,
        tolerance: float = 1e-6,
        most_rows: int = _MOST_ROWS,
        most_labels: int = 100_000,
        deadline: Deadline | None = None,
    ) -> None:
        self._W, self._tolerance = normalise(as_points(code, "code")), tolerance
        self._K, self._deadline = len(self._W), deadline or Deadline()
        if self._K > most_rows:
            raise UsageError(
                f"code of {self._K} rows: its symmetries are looked for up to {most_rows} rows"
            )
        self._search = MatchingSearch(self._W, self._W, tolerance)
        self._search.labels, self._search.thorough = most_labels, True
        self._levels: dict[tuple[int, ...], Level] = {}
        # Permutations whose products are all symmetries: row k goes to `g[k]`.
        self._generators: list[np.ndarray] = []
        self._orbits: dict[tuple[int, ...], np.ndarray] = {}
        self.order = 1
        for row in range(self._K):
            orbits = self.orbits(range(row))
            self.order *= int((orbits == orbits[row]).sum())
            if (orbits == np.arange(self._K)).all():  # only the identity is left
                break

    def orbits(self, fixed: Iterable[int] = ()) -> np.ndarray:
        """Orbits under the symmetries that keep some rows in place: for each row its smallest row.

        Integers, shape (K,).
        """
        stay = tuple(sorted(set(fixed)))
        if stay not in self._orbits:
            self._orbits[stay] = self._find_orbits(stay)
        return self._orbits[stay]

    def _find_orbits(self, stay: tuple[int, ...]) -> np.ndarray:
        colours = self._level(stay).colours.a
        least = np.arange(self._K)
        for symmetry in self._generators:
            if all(symmetry[row] == row for row in stay):
                _join(least, symmetry)
        for row in range(self._K):
            refused = {int(least[other]) for other in stay} | ({row} if row in stay else set())
            # Neighbours first: a chain of transpositions serves the stabilisers, a star does not.
            for other in np.flatnonzero(colours[:row] == colours[row])[::-1].tolist():
                if least[row] != row or row in refused:
                    break
                if int(least[other]) in refused:
                    continue
                refused.add(int(least[other]))
                exchange = self._reflection(stay, row, other)
                if exchange is None:
                    exchange = self._by_search(stay, row, other)
                if exchange is not None:
                    self._generators.append(exchange)
                    _join(least, exchange)
        return least

    def _level(self, stay: tuple[int, ...]) -> Level:
        """The search after each of these rows was sent to itself."""
        if stay not in self._levels:
            before = self._level(stay[:-1]) if stay else None
            level = self._search.fix(before, stay[-1], stay[-1]) if before else self._search.start()
            assert level is not None  # the identity is always left
            self._levels[stay] = level
        return self._levels[stay]

    def _reflection(self, stay: tuple[int, ...], row: int, other: int) -> np.ndarray | None:
        """The reflection that exchanges two rows, if it is a symmetry and the others stay."""
        W, between = self._W, self._W[row] - self._W[other]
        square = between @ between
        if square <= self._tolerance**2:
            images = np.arange(self._K)
            images[[row, other]] = other, row
            return images
        mirrored = W - np.outer(W @ between, 2.0 / square * between)
        images = (mirrored @ W.T).argmax(axis=1)
        permuted = (np.sort(images) == np.arange(self._K)).all() and all(images[list(stay)] == stay)
        away = np.linalg.norm(mirrored - W[images], axis=1).max()
        return images if permuted and away <= self._tolerance else None

    def _by_search(self, stay: tuple[int, ...], row: int, other: int) -> np.ndarray | None:
        level = self._search.fix(self._level(stay), other, row)
        if level is None:
            return None
        end = self._search.below(level, self._deadline)
        if isinstance(end, Match):
            symmetry = end.partner
            for k, image in level.fixed:  # of equal rows, the search may have taken another
                instead = int(np.flatnonzero(symmetry == image)[0])
                symmetry[[k, instead]] = image, symmetry[k]
            return symmetry
        if end.cut_short:
            raise UsageError(f"code of {self._K} rows: too many cases to find its symmetries")
        return None


def _join(least: np.ndarray, symmetry: np.ndarray) -> None:
    """Make one of the orbits, in place, that a symmetry takes into each other."""
    while len(apart := np.flatnonzero(least != least[symmetry])):
        pair = least[apart[0]], least[symmetry[apart[0]]]
        least[least == max(pair)] = min(pair)
