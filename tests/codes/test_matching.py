"""Colours of rows: corresponding rows share one whatever the noise; unlike rows are told apart."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.codes.matching import Colouring, agreement, split_by_profile
from gnc_cli.geometry.sphere import normalise, random_points
from tests.problems import icosahedron, random_rotation


@given(st.integers(2, 40), st.integers(2, 6), st.integers(0, 10**6), st.booleans())
def test_corresponding_rows_share_a_colour(K: int, d: int, seed: int, grid: bool) -> None:
    """Whatever the noise does within its bound; coarse grids give many ties and many symmetries."""
    rng = np.random.default_rng(seed)
    delta = 1e-6
    A = random_points(rng, K, d)
    if grid:
        A = normalise(np.rint(1.4 * A) + np.eye(d)[rng.integers(0, d, K)] * 3.0)
    B = A @ random_rotation(rng, d)
    B = normalise(B + 0.5 * delta * random_points(rng, K, d))
    colours: Colouring | None = Colouring.uniform(K)
    for reach in (0, 5, K):
        assert colours is not None
        colours = colours.refine(A, B, delta, reach=reach)
        assert colours is not None and np.array_equal(colours.a, colours.b)
    profile = split_by_profile(A, B, delta)
    assert profile is not None and np.array_equal(profile.a, profile.b)
    row = int(rng.integers(K))
    fixed = colours.split(A @ A[row], B @ B[row], agreement(delta)) if colours else None
    assert fixed is not None and np.array_equal(fixed.a, fixed.b)
    assert fixed.sizes().sum() == K


def test_symmetry_keeps_rows_together_until_one_is_fixed() -> None:
    """An icosahedron about one corner: that corner, five, five, and the opposite one."""
    W = icosahedron()
    colours = Colouring.uniform(12).refine(W, W, 1e-9, reach=12)
    assert colours is not None and colours.count == 1
    fixed = colours.split(W @ W[3], W @ W[7], agreement(1e-9))
    assert fixed is not None
    assert sorted(fixed.sizes()) == [1, 1, 5, 5]
    assert fixed.a[3] == fixed.b[7]


def test_unequal_counts_are_refused() -> None:
    colours = Colouring.uniform(3)
    assert colours.split(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]), 1e-9) is None
    # A chain of small gaps is one colour, however long: no pair is separated wrongly.
    chain = colours.split(np.array([0.0, 1e-3, 2e-3]), np.array([1e-3, 1e-3, 1e-3]), 1e-3 + 1e-12)
    assert chain is not None and chain.count == 1


def test_all_inner_products_see_a_hexagon_from_two_triangles() -> None:
    """Equal first and second moments about the axis: only the mixing label tells them apart."""

    def cap(turns: np.ndarray) -> np.ndarray:
        return normalise(np.c_[np.cos(turns), np.sin(turns), np.full(6, 0.7)])

    hexagon = cap(np.arange(6) * np.pi / 3.0)
    twisted = cap(np.r_[np.arange(3) * 2.0, np.arange(3) * 2.0 + 0.7] * np.pi / 3.0)
    assert Colouring.uniform(6).refine(hexagon, twisted, 1e-9, reach=0) is not None
    assert Colouring.uniform(6).refine(hexagon, twisted, 1e-9, reach=6) is None
