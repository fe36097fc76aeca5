"""The blocked histogram against all pairs at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.search import pictures as cosines
from gnc_cli.search.pictures import cosine_histogram, unit_rows


def all_cosines(W: np.ndarray) -> np.ndarray:
    return (W @ W.T)[~np.eye(len(W), dtype=bool)].reshape(len(W), -1)


@given(K=st.integers(2, 40), d=st.integers(2, 6), seed=st.integers(0, 99))
def test_it_counts_every_pair_once(K: int, d: int, seed: int) -> None:
    W = unit_rows(np.random.default_rng(seed).standard_normal((K, d)))
    pairs = all_cosines(W)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cosines, "_BLOCK_BYTES", 3 * 8 * K * 7)  # blocks of seven rows
        histogram = cosine_histogram(W)
    share = np.histogram(np.clip(pairs, -1, 1), bins=histogram.edges)[0] / pairs.size
    assert histogram.share.sum() == pytest.approx(1.0)
    # A cosine within rounding of an edge may fall on either side of it.
    assert np.abs(np.cumsum(histogram.share) - np.cumsum(share)).max() <= 2.5 / pairs.size
    assert np.allclose(histogram.nearest, np.clip(pairs.max(axis=1), -1, 1), atol=1e-15)
    held = histogram.share > 0
    assert (histogram.centre[held] @ histogram.share[held]) == pytest.approx(pairs.mean(), abs=1e-3)


def test_very_many_rows_are_sampled_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cosines, "_MOST_PRODUCTS", 40 * 10)
    W = unit_rows(np.random.default_rng(0).standard_normal((40, 3)))
    histogram = cosine_histogram(W)
    assert histogram.rows.tolist() == np.linspace(0, 39, 10).astype(int).tolist()
    assert np.allclose(histogram.nearest, all_cosines(W).max(axis=1)[histogram.rows])


def test_antipodes_alone() -> None:
    histogram = cosine_histogram(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    assert histogram.share.tolist() == [1.0]
    assert histogram.nearest.tolist() == [-1.0, -1.0]


def test_a_zero_row_stays_zero() -> None:
    assert unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[0.6, 0.8], [0.0, 0.0]]
