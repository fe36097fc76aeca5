"""Pair lists are complete, and the sparse loss is the dense one restricted to them."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.numerics.blocked import log_sum_exp
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.neighbours import (
    Neighbours,
    choose_threshold,
    listed_row_maxima,
    pairs_above,
    sparse_log_sum_exp,
)
from gnc_cli.numerics.workers import Workers


def unit_rows(K: int, d: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    W = torch.randn(K, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (W / W.norm(dim=1, keepdim=True)).to(dtype)


def brute(W: torch.Tensor, threshold: float, frozen: int = 0) -> torch.Tensor:
    """Mask of the ordered pairs above the threshold."""
    mask = W @ W.T > threshold
    mask.fill_diagonal_(False)
    mask[:frozen, :frozen] = False
    return mask


def as_mask(found: Neighbours, K: int) -> torch.Tensor:
    mask = torch.zeros(K, K, dtype=torch.bool)
    mask[found.rows, found.columns] = True
    assert int(mask.sum()) == len(found.rows) == 2 * found.num_pairs  # nothing twice
    assert torch.equal(torch.bincount(found.rows, minlength=K), found.starts.diff())
    return mask


@given(
    K=st.integers(2, 60),
    d=st.integers(2, 6),
    threshold=st.floats(-0.9, 0.95),
    height=st.integers(1, 20),
    width=st.integers(1, 30),
    threads=st.integers(1, 3),
    frozen=st.integers(0, 4),
    half=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_lists_are_complete(
    K: int,
    d: int,
    threshold: float,
    height: int,
    width: int,
    threads: int,
    frozen: int,
    half: bool,
) -> None:
    W = unit_rows(K, d, seed=7 * K + d)
    with Workers(threads) as workers:
        found = pairs_above(
            W, threshold, workers, frozen=min(frozen, K), half=half, block=(height, width)
        )
    assert found is not None and found.complete
    assert torch.equal(as_mask(found, K), brute(W, threshold, min(frozen, K)))


def test_the_limit_bounds_the_list_and_says_so() -> None:
    W = unit_rows(80, 3)
    with Workers(2) as workers:
        found = pairs_above(W, 0.0, workers, limit=100, block=(16, 16))
    assert found is not None and not found.complete
    assert found.num_pairs <= 100
    assert not bool((as_mask(found, 80) & ~brute(W, 0.0)).any())


def test_the_threshold_gives_the_neighbours_asked_for() -> None:
    W = unit_rows(2000, 8)
    threshold = choose_threshold(W, 30.0, generator=torch.Generator().manual_seed(1))
    assert 25.0 < brute(W, threshold).sum() / 2000 < 35.0
    # From a sample of all rows the count is exact.
    threshold = choose_threshold(W[:50], 4.0, generator=torch.Generator().manual_seed(1))
    assert int((((W[:50] @ W[:50].T).fill_diagonal_(-2.0)) >= threshold).sum()) == 200


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("shift", [0.95, -300.0, 300.0])
def test_sparse_is_dense_restricted(threads: int, shift: float) -> None:
    W = unit_rows(400, 4, seed=3)
    mask = brute(W, 0.8)
    V = W.clone().requires_grad_()
    loss = torch.logsumexp(200.0 * (V @ V.T)[mask.triu()], 0) / 200.0
    loss.backward()
    with Workers(threads) as workers:
        found = pairs_above(W, 0.8, workers)
        assert found is not None
        ours = sparse_log_sum_exp(W, found, 200.0, workers, shift=shift)
    assert ours.loss == pytest.approx(float(loss.detach()), abs=1e-12)
    torch.testing.assert_close(ours.gradient, V.grad, atol=1e-12, rtol=0)
    assert ours.max_cosine == pytest.approx(float((W @ W.T)[mask].max()), abs=1e-12)


def test_a_full_list_gives_the_full_loss() -> None:
    W = unit_rows(70, 5)
    with Workers(2) as workers:
        found = pairs_above(W, -1.5, workers)
        dense = log_sum_exp(W, 40.0, workers)
        assert found is not None and dense is not None
        sparse = sparse_log_sum_exp(W, found, 40.0, workers, shift=dense.loss)
        maxima = listed_row_maxima(W, found, workers)
    assert found.num_pairs == 70 * 69 // 2
    assert sparse.loss == pytest.approx(dense.loss, abs=1e-13)
    torch.testing.assert_close(sparse.gradient, dense.gradient, atol=1e-14, rtol=0)
    torch.testing.assert_close(maxima, (W @ W.T).fill_diagonal_(-2.0).amax(1))


def test_rows_without_neighbours() -> None:
    W = torch.eye(6, dtype=torch.float64)
    W[5] = W[4]
    with Workers(2) as workers:
        found = pairs_above(W, 0.5, workers)
        assert found is not None
        ours = sparse_log_sum_exp(W, found, 10.0, workers, shift=1.0)
        maxima = listed_row_maxima(W, found, workers)
    assert found.num_pairs == 1
    assert ours.loss == pytest.approx(1.0)
    assert torch.equal(ours.gradient[:4], torch.zeros(4, 6, dtype=torch.float64))
    assert maxima.tolist() == [-math.inf] * 4 + [1.0, 1.0]


def test_the_deadline_is_polled_at_every_block() -> None:
    ticks = iter(range(10_000))
    with Workers(1) as workers:
        deadline = Deadline(20, clock=lambda: float(next(ticks)))
        assert pairs_above(unit_rows(64, 3), 0.5, workers, deadline=deadline, block=(4, 4)) is None
    assert next(ticks) < 40
