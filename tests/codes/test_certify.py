"""Certificates, rattlers and contacts: known answers, brute force, a conic solver, invariance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gnc_cli.codes.certify as module
from gnc_cli.codes.certify import Certificate, certify_code, contact_pairs, one_vs_one_rattlers
from gnc_cli.errors import DataError
from gnc_cli.geometry.gram import row_maxima
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.sphere import normalise, pair_chords, random_points
from gnc_cli.metrics.gnc2 import gnc2_detail
from gnc_cli.runtime.deadline import Deadline
from tests.geometry.test_min_norm_point import witness
from tests.problems import WITH_POINTS, Problem, icosahedron, polygon, random_rotation

sizes = st.tuples(st.integers(2, 30), st.integers(2, 7), st.integers(0, 999))


def certified(code: np.ndarray, **options: object) -> Certificate:
    return certify_code(code, **({"tolerance": 1e-7} | options))  # type: ignore[arg-type]


@pytest.mark.parametrize("known", WITH_POINTS, ids=str)
def test_known_answers(known: Problem) -> None:
    assert known.points is not None
    found = certified(known.points())
    assert found.max_cosine == pytest.approx(known.max_cosine, abs=1e-14)
    assert np.cos(found.min_angle) == pytest.approx(known.max_cosine, abs=1e-14)
    assert found.rho_one_vs_one**2 == pytest.approx(2 - 2 * known.max_cosine, abs=1e-14)
    rho = found.rho_one_vs_rest
    assert rho.lower - 1e-14 <= known.rho <= rho.upper + 1e-14 and rho.width <= 1e-12
    if known.rattlers is not None:
        assert found.rattlers.one_vs_one == known.rattlers
        assert found.rattlers.one_vs_rest == 0
    if known.contacts is not None:
        assert found.contact_pairs is not None
        assert len(found.contact_pairs) == known.contacts


@given(sizes)
def test_brute_force_and_invariance(size: tuple[int, int, int]) -> None:
    K, d, seed = size
    rng = np.random.default_rng(seed)
    W = random_points(rng, K, d)
    found = certified(W)
    gram = W @ W.T - 3.0 * np.eye(K)
    assert found.max_cosine == pytest.approx(gram.max(), abs=1e-15)
    chords = np.linalg.norm(W[:, None] - W[None], axis=2) + 3.0 * np.eye(K)
    assert found.rho_one_vs_one == pytest.approx(chords.min(), abs=1e-14)
    assert np.array_equal(found.rattles_one_vs_one, chords.min(axis=1) > chords.min() + 1e-7)
    assert found.contact_pairs is not None
    assert len(found.contact_pairs) == (chords[np.triu_indices(K, 1)] <= chords.min() + 1e-7).sum()
    rho = found.rho_one_vs_rest
    assert 0.0 <= rho.lower <= rho.upper
    assert rho.upper >= 1.0 - found.max_cosine - 1e-13
    other = certified((W @ random_rotation(rng, d))[rng.permutation(K)])
    assert other.max_cosine == pytest.approx(found.max_cosine, abs=1e-14)
    assert other.rho_one_vs_rest.lower == pytest.approx(rho.lower, abs=1e-12)
    assert other.rattlers == found.rattlers


def test_the_minimum_alone_agrees_with_every_class(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    W = random_points(rng, 60, 6)
    gram = W @ W.T - 3.0 * np.eye(60)
    every, again = certified(W), certified(W, row_max=gram.max(axis=1))
    assert every.features is not None
    assert again.rho_one_vs_one == pytest.approx(every.rho_one_vs_one, abs=1e-12)
    assert again.rattlers == every.rattlers
    monkeypatch.setattr(module, "EVERY_CLASS", 59)
    least = certified(W)
    assert least.features is None and least.classes is None and not least.undecided
    assert least.rattlers.one_vs_rest is None and least.contact_pairs is None
    assert least.rho_one_vs_rest.lower == pytest.approx(every.rho_one_vs_rest.lower, abs=1e-12)


def test_rattlers_of_both_kinds_are_counted_apart() -> None:
    """Two rows close together hold each other; the two far ones are free."""
    code = normalise(
        np.array(
            [
                [1.0, 0.0, 0.0],
                [0.9, 0.5, 0.0],
                [-0.1, -0.2, 1.0],
                [-1.0, 0.0, -0.5],
            ]
        )
    )
    found = certified(code)
    assert list(found.rattles_one_vs_one) == [False, False, True, True]
    assert found.classes is not None
    distances = [witness(code[k] - np.delete(code, k, axis=0)) for k in range(4)]
    assert list(found.classes.rattles) == list(np.array(distances) > min(distances) + 1e-6)
    assert found.rattlers.one_vs_one == 2
    assert found.rattlers.one_vs_rest == found.classes.rattles.sum()


@pytest.mark.parametrize("spoilt", [np.nan, np.inf, 0.5])
def test_rows_must_be_unit(spoilt: float) -> None:
    code = icosahedron()
    code[3] = spoilt
    with pytest.raises(DataError):
        certified(code)


def test_tolerance_is_a_distance() -> None:
    """Chords 1 and 1 + 1e-6: apart for a tolerance below, together above."""
    a, b = 2.0 * np.arcsin(np.array([1.0, 1.0 + 1e-6]) / 2.0)
    t = np.array([0.0, a, a + b])
    W = np.stack([np.cos(t), np.sin(t)], axis=1)
    row_max = row_maxima(W)[0]
    assert np.array_equal(one_vs_one_rattlers(row_max, 0.9e-6), [False, False, True])
    assert not one_vs_one_rattlers(row_max, 1.1e-6).any()
    assert np.array_equal(contact_pairs(W, 0.9e-6), [[0, 1]])
    assert np.array_equal(contact_pairs(W, 1.1e-6), [[0, 1], [1, 2]])


@given(st.integers(2, 60), st.integers(2, 9), st.sampled_from([1, 7, 1024]), st.integers(0, 99))
def test_contacts_are_the_pairs_within_the_tolerance(K: int, d: int, side: int, seed: int) -> None:
    """In tiles of any side; a tolerance that ends just at a pair's chord is met by that pair."""
    W = random_points(np.random.default_rng(seed), K, d)
    i, j = np.triu_indices(K, 1)
    chords = pair_chords(W, i, j)
    tolerance = float(np.quantile(chords, 0.3, method="nearest") - chords.min())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gnc_cli.codes.certify._SIDE", side)
        pairs = contact_pairs(W, tolerance)
    within = chords <= chords.min() + tolerance
    assert np.array_equal(pairs, np.stack([i[within], j[within]], axis=1))


def test_without_time_the_closest_pair_is_proved(rng: np.random.Generator) -> None:
    W = random_points(rng, 60, 4)
    found = certified(W, deadline=Deadline(0.0))
    rho = found.rho_one_vs_rest
    assert rho.lower == pytest.approx(1.0 - found.max_cosine, abs=1e-13)
    assert rho.lower <= one_vs_rest(W).lower.min() <= rho.upper
    assert found.classes is not None
    assert found.classes.lower == pytest.approx(1.0 - row_maxima(W)[0], abs=1e-13)


def test_what_was_not_decided_is_never_0(rng: np.random.Generator) -> None:
    """Whenever the deadline strikes, the rattlers are all counted or none, and the features are
    optimal or missing."""
    W = random_points(rng, 300, 4)
    whole, exact = certified(W), one_vs_rest(W)
    assert whole.rattlers.one_vs_rest == 299
    counts = set()
    for ticks in (0, 5, 100, 200, 400, 10**6):
        clock = iter(range(10**7))
        deadline = Deadline(ticks, clock=lambda clock=clock: float(next(clock)))
        found = certified(W, deadline=deadline)
        counts.add(found.rattlers.one_vs_rest)
        assert found.undecided == (found.rattlers.one_vs_rest is None)
        if found.features is not None:
            margins = np.einsum("kd,kd->k", W, found.features) - (
                found.features @ W.T - 9.0 * np.eye(300)
            ).max(axis=1)
            assert margins == pytest.approx(exact.upper, abs=1e-9)
    assert counts == {None, 299}


def test_an_unproved_rattler_is_none() -> None:
    """Only a bracket that lies wholly above the minimum counts."""
    W = np.delete(polygon(8), 7, axis=0)
    plain = gnc2_detail(W)
    excess = float(plain.lower[0] - plain.bracket.upper)
    assert excess > 0.0
    assert gnc2_detail(W, rattler_tolerance=excess * 0.999).rattles[0]
    assert not gnc2_detail(W, rattler_tolerance=excess * 1.001).rattles[0]
