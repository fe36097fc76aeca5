"""The classic metrics and the centred forms: collapse, the undefined, scales, means of other
data."""

import math
from typing import Any

import numpy as np
import pytest

from gnc_cli.geometry.sphere import random_points
from gnc_cli.metrics import variants
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.gnc1 import gnc1, gnc1_forms
from gnc_cli.metrics.gnc3 import gnc3_forms
from gnc_cli.metrics.variants import effective_rank, equinorm, neco
from gnc_cli.runtime.deadline import Deadline
from tests.metrics import reference
from tests.problems import orthoplex, simplex

WEIGHTS_ONLY = {
    "nc2_equinorm_weights",
    "nc2_etf_error_weights",
    "nc3",
    "nc3_dual_etf_error",
    "log_energy_weights",
    "riesz_energy_weights",
    "effective_rank_weights",
    "pair_rows_weights",
}


def moments_of(features: np.ndarray, labels: np.ndarray, K: int) -> ClassMoments:
    moments = ClassMoments(features.shape[1], K)
    moments.update(features, labels)
    return moments


def classic(moments: ClassMoments, W: np.ndarray | None, **how: Any) -> dict[str, float | None]:
    """All of them, with the energies and ranks."""
    source = how.get("centres") or moments
    even = variants.evenness(source.means[source.present], W)
    return variants.classic(moments, W, **how) | vars(even)


@pytest.mark.parametrize("d, K", [(4, 5), (6, 3), (1, 2), (40, 41)])
@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_a_perfect_simplex_is_collapsed(d: int, K: int, offset: float) -> None:
    """h = w up to scale and a common offset, which centring takes away."""
    W = 2.5 * simplex(d, K)
    labels = np.repeat(np.arange(K), 4)
    found = classic(moments_of(W[labels] + offset, labels, K), W)
    zeros = {
        "nc1",
        "nc1_trace_quotient",
        "cdnv",
        "nc2_equinorm_means",
        "nc2_equinorm_weights",
        "nc2_equiangularity",
        "nc2_max_angle",
        "nc2_etf_error",
        "nc2_etf_error_weights",
        "nc3",
        "nc3_dual_etf_error",
    }
    assert {key: found[key] for key in zeros} == pytest.approx(dict.fromkeys(zeros, 0.0), abs=4e-14)
    chord = math.sqrt(2.0 * K / (K - 1))
    assert found["log_energy_weights"] == pytest.approx(-math.log(chord), abs=1e-13)
    assert found["riesz_energy_weights"] == pytest.approx(1.0 / chord)
    assert found["effective_rank_weights"] == pytest.approx(K - 1)
    if offset == 0.0:
        assert found["log_energy"] == pytest.approx(-math.log(chord), abs=1e-13)
        assert found["effective_rank_means"] == pytest.approx(K - 1)


def test_what_is_undefined_is_none(rng: np.random.Generator) -> None:
    W = random_points(rng, 4, 3)
    one = classic(moments_of(rng.standard_normal((5, 3)), np.full(5, 2), 4), W)
    only_rank = {"effective_rank_means": pytest.approx(1.0), "pair_rows": 1}
    assert {k: v for k, v in one.items() if v is not None and k not in WEIGHTS_ONLY} == only_rank
    assert one["nc3"] is None and one["nc3_dual_etf_error"] is None

    labels = np.repeat(np.arange(3), 2)
    signs = np.tile([1.0, -1.0], 3)[:, None] * np.ones((6, 3))
    zero_means = classic(moments_of(signs, labels, 3), None)
    assert {k for k, v in zero_means.items() if v is not None} == {"pair_rows"}

    # Means that differ by rounding alone coincide, and their difference has no direction.
    third = np.array([[0.1, 0.2, 0.3]])
    same = np.concatenate([np.repeat(third, 7, axis=0), np.repeat(third * (1 + 3e-16), 3, axis=0)])
    coincident = classic(moments_of(same, np.array([0] * 7 + [1] * 3), 2), None)
    defined = {k for k, v in coincident.items() if v is not None}
    assert defined == {"effective_rank_means", "pair_rows"}

    apart = np.concatenate([same, [[3.0, 1.0, 2.0]] * 2])
    two_of_three = moments_of(apart, np.array([0] * 7 + [1] * 3 + [2] * 2), 3)
    assert (two_of_three.means[0] != two_of_three.means[1]).any()
    found = classic(two_of_three, None)
    assert found["cdnv"] is None and found["log_energy"] is None and found["riesz_energy"] is None
    assert found["nc2_max_angle"] is not None

    # The middle one of three collinear means is the global mean: norms yes, angles no.
    line = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    middle = classic(moments_of(line, np.arange(3), 3), None)
    assert middle["nc2_equiangularity"] is None and middle["nc2_max_angle"] is None
    assert middle["nc2_equinorm_means"] == pytest.approx(math.sqrt(0.5))
    assert middle["log_energy"] is None, "one direction, three times"

    nobody = classic(moments_of(np.ones((1, 2)), np.zeros(1, dtype=int), 3), None)
    assert all(v is None or v == v for v in nobody.values())


def test_missing_classes_enter_nothing(rng: np.random.Generator) -> None:
    """Labels 0, 2, 5 of seven classes, or 0, 1, 2 of three: the same numbers."""
    features, labels = rng.standard_normal((30, 4)) + 1.0, np.repeat([0, 1, 2], 10)
    names = np.array([0, 2, 5])
    W = rng.standard_normal((7, 4))
    few = classic(moments_of(features, labels, 3), W[names])
    many = classic(moments_of(features, names[labels], 7), W)
    of_all_weights = {key for key in few if key.endswith("_weights")}
    for key in few.keys() - of_all_weights:
        assert many[key] == (None if few[key] is None else pytest.approx(few[key], rel=1e-12)), key
    assert many["nc2_equinorm_weights"] == pytest.approx(reference.equinorm(W))


def test_cdnv_leaves_out_the_pairs_of_classes_without_test_samples() -> None:
    """Classes 1 and 2, without test samples, have one mean: no quotient of theirs is undefined."""
    means = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    fitted = moments_of(means, np.arange(4), 4)
    moments = ClassMoments(2, 4, centres=fitted.means)
    moments.update(np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([0, 3]))
    found = classic(moments, None, centres=fitted)
    assert found["cdnv"] == pytest.approx((1.0 + 9.0) / (2.0 * 4.0))
    assert found["nc2_equinorm_means"] == pytest.approx(reference.equinorm(means - means.mean(0)))


def test_the_deadline_is_polled(rng: np.random.Generator) -> None:
    moments = moments_of(rng.standard_normal((4, 2)), np.arange(4), 4)
    with pytest.raises(TimeoutError, match="pair"):
        classic(moments, None, deadline=Deadline(0.0))
    with pytest.raises(TimeoutError, match="rank"):
        effective_rank(np.eye(3), deadline=Deadline(0.0))
    assert equinorm(np.zeros((3, 2))) is None


# The two forms of GNC1 and GNC3 -------------------------------------------------------------------


@pytest.mark.parametrize("code", [simplex(5), simplex(7, 4), orthoplex(3)])
def test_both_forms_vanish_where_the_rows_sum_to_zero(code: np.ndarray) -> None:
    K, _d = code.shape
    labels = np.repeat(np.arange(K), 3)
    moments = moments_of(code[labels], labels, K)
    ones = gnc1_forms(moments.within_cov(), moments.means)
    assert [one.value for one in ones.values() if one] == pytest.approx([0.0, 0.0], abs=1e-15)
    assert gnc1(code[labels], labels).value == pytest.approx(0.0, abs=1e-25)
    assert [*gnc3_forms(code, moments.means).values()] == pytest.approx([0.0, 0.0], abs=1e-15)
    assert gnc3_forms(-code, moments.means)["gnc3_centred"] == pytest.approx(2.0)
    zero_row = code * (np.arange(K) > 0)[:, None]
    assert gnc3_forms(zero_row, moments.means)["gnc3_centred"] is None
    for size in (1e-200, 1e200):
        centred = gnc3_forms(size * code, moments.means)["gnc3_centred"]
        assert centred == pytest.approx(0.0, abs=1e-15)
    alone = moments_of(code[labels], np.zeros_like(labels), 1)
    assert gnc1_forms(alone.within_cov(), alone.means)["gnc1_centred"] is None
    assert gnc3_forms(code[:1], alone.means)["gnc3_centred"] is None


def test_tiny_angles_keep_their_digits() -> None:
    """Weights 1e-9 off their means: 1 - cos would round to 0 or 1.1e-16, the chord says 5e-19."""
    code = orthoplex(2)
    turned = code + 1e-9 * code[:, ::-1] * np.array([1.0, -1.0])
    assert gnc3_forms(turned, code)["gnc3_centred"] == pytest.approx(5e-19, rel=1e-6)


def test_what_is_orthogonal_to_the_classes_deviates_by_nothing() -> None:
    """Classes in a plane; other data across it, along a class, and of mean zero."""
    means = np.array([[1.0, 0.0, 0.0], [0.0, 5.0, 0.0], [-2.0, 0.0, 0.0]])
    ours = moments_of(means, np.arange(3), 4)  # a fourth class has no sample
    for other, expected in (
        ([[0.0, 0.0, 3.0]], 0.0),
        ([[0.0, 2.0, 0.0]], 1 / 3),
        ([[1.0, 1.0, 0.0]], 0.5**0.5),
        ([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], None),
    ):
        found = neco(ours, moments_of(np.array(other), np.zeros(len(other), dtype=int), 1))
        assert found.orthogonality_deviation == (
            None if expected is None else pytest.approx(expected, abs=1e-15)
        )
        assert found.ood_samples == len(other)
