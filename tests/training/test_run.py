"""One run of `train`: killed anywhere it goes on exactly, stopped anywhere it says what it has."""

import contextlib
import json
import threading
from pathlib import Path
from typing import Any

import h5py
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.errors import DataError, OutputError
from gnc_cli.io.ledger import Ledger
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.training import measure as train_measure
from gnc_cli.training import run as train_run
from gnc_cli.training import run_folder as train_folder
from gnc_cli.training.checkpoints import read_checkpoint
from gnc_cli.training.epochs import Cadence
from gnc_cli.training.result import TrainResult
from gnc_cli.training.run_folder import RunFolder
from gnc_cli.training.session import precision_on
from tests.training.problems import Troubled, run, timeless, toy

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
        (train_measure.Measuring, "measure", True), (train_folder, "add_snapshot", True),
        (train_folder, "add_snapshot", False), (train_folder, "link_file", True),
        (Ledger, "append", True), (Ledger, "append", False),
    ],
)  # fmt: skip
def test_a_kill_after_the_checkpoint_loses_no_epoch(
    owner: Any, name: str, before: bool, place: Path, data: str, whole: TrainResult,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Whatever was being written: the second epoch is saved already, and finished on resume."""
    out, real = place / f"killed-{name}-{before}", getattr(owner, name)

    def killing(*args: Any, **kwargs: Any) -> Any:
        if read_checkpoint(out / "last.pt")["training"]["epoch"] < 2:
            return real(*args, **kwargs)
        if not before:
            real(*args, **kwargs)
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
    real = train_measure.evaluate

    def evaluate(*args: Any, **kwargs: Any) -> Any:
        passes.append(None)
        if len(passes) == 3:  # two of the first epoch, of training and test images
            event.set()
        return real(*args, **kwargs)

    monkeypatch.setattr(train_measure, "evaluate", evaluate)
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
        train_run, "Deadline", lambda s, event: Deadline(s, event, lambda: clock[0])
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


def test_the_last_good_checkpoint_is_named(place: Path, data: str) -> None:
    """Inside the first epoch, too."""
    out, event = place / "lost", threading.Event()
    asked = {"model": "tests.training.test_run:soon", "epochs": 2}
    run(data, out, interrupt=event, progress=lambda *_: event.set(), **asked)
    with pytest.raises(DataError, match="epoch 1, step 3 of 3.*/last.pt, of step 2 of epoch 1$"):
        run(data, out, resume=True, **asked)


def soon(**shape: Any) -> torch.nn.Module:
    """Good for two steps."""
    return Troubled(2, **shape)


def test_other_pictures_are_noticed(place: Path, data: str) -> None:
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

    folder: Any = RunFolder(Second(), "run")  # type: ignore[arg-type]
    for call in (
        lambda: folder.checkpoint({}), lambda: folder.epoch({}, ""), lambda: folder.back_to(3),
        folder.best,
    ):  # fmt: skip
        with pytest.raises(OutputError, match="no space"):
            call()
