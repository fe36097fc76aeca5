"""Heads: cosines and products in full precision, and class means that move as the paper has it."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from gnc_cli.geometry.sphere import random_points
from gnc_cli.training.networks.heads import (
    ClassMeanHead,
    DecayHead,
    FixedHead,
    Head,
    SphereHead,
    unit_features,
    unit_rows,
)
from tests.runtime.together import needs_gloo, together

D, K = 5, 9
MADE: dict[str, Callable[[int], Head]] = {
    "sphere": lambda seed: SphereHead(D, K, seed=seed),
    "decay": lambda seed: DecayHead(D, K, seed=seed),
    "cmf": lambda seed: ClassMeanHead(D, K, seed=seed),
    "fixed": lambda seed: FixedHead(random_points(np.random.default_rng(seed), K, D)),
}
every_head = pytest.mark.parametrize("kind", MADE)


@every_head
def test_scores_are_plain_products(
    kind: str, rng: np.random.Generator, place: torch.device
) -> None:
    head, features = MADE[kind](3).to(place), rng.standard_normal((20, D))
    W = head.weights.detach().cpu().numpy().astype(np.float64)
    H = features.astype(np.float32).astype(np.float64)
    if head.sphere:
        np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0, atol=1e-6)
        H = H / np.linalg.norm(H, axis=1, keepdims=True)
    given = torch.from_numpy(features).float().to(place)
    np.testing.assert_allclose(head.scores(given).detach().cpu(), H @ W.T, atol=2e-6)
    np.testing.assert_allclose(head(given).detach().cpu(), H @ W.T / head.tau, atol=2e-5)


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
def test_one_seed_one_head_and_one_checkpoint_for_all(kind: str) -> None:
    before = torch.random.get_rng_state()
    head, again, other = MADE[kind](7), MADE[kind](7), MADE[kind](8)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(head.weights, again.weights)
    assert not torch.equal(head.weights, other.weights)
    learned = SphereHead(D, K, seed=1)
    head.load_state_dict(learned.state_dict())
    assert list(head.state_dict()) == ["weight"] and torch.equal(head.weight, learned.weight)


def test_unit_rows_differentiate() -> None:
    rows = torch.randn(4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    large, tiny = (factor * rows for factor in (100.0, 1e-9))  # below the floor: linear
    assert torch.autograd.gradcheck(unit_rows, rows.requires_grad_())
    assert torch.autograd.gradcheck(unit_features, large.requires_grad_())
    assert torch.autograd.gradcheck(unit_rows, tiny.requires_grad_(), eps=1e-12, atol=1.0)
    head = SphereHead(6, 4).double()
    assert torch.autograd.gradcheck(lambda h, _: head(h), (rows, head.weight))


@pytest.mark.parametrize("size", [0.0, 1e-42, 1e-30, 1e-7, 1e-5, 1e5, 1e19, 3e38])
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


def test_fixed_code_as_stored(rng: np.random.Generator) -> None:
    """Rows of few digits are taken and made unit again; tensors as well as arrays."""
    code = random_points(rng, K, D)
    head = FixedHead(torch.from_numpy(code.round(5)))
    assert (head.weights.double().norm(dim=1) - 1).abs().max() < 1e-7
    np.testing.assert_allclose(head.weights.numpy(), code, atol=2e-5)


def _class_means(W: np.ndarray, batches: list[tuple[np.ndarray, np.ndarray]], beta: float):
    """Appendix B, class by class and sample by sample, in float64."""
    W = W.astype(np.float64)
    for features, labels in batches:
        for k in np.unique(labels):
            own = [h / np.linalg.norm(h) for h, y in zip(features, labels, strict=True) if y == k]
            blend = beta * W[k] + (1.0 - beta) * sum(own) / len(own)
            W[k] = blend / np.linalg.norm(blend)
    return W


def _batches(rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    return [
        (3.0 * rng.standard_normal((n, 4)), rng.choice([0, 1, 1, 2, 3, 4, 5, 7], size=n))
        for n in (1, 5, 30, 0, 12)
    ]


def _tensors(
    features: np.ndarray, labels: np.ndarray, place: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(features).float().to(place), torch.from_numpy(labels).to(place)


both_ways = pytest.mark.parametrize("classes", [8, 5000])
"""Of a head that moves all rows at once, and of one that moves those present."""


@both_ways
@pytest.mark.parametrize("beta", [0.0, 0.5, 0.9])
def test_class_means_against_a_slow_loop(
    beta: float, classes: int, rng: np.random.Generator, place: torch.device
) -> None:
    """Batches of several sizes, one of them empty; class 6 never comes."""
    head, batches = ClassMeanHead(4, classes, beta=beta, seed=1).to(place), _batches(rng)
    first = head.weight.cpu().numpy().copy()
    for features, labels in batches:
        head.absorb(*_tensors(features, labels, place))
    moved = head.weight.cpu().numpy()
    np.testing.assert_allclose(moved, _class_means(first, batches, beta), atol=2e-6)
    assert np.array_equal(moved[6], first[6])
    head.eval().absorb(*_tensors(*batches[-1], place))
    assert np.array_equal(head.weight.cpu().numpy(), moved)


@both_ways
def test_means_without_a_direction_leave_the_row(classes: int, place: torch.device) -> None:
    """Means of norm zero, rows that cancel, broken features: old rows, no NaN."""
    head = ClassMeanHead(4, classes, beta=0.5).to(place)
    with torch.no_grad():
        head.weight[:] = torch.eye(4)[0]
    before = head.weight.clone()
    features = torch.zeros(6, 4)
    features[:, :2] = torch.tensor(
        [[0.0, 2.0], [0.0, -2.0], [0.0, 0.0], [-3.0, 1e-6], [torch.nan, 1.0], [0.0, 9.0]]
    )
    head.absorb(features.to(place), torch.tensor([0, 0, 1, 2, 3, 4], device=place))
    assert torch.equal(head.weight[:4], before[:4])
    torch.testing.assert_close(head.weight[4, :2].cpu(), torch.tensor([0.5, 0.5]).sqrt())


def test_two_passes_before_one_backward(rng: np.random.Generator) -> None:
    """The gradient of each pass is that of the rows it saw; none reaches the rows."""
    head = ClassMeanHead(4, 8, seed=2)
    passes, want = [], []
    for features, labels in _batches(rng)[1:3]:
        h = torch.from_numpy(features).float().requires_grad_()
        head.absorb(h, torch.from_numpy(labels))
        passes.append((h, head.scores(h).square().sum()))
        alone = h.detach().clone().requires_grad_()
        units = torch.nn.functional.normalize(alone)
        (units @ head.weight.clone().T).square().sum().backward()
        want.append(alone.grad)
    sum(loss for _, loss in passes).backward()
    for (h, _), grad in zip(passes, want, strict=True):
        torch.testing.assert_close(h.grad, grad)


@needs_gloo
def test_two_processes_are_one_with_the_joined_batch() -> None:
    """Unequal shares, classes that only one process has, and one empty share."""
    together(
        """
        import torch, torch.distributed as dist
        from gnc_cli.training.networks.heads import ClassMeanHead

        g = torch.Generator().manual_seed(0)
        batches = [(torch.randn(11, 3, generator=g), torch.randint(6, (11,), generator=g))
                   for _ in range(3)]
        alone = {K: ClassMeanHead(3, K, seed=4) for K in (6, 6000)}  # all rows; those present
        shared = {K: ClassMeanHead(3, K, seed=4) for K in alone}
        for head in alone.values():
            for features, labels in batches:
                head.absorb(features, labels)
        dist.init_process_group("gloo")
        for K, head in shared.items():
            for (features, labels), cut in zip(batches, (4, 8, 11)):
                share = slice(0, cut) if rank == 0 else slice(cut, None)
                head.absorb(features[share], labels[share])
            both = [torch.empty(K, 3) for _ in range(2)]
            dist.all_gather(both, head.weight)
            assert torch.equal(*both)
            torch.testing.assert_close(head.weight, alone[K].weight, rtol=0, atol=1e-6)
        dist.barrier()
        dist.destroy_process_group()
        """
    )


@pytest.mark.parametrize(
    "head",
    [SphereHead(3, 4), DecayHead(3, 4), FixedHead(np.eye(3)), ClassMeanHead(3, 4)],
)
def test_a_head_answers_what_loops_ask_of_a_linear_layer(head: Head) -> None:
    K, d = head.weight.shape
    assert (head.in_features, head.out_features, head.bias) == (d, K, None)
    assert "bias" not in head.state_dict()
