"""Bytes that a head needs, against what a step really allocates, and the refusal."""

import pytest
import torch

from gnc_cli.errors import UnavailableError, UsageError
from gnc_cli.networks import head_memory
from gnc_cli.networks.head_memory import check_head_fits, free_bytes, head_bytes
from gnc_cli.networks.heads import ClassMeanHead, DecayHead, FixedHead, Head, SphereHead
from gnc_cli.networks.losses import make_loss
from gnc_cli.networks.unit_rows import random_unit_rows


def _head(kind: str, d: int, K: int) -> Head:
    match kind:
        case "learned":
            return SphereHead(d, K)
        case "decay":
            return DecayHead(d, K)
        case "cmf":
            return ClassMeanHead(d, K)
        case _:
            return FixedHead(random_unit_rows(K, d, 0))


def _peak(kind: str, loss: str, d: int, K: int, N: int) -> int:
    """Bytes that two steps of training allocate at most at once, by torch's own account."""
    head = _head(kind, d, K)
    held = 4 * K * d
    score = make_loss(loss, tau=0.1, margin=0.3 if loss.endswith("face") else None)
    features = random_unit_rows(N, d, 1).requires_grad_()
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
    events = profile.profiler.kineto_results.events()
    changes = [
        e.nbytes() for e in sorted(events, key=lambda e: e.start_ns()) if e.name() == "[memory]"
    ]
    total = peak = 0
    for change in changes:
        total += change
        peak = max(peak, total)
    return held + peak


@pytest.mark.parametrize("kind", ["learned", "decay", "cmf", "fixed"])
@pytest.mark.parametrize(("d", "K", "N"), [(64, 2000, 300), (256, 2000, 32)])
def test_prediction_is_the_peak(kind: str, d: int, K: int, N: int) -> None:
    for loss in ("ce", "arcface"):
        predicted = head_bytes(d, K, N, head=kind, optimizer="sgd")
        assert 0.75 <= _peak(kind, loss, d, K, N) / predicted <= 1.05


def test_a_free_device_is_told() -> None:
    free = free_bytes("cpu")
    assert free is None or free > 2**20
    assert free_bytes("meta") is None


def test_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(head: str) -> None:
        check_head_fits(512, 10**6, 256, head=head, optimizer="adamw", device="cpu")

    monkeypatch.setattr(head_memory, "free_bytes", lambda device: 3 * 10**9)
    with pytest.raises(UnavailableError, match=r"K=1000000 .* 25\.\d GB .* 3 GB .*cmf\|fixed$"):
        check("learned")
    with pytest.raises(UnavailableError, match=r"--batch-size or --feature-dim, or --head fixed$"):
        check("cmf")
    with pytest.raises(UnavailableError, match="--batch-size or --feature-dim$"):
        check("fixed")
    monkeypatch.setattr(head_memory, "free_bytes", lambda device: None)
    check("learned")
    for wrong in ({"head": "linear", "optimizer": "sgd"}, {"head": "cmf", "optimizer": "lbfgs"}):
        with pytest.raises(UsageError, match="unknown; choose"):
            head_bytes(512, 1000, 256, **wrong)


def test_the_host_is_shared_and_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the step on the CPU, and alone where a GPU trains; a share for each process."""
    K, d = 10**6, 512
    step, measured = head_bytes(d, K, 256, head="fixed", optimizer="sgd"), 3 * K * d * 8
    free = {"cpu": step + measured, "cuda": step}
    monkeypatch.setattr(head_memory, "free_bytes", lambda device: free[torch.device(device).type])

    def check(device: str) -> None:
        check_head_fits(d, K, 256, head="fixed", optimizer="sgd", device=device)

    check("cpu")
    free["cpu"] -= 1
    with pytest.raises(UnavailableError, match="at batch size 256 .* on cpu"):
        check("cpu")
    free["cpu"] = measured
    check("cuda:1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    with pytest.raises(UnavailableError, match=r"12\.3 GB to be measured.* 6\.14 GB .* on cpu"):
        check("cuda:1")
    free["cpu"] *= 2
    check("cuda:1")
    free["cuda"] -= 1
    with pytest.raises(UnavailableError, match="at batch size 256 .* on cuda:1"):
        check("cuda:1")


def test_a_container_is_heeded(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from pathlib import Path

    root = Path(str(tmp_path))
    for name, text in {
        "memory.max": "5000\n", "memory.current": "4000\n",
        "memory.stat": "anon 1000\nactive_file 200\ninactive_file 300\n",
    }.items():  # fmt: skip
        (root / name).write_text(text)
    monkeypatch.setattr(head_memory, "_CGROUPS", ((str(root), "memory.max", "memory.current"),))
    assert free_bytes("cpu") == 1500
    (root / "memory.max").write_text("max\n")
    assert (free_bytes("cpu") or 10**6) > 1500
