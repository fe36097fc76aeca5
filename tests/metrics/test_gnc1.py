"""GNC1, GNC3 and CDNV: collapsed codes, digits, laws, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.metrics.gnc1 import gnc1, gnc1_of_means
from tests.problems import random_rotation, simplex


def noisy_features(
    rng: np.random.Generator, K: int, d: int, n: int, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    labels = np.repeat(np.arange(K), n)
    centres = random_points(rng, K, d)
    spread = noise * rng.standard_normal((K * n, d))
    return normalise(centres[labels] + spread), labels


def test_gnc1_of_tiny_spread_keeps_its_digits(rng: np.random.Generator) -> None:
    """Standard deviation 1e-7: a one-pass covariance in float32 would see nothing but rounding."""
    W = simplex(4)
    labels = np.repeat(np.arange(5), 200)
    spread = rng.standard_normal((1000, 4))
    values = [gnc1(W[labels] + s * spread, labels).value / s**2 for s in (1e-3, 1e-5, 1e-7)]
    assert values[1] == pytest.approx(values[0], rel=1e-3)
    assert values[2] == pytest.approx(values[1], rel=1e-6)


def test_gnc1_of_means_whose_squares_are_zero() -> None:
    assert gnc1_of_means(np.zeros((2, 2)), 1e-200 * np.eye(2)) is None


def test_gnc1_of_a_singular_between_covariance() -> None:
    """Means on a line in the plane: the spread across it is outside the pseudo-inverse's range."""
    features = np.array([[0.8, 0.6], [0.8, -0.6], [-0.8, 0.6], [-0.8, -0.6]])
    result = gnc1(features, np.array([0, 0, 1, 1]))
    assert (result.value, result.rank) == (0.0, 1)


@given(st.integers(2, 8), st.integers(2, 6), st.integers(1, 5), st.integers(0, 99))
def test_gnc1_laws(K: int, d: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    features, labels = noisy_features(rng, K, d, n, 0.1)
    value = gnc1(features, labels).value
    assert value >= 0.0
    turned = features @ random_rotation(rng, d)
    assert gnc1(turned, labels).value == pytest.approx(value, rel=1e-6, abs=1e-13)
    renamed = rng.permutation(K)[labels]
    assert gnc1(features, renamed).value == pytest.approx(value, rel=1e-6, abs=1e-13)
    assert gnc1(normalise(random_points(rng, K, d))[labels], labels).value < 1e-25
