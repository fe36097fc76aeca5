"""Random finite groups: matrices that are orthogonal, closed, each once; their orbits."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import UsageError
from gnc_cli.search.groups import KINDS, random_group
from gnc_cli.search.parametrisation import (
    largest_sum,
    longest_first,
    orbit_types,
    orbits,
    random_union,
)

draws = st.tuples(
    st.integers(3, 12), st.integers(6, 100), st.sampled_from(sorted(KINDS)), st.integers(0, 999)
)


def products_missing(matrices: np.ndarray, rng: np.random.Generator) -> float:
    """The farthest that a product of two of them (200 pairs) lies from all of them."""
    i, j = rng.integers(len(matrices), size=(2, 200))
    products = (matrices[i] @ matrices[j]).reshape(200, 1, -1)
    distance = np.abs(products - matrices.reshape(1, len(matrices), -1)).max(axis=2)
    return float(distance.min(axis=1).max())


@given(draws)
def test_they_are_groups_of_orthogonal_matrices(drawn: tuple[int, int, str, int]) -> None:
    d, K, kind, seed = drawn
    rng = np.random.default_rng(seed)
    name, matrices = random_group(rng, d, K, kind)
    n = len(matrices)
    assert name.startswith((kind, "antipodal")) and matrices.shape == (n, d, d)
    assert 2 <= n <= 2 * K
    np.testing.assert_allclose(matrices[0], np.eye(d), atol=1e-14)
    square = matrices @ matrices.transpose(0, 2, 1)
    np.testing.assert_allclose(square, np.broadcast_to(np.eye(d), square.shape), atol=2e-14)
    assert products_missing(matrices, rng) < 2e-14
    flat = matrices.reshape(n, -1)
    gaps = np.abs(flat[:, None] - flat[None]).max(axis=2) + 9 * np.eye(n)
    assert gaps.min() > 1e-3, "a matrix occurs twice"


@given(draws)
def test_unions_of_orbits_are_invariant(drawn: tuple[int, int, str, int]) -> None:
    d, K, kind, seed = drawn
    rng = np.random.default_rng(seed)
    _, matrices = random_group(rng, d, K, kind)
    types = orbit_types(matrices)
    try:
        made = orbits(matrices, K, rng)
    except UsageError:
        assert random_union(types, K, rng, 0.5) is longest_first(types, K) is None
        assert largest_sum(types, K) < K
        return
    (unknown,) = made.random(rng, 1)
    code = made.code(unknown)
    assert code.shape == (K, d)
    np.testing.assert_allclose(np.linalg.norm(code, axis=1), 1.0, atol=1e-13)
    np.testing.assert_allclose(code[made.representatives], unknown, atol=1e-13)
    assert len(np.unique(code.round(9) + 0.0, axis=0)) == K
    for g in matrices[rng.integers(len(matrices), size=4)]:
        distance = np.abs((code @ g.T)[:, None] - code[None]).max(axis=2)
        assert sorted(distance.argmin(axis=1)) == list(range(K))
        assert distance.min(axis=1).max() < 1e-12


def test_the_octahedral_group_has_the_orbits_of_the_cube() -> None:
    signs = np.array([np.diag(1.0 - 2.0 * np.array(s)) for s in np.ndindex(2, 2, 2)])
    turn, swap = np.eye(3)[[1, 2, 0]], np.eye(3)[[1, 0, 2]]
    permutations = [
        np.linalg.matrix_power(turn, i) @ m for i in range(3) for m in (np.eye(3), swap)
    ]
    types = orbit_types(np.array([s @ p for p in permutations for s in signs]))
    assert [(t.length, t.dimension, t.capacity) for t in types] == [
        (48, 3, 1 << 30),
        (24, 2, 1 << 30),
        (24, 2, 1 << 30),
        (12, 1, 1),
        (8, 1, 1),
        (6, 1, 1),
    ]
    assert longest_first(types, 26) == [0, 0, 0, 1, 1, 1]
    assert longest_first(types, 16) is None and largest_sum(types, 16) == 14
