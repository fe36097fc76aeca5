"""The Golay code, the minimal vectors of the Leech lattice, and the codes cut from them.

Lattice vectors are integers; the lattice is theirs divided by sqrt(8), so its minimal norm 4 reads
32 here. Blocks and words are rows of 0 and 1, so that intersections are inner products.

Sources: J. Leech, 1967, Notes on sphere packings; J. H. Conway and N. J. A. Sloane, 1988, Sphere
Packings, Lattices and Groups, chapters 4 and 11; of the 276 equiangular lines, J. H. van Lint and
J. J. Seidel, 1966, Equilateral point sets in elliptic geometry, and J.-M. Goethals and J. J.
Seidel, 1975, The regular two-graph on 276 vertices.
"""

from functools import cache

import numpy as np

from gnc_cli.constructions.boolean_functions import Span
from gnc_cli.constructions.construction import OPTIMAL, SHARP, transitive_code
from gnc_cli.constructions.integer_rows import IntegerRows


@cache
def golay_code() -> np.ndarray:
    """All words of the extended binary Golay code [24, 12, 8], shape (4096, 24), uint8.

    The quadratic residue code modulo 23, spanned by the cyclic shifts of the residues' indicator,
    with a parity bit in the last place. It is its own dual; the weights are 0, 8, 12, 16, 24.
    """
    residues = np.zeros(23, dtype=np.uint8)
    residues[[n * n % 23 for n in range(1, 12)]] = 1
    shifts = np.array([np.roll(residues, s) for s in range(23)])
    span = Span(np.column_stack([shifts, shifts.sum(1) % 2]).astype(np.uint8))
    basis = span.reduced[np.argsort(span.pivots)]
    coefficients = np.arange(2 ** len(basis))[:, None] >> np.arange(len(basis)) & 1
    words: np.ndarray = (coefficients @ basis % 2).astype(np.uint8)
    words.flags.writeable = False
    return words


def octads() -> np.ndarray:
    """The 759 words of weight 8: blocks of S(5, 8, 24), any five points in exactly one."""
    words = golay_code()
    return np.asarray(words[words.sum(1) == 8])


def steiner_4_7_23() -> np.ndarray:
    """The octads through the last point, without it: 253 blocks of 7 of 23 points, shape (253, 23).

    Any four points lie in exactly one; two blocks meet in 1 or 3 points.
    """
    return _derived(octads())


def steiner_3_6_22() -> np.ndarray:
    """The octads through the last two points, without them: 77 blocks of 6 of 22, shape (77, 22).

    Any three points lie in exactly one; two blocks meet in 0 or 2 points.
    """
    return _derived(steiner_4_7_23())


def _derived(blocks: np.ndarray) -> np.ndarray:
    """The blocks through the last point, without that point."""
    return np.asarray(blocks[blocks[:, -1] == 1, :-1])


def minimal_vectors() -> np.ndarray:
    """The 196560 shortest vectors, shape (196560, 24), int8, each of squared length 32.

    97152 are (+-2)^8 on an octad with an even number of minus signs, 98304 are (-3, 1^23) with the
    -3 anywhere and the signs changed on a word of the Golay code, and 1104 are (+-4)^2.
    """
    blocks, words = octads(), golay_code()
    bits = np.arange(256)[:, None] >> np.arange(8) & 1
    even = (2 - 4 * bits[bits.sum(1) % 2 == 0]).astype(np.int8)
    on_octads = np.zeros((len(blocks), len(even), 24), dtype=np.int8)
    places = np.nonzero(blocks)[1].reshape(len(blocks), 1, 8)
    np.put_along_axis(on_octads, places, even[None], axis=2)
    one_three = 1 - 4 * np.eye(24, dtype=np.int8)
    signs = (1 - 2 * words.astype(np.int8))[:, None, :]
    i, j = np.triu_indices(24, 1)
    unit = 4 * np.eye(24, dtype=np.int8)
    fours = np.stack([unit[i] + unit[j], unit[i] - unit[j], unit[j] - unit[i], -unit[i] - unit[j]])
    shapes = (on_octads, one_three * signs, fours)
    return np.concatenate([shape.reshape(-1, 24) for shape in shapes])


def _neighbours(*fixed: np.ndarray) -> np.ndarray:
    """The minimal vectors at 60 degrees from each of the given ones, as int64."""
    vectors = minimal_vectors()
    products = vectors.astype(np.int32) @ np.array(fixed, dtype=np.int32).T
    return vectors[(products == 16).all(1)].astype(np.int64)


def _leech_4600() -> IntegerRows:
    """The neighbours w of a minimal vector u, projected along it: 2 w - u, squared length 96."""
    u = minimal_vectors()[0].astype(np.int64)
    return IntegerRows(2 * _neighbours(u) - u, 23)


def _leech_891() -> IntegerRows:
    """The common neighbours w of two neighbours u, v, projected along both: 3 w - u - v."""
    u = minimal_vectors()[0].astype(np.int64)
    v = _neighbours(u)[0]
    return IntegerRows(3 * _neighbours(u, v) - u - v, 22)


def _leech_552() -> IntegerRows:
    """The vectors 2 v - w for the minimal v at <v, w> = 24, half of <w, w>: squared length 80.

    w = (5, 1^23) is of the lattice's next norm, 48 here. v and w - v are minimal together and give
    opposite vectors; all are orthogonal to w.
    """
    w = np.ones(24, dtype=np.int64)
    w[0] = 5
    vectors = minimal_vectors().astype(np.int64)
    return IntegerRows(2 * vectors[vectors @ w == 24] - w, 23)


CODES = (
    transitive_code(
        "leech",
        "minimal vectors of the Leech lattice",
        24,
        OPTIMAL,
        lambda: IntegerRows(minimal_vectors()),
        ("1/2", 4600),
        ("1/4", 47104),
        ("0", 93150),
        ("-1/4", 47104),
        ("-1/2", 4600),
        ("-1", 1),
    ),
    transitive_code(
        "leech-4600",
        "kissing configuration of the Leech lattice's 196560",
        23,
        SHARP,
        _leech_4600,
        ("1/3", 891),
        ("0", 2816),
        ("-1/3", 891),
        ("-1", 1),
    ),
    transitive_code(
        "leech-891",
        "kissing configuration of the 4600",
        22,
        SHARP,
        _leech_891,
        ("1/4", 336),
        ("-1/8", 512),
        ("-1/2", 42),
    ),
    transitive_code(
        "equiangular-276",
        "276 equiangular lines, both unit vectors of each",
        23,
        SHARP,
        _leech_552,
        ("1/5", 275),
        ("-1/5", 275),
        ("-1", 1),
    ),
)
"""196560, 4600 and 891: each is the set of nearest neighbours in the one before."""
