"""Bytes that a head needs, against what a step really allocates, and the refusal."""

import contextlib
import itertools
import math
from collections.abc import Callable

import pytest
import torch

from gnc_cli.errors import UnavailableError
from gnc_cli.training.networks import heads, memory
from gnc_cli.training.networks.losses import make_loss
from gnc_cli.training.networks.memory import check_head_fits, head_bytes

HEADS: dict[str, Callable[[int, int], heads.Head]] = {
    "learned": heads.SphereHead,
    "decay": heads.DecayHead,
    "cmf": heads.ClassMeanHead,
    "fixed": lambda d, K: heads.FixedHead(heads.random_unit_rows(K, d, 0)),
}


STEP = head_bytes(512, 10**6, 256, head="fixed", optimizer="sgd")
MEASURED = 3 * 10**6 * 512 * 8


def _peak(kind: str, loss: str, d: int, K: int, N: int) -> int:
    """Bytes that two steps of training allocate at most at once, by torch's own account."""
    head = HEADS[kind](d, K)
    held = 4 * K * d
    score = make_loss(loss, tau=0.1, margin=0.3 if loss.endswith("face") else None)
    features = heads.random_unit_rows(N, d, 1).requires_grad_()
    labels = torch.arange(N) % K
    trained = [*head.parameters()]
    optimizer = torch.optim.SGD(trained, lr=0.1, momentum=0.9) if trained else None
    with torch.profiler.profile(profile_memory=True) as profile:
        for _ in range(2):
            head.absorb(features, labels)
            score(head.scores(features), labels).mean().backward()
            if optimizer is not None:
                optimizer.step()
                optimizer.zero_grad()
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    changes = [e.nbytes() for e in sorted(events, key=lambda e: e.start_ns())]
    return held + max(itertools.accumulate(changes))


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize(("d", "K", "N"), [(64, 2000, 300), (256, 2000, 32)])
def test_prediction_is_the_peak(kind: str, d: int, K: int, N: int) -> None:
    for loss in ("ce", "arcface"):
        predicted = head_bytes(d, K, N, head=kind, optimizer="sgd")
        assert 0.75 <= _peak(kind, loss, d, K, N) / predicted <= 1.05


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("learned", r"K=1000000 .* 25\.\d GB .* 3 GB .*cmf\|fixed'$"),
        ("cmf", "batch_size or feature_dim, or head='fixed'$"),
        ("fixed", "batch_size or feature_dim$"),
    ],
)
def test_refusal(head: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda device: 3 * 10**9)
    with pytest.raises(UnavailableError, match=message):
        check_head_fits(512, 10**6, 256, head=head, optimizer="adamw", device="cpu")
    monkeypatch.setattr(memory, "free_bytes", lambda device: math.inf)
    check_head_fits(512, 10**6, 256, head=head, optimizer="adamw", device="cpu")


@pytest.mark.parametrize(
    ("device", "host", "gpu", "processes", "says"),
    [
        ("cpu", STEP + MEASURED, 0, 1, None),
        ("cpu", STEP + MEASURED - 1, 0, 1, "at batch size 256 .* on cpu"),
        ("cuda:1", MEASURED, STEP, 1, None),
        ("cuda:1", MEASURED, STEP, 2, r"12\.3 GB .* 6\.14 GB .* on cpu"),
        ("cuda:1", 2 * MEASURED, STEP, 2, None),
        ("cuda:1", 2 * MEASURED, STEP - 1, 2, "at batch size 256 .* on cuda:1"),
    ],
)
def test_the_host_is_shared_and_measures(
    device: str,
    host: int,
    gpu: int,
    processes: int,
    says: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beside the step on the CPU, and alone where a GPU trains; a share for each process."""
    free = {"cpu": host, "cuda": gpu}
    monkeypatch.setattr(memory, "free_bytes", lambda device: free[torch.device(device).type])
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(processes))
    with pytest.raises(UnavailableError, match=says) if says else contextlib.nullcontext():
        check_head_fits(512, 10**6, 256, head="fixed", optimizer="sgd", device=device)
