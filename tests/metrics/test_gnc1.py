"""GNC1, GNC3 and CDNV: collapsed codes, digits, laws, and what is refused."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import DataError
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.metrics import pair_means
from gnc_cli.metrics.gnc1 import gnc1
from gnc_cli.metrics.gnc3 import gnc3
from gnc_cli.metrics.pair_means import cdnv_sums
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


def test_gnc1_bad_input() -> None:
    labels = np.array([7, 7, 2]) * 10**12  # memory is for the classes present
    sparse = gnc1(np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]), labels, K=10**13)
    assert (sparse.classes_present, sparse.rank) == (2, 2)
    features, labels = np.eye(3), np.arange(3)
    for bad, message in (
        ((features, labels[:2]), r"labels \(2,\)"),
        ((features, labels.astype(float)), "expected .*, integers"),
        ((features, labels - 1), "label -1 is out of range"),
        ((features, labels, 2), "label 2 is out of range; expected 0 to 1"),
        ((features * np.nan, labels), "NaN"),
        ((0.0 * features, labels), "means are zero"),
    ):
        with pytest.raises(DataError, match=message):
            gnc1(*bad)


def test_gnc3_of_codes_and_bad_input(rng: np.random.Generator) -> None:
    W = random_points(rng, 9, 5)
    assert gnc3(W, W) == pytest.approx(0.0, abs=1e-16)
    assert gnc3(W, -W) == pytest.approx(2.0)
    with pytest.raises(DataError, match="expected"):
        gnc3(np.eye(3), np.eye(2))
    with pytest.raises(DataError, match="without samples"):
        gnc3(np.eye(2), np.array([[1.0, 0.0], [np.nan, np.nan]]))


def cdnv_of(
    means: np.ndarray, spread: np.ndarray, sampled: np.ndarray | None = None
) -> float | None:
    sampled = np.ones(len(means), dtype=bool) if sampled is None else sampled
    (found,) = pair_means.pair_means(means, partial(cdnv_sums, spread=spread, sampled=sampled))
    return None if found is None else float(found[0])


@pytest.mark.parametrize("side", [3, 512])
def test_cdnv_of_some_classes(
    side: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leaving pairs out of the tiles of all classes is as if only the others were there."""
    monkeypatch.setattr(pair_means, "_SIDE", side)
    X, spread = rng.standard_normal((11, 4)), rng.random(11)
    X[0] = X[5]  # left out, so that nothing is undefined
    keep = np.isin(np.arange(11), [1, 2, 3, 4, 8, 10])
    some = cdnv_of(X, np.where(keep, spread, 0.0), keep)
    assert some == pytest.approx(cdnv_of(X[keep], spread[keep]), rel=1e-12)
    assert cdnv_of(X, spread) is None
