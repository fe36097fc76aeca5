"""Sequences of commands in one folder, and what happens to them, to its files and to its disk.

Hypothesis draws a sequence, and finds the shortest one that shows a fault. After each step these
hold: a promised exit code; no traceback, and on stderr lines of gnc alone; less than 3 GB of
memory; an end within 5 s of a signal; each output is the whole file that was there, or a whole new
one; every other file is as it was; no temporary file stays but that of a killed process; JSON on
stdout follows its schema; rows after a resume are those of a run that nothing disturbed; and what a
signal has ended goes on, or starts again, as it would without it.
"""

import contextlib
import csv
import gzip
import itertools
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import h5py
import numpy as np
import torch
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    precondition,
    rule,
    run_state_machine_as_test,
)
from jsonschema import Draft202012Validator
from PIL import Image
from safetensors.numpy import load_file

from gnc_cli import schemas
from gnc_cli.io.atomic import TEMPORARY
from tests.faults.forked import End, Order, Server

_CODES = {0, 2, 3, 4, 5, 6, 130}
_DONE = {0, 4, 5}
_MEMORY = 3_000_000_000
_SECONDS = 5.0
"""Of a core, from a signal to the end."""
_VARYING = ("seconds", "version", "options", "images_per_second", "warnings", "cut_restarts")
"""Keys of rows that differ from run to run."""
INPUTS = ("a.npz", "b.h5", "c.txt", "f.csv", "images.npz")
CODES = ("s.h5", "s.npz", "s.npy", "s.safetensors", "s.pt", "s.txt", "s.off")
OUTPUTS = (*CODES, "m.jsonl", "o.csv", "o.h5", "u.json", "s.svg", "m.md", "run", "e")
_WRITES = ("--out", "--plot", "--report", "--export", "--per-class")
_ASIDE = {"--plot", "--report", "--per-class", "--min", "--max"}
"""Options that change no row."""
_RUN = ("best.pt", "last.pt", "config.json", "log.txt", "metrics.jsonl", "result.json", "snapshots")


def some(*texts: str) -> st.SearchStrategy[list[str]]:
    """The words of one of these texts; the first is the simplest."""
    return st.sampled_from(texts).map(str.split)


def joined(*parts: st.SearchStrategy[list[str]]) -> st.SearchStrategy[tuple[str, ...]]:
    """The words of all parts."""
    return st.tuples(*parts).map(lambda words: tuple(sum(words, [])))


def beside(name: str) -> st.SearchStrategy[list[str]]:
    """A plot, a report, a form of stdout and a gate, each of them seldom."""
    parts = (
        some(*("",) * 6, *(f"--plot {name}.{suffix}" for suffix in ("svg", "png", "pdf"))),
        some(*("",) * 3, *(f"--report {name}.{suffix}" for suffix in ("md", "xml", "prom"))),
        some("", "", "--json", "--csv", "--jsonl", "-q", "-v"),
        some(*("",) * 5, "--min K=4", "--min K=1", "--max max_cosine=0.2"),
    )
    return st.tuples(*parts).map(lambda words: [word for part in words for word in part])


def pairs(largest: int) -> st.SearchStrategy[list[str]]:
    """--d and --K."""
    numbers = st.tuples(st.integers(2, 4), st.integers(2, largest))
    return numbers.map(lambda pair: ["--d", str(pair[0]), "--K", str(pair[1])])


FORCE = some("", "--force")
FILE = st.sampled_from(("a.npz", "b.h5", "c.txt")) | st.sampled_from((*INPUTS, *CODES, "run"))
SOLVE = joined(
    some("solve --workers 1 --threads 1"),
    pairs(8),
    some("", "--problem tammes", "--problem ufm --tau 0.5 --steps 20")
    | some("--method descent --restarts 1", "--method descent --restarts 2 --seed 1")
    | FILE.map(lambda name: ["--init", name, "--restarts", "0"]),
    some("", "--out -", "--out s.h5", "--out s.h5 --resume", "--out s.h5 --force")
    | st.sampled_from(CODES).map(lambda name: ["--out", name, "--force"]),
    beside("s"),
)
MEASURE = joined(
    some("measure --threads 1"),
    st.lists(FILE, min_size=1, max_size=3),
    some("", "--out m.jsonl", "--out m.jsonl --resume", "--out m.jsonl --force")
    | some(*(f"--out m.{suffix} --force" for suffix in ("csv", "json", "h5"))),
    some("", "", "--per-class c.csv", "--per-class c.h5"),
    beside("m"),
)
BOUNDS = joined(
    some("bounds"),
    pairs(30) | some("--d 3..4 --K 7,9", "--K 9 --margin 0.5", "--d 3 --margin 0.9"),
    some("", "--lp", "--export u.json", "--export u.json.gz"),
    some("", *(f"--out o.{suffix}" for suffix in ("csv", "json", "h5"))),
    FORCE,
    beside("o"),
) | joined(some(*(f"bounds --verify {name}" for name in ("u.json", "u.json.gz", "c.txt"))))
COMPARE = joined(
    some("compare"),
    st.lists(FILE, min_size=1, max_size=2),
    some("", "--export e", "--describe", "--digits 20"),
    FORCE,
    beside("v"),
)
TRAIN = joined(
    some(
        "train --data npz:images.npz --width 0.05 --feature-dim 2 --batch-size 4 "
        "--measure-every 1 --threads 1 --out run"
    ),
    some("--epochs 1", "--epochs 2", "--epochs 2 --snapshot-every 1"),
    some("", "--resume", "--force"),
    beside("t"),
)
COMMANDS = st.one_of(SOLVE, MEASURE, BOUNDS, COMPARE, TRAIN)
LONG = joined(
    some(
        "solve --workers 1 --threads 1 --d 8 --K 60 --method descent --out s.h5 --force",
        "bounds --d 4..40 --K 10..60 --lp --out o.csv --force",
        "train --data npz:images.npz --width 0.05 --feature-dim 2 --batch-size 4 --threads 1 "
        "--measure-every 1 --epochs 300 --out run --force",
    ),
    some("--time-limit 10"),
)
SIGNALS = st.sampled_from([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]).map(int)
LINES = st.tuples(st.integers(1, 15), st.integers(0, 14)).map(lambda n: n[0] << n[1])
"""Numbers of lines, of any size."""
PARTS = st.sampled_from(["io", "", "console"])
KILOBYTES = st.integers(1, 64).map(lambda count: count << 12)
CONTENTS = st.sampled_from(
    [
        b"mine",
        b"{",
        b'{"d": "my own notes"}\n',
        b'{"schema": 1}\n',
        b"",
        b"\x89HDF\r\n\x1a\n",
        b"PK",
    ]
)


# The state of a folder

Files = dict[str, bytes | str]


def files_of(folder: Path) -> Files:
    """The bytes of every file, and the targets of links."""
    found: Files = {}
    for place, folders, names in os.walk(folder):
        for name in (*names, *folders):
            path = Path(place, name)
            if path.is_symlink():
                found[str(path.relative_to(folder))] = os.readlink(path)
            elif path.is_file():
                found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def _permit(folder: Path) -> None:
    """Let everything in it be written."""
    for path in (folder, *folder.rglob("*")):
        if path.exists() and not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)


def _remove(folder: Path) -> None:
    _permit(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _is_temporary(name: str) -> bool:
    return Path(name).name.startswith(TEMPORARY)


@cache
def furnished() -> Path:
    """A folder with the inputs."""
    folder, rng = Path(tempfile.mkdtemp()), np.random.default_rng(0)
    data = {
        "features": rng.normal(size=(24, 3)),
        "labels": np.arange(24) % 6,
        "weights": rng.normal(size=(6, 3)),
    }
    np.savez(folder / "a.npz", **data)
    with h5py.File(folder / "b.h5", "w") as h5:
        for name in ("snapshots/1", "snapshots/2"):
            for key, array in data.items():
                h5[f"{name}/{key}"] = array
    (folder / "c.txt").write_text("1 0 0\n0 1 0\n0 0 1\n-1 0 0\n")
    (folder / "f.csv").write_text("1,0\n0,1\n-1,0\n")
    images = rng.integers(0, 255, size=(8, 8, 8), dtype=np.uint8)
    np.savez(folder / "images.npz", images=images, labels=np.arange(8) % 2)
    (folder / "mine.txt").write_text("mine")
    return folder


# Whole files


def _h5(path: Path) -> None:
    with h5py.File(path) as h5:
        h5.visititems(lambda _, item: item[()] if isinstance(item, h5py.Dataset) else None)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _table(path: Path) -> None:
    with open(path, newline="") as file:
        assert len({len(row) for row in csv.reader(file)}) == 1, "rows of different lengths"


def _ends_in(end: bytes) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        assert path.read_bytes().endswith(end), "its end is missing"

    return read


READERS: dict[str, Callable[[Path], Any]] = {
    ".h5": _h5,
    ".npz": lambda path: dict(np.load(path)),
    ".npy": np.load,
    ".safetensors": load_file,
    ".pt": torch.load,
    ".txt": _ends_in(b"\n"),
    ".off": _ends_in(b"\n"),
    ".csv": _table,
    ".json": lambda path: json.loads(path.read_text()),
    ".jsonl": _lines,
    ".part": _lines,
    ".gz": lambda path: json.loads(gzip.decompress(path.read_bytes())),
    ".md": _ends_in(b"\n"),
    ".prom": _ends_in(b"\n"),
    ".xml": ElementTree.parse,
    ".svg": ElementTree.parse,
    ".png": lambda path: Image.open(path).load(),
    ".pdf": _ends_in(b"%%EOF\n"),
}


@cache
def _schema(command: str) -> Draft202012Validator:
    return Draft202012Validator(schemas.load(command))


def _row(row: dict[str, Any]) -> str:
    """What two runs say alike of one question."""
    kept = {key: value for key, value in row.items() if key not in _VARYING}
    return json.dumps(kept, sort_keys=True)


class Fault(AssertionError):
    """Something that may not be."""

    def __init__(self, kind: str, said: str) -> None:
        super().__init__(f"{kind}: {said}")
        self.kind = kind
        """Of which `search` shows one."""


class Sequences(RuleBasedStateMachine):
    """A folder, its commands and its accidents."""

    server: ClassVar[Server]
    known: ClassVar[Collection[str]] = ()
    """Kinds of faults that end a sequence and are not shown."""
    disk: ClassVar[Path | None] = None
    """A small file system that can be filled; without one, files may not grow beyond a size."""
    counts: ClassVar[dict[str, int]] = {}
    story: ClassVar[list[str]] = []
    """The last sequence, as a person would type it."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(dir=self.disk))
        self.folder, self.streams = self.place / "in", Path(tempfile.mkdtemp())
        shutil.copytree(furnished(), self.folder)
        self.foreign: dict[str, bytes] = {}
        """What stands in the way of outputs, and is no file of gnc."""
        self.damaged: set[str] = set()
        self.ended: Order | None = None
        """The command that a signal has ended last, if nothing was done since."""
        self.over = False
        type(self).story = []
        self._count("sequences")

    def teardown(self) -> None:
        for folder in (self.place, self.streams):
            _remove(folder)

    # Steps

    @rule(words=COMMANDS)
    def run(self, words: tuple[str, ...]) -> None:
        self._step(Order(words))

    @rule(words=COMMANDS, number=SIGNALS, line=LINES, part=PARTS)
    def end(self, words: tuple[str, ...], number: int, line: int, part: str) -> None:
        self._step(Order(words, signal=number, line=line, part=part))

    @rule(words=COMMANDS, size=KILOBYTES)
    def fill(self, words: tuple[str, ...], size: int) -> None:
        self._step(Order(words, file_size=size))

    @rule(words=COMMANDS, count=st.integers(0, 12))
    def close(self, words: tuple[str, ...], count: int) -> None:
        self._step(Order(words, open_files=count))

    @rule(words=st.one_of(SOLVE, MEASURE, BOUNDS, COMPARE), megabytes=st.integers(32, 192))
    def starve(self, words: tuple[str, ...], megabytes: int) -> None:
        """Leave little memory, but not of a training: torch ends a process whose kernels get none.

        With less than this, CPython waits for ever for a thread that has no memory to start.
        """
        self._step(Order(words, memory=megabytes << 20))

    @precondition(lambda self: self.ended is not None)
    @rule()
    def go_on(self) -> None:
        """Run the command that a signal has ended, here and where it had not been."""
        assert self.ended is not None
        order, before = self.ended, self.streams / "before" / "in"
        if not {"--force", "--resume"} & {*order.words}:
            order = replace(order, words=(*order.words, "--force"))
        order = replace(order, signal=0, line=0)
        undisturbed = self.server.run(order, before, self.streams)
        if undisturbed.code in _DONE:
            code = self._step(order).code
            self._demand(code == undisturbed.code, "cannot go on", f"exit {code}")

    @rule(number=st.integers(0, 40), place=st.integers(0, 1 << 16), how=st.integers(0, 9))
    def damage(self, number: int, place: int, how: int) -> None:
        """Cut a file short, or change a bit of it, or remove it."""
        names = [name for name, data in files_of(self.folder).items() if isinstance(data, bytes)]
        name = names[number % len(names)]
        path = self.folder / name
        data = bytearray(path.read_bytes())
        place %= len(data) + 1
        if name == "mine.txt":
            return
        self._permit()
        if how == 0:
            path.unlink()
        elif how > 5 and place < len(data):
            data[place] ^= 1 << how % 8
            path.write_bytes(data)
            self.damaged.add(name)
        else:
            path.write_bytes(data[:place])
            if not name.endswith((".jsonl", ".part")):
                self.damaged.add(name)
        self._changed(f"{name}: {['removed', 'cut', 'flipped'][(how > 0) + (how > 5)]} at {place}")

    @rule(
        name=st.sampled_from(
            [*OUTPUTS, "m.jsonl.part", ".gnc-0123456789abcdef.tmp", "run/mine.pt"]
        ),
        data=CONTENTS,
    )
    def plant(self, name: str, data: bytes) -> None:
        """Put a foreign file where an output would be."""
        path = self.folder / name
        if path.is_dir() or path.is_symlink() or not path.parent.is_dir():
            return
        self._permit()
        path.write_bytes(data)
        if data and (name.endswith((".part", ".tmp")) or name.startswith("run/")):
            self.foreign[name] = data
        self.damaged.add(name)
        self._changed(f"printf {data!r} > {name}")

    @rule(
        name=st.sampled_from(OUTPUTS),
        goal=st.sampled_from(["mine.txt", "none", "s.h5", "../in/a.npz", "e", "m.jsonl"]),
        hard=st.booleans(),
    )
    def link(self, name: str, goal: str, hard: bool) -> None:
        """Give a file the name of an output as well."""
        path = self.folder / name
        if os.path.lexists(path) or goal == name:
            return
        self._permit()
        if not hard:
            path.symlink_to(goal)
        elif (self.folder / goal).is_file():
            os.link(self.folder / goal, path)
        else:
            return
        self.damaged.add(name)
        self._changed(f"ln {'' if hard else '-s '}{goal} {name}")

    @rule(name=st.sampled_from([".", "run", "e", "s.h5", "m.jsonl", "a.npz"]))
    def forbid(self, name: str) -> None:
        """Let nobody write a file, or into a folder."""
        path = self.folder / name
        if path.exists() and not path.is_symlink():
            path.chmod(0o555 if path.is_dir() else 0o444)
            self._changed(f"chmod a-w {name}")

    @rule()
    def permit(self) -> None:
        """Let everything be written again."""
        self._permit()

    def _permit(self) -> None:
        _permit(self.folder)

    def _changed(self, words: str) -> None:
        self.story.append(words)
        self.ended = None

    # What must hold

    def _step(self, order: Order) -> End:
        """Run a command, and look at everything."""
        if self.over:
            return End(0, b"", "", 0, False, 0.0)
        self.story.append(" ".join(["gnc", *order.words, *_trouble(order)]))
        if order.signal:
            _remove(self.streams / "before")
            shutil.copytree(self.folder, self.streams / "before" / "in", symlinks=True)
        before = files_of(self.folder)
        with self._filled(order) as order:
            end = self.server.run(order, self.folder, self.streams)
        self.ended = order if end.reached else None
        self._count("commands")
        self._count(f"exit {end.code}")
        try:
            self._judge_process(order, end)
            self._judge_streams(order, end)
            self._judge_files(order, end, before, files_of(self.folder))
            self._judge_rows(order, end, before)
        except Fault as fault:
            self._count(f"fault {fault.kind}")
            if fault.kind not in self.known:
                self.counts.setdefault("before a find", self.counts["sequences"])
                raise
            self.over = True
        return end

    @contextlib.contextmanager
    def _filled(self, order: Order) -> Any:
        """With so much space on the disk as the order says."""
        if self.disk is None or order.file_size is None:
            yield order
            return
        free = shutil.disk_usage(self.disk).free
        with tempfile.NamedTemporaryFile(dir=self.disk) as filler:
            os.posix_fallocate(filler.fileno(), 0, max(1, free - order.file_size))
            yield replace(order, file_size=None)

    def _count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def _demand(self, truth: bool, kind: str, said: str) -> None:
        if not truth:
            raise Fault(kind, said)

    def _judge_process(self, order: Order, end: End) -> None:
        tail = end.said[-2000:]
        place = [line.strip() for line in end.said.splitlines() if "gnc_cli" in line]
        error = end.said.strip().rpartition("\n")[2]
        if "Traceback" in end.said or "this is a bug" in end.said:
            last = place[-1].partition("gnc_cli/")[2] if place else ""
            raise Fault(f"traceback {error.partition(';')[0][:80]} {last}", tail)
        allowed = _CODES | ({-order.signal} if end.reached else set())
        self._demand(not end.hangs, "hangs", tail)
        self._demand(end.code in allowed, f"exit {end.code}", tail)
        killed = order.signal == signal.SIGKILL and end.reached
        self._demand(not killed or end.code == -signal.SIGKILL, "outlives a kill", tail)
        self._demand(end.peak < _MEMORY, "memory", f"{end.peak / 1e9:.1f} GB")
        self._demand(end.after < _SECONDS, "late end", f"{end.after:.1f} s after the signal")
        other = [line for line in end.said.splitlines() if not line.startswith("gnc: ")]
        shown = "-" in order.words  # the result is then on stderr
        self._demand(not other or shown, "words of others", tail)

    def _judge_streams(self, order: Order, end: End) -> None:
        shape = {"--json", "--jsonl"} & {*order.words}
        if not shape or "-" in order.words or (order.file_size and not self.disk):
            return
        self._demand(bool(end.out) or end.code != 0, "no result", end.said)
        command = order.words[0]
        try:
            found = [json.loads(line) for line in end.out.splitlines() if line.strip()]
        except ValueError:
            if end.code >= 0:
                raise Fault("stdout is no JSON", repr(end.out[-300:])) from None
            return
        if "--json" in shape and found:
            error = next(_schema(command).iter_errors(found[0]), None)
            self._demand(len(found) == 1, "several objects", str(len(found)))
            self._demand(error is None, "stdout and its schema", str(error)[:2000])

    def _judge_files(self, order: Order, end: End, before: Files, after: Files) -> None:
        changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
        outputs = self._outputs(order)
        stale = {name for name in changed if _is_temporary(name)}
        if end.code >= 0:
            left = sorted(name for name in stale if name in after and name not in before)
            self._demand(not left, "temporary file", str(left))
        for name in sorted(changed - stale):
            named = any(name == path or name.startswith(f"{path}/") for path in outputs)
            inside = name.startswith("run/") and name.split("/")[1] not in _RUN
            foreign = before.get(name) == self.foreign.get(name, ...)
            what = f"{name}: {str(before.get(name))[:80]} is now {str(after.get(name))[:80]}"
            self._demand(named and not foreign and not inside, "a file that nobody named", what)
            self._demand(end.code != 2, "usage error, but a file has changed", what)
            may = {"--force", "--resume"} & {*order.words}
            self._demand(bool(may) or name not in before, "replaced without --force", what)
            read = [f"{path}{more}" for path in self._written(order) for more in ("", ".part")]
            if name.startswith(("run/", "e/")) or name in read:  # not by the name of a link
                self._judge_whole(name, after)
        fresh = "--force" in order.words
        self.damaged -= {name for name in changed if fresh or not name.endswith(".jsonl")}
        if end.code == 0:
            for name in self._written(order):
                there = (self.folder / name).exists()
                self._demand(there, "no output", f"{name} is missing")

    def _judge_whole(self, name: str, after: Files) -> None:
        """Whether a new file can be read."""
        read = READERS.get(Path(name).suffix)
        if read is None or name in self.damaged or not isinstance(after.get(name), bytes):
            return
        try:
            read(self.folder / name)
        except Exception as error:
            raise Fault(
                f"half a file {Path(name).suffix}",
                f"{name}: {type(error).__name__}: {error}; {str(after[name])[-80:]}",
            ) from error

    def _judge_rows(self, order: Order, end: End, before: Files) -> None:
        """Whether a run that went on has the rows of one that nothing disturbed."""
        out = next((name for name in self._written(order) if name.endswith(".jsonl")), None)
        if "run" in self._written(order):
            out = "run/metrics.jsonl"
        resumed = "--resume" in order.words and "--force" not in order.words
        if end.code not in _DONE or out is None or not resumed or out not in before:
            return
        if self.damaged & {out, f"{out}.part", *INPUTS, *order.words, "run/last.pt"}:
            return
        words = _alone(order.words)
        with tempfile.TemporaryDirectory() as place:
            fresh = Path(place, "in")
            inputs = shutil.ignore_patterns(*(name for name in OUTPUTS if name not in words))
            shutil.copytree(self.folder, fresh, symlinks=True, ignore=inputs)
            shutil.rmtree(fresh / out.partition("/")[0], ignore_errors=True)
            (fresh / out.partition("/")[0]).unlink(missing_ok=True)
            whole = self.server.run(Order(words), fresh, self.streams)
            if whole.code in _DONE:
                expected = {*map(_row, _lines(fresh / out))}
                missing = expected - {*map(_row, _lines(self.folder / out))}
                self._demand(not missing, "other rows after a resume", str([*missing])[:2000])

    def _written(self, order: Order) -> list[str]:
        """The files and folders that the options of a command name."""
        words = order.words
        named = [b for a, b in itertools.pairwise(words) if a in _WRITES]
        return [name for name in named if name != "-"]

    def _outputs(self, order: Order) -> set[str]:
        """Those, the files that links lead to, and the rows beside them of a run."""
        found: set[str] = set()
        for name in self._written(order):
            real = os.path.realpath(self.folder / name)
            for path in (name, os.path.relpath(real, os.path.realpath(self.folder))):
                found |= {path, f"{path}.part"} if path.endswith(".jsonl") else {path}
        return found


class Longer(Sequences):
    """With commands that only a signal, or their time limit, ends."""

    @rule(words=LONG, number=SIGNALS, line=LINES, part=PARTS)
    def stop(self, words: tuple[str, ...], number: int, line: int, part: str) -> None:
        self._step(Order(words, signal=number, line=line, part=part))
        self.ended = None  # it would run to its limit


def _alone(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without what has no part in the rows."""
    pairs = zip(("", *words), words, strict=False)
    return tuple(b for a, b in pairs if not {a, b} & _ASIDE and b != "--resume")


def _trouble(order: Order) -> list[str]:
    """What happens to a command, for a person."""
    name = signal.Signals(order.signal).name if order.signal else ""
    place = f"line {order.line} of gnc_cli/{order.part}"
    return [
        *([f"  # {name} before {place}"] if name else []),
        *([f"  # {order.file_size} bytes of disk"] if order.file_size is not None else []),
        *([f"  # {order.open_files} open files"] if order.open_files is not None else []),
        *([f"  # {order.memory} bytes of memory"] if order.memory is not None else []),
    ]


def search(
    machine: type[Sequences], count: int, *, seed: int | None = None, steps: int = 4
) -> None:
    """Run so many sequences; without a seed the same ones each time.

    Raises:
        Fault: of the shortest sequence found, which is in `machine.story`.
    """
    chosen = settings(
        max_examples=count,
        stateful_step_count=steps,
        derandomize=seed is None,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[*HealthCheck],
    )
    with Server() as machine.server:
        factory = machine if seed is None else seeded(seed)(machine)
        run_state_machine_as_test(factory, settings=chosen)
