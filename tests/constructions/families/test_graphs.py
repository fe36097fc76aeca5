"""Strongly regular graphs: laws of the projection, graphs that are not, the sporadic ones."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions.families.graphs import (
    CODES,
    StronglyRegular,
    gewirtz,
    higman_sims,
    hoffman_singleton,
    m22,
    mclaughlin,
    spectral_code,
    strongly_regular,
)
from gnc_cli.constructions.families.leech import steiner_3_6_22

EXACT = {
    (20, 56): "1/15", (21, 50): "1/21", (21, 77): "1/12", (21, 162): "1/7", (22, 100): "1/11",
    (22, 275): "1/6",
}  # fmt: skip
"""Cohn and Kumar 2007, Table 1; Cohn, de Laat and Leijenhorst 2024."""


def test_figures() -> None:
    assert {(code.d, code.K): code.cosine.text for code in CODES} == EXACT


def _around(A: np.ndarray, vertex: int, near: bool) -> np.ndarray:
    """The graph on the neighbours of a vertex, or on the others."""
    chosen = np.flatnonzero(A[vertex] == near)
    chosen = chosen[chosen != vertex]
    return A[np.ix_(chosen, chosen)]


@pytest.mark.parametrize("vertex", [0, 7, 99])
def test_every_vertex_of_higman_sims_looks_alike(vertex: int) -> None:
    # The first vertex is special in the definition, and not in the graph.
    assert not _around(higman_sims(), vertex, near=True).any()
    far = _around(higman_sims(), vertex, near=False)
    assert strongly_regular(far) == StronglyRegular(77, 16, 0, 4)


@pytest.mark.parametrize("vertex", [0, 50, 274])
def test_every_vertex_of_mclaughlin_looks_alike(vertex: int) -> None:
    near = _around(mclaughlin(), vertex, near=True)
    assert strongly_regular(near) == StronglyRegular(112, 30, 2, 10)
    far = _around(mclaughlin(), vertex, near=False)
    assert strongly_regular(far) == StronglyRegular(162, 56, 10, 24)


def test_hoffman_singleton_is_the_moore_graph() -> None:
    A = hoffman_singleton().astype(int)
    # Diameter 2 and 1 + 7 + 42 vertices: each vertex at distance 2 is reached in one way.
    assert np.array_equal(A @ A + A, np.ones((50, 50)) + 6 * np.eye(50))


def test_m22_has_21_independent_blocks_at_each_point_and_gewirtz_graphs_elsewhere() -> None:
    # Hoffman's bound on independent sets, 77 * 6 / (16 + 6) = 21, is met.
    A = m22()
    for through in steiner_3_6_22().T == 1:
        assert through.sum() == 21 and not A[np.ix_(through, through)].any()
        rest = A[np.ix_(~through, ~through)]
        assert strongly_regular(rest) == strongly_regular(gewirtz())


Eigenvalues = tuple[tuple[int, int], tuple[int, int]]


def petersen() -> np.ndarray:
    """Pairs of five, joined when disjoint."""
    pairs = list(combinations(range(5), 2))
    return np.array([[not set(a) & set(b) for b in pairs] for a in pairs])


def clebsch() -> np.ndarray:
    """Words of four bits, joined when they differ in one place or in all."""
    words = list(product((0, 1), repeat=4))
    return np.array([[sum(x != y for x, y in zip(a, b, strict=True)) in (1, 4) for b in words]
                     for a in words])  # fmt: skip


def triangular(n: int) -> np.ndarray:
    """Pairs of n, joined when they share an element: (n(n-1)/2, 2(n-2), n-2, 4)."""
    pairs = list(combinations(range(n), 2))
    return np.array([[len(set(a) & set(b)) == 1 for b in pairs] for a in pairs])


def square_lattice(n: int) -> np.ndarray:
    """Cells of a square, joined in rows and columns: (n^2, 2(n-1), n-2, 2)."""
    cells = list(product(range(n), repeat=2))
    return np.array([[(a == c) != (b == d) for c, d in cells] for a, b in cells])


GRAPHS = [
    (petersen(), StronglyRegular(10, 3, 0, 1), ((1, 5), (-2, 4))),
    (clebsch(), StronglyRegular(16, 5, 0, 2), ((1, 10), (-3, 5))),
    *((triangular(n), StronglyRegular(n * (n - 1) // 2, 2 * n - 4, n - 2, 4),
       ((n - 4, n - 1), (-2, n * (n - 3) // 2))) for n in (5, 6, 9)),
    *((square_lattice(n), StronglyRegular(n * n, 2 * n - 2, n - 2, 2),
       ((n - 2, 2 * n - 2), (-2, (n - 1) ** 2))) for n in (3, 5)),
]  # fmt: skip


@pytest.mark.parametrize(("A", "graph", "eigenvalues"), GRAPHS, ids=lambda x: str(x)[:40])
def test_parameters_and_eigenvalues(
    A: np.ndarray, graph: StronglyRegular, eigenvalues: Eigenvalues
) -> None:
    assert strongly_regular(A) == graph and graph.eigenvalues() == eigenvalues
    (r, f), (s, g) = eigenvalues
    expected = [s] * g + [r] * f + [graph.k]
    np.testing.assert_allclose(np.linalg.eigvalsh(A.astype(float)), expected, atol=1e-12)


@pytest.mark.parametrize(("A", "graph", "eigenvalues"), GRAPHS, ids=lambda x: str(x)[:40])
@pytest.mark.parametrize("which", [0, 1])
def test_rows_are_a_multiple_of_the_projection(
    A: np.ndarray,
    graph: StronglyRegular,
    eigenvalues: Eigenvalues,
    which: int,
) -> None:
    eigenvalue, d = eigenvalues[which]
    rows = spectral_code(A, eigenvalue)
    M, m = rows.vectors.astype(int), graph.projection(eigenvalue)[1]
    assert np.gcd.reduce(M.ravel()) == 1 and m > 0
    assert np.array_equal(M @ M, m * M) and np.array_equal(A @ M, eigenvalue * M)
    assert rows.shape == (graph.v, d) and np.trace(M) == m * d
    W = np.asarray(rows)
    np.testing.assert_allclose(W @ W.T, M / M[0, 0], atol=1e-14)


def test_petersen_and_clebsch_are_the_optimal_codes_of_their_size() -> None:
    assert spectral_code(petersen(), -2).verify().max_cosine.text == "1/6"
    assert spectral_code(clebsch(), -3).verify().max_cosine.text == "1/5"


@given(st.permutations(range(16)))
def test_labels_do_not_matter(order: list[int]) -> None:
    A = clebsch()[np.ix_(order, order)]
    assert spectral_code(A, -3).verify() == spectral_code(clebsch(), -3).verify()


@given(st.data())
def test_a_flipped_edge_is_caught(data: st.DataObject) -> None:
    A, _, eigenvalues = data.draw(st.sampled_from(GRAPHS))
    i, j = data.draw(st.permutations(range(len(A))))[:2]
    wrong = A.copy()
    wrong[i, j] = wrong[j, i] = not A[i, j]
    with pytest.raises(ValueError, match="not strongly regular"):
        spectral_code(wrong, eigenvalues[1][0])


@pytest.mark.parametrize("A", [
    np.ones((3, 3)), np.zeros((2, 3)), np.zeros((1, 1)), np.zeros((0, 0)), np.zeros(4),
    np.array([[0, 1], [0, 0]]), np.array([[0, 2], [2, 0]]), np.array([[0, np.nan], [np.nan, 0]]),
], ids=lambda A: str(A.tolist()))  # fmt: skip
def test_what_is_no_graph(A: np.ndarray) -> None:
    with pytest.raises(ValueError, match="not the adjacency matrix"):
        strongly_regular(A)


def test_graphs_at_the_edge() -> None:
    with pytest.raises(ValueError, match="complete"):
        strongly_regular(1 - np.eye(5))
    with pytest.raises(ValueError, match="without edges"):
        strongly_regular(np.zeros((5, 5)))
    with pytest.raises(ValueError, match="not connected"):
        strongly_regular(np.kron(np.eye(2), 1 - np.eye(3)))


def test_a_pentagon_has_irrational_eigenvalues() -> None:
    pentagon = np.roll(np.eye(5), 1, axis=1) + np.roll(np.eye(5), -1, axis=1)
    assert strongly_regular(pentagon) == StronglyRegular(5, 2, 0, 1)
    with pytest.raises(ValueError, match="irrational"):
        spectral_code(pentagon, 1)


def test_other_eigenvalues_and_impossible_parameters() -> None:
    with pytest.raises(ValueError, match="3 is not among the eigenvalues 1 and -2"):
        spectral_code(petersen(), 3)
    with pytest.raises(ValueError, match="not feasible"):
        StronglyRegular(12, 3, 0, 1).projection(-2)
