"""The authors' GNC1 and GNC3: closed forms, centring, and what is undefined."""

import numpy as np
import pytest

from gnc_cli.metrics.authors import authors
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.gnc1 import gnc1
from gnc_cli.metrics.gnc3 import gnc3
from gnc_cli.numerics.sphere import normalise, random_points
from tests.metrics import reference
from tests.problems import orthoplex, random_rotation, simplex


def moments_of(features: np.ndarray, labels: np.ndarray, K: int) -> ClassMoments:
    moments = ClassMoments(features.shape[1], K)
    moments.update(features, labels)
    return moments


@pytest.mark.parametrize("code", [simplex(5), simplex(7, 4), orthoplex(3)])
def test_collapse(code: np.ndarray) -> None:
    """Codes whose rows sum to zero: centring changes nothing, and both variants vanish."""
    K, d = code.shape
    labels = np.repeat(np.arange(K), 3)
    moments = moments_of(code[labels], labels, K)
    assert authors(moments, code) == pytest.approx({"gnc1": 0.0, "gnc3": 0.0}, abs=1e-15)
    assert gnc3(code, moments.means) == pytest.approx(0.0, abs=1e-15)
    assert gnc1(code[labels], labels).value == pytest.approx(0.0, abs=1e-25)
    assert authors(moments, -code)["gnc3"] == pytest.approx(2.0)
    assert authors(moments, None) == {"gnc1": authors(moments, code)["gnc1"], "gnc3": None}


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_weights_of_any_size(size: float, rng: np.random.Generator) -> None:
    features, W = rng.standard_normal((2, 4, 3))
    moments = moments_of(features, np.arange(4), 4)
    assert authors(moments, size * W) == pytest.approx(authors(moments, W), rel=1e-12)


def test_tiny_angles_keep_their_digits() -> None:
    """Weights 1e-9 off their means: 1 - cos would round to 0 or 1.1e-16, the chord says 5e-19."""
    code = orthoplex(2)
    labels = np.arange(4)
    turned = code + 1e-9 * code[:, ::-1] * np.array([1.0, -1.0])
    value = authors(moments_of(code, labels, 4), turned)["gnc3"]
    assert value == pytest.approx(5e-19, rel=1e-6)


def test_centring_is_what_differs(rng: np.random.Generator) -> None:
    """Unit features in a cone, away from the origin: the two conventions are far apart."""
    labels = np.repeat(np.arange(6), 20)
    cone = random_points(rng, 6, 4) + np.array([3.0, 0.0, 0.0, 0.0])
    features = normalise(cone[labels] + 0.1 * rng.standard_normal((120, 4)))
    W = random_points(rng, 6, 4)
    moments = moments_of(features, labels, 6)
    found = authors(moments, W)
    means = reference.class_means(features, labels)
    assert found["gnc1"] == pytest.approx(reference.authors_gnc1(features, labels), rel=1e-10)
    assert found["gnc3"] == pytest.approx(reference.authors_gnc3(W, means), rel=1e-12)
    assert found["gnc3"] != pytest.approx(gnc3(W, moments.means), rel=0.1)
    assert found["gnc1"] != pytest.approx(gnc1(features, labels).value, rel=0.1)
    Q = random_rotation(rng, 4)
    turned = authors(moments_of(features @ Q, labels, 6), W @ Q)
    assert turned == pytest.approx(found, rel=1e-9)


def test_missing_classes_and_their_weights_stay_out(rng: np.random.Generator) -> None:
    features, labels = random_points(rng, 30, 3), np.repeat([0, 1, 2], 10)
    names, W = np.array([1, 4, 6]), random_points(rng, 8, 3)
    few = authors(moments_of(features, labels, 3), W[names])
    assert authors(moments_of(features, names[labels], 8), W) == pytest.approx(few, rel=1e-12)


def test_undefined_is_none(rng: np.random.Generator) -> None:
    W = random_points(rng, 3, 2)
    one_class = moments_of(random_points(rng, 5, 2), np.full(5, 1), 3)
    assert authors(one_class, W) == {"gnc1": None, "gnc3": None}
    two = moments_of(np.array([[1.0, 0.0], [0.0, 1.0]]), np.arange(2), 2)
    assert authors(two, np.array([[1.0, 0.0], [0.0, 0.0]])) == {"gnc1": 0.0, "gnc3": None}


def test_means_of_other_data(rng: np.random.Generator) -> None:
    """Class 0 has no test sample and enters; class 4 has no training sample and does not."""
    train, y = random_points(rng, 40, 3), np.repeat(np.arange(4), 10)
    test, labels = random_points(rng, 30, 3), np.repeat([1, 2, 3], 10)
    fitted = moments_of(train, y, 5)
    moments = ClassMoments(3, 5, centres=fitted.means)
    moments.update(test, labels)
    W = random_points(rng, 5, 3)
    found = authors(moments, W, means_of=fitted)
    m = np.array([train[y == k].mean(axis=0) for k in range(4)])
    M = m - m.mean(axis=0)
    deviations = test - m[labels]
    within, between = deviations.T @ deviations / 30, M.T @ M / 4
    by_hand = float(np.trace(within @ np.linalg.pinv(between))) / 4
    assert found["gnc1"] == pytest.approx(by_hand, rel=1e-10)
    means = reference.class_means(train, y)
    assert found["gnc3"] == pytest.approx(reference.authors_gnc3(W, means), rel=1e-12)
