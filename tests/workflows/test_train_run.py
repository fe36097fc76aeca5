"""One run of `train`: killed anywhere it goes on exactly, stopped anywhere it says what it has."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from gnc_cli.errors import DataError
from gnc_cli.io.run_checkpoints import read_checkpoint
from gnc_cli.io.runs import RunFolder
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.results import TrainResult
from gnc_cli.workflows import train_features, train_job, train_measure
from tests.workflows.train_problems import run, timeless, toy

ASKED: dict[str, Any] = {"epochs": 4, "measure_every": 1, "snapshot_every": 2, "feature_dim": 4}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def data(place: Path) -> str:
    return toy(place / "toy.h5")


@pytest.fixture(scope="module")
def whole(place: Path, data: str) -> TrainResult:
    """Four epochs without a stop."""
    return run(data, place / "whole", **ASKED)


def _same(one: TrainResult, other: TrainResult) -> None:
    assert one.outcome == other.outcome and one.best == other.best
    assert timeless(one.history) == timeless(other.history)
    for name in ("last", "best"):
        a, b = (read_checkpoint(Path(r.run) / f"{name}.pt")["training"] for r in (one, other))
        assert a["epoch"] == b["epoch"], name
        assert all(torch.equal(a["model"][key], b["model"][key]) for key in a["model"]), name


def _lines(folder: Path) -> list[int]:
    text = (folder / "metrics.jsonl").read_text()
    return [json.loads(line)["epoch"] for line in text.splitlines()]


class Kill(BaseException):
    """Nothing catches it."""


@pytest.mark.parametrize(
    ("owner", "name", "before"),
    [
        (train_measure.Measuring, "measure", True), (RunFolder, "add_snapshot", True),
        (RunFolder, "add_snapshot", False), (RunFolder, "mark_best", True),
        (RunFolder, "add_epoch", True), (RunFolder, "add_epoch", False),
    ],
)  # fmt: skip
def test_a_kill_after_the_checkpoint_loses_no_epoch(
    owner: type, name: str, before: bool, place: Path, data: str, whole: TrainResult,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Whatever was being written: the second epoch is saved already, and finished on resume."""
    out, real = place / f"killed-{name}-{before}", getattr(owner, name)

    def killing(self: Any, *args: Any, **kwargs: Any) -> Any:
        if read_checkpoint(out / "last.pt")["training"]["epoch"] < 2:
            return real(self, *args, **kwargs)
        if not before:
            real(self, *args, **kwargs)
        raise Kill

    monkeypatch.setattr(owner, name, killing)
    with pytest.raises(Kill):
        run(data, out, **ASKED)
    monkeypatch.undo()
    assert read_checkpoint(out / "last.pt")["training"]["epoch"] >= 2
    _same(run(data, out, resume=True, **ASKED), whole)


def test_an_interrupted_measurement_is_made_on_resume(
    place: Path, data: str, whole: TrainResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while the network looks at the samples after its second epoch."""
    out, event, passes = place / "interrupted", threading.Event(), []
    real = train_features.evaluate

    def evaluate(*args: Any, **kwargs: Any) -> Any:
        passes.append(None)
        if len(passes) == 3:  # two of the first epoch, of training and test images
            event.set()
        return real(*args, **kwargs)

    monkeypatch.setattr(train_features, "evaluate", evaluate)
    part = run(data, out, interrupt=event, **ASKED)
    monkeypatch.undo()
    assert len(passes) == 3  # no test images after the interruption
    assert part.outcome == "interrupted" and part.epochs == 2 and _lines(out) == [1]
    assert part.history[1].gnc1 is None and part.measured is not None and part.measured.epoch == 1
    _same(run(data, out, resume=True, **ASKED), whole)


@pytest.mark.parametrize(("strikes", "epochs", "lines"), [(4, 1, [1]), (6, 2, [1])])
def test_nothing_is_measured_once_time_is_up(
    strikes: int, epochs: int, lines: list[int], place: Path, data: str, whole: TrainResult,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Inside the second epoch, and at its end: the first one's measurement is reported."""
    out, clock = place / f"late-{strikes}", [0.0]

    def progress(stage: str, done: int, total: int, loss: float) -> None:
        clock[0] = 1000.0 if done >= strikes else 0.0

    monkeypatch.setattr(
        train_job, "Deadline", lambda s, event: Deadline(s, event, lambda: clock[0])
    )
    limits: list[float] = []
    real = train_measure.Measuring.measure

    def measure(self: Any, *, keep: bool, deadline: Deadline) -> Any:
        limits.append(deadline.remaining)
        return real(self, keep=keep, deadline=deadline)

    monkeypatch.setattr(train_measure.Measuring, "measure", measure)
    part = run(data, out, time_limit=100.0, progress=progress, **ASKED)
    monkeypatch.undo()
    assert part.outcome == "time_limit" and part.epochs == epochs and _lines(out) == lines
    assert part.measured is not None and part.measured.epoch == 1
    assert limits == [10.0]  # seconds for GNC2, of the first epoch alone
    _same(run(data, out, resume=True, **ASKED), whole)


def test_large_sets_go_through_the_network_twice(
    place: Path, data: str, whole: TrainResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_features, "_KEPT_BYTES", 1000)  # 96 rows of 16 bytes are more
    monkeypatch.setattr(train_features, "_BLOCK_BYTES", 100)
    large = run(data, place / "large", **(ASKED | {"batch_size": 32}))
    assert timeless(large.history) == timeless(whole.history)
    import h5py

    with h5py.File(place / "large" / "snapshots.h5") as h5:
        assert sorted(h5["snapshots"]) == ["epoch-0002-test", "epoch-0004-test"]
    log = (place / "large" / "log.txt").read_text()
    assert log.count("no snapshot of the train features") == 1 and "--feature-dim" in log


def test_blocks_cover_every_row_once(
    place: Path, data: str, whole: TrainResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_features, "_BLOCK_BYTES", 7 * 16)
    assert timeless(run(data, place / "blocks", **ASKED).history) == timeless(whole.history)


def test_the_last_good_checkpoint_is_named(place: Path, data: str) -> None:
    """Inside the first epoch, too."""
    out, event = place / "lost", threading.Event()
    asked = {"model": "tests.workflows.test_train_run:soon", "epochs": 2}
    run(data, out, interrupt=event, progress=lambda *_: event.set(), **asked)
    with pytest.raises(DataError, match="epoch 1, step 3 of 3.*/last.pt, of step 2 of epoch 1$"):
        run(data, out, resume=True, **asked)


def soon(**shape: Any) -> torch.nn.Module:
    """Good for two steps."""
    from tests.workflows.train_problems import Troubled

    return Troubled(2, **shape)


def test_other_pictures_are_noticed(place: Path, data: str) -> None:
    import h5py

    out, event = place / "pictures", threading.Event()
    event.set()
    run(data, out, interrupt=event, **ASKED)
    (place / "noise").mkdir()
    with pytest.raises(DataError, match="other pictures: their mean was 0.*name the same data"):
        run(toy(place / "noise" / "toy.h5", seed=5), out, resume=True, **ASKED)
    (place / "order").mkdir()
    rolled = toy(place / "order" / "toy.h5")
    with h5py.File(place / "order" / "toy.h5", "r+") as h5:
        labels = h5["train_labels"][:]
        h5["train_labels"][:] = labels[::-1]
    with pytest.raises(DataError, match="other labels, or in another order.*name the same data"):
        run(rolled, out, resume=True, **ASKED)
    assert run(data, out, resume=True, **ASKED).outcome == "completed"
