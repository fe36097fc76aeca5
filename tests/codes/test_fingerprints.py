"""Fingerprints and distributions: the same in any frame and order, different for other codes."""

import numpy as np
import pytest
from gnc_cli.codes.fingerprints import distribution, fingerprint
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.codes.congruence import Congruence, congruence
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.runtime.deadline import Deadline
from tests.problems import WITH_POINTS, Problem, e8_roots, icosahedron, random_rotation


def upper(W: np.ndarray) -> np.ndarray:
    return (W @ W.T)[np.triu_indices(len(W), 1)]


@given(st.integers(2, 50), st.integers(2, 8), st.integers(0, 10**6))
def test_invariance(K: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    W = random_points(rng, K, d)
    turned = (W @ random_rotation(rng, d))[rng.permutation(K)]
    noisy = normalise(turned + 1e-9 * rng.standard_normal(W.shape))
    assert fingerprint(W).agrees(fingerprint(noisy))
    if K > 2:
        moved = noisy.copy()
        moved[0] = normalise(-moved[0] + 0.3 * moved[1])
        assert not fingerprint(W).agrees(fingerprint(moved))


@pytest.mark.parametrize("problem", WITH_POINTS, ids=str)
def test_moments_by_definition(problem: Problem) -> None:
    W = problem.points()  # type: ignore[misc]
    found = fingerprint(W)
    assert found.K == problem.K
    expected = [np.mean(upper(W) ** p) for p in range(1, 7)]
    assert found.moments == pytest.approx(expected, abs=1e-11)


def test_prints_agree_where_codes_do() -> None:
    """Four points of a simplex stand in the list twice, in R^3 and in R^10."""
    codes = [p.points() for p in WITH_POINTS]  # type: ignore[misc]
    twins = 0
    for i, A in enumerate(codes):
        for B in codes[:i]:
            same = isinstance(congruence(A, B), Congruence)
            assert fingerprint(A).agrees(fingerprint(B)) == same
            twins += same
    assert twins == 1


def test_many_rows_compare_by_two_moments(rng: np.random.Generator) -> None:
    W = random_points(rng, 6001, 3)
    found = fingerprint(W)
    assert len(found.moments) == 2
    sums = np.linalg.norm(W.sum(0)) ** 2 - 6001, np.linalg.norm(W.T @ W) ** 2 - 6001
    assert found.moments == pytest.approx(np.array(sums) / (6001 * 6000), abs=1e-11)
    assert found.agrees(fingerprint(W[::-1]))


def test_distributions_of_the_literature() -> None:
    """Icosahedron and the roots of E8, Conway and Sloane's SPLAG, chapter 14: neighbours a row."""
    found = distribution(icosahedron())
    assert found is not None
    assert found[0] == pytest.approx([5**-0.5, -(5**-0.5), -1.0], abs=1e-15)
    assert found[1].tolist() == [12 * 5 // 2, 12 * 5 // 2, 6]
    found = distribution(e8_roots())
    assert found is not None
    assert found[0] == pytest.approx([0.5, 0.0, -0.5, -1.0], abs=1e-15)
    assert found[1].tolist() == [240 * n // 2 for n in (56, 126, 56, 1)]


@given(st.integers(2, 80), st.integers(2, 6), st.integers(0, 10**6))
def test_distribution_holds_every_pair(K: int, d: int, seed: int) -> None:
    W = random_points(np.random.default_rng(seed), K, d)
    found = distribution(W, tolerance=1e-9)
    assert found is not None
    assert found[1].sum() == K * (K - 1) // 2
    again = np.repeat(found[0], found[1])
    assert again == pytest.approx(np.sort(upper(W))[::-1], abs=1e-8)


def test_several_tiles_and_noise(rng: np.random.Generator) -> None:
    """Six clusters of 200 rows a little apart: tiles meet values in any order."""
    W = np.repeat(icosahedron()[:6], 200, axis=0)
    W = normalise(W + 1e-10 * rng.standard_normal(W.shape))
    found = distribution(W)
    assert found is not None
    entries = upper(W).round(6)
    values, counts = np.unique(entries, return_counts=True)
    assert found[0] == pytest.approx(values[::-1], abs=1e-6)
    assert found[1].tolist() == counts[::-1].tolist()


def test_too_many_values_and_deadline(rng: np.random.Generator) -> None:
    W = random_points(rng, 60, 5)
    assert distribution(W, most=1769) is None
    found = distribution(W, most=1770, tolerance=0.0)
    assert found is not None and len(found[0]) == 1770
    for question in (distribution, fingerprint):
        with pytest.raises(TimeoutError):
            question(W, deadline=Deadline(0.0))
