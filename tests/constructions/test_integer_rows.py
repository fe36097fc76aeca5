"""Counts of inner products against plain Gram matrices, with and without antipodes."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions import integer_rows
from gnc_cli.constructions.integer_rows import pair_counts


def _plain(vectors: np.ndarray) -> dict[int, int]:
    gram = vectors.astype(object) @ vectors.astype(object).T
    return dict(Counter(int(gram[i, j]) for i in range(len(gram)) for j in range(i)))


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 2**32 - 1), st.booleans())
def test_counts_are_those_of_the_gram_matrix(K: int, D: int, seed: int, mirror: bool) -> None:
    vectors = np.random.default_rng(seed).integers(1, 4, (K, D))
    if mirror:  # with repeated rows now and then
        vectors = np.random.default_rng(seed).permutation(np.concatenate([vectors, -vectors]))
    counts = pair_counts(vectors)
    assert counts == _plain(vectors)
    assert list(counts) == sorted(counts, reverse=True)


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize("largest", [1, 5, 400])
def test_many_tiles_many_values_and_threads(
    cores: int, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integer_rows, "_TILE", (7, 21))
    monkeypatch.setattr(integer_rows, "threads_for", lambda flops: cores)
    vectors = np.random.default_rng(largest).integers(-largest, largest + 1, (100, 6))
    assert pair_counts(vectors) == _plain(vectors)


def test_large_integers_are_counted_in_double() -> None:
    vectors = np.array([[2**13 + 1, 1], [2**13, 0], [1, 2**13 + 1]], dtype=np.int32)
    assert pair_counts(vectors) == _plain(vectors)


def test_integers_beyond_double_are_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        pair_counts(np.array([[2**27, 0], [0, 2**27]]))


def test_a_set_that_is_almost_closed_under_negation_is_not() -> None:
    vectors = np.array([[1, 2], [-1, -2], [3, 1], [-3, 1]])
    assert pair_counts(vectors) == _plain(vectors)


def test_the_smallest_int8_is_not_its_own_negation() -> None:
    vectors = np.array([[-128, 1], [-128, -1]], dtype=np.int8)
    assert pair_counts(vectors) == {128**2 - 1: 1}
