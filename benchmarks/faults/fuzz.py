"""Hostile bytes for every reader, guided by coverage: crashes, other errors, hangs, memory.

    python -m benchmarks.faults.fuzz run --seconds 600  # every target, in rounds; resumable
    python -m benchmarks.faults.fuzz run hdf5 npz --seconds 180
    python -m benchmarks.faults.fuzz distill            # a small corpus into tests/fuzz/corpus
    python -m benchmarks.faults.fuzz report             # into RESULTS.md; or show

`fuzz_targets` has the readers. A round of a target runs in a process of its own, under atheris
(libFuzzer) where that is installed, with the package instrumented and the libraries not; else by
edits of the corpus that hypothesis' `fuzz_one_input` draws. What reaches new lines, and what was
found, stays in benchmarks/work/fuzz, and one row per round in work/VERSION/fuzz.jsonl.

A find is anything but a result, a UsageError or a DataError: another exception, a warning, a
signal, more than 5 s of a core, or more than 1 GB of memory. Finds of one kind and place count
once. Native crashes, which are those of a library in C, are counted apart. `report` reads each kept
one again, and says which are still there.
"""

import argparse
import contextlib
import faulthandler
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.paths import MEASURED, ROOT, WORK
from benchmarks.report import machine, table, write_section
from benchmarks.runs import rows

ROWS = MEASURED / "fuzz.jsonl"
FUZZED = WORK / "fuzz"
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
TARGETS = (
    "hdf5",
    "npz",
    "npy",
    "safetensors",
    "pt",
    "storages",
    "text",
    "off",
    "lines",
    "json",
    "certificates",
    "proofs",
    "idx",
    "toml",
    "gates",
    "options",
)
"""Those of `fuzz_targets`, which is imported in the children alone: there it is instrumented."""
_SECONDS = 5.0
_MEMORY = 1 << 30
_ADDRESSES = 8 << 30
"""Bytes of addresses beyond those of the libraries; more is refused to the process."""
_LONGEST = 1 << 16
"""Bytes of an input."""
_CRASHES = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGFPE", "SIGILL")
"""Ends of the process that a library in C has caused."""
_KEPT = 3
"""Inputs kept of one find."""
_MOST_ENDS = 40
"""Ends of the process in one round."""
_LONG = 7200.0
"""Seconds after which a process that uses none of a core is waiting for something."""
_BY_HAND = "hand"
"""The engine of rows of inputs that nobody but a person made."""
_SMALL = 40_000
"""Bytes of a target's corpus in tests/."""

Row = dict[str, Any]


@dataclass
class Counts:
    """What a child did, also written to a file, for it may end at any moment."""

    executions: int = 0
    cpu: float = 0.0
    peak_mb: float = 0.0
    slowest: float = 0.0
    """Seconds of a core, of one reader."""
    finds: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By kind and place: how often, the first message, and the names of the inputs kept."""


class Watched:
    """One target, called with bytes; notes what it should not do."""

    def __init__(self, name: str, seconds: float, folder: Path) -> None:
        from benchmarks.faults.fuzz_targets import REFUSALS, TARGETS

        self.name, self.target, self.refusals = name, TARGETS[name], REFUSALS
        self.folder, self.counts = folder, Counts()
        self._path = folder / "in" / self.target.file
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._seconds, self._began, self._told = seconds, time.process_time(), 0.0
        self._warned: list[str] = []
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, kind, *_, **__: self._warned.append(
            f"{kind.__name__}: {message}"
        )
        faulthandler.enable()
        faulthandler.register(signal.SIGPROF, chain=True)  # says where it hangs, and ends

    def __call__(self, data: bytes) -> None:
        """Let every reader of the target read these bytes."""
        self._path.write_bytes(data)
        for reader in self.target.readers:
            self._read(reader, data)
        self.counts.executions += 1
        self.counts.cpu = time.process_time() - self._began
        over = self.counts.cpu > self._seconds
        if over or self.counts.cpu > self._told + 0.5:
            self._told = self.counts.cpu
            self.save()
        if over:
            os._exit(0)

    def _read(self, reader: Callable[[str], Any], data: bytes) -> None:
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        try:
            reader(str(self._path))
        except self.refusals:
            pass
        except BaseException as error:  # of any kind: that is the question
            self.note(f"{type(error).__name__} in {_place(error)}", str(error), data)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        self.counts.slowest = max(self.counts.slowest, time.process_time() - begun)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self.counts.peak_mb = peak / 1e6
        while self._warned:
            said = self._warned.pop()
            self.note(said[:80], said, data)
        if peak > _MEMORY:
            self.note(f"memory in {_named(reader)}", f"{peak / 1e9:.2f} GB", data)
            self.save()
            os._exit(3)

    def note(self, kind: str, said: str, data: bytes) -> None:
        """A find."""
        _note(self.counts.finds, self.name, kind, said, data)

    def save(self) -> None:
        """Write the counts where the parent looks for them."""
        text = json.dumps(asdict(self.counts))
        (self.folder / "counts.new").write_text(text)
        os.replace(self.folder / "counts.new", self.folder / "counts.json")


def _note(finds: dict[str, Any], target: str, kind: str, said: str, data: bytes) -> None:
    """Count a find, and keep the first inputs of its kind."""
    find = finds.setdefault(kind, {"count": 0, "said": said[:200], "inputs": []})
    find["count"] += 1
    if len(find["inputs"]) < _KEPT:
        name = sha256(data).hexdigest()[:16]
        folder = FUZZED / target / "finds"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        find["inputs"].append(name)


def _place(error: BaseException) -> str:
    """The innermost function of the package, or else of all."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "gnc_cli" in frame.filename] or frames
    return f"{'/'.join(Path(ours[-1].filename).parts[-2:])}:{ours[-1].name}"


def _named(reader: Any) -> str:
    return str(getattr(reader, "__name__", None) or reader.func.__name__)


def child(target: str, seconds: float, folder: Path) -> None:
    """Feed one target for so many seconds of a core; ends the process."""
    for library in ("numpy", "scipy.optimize", "torch", "h5py", "pydantic", "typer"):
        import_module(library)
    guided = find_spec("atheris") is not None
    with _instrumented() if guided else contextlib.nullcontext():
        begin = _starts(target)
        watched = Watched(target, seconds, folder)
        for data in begin:  # what readers import late is instrumented too
            watched(data)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (size + _ADDRESSES, size + _ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(folder)
    (_by_libfuzzer if guided else _by_hypothesis)(watched, target)


def _instrumented() -> contextlib.AbstractContextManager[None]:
    atheris = import_module("atheris")
    found: contextlib.AbstractContextManager[None] = atheris.instrument_imports(
        include=["gnc_cli", "tomllib"], enable_loader_override=False
    )
    return found


def _by_libfuzzer(watched: Watched, target: str) -> None:
    atheris = import_module("atheris")
    signals = [f"-handle_{name}=0" for name in ("segv", "bus", "abrt", "ill", "fpe", "xfsz")]
    folders = [str(_own(target)), *(str(f) for f in [CORPUS / target] if f.is_dir())]
    atheris.Setup(
        [
            "fuzz",
            f"-max_len={_LONGEST}",
            "-timeout=1000000",
            "-rss_limit_mb=0",
            "-reload=0",
            *signals,
            *folders,
        ],
        watched,
    )
    atheris.Fuzz()


def _by_hypothesis(watched: Watched, target: str) -> None:
    """Edits of the corpus; what reaches a new line joins it."""
    from hypothesis import given, settings
    from hypothesis import strategies as st

    corpus, seen = _starts(target), set[Any]()
    edit = st.tuples(st.integers(0, _LONGEST), st.integers(0, 8), st.binary(max_size=8))

    @settings(database=None, deadline=None)
    @given(st.integers(0, 1 << 20), st.lists(edit, min_size=1, max_size=6))
    def edited(at: int, edits: list[tuple[int, int, bytes]]) -> None:
        data = corpus[at % len(corpus)]
        for where, dropped, put in edits:
            where %= len(data) + 1
            data = data[:where] + put + data[where + dropped :]
        new = lines_reached(watched, data) - seen
        if new:
            seen.update(new)
            corpus.append(data)
            (_own(target) / sha256(data).hexdigest()[:16]).write_bytes(data)

    drawn = random.Random()
    while True:
        edited.hypothesis.fuzz_one_input(drawn.randbytes(256))  # type: ignore[attr-defined]


def lines_reached(call: Callable[[bytes], Any], data: bytes) -> set[tuple[str, int]]:
    """The lines of the package that `call` runs through."""
    reached: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if "gnc_cli" not in frame.f_code.co_filename:
            return None
        reached.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        call(data)
    finally:
        sys.settrace(None)
    return reached


def _own(target: str) -> Path:
    folder = FUZZED / target / "corpus"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _starts(target: str) -> list[bytes]:
    """The corpus of a target; at first the small valid files."""
    own = _own(target)
    if not any(own.iterdir()):
        from benchmarks.faults.fuzz_targets import seeds

        with tempfile.TemporaryDirectory() as place:
            for name, made in seeds(Path(place)).items():
                for data in made:
                    (_own(name) / sha256(data).hexdigest()[:16]).write_bytes(data)
    folders = [own, CORPUS / target]
    found = [path.read_bytes() for f in folders if f.is_dir() for path in sorted(f.iterdir())]
    return sorted({data for data in found if len(data) <= _LONGEST}, key=len)


def run(targets: list[str], seconds: float, slice_seconds: float) -> None:
    """Rounds of every target until each has its seconds of a core; the shortest come first."""
    guided = [row for row in rows(ROWS) if row["engine"] != _BY_HAND]
    done = {name: sum(row["cpu"] for row in guided if row["target"] == name) for name in targets}
    while waiting := [name for name in targets if done[name] < seconds - 1.0]:
        name = min(waiting, key=lambda name: done[name])
        row = round_of(name, min(slice_seconds, seconds - done[name]))
        done[name] += max(row["cpu"], 1.0)
        ROWS.parent.mkdir(parents=True, exist_ok=True)
        with ROWS.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(
            name,
            f"{row['executions']:,} executions, {row['cpu']:.0f} s,",
            *row["finds"] or "-",
            flush=True,
        )


def round_of(target: str, seconds: float) -> Row:
    """One round: children, one after another, until the time is over."""
    total, ends = Counts(), 0
    while total.cpu < seconds and ends < _MOST_ENDS:
        with _tmpfs() as folder:
            left = seconds - total.cpu
            code, said = _spawned(["child", target, f"{left:.1f}", str(folder)], _LONG)
            counts = Counts()
            with contextlib.suppress(FileNotFoundError):
                counts = Counts(**json.loads((folder / "counts.json").read_text()))
            _add(total, counts)
            if code == 0:
                break
            ends += 1
            inputs = [*(folder / "in").iterdir()] if (folder / "in").is_dir() else []
            if code == 3:  # memory, noted by the child
                continue
            if not inputs:
                raise SystemExit(said)
            current = folder / "in" / _file(target)
            kind = f"{_end(code)} in {_last_call(said)}"
            _note(total.finds, target, kind, said[-200:], current.read_bytes())
    return {
        "target": target,
        "engine": "atheris" if find_spec("atheris") else "hypothesis",
        "corpus": len([*_own(target).iterdir()]),
        **asdict(total),
    }


def _add(total: Counts, counts: Counts) -> None:
    total.executions += counts.executions
    total.cpu += counts.cpu
    total.peak_mb = max(total.peak_mb, counts.peak_mb)
    total.slowest = max(total.slowest, counts.slowest)
    for kind, find in counts.finds.items():
        mine = total.finds.setdefault(kind, {**find, "count": 0, "inputs": []})
        mine["count"] += find["count"]
        mine["inputs"] = [*dict.fromkeys(mine["inputs"] + find["inputs"])][:_KEPT]


@contextlib.contextmanager
def _tmpfs() -> Iterator[Path]:
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder)


def _spawned(arguments: list[str], limit: float) -> tuple[int, str]:
    """Exit code of a child, negative for a signal, and its last words."""
    command = [sys.executable, "-m", "benchmarks.faults.fuzz", *arguments]
    with tempfile.TemporaryFile("w+") as told:
        process = subprocess.Popen(command, stdout=told, stderr=told)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:  # it waits for something
            process.kill()
            process.wait()
            code = -signal.SIGALRM
        told.seek(max(0, told.seek(0, os.SEEK_END) - 20_000))
        return code, told.read()


def _file(target: str) -> str:
    from benchmarks.faults.fuzz_targets import TARGETS

    return TARGETS[target].file


def _end(code: int) -> str:
    if code == -signal.SIGPROF:
        return f"more than {_SECONDS:g} s"
    return signal.Signals(-code).name if code < 0 else f"exit {code}"


def _last_call(said: str) -> str:
    """The innermost function of the package in what faulthandler prints."""
    calls = [line.strip() for line in said.splitlines() if line.strip().startswith("File ")]
    ours = [line for line in calls if "gnc_cli" in line]
    if not ours:
        return calls[0] if calls else "no Python"
    path, _, rest = ours[0].removeprefix('File "').partition('"')
    return f"{'/'.join(Path(path).parts[-2:])}:{rest.rpartition(' in ')[2]}"


def still_there(target: str, names: list[str]) -> str | None:
    """What kept inputs of one find do today, if it still is what they should not."""
    with _tmpfs() as folder:
        code, said = _spawned(["again", target, ",".join(names), str(folder)], _LONG)
        if code not in (0, 3):
            return f"{_end(code)} in {_last_call(said)}"
        finds = json.loads((folder / "counts.json").read_text())["finds"]
        return next(iter(finds), None)


def again(target: str, names: list[str], folder: Path) -> None:
    """Read kept inputs once more."""
    watched = Watched(target, 1e9, folder)
    for name in names:
        watched((FUZZED / target / "finds" / name).read_bytes())
    watched.save()


def distill(targets: list[str]) -> None:
    """Few inputs that together reach what all do, `_SMALL` bytes a target at most, for tests/."""
    for target in targets:
        with _tmpfs() as folder:
            code, said = _spawned(["smallest", target, "0", str(folder)], 3600.0)
            print(said, end="", flush=True)
            if code:
                raise SystemExit(code)


def smallest(target: str, folder: Path) -> None:
    """Write the corpus of one target into tests/: first what reaches most new lines."""
    watched, begin = Watched(target, 1e9, folder), _starts(target)
    watched(begin[0])  # what is imported and cached at first counts for none
    reached = {data: lines_reached(watched, data) for data in begin}
    place, size = CORPUS / target, 0
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    while any(reached.values()):
        best = max(reached, key=lambda data: (len(reached[data]), -len(data)))
        new = reached.pop(best)
        if size + len(best) <= _SMALL:
            reached = {data: lines - new for data, lines in reached.items()}
            size += len(best)
            (place / sha256(best).hexdigest()[:12]).write_bytes(best)
    print(target, len([*place.iterdir()]), "files,", size, "bytes")


def section(kept: list[Row], where: str, today: Callable[[str, list[str]], str | None]) -> str:
    """Markdown: a line per target, then the finds that readers still show, which `today` says."""
    lines, shown = [], []
    for target in TARGETS:
        ours = [row for row in kept if row["target"] == target]
        if not ours:
            continue
        finds: dict[str, dict[str, Any]] = {}
        for row in ours:
            for kind, find in row["finds"].items():
                mine = finds.setdefault(kind, {**find, "count": 0, "inputs": []})
                mine["count"] += find["count"]
                mine["inputs"] = [*dict.fromkeys(mine["inputs"] + find["inputs"])]
        left, crashes = 0, 0
        for kind, find in finds.items():
            crashes += kind.startswith(_CRASHES)
            still = today(target, find["inputs"])
            if still is not None:
                left += not still.startswith(_CRASHES)
                shown.append([target, kind, str(find["count"]), still])
        guided = [row for row in ours if row["engine"] != _BY_HAND]
        lines.append(
            [
                target,
                str(len(guided)),
                f"{sum(row['cpu'] for row in guided) / 60:.1f}",
                f"{sum(row['executions'] for row in guided):,}",
                f"{sum(row['executions'] for row in ours if row not in guided):,}",
                str(max(row["corpus"] for row in ours)),
                str(left),
                str(crashes),
                f"{max(row['peak_mb'] for row in ours):.0f}",
                f"{max(row['slowest'] for row in ours):.2f}",
            ]
        )
    engines = " and ".join(sorted({row["engine"] for row in kept} - {_BY_HAND}))
    return "\n\n".join(
        [
            "## Hostile bytes",
            f"Machine: {where}. Inputs made by {engines} for every reader, in processes of their "
            "own: `benchmarks.faults.fuzz`. By hand: valid files, each attribute, field or option "
            "of which was replaced by odd values (arrays, texts, 400 and 5,000 digits, depth). A "
            "find is anything but a result or a refusal: another exception, a warning, a signal, "
            "over 5 s of a core or 1 GB of memory (the libraries take 330 MB of it); finds "
            "of one kind and place count once, mended ones not at all. Crashes of the libraries "
            "themselves, as of HDF5, are counted apart.",
            table(
                [
                    "target",
                    "rounds",
                    "CPU minutes",
                    "executions",
                    "by hand",
                    "corpus",
                    "finds",
                    "native crashes",
                    "most MB",
                    "slowest s",
                ],
                lines,
            ),
            *([table(["target", "find", "times", "today"], shown)] if shown else []),
        ]
    )


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "distill"):
        command = commands.add_parser(name)
        command.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="default all")
        if name == "run":
            command.add_argument("--seconds", type=float, default=600.0, help="of each target")
            command.add_argument("--slice", type=float, default=180.0, help="seconds of a round")
    commands.add_parser("report")
    commands.add_parser("show")
    for name in ("child", "again", "smallest"):
        inner = commands.add_parser(name, help="used by the others")
        for argument in ("target", "what", "folder"):
            inner.add_argument(argument)
    asked = parser.parse_args()
    if asked.command == "run":
        run(asked.targets or [*TARGETS], asked.seconds, asked.slice)
    elif asked.command == "distill":
        distill(asked.targets or [*TARGETS])
    elif asked.command == "child":
        child(asked.target, float(asked.what), Path(asked.folder))
    elif asked.command == "again":
        again(asked.target, asked.what.split(","), Path(asked.folder))
    elif asked.command == "smallest":
        smallest(asked.target, Path(asked.folder))
    else:
        body = section(rows(ROWS), machine(), still_there)
        write_section("fuzz", body) if asked.command == "report" else print(body)


if __name__ == "__main__":
    main()
