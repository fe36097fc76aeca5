"""Strongly regular graphs and the codes on their eigenspaces, in exact integers.

A graph on v vertices is strongly regular when A^2 = k I + lambda A + mu (J - I - A). Its adjacency
matrix then has, besides k, two eigenvalues, and the projection on an eigenspace is a combination
of I, A and J: scaled to integers its rows are a code with two inner products.

Each graph is made from its definition. Sources: A. E. Brouwer and H. Van Maldeghem, 2022, Strongly
Regular Graphs, chapters 1 and 10; A. J. Hoffman and R. R. Singleton, 1960; A. Gewirtz, 1969;
D. G. Higman and C. C. Sims, 1968; J. McLaughlin, 1969; J.-M. Goethals and J. J. Seidel, 1975, The
regular two-graph on 276 vertices.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isqrt

import numpy as np

from gnc_cli.constructions.construction import Construction, transitive_code
from gnc_cli.constructions.families.leech import steiner_3_6_22, steiner_4_7_23
from gnc_cli.constructions.integer_rows import IntegerRows

_SHARP = "Cohn and Kumar 2007, Universally optimal distribution of points on spheres, Table 1"
_EXACT = (
    "Cohn, de Laat and Leijenhorst 2024, Optimality of spherical codes via exact semidefinite "
    "programming bounds"
)
_BLOCK = 1024
"""Rows of A^2 that are checked at a time."""


@dataclass(frozen=True)
class StronglyRegular:
    """Parameters of a connected strongly regular graph."""

    v: int
    """Vertices."""
    k: int
    """Neighbours of each vertex."""
    lam: int
    """Common neighbours of two adjacent vertices."""
    mu: int
    """Common neighbours of two others; above 0, so that the graph is connected."""

    def eigenvalues(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The two eigenvalues besides k with their multiplicities, the larger first."""
        # x^2 = (lambda - mu) x + (k - mu); f + g = v - 1 and, the trace being 0, k + f r + g s = 0.
        p, q = self.lam - self.mu, self.k - self.mu
        root = isqrt(p * p + 4 * q)
        if root * root != p * p + 4 * q:
            raise ValueError(f"{self} has irrational eigenvalues")
        r, s = (p + root) // 2, (p - root) // 2
        f = (-self.k - (self.v - 1) * s) // (r - s)
        return (r, f), (s, self.v - 1 - f)

    def projection(self, eigenvalue: int) -> tuple[tuple[int, int, int], int]:
        """The eigenspace's projection times an integer: a multiple of it with coprime entries.

        Returns:
            Its entries on the diagonal, between neighbours and between others, and the positive m
            with M^2 = m M; M / m is the projection.
        """
        (r, f), (s, g) = self.eigenvalues()
        if eigenvalue not in (r, s):
            raise ValueError(f"{eigenvalue} is not among the eigenvalues {r} and {s} of {self}")
        other, d = (s, f) if eigenvalue == r else (r, g)
        # (A - other I) kills the other eigenspace, and J's multiple the constants.
        rest = self.k - other
        entries = (-self.v * other - rest, self.v - rest, -rest)
        scale = gcd(*entries) * (1 if eigenvalue == r else -1)
        diagonal, near, far = (entry // scale for entry in entries)
        m = self.v * (eigenvalue - other) // scale
        # M^2 = m M, entry by entry: what A^2 says, in integers.
        k, lam, mu, v = self.k, self.lam, self.mu, self.v
        others = v - 1 - k
        square = (
            diagonal**2 + k * near**2 + others * far**2,
            2 * diagonal * near + lam * near**2 + 2 * (k - 1 - lam) * near * far
            + (others - k + 1 + lam) * far**2,
            2 * diagonal * far + mu * near**2 + 2 * (k - mu) * near * far
            + (others - 1 - k + mu) * far**2,
        )  # fmt: skip
        if square != (m * diagonal, m * near, m * far) or v * diagonal != m * d:
            raise ValueError(f"{self} is not feasible: no projection of rank {d}")
        return (diagonal, near, far), m


def strongly_regular(adjacency: np.ndarray) -> StronglyRegular:
    """The parameters of a graph, after checking every entry of A^2.

    Args:
        adjacency: symmetric, 0 on the diagonal, 0 or 1 elsewhere, shape (v, v).
    """
    A = np.asarray(adjacency).astype(np.float32)  # A^2 counts to v at most: exact
    v = len(A)
    simple = A.shape == (v, v) and v > 1 and bool(((A == 0) | (A == 1)).all())
    if not (simple and np.array_equal(A, A.T) and not A.diagonal().any()):
        raise ValueError("not the adjacency matrix of a graph: symmetric, 0 and 1, no loops")
    found: dict[str, tuple[int, int]] = {}
    for start in range(0, v, _BLOCK):
        # Rows of A^2 from the diagonal on: it is symmetric.
        square = np.matmul(A[start : start + _BLOCK], A[:, start:])
        near = A[start : start + _BLOCK, start:] == 1
        same = np.eye(*square.shape) == 1
        for name, where in (("k", same), ("lambda", near), ("mu", ~(near | same))):
            values = square[where]
            if len(values):
                low, high = found.get(name, (v, 0))
                found[name] = min(low, int(values.min())), max(high, int(values.max()))
    if len(found) < 3:
        raise ValueError("a graph without edges, or complete, has no lambda or no mu")
    for name, (low, high) in found.items():
        if low != high:
            raise ValueError(f"not strongly regular: {name} is {low} here and {high} there")
    if found["mu"] == (0, 0):
        raise ValueError("not connected: two vertices have no common neighbour")
    return StronglyRegular(v, found["k"][0], found["lambda"][0], found["mu"][0])


def spectral_code(adjacency: np.ndarray, eigenvalue: int) -> IntegerRows:
    """The vertices projected on an eigenspace: v points in as many dimensions as its multiplicity.

    Args:
        adjacency: of a strongly regular graph, shape (v, v).
        eigenvalue: one of the two besides k; the smaller one puts neighbours far apart.
    """
    graph = strongly_regular(adjacency)
    (diagonal, near, far), m = graph.projection(eigenvalue)
    size = np.min_scalar_type(-1 - max(abs(diagonal), abs(near), abs(far))).type
    vectors = np.where(np.asarray(adjacency) == 1, size(near), size(far))
    np.fill_diagonal(vectors, diagonal)
    return IntegerRows(vectors, frame=_frame(vectors, m, graph.v * diagonal // m))


def _frame(multiple: np.ndarray, m: int, d: int) -> np.ndarray:
    """Orthonormal basis, shape (v, d), of the range of a projection times m.

    Random combinations of the columns span it. Their Gram matrix's Cholesky factor makes them
    orthonormal, less the digits that its condition costs; projected and done once more, on a basis
    that is orthonormal already, errors are of single roundings. Cost: 4 v^2 d flops, no v^3.
    """
    projection = multiple / m
    basis = np.random.default_rng(0).standard_normal((len(multiple), d))
    for _ in range(2):
        basis = np.matmul(projection, basis)
        basis = np.linalg.solve(np.linalg.cholesky(basis.T @ basis), basis.T).T
    return basis


def hoffman_singleton() -> np.ndarray:
    """Robertson's pentagons and pentagrams, (50, 7, 0, 1); shape (50, 50), bool.

    Vertex j of the pentagon P_h meets j +- 1, vertex j of the pentagram Q_i meets j +- 2, and
    j of P_h meets h i + j of Q_i, all modulo 5.
    """
    five = np.arange(5)
    step = (five[:, None] - five) % 5
    same = np.eye(5, dtype=bool)[:, None, :, None]  # axes: h, j, h', j'
    pentagons = same & ((step == 1) | (step == 4))[None, :, None, :]
    pentagrams = same & ((step == 2) | (step == 3))[None, :, None, :]
    h, j, i, other = np.ix_(five, five, five, five)
    across = (other - h * i - j) % 5 == 0
    P, Q, B = (block.reshape(25, 25) for block in (pentagons, pentagrams, across))
    return np.block([[P, B], [B.T, Q]])


def m22() -> np.ndarray:
    """The 77 blocks of S(3, 6, 22), joined when disjoint: (77, 16, 0, 4); bool."""
    return _products(steiner_3_6_22()) == 0


def gewirtz() -> np.ndarray:
    """The 56 blocks of S(3, 6, 22) off one point, joined when disjoint: (56, 10, 0, 2); bool."""
    blocks = steiner_3_6_22()
    return _products(blocks[blocks[:, 0] == 0]) == 0


def higman_sims() -> np.ndarray:
    """A vertex, the 22 points and the 77 blocks of S(3, 6, 22): (100, 22, 0, 6); bool.

    The vertex is joined to the points, a point to the blocks through it, disjoint blocks together.
    """
    blocks = steiner_3_6_22() == 1
    A = np.zeros((100, 100), dtype=bool)
    A[0, 1:23] = True
    A[1:23, 23:] = blocks.T
    A |= A.T
    A[23:, 23:] = m22()
    return A


def mclaughlin() -> np.ndarray:
    """22 points, 77 hexads and 176 heptads of S(4, 7, 23): (275, 112, 30, 56); bool.

    The hexads are the blocks through a chosen point, without it; the heptads are the others. A
    point is joined to the hexads that miss it and the heptads that hold it, two hexads when
    disjoint, two heptads when they meet in 1, a hexad and a heptad when they meet in 3.
    """
    blocks = steiner_4_7_23()
    through = blocks[:, -1] == 1
    hexads, heptads = blocks[through, :-1], blocks[~through, :-1]
    mixed = _products(hexads, heptads) == 3
    nothing = np.zeros((22, 22), dtype=bool)
    return np.block([
        [nothing, hexads.T == 0, heptads.T == 1],
        [hexads == 0, _products(hexads) == 0, mixed],
        [heptads == 1, mixed.T, _products(heptads) == 1],
    ])  # fmt: skip


def mclaughlin_far() -> np.ndarray:
    """The McLaughlin graph on the 162 vertices not joined to the first: (162, 56, 10, 24); bool."""
    A = mclaughlin()
    far = np.flatnonzero(~A[0])[1:]
    return A[np.ix_(far, far)]


def _products(blocks: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
    """Sizes of the intersections of blocks given as rows of 0 and 1."""
    other = blocks if others is None else others
    return np.matmul(blocks.astype(np.int16), other.astype(np.int16).T)


def _code(
    name: str, title: str, graph: StronglyRegular, build: Callable[[], np.ndarray], reference: str
) -> Construction:
    """The code on the smaller eigenvalue's eigenspace, its figures from the parameters alone."""
    smaller, d = graph.eigenvalues()[1]
    (diagonal, near, far), _ = graph.projection(smaller)
    parameters = f"({graph.v},{graph.k},{graph.lam},{graph.mu})"
    return transitive_code(
        name, f"{title} {parameters}, spectral embedding", d, reference,
        lambda: spectral_code(build(), smaller),
        (Fraction(far, diagonal), graph.v - 1 - graph.k), (Fraction(near, diagonal), graph.k),
    )  # fmt: skip


CODES = (
    _code("gewirtz", "Gewirtz graph", StronglyRegular(56, 10, 0, 2), gewirtz, _EXACT),
    _code(
        "hoffman-singleton", "Hoffman-Singleton graph", StronglyRegular(50, 7, 0, 1),
        hoffman_singleton, _EXACT,
    ),
    _code("m22-graph", "M22 graph", StronglyRegular(77, 16, 0, 4), m22, _EXACT),
    _code(
        "mclaughlin-162", "far part of the McLaughlin graph", StronglyRegular(162, 56, 10, 24),
        mclaughlin_far, _SHARP,
    ),
    _code("higman-sims", "Higman-Sims graph", StronglyRegular(100, 22, 0, 6), higman_sims, _SHARP),
    _code("mclaughlin", "McLaughlin graph", StronglyRegular(275, 112, 30, 56), mclaughlin, _SHARP),
)  # fmt: skip
"""Dimensions 20, 21, 21, 21, 22 and 22."""
