"""Moves of basin hopping: codes in, codes out, of every size."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.geometry.sphere import random_points
from gnc_cli.search.starts import deep_holes, perturb, shake


@given(st.integers(2, 20), st.integers(2, 6), st.integers(0, 10**6))
def test_any_code_becomes_another_code(K: int, d: int, seed: int) -> None:
    code, mate = (random_points(np.random.default_rng(seed + i), K, d) for i in range(2))
    kept, kept_mate = code.copy(), mate.copy()
    moved = perturb(np.random.default_rng(seed), code, mate)
    assert moved.shape == (K, d)
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 1.0, atol=1e-14)
    assert not np.array_equal(moved, code)
    assert np.array_equal(code, kept) and np.array_equal(mate, kept_mate)
    again = perturb(np.random.default_rng(seed), code, mate)
    assert np.array_equal(moved, again)


def test_each_deep_hole_is_returned_once(rng: np.random.Generator) -> None:
    """The cube has a hole at the centre of each of its six faces."""
    cube = np.array(list(np.ndindex(2, 2, 2))) * 2.0 - 1.0
    holes = deep_holes(rng, cube / np.sqrt(3.0))
    assert len(holes) == 6
    np.testing.assert_allclose(np.sort(np.abs(holes), axis=1), [[0.0, 0.0, 1.0]] * 6, atol=0.05)
    assert len({tuple(hole.round()) for hole in holes}) == 6


@given(st.integers(3, 12), st.integers(2, 5), st.integers(0, 3), st.booleans(), st.integers(0, 999))
def test_shaking_moves_what_may_move(
    K: int, d: int, given_rows: int, features: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    whole = random_points(rng, 2 * K if features else K, d)
    whole[:, 0] = np.nextafter(whole[:, 0], 2.0)  # unit to rounding, not idempotently so
    movable = np.ones(len(whole), dtype=bool)
    movable[: min(given_rows, K - 1)] = False
    moved = shake(rng, whole, K, movable, 0.5)
    assert moved.shape == whole.shape
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 1.0, atol=1e-14)
    assert np.array_equal(moved[~movable], whole[~movable])
    assert not (movable.all() and np.array_equal(moved, whole))
