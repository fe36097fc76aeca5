"""Codes are recognised under any rotation, order and noise; others, however similar, are not."""

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gnc_cli.codes import congruence as module
from gnc_cli.codes.congruence import (
    Congruence,
    Undecided,
    congruence,
    distribution,
    fingerprint,
)
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.runtime.deadline import Deadline
from tests.problems import (
    WITH_POINTS,
    Problem,
    antiprism,
    cell24,
    e8_roots,
    hemicube,
    icosahedron,
    orthoplex,
    random_rotation,
    simplex,
)


def scrambled(W: np.ndarray, seed: int = 0, noise: float = 1e-9) -> np.ndarray:
    """W rotated, reordered, and moved a little."""
    rng = np.random.default_rng(seed)
    moved = W @ random_rotation(rng, W.shape[1]) + noise * rng.standard_normal(W.shape)
    return normalise(moved)[rng.permutation(len(W))]


def matched(A: np.ndarray, B: np.ndarray, **options: object) -> Congruence:
    """The congruence, which must be found, checked against what it claims."""
    found = congruence(A, B, **options)  # type: ignore[arg-type]
    assert isinstance(found, Congruence)
    assert sorted(found.permutation) == list(range(len(A)))
    away = np.linalg.norm(A @ found.rotation - B[found.permutation], axis=1).max()
    assert away == pytest.approx(found.deviation, abs=1e-12)
    return found


def eigenspace_code(adjacency: np.ndarray, dimension: int) -> np.ndarray:
    """Vertices projected on the eigenspace of this dimension: equal angles along edges."""
    values, vectors = np.linalg.eigh(adjacency.astype(float))
    levels, counts = np.unique(values.round(6), return_counts=True)
    level = levels[counts == dimension][0]
    return normalise(vectors[:, np.abs(values - level) < 1e-6])


def cayley_graph(steps: set[tuple[int, int]]) -> np.ndarray:
    """The graph on Z4 x Z4 that joins vertices with these differences."""
    grid = list(itertools.product(range(4), repeat=2))
    return np.array([[((x[0] - y[0]) % 4, (x[1] - y[1]) % 4) in steps for y in grid] for x in grid])


ROOK = cayley_graph({(0, k) for k in (1, 2, 3)} | {(k, 0) for k in (1, 2, 3)})
SHRIKHANDE = cayley_graph({(0, 1), (0, 3), (1, 0), (3, 0), (1, 1), (3, 3)})


@cache
def chang() -> tuple[np.ndarray, ...]:
    """T(8) and the three Chang graphs, by Seidel's switching: equal parameters (28, 12, 6, 4)."""
    edges = list(itertools.combinations(range(8), 2))
    triangular = np.array([[len({*x} & {*y}) == 1 for y in edges] for x in edges])
    matching = [(0, 1), (2, 3), (4, 5), (6, 7)]
    octagon = [(i, (i + 1) % 8) for i in range(8)]
    circles = [(0, 1), (1, 2), (0, 2)] + [(3 + i, 3 + (i + 1) % 5) for i in range(5)]
    graphs = [triangular]
    for subset in (matching, octagon, circles):
        inside = np.isin(np.arange(28), [edges.index((min(e), max(e))) for e in subset])
        graphs.append(triangular ^ (inside[:, None] != inside))
    return tuple(graphs)


@pytest.mark.parametrize("problem", WITH_POINTS, ids=str)
def test_known_codes_recognise_themselves(problem: Problem) -> None:
    W = problem.points()  # type: ignore[misc]
    found = matched(W, scrambled(W, seed=problem.K))
    assert found.deviation < 2e-8
    assert found.rotation @ found.rotation.T == pytest.approx(np.eye(problem.d), abs=1e-12)


@given(st.integers(2, 60), st.integers(2, 12), st.integers(0, 10**6), st.floats(1e-13, 1e-8))
def test_any_code_is_recognised(K: int, d: int, seed: int, noise: float) -> None:
    W = random_points(np.random.default_rng(seed), K, d)
    assert matched(W, scrambled(W, seed + 1, noise)).deviation < 20.0 * noise + 1e-12


@given(
    st.sampled_from([icosahedron, antiprism, cell24, hemicube, e8_roots]),
    st.integers(0, 10**6),
    st.floats(1e-5, 0.1),
)
def test_one_moved_row_is_seen(code: type, seed: int, by: float) -> None:
    W = code()
    moved = scrambled(W, seed)
    row = normalise(moved[0] + by * np.random.default_rng(seed).standard_normal(W.shape[1]))
    assume(np.linalg.norm(row - moved[0]) > 1e-5)
    moved[0] = row
    assert congruence(W, moved) is None


@given(st.integers(4, 40), st.integers(3, 8), st.integers(0, 10**6))
def test_codes_with_duplicates(K: int, d: int, seed: int) -> None:
    W = random_points(np.random.default_rng(seed), K, d)
    W = np.concatenate([W, W[:2], W[:1]])
    assert matched(W, scrambled(W, seed, noise=1e-10)).deviation < 1e-8


@pytest.mark.parametrize("dimension", [6, 9])
def test_rook_and_shrikhande(dimension: int) -> None:
    """Strongly regular graphs with equal parameters: equal distance distributions, other codes."""
    rook, shrikhande = (eigenspace_code(g, dimension) for g in (ROOK, SHRIKHANDE))
    assert np.sort(rook @ rook.T, axis=None) == pytest.approx(
        np.sort(shrikhande @ shrikhande.T, axis=None), abs=1e-12
    )
    assert congruence(rook, shrikhande) is None
    for W in (rook, shrikhande):
        matched(W, scrambled(W))


@pytest.mark.parametrize("dimension", [7, 20])
@pytest.mark.parametrize(("i", "j"), [(i, j) for j in range(4) for i in range(j + 1)])
def test_chang_graphs(dimension: int, i: int, j: int) -> None:
    A, B = (eigenspace_code(chang()[g], dimension) for g in (i, j))
    found = congruence(A, scrambled(B))
    assert isinstance(found, Congruence) if i == j else found is None


def hadamard_codes() -> tuple[np.ndarray, np.ndarray]:
    """Signed rows of the identity and of a Hadamard matrix of order 16, from two of the five
    classes: Sylvester's, and his with a block of four rows switched (M. Hall 1961)."""
    sylvester = np.ones((1, 1))
    for _ in range(4):
        sylvester = np.block([[sylvester, sylvester], [sylvester, -sylvester]])
    switched = sylvester.copy()
    equal = (sylvester[1:4] == sylvester[0]).all(axis=0)
    switched[:4, equal] *= -1.0
    assert np.array_equal(switched @ switched.T, 16.0 * np.eye(16))
    first, second = (
        np.vstack([np.eye(16), -np.eye(16), H / 4.0, -H / 4.0]) for H in (sylvester, switched)
    )
    return first, second


def test_many_symmetries_and_no_congruence() -> None:
    """64 rows each, one orbit of a large group: one failure must speak for all its images."""
    sylvester, switched = hadamard_codes()
    for W in (sylvester, switched):
        matched(W, scrambled(W))
    assert np.array_equal(
        np.sort(sylvester @ sylvester.T, axis=1), np.sort(switched @ switched.T, axis=1)
    )
    assert congruence(switched, scrambled(sylvester)) is None


def test_hardly_more_than_the_tolerance_is_left_open() -> None:
    W = e8_roots()
    noisy = scrambled(W, noise=1e-6)
    deviation = matched(W, noisy, tolerance=1e-4).deviation
    matched(W, noisy, tolerance=1.01 * deviation)
    for factor in (0.9, 0.3):
        found = congruence(W, noisy, tolerance=factor * deviation)
        assert isinstance(found, Undecided) and "near the tolerance" in found.reason
    assert congruence(W, noisy, tolerance=0.01 * deviation) is None


def test_mirror_images_are_one() -> None:
    W = random_points(np.random.default_rng(5), 9, 4)
    mirrored = W * np.array([1.0, 1.0, 1.0, -1.0])
    assert np.linalg.det(matched(W, mirrored).rotation) == pytest.approx(-1.0)


def test_subspaces_and_dimensions() -> None:
    """A square in the plane, in space, and a simplex of the same size."""
    square, tetrahedron = orthoplex(2), simplex(3)
    wide = square @ random_rotation(np.random.default_rng(1), 3)[:2]
    assert matched(square, wide).rotation.shape == (2, 3)
    assert matched(wide, square).rotation.shape == (3, 2)
    assert congruence(wide, tetrahedron) is None
    assert congruence(square, np.delete(wide, 0, axis=0)) is None


@pytest.mark.parametrize("effort", [1.0, 1e8])
def test_giving_up_is_no_verdict(effort: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_EFFORT", effort)
    A, B = (eigenspace_code(g, 6) for g in (ROOK, SHRIKHANDE))
    found = congruence(A, B, deadline=Deadline(0.0) if effort > 1.0 else None)
    assert isinstance(found, Undecided) and "cut short" in found.reason


def test_rows_closer_than_the_tolerance_are_not_told_apart() -> None:
    """Clusters of rows 1e-8 apart, moved by 1e-5: neither same nor provably different."""
    rng = np.random.default_rng(8)
    W = normalise(np.repeat(np.eye(3), 4, axis=0) + 1e-8 * rng.standard_normal((12, 3)))
    matched(W, scrambled(W, noise=1e-10))
    apart = normalise(np.repeat(np.eye(3), 4, axis=0) + 1e-5 * rng.standard_normal((12, 3)))
    assert not isinstance(congruence(W, apart), Congruence)


def test_beyond_the_codes_of_the_gram_matrix(rng: np.random.Generator) -> None:
    """8000 rows: recognised from a few rows' inner products alone."""
    W = random_points(rng, 8000, 6)
    B = scrambled(W)
    matched(W, B)
    B[17] = normalise(B[17] + 1e-3)
    assert congruence(W, B) is None


def test_a_tolerance_that_fixes_no_row_is_undecided() -> None:
    W = icosahedron()
    assert isinstance(congruence(W, W[::-1], tolerance=0.01), Undecided)


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
    """Icosahedron and roots of E8, Conway and Sloane's SPLAG, chapter 14: neighbours per row."""
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
    assert distribution(W, max_values=1769) is None
    found = distribution(W, max_values=1770, tolerance=0.0)
    assert found is not None and len(found[0]) == 1770
    for question in (distribution, fingerprint):
        with pytest.raises(TimeoutError):
            question(W, deadline=Deadline(0.0))
