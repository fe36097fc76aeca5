"""Bounds of the distance from a hull: valid, and near the exact one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.numerics.near_hull import near_hull, onto_simplex
from gnc_cli.numerics.one_vs_rest import one_vs_rest


@given(st.integers(1, 40), st.integers(2, 12), st.integers(0, 10**6))
def test_never_below_the_exact_distance_and_near_it(m: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vertices, point = rng.standard_normal((m, d)), 3.0 * rng.standard_normal(d)
    weights = np.full(m, 1.0 / m)
    found = near_hull(point, vertices, weights, steps=2000)
    exact = one_vs_rest(np.concatenate([point[None], vertices]), np.array([0]))
    assert found >= exact.lower[0] - 1e-9
    assert found <= exact.upper[0] + 1e-3 * max(1.0, float(np.linalg.norm(point)))
    assert found <= np.linalg.norm(vertices.mean(axis=0) - point) + 1e-12
    few = near_hull(point, vertices, weights, steps=3)
    assert few >= exact.lower[0] - 1e-9


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30), st.integers(0, 10**6))
def test_onto_simplex_is_the_nearest_point(values: list[float], seed: int) -> None:
    v = np.array(values)
    nearest = onto_simplex(v)
    assert (nearest >= 0.0).all() and nearest.sum() == pytest.approx(1.0)
    other = np.random.default_rng(seed).dirichlet(np.ones(len(v)))
    assert np.linalg.norm(v - nearest) <= np.linalg.norm(v - other) + 1e-12
