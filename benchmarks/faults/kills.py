"""SIGKILL at random moments: what is corrupt, what cannot go on, what stays, what is done again.

    python -m benchmarks.faults.kills run 300  # so many kills of short commands in all; resumable
    python -m benchmarks.faults.kills long 8   # and of long ones, to see how much one can cost
    python -m benchmarks.faults.kills report   # into RESULTS.md; or show

A command is killed once and its next run ends undisturbed in the same folder. Of two kills one
comes at a moment of the command's whole life, start-up included, the other within milliseconds of
a change in its folder; of the long commands somewhere in the first minutes.

Lost is what the next run does again, in seconds: the time from the last write that the next run
goes on from (a row, a checkpoint, the state of a search), or from the start, to the kill. That
the next run does go on from there is looked up in what it leaves: earlier rows and lines stay as
they are, and counts of steps only grow. Rows are in work/VERSION/kills.jsonl.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch

from benchmarks.paths import MEASURED
from benchmarks.report import machine, table, write_section
from benchmarks.runs import rows
from gnc_cli import compare, measure
from gnc_cli.errors import DataError
from gnc_cli.io.codefile import read_code
from gnc_cli.training.run_folder import read_checkpoint

ROWS = MEASURED / "kills.jsonl"
_SLOWEST = 600.0
"""Seconds after which a next run hangs."""
_LEAVING = 15.0
"""Seconds that processes beside a killed one have to leave."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Command:
    """What is killed, and what is run after it."""

    words: str
    again: str
    """The next run, where the kept file is there."""
    kept: str
    """The file that the next run goes on from."""
    anew: str = ""
    """The next run where there is no such file; by default the same."""
    begun: bool = False
    """Whether the file is there before, of an earlier run."""
    between: tuple[float, float] | None = None
    """Seconds of the kill; by default the whole life of the command."""


_SOLVE = "solve --d 5 --K 24 --method descent --time-limit 1.5 --out a.h5"
_MEASURE = "measure a.npz b.npz c.npz d.npz e.npz f.npz --out rows.jsonl --resume"
_TRAIN = "train --classes 4 --image-size 16 --epochs 4 --measure-every 1 --out run"
_LONG_SOLVE = "solve --d 10 --K 100 --method descent --workers 2 --out a.h5"
_LONG_TRAIN = "train --model resnet18 --epochs 1 --out run"
COMMANDS = {
    "solve": Command(f"{_SOLVE} --force", f"{_SOLVE} --force", "a.h5", begun=True),
    "solve --resume": Command(f"{_SOLVE} --resume", f"{_SOLVE} --resume", "a.h5", begun=True),
    "measure": Command(_MEASURE, _MEASURE, "rows.jsonl"),
    "train": Command(_TRAIN, f"{_TRAIN} --resume", "run/last.pt", anew=f"{_TRAIN} --force"),
}
LONG = {
    "solve, long": Command(
        _LONG_SOLVE,
        f"{_LONG_SOLVE} --resume --time-limit 10",
        "a.h5",
        anew=f"{_LONG_SOLVE} --time-limit 10",
        between=(20.0, 150.0),
    ),
    "train, long": Command(
        _LONG_TRAIN,
        f"{_LONG_TRAIN} --resume --time-limit 5",
        "run/last.pt",
        anew=f"{_LONG_TRAIN} --force --time-limit 5",
        between=(20.0, 150.0),
    ),
}


@dataclass
class Whole:
    """What a command does undisturbed."""

    seconds: float
    changes: int
    """How often its folder was seen to change."""
    names: list[str]
    """Files after it."""
    folder: Path


def run(total: int, commands: dict[str, Command]) -> None:
    """Kill these commands in turn, until there are so many rows with a kill."""
    kept = [row for row in rows(ROWS) if row["command"] in commands]
    tries, done = len(kept), sum(row["killed"] for row in kept)
    ROWS.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        whole: dict[str, Whole] = {}
        while done < total:
            row = kill(tries, commands, whole, Path(place))
            with ROWS.open("a") as file:
                file.write(json.dumps(row) + "\n")
            tries, done = tries + 1, done + row["killed"]
            print(done, *(f"{k} {v}" for k, v in row.items()), flush=True)


def kill(number: int, commands: dict[str, Command], whole: dict[str, Whole], place: Path) -> Row:
    """The kill of this number; what undisturbed runs do is looked up once, in `whole`."""
    rng = random.Random(number)
    name = list(commands)[number % len(commands)]
    command = commands[name]
    if command.between is None and name not in whole:
        whole[name] = undisturbed(command, place / name.replace(" ", ""))
    with tempfile.TemporaryDirectory(dir=place) as inner:
        folder = Path(inner, "in")
        _furnish(folder, whole[name].folder if command.begun else None)
        life, at_write = whole.get(name), False
        if command.between is not None:
            moment = rng.uniform(*command.between)
        else:
            assert life is not None, "what is short has been run whole"
            moment, at_write = rng.uniform(0.0, life.seconds), number // len(commands) % 2 == 1
        begun = time.time()
        process = _started(command.words, folder)
        if at_write and life is not None:
            _wait_for_change(process, folder, rng.randint(1, max(1, life.changes)))
            time.sleep(rng.choice([0.0, 0.001, 0.003, 0.01]))
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(moment)
        process.kill()
        killed, now = process.wait() == -9, time.time()
        if life is not None and not killed and not at_write:
            life.seconds = min(life.seconds, now - begun)
        kept = folder / command.kept
        lost = now - max([begun, *([kept.stat().st_mtime] if kept.exists() else [])])
        row = {
            "command": name,
            "at": "write" if at_write else "time",
            "killed": killed,
            "seconds": round(now - begun, 3),
            "lost": round(lost, 3),
            "saved": kept.exists() and kept.stat().st_mtime > begun,
            "beside": _left_beside(folder),
            "corrupt": corrupt(folder),
            "load": round(os.getloadavg()[0], 1),
        }
        before = progress(folder)
        words = command.again if kept.exists() else command.anew or command.again
        clock = time.time()
        code, said = _ended(words, folder)
        row |= {
            "again": round(time.time() - clock, 3),
            "stuck": "" if code == 0 else f"exit {code}: {said[-300:]}",
            "corrupt_after": corrupt(folder),
            "redone": went_back(before, progress(folder)) if "--resume" in words else [],
            "left": sorted({*_names(folder)} - {*(life.names if life else _expected(folder))}),
        }
    return row


def undisturbed(command: Command, folder: Path) -> Whole:
    """Run a command to its end, twice where it goes on from a file."""
    _furnish(folder, None)
    if command.begun:
        code, said = _ended(command.words, folder)
        if code:
            raise SystemExit(said)
    begun = time.time()
    process = _started(command.words, folder)
    changes = _wait_for_change(process, folder, sys.maxsize)
    if process.wait():
        raise SystemExit(f"{command.words}: exit {process.returncode}")
    return Whole(time.time() - begun, changes, _names(folder), folder)


def _furnish(folder: Path, earlier: Path | None) -> None:
    """A folder with the inputs, and the results of an earlier run."""
    folder.mkdir(parents=True)
    (folder / "tmp").mkdir()
    for at, letter in enumerate("abcdef"):
        W = np.random.default_rng(at).normal(size=(30, 8))
        np.savez(folder / f"{letter}.npz", weights=W)
    if earlier is not None:
        shutil.copy(earlier / "a.h5", folder)


def _started(words: str, folder: Path) -> "subprocess.Popen[str]":
    surroundings = {**os.environ, "TMPDIR": str(folder / "tmp"), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "gnc_cli", *words.split(), "-q"],
        cwd=folder,
        env=surroundings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _ended(words: str, folder: Path) -> tuple[int, str]:
    """Exit code and stderr of an undisturbed run."""
    surroundings = {**os.environ, "TMPDIR": str(folder / "tmp"), "OMP_NUM_THREADS": "1"}
    try:
        told = subprocess.run(
            [sys.executable, "-m", "gnc_cli", *words.split(), "-q"],
            cwd=folder,
            text=True,
            env=surroundings,
            capture_output=True,
            timeout=_SLOWEST,
        )
    except subprocess.TimeoutExpired:
        return -9, "hangs"
    return told.returncode, told.stderr


def _wait_for_change(process: "subprocess.Popen[str]", folder: Path, count: int) -> int:
    """Return at the change of this number, or at the end; the number of changes seen."""
    seen, changes = _state(folder), 0
    while process.poll() is None and changes < count:
        time.sleep(0.001)
        now = _state(folder)
        changes, seen = changes + (now != seen), now
    return changes


def _state(folder: Path) -> list[tuple[str, int, int]]:
    """Names, sizes and times of the files that a command may write."""
    found = []
    for place in (folder, folder / "run"):
        with contextlib.suppress(FileNotFoundError), os.scandir(place) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    about = entry.stat()
                    found.append((entry.path, about.st_size, about.st_mtime_ns))
    return found


def _names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def _expected(folder: Path) -> Iterator[str]:
    """Names of inputs and results of the long commands."""
    for name in _names(folder):
        if (
            name in ("tmp", "tmp/torchinductor_root", "run", "a.h5")
            or name.endswith(".npz")
            or (
                (
                    name.startswith("run/")
                    and Path(name).name
                    in (
                        "best.pt",
                        "last.pt",
                        "config.json",
                        "log.txt",
                        "metrics.jsonl",
                        "snapshots",
                    )
                )
                or Path(name).parent.name == "snapshots"
            )
        ):
            yield name


def _left_beside(folder: Path) -> int:
    """Processes of a killed one that stay; their surroundings name its folder."""
    given_up = time.monotonic() + _LEAVING
    while (count := len(_processes(folder))) and time.monotonic() < given_up:
        time.sleep(0.1)
    return count


def _processes(folder: Path) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"TMPDIR={folder}/tmp\0".encode() in path.read_bytes():
                found.append(path.parent.name)
    return found


def corrupt(folder: Path) -> list[str]:
    """Results that can no longer be read. A last line cut short is dropped by the next run."""
    found = []
    for name, read in (
        ("a.h5", lambda path: (compare(path), measure(weights=path))),
        ("rows.jsonl", _lines),
        ("run/metrics.jsonl", _lines),
        ("run/last.pt", read_checkpoint),
        ("run/best.pt", lambda path: torch.load(path)),
        ("run/config.json", lambda path: json.loads(path.read_text())),
        *((f"run/snapshots/{path.name}", _all_of) for path in folder.glob("run/snapshots/*.h5")),
    ):
        path = folder / name
        if path.exists():
            try:
                read(path)
            except Exception as error:
                found.append(f"{name}: {type(error).__name__}: {error}"[:200])
    return found


def _lines(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _all_of(path: Path) -> None:
    with h5py.File(path) as h5:
        h5.visititems(lambda _, item: item[()] if isinstance(item, h5py.Dataset) else None)


def progress(folder: Path) -> dict[str, Any]:
    """What a next run must not do again: whole lines, and counts that only grow."""
    found: dict[str, Any] = {}
    for name in ("rows.jsonl", "run/metrics.jsonl"):
        if (folder / name).exists():
            lines = (folder / name).read_text().splitlines(keepends=True)
            found[name] = [line for line in lines if line.endswith("\n")]
    with contextlib.suppress(DataError, OSError):
        state = read_code(folder / "a.h5").state or {}
        found["starts"] = int(state.get("starts", 0))
    with contextlib.suppress(DataError, OSError):
        training = read_checkpoint(str(folder / "run/last.pt")).training
        found["steps"] = [training.epoch, training.step]
    return found


def went_back(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Of `progress`, what is no continuation."""

    def whole(name: str) -> bool:
        was, now = before[name], after.get(name)
        if name.endswith(".jsonl"):
            return now is not None and now[: len(was)] == was
        return now is not None and now >= was

    return [name for name in before if not whole(name)]


def section(kept: list[Row], where: str) -> str:
    """Markdown: a line per command."""
    lines = []
    for name in (*COMMANDS, *LONG):
        ours = [row for row in kept if row["command"] == name and row["killed"]]
        if not ours:
            continue
        lost = sorted(row["lost"] for row in ours)
        lines.append(
            [
                name,
                str(len(ours)),
                str(sum(row["at"] == "write" for row in ours)),
                str(sum(row["saved"] for row in ours)),
                *(str(sum(bool(row[key]) for row in ours)) for key in ("corrupt", "corrupt_after")),
                *(str(sum(bool(row[key]) for row in ours)) for key in ("stuck", "redone", "left")),
                str(sum(row["beside"] for row in ours)),
                f"{lost[len(lost) // 2]:.1f}",
                f"{lost[-1]:.1f}",
                f"{max(row['seconds'] for row in ours):.0f}",
            ]
        )
    head = [
        "command",
        "kills",
        "at a write",
        "after a save",
        "corrupt",
        "corrupt after the next run",
        "cannot go on",
        "done again although saved",
        "leftovers",
        "processes left",
        "lost s, median",
        "largest",
        "longest run s",
    ]
    return "\n\n".join(
        [
            "## Killed commands",
            f"Machine: {where}. SIGKILL to one process: `benchmarks.faults.kills`. Half of the "
            "kills come within milliseconds of a change in the command's folder, half anywhere in "
            "its life. Lost: seconds from the last row, checkpoint or saved state to the kill, "
            "from the start where there is none.",
            table(head, lines),
        ]
    )


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "long"):
        commands.add_parser(name).add_argument("total", type=int, help="kills, with earlier ones")
    commands.add_parser("report")
    commands.add_parser("show")
    asked = parser.parse_args()
    if asked.command in ("run", "long"):
        run(asked.total, COMMANDS if asked.command == "run" else LONG)
    else:
        body = section(rows(ROWS), machine())
        write_section("kills", body) if asked.command == "report" else print(body)


if __name__ == "__main__":
    main()
