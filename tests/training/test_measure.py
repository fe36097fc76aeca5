"""Measuring a network in training: every row once, in eval mode, in blocks and with threads."""

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gnc_cli import GNCMetrics
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.training import epochs, measure
from gnc_cli.training.measure import evaluate
from gnc_cli.training.networks.batches import DeviceImages
from gnc_cli.training.networks.classifier import EncoderWithHead
from tests.training.networks.fakes import GREY, fake_images, fake_model
from tests.training.problems import run, timeless, toy


def _model(place: torch.device) -> EncoderWithHead:
    return fake_model(norm="batch", dropout=0.5).to(place)


def test_all_rows_in_order_in_eval_mode(place: torch.device) -> None:
    images, _ = fake_images(50)
    model = _model(place)
    with torch.no_grad():
        H = model.eval().features(GREY.apply(torch.from_numpy(images).to(place)))
    model.train()
    model.encoder.layers[1].eval()  # someone's frozen batch norm
    modes = [module.training for module in model.modules()]
    at = 0
    for features, rows in evaluate(
        model, DeviceImages(images, place), normalisation=GREY, device=place, batch_size=16
    ):
        assert rows.start == at and not any(m.training for m in model.modules())
        assert torch.is_inference(features) and not torch.is_inference_mode_enabled()
        assert features.dtype == torch.float32 and features.device.type == place.type
        assert torch.allclose(features, H[rows], atol=1e-5)
        at = rows.stop
    assert at == 50
    assert [module.training for module in model.modules()] == modes


@pytest.mark.parametrize("kept", [1 << 30, 1000])  # 96 rows of 16 bytes are more than 1000
def test_blocks_cover_every_row_once_also_of_sets_too_large_to_keep(
    kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {"epochs": 4, "measure_every": 1, "snapshot_every": 2, "feature_dim": 4}
    data = toy(tmp_path / "toy.h5")
    whole = run(data, tmp_path / "whole", **asked)
    monkeypatch.setattr(measure, "_MAX_KEPT_BYTES", kept)
    monkeypatch.setattr(measure, "_BLOCK_BYTES", 7 * 16)
    assert timeless(run(data, tmp_path / "cut", **asked).history) == timeless(whole.history)
    splits = [path.stem.partition("2-")[2] for path in tmp_path.glob("cut/snapshots/*-0002-*")]
    assert sorted(splits) == (["test"] if kept == 1000 else ["test", "train"])
    log = (tmp_path / "cut" / "log.txt").read_text()
    assert log.count("no snapshot of the training features") == (kept == 1000)


def test_gnc2_can_be_interrupted() -> None:
    """Its bracket is wider, and valid."""
    rng, event = np.random.default_rng(0), threading.Event()
    weights = rng.standard_normal((60, 8))
    metrics = GNCMetrics(8, 60)
    metrics.update(weights, np.arange(60))
    closed = metrics.compute(weights, deadline=Deadline(None, event)).gnc2
    event.set()
    for asked in ({}, {"time_limit": 100.0}):
        wide = metrics.compute(weights, deadline=Deadline(None, event), **asked).gnc2
        assert wide is not None and closed is not None
        assert wide.lower <= closed.lower <= closed.upper <= wide.upper
        assert wide.upper - wide.lower > 10.0 * (closed.upper - closed.lower)


def test_a_measurement_ends_soon_after_the_time_limit(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run says so, and goes on from there."""
    data, out = toy(home / "toy.h5"), home / "out"
    real = measure.evaluate

    def slow(*args: Any, **kwargs: Any) -> Any:
        for found in real(*args, **kwargs):
            time.sleep(0.3)
            yield found

    monkeypatch.setattr(epochs, "_MIN_SECONDS", 0.0)
    monkeypatch.setattr(measure, "evaluate", slow)
    part = run(data, out, epochs=50, measure_every=1, time_limit=0.2)
    assert part.outcome == "time_limit" and part.measured is None
    assert "is not measured: the time limit came first" in (out / "log.txt").read_text()
    assert part.advice is not None and "--resume" in part.advice
    monkeypatch.undo()
    assert run(data, out, epochs=3, resume=True).measured is not None
