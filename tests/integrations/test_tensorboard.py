"""`gnc train --logger tensorboard`: what TensorBoard reads is what metrics.jsonl holds."""

import json
import socket
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from gnc_cli.errors import OutputError
from gnc_cli.integrations.tensorboard import EventFile, event_files
from gnc_cli.records import flatten
from tests.training.problems import run, toy

NAME = "events.out.tfevents."


def board(folder: Path) -> dict[str, dict[int, float]]:
    """Scalars by name and epoch."""
    found = EventAccumulator(str(folder)).Reload()
    tags = found.Tags()["scalars"]
    return {tag: {e.step: e.value for e in found.Scalars(tag)} for tag in tags}


def lines(folder: Path) -> dict[str, dict[int, float]]:
    """The same of metrics.jsonl."""
    found: dict[str, dict[int, float]] = {}
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        row = flatten(json.loads(line))
        epoch = row.pop("epoch")
        del row["step"]
        for name, value in row.items():
            if value is not None:
                found.setdefault(name, {})[epoch] = pytest.approx(value, rel=1e-6)
    return found


def test_a_run_that_is_resumed_and_replaced(tmp_path: Path) -> None:
    data, folder = toy(tmp_path / "toy.h5"), tmp_path / "run"
    run(data, folder, epochs=2, logger="tensorboard")
    assert board(folder) == lines(folder)
    assert {"loss", "lr", "gnc1", "gnc2.lower", "test_accuracy"} <= board(folder).keys()
    run(data, folder, epochs=4, resume=True, logger="tensorboard")
    assert board(folder) == lines(folder) and list(board(folder)["loss"]) == [1, 2, 3, 4]
    names = sorted(path.name for path in folder.glob("*tfevents*"))
    assert names == [f"{NAME}00000000", f"{NAME}00000002"]
    assert not any(socket.gethostname().encode() in p.read_bytes() for p in folder.glob("*events*"))
    with pytest.raises(OutputError, match="already"):
        run(data, folder, epochs=1)
    run(data, folder, epochs=1, force=True)
    assert not [*folder.glob("*tfevents*")]


def test_a_session_takes_the_place_of_later_ones(tmp_path: Path) -> None:
    for after, value in ((0, 1.0), (5, 2.0), (2, 3.0)):
        events = EventFile(str(tmp_path), after)
        for epoch in (after + 1, after + 2, after + 3):
            events.add(epoch, {"loss": value})
        events.close()
    assert board(tmp_path)["loss"] == {1: 1.0, 2: 1.0, 3: 3.0, 4: 3.0, 5: 3.0}
    assert [*event_files(tmp_path)] == [0, 2]
    other = tmp_path / f"{NAME}1234.host"
    other.touch()
    EventFile(str(tmp_path), 0).close()
    assert other.exists() and [*event_files(tmp_path)] == [0]
