"""Networks that do not fit are refused before they are built; long training is announced."""

import contextlib
import logging
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from gnc_cli.errors import UnavailableError
from gnc_cli.runtime import memory
from gnc_cli.training.head import HeadPlan
from gnc_cli.training.network import announce_time, check_fits, read_tensors
from gnc_cli.training.settings import Recipe, settings_of
from tests.training.networks.fakes import fake_training

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("asked", "plan", "message"),
    [
        ({}, (512, 10**6), r"a learned head of K=1000000 .* 27.7 GB .* 3 GB .*another head"),
        ({"head": "cmf"}, (512, 10**6), "a cmf head .* or feature_dim, or another head$"),
        ({"model": "resnet50", "width": 60.0}, (10, 4), "model='resnet50' .*batch_size, width or"),
        ({"model": "my.own:network"}, (10, 4), None),
    ],
)
def test_what_does_not_fit(
    asked: dict[str, Any],
    plan: tuple[int, int],
    message: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 3e9)
    settings = settings_of(asked)
    with pytest.raises(UnavailableError, match=message) if message else contextlib.nullcontext():
        check_fits(settings, HeadPlan(*plan), (9, 1, 32, 32), 256, CPU)


def test_long_training_is_announced(caplog: pytest.LogCaptureFixture) -> None:
    training = fake_training(Recipe(epochs=3, batch_size=16), place=CPU)
    settings = settings_of({"epochs": 3})
    with caplog.at_level(logging.WARNING):
        announce_time(settings, training)
        assert not caplog.messages
        training.flops = 1e13 / math.pi
        announce_time(settings, training)
    (line,) = caplog.messages
    assert line.startswith("model='cnn' for epochs=3 takes about ")


def test_safetensors_and_low_precision(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    low = {"a": torch.tensor([1.5, -2.0]), "b": torch.tensor([1, 2]), "c": torch.tensor([True])}
    save_file({"a": low["a"].bfloat16(), "b": low["b"], "c": low["c"]}, tmp_path / "a.safetensors")
    torch.save({"a": low["a"].bfloat16(), "b": low["b"], "c": low["c"]}, tmp_path / "a.pt")
    for name in ("a.safetensors", "a.pt"):
        tensors = read_tensors(tmp_path / name)
        assert tensors.keys() == {"a", "b"}
        assert tensors["a"].dtype == torch.float32 and torch.equal(tensors["a"], low["a"])
        tensors["a"] += 1.0  # ours to change, and no map of the file
