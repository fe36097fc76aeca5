"""The sporadic graphs: parameters, what each is known for, and the codes on their eigenspaces."""

from collections.abc import Callable

import numpy as np
import pytest

from gnc_cli.codes.constructions.construction import Construction
from gnc_cli.codes.constructions.golay import steiner_3_6_22
from gnc_cli.codes.constructions.graphs import (
    CODES,
    gewirtz,
    higman_sims,
    hoffman_singleton,
    m22,
    mclaughlin,
    mclaughlin_far,
)
from gnc_cli.codes.constructions.strongly_regular import StronglyRegular, strongly_regular
from tests.codes.constructions.holds import assert_holds

EXACT = {
    (20, 56): "1/15", (21, 50): "1/21", (21, 77): "1/12", (21, 162): "1/7", (22, 100): "1/11",
    (22, 275): "1/6",
}  # fmt: skip
"""Cohn and Kumar 2007, Table 1; Cohn, de Laat and Leijenhorst 2024."""


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_codes(code: Construction) -> None:
    assert code.cosine.text == EXACT[code.d, code.K]
    assert_holds(code)


def test_all_are_there() -> None:
    assert {(code.d, code.K) for code in CODES} == set(EXACT)
    assert len({code.name for code in CODES}) == len(CODES)


@pytest.mark.parametrize(("graph", "parameters"), [
    (hoffman_singleton, (50, 7, 0, 1)), (gewirtz, (56, 10, 0, 2)), (m22, (77, 16, 0, 4)),
    (higman_sims, (100, 22, 0, 6)), (mclaughlin, (275, 112, 30, 56)),
    (mclaughlin_far, (162, 56, 10, 24)),
])  # fmt: skip
def test_parameters(graph: Callable[[], np.ndarray], parameters: tuple[int, ...]) -> None:
    A = graph()
    assert A.dtype == bool and strongly_regular(A) == StronglyRegular(*parameters)


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
