"""The paper's recipe: each step as the paper writes it, and how it ends."""

import numpy as np
import pytest
import torch

from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.search.ufm.descent import PAPER_STEPS, paper_recipe


def by_autograd(d: int, K: int, seed: int, steps: int, tau: float) -> list[np.ndarray]:
    """Projected descent on the sum of cross-entropies, torch's own, rate 0.1."""
    start = np.random.default_rng([seed, 0]).standard_normal((2, K, d))
    W, H = (torch.nn.functional.normalize(torch.as_tensor(x), dim=1) for x in start)
    for _ in range(steps):
        W.requires_grad_(), H.requires_grad_()
        loss = torch.nn.functional.cross_entropy(
            H @ W.T / tau, torch.arange(K), reduction="sum"
        )
        gradients = torch.autograd.grad(loss, (W, H))
        W, H = (
            torch.nn.functional.normalize((x - 0.1 * g).detach(), dim=1)
            for x, g in zip((W, H), gradients, strict=True)
        )
    return [W.numpy(), H.numpy()]


@pytest.mark.parametrize("tau", [0.1, 0.5])
def test_steps_are_the_papers(tau: float) -> None:
    W, H, made = paper_recipe(4, 9, seed=3, steps=25, tau=tau)
    exact = by_autograd(4, 9, 3, 25, tau)
    assert made == 25
    np.testing.assert_allclose(W, exact[0], atol=1e-10)
    np.testing.assert_allclose(H, exact[1], atol=1e-10)


def test_the_rate_falls_tenfold_each_thousand_steps() -> None:
    """From one step to the next the code moves by the rate times a nearly equal gradient."""
    ends = {s: paper_recipe(3, 9, seed=0, steps=s)[0] for s in (999, 1000, 1001)}
    before = np.linalg.norm(ends[1000] - ends[999])
    after = np.linalg.norm(ends[1001] - ends[1000])
    assert after == pytest.approx(0.1 * before, rel=0.1)


def test_what_it_reaches() -> None:
    told: list[tuple[int, int, float]] = []
    W, H, made = paper_recipe(3, 8, seed=0, progress=lambda *a: told.append(a))
    assert made == PAPER_STEPS == 5000
    for rows in (W, H):
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-14)
    rho = one_vs_rest(W).lower.min()
    best = 1.0 - (2 * np.sqrt(2) - 1) / 7
    assert 0.9 * best < rho < best  # near it, and not there: what the polish is for
    assert len(told) == 100 and told[-1][:2] == (5000, 5000)
    assert told[0][2] < told[-1][2] <= rho + 1e-12
