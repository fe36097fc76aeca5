"""Class means that move: against a slow loop, in corner cases, over two processes."""

import numpy as np
import pytest
import torch

from gnc_cli.networks import class_mean_head
from gnc_cli.networks.heads import ClassMeanHead
from tests.numerics.together import needs_gloo, together


def _slow(W: np.ndarray, batches: list[tuple[np.ndarray, np.ndarray]], beta: float) -> np.ndarray:
    """Appendix B, class by class and sample by sample, in float64."""
    W = W.astype(np.float64)
    for features, labels in batches:
        for k in range(len(W)):
            own = [h / np.linalg.norm(h) for h, y in zip(features, labels, strict=True) if y == k]
            if own:
                blend = beta * W[k] + (1.0 - beta) * sum(own) / len(own)
                W[k] = blend / np.linalg.norm(blend)
    return W


def _batches(rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Batches of several sizes; class 6 of 8 never comes."""
    return [
        (3.0 * rng.standard_normal((n, 4)), rng.choice([0, 1, 1, 2, 3, 4, 5, 7], size=n))
        for n in (1, 5, 30, 12, 12)
    ]


@pytest.fixture(params=["all rows", "rows present"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small heads move all rows at once, large ones those present: both do the same."""
    if request.param == "rows present":
        monkeypatch.setattr(class_mean_head, "DENSE", {})


both_ways = pytest.mark.usefixtures("way")


@both_ways
@pytest.mark.parametrize("beta", [0.0, 0.5, 0.9])
def test_against_a_slow_loop(beta: float, rng: np.random.Generator, place: torch.device) -> None:
    head, batches = ClassMeanHead(4, 8, beta=beta, seed=1).to(place), _batches(rng)
    first = head.weight.cpu().numpy().copy()
    for features, labels in batches:
        head.absorb(
            torch.from_numpy(features).float().to(place), torch.from_numpy(labels).to(place)
        )
    moved = head.weight.cpu().numpy()
    np.testing.assert_allclose(moved, _slow(first, batches, beta), atol=2e-6)
    assert np.array_equal(moved[6], first[6])


def test_order_of_samples_and_their_lengths_do_not_matter(rng: np.random.Generator) -> None:
    features, labels = (torch.from_numpy(a) for a in _batches(rng)[2])
    order = torch.from_numpy(rng.permutation(len(labels)))
    a, b = ClassMeanHead(4, 8), ClassMeanHead(4, 8)
    a.absorb(features, labels)
    b.absorb(7.0 * features[order], labels[order])
    torch.testing.assert_close(a.weight, b.weight)


@both_ways
def test_eval_mode_and_empty_batches_change_nothing() -> None:
    head = ClassMeanHead(2, 3)
    before = head.weight.clone()
    head.absorb(torch.empty(0, 2), torch.empty(0, dtype=torch.int64))
    head.eval().absorb(torch.ones(3, 2), torch.arange(3))
    assert torch.equal(head.weight, before)


@both_ways
def test_nothing_to_go_by_leaves_the_row(place: torch.device) -> None:
    """Means of norm zero, rows that cancel, broken features: old rows, no NaN."""
    head = ClassMeanHead(2, 5, beta=0.5).to(place)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[1.0, 0.0]]).expand(5, 2))
    before = head.weight.clone()
    features = torch.tensor(
        [[0.0, 2.0], [0.0, -2.0], [0.0, 0.0], [-3.0, 1e-6], [torch.nan, 1.0], [0.0, 9.0]]
    )
    head.absorb(features.to(place), torch.tensor([0, 0, 1, 2, 3, 4], device=place))
    assert torch.equal(head.weight[:4], before[:4])
    torch.testing.assert_close(head.weight[4].cpu(), torch.tensor([0.5, 0.5]).sqrt())


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
        from gnc_cli.networks import class_mean_head
        from gnc_cli.networks.heads import ClassMeanHead

        g = torch.Generator().manual_seed(0)
        batches = [(torch.randn(11, 3, generator=g), torch.randint(6, (11,), generator=g))
                   for _ in range(3)]
        one, mine = ClassMeanHead(3, 6, seed=4), ClassMeanHead(3, 6, seed=4)
        for features, labels in batches:
            one.absorb(features, labels)
        dist.init_process_group("gloo")
        for (features, labels), cut in zip(batches, (4, 8, 11)):
            if cut == 8:  # the others have all rows moved
                class_mean_head.DENSE = {}
            share = slice(0, cut) if rank == 0 else slice(cut, None)
            mine.absorb(features[share], labels[share])
        both = [torch.empty(6, 3) for _ in range(2)]
        dist.all_gather(both, mine.weight)
        assert torch.equal(*both)
        torch.testing.assert_close(mine.weight, one.weight, rtol=0, atol=1e-6)
        dist.barrier()
        dist.destroy_process_group()
        """
    )
