"""NC1, NC2, NC3, CDNV, energies: closed forms, what is undefined, where digits could be lost."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.metrics import nc2, pairs
from gnc_cli.metrics.cdnv import Cdnv
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.classic import classic
from gnc_cli.metrics.energies import Energies, effective_rank
from gnc_cli.metrics.nc2 import Angles, equinorm, etf_error
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.sphere import normalise, random_points
from tests.metrics import reference
from tests.problems import orthoplex, polygon, random_rotation, simplex

WEIGHTS_ONLY = {
    "nc2_equinorm_weights", "nc2_etf_error_weights", "nc3", "nc3_dual_etf_error",
    "log_energy_weights", "riesz_energy_weights", "effective_rank_weights", "pair_rows_weights",
}  # fmt: skip


def moments_of(features: np.ndarray, labels: np.ndarray, K: int) -> ClassMoments:
    moments = ClassMoments(features.shape[1], K)
    moments.update(features, labels)
    return moments


def energies_of(X: np.ndarray) -> Energies:
    energies = Energies()
    for tile in pairs.pair_tiles(X):
        energies.add(tile)
    return energies


def cdnv_of(means: np.ndarray, spread: np.ndarray) -> float | None:
    cdnv = Cdnv(spread)
    for tile in pairs.pair_tiles(means):
        cdnv.add(tile)
    return cdnv.value


def angles_of(M: np.ndarray) -> Angles:
    angles = Angles(M)
    for tile in pairs.pair_tiles(M):
        angles.add(tile)
    return angles


@pytest.mark.parametrize("d, K", [(4, 5), (6, 3), (1, 2), (40, 41)])
@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_a_perfect_simplex_is_collapsed(d: int, K: int, offset: float) -> None:
    """h = w up to scale and a common offset, which centring takes away."""
    W = 2.5 * simplex(d, K)
    labels = np.repeat(np.arange(K), 4)
    found = classic(moments_of(W[labels] + offset, labels, K), W)
    zeros = {
        "nc1", "nc1_trace_quotient", "cdnv", "nc2_equinorm_means", "nc2_equinorm_weights",
        "nc2_equiangularity", "nc2_max_angle", "nc2_etf_error", "nc2_etf_error_weights", "nc3",
        "nc3_dual_etf_error",
    }  # fmt: skip
    assert {key: found[key] for key in zeros} == pytest.approx(dict.fromkeys(zeros, 0.0), abs=4e-14)
    chord = math.sqrt(2.0 * K / (K - 1))
    assert found["log_energy_weights"] == pytest.approx(-math.log(chord), abs=1e-13)
    assert found["riesz_energy_weights"] == pytest.approx(1.0 / chord)
    assert found["effective_rank_weights"] == pytest.approx(K - 1)
    if offset == 0.0:
        assert found["log_energy"] == pytest.approx(-math.log(chord), abs=1e-13)
        assert found["effective_rank_means"] == pytest.approx(K - 1)


def test_energies_and_ranks_of_known_codes() -> None:
    for K in (3, 8, 700):
        # Kirchhoff: the product of the chords from one corner of a regular K-gon is K.
        assert energies_of(polygon(K)).log == pytest.approx(-math.log(K) / (K - 1), rel=1e-12)
    d = 7
    cross = energies_of(orthoplex(d))
    assert cross.riesz == pytest.approx(((2 * d - 2) / math.sqrt(2.0) + 0.5) / (2 * d - 1))
    assert effective_rank(orthoplex(d)) == pytest.approx(d)
    assert effective_rank(np.outer([1.0, 2.0, -3.0], [1.0, 1.0])) == pytest.approx(1.0)


def test_cdnv_of_two_classes() -> None:
    means = np.array([[0.0, 0.0], [3.0, 4.0]])
    assert cdnv_of(means, np.array([2.0, 8.0])) == pytest.approx(10.0 / 50.0)


def test_nearly_equal_rows_keep_their_digits(rng: np.random.Generator) -> None:
    """Distances of 1e-9 between rows of length 1: the Gram form has no digit of their squares."""
    X = rng.standard_normal((6, 5))
    X[3] = X[0] + np.array([1e-9, 0.0, 0.0, 0.0, 0.0])
    apart = X[3, 0] - X[0, 0]
    assert np.linalg.norm(X[3] - X[0]) == apart
    exact = reference.log_energy(X)
    assert energies_of(X).log == pytest.approx(exact, rel=1e-12)
    assert energies_of(X).riesz == pytest.approx(reference.riesz_energy(X), rel=1e-12)
    pair = 2.0 / (2.0 * apart**2) / 15.0
    assert cdnv_of(X, np.ones(6)) == pytest.approx(pair, rel=1e-9)


@pytest.mark.parametrize("noise", [1e-3, 1e-7, 1e-9, 1e-12])
def test_etf_error_near_collapse(noise: float, rng: np.random.Generator) -> None:
    """Twice the noise, twice the error: `2 - 2 cos` alone would stop near 2e-8."""
    d = 30
    first, second = rng.standard_normal((2, d + 1, d))
    values = [
        etf_error(simplex(d) + s * noise * first, simplex(d) + s * noise * second) for s in (1, 2)
    ]
    assert 0.1 * noise < values[0] < 10.0 * noise  # type: ignore[operator]
    assert values[1] == pytest.approx(2.0 * values[0], rel=max(2e-3, 3.0 * noise))
    opposite = etf_error(simplex(d) + noise * first, -simplex(d))
    assert opposite == pytest.approx(2.0, abs=10.0 * noise**2 + 1e-14)


def test_etf_error_in_blocks(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = rng.standard_normal((2, 9, 12))
    monkeypatch.setattr(nc2, "_BLOCK", 20)
    assert etf_error(X, Y) == pytest.approx(reference.etf_error(X @ Y.T), rel=1e-13)


@given(st.integers(2, 30), st.integers(1, 8), st.integers(0, 999))
def test_etf_error_by_definition(K: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((2, K, d))
    assert etf_error(X, Y) == pytest.approx(reference.etf_error(X @ Y.T), rel=1e-12)
    assert etf_error(X, X) == pytest.approx(reference.etf_error(X @ X.T), rel=1e-12)
    if K - 1 > d:
        # A has rank d at most, the target K - 1 equal singular values.
        least = math.sqrt((K - 1 - d) / (K - 1))
        assert etf_error(X, X) >= least - 1e-12  # type: ignore[operator]


def test_many_small_tiles_give_what_one_tile_gives(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, spread = rng.standard_normal((41, 5)), rng.uniform(0.0, 1.0, 41)
    X[17] = X[2] + 1e-8
    whole = energies_of(X), cdnv_of(X, spread), angles_of(X)
    monkeypatch.setattr(pairs, "_SIDE", 7)
    monkeypatch.setattr(pairs, "_DIFFERENCES", 1)
    parts = energies_of(X), cdnv_of(X, spread), angles_of(X)
    assert sum(tile.pairs for tile in pairs.pair_tiles(X)) == 41 * 40
    assert parts[1] == pytest.approx(whole[1], rel=1e-12)
    for name in ("log", "riesz"):
        assert getattr(parts[0], name) == pytest.approx(getattr(whole[0], name), rel=1e-12)
    for name in ("equiangularity", "max_angle"):
        assert getattr(parts[2], name) == pytest.approx(getattr(whole[2], name), rel=1e-12)


def test_a_sample_of_rows_against_all(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, spread = rng.standard_normal((90, 4)), rng.uniform(0.0, 1.0, 90)
    everything = energies_of(X).log
    monkeypatch.setattr(pairs, "_ALL_ROWS", 60)
    monkeypatch.setattr(pairs, "_SAMPLED_PAIRS", 1800)
    monkeypatch.setattr(pairs, "_SIDE", 8)
    assert pairs.pair_rows(90) == 20
    tiles = list(pairs.pair_tiles(X, seed=3))
    rows = sorted(set(np.concatenate([tile.rows for tile in tiles]).tolist()))
    assert len(rows) == 20 and sum(tile.pairs for tile in tiles) == 20 * 89
    chords = [np.linalg.norm(X[k] - X[j]) for k in rows for j in range(90) if j != k]
    sampled, cdnv = Energies(), Cdnv(spread)
    for tile in tiles:
        sampled.add(tile)
        cdnv.add(tile)
    assert sampled.log == pytest.approx(-np.mean(np.log(chords)), rel=1e-12)
    assert sampled.log == pytest.approx(everything, abs=0.2)
    terms = [
        (spread[k] + spread[j]) / (2.0 * np.sum((X[k] - X[j]) ** 2))
        for k in rows for j in range(90) if j != k
    ]  # fmt: skip
    assert cdnv.value == pytest.approx(np.mean(terms), rel=1e-12)
    labels = np.arange(90)
    first, again = (classic(moments_of(X, labels, 90), X, seed=5) for _ in range(2))
    assert first == again and first["pair_rows"] == first["pair_rows_weights"] == 20


def test_no_matrix_of_all_pairs(rng: np.random.Generator) -> None:
    K, d = 4000, 8
    W = random_points(rng, K, d)
    moments = moments_of(W, np.arange(K), K)
    tracemalloc.start()
    classic(moments, W)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * K * K / 4


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


def test_means_of_other_data(rng: np.random.Generator) -> None:
    """Training means of all five classes, with no test sample of class 2: every number by hand."""
    train, y = rng.standard_normal((50, 3)) + 1.0, np.repeat(np.arange(5), 10)
    test, labels = rng.standard_normal((32, 3)), np.repeat([0, 1, 3, 4], 8)
    W = rng.standard_normal((6, 3))
    fitted = moments_of(train, y, 6)
    moments = ClassMoments(3, 6, centres=fitted.means)
    moments.update(test, labels)
    found = classic(moments, W, means_of=fitted)
    m = np.array([train[y == k].mean(axis=0) for k in range(5)])
    M = m - m.mean(axis=0)
    deviations = test - m[labels]
    within, between = deviations.T @ deviations / 32, M.T @ M / 5
    by_hand = {
        "nc1": np.trace(within @ np.linalg.pinv(between)) / 5,
        "nc1_trace_quotient": np.trace(within) / np.trace(between),
    }
    assert {key: found[key] for key in by_hand} == pytest.approx(by_hand, rel=1e-10)
    slow = reference.classic(test, labels, W, reference.class_means(train, y))
    assert {key: found[key] for key in slow} == pytest.approx(slow, rel=1e-10)
    of_means = found.keys() - {"nc1", "nc1_trace_quotient", "cdnv"}
    of_train = classic(fitted, W)
    assert {key: found[key] for key in of_means} == {key: of_train[key] for key in of_means}


def test_cdnv_leaves_out_the_pairs_of_classes_without_test_samples() -> None:
    """Classes 1 and 2, without test samples, have one mean: no quotient of theirs is undefined."""
    means = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    fitted = moments_of(means, np.arange(4), 4)
    moments = ClassMoments(2, 4, centres=fitted.means)
    moments.update(np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([0, 3]))
    found = classic(moments, None, means_of=fitted)
    assert found["cdnv"] == pytest.approx((1.0 + 9.0) / (2.0 * 4.0))
    assert found["nc2_equinorm_means"] == pytest.approx(reference.equinorm(means - means.mean(0)))


@pytest.mark.parametrize("side", [3, 512])
def test_tiles_among_some_rows(
    side: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of the tiles of all rows is the pairs of the rows kept."""
    monkeypatch.setattr(pairs, "_SIDE", side)
    X, spread = rng.standard_normal((11, 4)), rng.random(11)
    keep = np.isin(np.arange(11), [1, 2, 3, 4, 8, 10])
    some, few = Cdnv(spread), Cdnv(spread[keep])
    for tile in pairs.pair_tiles(X):
        some.add(tile.among(keep))
    for tile in pairs.pair_tiles(X[keep]):
        few.add(tile)
    assert some.value == pytest.approx(few.value, rel=1e-12)


def test_laws(rng: np.random.Generator) -> None:
    """Turning, scaling and renaming change nothing but rounding."""
    K, d = 6, 4
    features, labels = rng.standard_normal((40, d)), rng.integers(0, K, 40)
    W = rng.standard_normal((K, d))
    Q, names = random_rotation(rng, d), rng.permutation(K)
    back = np.argsort(names)
    first = classic(moments_of(features, labels, K), W)
    turned = classic(moments_of(3.0 * features @ Q, names[labels], K), 0.2 * (W @ Q)[back])
    for key, value in first.items():
        assert turned[key] == pytest.approx(value, rel=1e-10), key


def test_energies_and_rank_of_weights_are_of_unit_rows(rng: np.random.Generator) -> None:
    moments = moments_of(rng.standard_normal((8, 3)), np.arange(8) % 4, 4)
    W = rng.standard_normal((4, 3)) * np.array([[1.0], [5.0], [0.1], [1e-170]])
    found = classic(moments, W)
    assert found["log_energy_weights"] == pytest.approx(reference.log_energy(normalise(W)))
    assert found["riesz_energy_weights"] == pytest.approx(reference.riesz_energy(normalise(W)))
    assert found["effective_rank_weights"] == pytest.approx(effective_rank(normalise(W)))
    W[2] = 0.0
    found = classic(moments, W)
    unknown = {"log_energy_weights", "riesz_energy_weights", "effective_rank_weights"}
    assert {key for key in WEIGHTS_ONLY if found[key] is None} == unknown | {"pair_rows_weights"}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-120, 1e120, 1e200, 1e300])
def test_numbers_do_not_depend_on_the_scale(size: float, rng: np.random.Generator) -> None:
    features, labels = rng.standard_normal((30, 4)), np.arange(30) % 5
    W = rng.standard_normal((5, 4))
    plain = classic(moments_of(features, labels, 5), W)
    assert classic(moments_of(features, labels, 5), size * W) == pytest.approx(plain, rel=1e-12)
    with np.errstate(all="ignore"):  # the squares that the moments sum
        moments = moments_of(size * features, labels, 5)
        large = classic(moments, W)
    # Beyond the range of squares nothing can be said of the spread; and nothing wrong is said.
    if not 1e-140 < size < 1e140:
        assert large.pop("nc1") is large.pop("nc1_trace_quotient") is large.pop("cdnv") is None
    assert large == pytest.approx({key: plain[key] for key in large}, rel=1e-12)


def test_the_deadline_is_polled(rng: np.random.Generator) -> None:
    moments = moments_of(rng.standard_normal((4, 2)), np.arange(4), 4)
    with pytest.raises(TimeoutError, match="pair"):
        classic(moments, None, deadline=Deadline(0.0))
    with pytest.raises(TimeoutError, match="rank"):
        effective_rank(np.eye(3), deadline=Deadline(0.0))
    assert equinorm(np.zeros((3, 2))) is None
