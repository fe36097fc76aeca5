"""Strongly regular graphs: laws of the projection, graphs that are not, each one by its parts."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions.families.graphs import (
    CODES,
    StronglyRegular,
    isotropic_lines,
    meeting,
    spectral_code,
)
from tests.constructions.checks import named, strongly_regular

EXACT = {
    (20, 56): "1/15",
    (21, 50): "1/21",
    (21, 77): "1/12",
    (21, 162): "1/7",
    (22, 100): "1/11",
    (22, 275): "1/6",
}
"""Cohn and Kumar 2007, Table 1; Cohn, de Laat and Leijenhorst 2024."""


def test_sizes_and_cosines() -> None:
    assert {(code.d, code.K): code.cosine.text for code in CODES} == EXACT


def petersen() -> np.ndarray:
    """Pairs of five, joined when disjoint."""
    pairs = list(combinations(range(5), 2))
    return np.array([[not set(a) & set(b) for b in pairs] for a in pairs])


def clebsch() -> np.ndarray:
    """Words of four bits, joined when they differ in one place or in all."""
    words = list(product((0, 1), repeat=4))
    return np.array(
        [[sum(x != y for x, y in zip(a, b, strict=True)) in (1, 4) for b in words] for a in words]
    )


def triangular(n: int) -> np.ndarray:
    """Pairs of n, joined when they share an element: (n(n-1)/2, 2(n-2), n-2, 4)."""
    pairs = list(combinations(range(n), 2))
    return np.array([[len(set(a) & set(b)) == 1 for b in pairs] for a in pairs])


def square_lattice(n: int) -> np.ndarray:
    """Cells of a square, joined in rows and columns: (n^2, 2(n-1), n-2, 2)."""
    cells = list(product(range(n), repeat=2))
    return np.array([[(a == c) != (b == d) for c, d in cells] for a, b in cells])


GRAPHS = [
    (petersen(), (10, 3, 0, 1)),
    (clebsch(), (16, 5, 0, 2)),
    *((triangular(n), (n * (n - 1) // 2, 2 * n - 4, n - 2, 4)) for n in (5, 6, 9)),
    *((square_lattice(n), (n * n, 2 * n - 2, n - 2, 2)) for n in (3, 5)),
]
Parameters = tuple[int, int, int, int]


@pytest.mark.parametrize(("A", "parameters"), GRAPHS, ids=lambda x: str(x)[:40])
def test_rows_are_a_multiple_of_the_projection(A: np.ndarray, parameters: Parameters) -> None:
    assert strongly_regular(A) == parameters
    graph = StronglyRegular(*parameters)
    rows, eigenvalues = spectral_code(A, graph), np.linalg.eigvalsh(A.astype(float))
    M, m = rows.vectors.astype(int), graph.projection()[1]
    assert np.gcd.reduce(M.ravel()) == 1 and m > 0
    smaller = round(eigenvalues[0])
    assert np.array_equal(M @ M, m * M) and np.array_equal(A @ M, smaller * M)
    d = int((abs(eigenvalues - smaller) < 0.5).sum())
    assert rows.shape == (graph.v, d) and np.trace(M) == m * d
    W = np.asarray(rows)
    np.testing.assert_allclose(W @ W.T, M / M[0, 0], atol=1e-14)


@given(st.permutations(range(16)))
def test_labels_do_not_matter(order: list[int]) -> None:
    A, graph = clebsch(), StronglyRegular(16, 5, 0, 2)
    relabelled = spectral_code(A[np.ix_(order, order)], graph)
    assert relabelled.verify() == spectral_code(A, graph).verify()


@given(st.data())
def test_a_flipped_edge_is_caught(data: st.DataObject) -> None:
    A, parameters = data.draw(st.sampled_from(GRAPHS))
    i, j = data.draw(st.permutations(range(len(A))))[:2]
    wrong = A.copy()
    wrong[i, j] = wrong[j, i] = not A[i, j]
    with pytest.raises(ValueError, match="different lengths|frame misses"):
        spectral_code(wrong, StronglyRegular(*parameters)).verify()


def test_another_graph_of_the_same_degree_is_caught() -> None:
    # Two edges exchanged keep every row's length, and leave the eigenspace.
    A = petersen()
    a, b, c, e = next(
        p
        for p in product(range(10), repeat=4)
        if len({*p}) == 4
        and A[p[0], p[1]]
        and A[p[2], p[3]]
        and not A[p[0], p[2]]
        and not A[p[1], p[3]]
    )
    for i, j in ((a, b), (c, e), (a, c), (b, e)):
        A[i, j] = A[j, i] = not A[i, j]
    with pytest.raises(ValueError, match="frame misses"):
        spectral_code(A, StronglyRegular(10, 3, 0, 1)).verify()


ISOTROPIC = {2: (6, 27, "1/4"), 3: (21, 112, "1/9"), 4: (52, 325, "1/16"), 5: (105, 756, "1/25")}
"""Cohn and Kumar 2007, Table 1."""


@pytest.mark.parametrize("q", ISOTROPIC)
def test_isotropic_lines_are_a_quadrangle(q: int) -> None:
    code = named(f"isotropic-{q}")
    assert (code.d, code.K, code.cosine.text) == ISOTROPIC[q]
    graph = strongly_regular(meeting(isotropic_lines(q)))
    assert graph == ((q + 1) * (q**3 + 1), q * (q * q + 1), q - 1, q * q + 1)
