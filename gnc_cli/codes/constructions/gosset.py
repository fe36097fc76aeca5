"""Gosset's semiregular figures in 8, 7, 6, 5 and 4 dimensions: 240, 56, 27, 16 and 10 points.

Each is the set of nearest neighbours of a point in the one before (`derived` builds them so, for
the tests); here each has its own classical coordinates: roots of E8, pairs out of eight (28
equiangular lines), Schlaefli's double six with its fifteen, half a cube, pairs out of five.

Source: T. Gosset, 1900, On the regular and semi-regular figures in space of n dimensions.
"""

import itertools
from fractions import Fraction

import numpy as np

from gnc_cli.codes.constructions.construction import Construction, Cosine
from gnc_cli.codes.constructions.points import IntegerRows, spanned_frame
from gnc_cli.codes.constructions.root_systems import d_roots

__all__ = ["CODES"]

_SHARP = "Cohn and Kumar 2007, Universally optimal distribution of points on spheres, Table 1"


def _pairs(n: int, on: int, off: int) -> np.ndarray:
    """All vectors with two entries `on` and n - 2 entries `off`."""
    rows = np.full((n * (n - 1) // 2, n), off, dtype=np.int64)
    for row, pair in zip(rows, itertools.combinations(range(n), 2), strict=True):
        row[list(pair)] = on
    return rows


def _even_signs(n: int) -> np.ndarray:
    """The sign vectors with an even number of minus signs."""
    signs = np.array(list(itertools.product((1, -1), repeat=n)))
    return np.asarray(signs[signs.prod(axis=1) > 0])


def _e8() -> IntegerRows:
    """Doubled: two entries +-2, or eight entries +-1 with an even number of minus signs."""
    return IntegerRows(np.concatenate([2 * d_roots(8), _even_signs(8)]))


def _equiangular() -> IntegerRows:
    """+- the vectors (3, 3, -1, .., -1), which sum to zero: 28 lines."""
    lines = _pairs(8, 3, -1)
    vectors = np.concatenate([lines, -lines])
    return IntegerRows(vectors, spanned_frame(vectors, 7))


def _schlaefli() -> IntegerRows:
    """Six times the double six a_i, b_i = e_i - 1/6 +- h and the fifteen c_ij = 1/3 - e_i - e_j,
    h of square 1/2 along (1, 1) in two more coordinates. Products are -1/2 where the 27 lines of a
    cubic surface meet, 1/4 where they are skew."""
    six = 6 * np.eye(6, dtype=np.int64) - 1
    rows = [
        np.concatenate([part, np.tile((height, height), (len(part), 1))], axis=1)
        for part, height in ((six, 3), (six, -3), (_pairs(6, -4, 2), 0))
    ]
    vectors = np.concatenate(rows)
    return IntegerRows(vectors, spanned_frame(vectors, 6))


def _hemicube() -> IntegerRows:
    return IntegerRows(_even_signs(5))


def _petersen() -> IntegerRows:
    """Five times the midpoints of the edges of a simplex, e_i + e_j - 2/5."""
    vectors = _pairs(5, 3, -2)
    return IntegerRows(vectors, spanned_frame(vectors, 4))


CODES = (
    Construction(
        name="e8-roots",
        title="roots of E8: Gosset's 4_21",
        d=8,
        K=240,
        cosine=Cosine.of(Fraction(1, 2)),
        proven=True,
        reference=_SHARP,
        build=_e8,
        distribution=(("1/2", 56), ("0", 126), ("-1/2", 56), ("-1", 1)),
        transitive=True,
    ),
    Construction(
        name="equiangular-28",
        title="28 equiangular lines: Gosset's 3_21",
        d=7,
        K=56,
        cosine=Cosine.of(Fraction(1, 3)),
        proven=True,
        reference=_SHARP,
        build=_equiangular,
        distribution=(("1/3", 27), ("-1/3", 27), ("-1", 1)),
        transitive=True,
    ),
    Construction(
        name="schlaefli",
        title="27 lines of a cubic surface: Gosset's 2_21",
        d=6,
        K=27,
        cosine=Cosine.of(Fraction(1, 4)),
        proven=True,
        reference=_SHARP,
        build=_schlaefli,
        distribution=(("1/4", 16), ("-1/2", 10)),
        transitive=True,
    ),
    Construction(
        name="hemicube",
        title="half of a cube's vertices, Clebsch graph: Gosset's 1_21",
        d=5,
        K=16,
        cosine=Cosine.of(Fraction(1, 5)),
        proven=True,
        reference=_SHARP,
        build=_hemicube,
        distribution=(("1/5", 10), ("-3/5", 5)),
        transitive=True,
    ),
    Construction(
        name="petersen",
        title="midpoints of a simplex's edges, Petersen graph: Gosset's 0_21",
        d=4,
        K=10,
        cosine=Cosine.of(Fraction(1, 6)),
        proven=True,
        reference="Bachoc and Vallentin 2009, Optimality and uniqueness of the (4,10,1/6) "
        "spherical code",
        build=_petersen,
        distribution=(("1/6", 6), ("-2/3", 3)),
        transitive=True,
    ),
)
"""All proved optimal."""
