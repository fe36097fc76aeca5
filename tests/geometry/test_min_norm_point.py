"""Nearest points of hulls: against a conic solver and SciPy, closed forms, proofs in rationals."""

from fractions import Fraction
from math import isqrt

import clarabel
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

import gnc_cli.geometry.min_norm_point as module
from gnc_cli.errors import DataError
from gnc_cli.geometry.min_norm_point import (
    hull_directions,
    hull_distance_bound,
    min_norm_point,
    near_hull,
    pivoted_weights,
    supporting_normal,
    wolfe,
)
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.sphere import random_points
from tests.problems import random_rotation


def witness(V: np.ndarray) -> float:
    """Distance of the hull from 0 by clarabel: min |V^T a|^2 over the simplex."""
    m, d = V.shape
    # Variables (a, x) with x = V^T a: the quadratic form touches x alone.
    P = sparse.block_diag([sparse.csc_matrix((m, m)), 2.0 * sparse.eye(d)], format="csc")
    A = sparse.vstack(
        [
            sparse.hstack([sparse.csc_matrix(V.T), -sparse.eye(d)]),
            sparse.hstack([sparse.csc_matrix(np.ones((1, m))), sparse.csc_matrix((1, d))]),
            sparse.hstack([-sparse.eye(m), sparse.csc_matrix((m, d))]),
        ],
        format="csc",
    )
    b = np.concatenate([np.zeros(d), [1.0], np.zeros(m)])
    cones = [clarabel.ZeroConeT(d + 1), clarabel.NonnegativeConeT(m)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solution = clarabel.DefaultSolver(P, np.zeros(m + d), A, b, cones, settings).solve()
    return float(np.linalg.norm(np.array(solution.x)[m:]))


def ends(V: np.ndarray, x: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Lower and upper bound of the distance: all rows lie beyond a plane, x is in the hull."""
    assert (weights >= 0.0).all() and weights.sum() == pytest.approx(1.0, abs=1e-13)
    assert weights @ V == pytest.approx(x, abs=1e-13 * max(1.0, float(np.abs(V).max())))
    length = float(np.linalg.norm(x))
    lower = max(0.0, float((V @ x).min()) / length) if length > 0.0 else 0.0
    return lower, hull_distance_bound(V, weights)


@pytest.mark.parametrize(
    "m, d", [(1, 3), (2, 2), (5, 20), (30, 3), (60, 12), (40, 100), (150, 149)]
)
def test_clarabel_agrees_on_random_hulls(m: int, d: int, rng: np.random.Generator) -> None:
    for shift in (0.0, 0.5, 3.0):
        V = rng.standard_normal((m, d))
        V[:, 0] += shift
        lower, upper = ends(V, *min_norm_point(V))
        assert upper - lower < 1e-12 or upper < 1e-12
        assert witness(V) == pytest.approx(upper, abs=2e-6 if lower < 1e-9 else 1e-8)


DEGENERATE = {
    "duplicates": np.repeat([[1.0, 2.0, 0.0], [1.0, -2.0, 1.0]], 5, axis=0),
    "collinear": np.stack([np.linspace(-1, 2, 9), np.ones(9)], axis=1),
    "face of a cube": np.array([[1.0, s, t] for s in (-1, 0, 1) for t in (-1, 0, 1)]),
    "one far point": np.array([[1e8, 0.0], [1.0, 1.0], [1.0, -1.0]]),
    "thin": np.array([[1.0, 1e-9], [1.0, -1e-9], [1.0 + 1e-9, 0.0]]),
    "ties on a sphere": np.vstack([np.eye(6), -np.eye(6)]) + np.array([1.5, 0, 0, 0, 0, 0]),
}


@pytest.mark.parametrize("numpy_only", [False, True])
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_hulls(name: str, numpy_only: bool) -> None:
    V = DEGENERATE[name]
    lower, upper = ends(V, *min_norm_point(V, numpy_only=numpy_only))
    scale = float(np.abs(V).max())
    assert upper - lower < 1e-13 * max(1.0, scale)
    assert witness(V / scale) * scale == pytest.approx(upper, abs=1e-6 * scale)


def test_origin_inside_is_exact(rng: np.random.Generator) -> None:
    V = np.vstack([np.eye(4), -np.eye(4)]) + 0.1
    assert np.linalg.norm(min_norm_point(V)[0]) < 1e-15
    with_zero = np.vstack([rng.standard_normal((4, 3)), np.zeros((1, 3))])
    x, weights = min_norm_point(with_zero)
    assert not x.any() and weights[4] == 1.0


def test_scale_does_not_matter(rng: np.random.Generator) -> None:
    V = rng.standard_normal((12, 4)) + 1.0
    x = min_norm_point(V)[0]
    for scale in (1e-120, 1e-8, 1e8, 1e120):
        assert min_norm_point(V * scale)[0] / scale == pytest.approx(x, rel=1e-9, abs=1e-12)


# SciPy's non-negative least squares stops early at these rows, turned.
@example(
    np.array([[1.0, -2, 1, 1], [-4, 1, 1, 1], [1, -3, 1, -3], [1, 2, 1, 1], *4 * [[1] * 4]]), 47
)
@given(hnp.arrays(np.float64, (8, 4), elements=st.integers(-4, 4)), st.integers(0, 99))
def test_turning_and_leaving_out_rows(V: np.ndarray, seed: int) -> None:
    lower, upper = ends(V, *min_norm_point(V))
    by_numpy = np.linalg.norm(min_norm_point(V, numpy_only=True)[0])
    assert by_numpy == pytest.approx(upper, abs=1e-12 if upper > 1e-7 else 1e-7)
    assert upper - lower < 1e-12 or upper < 1e-7
    turned = min_norm_point(V @ random_rotation(np.random.default_rng(seed), 4))[0]
    assert np.linalg.norm(turned) == pytest.approx(upper, abs=1e-12 if upper > 1e-7 else 1e-7)
    assert lower <= np.linalg.norm(min_norm_point(V[:5])[0]) + 1e-12


@pytest.mark.parametrize("without", [("pivoting",), ("nnls",), ("pivoting", "nnls")])
def test_where_one_method_gives_up_the_next_one_answers(
    without: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_up(*_: object) -> None:
        raise RuntimeError("Maximum number of iterations reached.")

    rng = np.random.default_rng(5)
    for m, d in ((20, 5), (8, 30), (50, 12), (40, 60), (80, 50)):
        V = rng.standard_normal((m, d)) + 0.4
        expected = min_norm_point(V)[0]
        with monkeypatch.context() as patch:
            if "pivoting" in without:
                patch.setattr(module, "pivoted_weights", lambda *_: None)
            if "nnls" in without:
                patch.setattr("scipy.optimize.nnls", give_up)
            x, weights = min_norm_point(V)
        assert x == pytest.approx(expected, abs=1e-12)
        lower, upper = ends(V, x, weights)
        assert upper - lower < 1e-12


@given(hnp.arrays(np.float64, (7, 3), elements=st.integers(-3, 3)), st.integers(0, 6))
def test_wolfe_on_small_integers(V: np.ndarray, start: int) -> None:
    """Integer points are full of ties, dependent rows and hulls through the origin."""
    weights = np.zeros(7)
    weights[start] = 1.0
    first = hull_distance_bound(V, weights)
    weights = wolfe(V, weights)
    lower, upper = ends(V, weights @ V, weights)
    assert upper <= first
    assert upper - lower < 1e-12 or upper < 1e-7
    # The witness minimises the square, of which 1e-8 is within its tolerance at the origin.
    assert upper == pytest.approx(witness(V), abs=3e-6 if upper > 1e-7 else 1e-4)


@given(
    hnp.arrays(np.int64, (5, 3), elements=st.integers(-9, 9)),
    hnp.arrays(np.int64, 5, elements=st.integers(0, 9)).filter(lambda a: a.any()),
)
def test_the_bound_is_rounded_outward(V: np.ndarray, a: np.ndarray) -> None:
    """The exact length of a hull point, in rationals, is below the bound."""
    scaled = V / 7.0
    exact = [[Fraction(float(v)) for v in row] for row in scaled]
    total = Fraction(int(a.sum()))
    point = [sum(int(a[j]) * exact[j][i] for j in range(5)) / total for i in range(3)]
    square = sum((c * c for c in point), Fraction(0))
    length = Fraction(isqrt(int(square * 10**80)), 10**40)
    bound = hull_distance_bound(scaled, a.astype(float))
    assert length <= Fraction(bound) and bound <= float(length) + 1e-14


def test_supporting_normal_where_the_hull_almost_touches(rng: np.random.Generator) -> None:
    """A face 1e-9 away from the origin: the normal stays exact to rounding."""
    normal = rng.standard_normal(6)
    normal /= np.linalg.norm(normal)
    face = rng.standard_normal((6, 6))
    face += np.outer(1e-9 - face @ normal, normal)
    computed = supporting_normal(face)
    assert abs(computed @ normal) == pytest.approx(1.0, abs=1e-14)
    assert np.ptp(face @ computed) < 1e-14
    assert not supporting_normal(np.vstack([np.zeros(3), np.eye(3)]) + 1.0).any()


def test_bad_input_is_named() -> None:
    with pytest.raises(DataError, match="finite points"):
        min_norm_point(np.array([[1.0, np.nan]]))
    with pytest.raises(DataError, match="finite points"):
        min_norm_point(np.empty((0, 3)))
    with pytest.raises(DataError, match="non-negative"):
        hull_distance_bound(np.eye(2), np.array([1.0, -0.1]))


# Block pivoting -----------------------------------------------------------------------------------


def differences(W: np.ndarray, k: int = 0) -> np.ndarray:
    """A class's min-norm problem, rows of norm 1 at most."""
    return (W[k] - np.delete(W, k, axis=0)) / 2.0


@given(st.integers(2, 60), st.integers(1, 30), st.integers(0, 9999), st.sampled_from([1, 1e-4]))
def test_what_it_finds_is_the_point(m: int, d: int, seed: int, spread: float) -> None:
    """It may give up; what it returns is right, also for flat and for tiny hulls."""
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((m, d)) * spread
    V[:, 0] += rng.choice([0.0, 0.5, 2.0])
    V /= np.linalg.norm(V, axis=1).max()
    weights = pivoted_weights(V, rng.choice(m, rng.integers(1, m + 1), replace=False))
    if weights is not None:
        assert (weights >= 0.0).all() and weights.sum() == pytest.approx(1.0, abs=1e-12)
        best = np.linalg.norm(min_norm_point(V)[0])
        assert np.linalg.norm(weights @ V) == pytest.approx(best, abs=1e-11)


def test_dependent_rows_are_set_aside(rng: np.random.Generator) -> None:
    flat = rng.standard_normal((50, 6)) @ rng.standard_normal((6, 80))
    V = np.vstack([flat, flat[:10]]) / np.linalg.norm(flat, axis=1).max()
    V[:, 0] += 1.0
    V /= np.linalg.norm(V, axis=1).max()
    x, _ = min_norm_point(V)
    assert np.linalg.norm(x) == pytest.approx(witness(V), abs=1e-7)


def test_short_rows_keep_their_digits(rng: np.random.Generator) -> None:
    """One row a millionth as long as the others: the distance is right relative to that."""
    V = differences(random_points(rng, 50, 60))
    V[7] *= 1e-6
    weights = pivoted_weights(V, np.arange(10))
    assert weights is not None
    x = weights @ V
    assert (V @ x).min() >= (1.0 - 1e-9) * (x @ x) > 0.0


# Approximate projections -----------------------------------------


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
