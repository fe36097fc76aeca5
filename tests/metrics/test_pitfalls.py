"""Mistakes seen in public code, each beside the right number: the mistake must show, ours must not.

PAPER section 2 lists them.
"""

import numpy as np
import pytest

from gnc_cli.geometry.sphere import random_points
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.decisions import stream_decisions
from gnc_cli.metrics.gnc1 import gnc1
from gnc_cli.metrics.gnc3 import gnc3
from gnc_cli.metrics.rows import ArrayRows
from gnc_cli.metrics.variants import etf_error
from tests.metrics import reference
from tests.problems import simplex


def moments_of(features: np.ndarray, labels: np.ndarray, K: int, step: int = 64) -> ClassMoments:
    moments = ClassMoments(features.shape[1], K)
    for start in range(0, len(features), step):
        moments.update(features[start : start + step], labels[start : start + step])
    return moments


def test_one_pass_covariance_in_float32(rng: np.random.Generator) -> None:
    """`mean h h^T - m m^T` in float32 at a within-class deviation of 1e-5: nothing is right."""
    labels = np.tile(np.arange(5), 200)
    features = (simplex(4)[labels] + 1e-5 * rng.standard_normal((1000, 4))).astype(np.float32)
    exact = float(np.trace(reference.within_covariance(features.astype(np.float64), labels)))
    one_pass = sum(
        np.mean(features[labels == k] ** 2, axis=0) - np.mean(features[labels == k], axis=0) ** 2
        for k in range(5)
    ).sum() / 5.0  # fmt: skip
    assert not 0.5 * exact < one_pass < 2.0 * exact
    ours = float(np.trace(moments_of(features, labels, 5).within_cov()))
    assert ours == pytest.approx(exact, rel=1e-12)


def test_a_missing_class_is_no_zero_vector(rng: np.random.Generator) -> None:
    """A zero mean for class 4 would shrink Sigma_B and drag GNC3 towards 1."""
    features, labels = random_points(rng, 40, 3), np.tile([0, 1, 2, 3], 10)
    W = random_points(rng, 5, 3)
    moments = moments_of(features, labels, 5)
    assert moments.present.tolist() == [True] * 4 + [False]
    padded = moments.means.T @ moments.means / 5.0
    assert np.trace(moments.between_cov()) == pytest.approx(1.25 * np.trace(padded))
    with_zero = float(np.mean(1.0 - np.einsum("kd,kd->k", W, moments.means)))
    right = gnc3(W[moments.present], moments.means[moments.present])
    assert right == pytest.approx(reference.gnc3(W, reference.class_means(features, labels)))
    assert right != pytest.approx(with_zero, rel=1e-6)
    assert gnc1(features, labels, K=5).classes_present == 4
    found = stream_decisions(
        ArrayRows(features), labels, means=moments.means, present=moments.present
    )
    nearest = reference.nearest_mean_scores(
        features, reference.class_means(features, labels), 5
    ).argmax(axis=1)
    assert found.ncc_right is not None
    assert found.ncc_right.sum() == (nearest == labels).sum()


def test_leave_one_out_is_not_optimistic(rng: np.random.Generator) -> None:
    """Pure noise with few samples: each mean leans towards its own samples, and NCC believes it."""
    labels = np.repeat(np.arange(30), 3)
    features = random_points(rng, 90, 40)
    moments = moments_of(features, labels, 30)
    found = stream_decisions(
        ArrayRows(features), labels, means=moments.means, present=moments.present,
        own_counts=moments.counts,
    )  # fmt: skip
    assert found.ncc_right is not None and found.loo_right is not None
    assert found.ncc_right.sum() > 80
    assert found.loo_right.sum() < 15
    left_out = reference.ncc_leave_one_out(features, labels, 30)
    assert left_out is not None and found.loo_right.sum() == round(90 * left_out)


def test_etf_error_below_the_floor_of_cancellation(rng: np.random.Generator) -> None:
    """`sqrt(2 - 2 <A, T> / |A|)` sees nothing of an error of 1e-10."""
    X = simplex(6) + 1e-11 * rng.standard_normal((7, 6))
    A = X @ X.T
    target = (np.eye(7) - 1.0 / 7.0) / np.sqrt(6.0)
    by_difference = np.sqrt(max(2.0 - 2.0 * np.vdot(A, target) / np.linalg.norm(A), 0.0))
    exact = reference.etf_error(A)
    assert exact is not None and 1e-11 < exact < 1e-10
    assert abs(by_difference - exact) > 0.9 * exact
    assert etf_error(X, X) == pytest.approx(exact, rel=1e-3)
