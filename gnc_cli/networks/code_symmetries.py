"""The symmetries of a code: relabellings of its rows by rotations and reflections; their orbits.

A symmetry is a permutation g of the rows with `gram[g(i), g(j)] = gram[i, j]` for every pair. The
search keeps, for each row, the images that are still possible: at first the rows with the same
sorted cosines, and after each row that is sent somewhere, those with the right cosine to its image.

The group is never listed: its order is the product of the orbits along a chain of stabilisers
(C. C. Sims), and symmetries found once serve every later orbit. A simplex of 100 rows, which has
100! symmetries, needs 99 of them.
"""

from collections.abc import Iterable

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.numerics.sphere import as_points, normalise

__all__ = ["CodeSymmetries"]

_MOST_ROWS = 100
_MOST_STEPS = 100_000
"""Rows sent somewhere, in all searches together: half a minute at 100 rows."""


class CodeSymmetries:
    """The group of permutations of a code's rows that keep every cosine.

    Args:
        code: rows that stand for directions, shape (K, d).
        tolerance: cosines this near are equal.

    Raises:
        DataError: not a matrix of at least two finite nonzero rows.
        UsageError: more than 100 rows, or so many cases that the search was given up.

    Example:
        >>> square = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        >>> CodeSymmetries(square).order
        8
    """

    order: int
    """How many there are, the identity included."""

    def __init__(self, code: np.ndarray, *, tolerance: float = 1e-6) -> None:
        W = normalise(as_points(code, "code"))
        self._K = len(W)
        if self._K > _MOST_ROWS:
            raise UsageError(
                f"code of {self._K} rows: its symmetries are looked for up to {_MOST_ROWS} rows"
            )
        self._gram, self._tolerance = W @ W.T, tolerance
        profile = np.sort(self._gram, axis=1)
        self._like = np.abs(profile[:, None] - profile).max(axis=2) <= tolerance
        self._found: list[np.ndarray] = []
        self._orbits: dict[frozenset[int], np.ndarray] = {}
        self._steps = 0
        self.order = 1
        for row in range(self._K):
            orbits = self.orbits(range(row))
            self.order *= int((orbits == orbits[row]).sum())
            if (orbits == np.arange(self._K)).all():  # only the identity is left
                break

    @property
    def generators(self) -> np.ndarray:
        """Permutations whose products are all symmetries: row k goes to `g[k]`, shape (m, K)."""
        return np.array(self._found, dtype=np.int64).reshape(-1, self._K)

    def orbits(self, fixed: Iterable[int] = ()) -> np.ndarray:
        """Where the symmetries that keep each of some rows in its place can take the other rows.

        Args:
            fixed: rows that stay.

        Returns:
            For each row the smallest row of its orbit, integers, shape (K,).
        """
        stay = frozenset(fixed)
        if stay not in self._orbits:
            self._orbits[stay] = self._find_orbits(stay)
        return self._orbits[stay]

    def _find_orbits(self, stay: frozenset[int]) -> np.ndarray:
        possible, sent = self._like, np.zeros(self._K, dtype=bool)
        for row in sorted(stay):
            possible = self._send(possible, row, row)
            sent[row] = True
        least = np.arange(self._K)
        for symmetry in self._found:
            if all(symmetry[row] == row for row in stay):
                _join(least, symmetry)
        for row in range(self._K):
            refused: set[int] = set()
            # Neighbours first: a chain of transpositions serves the stabilisers, a star does not.
            for other in np.flatnonzero(possible[:row, row])[::-1].tolist():
                if least[row] != row:
                    break
                if int(least[other]) in refused:
                    continue
                refused.add(int(least[other]))
                found = self._complete(self._send(possible, other, row), sent)
                if found is not None:
                    self._found.append(found)
                    _join(least, found)
        return least

    def _send(self, possible: np.ndarray, row: int, image: int) -> np.ndarray:
        """What stays possible once `row` goes to `image`."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise UsageError(f"code of {self._K} rows: too many cases to find its symmetries")
        alike = np.abs(self._gram[row][:, None] - self._gram[image]) <= self._tolerance
        alike[row], alike[:, image] = False, False
        alike[row, image] = True
        return possible & alike

    def _complete(self, possible: np.ndarray, sent: np.ndarray) -> np.ndarray | None:
        """A symmetry among those still possible, or None; rows stay where they are if they can."""
        images = possible.sum(axis=1)
        if not images.all() or not possible.any(axis=0).all():
            return None
        if (images == 1).all():
            symmetry = possible.argmax(axis=1)
            moved = self._gram[np.ix_(symmetry, symmetry)]
            return symmetry if np.abs(moved - self._gram).max() <= self._tolerance else None
        row = int(np.where(sent, self._K + 1, images).argmin())
        sent = sent.copy()
        sent[row] = True
        choices = np.flatnonzero(possible[row])
        for image in choices[np.argsort(choices != row, kind="stable")].tolist():
            symmetry = self._complete(self._send(possible, row, image), sent)
            if symmetry is not None:
                return symmetry
        return None


def _join(least: np.ndarray, symmetry: np.ndarray) -> None:
    """Make one of the orbits, in place, that a symmetry takes into each other."""
    while len(apart := np.flatnonzero(least != least[symmetry])):
        pair = least[apart[0]], least[symmetry[apart[0]]]
        least[least == max(pair)] = min(pair)
