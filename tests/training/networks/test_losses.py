"""Losses against plain formulas in float64 NumPy, their limits, and what breaks public code."""

import math

import numpy as np
import pytest
import torch

from gnc_cli.training.networks.losses import make_loss

MARGINS = {"ce": None, "hardmax": None, "cosface": 0.35, "arcface": 0.5}


def _cosines(rng: np.random.Generator, N: int = 40, K: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Cosines in (-1, 1), the full range among the own ones, and labels."""
    scores, labels = rng.uniform(-0.999, 0.999, (N, K)), rng.integers(K, size=N)
    scores[np.arange(N), labels] = np.linspace(-0.999, 0.999, N)
    return scores, labels


def _plain(name: str, scores: np.ndarray, labels: np.ndarray, tau: float, m: float) -> np.ndarray:
    """The definitions, sample by sample."""
    losses = []
    for row, y in zip(scores, labels, strict=True):
        s = row.copy()
        if name == "hardmax":
            losses.append(np.delete(s, y).max() - s[y])
            continue
        if name == "cosface":
            s[y] -= m
        if name == "arcface":
            angle = math.acos(s[y])
            s[y] = math.cos(angle + m) if angle + m <= math.pi else s[y] - m * math.sin(m)
        losses.append(np.log(np.exp(s / tau).sum()) - s[y] / tau)
    return np.array(losses)


def _grad(
    name: str, scores: torch.Tensor, labels: torch.Tensor, tau: float, margin: float | None
) -> torch.Tensor:
    scores = scores.clone().requires_grad_()
    losses = make_loss(name, tau=tau, margin=margin)(scores, labels)
    assert losses.isfinite().all()
    losses.sum().backward()
    assert scores.grad is not None and scores.grad.isfinite().all()
    return scores.grad


@pytest.mark.parametrize("tau", [1.0, 0.1])
@pytest.mark.parametrize(("name", "margin"), MARGINS.items())
def test_definitions(
    name: str, margin: float | None, tau: float, rng: np.random.Generator, place: torch.device
) -> None:
    scores, labels = _cosines(rng)
    want = _plain(name, scores, labels, tau, margin or 0.0)
    loss = make_loss(name, tau=tau, margin=margin)
    given, y = torch.from_numpy(scores).to(place), torch.from_numpy(labels).to(place)
    got, single = loss(given, y), loss(given.float(), y)
    assert (got.dtype, single.dtype) == (torch.float64, torch.float32)
    np.testing.assert_allclose(got.cpu().numpy(), want, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(single.cpu().numpy(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("name", "margin"), [*MARGINS.items(), ("arcface", 2.9)])
def test_gradients(
    name: str, margin: float | None, rng: np.random.Generator, place: torch.device
) -> None:
    scores, y = (torch.from_numpy(a).to(place) for a in _cosines(rng, N=9, K=5))
    loss = make_loss(name, tau=0.3, margin=margin)
    assert torch.autograd.gradcheck(lambda s: loss(s, y), scores.requires_grad_())


def test_cold_cross_entropy_is_the_positive_part_of_hardmax(rng: np.random.Generator) -> None:
    scores, labels = map(torch.from_numpy, _cosines(rng))
    hard = make_loss("hardmax", tau=1.0)(scores, labels)
    for tau in (1e-2, 1e-4):  # log(1 + (K-1) e^(x/tau)) tau exceeds it by at most tau log K
        excess = tau * make_loss("ce", tau=tau)(scores, labels) - hard.clamp_min(0.0)
        assert excess.min() >= -1e-12 and excess.max() <= tau * math.log(7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", MARGINS)
def test_finite_at_the_extremes(name: str, dtype: torch.dtype, place: torch.device) -> None:
    over = 1.0 + torch.finfo(dtype).eps  # a cosine, rounded up
    own = torch.tensor([over, 1.0, 0.0, -1.0, -over, 1.0, -1.0], dtype=dtype)
    other = torch.tensor([-1.0, 1.0, 0.0, 1.0, over, 1.0, -1.0], dtype=dtype)
    scores = torch.stack([own, other, -other], dim=1).to(place)
    labels = torch.zeros(7, dtype=torch.int64, device=place)
    for tau in (1.0, 0.01 if dtype != torch.float16 else 0.1):  # 0.01: beyond float16 itself
        grad = _grad(name, scores, labels, tau, MARGINS[name])
        assert (grad[:, 0] <= 0).all() and (grad[:, 1:] >= 0).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(
    ("name", "margin"), [("cosface", 2.0), ("arcface", math.pi), ("arcface", math.pi - 3e-4)]
)
def test_two_classes_may_have_the_largest_margin(
    name: str, margin: float, dtype: torch.dtype
) -> None:
    """Opposite classes: `cos(angle + pi)`, continued, is `cos(angle) - 2`, as for a cosine of 2."""
    own = torch.tensor([1.0, 1.0 - 1e-7, 0.5, 0.0, -0.5, -1.0], dtype=dtype)
    scores, labels = torch.stack([own, -own], dim=1), torch.zeros(6, dtype=torch.int64)
    want = torch.log1p(torch.exp((2.0 - 2.0 * own.double()) / 0.3))
    losses = make_loss(name, tau=0.3, margin=margin)(scores, labels)
    torch.testing.assert_close(losses.double(), want, rtol=1e-5, atol=1e-5)
    grad = _grad(name, scores, labels, 0.3, margin)
    assert (grad[:, 0] <= 0).all() and (grad[:, 1] >= 0).all()
    at = 0 if margin in (2.0, math.pi) else 2
    assert (grad[at:, 0] == -grad[at:, 1]).all() and (grad[at:, 0] < 0).all()


def test_tiny_losses_keep_their_digits() -> None:
    """A sample far on its right side: log_softmax rounds to a loss and an own gradient of zero."""
    scores, tau = torch.tensor([[0.9, 0.1, 0.0]]), 0.02
    losses = make_loss("ce", tau=tau)(scores, torch.tensor([0]))
    want = math.log1p(math.exp(-0.8 / tau) + math.exp(-0.9 / tau))
    assert 0 < want < 1e-17
    assert losses.item() == pytest.approx(want, rel=1e-5)
    grad = _grad("ce", scores, torch.tensor([0]), tau, None)
    assert grad[0, 0].item() == pytest.approx(-want / tau, rel=1e-5)
    assert grad.sum().abs() <= 1e-6 * want / tau
