"""Duplicates: against the plain Gram matrix, groups by graph search, rows that coincide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gnc_cli.geometry.gram as gram
import gnc_cli.metrics.pairs as module
from gnc_cli.errors import DataError
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.metrics.pairs import find_duplicates, merges
from gnc_cli.runtime.deadline import Deadline


def by_gram(W: np.ndarray, cosine: float) -> tuple[set[tuple[int, int]], list[int]]:
    """All pairs, and the first row of each group found by walking from row to row."""
    close = W @ W.T >= cosine
    pairs = {(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(close, 1)), strict=True)}
    seen: set[int] = set()
    first = []
    for k in range(len(W)):
        if k in seen:
            continue
        first.append(k)
        ahead = [k]
        while ahead:
            at = ahead.pop()
            if at not in seen:
                seen.add(at)
                ahead.extend(np.flatnonzero(close[at]).tolist())
    return pairs, first


def check_merges(
    W: np.ndarray, heads: np.ndarray, counts: np.ndarray, found: tuple[np.ndarray, ...]
) -> None:
    """Group by group: the class of the largest count stays, of ties the lowest."""
    expected = []
    for head in np.unique(heads):
        group = np.flatnonzero(heads == head).tolist()
        keep = max(group, key=lambda k: (counts[k], -k))
        expected += [(k, keep) for k in group if k != keep]
    rows, kept, angles = found
    assert sorted(zip(rows.tolist(), kept.tolist(), strict=True)) == sorted(expected)
    cosines = np.clip(np.einsum("md,md->m", W[rows], W[kept]), -1.0, 1.0)
    assert np.cos(angles) == pytest.approx(cosines, abs=1e-12)


@given(
    st.integers(2, 60),
    st.integers(2, 6),
    st.integers(0, 999),
    st.floats(-0.5, 0.995),
    st.sampled_from([5, 1024]),
)
def test_the_gram_matrix_agrees(K: int, d: int, seed: int, cosine: float, side: int) -> None:
    rng = np.random.default_rng(seed)
    W = random_points(rng, K, d)
    W = W[rng.integers(0, K, K)] if seed % 3 == 0 else W
    expected, first = by_gram(W, cosine)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gram, "_SIDE", side)
        patch.setattr(module, "_MAX_CHORDS", 5 if seed % 2 else 4096)
        pairs, cosines, count, heads = find_duplicates(W, cosine, limit=10**6)
        few = find_duplicates(W, cosine, limit=3)
    assert {tuple(p) for p in pairs.tolist()} == expected and count == len(expected)
    assert np.array_equal(np.unique(heads), first) and np.array_equal(heads[first], first)
    assert np.array_equal(heads[pairs[:, 0]], heads[pairs[:, 1]])
    counts = rng.integers(0, 5, K)
    check_merges(W, heads, counts, merges(W, heads, counts))
    assert (np.diff(cosines) <= 0.0).all()
    assert cosines == pytest.approx(np.einsum("md,md->m", W[pairs[:, 0]], W[pairs[:, 1]]))
    # A shorter list is the head of the long one, everything else is as before.
    assert few[1] == pytest.approx(cosines[:3], abs=1e-15)
    assert few[2] == count and np.array_equal(few[3], heads)


def test_thousands_that_coincide(rng: np.random.Generator) -> None:
    """Tokens never seen: half a million pairs, of which only the closest are listed."""
    same = np.repeat(random_points(rng, 1, 8), 1000, axis=0)
    W = np.vstack([random_points(rng, 100, 8), same])
    W = normalise(W + 1e-9 * rng.standard_normal(W.shape))[rng.permutation(1100)]
    pairs, cosines, count, heads = find_duplicates(W, 0.9999999, limit=50)
    assert count == 1000 * 999 // 2 and len(pairs) == 50 and len(np.unique(heads)) == 101
    assert len(merges(W, heads)[0]) == 999
    assert (pairs[:, 0] < pairs[:, 1]).all() and cosines.min() > 1.0 - 1e-15


def test_a_chain_is_one_group() -> None:
    angles = np.arange(6) * 0.1
    W = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    pairs, _, count, heads = find_duplicates(W, float(np.cos(0.11)))
    assert count == 5 and not heads.any()
    assert np.array_equal(np.sort(pairs[:, 0]), np.arange(5))
    rows, kept, angle = merges(W, heads)
    assert np.array_equal(rows, np.arange(1, 6)) and not kept.any()
    assert angle == pytest.approx(angles[1:])


def test_bad_arguments() -> None:
    with pytest.raises(DataError, match="not 1"):
        find_duplicates(2.0 * np.eye(2), 0.5)
    with pytest.raises(TimeoutError):
        find_duplicates(np.eye(2), 0.5, deadline=Deadline(0.0))
