"""Root systems that are the best kissing configurations known in 4 to 7 dimensions.

All roots have one length and meet at 60 degrees or more. E8 is in `gosset`. Source: J. H. Conway
and N. J. A. Sloane, 1988, Sphere Packings, Lattices and Groups, chapters 1 and 4.
"""

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from gnc_cli.codes.constructions.construction import Construction, Cosine, Rows
from gnc_cli.codes.constructions.points import IntegerRows, spanned_frame

__all__ = ["CODES", "d_roots"]

_SPLAG = "Conway and Sloane 1988, Sphere Packings, Lattices and Groups, chapter 4"


def d_roots(d: int) -> np.ndarray:
    """The 2 d (d - 1) vectors with two entries +-1 and zeros."""
    rows = []
    for i, j in itertools.combinations(range(d), 2):
        for s, u in itertools.product((1, -1), repeat=2):
            row = np.zeros(d, dtype=np.int64)
            row[i], row[j] = s, u
            rows.append(row)
    return np.array(rows)


def _a_roots(n: int) -> np.ndarray:
    """The n (n - 1) differences e_i - e_j in n coordinates."""
    unit = np.eye(n, dtype=np.int64)
    return np.array([unit[i] - unit[j] for i, j in itertools.permutations(range(n), 2)])


def _balanced(n: int) -> np.ndarray:
    """The sign vectors with as many plus as minus signs."""
    signs = np.array(list(itertools.product((1, -1), repeat=n)))
    return np.asarray(signs[signs.sum(axis=1) == 0])


def _d4() -> IntegerRows:
    return IntegerRows(d_roots(4))


def _d5() -> IntegerRows:
    return IntegerRows(d_roots(5))


def _e6() -> IntegerRows:
    """Doubled: roots of A5, those of A1 of direction (1, 1) in two more coordinates, and the 20
    balanced sign vectors with either half of A1's."""
    sides = np.array([[1, 1], [-1, -1]])
    plain = np.concatenate([2 * _a_roots(6), np.zeros((30, 2), np.int64)], axis=1)
    poles = np.concatenate([np.zeros((2, 6), np.int64), 2 * sides], axis=1)
    mixed = [np.concatenate([signs, side]) for signs in _balanced(6) for side in sides]
    vectors = np.concatenate([plain, poles, mixed])
    return IntegerRows(vectors, spanned_frame(vectors, 6))


def _e7() -> IntegerRows:
    """Doubled: the roots of A7 and the 70 balanced sign vectors in eight coordinates."""
    vectors = np.concatenate([2 * _a_roots(8), _balanced(8)])
    return IntegerRows(vectors, spanned_frame(vectors, 7))


def _roots(
    name: str,
    title: str,
    d: int,
    neighbours: tuple[int, int],
    build: Callable[[], Rows],
    reference: str,
    *,
    proven: bool = False,
) -> Construction:
    """A root system: each root has as many others at 60 as at 120 degrees, and its negative."""
    near, orthogonal = neighbours
    return Construction(
        name=name,
        title=title,
        d=d,
        K=2 * near + orthogonal + 2,
        cosine=Cosine.of(Fraction(1, 2)),
        proven=proven,
        reference=reference,
        build=build,
        distribution=(("1/2", near), ("0", orthogonal), ("-1/2", near), ("-1", 1)),
        transitive=True,
    )


CODES = (
    _roots("24-cell", "vertices of the 24-cell: roots of D4", 4, (8, 6), _d4,
           "Schlaefli 1852; de Laat, Leijenhorst and de Muinck Keizer 2024 (arXiv 2404.18794)",
           proven=True),
    _roots("d5-roots", "roots of D5", 5, (12, 14), _d5, _SPLAG),
    _roots("e6-roots", "roots of E6", 6, (20, 30), _e6, _SPLAG),
    _roots("e7-roots", "roots of E7", 7, (32, 60), _e7, _SPLAG),
)  # fmt: skip
"""Kissing configurations: proved optimal in four dimensions, conjectured in five to seven."""
