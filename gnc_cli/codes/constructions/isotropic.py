"""Totally isotropic lines of the Hermitian space H(3, q^2): sharp codes with cosine 1/q^2.

The lines, joined when they meet, form a strongly regular graph: a generalized quadrangle of order
(q, q^2). Projected on the eigenspace of -(q^2 + 1) they are (q + 1)(q^3 + 1) points in
q (q^2 - q + 1) dimensions with inner products 1/q^2 and -1/q, a universally optimal code.

Source: P. J. Cameron, J.-M. Goethals and J. J. Seidel, 1978, Strongly regular graphs having
strongly regular subconstituents; H. Cohn and A. Kumar, 2007, Table 1, for every prime power q.
"""

import numpy as np

from gnc_cli.codes.constructions.construction import Construction, Cosine, Family
from gnc_cli.codes.constructions.finite_fields import FiniteField, finite_field
from gnc_cli.codes.constructions.points import IntegerRows
from gnc_cli.codes.constructions.strongly_regular import spectral_code

__all__ = ["FAMILIES", "in_dimension", "isotropic_lines", "meeting", "named"]

_ORDERS = (2, 3, 4, 5, 7, 8, 9)
"""Prime powers q; beyond them the square matrices of the graph outgrow a gigabyte."""
_NAME = "isotropic-"
_SHARP = "Cohn and Kumar 2007, Universally optimal distribution of points on spheres, Table 1"

FAMILIES = (
    Family(
        name="isotropic-q",
        title="totally isotropic lines of the Hermitian space H(3,q^2)",
        range=f"q = {', '.join(map(str, _ORDERS))}",
        d="q (q^2 - q + 1)",
        K="(q + 1)(q^3 + 1)",
        cosine="1/q^2",
        reference=_SHARP,
    ),
)


def named(name: str) -> Construction | None:
    """`isotropic-3` and its like, or None."""
    return next((_code(q) for q in _ORDERS if name == f"{_NAME}{q}"), None)


def in_dimension(d: int) -> tuple[Construction, ...]:
    """The member of the family in exactly d dimensions, if there is one."""
    return tuple(_code(q) for q in _ORDERS if q * (q * q - q + 1) == d)


def _code(q: int) -> Construction:
    def build() -> IntegerRows:
        return spectral_code(meeting(*isotropic_lines(q)), -(q**2 + 1))

    return Construction(
        name=f"{_NAME}{q}",
        title=f"totally isotropic lines of the Hermitian space H(3,{q * q})",
        d=q * (q * q - q + 1),
        K=(q + 1) * (q**3 + 1),
        cosine=Cosine(f"1/{q * q}", 1 / q**2),
        proven=True,
        reference=_SHARP,
        build=build,
        distribution=((f"1/{q * q}", q**4), (f"-1/{q}", q * (q * q + 1))),
        transitive=True,
    )


def isotropic_lines(q: int) -> tuple[FiniteField, np.ndarray]:
    """The field GF(q^2) and a basis of each line, shape ((q + 1)(q^3 + 1), 2, 4).

    The form is sum_i x_i y_i^q; a line is a plane of vectors on which it vanishes. Each has one
    basis in reduced echelon form, and both of its vectors are isotropic and orthogonal.

    Raises:
        ValueError: q is not a power of a prime.
    """
    field = finite_field(q * q)
    conjugate = field.power(q)
    lines = []
    for i, j in ((a, b) for b in range(4) for a in range(b)):
        first, second = _points(field, q, i, zero=j), _points(field, q, j)
        products = field.dot(first[:, None], conjugate[second])
        a, b = np.nonzero(products == 0)
        lines.append(np.stack([first[a], second[b]], axis=1))
    return field, np.concatenate(lines)


def _points(field: FiniteField, q: int, pivot: int, zero: int | None = None) -> np.ndarray:
    """Isotropic vectors whose first nonzero coordinate is a 1 at `pivot`; 0 at `zero`; (n, 4)."""
    free = [i for i in range(pivot + 1, 4) if i != zero]
    number = field.order ** len(free)
    vectors = np.zeros((number, 4), dtype=np.int64)
    vectors[:, pivot] = 1
    vectors[:, free] = np.arange(number)[:, None] // field.order ** np.arange(len(free))
    vectors[:, free] %= field.order
    isotropic: np.ndarray = vectors[field.dot(vectors, field.power(q)[vectors]) == 0]
    return isotropic


def meeting(field: FiniteField, lines: np.ndarray) -> np.ndarray:
    """Which different lines of projective 3-space share a point, shape (K, K), bool.

    By Plucker coordinates p_ij = x_i y_j - x_j y_i: two lines meet where
    p_01 p'_23 - p_02 p'_13 + p_03 p'_12 + p_12 p'_03 - p_13 p'_02 + p_23 p'_01 is zero.

    Args:
        lines: a basis of each, elements of the field, shape (K, 2, 4).
    """
    x, y = lines[:, 0], lines[:, 1]
    i, j = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]).T
    p = field.plus[field.times[x[:, i], y[:, j]], field.minus[field.times[x[:, j], y[:, i]]]]
    dual = p[:, ::-1].copy()
    dual[:, [1, 4]] = field.minus[dual[:, [1, 4]]]
    meet = np.zeros((len(lines), len(lines)), dtype=bool)
    for start in range(0, len(lines), 64):
        meet[start : start + 64] = field.dot(p[start : start + 64, None], dual) == 0
    np.fill_diagonal(meet, False)
    return meet
