"""Learning rates over a run, and what each optimiser lets decay."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import UsageError
from gnc_cli.training.networks.recipe import Recipe, make_optimizer
from tests.training.networks.fakes import fake_model

CONV, LINEAR = "encoder.layers.0.weight", "encoder.layers.6.weight"
NORM, BIASES = "encoder.layers.1.weight", {f"encoder.layers.{i}.bias" for i in (0, 1, 6)}


@given(st.integers(1, 40), st.integers(1, 30), st.floats(0, 50))
def test_the_learning_rate_rises_then_falls(epochs: int, steps: int, warmup: float) -> None:
    recipe = Recipe(epochs=epochs, batch_size=8, warmup=warmup)
    factors = [recipe.factor(step, steps) for step in range(epochs * steps + 1)]
    warm = min(len(factors), math.floor(warmup * steps))
    assert factors[:warm] == sorted(factors[:warm])
    assert factors[warm:] == sorted(factors[warm:], reverse=True)
    assert all(0 <= factor <= 1 for factor in factors)
    if warmup < epochs:
        assert factors[-1] == pytest.approx(0, abs=1e-15)


def test_the_cosine_in_closed_form() -> None:
    recipe = Recipe(epochs=200, batch_size=128)
    for step in (0, 1, 391 * 100, 391 * 200 - 1):
        assert recipe.factor(step, 391) == pytest.approx(
            math.cos(math.pi * step / (2 * 391 * 200)) ** 2, rel=1e-12
        )


def test_steps_fall_at_their_milestones_and_a_constant_stays() -> None:
    steps = Recipe(epochs=9, batch_size=8, schedule="step", milestones=(3, 6), warmup=1)
    assert [steps.factor(s, 2) for s in (0, 1, 5, 6, 11, 12)] == pytest.approx(
        [0.5, 1, 1, 0.1, 0.1, 0.01]
    )
    constant = Recipe(epochs=9, batch_size=8, schedule="constant", warmup=0.25)
    assert [constant.factor(s, 8) for s in (0, 1, 2, 70)] == [0.5, 1, 1, 1]


@pytest.mark.parametrize(
    ("optimizer", "sphere", "decaying"),
    [
        ("sgd", True, {CONV, LINEAR, NORM, *BIASES}),
        ("sgd", False, {CONV, LINEAR, NORM, *BIASES, "head.weight"}),
        ("adamw", True, {CONV, LINEAR}),
        ("adamw", False, {CONV, LINEAR, "head.weight"}),
        ("adam", True, {CONV, LINEAR}),
    ],
)
def test_what_decays(optimizer: str, sphere: bool, decaying: set[str]) -> None:
    model = fake_model(sphere=sphere)
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
    model = fake_model()
    recipe = Recipe(epochs=1, batch_size=8, momentum=0.0)
    model.encoder.requires_grad_(False)
    (group,) = make_optimizer(model, recipe).param_groups
    assert group["params"] == [model.head.weight] and not group["nesterov"]
    model.head.requires_grad_(False)
    with pytest.raises(UsageError, match="nothing is left to train"):
        make_optimizer(model, recipe)
