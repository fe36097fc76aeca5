"""Block pivoting: optimality conditions, a conic solver, SciPy's NNLS, codes near the optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

import gnc_cli.numerics.min_norm_point as module
from gnc_cli.numerics.block_pivoting import pivoted_weights
from gnc_cli.numerics.min_norm_point import min_norm_point
from gnc_cli.numerics.one_vs_rest import one_vs_rest
from gnc_cli.numerics.sphere import normalise, random_points
from tests.numerics.test_min_norm_point import witness
from tests.problems import orthoplex, random_rotation, simplex


def differences(W: np.ndarray, k: int = 0) -> np.ndarray:
    """A class's min-norm problem, rows of norm 1 at most."""
    return (W[k] - np.delete(W, k, axis=0)) / 2.0


def near(points: np.ndarray, d: int, noise: float, rng: np.random.Generator) -> np.ndarray:
    """A known code turned at random in R^d, every row then moved by about `noise`."""
    code = np.zeros((len(points), d))
    code[:, : points.shape[1]] = points
    code = code @ random_rotation(rng, d)
    return normalise(code + noise / np.sqrt(d) * rng.standard_normal(code.shape))


def check(V: np.ndarray, weights: np.ndarray | None) -> None:
    assert weights is not None
    assert (weights >= 0.0).all() and weights.sum() == pytest.approx(1.0, abs=1e-13)
    x = weights @ V
    # Every row of the hull lies beyond the plane through x, and x is as short as SciPy's.
    assert (V @ x).min() >= x @ x - 1e-13
    a = nnls(np.vstack([V.T, np.ones(len(V))]), np.append(np.zeros(V.shape[1]), 1.0))[0]
    assert np.linalg.norm(x) == pytest.approx(np.linalg.norm(a @ V) / a.sum(), abs=1e-13)


@pytest.mark.parametrize("K, d", [(40, 60), (60, 40), (200, 64), (300, 33), (150, 150)])
@pytest.mark.parametrize("start", ["one", "third", "all"])
def test_scipy_agrees_whatever_the_start(
    K: int, d: int, start: str, rng: np.random.Generator
) -> None:
    V = differences(random_points(rng, K, d))
    count = {"one": 1, "third": d // 3, "all": K - 1}[start]
    check(V, pivoted_weights(V, np.argsort(np.linalg.norm(V, axis=1))[:count]))


@pytest.mark.parametrize("noise", [0.1, 1e-2, 1e-4])
@pytest.mark.parametrize(
    "points, d", [(simplex(99), 120), (orthoplex(64)[:100], 64), (orthoplex(40, 75), 48)]
)
def test_codes_near_their_optimum(
    points: np.ndarray, d: int, noise: float, rng: np.random.Generator
) -> None:
    """Supports as large as d, and many rows that almost tie."""
    W = near(points, d, noise, rng)
    V = differences(W)
    check(V, pivoted_weights(V, np.arange(d // 3)))
    result = one_vs_rest(W)
    assert (result.upper - result.lower).max() < 1e-12
    for k in range(0, len(W), 40):
        assert witness(differences(W, k)) * 2.0 == pytest.approx(result.upper[k], abs=1e-6)


@settings(max_examples=60)
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


def test_where_it_gives_up_the_slower_methods_answer(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    V = differences(random_points(rng, 80, 50))
    expected = np.linalg.norm(min_norm_point(V)[0])
    asked = []
    monkeypatch.setattr(module, "pivoted_weights", lambda V, start: asked.append(start))
    assert np.linalg.norm(min_norm_point(V)[0]) == pytest.approx(expected, abs=1e-14)
    assert np.linalg.norm(min_norm_point(V, np.array([3, 4]))[0]) == pytest.approx(
        expected, abs=1e-14
    )
    assert len(asked[0]) == 50 // 3 and np.array_equal(asked[1], [3, 4])
