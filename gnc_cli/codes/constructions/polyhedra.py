"""Codes in three dimensions: the icosahedron, the snub cube, and the best 7, 8 and 9 points.

Sources: L. Fejes Toth, 1943, Ueber eine Abschaetzung des kuerzesten Abstandes zweier Punkte eines
auf einer Kugelflaeche liegenden Punktsystems; K. Schuette and B. L. van der Waerden, 1951, Auf
welcher Kugel haben 5, 6, 7, 8 oder 9 Punkte mit Mindestabstand Eins Platz?; R. M. Robinson, 1961,
Arrangement of 24 points on a sphere. Coordinates and cosines are worked out here.
"""

import itertools
from fractions import Fraction

import numpy as np

from gnc_cli.codes.constructions.algebraic import AlgebraicRows
from gnc_cli.codes.constructions.construction import Construction, Cosine
from gnc_cli.codes.constructions.number_field import RealField
from gnc_cli.codes.constructions.points import IntegerRows, spanned_frame

__all__ = ["CODES"]

_SCHUETTE = "Schuette and van der Waerden 1951, Auf welcher Kugel haben 5, 6, 7, 8 oder 9 ..."


def _icosahedron() -> AlgebraicRows:
    """The cyclic shifts of (0, +-1, +-t), t the golden ratio."""
    golden = RealField((1, 1), (1, 2))
    corner = np.array([[[0, 0], [s, 0], [0, u]] for s in (1, -1) for u in (1, -1)])
    return AlgebraicRows(golden, np.concatenate([np.roll(corner, k, axis=1) for k in range(3)]))


def _snub_cube() -> AlgebraicRows:
    """(t, 1, t^2), t the tribonacci constant, its even permutations under an even number of sign
    changes and its odd ones under an odd number: one of the two mirror images."""
    tribonacci = RealField((1, 1, 1), (Fraction(3, 2), 2))
    powers = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    rows = []
    for order in itertools.permutations(range(3)):
        parity = round(np.linalg.det(np.eye(3)[list(order)]))
        for signs in itertools.product((1, -1), repeat=3):
            if np.prod(signs) == parity:
                rows.append(np.array(signs)[:, None] * powers[list(order)])
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
    vectors = np.concatenate(rows)
    return IntegerRows(vectors, spanned_frame(vectors, 3))


CODES = (
    Construction(
        name="icosahedron",
        title="vertices of the icosahedron",
        d=3,
        K=12,
        cosine=Cosine.root(Fraction(1, 5)),
        proven=True,
        reference="Fejes Toth 1943, Ueber eine Abschaetzung des kuerzesten Abstandes zweier Punkte",
        build=_icosahedron,
        distribution=(("1/sqrt(5)", 5), ("-1/sqrt(5)", 5), ("-1", 1)),
        transitive=True,
    ),
    Construction(
        name="snub-cube",
        title="vertices of the snub cube",
        d=3,
        K=24,
        cosine=Cosine("(t^2+2*t-2)/7, t^3=t^2+t+1, 3/2<t<2", 0.7230784683335085370323448093945),
        proven=True,
        reference="Robinson 1961, Arrangement of 24 points on a sphere",
        build=_snub_cube,
        transitive=True,
    ),
    Construction(
        name="tammes-7",
        title="best 7 points: a pole and two triangles",
        d=3,
        K=7,
        cosine=Cosine("t/3, t^3=9*t^2+9*t-9, 1/2<t<1", 0.21013831273060308486576530161854),
        proven=True,
        reference=_SCHUETTE,
        build=_seven,
    ),
    Construction(
        name="square-antiprism",
        title="best 8 points: square antiprism with equal edges",
        d=3,
        K=8,
        cosine=Cosine("(-1+2*sqrt(2))/7", 0.26120387496374144251476820691706),
        proven=True,
        reference=_SCHUETTE,
        build=_square_antiprism,
        transitive=True,
    ),
    Construction(
        name="tammes-9",
        title="best 9 points: capped triangular prism",
        d=3,
        K=9,
        cosine=Cosine.of(Fraction(1, 3)),
        proven=True,
        reference=_SCHUETTE,
        build=_nine,
    ),
)
"""All proved optimal."""
