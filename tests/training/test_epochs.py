"""The epochs of `train`: stopped or killed anywhere, a run goes on bit for bit."""

import dataclasses
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.ledger import Ledger
from gnc_cli.plain import plain
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.training import measure, run_folder
from gnc_cli.training import run as train_run
from gnc_cli.training.epochs import measure_due
from gnc_cli.training.result import EpochRow, TrainResult
from gnc_cli.training.run_folder import read_state
from gnc_cli.training.settings import settings_of
from tests.training.problems import run, timeless, toy

ASKED: dict[str, Any] = {
    "model": "cnn",
    "width": 0.125,
    "epochs": 4,
    "measure_every": 1,
    "snapshot_every": 2,
    "augment": ("crop", "rotate"),
}
STEPS = 3
"""Of an epoch."""


@pytest.fixture(scope="module")
def whole(home: Path, data: str) -> TrainResult:
    """Four epochs without a stop."""
    return run(data, home / "whole", **ASKED)


def stop(*, epoch: int | None = None, step: int | None = None) -> dict[str, Any]:
    """An interruption after so many epochs, or steps."""
    event = threading.Event()

    def on_epoch(row: EpochRow) -> None:
        if row.epoch == epoch:
            event.set()

    def progress(stage: str, done: int, total: int, loss: float) -> None:
        assert stage == "training" and 0 < done <= total
        if step is not None and done >= step:
            event.set()

    if epoch == 0:
        event.set()
    return {"interrupt": event, "on_epoch": on_epoch, "progress": progress}


def resume(data: str | None, out: Path | str, **asked: Any) -> TrainResult:
    return run(
        data,
        out,
        resume=True,
        **(
            dict.fromkeys(("model", "feature_dim", "epochs", "batch_size", "lr", "augment", "seed"))
            | asked
        ),
    )


def snapshots(folder: str | Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in Path(folder).glob("snapshots/*"))


def same(one: TrainResult, other: TrainResult, partial: Sequence[int] = ()) -> None:
    """Histories but for the clock, networks, optimisers and snapshots: bit for bit.

    Loss and running accuracy of `partial` epochs, which were resumed inside, are of fewer steps.
    """
    assert (one.outcome, one.best) == (other.outcome, other.best)
    for ours, theirs in zip(timeless(one.history), timeless(other.history), strict=True):
        if ours.epoch in partial:
            theirs = dataclasses.replace(
                theirs, loss=ours.loss, running_accuracy=ours.running_accuracy
            )
        assert ours == theirs
    for name in ("last", "best"):
        a, b = (read_state(f"{r.run}/{name}.pt")["training"] for r in (one, other))
        assert a["epoch"] == b["epoch"] and a["model"].keys() == b["model"].keys(), name
        assert all(torch.equal(a["model"][key], b["model"][key]) for key in a["model"]), name
        for at, state in a["optimizer"]["state"].items():
            for key, value in state.items():
                assert torch.equal(value, b["optimizer"]["state"][at][key]), (at, key)
    assert snapshots(one.run) == snapshots(other.run)
    for name in snapshots(one.run):
        with h5py.File(f"{one.run}/{name}") as a, h5py.File(f"{other.run}/{name}") as b:
            assert (a.attrs["epoch"], a.attrs["step"]) == (b.attrs["epoch"], b.attrs["step"])
            for key, values in a.items():
                assert (values[:] == b[key][:]).all(), (name, key)
    assert one.measured is not None and other.measured is not None
    assert one.test_accuracy == other.test_accuracy
    assert one.measured.gnc2 == other.measured.gnc2 and one.measured.gnc1 == other.measured.gnc1


def lines(folder: Path) -> list[int]:
    text = (folder / "metrics.jsonl").read_text()
    return [json.loads(line)["epoch"] for line in text.splitlines()]


@pytest.mark.parametrize("at", [{"epoch": 0}, {"epoch": 2}, {"step": 7}, {"step": 1}])
def test_a_run_goes_on_as_if_it_had_never_stopped(
    at: dict[str, int], home: Path, data: str, whole: TrainResult
) -> None:
    out = home / "-".join(f"{k}{v}" for k, v in at.items())
    part = run(data, out, **ASKED, **stop(**at))
    assert part.outcome == "interrupted"
    assert part.advice is not None and f"--resume --out {out}" in part.advice
    steps = at["step"] if "step" in at else STEPS * at["epoch"]
    state = read_state(out / "last.pt")["training"]
    assert (state["epoch"], state["step"]) == divmod(steps, STEPS)
    assert part.epochs == len(part.history) == steps // STEPS
    assert timeless(part.history) == timeless(whole.history[: part.epochs])
    assert (part.loss is None) == (part.best is None) == (part.epochs == 0)
    plain(part.to_json())
    same(resume(data, out), whole, [part.epochs + 1] if steps % STEPS else [])
    assert "resumed after epoch" in (out / "log.txt").read_text()


class Kill(BaseException):
    """Nothing catches it."""


def test_a_kill_within_an_epoch_takes_what_came_after_a_checkpoint(
    home: Path, data: str, whole: TrainResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnc_cli.runtime.deadline._SAVE_EVERY", 0.0)
    monkeypatch.setattr("gnc_cli.runtime.deadline._SAVE_SHARE", 0.0)
    out, saved = home / "killed-within", []

    def killed(stage: str, done: int, total: int, loss: float) -> None:
        if out.joinpath("last.pt").exists():
            state = read_state(out / "last.pt")["training"]
            saved.append(STEPS * state["epoch"] + state["step"])
        if done == 5:
            raise Kill

    with pytest.raises(Kill):
        run(data, out, **ASKED, progress=killed)
    assert saved == [1, 2, 3, 4]
    same(run(data, out, resume=True, **ASKED), whole, [2])


@pytest.mark.parametrize(
    ("owner", "name", "before"),
    [
        (measure.NetworkMeasurer, "measure", True),
        (run_folder, "add_snapshot", True),
        (run_folder, "add_snapshot", False),
        (run_folder.RunFolder, "write_best", True),
        (Ledger, "append", True),
        (Ledger, "append", False),
    ],
)
def test_a_kill_after_the_checkpoint_loses_no_epoch(
    owner: Any,
    name: str,
    before: bool,
    home: Path,
    data: str,
    whole: TrainResult,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever was being written: the second epoch is saved already, and finished on resume."""
    out, real = home / f"killed-{name}-{before}", getattr(owner, name)

    def killing(*args: Any, **kwargs: Any) -> Any:
        if read_state(out / "last.pt")["training"]["epoch"] < 2:
            return real(*args, **kwargs)
        if not before:
            real(*args, **kwargs)
        raise Kill

    monkeypatch.setattr(owner, name, killing)
    with pytest.raises(Kill):
        run(data, out, **ASKED)
    monkeypatch.undo()
    assert read_state(out / "last.pt")["training"]["epoch"] >= 2
    same(run(data, out, resume=True, **ASKED), whole)


def test_an_interrupted_measurement_is_made_on_resume(
    home: Path, data: str, whole: TrainResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while the network looks at the samples after its second epoch."""
    out, event, passes = home / "interrupted", threading.Event(), []
    real = measure.evaluate

    def evaluate(*args: Any, **kwargs: Any) -> Any:
        passes.append(None)
        if len(passes) == 3:  # two of the first epoch, of training and test images
            event.set()
        return real(*args, **kwargs)

    monkeypatch.setattr(measure, "evaluate", evaluate)
    part = run(data, out, interrupt=event, **ASKED)
    monkeypatch.undo()
    assert len(passes) == 3  # no test images after the interruption
    assert part.outcome == "interrupted" and part.epochs == 2 and lines(out) == [1]
    assert part.history[1].gnc1 is None and part.measured is not None and part.measured.epoch == 1
    same(resume(data, out), whole)


@pytest.mark.parametrize(("strikes", "epochs", "measured"), [(0, 0, 0), (4, 1, 1), (6, 2, 1)])
def test_time_is_a_normal_end(
    strikes: int,
    epochs: int,
    measured: int,
    home: Path,
    data: str,
    whole: TrainResult,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before any step it is measured once; later the last measurement is reported."""
    out, clock = home / f"late-{strikes}", [0.0]

    def progress(stage: str, done: int, total: int, loss: float) -> None:
        clock[0] = 1000.0 if done >= strikes else 0.0

    def deadline(seconds: float | None, event: threading.Event | None) -> Deadline:
        made = Deadline(seconds, event, lambda: clock[0])
        clock[0] = 0.0 if strikes else 1000.0
        return made

    limits: list[float | None] = []
    real = measure.NetworkMeasurer.measure

    def measuring(self: Any, *, patience: float | None, deadline: Deadline, **how: Any) -> Any:
        limits.append(deadline.remaining if patience is None else patience)
        return real(self, patience=patience, deadline=deadline, **how)

    monkeypatch.setattr(train_run.Deadline, "begin_call", deadline)
    monkeypatch.setattr(measure.NetworkMeasurer, "measure", measuring)
    part = run(data, out, time_limit=100.0, progress=progress, **ASKED)
    monkeypatch.undo()
    assert part.outcome == "time_limit" and part.advice is not None and "--resume" in part.advice
    assert part.epochs == epochs and lines(out) == [1][:epochs]
    assert part.measured is not None and part.measured.epoch == measured
    assert limits == [10.0 if strikes else 0.0]  # seconds for GNC2
    same(resume(data, out), whole, [2] if strikes == 4 else [])


def test_more_epochs(home: Path, data: str) -> None:
    """With a constant rate, two epochs and two more are four."""
    constant = ASKED | {"schedule": "constant"}
    straight = run(data, home / "straight", **constant)
    first = run(data, home / "longer", **(constant | {"epochs": 2}))
    assert first.outcome == "completed" and first.epochs == 2
    more = resume(data, home / "longer", epochs=4)
    assert (more.epochs, more.epochs_asked) == (4, 4)
    same(more, straight)


def test_a_completed_run_says_its_result_again(
    home: Path, data: str, whole: TrainResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run keeps no folders, so the data are named again unless the name alone leads there."""
    out = home / "whole"
    before = {name: (out / name).read_bytes() for name in ("metrics.jsonl", "last.pt")}
    again = resume(data, out)
    same(again, whole)
    assert again.history == whole.history and again.outcome == "completed"
    assert again.measured is not None and again.measured.epoch == 4
    for name, text in before.items():
        assert (out / name).read_bytes() == text, name
    # The same command once more with --resume is no contradiction.
    assert run(data, out, resume=True, **ASKED).history == whole.history
    with pytest.raises(DataError, match="no such file: 'toy.h5'.*so give data"):
        resume(None, out, epochs=7)
    monkeypatch.chdir(home)
    assert resume(None, "whole").history == whole.history


def test_other_data_than_the_runs_are_refused(home: Path, data: str) -> None:
    out = home / "images"
    run(data, out, **ASKED, **stop(epoch=0))
    kept = {path.name: path.read_bytes() for path in out.iterdir()}
    for name in ("classes", "noise", "order"):
        (home / name).mkdir()
    classes, noise = toy(home / "classes" / "toy.h5"), toy(home / "noise" / "toy.h5", seed=5)
    toy(home / "order" / "toy.h5", names=("ant", "/", "cat", "dog"))
    with h5py.File(home / "order" / "toy.h5", "r+") as h5:
        h5["train_labels"][:] = h5["train_labels"][:][::-1]
    with h5py.File(home / "noise" / "toy.h5", "r+") as h5:
        h5["class_names"] = ["ant", "/", "cat", "dog"]
    order = f"h5:{home / 'order' / 'toy.h5'}"
    for other, said in (
        (classes, "was trained on other classes"),
        (order, "other images, or on these in another order"),
        (noise, "other images"),
    ):
        with pytest.raises(DataError, match=f"{said}.*name the same data"):
            resume(other, out)
    with pytest.raises(UsageError, match="lr 0.5: the run to resume has 0.01"):
        resume(data, out, lr=0.5)
    after = {path.name: path.read_bytes() for path in out.iterdir()}
    assert {**after, "log.txt": b""} == {**kept, "log.txt": b""}


@given(st.integers(1, 300), st.floats(0.01, 100.0), st.floats(0.01, 100.0), st.floats(0.5, 2.0))
def test_measuring_takes_a_tenth_of_the_time(
    epochs: int, training: float, measuring: float, drift: float
) -> None:
    """Unless the first and the last measurement alone take more."""
    free, history, measured = settings_of({"epochs": epochs}), list[EpochRow](), []
    for epoch in range(1, epochs + 1):
        cost = 0.0
        if measure_due(free, epoch, training * epoch, history):
            measured.append(epoch)
            # Later ones may be cheaper or dearer, but no dearer than the first.
            cost = measuring if epoch == 1 else measuring * min(1.0, drift)
        history.append(
            EpochRow(epoch, epoch, 0.1, 1.0, 0.5, seconds=training, measure_seconds=cost)
        )
    assert measured[0] == 1 and measured[-1] == epochs
    spent = sum(row.measure_seconds for row in history)
    assert spent / (spent + training * epochs) <= 0.1 + 1e-9 or len(measured) <= 2
    if measuring < 0.02 * training:
        assert measured == list(range(1, epochs + 1))
    seventh = dataclasses.replace(free, measure_every=7)
    due = [e for e in range(2, epochs) if measure_due(seventh, e, training * e, history[: e - 1])]
    assert due == list(range(7, epochs, 7))
