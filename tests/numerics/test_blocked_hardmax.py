"""The blocked HardMax loss beside the plain one, and beside finite differences."""

import numpy as np
import pytest
import torch

from gnc_cli.numerics import blocked_hardmax
from gnc_cli.numerics.blocked_hardmax import hardmax_loss
from gnc_cli.numerics.smoothing import smooth_maximum


def configuration(K: int, d: int, seed: int = 0) -> torch.Tensor:
    rows = np.random.default_rng(seed).standard_normal((1, 2 * K, d))
    rows /= np.linalg.norm(rows, axis=-1, keepdims=True)
    return torch.as_tensor(rows).requires_grad_()


@pytest.mark.parametrize("entries", [1, 40, 10**6])
@pytest.mark.parametrize("beta", [0.5, 30.0, 1e5])
def test_blocks_change_nothing(
    entries: int, beta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocked_hardmax, "_BLOCK_ENTRIES", entries)
    K = 17
    points = configuration(K, 5)
    sharpness = torch.full((1, 1, 1), beta, dtype=torch.float64)
    value = hardmax_loss(points, sharpness)
    (gradient,) = torch.autograd.grad(value.sum(), points)
    plain = smooth_maximum(
        points[:, K:].contiguous(), points[:, :K].contiguous(), torch.arange(K), sharpness,
        relative=True,
    )  # fmt: skip
    (expected,) = torch.autograd.grad(plain.sum(), points)
    assert value.shape == (1,)
    assert float(value.detach()) == pytest.approx(float(plain.detach()), abs=1e-13)
    assert float((gradient - expected).abs().max()) < 1e-12


def test_the_gradient_is_that_of_the_value() -> None:
    points = configuration(6, 3).detach()
    sharpness = torch.full((1, 1, 1), 20.0, dtype=torch.float64)
    moving = points.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(hardmax_loss(moving, sharpness).sum(), moving)
    step = torch.as_tensor(np.random.default_rng(1).standard_normal(points.shape))
    size = 1e-6
    ahead = hardmax_loss(points + size * step, sharpness)
    behind = hardmax_loss(points - size * step, sharpness)
    slope = float((ahead - behind) / (2 * size))
    assert slope == pytest.approx(float((gradient * step).sum()), rel=1e-6)


def test_it_lies_above_the_largest_term() -> None:
    K = 8
    points = configuration(K, 3).detach()
    W, H = points[0, :K].numpy(), points[0, K:].numpy()
    terms = H @ W.T - (H * W).sum(axis=1, keepdims=True)
    np.fill_diagonal(terms, -np.inf)
    for beta in (1.0, 50.0):
        value = float(hardmax_loss(points, torch.full((1, 1, 1), beta)))
        assert terms.max() <= value <= terms.max() + np.log(K * (K - 1)) / beta
