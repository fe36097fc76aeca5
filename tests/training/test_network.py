"""Networks that do not fit are refused before they are built; long training is announced."""

import contextlib
import logging
import math
from typing import Any

import pytest
import torch

from gnc_cli.errors import UnavailableError
from gnc_cli.training import network
from gnc_cli.training.head import HeadPlan
from gnc_cli.training.network import announce_time, check_fits, precision_on
from gnc_cli.training.request import Recipe, Request, settings_of
from tests.training.networks.fakes import fake_training

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("asked", "plan", "message"),
    [
        ({}, (512, 10**6), r"a learned head of K=1000000 .* 27.7 GB .* 3 GB .*head='cmf\|fixed'"),
        ({"head": "cmf"}, (512, 10**6), r"a cmf head .* or feature_dim, or head='fixed'$"),
        ({"head": "fixed:a"}, (512, 10**6), "or feature_dim$"),
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
    monkeypatch.setattr(network, "free_memory", lambda: 3e9)
    settings = settings_of(Request(**asked))
    with pytest.raises(UnavailableError, match=message) if message else contextlib.nullcontext():
        check_fits(settings, HeadPlan(*plan, None, None, None, None), (9, 1, 32, 32), 256, CPU)


def test_the_processes_of_a_machine_share_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "free_memory", lambda: 4e9)
    settings, plan = settings_of(Request()), HeadPlan(256, 10**5, None, None, None, None)
    check_fits(settings, plan, (9, 1, 32, 32), 64, CPU)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    with pytest.raises(UnavailableError, match="1 GB are free"):
        check_fits(settings, plan, (9, 1, 32, 32), 64, CPU)


def test_long_training_is_announced(caplog: pytest.LogCaptureFixture) -> None:
    training = fake_training(Recipe(epochs=3, batch_size=16), place=CPU)
    settings = settings_of(Request(epochs=3))
    with caplog.at_level(logging.WARNING):
        announce_time(settings, training)
        assert not caplog.messages
        training.flops = 1e13 / math.pi
        announce_time(settings, training)
    (line,) = caplog.messages
    assert line.startswith("model='cnn' for epochs=3 takes about ")


@pytest.mark.parametrize("native", [False, True])
def test_emulated_bf16_is_not_chosen(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a V100 has it; asked about the device that trains."""
    asked: list[torch.device] = []

    def place_on(device: torch.device) -> contextlib.nullcontext[None]:
        asked.append(device)
        return contextlib.nullcontext()

    def supported(including_emulation: bool = True) -> bool:
        return native or including_emulation

    monkeypatch.setattr(torch.cuda, "device", place_on)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    gpu = torch.device("cuda:1")
    assert precision_on(gpu, "auto") == ("bf16" if native else "float32") and asked == [gpu]
