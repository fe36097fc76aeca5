"""The Golay code, the minimal vectors of the Leech lattice, and the codes derived from them.

Lattice vectors are integers; the lattice is theirs divided by sqrt(8), so its minimal norm 4 reads
32 here. Blocks and words are rows of 0 and 1, so that intersections are inner products.

Sources: J. Leech, 1967, Notes on sphere packings; J. H. Conway and N. J. A. Sloane, 1988, Sphere
Packings, Lattices and Groups, chapters 4 and 11; of the 276 equiangular lines, J. H. van Lint and
J. J. Seidel, 1966, Equilateral point sets in elliptic geometry, and J.-M. Goethals and J. J.
Seidel, 1975, The regular two-graph on 276 vertices.
"""

import itertools
from fractions import Fraction
from functools import cache, partial

import numpy as np

from gnc_cli.constructions.construction import (
    KISSING_NUMBERS,
    SHARP_CODES,
    Construction,
    Cosine,
    small_family,
    transitive_code,
)
from gnc_cli.constructions.integer_rows import IntegerRows, UnequalRows


@cache
def golay_code() -> np.ndarray:
    """Return all words of the extended binary Golay code [24, 12, 8], shape (4096, 24), uint8.

    It is the quadratic residue code modulo 23, spanned by the cyclic shifts of the residues'
    indicator, with a parity bit in the last place. It is its own dual; the weights are 0, 8, 12,
    16, 24.
    """
    from gnc_cli.constructions.boolean_functions import Span

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
    """Return the 759 words of weight 8, the blocks of S(5, 8, 24), shape (759, 24).

    Any five points lie in exactly one.
    """
    words = golay_code()
    return np.asarray(words[words.sum(1) == 8])


def steiner_4_7_23() -> np.ndarray:
    """Return the octads through the last point, without it: 253 blocks of 7, shape (253, 23).

    Any four points lie in exactly one; two blocks meet in 1 or 3 points.
    """
    return _derived(octads())


def steiner_3_6_22() -> np.ndarray:
    """Return the octads through the last two points, without them: 77 blocks, shape (77, 22).

    Any three points lie in exactly one; two blocks meet in 0 or 2 points.
    """
    return _derived(steiner_4_7_23())


def _derived(blocks: np.ndarray) -> np.ndarray:
    """Return the blocks through the last point, without that point."""
    return np.asarray(blocks[blocks[:, -1] == 1, :-1])


@cache
def minimal_vectors() -> np.ndarray:
    """Return the 196560 shortest vectors, shape (196560, 24), int8, of squared length 32.

    97152 are (+-2)^8 on an octad with an even number of minus signs, 98304 are (-3, 1^23) with the
    -3 anywhere and the signs changed on a word of the Golay code, and 1104 are (+-4)^2.
    """
    one_three = 1 - 4 * np.eye(24, dtype=np.int8)
    signs = (1 - 2 * golay_code().astype(np.int8))[:, None, :]
    shapes = (_on_blocks(octads(), 0), one_three * signs, _fours(24))
    vectors = np.concatenate([shape.reshape(-1, 24) for shape in shapes])
    vectors.flags.writeable = False
    return vectors


def signs_on_block(size: int, odd: int) -> np.ndarray:
    """Return all vectors of +-2 whose number of minus signs is odd (1) or even (0).

    The shape is (2^(size - 1), size), int8.
    """
    bits = np.arange(1 << size)[:, None] >> np.arange(size) & 1
    return np.asarray(2 - 4 * bits[bits.sum(1) % 2 == odd], dtype=np.int8)


def _on_blocks(blocks: np.ndarray, odd: int) -> np.ndarray:
    """Return `signs_on_block` on each of these blocks of one size, zero elsewhere; shape (n, D)."""
    signs = signs_on_block(int(blocks[0].sum()), odd)
    vectors = np.zeros((len(blocks), len(signs), blocks.shape[1]), dtype=np.int8)
    places = np.nonzero(blocks)[1].reshape(len(blocks), 1, -1)
    np.put_along_axis(vectors, places, signs[None], axis=2)
    return vectors.reshape(-1, blocks.shape[1])


def _fours(n: int) -> np.ndarray:
    """Return the 2 n (n - 1) vectors with two entries +-4, int8."""
    i, j = np.triu_indices(n, 1)
    unit = 4 * np.eye(n, dtype=np.int8)
    vectors = (unit[i] + unit[j], unit[i] - unit[j], unit[j] - unit[i], -unit[i] - unit[j])
    return np.concatenate(vectors)


def _neighbours(*fixed: np.ndarray) -> np.ndarray:
    """Return the minimal vectors at 60 degrees from each of these, shape (n, 24), int64."""
    vectors = minimal_vectors()
    products = vectors.astype(np.int32) @ np.array(fixed, dtype=np.int32).T
    return np.asarray(vectors[(products == 16).all(1)], dtype=np.int64)


def _leech_4600() -> IntegerRows:
    """Project the neighbours w of a minimal vector u along it: 2 w - u, squared length 96."""
    u = minimal_vectors()[0].astype(np.int64)
    return IntegerRows(2 * _neighbours(u) - u, 23)


def _leech_891() -> IntegerRows:
    """Project the common neighbours w of two neighbours u, v along both: 3 w - u - v."""
    u = minimal_vectors()[0].astype(np.int64)
    v = _neighbours(u)[0]
    return IntegerRows(3 * _neighbours(u, v) - u - v, 22)


def _leech_552() -> IntegerRows:
    """Return the vectors 2 v - w for the minimal v at <v, w> = 24, half of <w, w>.

    Their squared length is 80. w = (5, 1^23) is of the next norm, 48. v and w - v are both minimal
    and give opposite vectors; all are orthogonal to w.
    """
    w = np.ones(24, dtype=np.int64)
    w[0] = 5
    vectors = minimal_vectors().astype(np.int64)
    return IntegerRows(2 * vectors[vectors @ w == 24] - w, 23)


def _odd_signs(d: int) -> IntegerRows:
    """Construct Cohn and Li's kissing configurations, d = 19 .. 21, by changed signs.

    Two vectors +-2 on octads have products of at most 16, whatever their signs; only on one octad
    they must differ in an even number of signs. With an odd number of minus signs on each, a word
    of the Golay code as signs +-a differs from them in one place of the octad at least: the product
    is at most 12 a, so that words at some distance from each other can be added.

    In d = 19, 20 and 21 dimensions, the octads that avoid 24 - d points of one octad, and words
    without these points. For distance 5 (6 in d = 21) the words differ in 3 (2) of them at most;
    the 10 of 32 choices in d = 19 are B. S. Ho's.
    """
    words = _octad_first()
    dropped, words = words[:, : 24 - d], words[:, 24 - d :]
    blocks = words[(words.sum(1) == 8) & ~dropped.any(1)]
    remaining_words = words[dropped[:, int(d < 21) :].sum(1) <= 1]
    signs = 1 - 2 * remaining_words.astype(np.int8)
    return UnequalRows(np.concatenate([_fours(d), _on_blocks(blocks, 1), signs]))


def _octad_first() -> np.ndarray:
    """Return the words of the Golay code, the points of one octad in the first eight places."""
    return golay_code()[:, np.argsort(1 - octads()[0].astype(int), kind="stable")]


_LAYERS: dict[int, tuple[int, int, list[tuple[tuple[int, ...], tuple[int, ...]]]]] = {
    17: (3, 4, [((4, -4), (0, 0)), ((-4, 4), (0, 1))]),
    18: (
        37,
        48,
        [
            ((68, -36, -32), (0, 0, 0)),
            ((36, 32, -68), (0, 1, 0)),
            ((-32, 68, -36), (0, 0, 1)),
            ((-68, 36, 32), (0, 0, 0)),
            ((-36, -32, 68), (0, 1, 0)),
            ((32, -68, 36), (0, 0, 1)),
        ],
    ),
}
"""Parameters by dimension: factor of the lattice vectors, entries +- of the new vectors in 16
places, and for each layer of these their other entries and the first bits of their words."""


def _layered(d: int) -> IntegerRows:
    """Construct the configurations of changed signs for d = 17 and 18.

    There are 16 places, and d - 15 more with sum 0. The lattice vectors have two +-4, or +-2 on an
    octad, or 2 and -2 in two of the first places and +-2 on the six others of an octad through
    these. The new vectors lie in layers. One whose first entries u have a large product with r =
    (2, -2) or (-2, 2) must not agree with the signs on the six of r: words with one parity in these
    two places leave all signs of the other parity. Words of one layer differ in two of the octad's
    eight places, so in six of the sixteen; those of different layers in four.
    """
    scale, height, layers = _LAYERS[d]
    first = d - 15
    words = _octad_first()
    octad, rest = words[:, :8], words[:, 8:]
    is_octad = words.sum(1) == 8

    def part(head: tuple[int, ...] | np.ndarray, tail: np.ndarray) -> np.ndarray:
        return np.column_stack([np.tile(head, (len(tail), 1)), tail.astype(np.int64)])

    blocks = rest[is_octad & ~octad.any(1)]
    parts = [part((0,) * first, np.concatenate([_fours(16), _on_blocks(blocks, 1)]))]
    for i, j in itertools.permutations(range(first), 2):
        root = np.eye(first, dtype=np.int64)[i] - np.eye(first, dtype=np.int64)[j]
        parts.append(part(4 * root, np.zeros((1, 16))))
        _, bits = max(layers, key=lambda layer: int(root @ layer[0]))
        crossing = is_octad & (octad.sum(1) == 2) & (octad[:, [i, j]] == 1).all(1)
        signs = _on_blocks(rest[crossing], (1 + bits[i] + bits[j]) % 2)
        parts.append(part(2 * root, signs))
    parts = [scale * np.concatenate(parts)]
    for number, (head, bits) in enumerate(layers):
        others = np.eye(8 - first, dtype=np.uint8)
        if sum(bits) % 2 == 0:
            others ^= others[0]
        if number >= 3:
            others[:, :4] ^= 1
        for other in others:
            layer_words = rest[(octad == (*bits, *other)).all(1)]
            parts.append(part(head, height * (1 - 2 * layer_words.astype(np.int64))))
    return IntegerRows(np.concatenate(parts), d)


_COHN_LI = "Cohn and Li 2024, Improved kissing numbers in seventeen through twenty-one dimensions"
_HO = "Ho 2026, A new lower bound for the kissing number in 19 dimensions"
_KRAVATSKIY = "Kravatskiy 2026, KissingNumbers, GitHub alexlegeartis/KissingNumbers"
_LEECH = "Leech 1967, Notes on sphere packings"
_ODD_SIGNS: dict[tuple[int, ...], Construction] = {
    (d,): Construction(
        f"odd-signs-{d}",
        "vectors of the Leech lattice with changed signs, and new ones in between",
        d,
        K,
        Cosine.rational(Fraction(1, 2)),
        None,
        reference,
        partial(_layered if d < 19 else _odd_signs, d),
    )
    for d, K, reference in (
        (17, 5730, _COHN_LI),
        (18, 8358, _KRAVATSKIY),
        (19, 11948, _HO),
        (20, 19448, _COHN_LI),
        (21, 29768, _COHN_LI),
    )
}
FAMILIES = (
    small_family(
        "odd-signs-d",
        "vectors of the Leech lattice with changed signs, and new ones in between",
        "d = 17, 18, .., 21",
        "d",
        "5730, 8358, 11948, 19448, 29768",
        "1/2",
        _COHN_LI,
        codes=_ODD_SIGNS,
    ),
)

CODES = (
    transitive_code(
        "leech",
        "minimal vectors of the Leech lattice",
        24,
        _LEECH,
        lambda: IntegerRows(minimal_vectors()),
        ("1/2", 4600),
        ("1/4", 47104),
        ("0", 93150),
        ("-1/4", 47104),
        ("-1/2", 4600),
        ("-1", 1),
        optimality=KISSING_NUMBERS,
    ),
    transitive_code(
        "leech-4600",
        "kissing configuration of the Leech lattice's 196560",
        23,
        _LEECH,
        _leech_4600,
        ("1/3", 891),
        ("0", 2816),
        ("-1/3", 891),
        ("-1", 1),
        optimality=SHARP_CODES,
    ),
    transitive_code(
        "leech-891",
        "kissing configuration of the 4600",
        22,
        _LEECH,
        _leech_891,
        ("1/4", 336),
        ("-1/8", 512),
        ("-1/2", 42),
        optimality=SHARP_CODES,
    ),
    transitive_code(
        "equiangular-276",
        "276 equiangular lines, both unit vectors of each",
        23,
        "Goethals and Seidel 1975, The regular two-graph on 276 vertices",
        _leech_552,
        ("1/5", 275),
        ("-1/5", 275),
        ("-1", 1),
        optimality=SHARP_CODES,
    ),
)
"""Codes of 196560, 4600 and 891 rows, each the nearest neighbours of a row in the one before, and
equiangular lines."""
