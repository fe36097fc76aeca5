"""Sums over pairs: blocks agree with the plain form in any shape, and lists with the full sum."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.runtime.deadline import NO_DEADLINE
from gnc_cli.runtime.threads import ThreadTeam
from gnc_cli.search.blocked_pairs import (
    Neighbours,
    blocked_row_maxima,
    choose_threshold,
    listed_row_maxima,
    log_sum_exp,
    pairs_above,
    sparse_log_sum_exp,
)


def unit_rows(K: int, d: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    W = torch.randn(K, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (W / W.norm(dim=1, keepdim=True)).to(dtype)


def plain(W: torch.Tensor, sharpness: float, mask: torch.Tensor) -> tuple[float, torch.Tensor]:
    """Loss and gradient through autograd, from the whole Gram matrix."""
    W = W.clone().requires_grad_()
    loss = torch.logsumexp(sharpness * (W @ W.T)[mask.triu(1)], 0) / sharpness
    loss.backward()
    assert W.grad is not None
    return float(loss.detach()), W.grad


def pairs_over(W: torch.Tensor, threshold: float, frozen: int = 0) -> torch.Tensor:
    """Mask of the ordered pairs above the threshold, without those of frozen rows."""
    mask = W @ W.T > threshold
    mask.fill_diagonal_(False)
    mask[:frozen, :frozen] = False
    return mask


@given(
    K=st.integers(2, 40),
    d=st.integers(2, 7),
    block=st.tuples(st.integers(1, 17), st.integers(1, 23)),
    sharpness=st.floats(0.5, 3000.0),
    threads=st.integers(1, 3),
    frozen=st.integers(0, 5),
)
def test_blocks_agree_with_autograd(
    K: int, d: int, block: tuple[int, int], sharpness: float, threads: int, frozen: int
) -> None:
    frozen = min(frozen, K - 1)
    W = unit_rows(K, d, seed=K * d)
    with ThreadTeam(threads) as team:
        ours = log_sum_exp(
            W, sharpness, team, frozen=frozen, block=block, deadline=NO_DEADLINE, half=False
        )
        maxima = blocked_row_maxima(W, team, block=block, deadline=NO_DEADLINE)
    mask = pairs_over(W, -2.0, frozen)
    loss, gradient = plain(W, sharpness, mask)
    assert ours is not None
    assert ours.loss == pytest.approx(loss, abs=1e-12)
    torch.testing.assert_close(ours.gradient, gradient, atol=1e-11, rtol=0)
    assert ours.max_cosine == pytest.approx(float((W @ W.T)[mask].max()), abs=1e-12)
    assert ours.max_cosine <= ours.loss + 1e-12
    gram = W.numpy() @ W.numpy().T
    np.fill_diagonal(gram, -np.inf)
    np.testing.assert_allclose(maxima.numpy(), gram.max(1), atol=4e-16)


@pytest.mark.parametrize("shift", [-400.0, 0.9, 400.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_wrong_shift_is_found_out(shift: float, dtype: torch.dtype) -> None:
    W = unit_rows(50, 4, dtype=dtype)
    with ThreadTeam(1) as team:
        ours = log_sum_exp(
            W, 900.0, team, shift=shift, block=(16, 16), deadline=NO_DEADLINE, half=False, frozen=0
        )
    loss, gradient = plain(W.double(), 900.0, pairs_over(W, -2.0))
    assert ours is not None
    assert ours.loss == pytest.approx(loss, abs=1e-5)
    torch.testing.assert_close(ours.gradient.double(), gradient, atol=2e-3, rtol=0)


def test_bfloat16_keeps_loss_and_direction() -> None:
    W = unit_rows(300, 64, dtype=torch.float32)
    with ThreadTeam(2) as team:
        ours = log_sum_exp(
            W, 100.0, team, half=True, block=(64, 128), deadline=NO_DEADLINE, frozen=0
        )
    loss, gradient = plain(W.double(), 100.0, pairs_over(W, -2.0))
    assert ours is not None and ours.gradient.dtype == torch.float32
    assert ours.loss == pytest.approx(loss, abs=2e-3)
    cosine = torch.nn.functional.cosine_similarity(
        ours.gradient.double().ravel(), gradient.ravel(), dim=0
    )
    assert cosine > 0.995


def as_mask(found: Neighbours, K: int) -> torch.Tensor:
    mask = torch.zeros(K, K, dtype=torch.bool)
    mask[found.rows, found.columns] = True
    assert int(mask.sum()) == len(found.rows)  # nothing twice
    assert torch.equal(torch.bincount(found.rows, minlength=K), found.starts.diff())
    return mask


@given(
    K=st.integers(2, 60),
    d=st.integers(2, 6),
    threshold=st.floats(-0.9, 0.95),
    block=st.tuples(st.integers(1, 20), st.integers(1, 30)),
    threads=st.integers(1, 3),
    frozen=st.integers(0, 4),
    half=st.booleans(),
)
def test_lists_are_complete(
    K: int,
    d: int,
    threshold: float,
    block: tuple[int, int],
    threads: int,
    frozen: int,
    half: bool,
) -> None:
    W = unit_rows(K, d, seed=7 * K + d)
    with ThreadTeam(threads) as team:
        found = pairs_above(W, threshold, team, frozen=min(frozen, K), half=half, block=block)
    assert found is not None and found.complete
    assert torch.equal(as_mask(found, K), pairs_over(W, threshold, min(frozen, K)))


def test_the_threshold_gives_the_neighbours_asked_for() -> None:
    W = unit_rows(2000, 8)
    threshold = choose_threshold(W, 30.0, generator=torch.Generator().manual_seed(1))
    assert 25.0 < pairs_over(W, threshold).sum() / 2000 < 35.0
    # From a sample of all rows the count is exact.
    threshold = choose_threshold(W[:50], 4.0, generator=torch.Generator().manual_seed(1))
    assert int((((W[:50] @ W[:50].T).fill_diagonal_(-2.0)) >= threshold).sum()) == 200


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("shift", [0.95, -300.0, 300.0])
@pytest.mark.parametrize("threshold", [0.8, -1.5])
def test_a_list_gives_the_loss_over_its_pairs(threads: int, shift: float, threshold: float) -> None:
    W = unit_rows(200, 4, seed=3)
    mask = pairs_over(W, threshold)
    loss, gradient = plain(W, 200.0, mask)
    with ThreadTeam(threads) as team:
        found = pairs_above(W, threshold, team)
        assert found is not None
        ours = sparse_log_sum_exp(W, found, 200.0, team, shift=shift, deadline=NO_DEADLINE)
        maxima = listed_row_maxima(W, found, team, deadline=NO_DEADLINE)
    assert ours.loss == pytest.approx(loss, abs=1e-12)
    torch.testing.assert_close(ours.gradient, gradient, atol=1e-12, rtol=0)
    assert ours.max_cosine == pytest.approx(float((W @ W.T)[mask].max()), abs=1e-12)
    torch.testing.assert_close(maxima, (W @ W.T).where(mask, -torch.inf).amax(1))
