"""Softmax scales: against softmax itself on simplices and random codes, and published formulas."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax

from gnc_cli.brackets import Bracket
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.metrics.gnc2 import gnc2_detail
from gnc_cli.metrics.scale import adacos_scale, least_scale, softmax_scale
from tests.problems import simplex


def least_probability(W: np.ndarray, H: np.ndarray, s: float) -> float:
    """Of the own class, over all classes, with a feature for each."""
    return float(np.exp(np.diag(log_softmax(s * H @ W.T, axis=1))).min())


@given(st.integers(2, 10**9), st.floats(1e-6, 1 - 1e-9), st.floats(1e-3, 2.0))
def test_softmax_reaches_the_probability_there(K: int, p: float, margin: float) -> None:
    s = softmax_scale(math.log(K - 1), p, margin)
    reached = 1.0 / (1.0 + (K - 1) * math.exp(-s * margin))
    assert reached == pytest.approx(p, rel=1e-9) or (s == 0.0 and reached > p)


def test_ten_to_the_300_classes() -> None:
    s = softmax_scale(math.log(10**300 - 1), 0.5, 1.0)
    assert s == pytest.approx(300 * math.log(10))


@pytest.mark.parametrize("K", [2, 3, 5, 40])
@pytest.mark.parametrize("p", [0.5, 0.9, 0.999])
def test_a_simplex_needs_exactly_this_scale(K: int, p: float) -> None:
    W = simplex(K - 1) if K > 2 else np.array([[1.0], [-1.0]])
    rho = K / (K - 1)
    scale = least_scale(K, p, Bracket(rho, rho))
    assert scale.width <= 1e-13 * scale.upper
    assert least_probability(W, W, scale.upper) == pytest.approx(p, rel=1e-12)


@pytest.mark.parametrize(("d", "K"), [(3, 8), (6, 40), (20, 200), (64, 100)])
@pytest.mark.parametrize("p", [0.6, 0.9, 0.9999])
def test_features_at_their_best_reach_the_probability_on_any_code(
    d: int, K: int, p: float, rng: np.random.Generator
) -> None:
    W = random_points(rng, K, d)
    detail = gnc2_detail(W)
    rho = detail.bracket.lower
    assert rho > 0.0 and detail.directions is not None
    s = softmax_scale(math.log(K - 1), p, rho)
    assert least_probability(W, detail.directions, s) >= p
    # Features on the rows: the same with 1 - the largest cosine.
    gram = W @ W.T - 2.0 * np.eye(K)
    s = softmax_scale(math.log(K - 1), p, 1.0 - gram.max())
    assert least_probability(W, W, s) >= p


@settings(max_examples=10)
@given(st.integers(2, 4), st.integers(3, 6), st.floats(0.4, 0.99), st.integers(0, 999))
def test_no_code_reaches_the_probability_at_a_smaller_scale(
    d: int, K: int, p: float, seed: int
) -> None:
    """Rows and features are free and maximise the mean log-probability, which bounds the least."""
    needed = least_scale(K, p, Bracket(0.1, K / (K - 1))).lower
    s = 0.999 * needed

    def loss(x: np.ndarray) -> float:
        W, H = normalise(x[: K * d].reshape(K, d)), normalise(x[K * d :].reshape(K, d))
        return -float(np.diag(log_softmax(s * H @ W.T, axis=1)).mean())

    x = minimize(loss, np.random.default_rng(seed).standard_normal(2 * K * d)).x
    W, H = normalise(x[: K * d].reshape(K, d)), normalise(x[K * d :].reshape(K, d))
    assert least_probability(W, H, s) <= p


def test_published_scales_are_special_cases() -> None:
    K, p = 10_572, 0.9
    cosface = (K - 1) / K * math.log((K - 1) * p / (1 - p))  # arXiv 1801.09414, property 3
    assert least_scale(K, p, Bracket(0.5, 1.0)).lower == pytest.approx(cosface, rel=1e-14)
    adacos = softmax_scale(math.log(K - 1), 0.5, math.cos(math.pi / 4))
    assert adacos_scale(K) == pytest.approx(adacos, rel=1e-14)
    # Where points crowd, the smallest gap alone needs more.
    crowded = least_scale(K, p, Bracket(0.01, 0.02))
    assert crowded.lower == pytest.approx(math.log(9.0) / 0.02)
    assert least_scale(3, 0.2, Bracket(1.5, 1.5)) == Bracket(0.0, 0.0)
