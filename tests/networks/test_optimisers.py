import pytest
import torch

from gnc_cli.errors import UsageError
from gnc_cli.networks.optimisers import make_optimizer
from gnc_cli.networks.recipe import Recipe
from tests.networks.fakes import FakeClassifier, FakeEncoder, FakeHead

CONV, LINEAR = "encoder.layers.0.weight", "encoder.layers.6.weight"
NORM, BIASES = "encoder.layers.1.weight", {f"encoder.layers.{i}.bias" for i in (0, 1, 6)}


@pytest.mark.parametrize(
    ("optimizer", "sphere", "decaying"),
    [
        ("sgd", True, {CONV, LINEAR, NORM, *BIASES}),
        ("sgd", False, {CONV, LINEAR, NORM, *BIASES, "head.raw"}),
        ("adamw", True, {CONV, LINEAR}),
        ("adamw", False, {CONV, LINEAR, "head.raw"}),
        ("adam", True, {CONV, LINEAR}),
    ],
)
def test_what_decays(optimizer: str, sphere: bool, decaying: set[str]) -> None:
    model = FakeClassifier(FakeEncoder(), FakeHead(4, 5, sphere=sphere))
    recipe = Recipe(epochs=1, batch_size=8, optimizer=optimizer, lr=0.1, weight_decay=0.1)
    before = {}
    for name, parameter in model.named_parameters():
        parameter.data += 1.0  # no zeros, which would not move
        parameter.grad = torch.zeros_like(parameter)
        before[name] = parameter.detach().clone()
    make_optimizer(model, recipe).step()
    moved = {n for n, p in model.named_parameters() if not torch.equal(p, before[n])}
    assert moved == decaying


def test_frozen_parameters_are_left_out_and_none_at_all_is_refused() -> None:
    model = FakeClassifier(FakeEncoder(), FakeHead(4, 5))
    recipe = Recipe(epochs=1, batch_size=8, momentum=0.0)
    model.encoder.requires_grad_(False)
    (group,) = make_optimizer(model, recipe).param_groups
    assert group["params"] == [model.head.raw] and not group["nesterov"]
    model.head.requires_grad_(False)
    with pytest.raises(UsageError, match="nothing is left to train"):
        make_optimizer(model, recipe)
