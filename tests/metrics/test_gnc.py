"""GNC1, GNC2, GNC3: collapsed codes, definitions spelled out, and the pitfalls of public code."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.errors import DataError
from gnc_cli.metrics.gnc1 import gnc1, gnc1_from_covariances
from gnc_cli.metrics.gnc2 import gnc2
from gnc_cli.metrics.gnc3 import gnc3
from gnc_cli.numerics.sphere import normalise, random_points
from tests.problems import WITH_POINTS, Problem, random_rotation, simplex


def noisy_features(
    rng: np.random.Generator, K: int, d: int, n: int, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    labels = np.repeat(np.arange(K), n)
    centres = random_points(rng, K, d)
    spread = noise * rng.standard_normal((K * n, d))
    return normalise(centres[labels] + spread), labels


def by_definition(features: np.ndarray, labels: np.ndarray) -> float:
    """The paper's formula, sample by sample, with numpy's own pseudo-inverse."""
    classes = np.unique(labels)
    means = {k: features[labels == k].mean(axis=0) for k in classes}
    deviations = [h - means[y] for h, y in zip(features, labels, strict=True)]
    within = sum(np.outer(u, u) for u in deviations)
    between = sum(np.outer(m, m) for m in means.values()) / len(classes)
    inverse = np.linalg.pinv(between, rcond=max(len(classes), len(between)) * 2.3e-16)
    return float(np.trace(within / len(features) @ inverse)) / len(classes)


@pytest.mark.parametrize("K, d, n", [(3, 2, 4), (5, 8, 3), (10, 4, 7), (4, 3, 1)])
def test_gnc1_by_definition(K: int, d: int, n: int, rng: np.random.Generator) -> None:
    features, labels = noisy_features(rng, K, d, n, 0.2)
    order = rng.permutation(len(labels))
    result = gnc1(features[order], labels[order], K)
    assert result.value == pytest.approx(by_definition(features, labels), rel=1e-10, abs=1e-15)
    assert result.rank == min(K, d)
    assert result.classes_present == K
    assert result.single_sample_classes == (K if n == 1 else 0)


def test_gnc1_of_tiny_spread_keeps_its_digits(rng: np.random.Generator) -> None:
    """Standard deviation 1e-7: a one-pass covariance in float32 would see nothing but rounding."""
    W = simplex(4)
    labels = np.repeat(np.arange(5), 200)
    spread = rng.standard_normal((1000, 4))
    values = [gnc1(W[labels] + s * spread, labels).value / s**2 for s in (1e-3, 1e-5, 1e-7)]
    assert values[1] == pytest.approx(values[0], rel=1e-3)
    assert values[2] == pytest.approx(values[1], rel=1e-6)


def test_gnc1_counts_what_is_there() -> None:
    features = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    result = gnc1(features, np.array([7, 7, 2]), K=10)
    assert (result.classes_present, result.single_sample_classes) == (2, 1)
    assert result.value == pytest.approx(by_definition(features, np.array([7, 7, 2])))


def test_gnc1_of_a_singular_between_covariance() -> None:
    """Means on a line in the plane: the spread across it is outside the pseudo-inverse's range."""
    features = np.array([[0.8, 0.6], [0.8, -0.6], [-0.8, 0.6], [-0.8, -0.6]])
    result = gnc1(features, np.array([0, 0, 1, 1]))
    assert (result.value, result.rank) == (0.0, 1)


@settings(max_examples=30, deadline=None)
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


def test_gnc1_bad_input() -> None:
    features, labels = np.eye(3), np.arange(3)
    for bad, message in (
        ((features, labels[:2]), r"labels \(2,\)"),
        ((features, labels.astype(float)), "expected integers"),
        ((features, labels - 1), "label -1 is out of range"),
        ((features, labels, 2), "label 2 is out of range; expected 0 to 1"),
        ((features * np.nan, labels), "NaN"),
        ((0.0 * features, labels), "means are zero"),
    ):
        with pytest.raises(DataError, match=message):
            gnc1(*bad)
    with pytest.raises(DataError, match="shapes"):
        gnc1_from_covariances(np.eye(2), np.eye(3), 3)
    with pytest.raises(DataError, match="no class"):
        gnc1_from_covariances(np.eye(2), np.eye(2), 0)


@pytest.mark.parametrize("problem", WITH_POINTS, ids=str)
def test_gnc2_of_known_codes(problem: Problem) -> None:
    bracket = gnc2(problem.points())
    assert bracket.width < 1e-10
    assert bracket.lower <= problem.rho + 1e-15 and problem.rho <= bracket.upper + 1e-15


def test_gnc2_inside_the_hull_is_zero_not_negative(rng: np.random.Generator) -> None:
    W = np.vstack([simplex(3), np.zeros((1, 3))])
    bracket = gnc2(W)
    assert bracket.lower == 0.0 and bracket.upper < 1e-14


def test_gnc3_by_definition(rng: np.random.Generator) -> None:
    W, means = random_points(rng, 9, 5), 0.9 * random_points(rng, 9, 5)
    expected = np.mean([1.0 - w @ m for w, m in zip(W, means, strict=True)])
    assert gnc3(W, means) == pytest.approx(expected, rel=1e-14)
    assert gnc3(W, W) == pytest.approx(0.0, abs=1e-16)
    assert gnc3(W, -W) == pytest.approx(2.0)


def test_gnc3_bad_input() -> None:
    with pytest.raises(DataError, match="expected"):
        gnc3(np.eye(3), np.eye(2))
    with pytest.raises(DataError, match="without samples"):
        gnc3(np.eye(2), np.array([[1.0, 0.0], [np.nan, np.nan]]))
