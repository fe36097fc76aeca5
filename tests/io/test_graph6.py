"""graph6 against the examples of its description, and against itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.errors import DataError
from gnc_cli.io.graph6 import from_graph6, to_graph6


@pytest.mark.parametrize(
    ("vertices", "edges", "line"),
    [
        # The example of the description: 5 vertices, bytes 68 81 99.
        (5, [(0, 2), (0, 4), (1, 3), (3, 4)], bytes([68, 81, 99])),
        # Networkx's documentation: a path of two vertices.
        (2, [(0, 1)], b"A_"),
        (0, [], b"?"),
        (1, [], b"@"),
        # Complete graphs, well known from collections: K3, K4, K5.
        (3, [(0, 1), (0, 2), (1, 2)], b"Bw"),
        (4, [(i, j) for j in range(4) for i in range(j)], b"C~"),
        (5, [(i, j) for j in range(5) for i in range(j)], b"D~{"),
    ],
)
def test_published_examples(vertices: int, edges: list[tuple[int, int]], line: bytes) -> None:
    assert to_graph6(vertices, np.array(edges)) == line
    n, found = from_graph6(b">>graph6<<" + line + b"\n")
    assert n == vertices
    assert sorted(map(tuple, found.tolist())) == sorted(edges)


def test_sizes() -> None:
    """N(12345) = 126 66 63 120, and one byte up to 62, from the description."""
    assert to_graph6(12345, np.empty((0, 2), int))[:4] == bytes([126, 66, 63, 120])
    assert to_graph6(62, np.empty((0, 2), int))[0] == 125
    assert to_graph6(63, np.empty((0, 2), int))[:4] == bytes([126, 63, 63, 126])


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 90), st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_round_trip(vertices: int, seed: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    edges = np.argwhere(np.triu(rng.random((vertices, vertices)) < density, 1))
    shuffled = rng.permuted(edges[rng.permutation(len(edges))], axis=1)
    line = to_graph6(vertices, np.concatenate([shuffled, edges]))  # an edge twice is one edge
    assert all(63 <= byte <= 126 for byte in line)
    n, found = from_graph6(line)
    assert n == vertices and np.array_equal(found, edges)


@pytest.mark.parametrize("edges", [[[0, 0]], [[0, 3]], [[-1, 2]]])
def test_no_edges_of_the_graph(edges: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="0 to 2"):
        to_graph6(3, np.array(edges))


@pytest.mark.parametrize("line", [b"", b"\x1f", b"D", b"DQcc", b"A~", b"~", b"~~"])
def test_no_graph(line: bytes) -> None:
    with pytest.raises(DataError, match="no graph6 line"):
        from_graph6(line)
