"""Blocked questions to the Gram matrix give the same answers as the matrix itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from gnc_cli.geometry import gram as module
from gnc_cli.geometry.gram import (
    candidate_pairs,
    closest_pair,
    contacts,
    max_abs_cosine,
    max_cosine,
    mean_square_cosine,
    row_maxima,
    welch,
    without_contacts,
)
from gnc_cli.geometry.sphere import normalise, pair_cosines, random_points
from gnc_cli.runtime.deadline import Deadline
from tests.problems import WITH_POINTS, Problem, icosahedron, orthoplex

BLOCKS = (1, 300, 5000, 1 << 16, 64 << 20)


def pairs_above(W: np.ndarray, threshold: float) -> np.ndarray:
    """Those of the candidates that are as close as that, sorted."""
    tiles = list(candidate_pairs(W, threshold, deadline=None))
    i, j = (np.concatenate(part) for part in zip(*tiles, strict=True))
    keep = pair_cosines(W, i, j) >= threshold
    return np.array(sorted(zip(i[keep], j[keep], strict=True))).reshape(-1, 2)


def reference(W: np.ndarray) -> np.ndarray:
    gram = W @ W.T
    np.fill_diagonal(gram, -np.inf)
    return gram


@pytest.mark.parametrize("problem", WITH_POINTS, ids=str)
def test_known_codes(problem: Problem) -> None:
    W = problem.points()
    assert max_cosine(W) == pytest.approx(problem.max_cosine, abs=1e-15)


@given(st.integers(2, 60), st.integers(2, 9), st.sampled_from(BLOCKS), st.integers(0, 99))
def test_any_block_size(K: int, d: int, block_bytes: int, seed: int) -> None:
    W = random_points(np.random.default_rng(seed), K, d)
    gram = reference(W)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_BYTES", block_bytes)
        patch.setattr(module, "_MAX_DENSE_ROWS", 0 if block_bytes < 1 << 16 else 1024)
        patch.setattr(module, "MAX_TREE_DIMENSIONS", 0)  # every d by blocks
        cosines, best = row_maxima(W)
        threshold = float(np.quantile(gram[gram > -2], 0.7)) + 1e-12
        pairs = pairs_above(W, threshold)
        coherence = max_abs_cosine(W, deadline=None)
    absolute = np.abs(gram[np.triu_indices(K, 1)])
    assert coherence == pytest.approx(absolute.max(), abs=1e-14)
    assert mean_square_cosine(W) == pytest.approx((absolute**2).mean(), abs=1e-14)
    assert cosines == pytest.approx(gram.max(axis=1), abs=1e-15)
    assert gram[np.arange(K), best] == pytest.approx(gram.max(axis=1), abs=1e-15)
    expected = np.argwhere(np.triu(gram >= threshold, 1))
    assert np.array_equal(pairs, expected)


def test_tiles_of_the_large_path(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than one tile, with float32 rounding that hides the true order of near ties."""
    monkeypatch.setattr(module, "MAX_TREE_DIMENSIONS", 0)
    base = random_points(rng, 700, 6)
    W = np.concatenate([base, normalise(base + 1e-4 * random_points(rng, 700, 6)), orthoplex(6)])
    gram = reference(W)
    for block_bytes in (1 << 18, 64 << 20):
        monkeypatch.setattr(module, "_BLOCK_BYTES", block_bytes)
        cosines, best = row_maxima(W)
        assert np.array_equal(best, gram.argmax(axis=1))
        assert cosines == pytest.approx(gram.max(axis=1), abs=1e-15)
        pairs = pairs_above(W, 0.95)
        assert np.array_equal(pairs, np.argwhere(np.triu(gram >= 0.95, 1)))


def test_ties_everywhere() -> None:
    """An orthoplex of 1200 rows: each row's maximum 0 is attained 1198 times."""
    cosines, best = row_maxima(orthoplex(600))
    assert np.array_equal(cosines, np.zeros(1200))
    assert (best % 600 != np.arange(1200) % 600).all()


def test_nearly_coincident_rows_are_told_apart() -> None:
    """Chords 1e-9 and 2e-9: both cosines round to 1, only the chords know the order."""
    t = np.array([0.0, 2e-9, 3e-9, 1.0, 2.0])
    W = np.stack([np.cos(t), np.sin(t)], axis=1)
    assert np.array_equal(row_maxima(W)[1][:3], [1, 2, 1])
    i, j, distance = closest_pair(W)
    assert (i, j) == (1, 2)
    assert distance == pytest.approx(1e-9, rel=1e-6)


def test_deadline_gives_no_partial_answer(rng: np.random.Generator) -> None:
    W = random_points(rng, 1100, 3)
    for question in (row_maxima, closest_pair, max_cosine):
        with pytest.raises(TimeoutError):
            question(W, deadline=Deadline(0.0))
    with pytest.raises(TimeoutError):
        list(candidate_pairs(W, 0.5, deadline=Deadline(0.0)))


@given(st.integers(2, 6), st.integers(2, 60), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_a_tree_finds_the_nearest_rows(d: int, K: int, step: int, seed: int) -> None:
    """Also where rows are equal or nearly so, beside the matrix of all chords."""
    rng = np.random.default_rng(seed)
    W = random_points(rng, K, d)
    W[::3] = W[rng.integers(K, size=len(W[::3]))]
    W[1::4] = normalise(W[1::4] + 10.0 ** rng.integers(-14, 0) * rng.normal(size=W[1::4].shape))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MAX_DENSE_ROWS", 0)
        patch.setattr(module, "_SIDE", step)
        cosines, best = row_maxima(W)
    chords = cdist(W, W)
    np.fill_diagonal(chords, np.inf)
    assert (best != np.arange(K)).all()
    nearest = chords.min(axis=1)
    assert np.abs(chords[np.arange(K), best] - nearest).max() <= 1e-15 * nearest.max()
    assert np.abs(cosines - (1.0 - nearest**2 / 2.0)).max() <= 1e-15


@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_rows_without_contacts_are_rows_and_no_closer(K: int, seed: int) -> None:
    W = random_points(np.random.default_rng(seed), 12, 4)
    part = without_contacts(W, K)
    assert part.shape == (K, 4)
    assert {tuple(row) for row in part} <= {tuple(row) for row in W}
    assert reference(part).max() <= reference(W).max()
    assert np.array_equal(without_contacts(W, 12), W)


def test_the_rows_with_most_contacts_go_first() -> None:
    """A crowded cap beside an orthoplex: it is thinned, and nothing else."""
    crowd = normalise(orthoplex(4)[:1] + 0.1 * np.eye(4))
    part = without_contacts(np.concatenate([orthoplex(4)[1:], crowd[1:]]), 8)
    assert np.array_equal(part[:7], orthoplex(4)[1:])
    assert contacts(icosahedron()).sum() == 60


def test_welch_where_it_is_attained() -> None:
    # Equiangular tight frames meet it: 28 lines in R^7 at 1/3, 276 in R^23 at 1/5.
    assert welch(7, 56) == pytest.approx(1 / 3)
    assert welch(23, 552) == pytest.approx(1 / 5)
    # 120 lines in R^8, 36 quadratic forms: the second power says (7/3 / 119)^(1/4).
    assert welch(8, 240) == pytest.approx((7 / 3 / 119) ** 0.25) and welch(8, 240) < 0.5
