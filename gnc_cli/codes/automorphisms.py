"""The symmetries of a code: relabellings of its rows by rotations and reflections; their orbits.

A symmetry is a permutation g of the rows with `gram[g(i), g(j)] = gram[i, j]` for every pair, up to
a tolerance. Two rows are in one orbit if the reflection that exchanges them is a symmetry, as it is
in most codes of algebra; otherwise the search that decides congruence is run on the code and itself
(`matching`).

The group is never listed: its order is the product of the orbits along a chain of stabilisers
(C. C. Sims), and symmetries found once serve every later orbit. A simplex of 100 rows, which has
100! symmetries, needs 99 of them.
"""

from collections.abc import Iterable

import numpy as np

from gnc_cli.codes.matching import Level, Match, MatchingSearch
from gnc_cli.errors import UsageError
from gnc_cli.geometry.sphere import as_points, normalise
from gnc_cli.runtime.deadline import Deadline

_MOST_ROWS = 100
"""Codes with more rows are refused, where the caller sets no other limit."""


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
