"""Totally isotropic lines of the Hermitian space H(3, q^2): sharp codes with cosine 1/q^2.

The lines, joined when they meet, form a strongly regular graph: a generalized quadrangle of order
(q, q^2). Projected on the eigenspace of -(q^2 + 1) they are (q + 1)(q^3 + 1) points in
q (q^2 - q + 1) dimensions with inner products 1/q^2 and -1/q, a universally optimal code.

Source: P. J. Cameron, J.-M. Goethals and J. J. Seidel, 1978, Strongly regular graphs having
strongly regular subconstituents; H. Cohn and A. Kumar, 2007, Table 1, for every prime power q.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from gnc_cli.constructions.construction import Construction, Family, ListedFamily, transitive_code
from gnc_cli.constructions.families.graphs import spectral_code
from gnc_cli.constructions.fields import FiniteField, finite_field
from gnc_cli.constructions.integer_rows import IntegerRows

_ORDERS = (2, 3, 4, 5, 7, 8, 9)
"""Prime powers q; beyond them the square matrices of the graph outgrow a gigabyte."""
_SHARP = "Cohn and Kumar 2007, Universally optimal distribution of points on spheres, Table 1"


class Tables:
    """Sums and products of a small field as whole tables: fast look-ups for many vectors."""

    def __init__(self, field: FiniteField) -> None:
        self.order = field.q
        x = np.arange(field.q)
        self.plus = field.add(x[:, None], x).astype(np.int16)
        """`plus[a, b]` is a + b; shape (order, order)."""
        self.times = field.multiply(x[:, None], x).astype(np.int16)
        """`times[a, b]` is a b; shape (order, order)."""
        self.minus = field.subtract(0, x).astype(np.int16)

    def dot(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Sum of the products of the last axes' entries, broadcast over the others."""
        # Flat look-ups: twice as fast as pairs of indices.
        plus, times = self.plus.ravel(), self.times.ravel()
        left = x.astype(np.int32) * np.int32(self.order)
        total: np.ndarray = times[left[..., 0] + y[..., 0]]
        for i in range(1, x.shape[-1]):
            total = plus[total * np.int32(self.order) + times[left[..., i] + y[..., i]]]
        return total


def isotropic_lines(q: int) -> tuple[Tables, np.ndarray]:
    """The field GF(q^2) and a basis of each line, shape ((q + 1)(q^3 + 1), 2, 4).

    The form is sum_i x_i y_i^q; a line is a plane of vectors on which it vanishes. Each has one
    basis in reduced echelon form, and both of its vectors are isotropic and orthogonal.
    """
    field = finite_field(q * q)
    tables, conjugate = Tables(field), field.power(np.arange(q * q), q).astype(np.int16)
    lines = []
    for i, j in ((a, b) for b in range(4) for a in range(b)):
        first, second = _points(tables, conjugate, i, zero=j), _points(tables, conjugate, j)
        products = tables.dot(first[:, None], conjugate[second])
        a, b = np.nonzero(products == 0)
        lines.append(np.stack([first[a], second[b]], axis=1))
    return tables, np.concatenate(lines)


def _points(
    tables: Tables, conjugate: np.ndarray, pivot: int, zero: int | None = None
) -> np.ndarray:
    """Isotropic vectors whose first nonzero coordinate is a 1 at `pivot`; 0 at `zero`; (n, 4)."""
    free = [i for i in range(pivot + 1, 4) if i != zero]
    number = tables.order ** len(free)
    vectors = np.zeros((number, 4), dtype=np.int64)
    vectors[:, pivot] = 1
    vectors[:, free] = np.arange(number)[:, None] // tables.order ** np.arange(len(free))
    vectors[:, free] %= tables.order
    isotropic: np.ndarray = vectors[tables.dot(vectors, conjugate[vectors]) == 0]
    return isotropic


def meeting(tables: Tables, lines: np.ndarray) -> np.ndarray:
    """Which different lines of projective 3-space share a point, shape (K, K), bool.

    By Plucker coordinates p_ij = x_i y_j - x_j y_i: two lines meet where
    p_01 p'_23 - p_02 p'_13 + p_03 p'_12 + p_12 p'_03 - p_13 p'_02 + p_23 p'_01 is zero.

    Args:
        tables: of the field.
        lines: a basis of each, elements of the field, shape (K, 2, 4).
    """
    x, y = lines[:, 0], lines[:, 1]
    i, j = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]).T
    minus = tables.minus[tables.times[x[:, j], y[:, i]]]
    p = tables.plus[tables.times[x[:, i], y[:, j]], minus]
    dual = p[:, ::-1].copy()
    dual[:, [1, 4]] = tables.minus[dual[:, [1, 4]]]
    meet = np.zeros((len(lines), len(lines)), dtype=bool)
    for start in range(0, len(lines), 64):
        meet[start : start + 64] = tables.dot(p[start : start + 64, None], dual) == 0
    np.fill_diagonal(meet, False)
    return meet


def _rows(q: int) -> IntegerRows:
    return spectral_code(meeting(*isotropic_lines(q)), -(q**2 + 1))


def _codes() -> Iterator[Construction]:
    for q in _ORDERS:
        yield transitive_code(
            f"isotropic-{q}", f"totally isotropic lines of the Hermitian space H(3,{q * q})",
            q * (q * q - q + 1), _SHARP, partial(_rows, q),
            (Fraction(1, q * q), q**4), (Fraction(-1, q), q * (q * q + 1)),
        )  # fmt: skip


FAMILIES: tuple[Family, ...] = (
    ListedFamily(
        "isotropic-q", "totally isotropic lines of the Hermitian space H(3,q^2)",
        f"q = {', '.join(map(str, _ORDERS))}",
        "q (q^2 - q + 1)", "(q + 1)(q^3 + 1)", "1/q^2", _SHARP, _codes,
    ),
)  # fmt: skip
