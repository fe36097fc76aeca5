"""`train --resume`: the run goes on bit for bit, wherever it was stopped."""

import threading
from pathlib import Path
from typing import Any

import h5py
import pytest
import torch

from gnc_cli.errors import DataError, UsageError
from gnc_cli.records import plain
from gnc_cli.training.api import train
from gnc_cli.training.checkpoints import read_checkpoint, write_checkpoint
from gnc_cli.training.result import EpochRow, TrainResult
from tests.training.problems import run, timeless, toy

QUICK: dict[str, Any] = {"device": "cpu", "threads": 1}
ASKED: dict[str, Any] = {
    "model": "cnn", "width": 0.125, "epochs": 6, "measure_every": 2, "snapshot_every": 3,
    "augment": ("crop", "rotate"),
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("resume")


@pytest.fixture(scope="module")
def data(place: Path) -> str:
    return toy(place / "toy.h5", names=("ant", "/", "cat", "dog"))


@pytest.fixture(scope="module")
def whole(place: Path, data: str) -> TrainResult:
    """Six epochs without a stop."""
    return run(data, place / "whole", **ASKED)


class Stop:
    """An interruption after so many epochs, or, told of so many steps, after one more."""

    def __init__(self, *, epoch: int | None = None, step: int | None = None) -> None:
        self.event = threading.Event()
        self._epoch, self._step = epoch, step

    def on_epoch(self, row: EpochRow) -> None:
        if row.epoch == self._epoch:
            self.event.set()

    def progress(self, stage: str, done: int, total: int, loss: float) -> None:
        assert stage == "training" and 0 < done <= total
        if self._step is not None and done >= self._step:
            self.event.set()

    @property
    def asked(self) -> dict[str, Any]:
        return {"interrupt": self.event, "on_epoch": self.on_epoch, "progress": self.progress}


def _resume(data: str, out: Path | str, **asked: Any) -> TrainResult:
    result = train(data=data, out=out, resume=True, **(QUICK | asked))
    assert isinstance(result, TrainResult)
    return result


def _same(one: TrainResult, other: TrainResult) -> None:
    """Histories but for the clock, networks, optimisers and snapshots: bit for bit."""
    assert timeless(one.history) == timeless(other.history)
    a, b = (read_checkpoint(Path(r.run) / "last.pt")["training"] for r in (one, other))
    assert a["model"].keys() == b["model"].keys()
    for name in a["model"]:
        assert torch.equal(a["model"][name], b["model"][name]), name
    for at, state in a["optimizer"]["state"].items():
        for name, value in state.items():
            assert torch.equal(value, b["optimizer"]["state"][at][name]), (at, name)
    with (
        h5py.File(Path(one.run) / "snapshots.h5") as first,
        h5py.File(Path(other.run) / "snapshots.h5") as second,
    ):
        assert sorted(first["snapshots"]) == sorted(second["snapshots"])
        for name in first["snapshots"]:
            for key, values in first[f"snapshots/{name}"].items():
                assert (values[:] == second[f"snapshots/{name}/{key}"][:]).all(), (name, key)
    assert one.best == other.best and one.test_accuracy == other.test_accuracy
    assert one.measured is not None and other.measured is not None
    assert one.measured.gnc2 == other.measured.gnc2 and one.measured.gnc1 == other.measured.gnc1


@pytest.mark.parametrize("stop", [{"epoch": 3}, {"step": 10}, {"step": 1}])
def test_a_run_goes_on_as_if_it_had_never_stopped(
    stop: dict[str, int], place: Path, data: str, whole: TrainResult
) -> None:
    out = place / "-".join(f"{k}{v}" for k, v in stop.items())
    halt = Stop(**stop)
    part = run(data, out, **ASKED, **halt.asked)
    assert part.outcome == "interrupted"
    assert part.advice is not None and f"--resume --out {out}" in part.advice
    steps = stop["step"] + 1 if "step" in stop else 9
    state = read_checkpoint(out / "last.pt")["training"]
    assert (state["epoch"], state["step"]) == divmod(steps, 3)
    assert part.epochs == len(part.history) == steps // 3
    assert timeless(part.history) == timeless(whole.history[: part.epochs])
    _same(_resume(data, out), whole)
    assert "resumed after epoch" in (out / "log.txt").read_text()


def test_stopped_again_and_again(place: Path, data: str, whole: TrainResult) -> None:
    out = place / "again"
    run(data, out, **ASKED, **Stop(step=2).asked)
    for step in (4, 5, 9, 16):
        assert _resume(data, out, **Stop(step=step).asked).outcome == "interrupted"
    _same(_resume(data, out), whole)


def test_stopped_before_the_first_step(place: Path, data: str, whole: TrainResult) -> None:
    out = place / "none"
    halt = Stop()
    halt.event.set()
    part = run(data, out, **ASKED, **halt.asked)
    assert (part.outcome, part.epochs, part.history) == ("interrupted", 0, ())
    assert part.loss is None and part.images_per_second is None and part.best is None
    plain(part.to_json())
    _same(_resume(data, out), whole)


def test_time_is_a_normal_end(place: Path, data: str, whole: TrainResult) -> None:
    out = place / "timed"
    part = run(data, out, **ASKED, time_limit=1e-9)
    assert part.outcome == "time_limit" and part.advice is not None and "--resume" in part.advice
    assert part.epochs == 0 and part.measured is not None and part.test_accuracy is not None
    _same(_resume(data, out), whole)


def test_more_epochs(place: Path, data: str, whole: TrainResult) -> None:
    """With a constant rate, four epochs and two more are six."""
    constant = ASKED | {"schedule": "constant", "snapshot_every": 2}
    straight = run(data, place / "straight", **constant)
    out = place / "longer"
    first = run(data, out, **(constant | {"epochs": 4}))
    assert first.outcome == "completed" and first.epochs == 4
    more = _resume(data, out, epochs=6)
    assert (more.outcome, more.epochs, more.epochs_asked) == ("completed", 6, 6)
    _same(more, straight)


def test_a_completed_run_says_its_result_again(
    place: Path, data: str, whole: TrainResult
) -> None:
    before = {name: (place / "whole" / name).read_bytes() for name in ("metrics.jsonl", "last.pt")}
    again = _resume(data, place / "whole")
    _same(again, whole)
    assert again.history == whole.history and again.outcome == "completed"
    assert again.measured is not None and whole.measured is not None
    assert again.measured.epoch == whole.measured.epoch == 6
    for name, text in before.items():
        assert (place / "whole" / name).read_bytes() == text, name
    # The same command once more with --resume is no contradiction.
    assert run(data, place / "whole", resume=True, **ASKED).history == whole.history


def test_cadence_may_change(place: Path, data: str) -> None:
    out = place / "cadence"
    run(data, out, **(ASKED | {"snapshot_every": None}), **Stop(epoch=2).asked)
    result = _resume(data, out, measure_every=1, snapshot_every=4)
    assert [row.epoch for row in result.history if row.gnc1 is not None] == [1, 2, 3, 4, 5, 6]
    with h5py.File(out / "snapshots.h5") as h5:
        assert sorted(h5["snapshots"])[::2] == ["epoch-0004-test", "epoch-0006-test"]


def test_what_a_resumed_run_refuses(place: Path, data: str, whole: TrainResult) -> None:
    out = place / "whole"
    kept = {path.name: path.read_bytes() for path in out.iterdir()}
    others = toy(place / "sub" / "toy.h5") if (place / "sub").mkdir() is None else ""
    fewer = toy(place / "sub" / "other.h5", 3)
    for asked, kind, message in (
        ({"data": fewer}, UsageError, "data .*other.h5: the run to resume has h5:toy.h5"),
        ({"data": others}, DataError, "was trained on 4 classes.*name the same data"),
        ({"lr": 0.5}, UsageError, "lr 0.5: the run to resume has 0.01"),
        ({"batch_size": 16}, UsageError, "batch_size 16"),
        ({"seed": 2}, UsageError, "seed 2"),
        ({"model": "resnet18"}, UsageError, "model resnet18"),
        ({"head": "cmf"}, UsageError, "head cmf"),
        ({"feature_dim": 4}, UsageError, "feature_dim 4"),
        ({"augment": ()}, UsageError, "augment"),
        ({"preset": "fig2"}, UsageError, "preset fig2"),
    ):
        with pytest.raises(kind, match=message):
            _resume(**({"data": data, "out": out} | asked))
    for path in out.iterdir():
        assert path.read_bytes() == kept[path.name], path.name


def test_a_run_keeps_no_folders(
    place: Path, whole: TrainResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it says what to give again; where the name alone leads to the data, nothing."""
    with pytest.raises(DataError, match="no such file: 'toy.h5'.*so give data"):
        train(out=place / "whole", resume=True, epochs=7, **QUICK)
    monkeypatch.chdir(place)
    result = train(out="whole", resume=True, **QUICK)
    assert isinstance(result, TrainResult) and result.history == whole.history


def test_checkpoints_that_cannot_be_used(place: Path, data: str) -> None:
    out = place / "damaged"
    run(data, out, **(ASKED | {"epochs": 1}))
    whole = (out / "last.pt").read_bytes()
    (out / "last.pt").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="last.pt"):
        _resume(data, out, epochs=2)
    write_checkpoint(out / "last.pt", {"weights": torch.zeros(3)})
    with pytest.raises(DataError, match="last.pt is no checkpoint of gnc train"):
        _resume(data, out, epochs=2)
    (out / "last.pt").unlink()
    with pytest.raises(DataError, match="no last.pt.*--force"):
        _resume(data, out, epochs=2)
    (out / "config.json").write_text('{"settings": {"data": "h5:toy.h5"}}')
    with pytest.raises(DataError, match="config.json"):
        _resume(data, out, epochs=2)
    with pytest.raises(DataError, match="no run of gnc train"):
        _resume(data, place, epochs=2)
