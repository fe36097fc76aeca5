"""Heads: cosines and products, one seed, one name for the rows, full precision throughout."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from gnc_cli.errors import DataError, UsageError
from gnc_cli.networks.heads import ClassMeanHead, DecayHead, FixedHead, Head, SphereHead
from gnc_cli.networks.unit_rows import unit_features, unit_rows
from gnc_cli.numerics.sphere import random_points

D, K = 5, 9
MADE: dict[str, Callable[[int], Head]] = {
    "sphere": lambda seed: SphereHead(D, K, seed=seed),
    "decay": lambda seed: DecayHead(D, K, seed=seed),
    "cmf": lambda seed: ClassMeanHead(D, K, seed=seed),
    "fixed": lambda seed: FixedHead(random_points(np.random.default_rng(seed), K, D)),
}
every_head = pytest.mark.parametrize("kind", MADE)


@every_head
def test_scores_are_plain_products_of_what_each_says(
    kind: str, rng: np.random.Generator, place: torch.device
) -> None:
    head, features = MADE[kind](3).to(place), rng.standard_normal((20, D))
    W = head.weights.detach().cpu().numpy().astype(np.float64)
    H = features.astype(np.float32).astype(np.float64)
    if head.sphere:
        np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0, atol=1e-6)
        H = H / np.linalg.norm(H, axis=1, keepdims=True)
    given = torch.from_numpy(features).float().to(place)
    scores, logits = head.scores(given).detach().cpu(), head(given).detach().cpu()
    np.testing.assert_allclose(scores.numpy(), H @ W.T, atol=2e-6)
    np.testing.assert_allclose(logits.numpy(), H @ W.T / head.tau, atol=2e-5)


@every_head
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_full_precision_under_autocast(kind: str, dtype: torch.dtype, place: torch.device) -> None:
    head = MADE[kind](0).to(place)
    features = torch.randn(6, D, generator=torch.Generator().manual_seed(1)).to(place, dtype)
    plain = head(features.float())
    with torch.autocast(place.type, dtype):
        cast = head(features)
        head.absorb(features, torch.arange(6, device=place))
    assert cast.dtype == head.weights.dtype == torch.float32
    assert torch.equal(cast, plain)


@every_head
def test_one_seed_one_head(kind: str) -> None:
    before = torch.random.get_rng_state()
    a, b, c = MADE[kind](7), MADE[kind](7), MADE[kind](8)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(a.weights, b.weights) and not torch.equal(a.weights, c.weights)


@every_head
def test_checkpoints_go_from_one_head_to_another(kind: str) -> None:
    learned = SphereHead(D, K, seed=1)
    head = MADE[kind](2)
    head.load_state_dict(learned.state_dict())
    assert list(head.state_dict()) == ["weight"]
    assert torch.equal(head.weight, learned.weight)
    learned.load_state_dict(head.state_dict())


@every_head
def test_parameters_counted(kind: str) -> None:
    head = MADE[kind](0)
    trained = K * D if kind in ("sphere", "decay") else 0
    assert (head.trained_parameters, head.saved_parameters) == (trained, K * D - trained)
    assert sum(p.numel() for p in head.parameters()) == trained
    if not trained:  # the scores still carry the features' gradient, and nothing else's
        features = torch.ones(2, D, requires_grad=True)
        head(features).sum().backward()
        assert features.grad is not None and head.weight.grad is None
        assert not head.weights.requires_grad


def test_rows_start_even_on_the_sphere() -> None:
    rows = SphereHead(3, 4000, seed=5).weight.detach()
    torch.testing.assert_close(rows.norm(dim=1), torch.ones(4000))
    assert rows.mean(0).abs().max() < 0.04  # 4 deviations of a mean of 4000
    assert (rows.square().mean(0) - 1 / 3).abs().max() < 0.02
    assert DecayHead(16, 4000).weight.abs().max() <= 0.25


def test_unit_rows_differentiate() -> None:
    rows = torch.randn(4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.autograd.gradcheck(unit_rows, rows.requires_grad_())
    assert torch.autograd.gradcheck(unit_features, (100.0 * rows.detach()).requires_grad_())
    tiny = (1e-9 * rows.detach()).requires_grad_()  # below the floor: linear
    assert torch.autograd.gradcheck(unit_rows, tiny, eps=1e-12, atol=1.0)


@pytest.mark.parametrize("size", [0.0, 1e-42, 1e-30, 1e-7, 1e-5, 1e5, 1e19, 1e30, 3e38])
def test_features_of_any_length(size: float, place: torch.device) -> None:
    """Directions down to the floor, then shorter; gradients finite throughout."""
    head = SphereHead(2, 4, tau=0.01).to(place)
    features = torch.tensor([[0.6, -0.8], [0.0, 1.0]]).mul(size).to(place).requires_grad_()
    scores = head.scores(features)
    length = min(1.0, size / 1e-6)
    want = length * torch.tensor([[0.6, -0.8], [0.0, 1.0]], device=place) @ head.weights.T
    torch.testing.assert_close(scores, want, rtol=1e-5, atol=1e-6)
    (scores / head.tau).logsumexp(dim=1).sum().backward()
    assert features.grad is not None and features.grad.isfinite().all()
    assert head.weight.grad is not None and head.weight.grad.isfinite().all()
    assert features.grad.abs().max() <= 2.0 / head.tau / max(size, 1e-6) * 1.01


def test_broken_features_stay_visible() -> None:
    features = torch.tensor([[math.nan, 1.0], [math.inf, 1.0], [1.0, 0.0]])
    assert SphereHead(2, 4)(features).isnan().any(dim=1).tolist() == [True, True, False]


def test_double_heads_compute_in_double() -> None:
    head = SphereHead(3, 4).double()
    assert head(torch.ones(2, 3)).dtype == torch.float64
    features = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda h, _: head(h), (features, head.weight))


def test_fixed_code_as_stored(rng: np.random.Generator) -> None:
    """Rows of few digits are taken and made unit again; tensors as well as arrays."""
    code = random_points(rng, K, D)
    head = FixedHead(torch.from_numpy(code.round(5)))
    assert (head.weights.double().norm(dim=1) - 1).abs().max() < 1e-7
    np.testing.assert_allclose(head.weights.numpy(), code, atol=2e-5)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (np.diag([1.0, 1.001]), "row 1 of the fixed code has norm 1.001, not 1"),
        (np.zeros((2, 2)), "row 0 of the fixed code has norm 0"),
        (np.array([[1.0, 0.0], [np.nan, 0.0]]), "NaN or infinity, first in row 1"),
        (np.ones(3), r"shape \(3,\)"),
    ],
)
def test_no_code(code: np.ndarray, says: str) -> None:
    with pytest.raises(DataError, match=says):
        FixedHead(code)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: SphereHead(1, 4), "d=1"),
        (lambda: DecayHead(4, 1), "K=1"),
        (lambda: SphereHead(4, 4, tau=0.0), "tau=0.0"),
        (lambda: FixedHead(np.eye(3), tau=math.nan), "tau=nan"),
        (lambda: ClassMeanHead(4, 4, beta=1.0), "beta=1.0"),
    ],
)
def test_refused(make: Callable[[], Head], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make()
