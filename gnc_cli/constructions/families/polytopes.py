"""Polytopes: polyhedra, the 600-cell, roots, Gosset's polytopes; Barnes-Wall and Smith's code.

Irrational coordinates: icosahedron, snub cube, best 7, 8, 9 points, the 600-cell. Integer ones: the
roots of D4, D5, E6, E7 and E8, of one length and at 60 degrees or more, which are the best kissing
configurations known in 4 to 8 dimensions. Gosset's semiregular polytopes have 240 (the roots of
E8), 56, 27, 16 and 10 points in 8 to 4 dimensions; each is the set of nearest neighbours of a point
in the one before. Each has its classical coordinates here: pairs out of eight (28 equiangular
lines), Schlaefli's double six with its fifteen, half a cube, pairs out of five.

Sources: L. Fejes Tóth, 1943, Über eine Abschätzung des kürzesten Abstandes zweier Punkte eines
auf einer Kugelfläche liegenden Punktsystems; K. Schütte and B. L. van der Waerden, 1951, Auf
welcher Kugel haben 5, 6, 7, 8 oder 9 Punkte mit Mindestabstand Eins Platz?; R. M. Robinson, 1961,
Arrangement of 24 points on a sphere. Coordinates and cosines of these are worked out
here. J. H. Conway and N. J. A. Sloane, 1988, Sphere Packings, Lattices and Groups, chapters 1
and 4; E. S. Barnes and G. E. Wall, 1959, Some extreme forms defined in terms of Abelian groups; T.
Gosset, 1900, On the regular and semi-regular figures in space of n dimensions. Smith's code: W. D.
Smith in the tables of N. J. A. Sloane with R. H. Hardin and W. D. Smith; B. Ballinger,
G. Blekherman, H. Cohn, N. Giansiracusa, E. Kelly and A. Schuermann, 2009, Experimental study of
energy-minimizing point configurations on spheres.
"""

import itertools
from fractions import Fraction

import numpy as np

from gnc_cli.constructions.algebraic_rows import AlgebraicRows, RealField
from gnc_cli.constructions.construction import (
    KISSING_NUMBERS,
    SCHLAEFLI,
    SHARP_CODES,
    Construction,
    Cosine,
    transitive_code,
)
from gnc_cli.constructions.integer_rows import IntegerRows

_SCHUETTE = "Schütte and van der Waerden 1951, Auf welcher Kugel haben 5, 6, 7, 8 oder 9 ..."
_GOSSET = "Gosset 1900, On the regular and semi-regular figures in space of n dimensions"
_GOLDEN = RealField((1, 1), (1, 2))
"""Field of the golden ratio, the root of t^2 = 1 + t in (1, 2)."""


def parity(order: tuple[int, ...]) -> int:
    """Return the sign of a permutation by counting its inversions."""
    return int((-1) ** sum(a > b for a, b in itertools.combinations(order, 2)))


def _icosahedron() -> AlgebraicRows:
    """Return the cyclic shifts of (0, +-1, +-t), t the golden ratio."""
    corner = np.array([[[0, 0], [s, 0], [0, u]] for s in (1, -1) for u in (1, -1)])
    return AlgebraicRows(_GOLDEN, np.concatenate([np.roll(corner, k, axis=1) for k in range(3)]))


def _snub_cube() -> AlgebraicRows:
    """Return the images of (t, 1, t^2), t the tribonacci constant, under a group of rotations.

    They are its even permutations with an even number of sign changes and its odd ones with an odd
    number: one of the two mirror images.
    """
    tribonacci = RealField((1, 1, 1), (Fraction(3, 2), 2))
    powers = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    rows = [
        np.array(signs)[:, None] * powers[list(order)]
        for order in itertools.permutations(range(3))
        for signs in itertools.product((1, -1), repeat=3)
        if np.prod(signs) == parity(order)
    ]
    return AlgebraicRows(tribonacci, np.array(rows))


def _square_antiprism() -> AlgebraicRows:
    """Return the squares (+-1, +-1, h) and (+-t, 0, -h), (0, +-t, -h), t = sqrt 2.

    Edges within a square and between squares have products h^2 and t - h^2, equal for h^2 = t/2.
    The third coordinate is +-1 here, its weight h^2; all weights are doubled.
    """
    root2 = RealField((2, 0), (1, 2))
    rows = []
    for s, u in itertools.product((1, -1), repeat=2):
        rows.append([[s, 0], [u, 0], [1, 0]])
        # (t, 0) and (0, t), each with both signs.
        rows.append([[0, (s + u) // 2], [0, (s - u) // 2], [-1, 0]])
    return AlgebraicRows(root2, np.array(rows), np.array([[2, 0], [2, 0], [0, 1]]))


def _seven() -> AlgebraicRows:
    """Return a pole, and two triangles around its axis that differ by half a turn.

    With c the common cosine: the upper triangle stands at height c, radius r = sqrt(1 - c^2), and
    touches the pole; the lower one at height z and radius b r touches it and itself:
    `b r^2 / 2 + c z = c` and `-b^2 r^2 / 2 + z^2 = c`, so `z = (5 c^2 - 1) / (1 + 3 c^2)` and
    `3 c^3 - 9 c^2 - 3 c + 1 = 0`. With t = 3 c, an algebraic integer, 18 z = t^2 - 6 t - 9 and
    12 b = 3 + 10 t - t^2. Coordinates are 18 times the height and 6 times those in the plane
    over r, where a triangle is (2, 0), (-1, +-sqrt 3): their weights are 4 and r^2 (1, 3).
    """
    field = RealField((-9, 9, 9), (Fraction(1, 2), 1))
    corners = np.array([[2, 0], [-1, 1], [-1, -1]])[:, :, None]
    heights = np.array([[18, 0, 0], [0, 6, 0], [-9, -6, 1]])
    pole = np.zeros((1, 2, 3), dtype=int)
    upper = corners * np.array([12, 0, 0])
    lower = -corners * np.array([3, 10, -1])
    plane = np.concatenate([pole, upper, lower])
    axis = heights[[0, 1, 1, 1, 2, 2, 2]][:, None, :]
    weights = np.array([[9, 0, -1], [27, 0, -3], [16, 0, 0]])
    return AlgebraicRows(field, np.concatenate([plane, axis], axis=1), weights)


def _nine() -> IntegerRows:
    """Return a triangular prism with a point before each side face, at cosine 1/3.

    Triangles are (1, -1, 0), (0, 1, -1), (-1, 0, 1), scaled by 2 in the prism and by -3 about it;
    the height of the prism has square 10 = 3^2 + 1^2, its two coordinates.
    """
    corners = np.array([[1, -1, 0], [0, 1, -1], [-1, 0, 1]])
    rows = [
        np.concatenate([scale * corners, np.tile(height, (3, 1))], axis=1)
        for scale, height in ((2, (3, 1)), (2, (-3, -1)), (-3, (0, 0)))
    ]
    return IntegerRows(np.concatenate(rows), 3)


def _icosians() -> AlgebraicRows:
    """Return the 120 unit icosians, a group of quaternions over the golden field.

    They are twice the units +-1, +-i, +-j, +-k; (+-1 +-i +-j +-k) / 2; and the even permutations of
    (0 +- 1/t i +- j +- t k) / 2, t the golden ratio, 1/t = t - 1. Columns are 1, i, j, k.
    """
    zero, one, inverse, ratio = np.array([[0, 0], [1, 0], [-1, 1], [0, 1]])
    axes = [s * 2 * np.eye(4, dtype=int)[k][:, None] * one for k in range(4) for s in (1, -1)]
    halves = [np.array(s)[:, None] * one for s in itertools.product((1, -1), repeat=4)]
    mixed = [
        np.array([zero, a * inverse, b * one, c * ratio])[list(order)]
        for order in itertools.permutations(range(4))
        if parity(order) > 0
        for a, b, c in itertools.product((1, -1), repeat=3)
    ]
    return AlgebraicRows(_GOLDEN, np.array(axes + halves + mixed))


_SPLAG = "Conway and Sloane 1988, Sphere Packings, Lattices and Groups, chapter 4"


def _d_roots(d: int) -> np.ndarray:
    """Return the 2 d (d - 1) vectors with two entries +-1 and zeros."""
    unit = np.eye(d, dtype=np.int64)
    return np.array(
        [
            s * unit[i] + u * unit[j]
            for i, j in itertools.combinations(range(d), 2)
            for s, u in itertools.product((1, -1), repeat=2)
        ]
    )


def _a_roots(n: int) -> np.ndarray:
    """Return the n (n - 1) differences e_i - e_j in n coordinates."""
    unit = np.eye(n, dtype=np.int64)
    return np.array([unit[i] - unit[j] for i, j in itertools.permutations(range(n), 2)])


def _signs(n: int) -> np.ndarray:
    """Return all sign vectors, shape (2^n, n)."""
    return np.array(list(itertools.product((1, -1), repeat=n)))


def _even_signs(n: int) -> np.ndarray:
    """Return the sign vectors with an even number of minus signs."""
    return np.asarray(_signs(n)[_signs(n).prod(axis=1) > 0])


def _balanced(n: int) -> np.ndarray:
    """Return the sign vectors with as many plus as minus signs."""
    return np.asarray(_signs(n)[_signs(n).sum(axis=1) == 0])


def _pairs(n: int, pair_entry: int, entry: int) -> np.ndarray:
    """Return all vectors with two entries `pair_entry` and n - 2 entries `entry`."""
    rows = np.full((n * (n - 1) // 2, n), entry, dtype=np.int64)
    for row, pair in zip(rows, itertools.combinations(range(n), 2), strict=True):
        row[list(pair)] = pair_entry
    return rows


def _e6() -> IntegerRows:
    """Return the doubled roots of E6 in eight coordinates.

    They are the roots of A5, those of A1 of direction (1, 1) in two more coordinates, and the 20
    balanced sign vectors with either half of a root of A1.
    """
    sides = np.array([[1, 1], [-1, -1]])
    plain = np.concatenate([2 * _a_roots(6), np.zeros((30, 2), np.int64)], axis=1)
    poles = np.concatenate([np.zeros((2, 6), np.int64), 2 * sides], axis=1)
    mixed = [np.concatenate([signs, side]) for signs in _balanced(6) for side in sides]
    return IntegerRows(np.concatenate([plain, poles, mixed]), 6)


def _schlaefli() -> IntegerRows:
    """Return six times the double six a_i, b_i and the fifteen c_ij.

    They are a_i, b_i = e_i - 1/6 +- h and c_ij = 1/3 - e_i - e_j, h of square 1/2 along (1, 1) in
    two more coordinates. Products are -1/2 for lines of a cubic surface that meet, 1/4 for skew
    ones.
    """
    six = 6 * np.eye(6, dtype=np.int64) - 1
    rows = [
        np.concatenate([part, np.tile((height, height), (len(part), 1))], axis=1)
        for part, height in ((six, 3), (six, -3), (_pairs(6, -4, 2), 0))
    ]
    return IntegerRows(np.concatenate(rows), 6)


def _barnes_wall() -> IntegerRows:
    """Return the minimal vectors, of squared length 8 in 16 coordinates: 480 and 30 * 128.

    They have two entries +-2, or signs on a word of weight 8 of the Reed-Muller code RM(1, 4), an
    even number of them minus. Two words of weight 8 are equal
    or complements, or meet in 4 places; so no product exceeds 4.
    """
    places = np.arange(16)[:, None] >> np.arange(4) & 1
    forms = places @ (np.arange(1, 16)[:, None] >> np.arange(4) & 1).T % 2
    words = np.concatenate([forms.T, 1 - forms.T])
    rows = np.zeros((len(words), 128, 16), dtype=np.int64)
    for block, word in zip(rows, words, strict=True):
        block[:, word == 1] = _even_signs(8)
    return IntegerRows(np.concatenate([2 * _d_roots(16), rows.reshape(-1, 16)]))


def _smith() -> IntegerRows:
    """Return the orientations of five tetrahedra.

    Coordinates belong to the ten pairs of {0, .., 4}, with x_ba = -x_ab. Omit one number i and
    orient the six edges of the other four, x_ab = +-1, so that each triangle has

        x_ab x_bc x_ca = sign of the permutation (i, j, a, b, c),   j the fourth number.

    Both sides change sign with the triangle's orientation, and the four conditions agree (around a
    tetrahedron each edge is met twice, in opposite directions), so three of eight signs remain
    free: changing all edges at a vertex keeps every condition, and gives all 8 solutions from one.
    Products:

    - within i: a change at one vertex turns 3 of 6 edges, product 0 (4 of these), at two vertices
      4 of 6 edges, -2/6 (3 of these);
    - of i with another j: they share one triangle, with opposite signs by the definition, so an odd
      number of its three edges disagrees: products +1/6 (24 in all) or -3/6 (8 in all).

    The symmetries are the sign changes at vertices and the even permutations: transitive.
    """
    return IntegerRows(np.array([x for i in range(5) for x in _orientations(i)]))


def _orientations(i: int) -> list[np.ndarray]:
    """Return the eight orientations of the tetrahedron without i, over all ten pairs."""
    column = {pair: k for k, pair in enumerate(itertools.combinations(range(5), 2))}
    corners = [a for a in range(5) if a != i]
    edges = [column[pair] for pair in itertools.combinations(corners, 2)]
    orientations = []
    for signs in itertools.product((1, -1), repeat=6):
        x = np.zeros(10, dtype=np.int64)
        x[edges] = signs
        if all(
            # a < b < c, so x_ca = -x_ac.
            -x[column[a, b]] * x[column[b, c]] * x[column[a, c]] == parity((i, j, a, b, c))
            for j in corners
            for a, b, c in [[v for v in corners if v != j]]
        ):
            orientations.append(x)
    return orientations


CODES = (
    Construction(
        "icosahedron",
        "vertices of the icosahedron",
        3,
        12,
        Cosine.root(Fraction(1, 5)),
        "Fejes Tóth 1943, Über eine Abschätzung des kürzesten Abstandes zweier Punkte",
        "Euclid, Elements, book XIII",
        _icosahedron,
        (("1/sqrt(5)", 5), ("-1/sqrt(5)", 5), ("-1", 1)),
        transitive=True,
    ),
    Construction(
        "snub-cube",
        "vertices of the snub cube",
        3,
        24,
        Cosine("(t^2+2*t-2)/7, t^3=t^2+t+1, 3/2<t<2", 0.7230784683335085370323448093945),
        "Robinson 1961, Arrangement of 24 points on a sphere",
        "Kepler 1619, Harmonices mundi",
        _snub_cube,
        transitive=True,
    ),
    Construction(
        "tammes-7",
        "best 7 points: a pole and two triangles",
        3,
        7,
        Cosine("t/3, t^3=9*t^2+9*t-9, 1/2<t<1", 0.21013831273060308486576530161854),
        _SCHUETTE,
        _SCHUETTE,
        _seven,
    ),
    Construction(
        "square-antiprism",
        "best 8 points: square antiprism with equal edges",
        3,
        8,
        Cosine("(-1+2*sqrt(2))/7", 0.26120387496374144251476820691706),
        _SCHUETTE,
        _SCHUETTE,
        _square_antiprism,
        transitive=True,
    ),
    Construction(
        "tammes-9",
        "best 9 points: capped triangular prism",
        3,
        9,
        Cosine.rational(Fraction(1, 3)),
        _SCHUETTE,
        _SCHUETTE,
        _nine,
    ),
    Construction(
        "600-cell",
        "vertices of the 600-cell: the unit icosians",
        4,
        120,
        Cosine("(1+sqrt(5))/4", 0.80901699437494742410229341718282),
        "Böröczky 1978, Packing of spheres in spaces of constant curvature; "
        "Cohn and Kumar 2007, Universally optimal distribution of points on spheres",
        SCHLAEFLI,
        _icosians,
        (
            ("(1+sqrt(5))/4", 12),
            ("1/2", 20),
            ("(-1+sqrt(5))/4", 12),
            ("0", 30),
            ("(1-sqrt(5))/4", 12),
            ("-1/2", 20),
            ("(-1-sqrt(5))/4", 12),
            ("-1", 1),
        ),
        transitive=True,
    ),
    transitive_code(
        "24-cell",
        "vertices of the 24-cell: roots of D4",
        4,
        SCHLAEFLI,
        lambda: IntegerRows(_d_roots(4)),
        ("1/2", 8),
        ("0", 6),
        ("-1/2", 8),
        ("-1", 1),
        optimality="de Laat, Leijenhorst and de Muinck Keizer 2024, Optimality and uniqueness of "
        "the D4 root system (arXiv 2404.18794)",
    ),
    transitive_code(
        "d5-roots",
        "roots of D5",
        5,
        _SPLAG,
        lambda: IntegerRows(_d_roots(5)),
        ("1/2", 12),
        ("0", 14),
        ("-1/2", 12),
        ("-1", 1),
    ),
    transitive_code(
        "e6-roots",
        "roots of E6",
        6,
        _SPLAG,
        _e6,
        ("1/2", 20),
        ("0", 30),
        ("-1/2", 20),
        ("-1", 1),
    ),
    transitive_code(
        "e7-roots",
        "roots of E7",
        7,
        _SPLAG,
        # Doubled: the roots of A7 and the 70 balanced sign vectors in eight coordinates.
        lambda: IntegerRows(np.concatenate([2 * _a_roots(8), _balanced(8)]), 7),
        ("1/2", 32),
        ("0", 60),
        ("-1/2", 32),
        ("-1", 1),
    ),
    transitive_code(
        "e8-roots",
        "roots of E8: Gosset's 4_21",
        8,
        _GOSSET,
        # Doubled: two entries +-2, or eight entries +-1 with an even number of minus signs.
        lambda: IntegerRows(np.concatenate([2 * _d_roots(8), _even_signs(8)])),
        ("1/2", 56),
        ("0", 126),
        ("-1/2", 56),
        ("-1", 1),
        optimality=KISSING_NUMBERS,
    ),
    transitive_code(
        "equiangular-28",
        "28 equiangular lines: Gosset's 3_21",
        7,
        _GOSSET,
        # The vectors (3, 3, -1, .., -1), which sum to zero, and their negatives.
        lambda: IntegerRows(np.concatenate([_pairs(8, 3, -1), -_pairs(8, 3, -1)]), 7),
        ("1/3", 27),
        ("-1/3", 27),
        ("-1", 1),
        optimality=SHARP_CODES,
    ),
    transitive_code(
        "schlaefli",
        "27 lines of a cubic surface: Gosset's 2_21",
        6,
        "Schläfli 1858, An attempt to determine the twenty-seven lines upon a surface of the third "
        "order",
        _schlaefli,
        ("1/4", 16),
        ("-1/2", 10),
        optimality=SHARP_CODES,
    ),
    transitive_code(
        "hemicube",
        "half of a cube's vertices, Clebsch graph: Gosset's 1_21",
        5,
        _GOSSET,
        lambda: IntegerRows(_even_signs(5)),
        ("1/5", 10),
        ("-3/5", 5),
        optimality=SHARP_CODES,
    ),
    transitive_code(
        "petersen",
        "midpoints of a simplex's edges, Petersen graph: Gosset's 0_21",
        4,
        _GOSSET,
        # Five times the midpoints of the edges of a simplex, e_i + e_j - 2/5.
        lambda: IntegerRows(_pairs(5, 3, -2), 4),
        ("1/6", 6),
        ("-2/3", 3),
        optimality="Bachoc and Vallentin 2009, Optimality and uniqueness of the (4,10,1/6) "
        "spherical code",
    ),
    transitive_code(
        "barnes-wall",
        "minimal vectors of the Barnes-Wall lattice",
        16,
        "Barnes and Wall 1959, Some extreme forms defined in terms of Abelian groups",
        _barnes_wall,
        ("1/2", 280),
        ("1/4", 1024),
        ("0", 1710),
        ("-1/4", 1024),
        ("-1/2", 280),
        ("-1", 1),
    ),
    transitive_code(
        "smith",
        "Smith's 40 points: orientations of five tetrahedra",
        10,
        "Ballinger, Blekherman, Cohn, Giansiracusa, Kelly and Schuermann 2009, "
        "Experimental study of energy-minimizing point configurations on spheres",
        _smith,
        ("1/6", 24),
        ("0", 4),
        ("-1/3", 3),
        ("-1/2", 8),
    ),
)
"""Polytopes and root systems, proved optimal except D5, E6, E7, the Barnes-Wall lattice and Smith's
code, which are conjectured to be."""
