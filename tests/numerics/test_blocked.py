"""The blocked log-sum-exp is the plain one, in any block shape; the exact pass is exact."""

import math
import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.numerics.blocked import PairLoss, log_sum_exp, row_maxima
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.workers import Workers


def unit_rows(K: int, d: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    W = torch.randn(K, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (W / W.norm(dim=1, keepdim=True)).to(dtype)


def plain(W: torch.Tensor, sharpness: float, frozen: int = 0) -> tuple[float, torch.Tensor]:
    """Loss and gradient through autograd, from the whole Gram matrix."""
    W = W.clone().requires_grad_()
    i, j = torch.triu_indices(len(W), len(W), 1)
    counts = j >= frozen  # i < j, so a pair of frozen rows has j < frozen
    loss = torch.logsumexp(sharpness * (W @ W.T)[i[counts], j[counts]], 0) / sharpness
    loss.backward()
    assert W.grad is not None
    return float(loss.detach()), W.grad


@given(
    K=st.integers(2, 40),
    d=st.integers(2, 7),
    height=st.integers(1, 17),
    width=st.integers(1, 23),
    sharpness=st.floats(0.5, 3000.0),
    threads=st.integers(1, 3),
    frozen=st.integers(0, 5),
)
@settings(max_examples=60, deadline=None)
def test_blocks_agree_with_autograd(
    K: int, d: int, height: int, width: int, sharpness: float, threads: int, frozen: int
) -> None:
    frozen = min(frozen, K - 1)
    W = unit_rows(K, d, seed=K * d)
    with Workers(threads) as workers:
        ours = log_sum_exp(W, sharpness, workers, frozen=frozen, block=(height, width))
    loss, gradient = plain(W, sharpness, frozen)
    assert ours is not None
    assert ours.loss == pytest.approx(loss, abs=1e-12)
    torch.testing.assert_close(ours.gradient, gradient, atol=1e-11, rtol=0)


@pytest.mark.parametrize("shift", [-400.0, 0.9, 400.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_wrong_shift_is_found_out(shift: float, dtype: torch.dtype) -> None:
    W = unit_rows(50, 4, dtype=dtype)
    with Workers(1) as workers:
        ours = log_sum_exp(W, 900.0, workers, shift=shift, block=(16, 16))
    loss, gradient = plain(W.double(), 900.0)
    assert ours is not None
    assert ours.loss == pytest.approx(loss, abs=1e-5)
    torch.testing.assert_close(ours.gradient.double(), gradient, atol=2e-3, rtol=0)


def test_bfloat16_keeps_loss_and_direction() -> None:
    W = unit_rows(300, 64, dtype=torch.float32)
    with Workers(2) as workers:
        ours = log_sum_exp(W, 100.0, workers, half=True, block=(64, 128))
    loss, gradient = plain(W.double(), 100.0)
    assert ours is not None and ours.gradient.dtype == torch.float32
    assert ours.loss == pytest.approx(loss, abs=2e-3)
    cosines = torch.nn.functional.cosine_similarity(ours.gradient.double().ravel(),
                                                    gradient.ravel(), dim=0)  # fmt: skip
    assert cosines > 0.995


def test_the_largest_cosine_rides_along() -> None:
    W = unit_rows(90, 5)
    gram = (W @ W.T).fill_diagonal_(-1.0)
    with Workers(2) as workers:
        ours = log_sum_exp(W, 50.0, workers, block=(32, 16))
    assert ours is not None
    assert ours.max_cosine == pytest.approx(float(gram.max()), abs=1e-12)
    assert ours.max_cosine <= ours.loss <= ours.max_cosine + math.log(90 * 89 / 2) / 50.0


def test_non_finite_rows_are_reported_not_raised() -> None:
    W = unit_rows(20, 3)
    W[7, 1] = math.nan
    with Workers(1) as workers:
        ours = log_sum_exp(W, 10.0, workers)
    assert ours is not None and math.isnan(ours.loss)


@pytest.mark.parametrize("block", [(1, 1), (7, 5), (64, 9), (200, 200)])
@pytest.mark.parametrize("threads", [1, 3])
def test_row_maxima(block: tuple[int, int], threads: int) -> None:
    W = unit_rows(61, 4)
    with Workers(threads) as workers:
        ours = row_maxima(W, workers, block=block)
    assert ours is not None
    gram = W.numpy() @ W.numpy().T
    np.fill_diagonal(gram, -np.inf)
    np.testing.assert_allclose(ours.numpy(), gram.max(1), atol=4e-16)


def test_the_deadline_is_polled_at_every_block() -> None:
    ticks = iter(range(10_000))
    W = unit_rows(64, 3)
    with Workers(1) as workers:
        deadline = Deadline(20, clock=lambda: float(next(ticks)))
        assert log_sum_exp(W, 10.0, workers, deadline=deadline, block=(4, 4)) is None
        assert next(ticks) < 40
        deadline = Deadline(20, clock=lambda: float(next(ticks)))
        assert row_maxima(W, workers, deadline=deadline, block=(4, 4)) is None
        stop = threading.Event()
        stop.set()
        assert log_sum_exp(W, 10.0, workers, deadline=Deadline(interrupt=stop)) is None


def test_the_door_into_autograd() -> None:
    W = unit_rows(12, 3)
    with Workers(1) as workers:
        smoothed = log_sum_exp(W, 10.0, workers)
    assert smoothed is not None
    parts = [W[2:7].clone().requires_grad_(), W[7:].clone().requires_grad_()]
    loss = 3.0 * PairLoss.apply(smoothed, 2, *parts)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(3.0 * smoothed.loss)
    torch.testing.assert_close(torch.cat([p.grad for p in parts]), 3.0 * smoothed.gradient[2:])


def test_workers_put_the_threads_back_and_pass_errors_on() -> None:
    before = torch.get_num_threads()

    def fail(worker: int) -> None:
        if worker == 1:
            raise ValueError("second worker")

    with pytest.raises(ValueError, match="second worker"), Workers(2) as workers:
        assert torch.get_num_threads() == 1
        workers.map(fail)
    assert torch.get_num_threads() == before
