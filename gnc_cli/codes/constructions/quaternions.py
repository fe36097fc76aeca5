"""The 600-cell: the 120 unit icosians, a group of quaternions over the golden field."""

import itertools

import numpy as np

from gnc_cli.codes.constructions.algebraic import AlgebraicRows
from gnc_cli.codes.constructions.construction import Construction, Cosine
from gnc_cli.codes.constructions.number_field import RealField

__all__ = ["CODES"]


def _icosians() -> AlgebraicRows:
    """Twice the units +-1, +-i, +-j, +-k; (+-1 +-i +-j +-k) / 2; and the even permutations of
    (0 +- 1/t i +- j +- t k) / 2, t the golden ratio, 1/t = t - 1. Columns are 1, i, j, k."""
    golden = RealField((1, 1), (1, 2))
    zero, one, inverse, ratio = np.array([[0, 0], [1, 0], [-1, 1], [0, 1]])
    axes = [s * 2 * np.eye(4, dtype=int)[k][:, None] * one for k in range(4) for s in (1, -1)]
    halves = [np.array(s)[:, None] * one for s in itertools.product((1, -1), repeat=4)]
    mixed = []
    for order in itertools.permutations(range(4)):
        if np.linalg.det(np.eye(4)[list(order)]) < 0:
            continue
        for a, b, c in itertools.product((1, -1), repeat=3):
            mixed.append(np.array([zero, a * inverse, b * one, c * ratio])[list(order)])
    return AlgebraicRows(golden, np.array(axes + halves + mixed))


CODES = (
    Construction(
        name="600-cell",
        title="vertices of the 600-cell: the unit icosians",
        d=4,
        K=120,
        cosine=Cosine("(1+sqrt(5))/4", 0.80901699437494742410229341718282),
        proven=True,
        reference="Boeroeczky 1978, Packing of spheres in spaces of constant curvature; "
        "Cohn and Kumar 2007, Universally optimal distribution of points on spheres, Table 1",
        build=_icosians,
        distribution=(
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
"""One code."""
