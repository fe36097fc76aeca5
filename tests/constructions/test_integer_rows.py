"""Counts of inner products against plain Gram matrices, with and without antipodes."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions import integer_rows
from gnc_cli.constructions.integer_rows import UnequalRows, pair_counts
from gnc_cli.runtime import threads


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
    monkeypatch.setattr(threads, "threads_for", lambda flops: cores)
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


@given(st.integers(2, 30), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_vectors_of_several_lengths_have_the_cosines_of_their_gram_matrix(
    K: int, D: int, seed: int
) -> None:
    vectors = np.random.default_rng(seed).integers(1, 3, (K, D))
    gram = vectors.astype(object) @ vectors.T.astype(object)
    squares = Counter(
        Fraction(int(gram[i, j]) ** 2, int(gram[i, i] * gram[j, j]))
        for i in range(K)
        for j in range(i)
    )
    rows = UnequalRows(vectors)
    found = rows.verify()
    assert found.K == K and found.distinct == (1 not in squares)
    counts = [(round(cosine.value**2, 12), pairs) for cosine, pairs in found.distribution or ()]
    assert counts == [(round(float(s), 12), squares[s]) for s in sorted(squares, reverse=True)]
    np.testing.assert_allclose(np.linalg.norm(np.asarray(rows), axis=1), 1.0, atol=1e-14)


def test_opposite_and_parallel_vectors_of_several_lengths() -> None:
    found = UnequalRows(np.array([[1, 0], [-2, 0], [1, 1], [0, 3]])).verify()
    assert found.distinct and found.max_cosine.text == "1/sqrt(2)"
    assert found.distribution is not None
    assert [cosine.text for cosine, _ in found.distribution] == [
        "1/sqrt(2)",
        "0",
        "-1/sqrt(2)",
        "-1",
    ]
    assert not UnequalRows(np.array([[1, 1], [2, 2], [1, 0]])).verify().distinct


def test_zero_vectors_too_many_lengths_and_other_spaces_are_refused() -> None:
    with pytest.raises(ValueError, match="zero"):
        UnequalRows(np.array([[0, 0], [1, 0]]))
    with pytest.raises(ValueError, match="lengths"):
        UnequalRows(np.arange(1, 19)[:, None])
    with pytest.raises(ValueError, match="span 1 dimensions, not 2"):
        UnequalRows(np.array([[1, 1], [2, 2]]), 2)
