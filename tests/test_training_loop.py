"""`A loop of your own` in docs/guides/trainers.md, run against stand-ins of the dashboards."""

import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

from gnc_cli import GNCMetrics
from tests.documents import blocks
from tests.runtime.together import needs_gloo, together

PAGE = Path(__file__).parent.parent / "docs/guides/trainers.md"
TEXT = PAGE.read_text(encoding="utf-8").partition("## A loop of your own")[2]


class Network(nn.Module):
    """An encoder and a head."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.encoder = nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.5))
        self.head = nn.Linear(6, 5)


class Writer:
    """TensorBoard's SummaryWriter."""

    written: dict[str, float] = {}

    def __init__(self, folder: str) -> None:
        assert folder == "runs"

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def add_scalar(self, name: str, value: float, step: int) -> None:
        assert step == 9
        self.written[name] = value


def _module(name: str, **inside: Any) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(inside)
    return module


@pytest.fixture
def told() -> list[tuple[dict[str, float], int]]:
    """The numbers and steps that the dashboards got."""
    return []


@pytest.fixture
def recipes(
    monkeypatch: pytest.MonkeyPatch, told: list[tuple[dict[str, float], int]]
) -> dict[str, Any]:
    """The names that the page's Python blocks define, run from top to bottom."""

    def tell(found: dict[str, float], step: int) -> None:
        told.append((found, step))

    for module in (
        _module("wandb", log=tell),
        _module("mlflow", log_metrics=tell),
        _module("torch.utils.tensorboard", SummaryWriter=Writer),
    ):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    names: dict[str, Any] = {}
    for block in blocks(TEXT, "python"):
        exec(compile(block.text, str(PAGE), "exec"), names)
    return names


@pytest.fixture
def batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    torch.manual_seed(4)
    return [(torch.randn(n, 4), torch.randint(5, (n,))) for n in (8, 8, 8, 3)]


@pytest.fixture
def network() -> Network:
    return Network()


@pytest.fixture
def expected(
    network: Network, batches: list[tuple[torch.Tensor, torch.Tensor]]
) -> Iterator[dict[str, float]]:
    """The numbers of all samples at once."""
    images, labels = (torch.cat(parts) for parts in zip(*batches, strict=True))
    network.eval()
    features = network.encoder(images).detach()
    network.train()
    head = network.head
    metrics = GNCMetrics(6, 5)
    metrics.update(features, labels, head(features))
    metrics.judge(features, labels, head.weight, head.bias)
    found = metrics.compute(head.weight).flat()
    yield {
        name: float(value)
        for name, value in found.items()
        if isinstance(value, int | float) and not name.startswith("gnc/worst_classes.")
    }
    assert network.training, "a recipe left the network in eval mode"
    assert not network.head._forward_hooks and not network.head._forward_pre_hooks


_SECOND_PASS = ("gnc/ncc_", "gnc/nc4", "gnc/sample_margins")


def _agree(found: dict[str, float], expected: dict[str, float], second_pass: bool = False) -> None:
    wanted = {k: v for k, v in expected.items() if second_pass or not k.startswith(_SECOND_PASS)}
    assert found.keys() == wanted.keys() and {"gnc/gnc1", "gnc/accuracy"} <= wanted.keys()
    for name in wanted.keys() - {"gnc/seconds"}:
        assert found[name] == pytest.approx(wanted[name], rel=1e-5, abs=1e-6), name
        assert type(found[name]) is float and math.isfinite(found[name])


def test_a_second_pass(
    recipes: dict[str, Any], network: Network, batches: list[Any], expected: dict[str, float]
) -> None:
    result = recipes["collapse_with_ncc"](network.encoder, network.head, batches)
    _agree(recipes["numbers"](result), expected, second_pass=True)


def test_dashboards(
    recipes: dict[str, Any],
    network: Network,
    batches: list[Any],
    expected: dict[str, float],
    told: list[Any],
) -> None:
    result = recipes["collapse"](network.encoder, network.head, batches)
    for name in ("to_wandb", "to_mlflow", "to_tensorboard"):
        recipes[name](result, 9)
    (wandb, step), (mlflow, same) = told
    assert step == same == 9
    for found in (wandb, mlflow, Writer.written):
        _agree(found, expected)
        assert all(re.fullmatch(r"[\w\-. :/]+", name) for name in found)  # MLflow takes no others


@pytest.mark.parametrize("kind", ["learned", "cmf", "fixed"])
def test_classifiers_on_the_sphere(recipes: dict[str, Any], kind: str) -> None:
    torch.manual_seed(5)
    labels = torch.arange(5).repeat(20)
    images = 3 * torch.randn(5, 4)[labels] + 0.1 * torch.randn(100, 4)
    encoder = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
    head = recipes["make_head"](kind, 3, 5)
    rows = head.weights.detach().clone()
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.05)
    for _ in range(40):
        recipes["epoch_on_the_sphere"](encoder, head, optimizer, [(images, labels)], "cosface", 0.2)
    assert (head(encoder(images)).argmax(1) == labels).float().mean() > 0.95
    assert torch.equal(head.weights, rows) is (kind == "fixed")
    assert (len(list(head.parameters())) == 1) is (kind == "learned")


@needs_gloo
def test_several_processes(
    recipes: dict[str, Any], network: Network, batches: list[Any], expected: dict[str, float]
) -> None:
    lines = together(
        """
        import json
        import torch
        from tests.documents import blocks
        from tests.test_training_loop import TEXT, Network
        names = {}
        for block in blocks(TEXT, "python"):
            if "def collapse" in block.text or "def numbers" in block.text:
                exec(block.text, names)
        torch.manual_seed(4)
        batches = [(torch.randn(n, 4), torch.randint(5, (n,))) for n in (8, 8, 8, 3)]
        network = Network().eval()
        result = names["collapse_of_all"](network.encoder, network.head, batches[rank::2])
        print(json.dumps(names["numbers"](result)))
        """
    )
    first, second = (json.loads(line) for line in lines)
    _agree(first, expected, second_pass=True)
    first.pop("gnc/seconds"), second.pop("gnc/seconds")
    assert first == second
