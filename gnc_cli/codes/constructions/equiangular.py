"""276 equiangular lines in 23 dimensions, from the Leech lattice; and the check of a two-graph.

Both unit vectors of each line make a code of 552 points with inner products 1/5, -1/5 and -1.

Sources: J. H. van Lint and J. J. Seidel, 1966, Equilateral point sets in elliptic geometry;
J.-M. Goethals and J. J. Seidel, 1975, The regular two-graph on 276 vertices.
"""

from math import isqrt

import numpy as np

from gnc_cli.codes.constructions.construction import Construction, Cosine
from gnc_cli.codes.constructions.leech import minimal_vectors
from gnc_cli.codes.constructions.points import IntegerRows, spanned_frame

__all__ = ["CODES", "regular_two_graph"]


def _leech_552() -> IntegerRows:
    """The vectors 2 v - w for the minimal v at <v, w> = 24, half of <w, w>: squared length 80.

    w = (5, 1^23) is of the lattice's next norm, 48 here. v and w - v are minimal together and give
    opposite vectors; all are orthogonal to w.
    """
    w = np.ones(24, dtype=np.int64)
    w[0] = 5
    vectors = minimal_vectors().astype(np.int64)
    points = 2 * vectors[vectors @ w == 24] - w
    return IntegerRows(points, spanned_frame(points, 23))


def regular_two_graph(signs: np.ndarray) -> tuple[int, int]:
    """The two eigenvalues, the larger first, of a regular two-graph's Seidel matrix.

    Lines at one common angle, with a unit vector chosen on each, have such a matrix of signs: 0 on
    the diagonal, the sign of the inner product elsewhere. The two-graph is regular when S has only
    two eigenvalues, and the lines then meet the relative bound.

    Args:
        signs: symmetric, 0 on the diagonal, 1 and -1 elsewhere, shape (n, n).

    Raises:
        ValueError: not such a matrix, or S^2 is not a combination of S and I in integers.
    """
    S = np.asarray(signs).astype(np.float64)  # S^2 counts to n at most: exact
    n = len(S)
    unit = S.shape == (n, n) and n > 1 and np.array_equal(np.abs(S), 1 - np.eye(n))
    if not (unit and np.array_equal(S, S.T)):
        raise ValueError("not a Seidel matrix: symmetric, 0 on the diagonal, 1 and -1 elsewhere")
    square = S @ S
    # S^2 = a S + (n - 1) I: the eigenvalues have the sum a and the product 1 - n.
    a = int(square[0, 1] * S[0, 1])
    if not np.array_equal(square, a * S + (n - 1) * np.eye(n)):
        raise ValueError("not a regular two-graph: the matrix has more than two eigenvalues")
    root = isqrt(a * a + 4 * (n - 1))
    if root * root != a * a + 4 * (n - 1):
        raise ValueError(f"irrational eigenvalues: of x^2 = {a} x + {n - 1}")
    return (a + root) // 2, (a - root) // 2


CODES = (
    Construction(
        name="equiangular-276",
        title="276 equiangular lines, both unit vectors of each",
        d=23,
        K=552,
        cosine=Cosine("1/5", 0.2),
        proven=True,
        reference="Cohn and Kumar 2007, Universally optimal distribution of points on spheres, "
        "Table 1",
        build=_leech_552,
        distribution=(("1/5", 275), ("-1/5", 275), ("-1", 1)),
        transitive=True,
    ),
)
"""552 points in 23 dimensions."""
