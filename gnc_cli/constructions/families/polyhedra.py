"""Codes with irrational coordinates: icosahedron, snub cube, best 7, 8, 9 points, the 600-cell.

Sources: L. Fejes Tóth, 1943, Über eine Abschätzung des kürzesten Abstandes zweier Punkte eines
auf einer Kugelfläche liegenden Punktsystems; K. Schütte and B. L. van der Waerden, 1951, Auf
welcher Kugel haben 5, 6, 7, 8 oder 9 Punkte mit Mindestabstand Eins Platz?; R. M. Robinson, 1961,
Arrangement of 24 points on a sphere. Coordinates and cosines are worked out here.
"""

import itertools
from fractions import Fraction

import numpy as np

from gnc_cli.constructions.algebraic_rows import AlgebraicRows, RealField
from gnc_cli.constructions.construction import Construction, Cosine
from gnc_cli.constructions.integer_rows import IntegerRows

_SCHUETTE = "Schütte and van der Waerden 1951, Auf welcher Kugel haben 5, 6, 7, 8 oder 9 ..."
_GOLDEN = RealField((1, 1), (1, 2))


def parity(order: tuple[int, ...]) -> int:
    """Sign of a permutation: its inversions counted."""
    return int((-1) ** sum(a > b for a, b in itertools.combinations(order, 2)))


def _icosahedron() -> AlgebraicRows:
    """The cyclic shifts of (0, +-1, +-t), t the golden ratio."""
    corner = np.array([[[0, 0], [s, 0], [0, u]] for s in (1, -1) for u in (1, -1)])
    return AlgebraicRows(_GOLDEN, np.concatenate([np.roll(corner, k, axis=1) for k in range(3)]))


def _snub_cube() -> AlgebraicRows:
    """(t, 1, t^2), t the tribonacci constant, its even permutations under an even number of sign
    changes and its odd ones under an odd number: one of the two mirror images."""
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
    """Squares (+-1, +-1, h) and (+-t, 0, -h), (0, +-t, -h), t = sqrt 2: edges within a square and
    across have products h^2 and t - h^2, equal for h^2 = t/2. The third coordinate is +-1 here, its
    weight h^2; all weights are doubled."""
    root2 = RealField((2, 0), (1, 2))
    rows = []
    for s, u in itertools.product((1, -1), repeat=2):
        rows.append([[s, 0], [u, 0], [1, 0]])
        # (t, 0) and (0, t), each with both signs.
        rows.append([[0, (s + u) // 2], [0, (s - u) // 2], [-1, 0]])
    return AlgebraicRows(root2, np.array(rows), np.array([[2, 0], [2, 0], [0, 1]]))


def _seven() -> AlgebraicRows:
    """A pole, and two triangles about its axis turned against each other by half a turn.

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
    """A triangular prism with a point before each side face, at cosine 1/3.

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
    """The 120 unit icosians, a group of quaternions over the golden field.

    Twice the units +-1, +-i, +-j, +-k; (+-1 +-i +-j +-k) / 2; and the even permutations of
    (0 +- 1/t i +- j +- t k) / 2, t the golden ratio, 1/t = t - 1. Columns are 1, i, j, k."""
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


CODES = (
    Construction(
        "icosahedron",
        "vertices of the icosahedron",
        3,
        12,
        Cosine.root(Fraction(1, 5)),
        True,
        "Fejes Tóth 1943, Über eine Abschätzung des kürzesten Abstandes zweier Punkte",
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
        True,
        "Robinson 1961, Arrangement of 24 points on a sphere",
        _snub_cube,
        transitive=True,
    ),
    Construction(
        "tammes-7",
        "best 7 points: a pole and two triangles",
        3,
        7,
        Cosine("t/3, t^3=9*t^2+9*t-9, 1/2<t<1", 0.21013831273060308486576530161854),
        True,
        _SCHUETTE,
        _seven,
    ),
    Construction(
        "square-antiprism",
        "best 8 points: square antiprism with equal edges",
        3,
        8,
        Cosine("(-1+2*sqrt(2))/7", 0.26120387496374144251476820691706),
        True,
        _SCHUETTE,
        _square_antiprism,
        transitive=True,
    ),
    Construction(
        "tammes-9",
        "best 9 points: capped triangular prism",
        3,
        9,
        Cosine.of(Fraction(1, 3)),
        True,
        _SCHUETTE,
        _nine,
    ),
    Construction(
        "600-cell",
        "vertices of the 600-cell: the unit icosians",
        4,
        120,
        Cosine("(1+sqrt(5))/4", 0.80901699437494742410229341718282),
        True,
        "Böröczky 1978, Packing of spheres in spaces of constant curvature; "
        "Cohn and Kumar 2007, Universally optimal distribution of points on spheres, Table 1",
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
)
"""All proved optimal."""
