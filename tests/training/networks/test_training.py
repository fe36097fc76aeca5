"""The recipe, and its loop: a plain one, exact after any stop, loud where a number is lost."""

import dataclasses
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from gnc_cli.errors import DataError, UnavailableError
from gnc_cli.training.networks.heads import DecayHead
from gnc_cli.training.networks.training import (
    EpochTotals,
    NonFiniteLossError,
    Training,
    TrainingState,
    make_optimizer,
)
from gnc_cli.training.settings import Recipe
from tests.training.networks.fakes import advance, fake_model, fake_training

CPU = torch.device("cpu")
PLAIN = Recipe(epochs=3, batch_size=16, lr=0.05)


def _training(recipe: Recipe = PLAIN, *, place: torch.device = CPU, **more: Any) -> Training:
    return fake_training(recipe, place=place, **more)


def _timeless(totals: EpochTotals | None) -> EpochTotals:
    assert totals is not None and totals.seconds > 0 and totals.images_per_second > 0
    return dataclasses.replace(totals, seconds=0.0, images_per_second=0.0)


def _assert_same(ours: Training, theirs: Training, place: torch.device) -> None:
    """Bit for bit on a CPU; a GPU sums the gradients of pooling in no fixed order."""
    a, b = ours.model.state_dict(), theirs.model.state_dict()
    near = 0.0 if place.type == "cpu" else 1e-2
    torch.testing.assert_close(dict(a), dict(b), rtol=near, atol=near)


def test_an_epoch_is_the_plain_loop(place: torch.device) -> None:
    recipe = dataclasses.replace(PLAIN, warmup=0.5)
    ours, plain = _training(recipe, place=place), _training(recipe, place=place)
    model, optimizer = plain.model, make_optimizer(plain.model, recipe)
    for epoch in range(2):
        losses, rights = [], []
        for step, batch in enumerate(plain.batches.epoch(epoch)):
            for group in optimizer.param_groups:
                group["lr"] = recipe.lr * recipe.factor(5 * epoch + step, 5)
            optimizer.zero_grad()
            each, right = model(batch.images, batch.labels)
            each.mean().backward()
            optimizer.step()
            losses.append(each.detach())
            rights.append(right)
        totals = _timeless(advance(ours))
        assert (totals.epoch, totals.step) == (epoch + 1, 5 * epoch + 5)
        near = 1e-6 if place.type == "cpu" else 1e-3
        assert totals.loss == pytest.approx(float(torch.cat(losses).double().mean()), rel=near)
        right = float(torch.cat(rights).double().mean())
        assert totals.accuracy == pytest.approx(right, abs=0 if place.type == "cpu" else 0.05)
        assert totals.lr == recipe.lr * recipe.factor(5 * epoch + 4, 5)
        _assert_same(ours, plain, place)


@pytest.mark.parametrize(
    "changes",
    [
        {"warmup": 1.5},
        {"optimizer": "adamw", "lr": 3e-3, "precision": "bf16"},
    ],
)
def test_a_run_that_was_stopped_goes_on_exactly(
    changes: dict[str, Any], tmp_path: Path, place: torch.device
) -> None:
    recipe = dataclasses.replace(PLAIN, **changes)
    layers: dict[str, Any] = {"norm": "batch", "dropout": 0.3, "place": place}
    straight = _training(recipe, **layers)
    want = [_timeless(advance(straight)) for _ in range(3)]

    first = _training(recipe, **layers)
    assert _timeless(advance(first)) == want[0] or place.type == "cuda"
    stop = 1 if place.type == "cuda" else 3
    assert advance(first, stop) is None and (first.epoch, first.step) == (1, stop)
    torch.save(first.state(), tmp_path / "last.pt")
    torch.rand(5)  # torch's own generator is no part of the state
    generator = torch.get_rng_state()

    second = _training(recipe, **layers)
    second.load_state(TrainingState(**torch.load(tmp_path / "last.pt", weights_only=True)))
    rest, last = (_timeless(advance(second)) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), generator)
    assert (rest.epoch, rest.step, rest.lr) == (want[1].epoch, want[1].step, want[1].lr)
    if place.type == "cpu":
        assert last == want[2]
    _assert_same(second, straight, place)
    assert all(p.dtype == torch.float32 for p in second.model.parameters())


def test_a_diverging_network_is_an_error(place: torch.device) -> None:
    training = _training(dataclasses.replace(PLAIN, lr=1e30), place=place)
    with pytest.raises(NonFiniteLossError) as seen:
        for _ in range(3):
            advance(training)
    assert isinstance(seen.value, DataError)
    epoch, step = training.epoch, training.step
    lr = re.escape(f"{1e30 * PLAIN.factor(5 * epoch + step - 1, 5):.3g}")
    assert re.fullmatch(
        f"epoch {epoch + 1}, step {step} of 5: the loss .* rate {lr} .* tau 0.2.*or longer warmup",
        str(seen.value),
    )


@pytest.mark.parametrize("what", ["a weight in the last step", "a running statistic"])
def test_what_is_lost_is_not_saved(what: str, place: torch.device) -> None:
    """Losses stay finite: a batch norm divides by its statistics in eval mode alone."""
    training = _training(norm="batch", place=place)
    for _ in training.steps():
        if what == "a running statistic":
            training.model.encoder.layers[1].running_var[0] = torch.inf
        elif training.step == 5:
            training.model.head.weight.data[0, 0] = torch.nan
    with pytest.raises(NonFiniteLossError, match="epoch 1, step 5 of 5"):
        training.settle()


def test_what_cannot_go_on_is_refused() -> None:
    with pytest.raises(UnavailableError, match="precision='fp16' needs a GPU.*bf16"):
        _training(dataclasses.replace(PLAIN, precision="fp16"))
    state = _training().state()
    with pytest.raises(DataError, match="seed 7, this one has 8"):
        _training(seed=8).load_state(TrainingState(**state))
    with pytest.raises(DataError, match="steps 5, this one has 9"):
        _training(dataclasses.replace(PLAIN, batch_size=8)).load_state(TrainingState(**state))
    with pytest.raises(DataError, match="another network or recipe: .*layers.1"):
        _training(norm="none").load_state(TrainingState(**state))
    with pytest.raises(DataError, match="another network or recipe"):
        _training(dataclasses.replace(PLAIN, optimizer="adamw")).load_state(TrainingState(**state))


CONV, LINEAR = "encoder.layers.0.weight", "encoder.layers.6.weight"
NORM, BIASES = "encoder.layers.1.weight", {f"encoder.layers.{i}.bias" for i in (0, 1, 6)}


def test_learning_rates_in_closed_form() -> None:
    cosine = Recipe(epochs=200, batch_size=128)
    for step in (0, 1, 391 * 100, 391 * 200 - 1):
        want = math.cos(math.pi * step / (2 * 391 * 200)) ** 2
        assert cosine.factor(step, 391) == pytest.approx(want, rel=1e-12)
    steps = Recipe(epochs=9, batch_size=8, schedule="step", milestones=(3, 6), warmup=1)
    found = [steps.factor(s, 2) for s in (0, 1, 5, 6, 11, 12)]
    assert found == pytest.approx([0.5, 1, 1, 0.1, 0.1, 0.01])
    constant = Recipe(epochs=9, batch_size=8, schedule="constant", warmup=0.25)
    assert [constant.factor(s, 8) for s in (0, 1, 2, 70)] == [0.5, 1, 1, 1]


@pytest.mark.parametrize(
    ("optimizer", "sphere", "decaying"),
    [
        ("sgd", True, {CONV, LINEAR, NORM, *BIASES}),
        ("sgd", False, {CONV, LINEAR, NORM, *BIASES, "head.weight"}),
        ("adamw", False, {CONV, LINEAR, "head.weight"}),
        ("adam", True, {CONV, LINEAR}),
    ],
)
def test_what_decays(optimizer: str, sphere: bool, decaying: set[str]) -> None:
    model = fake_model(None if sphere else DecayHead(4, 5))
    recipe = Recipe(epochs=1, batch_size=8, optimizer=optimizer, lr=0.1, weight_decay=0.1)
    before = {}
    for name, parameter in model.named_parameters():
        parameter.data += 1.0  # no zeros, which would not move
        parameter.grad = torch.zeros_like(parameter)
        before[name] = parameter.detach().clone()
    make_optimizer(model, recipe).step()
    moved = {n for n, p in model.named_parameters() if not torch.equal(p, before[n])}
    assert moved == decaying
