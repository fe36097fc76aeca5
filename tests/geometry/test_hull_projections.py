"""Approximate projections on hulls: valid, and near the exact ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.geometry.hull_projections import hull_directions, near_hull, onto_simplex
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.sphere import random_points


@settings(max_examples=30)
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


def test_onto_simplex_is_the_nearest_point(rng: np.random.Generator) -> None:
    """Optimality: the residual is constant on the support and no larger off it."""
    a = 2.0 * rng.standard_normal((50, 7))
    b = onto_simplex(a)
    assert (b >= 0.0).all() and b.sum(axis=1) == pytest.approx(np.ones(50))
    for row, nearest in zip(a - b, b, strict=True):
        level = row[nearest > 0.0]
        assert np.ptp(level) < 1e-12 and (row <= level.max() + 1e-12).all()


def test_approximate_directions_are_nearly_the_best(rng: np.random.Generator) -> None:
    K, d, count = 400, 40, 80
    W = random_points(rng, K, d)
    exact = one_vs_rest(W)
    gram = W @ W.T
    np.fill_diagonal(gram, -np.inf)
    candidates = np.argsort(-gram, axis=1)[:, :count]
    h = hull_directions(W.astype(np.float32), np.arange(K), candidates)
    assert np.linalg.norm(h, axis=1) == pytest.approx(np.ones(K))
    products = h @ W.T
    own = products.diagonal().copy()
    np.fill_diagonal(products, -np.inf)
    lower = own - products.max(axis=1)
    assert (lower <= exact.upper + 1e-6).all()
    lost, lost_by_rows = exact.upper - lower, exact.upper - (1.0 - gram.max(axis=1))
    assert lost.mean() < 0.1 * lost_by_rows.mean()
