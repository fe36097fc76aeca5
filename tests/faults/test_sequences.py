"""Sequences of commands and accidents, and that none of their faults is overlooked.

With `--slow` two hundred of them, else sixty.
"""

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gnc_cli.io.atomic import TEMPORARY
from tests.faults.forked import End, Order
from tests.faults.sequences import Fault, Sequences, search


@pytest.mark.skipif(sys.platform != "linux", reason="limits and rights as Linux has them")
def test_nothing_breaks_a_promise(request: pytest.FixtureRequest) -> None:
    said, count = "", 200 if request.config.getoption("--slow") else 60
    try:
        search(Sequences, count)
    except Fault as fault:
        said = "\n".join([str(fault), "", *Sequences.story])
    if said:
        pytest.fail(said, pytrace=False)
    ends = {"exit 0", "exit 2", "exit 3"}
    assert Sequences.counts["sequences"] >= count and ends <= Sequences.counts.keys()


class Actor:
    """In place of the server: does something to the folder, and ends as it is told."""

    def __init__(self, act: Callable[[Path], Any], **end: Any) -> None:
        self.act, self.told = act, {"code": 0, "out": b"", "said": "", "peak": 0, **end}

    def run(self, order: Order, folder: Path, streams: Path) -> End:
        self.act(folder)
        return End(**{"reached": bool(order.signal), "after": 0.0, **self.told})


def nothing(folder: Path) -> None:
    pass


SOLVE = "solve --d 3 --K 4 --out s.h5"
FAULTS: list[tuple[str, str, Callable[[Path], Any], dict[str, Any]]] = [
    ("exit 1", SOLVE, nothing, {"code": 1}),
    ("exit -11", SOLVE, nothing, {"code": -11}),
    ("exit -15", SOLVE, nothing, {"code": -15}),
    ("traceback KeyError", SOLVE, nothing, {"code": 3, "said": "Traceback\nKeyError: 1\n"}),
    ("words of others", SOLVE, nothing, {"code": 3, "said": "HDF5-DIAG: Error\n"}),
    ("memory", SOLVE, nothing, {"code": 3, "peak": 4_000_000_000}),
    ("hangs", SOLVE, nothing, {"code": -9, "hangs": True}),
    ("no output", SOLVE, nothing, {}),
    ("half a file .h5", SOLVE, lambda at: (at / "s.h5").write_bytes(b"\x89HDF"), {}),
    ("half a file .pdf", "bounds --plot o.pdf", lambda at: (at / "o.pdf").write_text("%PDF"), {}),
    ("temporary", SOLVE, lambda at: (at / f"{TEMPORARY}0.tmp").touch(), {"code": 3}),
    ("nobody named", SOLVE, lambda at: (at / "mine.txt").write_text("theirs"), {"code": 3}),
    ("nobody named", SOLVE, lambda at: (at / "a.npz").unlink(), {"code": 3}),
    ("without --force", "bounds --out f.csv", lambda at: (at / "f.csv").write_text("1\n"), {}),
    ("usage error", SOLVE, lambda at: (at / "s.h5").write_text("new"), {"code": 2}),
    ("no JSON", "bounds --d 3 --K 7 --json", nothing, {"out": b"{"}),
    ("its schema", "bounds --d 3 --K 7 --json", nothing, {"out": b"{}"}),
    ("no result", "bounds --d 3 --K 7 --json", nothing, {}),
]


@pytest.mark.parametrize(("kind", "words", "act", "end"), FAULTS, ids=lambda value: str(value)[:20])
def test_faults_are_seen(
    kind: str, words: str, act: Callable[[Path], Any], end: dict[str, Any]
) -> None:
    step(Actor(act, **end), Order(tuple(words.split())), kind)


@pytest.mark.parametrize(
    ("kind", "end"),
    [("late end", {"after": 6.0, "code": 130}), ("outlives a kill", {"code": 0})],
)
def test_faults_after_a_signal_are_seen(kind: str, end: dict[str, Any]) -> None:
    number = signal.SIGKILL if end["code"] == 0 else signal.SIGTERM
    step(Actor(nothing, **end), Order(("bounds",), signal=number, line=1), kind)


def step(server: Any, order: Order, kind: str) -> None:
    machine = Sequences()
    machine.server = server  # type: ignore[misc]
    try:
        with pytest.raises(Fault, match=kind):
            machine._step(order)
    finally:
        machine.teardown()


def test_a_resumed_run_with_other_rows_is_seen() -> None:
    """The second run writes a row that the first would not."""

    def act(folder: Path) -> None:
        row = '{"d": 3, "K": 5}\n' if (folder / "m.jsonl").exists() else '{"d": 3, "K": 4}\n'
        with open(folder / "m.jsonl", "a") as file:
            file.write(row)

    machine = Sequences()
    machine.server = Actor(act)  # type: ignore[misc, assignment]
    words = ("measure", "a.npz", "--out", "m.jsonl")
    machine._step(Order(words))
    machine.folder.joinpath("m.jsonl").write_text('{"d": 3, "K": 6}\n')
    with pytest.raises(Fault, match="other rows"):
        machine._step(Order((*words, "--resume")))
    machine.teardown()
