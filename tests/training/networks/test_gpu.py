"""What only a GPU has: scaled losses, pinned memory, generators of its own, memory that ends."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from gnc_cli.training.networks.training import TrainingState
from gnc_cli.training.settings import Recipe
from tests.training.networks.fakes import advance, fake_training

pytestmark = pytest.mark.gpu

FP16 = Recipe(epochs=3, batch_size=16, lr=0.05, precision="fp16")


def test_fp16_goes_on_with_its_scale(gpu: torch.device, tmp_path: Path) -> None:
    straight = fake_training(FP16, place=gpu, norm="batch")
    want = [advance(straight) for _ in range(3)]
    first = fake_training(FP16, place=gpu, norm="batch")
    assert advance(first) is not None and advance(first, 1) is None
    torch.save(first.state(), tmp_path / "last.pt")
    second = fake_training(FP16, place=gpu, norm="batch")
    stored = torch.load(tmp_path / "last.pt", map_location="cpu", weights_only=True)
    second.load_state(TrainingState(**stored))
    assert second.state()["scaler"] == first.state()["scaler"] != {}
    for theirs in want[1:]:
        ours = advance(second)
        assert ours is not None and theirs is not None and np.isfinite(theirs.loss)
        assert (ours.epoch, ours.step, ours.lr) == (theirs.epoch, theirs.step, theirs.lr)
    assert ours is not None and theirs is not None
    assert ours.loss == pytest.approx(theirs.loss, rel=0.05)
    assert second.state()["scaler"] == straight.state()["scaler"]
    assert all(p.dtype == torch.float32 for p in second.model.parameters())


def test_dropout_is_seeded_on_the_gpu_that_trains(gpu: torch.device) -> None:
    """The generators of all GPUs are as they were, and what they were does not matter."""
    recipe = dataclasses.replace(FP16, precision="float32")
    losses = []
    for seed in (1, 2):
        torch.cuda.manual_seed_all(seed)
        before = torch.cuda.get_rng_state_all()
        totals = advance(fake_training(recipe, place=gpu, dropout=0.5))
        assert totals is not None
        losses.append(totals.loss)
        for now, then in zip(torch.cuda.get_rng_state_all(), before, strict=True):
            assert torch.equal(now, then)
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
