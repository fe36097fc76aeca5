"""How often `train` measures, with what limits, and what its processes hear of each other."""

import contextlib
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli import GNCMetrics
from gnc_cli.errors import OutputError
from gnc_cli.io.run_checkpoints import read_checkpoint
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.workflows.train_cadence import Cadence
from gnc_cli.workflows.train_session import precision_on
from gnc_cli.workflows.train_writing import Writing
from tests.workflows.train_problems import run, toy


@settings(max_examples=60)
@given(
    st.integers(1, 300), st.floats(0.01, 100.0), st.floats(0.01, 100.0), st.floats(0.5, 2.0)
)
def test_measuring_takes_a_tenth_of_the_time(
    epochs: int, training: float, measuring: float, drift: float
) -> None:
    """Unless the first and the last measurement alone take more."""
    cadence, measured = Cadence(None, epochs), []
    for epoch in range(1, epochs + 1):
        cadence.train_seconds += training
        if cadence.due(epoch):
            measured.append(epoch)
            # Later ones may be cheaper or dearer, but no dearer than the first.
            cost = measuring if epoch == 1 else measuring * min(1.0, drift)
            cadence.measured(cost, epoch)
    assert measured[0] == 1 and measured[-1] == epochs
    share = cadence.measure_seconds / (cadence.measure_seconds + cadence.train_seconds)
    assert share <= 0.1 + 1e-9 or len(measured) <= 2
    if measuring < 0.02 * training:
        assert measured == list(range(1, epochs + 1))


def test_an_interval_is_kept_in_the_checkpoint(tmp_path: Path) -> None:
    result = run(toy(tmp_path / "toy.h5"), tmp_path / "settled", epochs=6)
    kept = read_checkpoint(Path(result.run) / "last.pt")["run"]["cadence"]
    assert kept["every"] in (1, 2, 5, 10, 20, 50, 100, 200, 500)
    again = Cadence(None, 23)
    again.load(kept)
    assert again.state() == kept
    again = Cadence(7, 23)  # what the user asks for now
    again.load(kept)
    assert [e for e in range(1, 24) if again.due(e)] == [1, 7, 14, 21, 23]


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


def test_decisions_take_the_threads_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker with one thread for BLAS."""
    taken: list[int] = []
    real = GNCMetrics.judge

    def judge(self: GNCMetrics, *args: Any, workers: int, **kwargs: Any) -> None:
        taken.append(workers)
        assert torch.get_num_threads() == 1
        real(self, *args, workers=workers, **kwargs)

    monkeypatch.setattr(GNCMetrics, "judge", judge)
    run(toy(tmp_path / "toy.h5"), tmp_path / "out", epochs=1, threads=2)
    assert taken == [2]  # all rows at once


def test_emulated_bf16_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a V100 has it; asked about the device that trains."""
    asked: list[torch.device] = []

    def place_on(device: torch.device) -> contextlib.nullcontext[None]:
        asked.append(device)
        return contextlib.nullcontext()

    monkeypatch.setattr(torch.cuda, "device", place_on)
    for native in (False, True):
        monkeypatch.setattr(
            torch.cuda, "is_bf16_supported",
            lambda including_emulation=True, native=native: native or including_emulation,
        )  # fmt: skip
        chosen = precision_on(torch.device("cuda:1"), "auto")
        assert chosen == ("bf16" if native else "float32")
    assert asked == [torch.device("cuda:1")] * 2


def test_a_full_disk_is_everybodys_error() -> None:
    """The second of two processes hears from the first why it cannot go on."""

    class Second:
        first = False

        def all_gather(self, value: Any) -> list[Any]:
            return [OutputError("cannot write 'last.pt': no space"), value]

    writing: Any = Writing(None, "run", Second())  # type: ignore[arg-type]
    for call in (
        lambda: writing.checkpoint({}), lambda: writing.epoch({}, ""), lambda: writing.back_to(3),
        writing.best,
    ):  # fmt: skip
        with pytest.raises(OutputError, match="no space"):
            call()
