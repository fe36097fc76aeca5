"""Smith's code of 40 points in ten dimensions, as orientations of five tetrahedra.

Coordinates belong to the ten pairs of {0, .., 4}, with x_ba = -x_ab. Leave out one number i and
orient the six edges of the other four, x_ab = +-1, so that each triangle has

    x_ab x_bc x_ca = sign of the permutation (i, j, a, b, c),   j the fourth number.

Both sides change sign with the triangle's orientation, and the four conditions agree (around a
tetrahedron each edge is met twice, in opposite directions), so three of eight signs remain free:
changing all edges at a vertex keeps every condition, and gives all 8 solutions from one. Products:

- within i: a change at one vertex turns 3 of 6 edges, product 0 (4 of these), at two vertices 4 of
  6 edges, -2/6 (3 of these);
- of i with another j: they share one triangle, with opposite signs by the definition, so an odd
  number of its three edges disagrees: products +1/6 (24 in all) or -3/6 (8 in all).

The symmetries are the sign changes at vertices and the even permutations: transitive.

Source of the code: W. D. Smith in the tables of N. J. A. Sloane with R. H. Hardin and W. D. Smith;
B. Ballinger, G. Blekherman, H. Cohn, N. Giansiracusa, E. Kelly and A. Schuermann, 2009,
Experimental study of energy-minimizing point configurations on spheres.
"""

import itertools
from fractions import Fraction

import numpy as np

from gnc_cli.codes.constructions.construction import Construction, Cosine
from gnc_cli.codes.constructions.points import IntegerRows

__all__ = ["CODES"]


def _sign(order: tuple[int, ...]) -> int:
    """Sign of a permutation: its inversions counted."""
    return int((-1) ** sum(a > b for a, b in itertools.combinations(order, 2)))


def _orientations(i: int) -> list[np.ndarray]:
    """The eight orientations of the tetrahedron without i, over all ten pairs."""
    column = {pair: k for k, pair in enumerate(itertools.combinations(range(5), 2))}
    corners = [a for a in range(5) if a != i]
    edges = [column[pair] for pair in itertools.combinations(corners, 2)]
    found = []
    for signs in itertools.product((1, -1), repeat=6):
        x = np.zeros(10, dtype=np.int64)
        x[edges] = signs
        if all(
            # a < b < c, so x_ca = -x_ac.
            -x[column[a, b]] * x[column[b, c]] * x[column[a, c]] == _sign((i, j, a, b, c))
            for j in corners
            for a, b, c in [[v for v in corners if v != j]]
        ):
            found.append(x)
    return found


def _smith() -> IntegerRows:
    return IntegerRows(np.array([x for i in range(5) for x in _orientations(i)]))


CODES = (
    Construction(
        name="smith",
        title="Smith's 40 points: orientations of five tetrahedra",
        d=10,
        K=40,
        cosine=Cosine.of(Fraction(1, 6)),
        proven=False,
        reference="Ballinger, Blekherman, Cohn, Giansiracusa, Kelly and Schuermann 2009, "
        "Experimental study of energy-minimizing point configurations on spheres",
        build=_smith,
        distribution=(("1/6", 24), ("0", 4), ("-1/3", 3), ("-1/2", 8)),
        transitive=True,
    ),
)
"""Conjectured optimal."""
