"""Sporadic strongly regular graphs, each from its definition, and the optimal codes they carry.

Sources: A. J. Hoffman and R. R. Singleton, 1960; A. Gewirtz, 1969; D. G. Higman and C. C. Sims,
1968; J. McLaughlin, 1969; J.-M. Goethals and J. J. Seidel, 1975, The regular two-graph on 276
vertices; as in A. E. Brouwer and H. Van Maldeghem, 2022, Strongly Regular Graphs, chapter 10.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from gnc_cli.codes.constructions.construction import Construction, Cosine
from gnc_cli.codes.constructions.golay import steiner_3_6_22, steiner_4_7_23
from gnc_cli.codes.constructions.points import IntegerRows
from gnc_cli.codes.constructions.strongly_regular import StronglyRegular, spectral_code

__all__ = [
    "CODES",
    "gewirtz",
    "higman_sims",
    "hoffman_singleton",
    "m22",
    "mclaughlin",
    "mclaughlin_far",
]

_SHARP = "Cohn and Kumar 2007, Universally optimal distribution of points on spheres, Table 1"
_EXACT = (
    "Cohn, de Laat and Leijenhorst 2024, Optimality of spherical codes via exact semidefinite "
    "programming bounds"
)


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
    name: str,
    title: str,
    graph: StronglyRegular,
    build: Callable[[], np.ndarray],
    reference: str,
) -> Construction:
    """The code on the smaller eigenvalue's eigenspace, its figures from the parameters alone."""
    smaller, d = graph.eigenvalues()[1]
    (diagonal, near, far), _ = graph.projection(smaller)
    cosine, negative = Fraction(far, diagonal), Fraction(near, diagonal)

    def rows() -> IntegerRows:
        return spectral_code(build(), smaller)

    return Construction(
        name=name,
        title=f"{title} ({graph.v},{graph.k},{graph.lam},{graph.mu}), spectral embedding",
        d=d,
        K=graph.v,
        cosine=Cosine.of(cosine),
        proven=True,
        reference=reference,
        build=rows,
        distribution=((str(cosine), graph.v - 1 - graph.k), (str(negative), graph.k)),
        transitive=True,
    )


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
