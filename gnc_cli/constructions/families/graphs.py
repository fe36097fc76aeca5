"""Strongly regular graphs and the codes on their eigenspaces, in exact integers.

A graph on v vertices is strongly regular when A^2 = k I + lambda A + mu (J - I - A). Its adjacency
matrix then has, besides k, two eigenvalues, and the projection on an eigenspace is a combination
of I, A and J: scaled to integers its rows are a code with two inner products.

Each graph is made from its definition; of one that is not strongly regular `verify` would find that
the rows leave the eigenspace. Sources: A. E. Brouwer and H. Van Maldeghem, 2022, Strongly Regular
Graphs, chapters 1 and 10; A. J. Hoffman and R. R. Singleton, 1960; A. Gewirtz, 1969; D. G. Higman
and C. C. Sims, 1968; J. McLaughlin, 1969; J.-M. Goethals and J. J. Seidel, 1975, The regular
two-graph on 276 vertices. Isotropic lines: P. J. Cameron, J.-M. Goethals and J. J. Seidel, 1978,
Strongly regular graphs having strongly regular subconstituents; H. Cohn and A. Kumar, 2007, Table
1, for every prime power q.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations
from math import gcd, isqrt

import numpy as np

from gnc_cli.constructions.construction import (
    SHARP_CODES,
    Construction,
    Family,
    small_family,
    transitive_code,
)
from gnc_cli.constructions.families.leech import steiner_3_6_22, steiner_4_7_23
from gnc_cli.constructions.fields import FiniteField, finite_field
from gnc_cli.constructions.integer_rows import IntegerRows

_SDP_PROOF = (
    "Cohn, de Laat and Leijenhorst 2024, Optimality of spherical codes via exact semidefinite "
    "programming bounds"
)
_MCLAUGHLIN = "McLaughlin 1969, A simple group of order 898,128,000"
_SUBSPACES = (
    "Cameron, Goethals and Seidel 1978, Strongly regular graphs having strongly regular "
    "subconstituents"
)


@dataclass(frozen=True)
class StronglyRegular:
    """Parameters of a connected strongly regular graph."""

    v: int
    """Number of vertices."""
    k: int
    """Number of neighbours of each vertex."""
    lam: int
    """Number of common neighbours of two adjacent vertices."""
    mu: int
    """Number of common neighbours of two others; above 0, so that the graph is connected."""

    def projection(self) -> tuple[tuple[int, int, int], int]:
        """Return the projection on the smaller eigenvalue's eigenspace, times an integer m > 0.

        The result holds its coprime entries on the diagonal, between neighbours and between others,
        and m.
        """
        # Eigenvalues solve x^2 = (lambda - mu) x + (k - mu). With r the larger one, A - r I kills
        # its eigenspace, and a multiple of J the constants.
        p, q = self.lam - self.mu, self.k - self.mu
        root = isqrt(p * p + 4 * q)
        r = (p + root) // 2
        entries = (self.v * r + self.k - r, self.k - r - self.v, self.k - r)
        scale = gcd(*entries)
        diagonal, adjacent, nonadjacent = (entry // scale for entry in entries)
        return (diagonal, adjacent, nonadjacent), self.v * root // scale


def spectral_code(adjacency: np.ndarray, graph: StronglyRegular) -> IntegerRows:
    """Project the vertices on the eigenspace of the smaller eigenvalue.

    The v points span as many dimensions as its multiplicity. The adjacency is Boolean, shape
    (v, v).
    """
    (diagonal, adjacent, nonadjacent), m = graph.projection()
    size = np.min_scalar_type(-1 - max(abs(diagonal), abs(adjacent), abs(nonadjacent))).type
    vectors = np.where(adjacency, size(adjacent), size(nonadjacent))
    np.fill_diagonal(vectors, diagonal)
    return IntegerRows(vectors, frame=_frame(vectors, m, graph.v * diagonal // m))


def _frame(multiple: np.ndarray, m: int, d: int) -> np.ndarray:
    """Return an orthonormal basis, shape (v, d), of the range of a projection times m.

    Random combinations of the columns span it. Their Gram matrix's Cholesky factor makes them
    orthonormal up to errors that grow with its condition. A second pass, on a basis that is nearly
    orthonormal, reduces the errors to single roundings. Cost: 4 v^2 d flops, no v^3.
    """
    projection = multiple / m
    basis = np.random.default_rng(0).standard_normal((len(multiple), d))
    for _ in range(2):
        basis = np.matmul(projection, basis)
        basis = np.linalg.solve(np.linalg.cholesky(basis.T @ basis), basis.T).T
    return basis


def hoffman_singleton() -> np.ndarray:
    """Return the Hoffman-Singleton graph (50, 7, 0, 1), shape (50, 50), bool.

    It consists of Robertson's pentagons and pentagrams.

    Vertex j of the pentagon P_h meets j +- 1, vertex j of the pentagram Q_i meets j +- 2, and
    j of P_h meets h i + j of Q_i, all modulo 5.
    """
    five = np.arange(5)
    step = (five[:, None] - five) % 5
    same = np.eye(5, dtype=bool)[:, None, :, None]  # axes: h, j, h', j'
    pentagons = same & ((step == 1) | (step == 4))[None, :, None, :]
    pentagrams = same & ((step == 2) | (step == 3))[None, :, None, :]
    h, j, i, other = np.ix_(five, five, five, five)
    mixed = (other - h * i - j) % 5 == 0
    P, Q, B = (block.reshape(25, 25) for block in (pentagons, pentagrams, mixed))
    return np.block([[P, B], [B.T, Q]])


def m22() -> np.ndarray:
    """Return the graph of disjoint blocks of S(3, 6, 22): (77, 16, 0, 4); shape (77, 77), bool."""
    return np.asarray(_products(steiner_3_6_22()) == 0)


def gewirtz() -> np.ndarray:
    """Return the graph of disjoint blocks of S(3, 6, 22) off one point: (56, 10, 0, 2); bool."""
    blocks = steiner_3_6_22()
    return np.asarray(_products(blocks[blocks[:, 0] == 0]) == 0)


def higman_sims() -> np.ndarray:
    """Return the Higman-Sims graph (100, 22, 0, 6), shape (100, 100), bool.

    Its vertices are one more, the 22 points and the 77 blocks of S(3, 6, 22). The first is joined
    to the points, a point to the blocks through it, disjoint blocks together.
    """
    blocks = steiner_3_6_22() == 1
    A = np.zeros((100, 100), dtype=bool)
    A[0, 1:23] = True
    A[1:23, 23:] = blocks.T
    A |= A.T
    A[23:, 23:] = m22()
    return A


def mclaughlin() -> np.ndarray:
    """Return the McLaughlin graph (275, 112, 30, 56), shape (275, 275), bool.

    Its vertices are 22 points, 77 hexads and 176 heptads of S(4, 7, 23). The hexads are the blocks
    through a chosen point, without it; the heptads are the others. A point is joined to the hexads
    that miss it and the heptads that hold it, two hexads when disjoint, two heptads when they meet
    in 1, a hexad and a heptad when they meet in 3.
    """
    blocks = steiner_4_7_23()
    contains_point = blocks[:, -1] == 1
    hexads, heptads = blocks[contains_point, :-1], blocks[~contains_point, :-1]
    mixed = _products(hexads, heptads) == 3
    no_edges = np.zeros((22, 22), dtype=bool)
    return np.block(
        [
            [no_edges, hexads.T == 0, heptads.T == 1],
            [hexads == 0, _products(hexads) == 0, mixed],
            [heptads == 1, mixed.T, _products(heptads) == 1],
        ]
    )


def mclaughlin_far() -> np.ndarray:
    """Return the McLaughlin graph on the vertices not joined to the first.

    Its parameters are (162, 56, 10, 24), its shape (162, 162), bool.
    """
    A = mclaughlin()
    remote = np.flatnonzero(~A[0])[1:]
    return A[np.ix_(remote, remote)]


def _products(blocks: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
    """Return the sizes of the intersections of blocks, which are rows of 0 and 1."""
    second = blocks if others is None else others
    return np.asarray(np.matmul(blocks.astype(np.int16), second.astype(np.int16).T))


def _code(
    name: str,
    title: str,
    graph: StronglyRegular,
    build: Callable[[], np.ndarray],
    reference: str,
    optimality: str,
) -> Construction:
    """Return the code on the eigenspace of the smaller eigenvalue, from the parameters alone."""
    (diagonal, adjacent, nonadjacent), m = graph.projection()
    return transitive_code(
        name,
        title,
        graph.v * diagonal // m,
        reference,
        lambda: spectral_code(build(), graph),
        (Fraction(nonadjacent, diagonal), graph.v - 1 - graph.k),
        (Fraction(adjacent, diagonal), graph.k),
        optimality=optimality,
    )


CODES = tuple(
    _code(
        name,
        f"{title} ({v},{k},{lam},{mu}), spectral embedding",
        StronglyRegular(v, k, lam, mu),
        adjacency,
        reference,
        _SDP_PROOF if lam == 0 and v < 100 else SHARP_CODES,
    )
    for name, title, (v, k, lam, mu), adjacency, reference in (
        (
            "gewirtz",
            "Gewirtz graph",
            (56, 10, 0, 2),
            gewirtz,
            "Gewirtz 1969, Graphs with maximal even girth",
        ),
        (
            "hoffman-singleton",
            "Hoffman-Singleton graph",
            (50, 7, 0, 1),
            hoffman_singleton,
            "Hoffman and Singleton 1960, On Moore graphs with diameters 2 and 3",
        ),
        (
            "m22-graph",
            "M22 graph",
            (77, 16, 0, 4),
            m22,
            "Witt 1938, Über Steinersche Systeme",
        ),
        (
            "mclaughlin-162",
            "far part of the McLaughlin graph",
            (162, 56, 10, 24),
            mclaughlin_far,
            _MCLAUGHLIN,
        ),
        (
            "higman-sims",
            "Higman-Sims graph",
            (100, 22, 0, 6),
            higman_sims,
            "Higman and Sims 1968, A simple group of order 44,352,000",
        ),
        ("mclaughlin", "McLaughlin graph", (275, 112, 30, 56), mclaughlin, _MCLAUGHLIN),
    )
)
"""Codes of the single graphs, in 20, 21, 21, 21, 22 and 22 dimensions."""


def isotropic_lines(q: int) -> np.ndarray:
    """Return the totally isotropic lines of the Hermitian space H(3, q^2), points by number.

    Points are vectors of GF(q^2)^4 whose first nonzero coordinate is 1, read as numbers to the base
    q^2. The form is sum_i x_i y_i^q; a line is a plane of vectors on which it vanishes. Its one
    basis x, y in reduced echelon form is isotropic and orthogonal; its points are y and x + s y.

    Returns:
        Shape ((q + 1)(q^3 + 1), q^2 + 1).
    """
    field = finite_field(q * q)
    lines = []
    for i, j in combinations(range(4), 2):
        x, y = _isotropic(field, q, i, zero=j), _isotropic(field, q, j)
        a, b = np.nonzero(_form(field, q, x[:, None], y) == 0)
        multiples = field.multiply(y[b, None], np.arange(q * q)[:, None])
        lines.append(np.concatenate([y[b, None], field.add(x[a, None], multiples)], axis=1))
    return np.concatenate(lines) @ (q * q) ** np.arange(4)


def _isotropic(field: FiniteField, q: int, pivot: int, zero: int | None = None) -> np.ndarray:
    """Return isotropic vectors, (n, 4), that begin with a 1 at `pivot` and are 0 at `zero`."""
    free = [i for i in range(pivot + 1, 4) if i != zero]
    vectors = np.zeros((field.q ** len(free), 4), dtype=np.int64)
    vectors[:, pivot] = 1
    vectors[:, free] = np.arange(len(vectors))[:, None] // field.q ** np.arange(len(free)) % field.q
    return np.asarray(vectors[_form(field, q, vectors, vectors) == 0])


def _form(field: FiniteField, q: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Evaluate the Hermitian form over the last axis, broadcast over the others."""
    terms = field.multiply(x, field.power(y, q))
    return reduce(field.add, (terms[..., i] for i in range(4)))


def meeting(lines: np.ndarray) -> np.ndarray:
    """Return the graph of different lines that share a point, shape (K, K), bool.

    The lines, shape (K, q^2 + 1), have q + 1 through each point. The graph is a generalized
    quadrangle of order (q, q^2), strongly regular.
    """
    points, numbers = np.unique(lines, return_inverse=True)
    lines_of_points = np.argsort(numbers, axis=None, kind="stable") // lines.shape[1]
    lines_of_points = lines_of_points.reshape(len(points), -1)
    meet = np.zeros((len(lines), len(lines)), dtype=bool)
    meet[lines_of_points[:, :, None], lines_of_points[:, None, :]] = True
    np.fill_diagonal(meet, False)
    return meet


def _isotropic_code(q: int) -> Construction:
    """Return (q + 1)(q^3 + 1) points in q (q^2 - q + 1) dimensions: products 1/q^2 and -1/q."""
    graph = StronglyRegular((q + 1) * (q**3 + 1), q * (q * q + 1), q - 1, q * q + 1)
    title = f"totally isotropic lines of the Hermitian space H(3,{q * q})"
    return _code(
        f"isotropic-{q}", title, graph, lambda: meeting(isotropic_lines(q)), _SUBSPACES, SHARP_CODES
    )


_ORDERS = (2, 3, 4, 5, 7, 8, 9)
"""Prime powers q; beyond them the square matrices of the graph outgrow a gigabyte."""
FAMILIES: tuple[Family, ...] = (
    small_family(
        "isotropic-q",
        "totally isotropic lines of the Hermitian space H(3,q^2)",
        f"q = {', '.join(map(str, _ORDERS))}",
        "q (q^2 - q + 1)",
        "(q + 1)(q^3 + 1)",
        "1/q^2",
        _SUBSPACES,
        codes={(q,): _isotropic_code(q) for q in _ORDERS},
    ),
)
