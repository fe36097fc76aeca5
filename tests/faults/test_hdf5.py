"""HDF5 files on which the HDF5 library crashes, or is lost: another process meets them first."""

import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from gnc_cli import measure, solve
from gnc_cli.errors import DataError
from gnc_cli.io import hdf5, hdf5_probe
from gnc_cli.io.hdf5 import open_hdf5
from tests.faults.test_process import ROOT
from tests.faults.world import Case, check, inside

CRASH, HANG = (9, 0x9F), (43, 0xFF)
"""A byte behind the name of a text attribute, and its value: of the text's type, of its length."""


def hostile(path: str, byte: tuple[int, int], name: str = "kind") -> None:
    """A file of gnc with one wrong byte."""
    rng = np.random.default_rng(0)
    with h5py.File(path, "w") as h5:
        h5["weights"] = rng.normal(size=(7, 3))
        h5["features"] = rng.normal(size=(70, 3))
        h5["labels"] = np.arange(70) % 7
        h5.attrs["gnc_format"] = 1
        h5.attrs[name] = "code"
    data = bytearray(Path(path).read_bytes())
    at, value = byte
    data[data.index(name.encode() + b"\0") + at] = value
    Path(path).write_bytes(data)


def world(byte: tuple[int, int]) -> None:
    hostile("a.h5", byte)
    np.savez("b.npz", weights=np.eye(7, 3) + 1)


@pytest.fixture(autouse=True)
def crashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The helper crashes on a file with `CRASH`, as HDF5 did when attributes of any type were read.

    No file is known any more that crashes the library; the next one will be met like this.
    """
    inner = hdf5_probe._Helper.read

    def read(self: Any, file: Any) -> int:
        if b"kind\0\0\0\0\x19\x9f" in os.pread(file.fileno(), 1 << 20, 0):
            self.start()
            self._await_start(self._socket)
            os.kill(self._process.pid, signal.SIGSEGV)
            return int(self._process.wait())
        return int(inner(self, file))

    monkeypatch.setattr(hdf5_probe._Helper, "read", read)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A helper of this test alone, which gives up after 0.3 s."""
    monkeypatch.setattr(hdf5_probe, "LISTING_SECONDS", 0.3)
    helper = hdf5_probe._Helper()
    monkeypatch.setattr(hdf5_probe, "_HELPER", helper)
    yield helper
    helper.end()


CRASHES = "'a.h5' is damaged or hostile HDF5: the HDF5 library crashes on it (SIGSEGV); make it"
BUSY = "'a.h5' is damaged or hostile HDF5: the HDF5 library needs more than 0.3 s to list what"
COMMANDS = [
    "measure a.h5",
    "solve --d 3 --K 7 --resume --out a.h5",
    "train --data h5:a.h5",
]
MORE_COMMANDS = [
    "measure a.h5:weights",
    "measure --features a.h5:features --labels a.h5:labels",
    "measure b.npz --weights a.h5",
    "measure b.npz --ood a.h5",
    "measure b.npz --reference a.h5",
    "compare a.h5",
    "compare a.h5:weights",
    "solve --d 3 --K 7 --init a.h5",
]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_crash_of_the_library_is_the_files(words: str, tmp_path: Path) -> None:
    with inside(tmp_path):
        check(Case(words, lambda: world(CRASH), 3, CRASHES))


@pytest.mark.slow
@pytest.mark.parametrize("words", MORE_COMMANDS)
def test_every_reader_passes_the_same_door(words: str, tmp_path: Path) -> None:
    with inside(tmp_path):
        check(Case(words, lambda: world(CRASH), 3, CRASHES))


def test_a_file_that_takes_for_ever_is_refused(fresh: Any, tmp_path: Path) -> None:
    with inside(tmp_path):
        check(Case("measure a.h5", lambda: world(HANG), 3, BUSY))


@pytest.mark.slow
def test_python_and_stdin_pass_the_same_door(tmp_path: Path, gnc: Any) -> None:
    with inside(tmp_path):
        world(CRASH)
        with pytest.raises(DataError, match="crashes on it"):
            measure("a.h5")
        with pytest.raises(DataError, match="crashes on it"):
            solve(3, 7, init="a.h5")
        data = Path("a.h5").read_bytes()
        told = gnc("measure", "-", input=data)
        assert told.exit_code == 3 and "'-' is damaged or hostile HDF5" in told.stderr
        with pytest.raises(DataError, match="crashes on it"), open_hdf5(io.BytesIO(data), "x"):
            pass


def shared_texts(path: str, count: int) -> None:
    """An attribute whose texts are all one place in the file, 2 MB long."""
    with h5py.File(path, "w") as h5:
        h5["weights"] = np.random.default_rng(1).normal(size=(7, 3))
        texts = ["x" * (1 << 21), *["y"] * (count - 1)]
        h5.attrs.create("class_names", texts, dtype=h5py.string_dtype())
    data = Path(path).read_bytes()
    at = next(
        m.start()
        for m in re.finditer((1 << 21).to_bytes(4, "little"), data)
        if data[m.start() + 16 : m.start() + 20] == b"\1\0\0\0"
    )
    whole = data[:at] + count * data[at : at + 16] + data[at + 16 * count :]
    Path(path).write_bytes(whole)


def test_texts_that_share_a_place_are_not_all_read(tmp_path: Path) -> None:
    """Many are left, a few more than the file holds are refused."""
    with inside(tmp_path):
        shared_texts("a.h5", 4000)
        with open("a.h5", "rb") as file, open_hdf5(file, "a.h5") as (catalogue, _):
            assert not catalogue.attrs and "weights" in catalogue.entries
        check(
            Case(
                "measure --weights a.h5",
                lambda: shared_texts("a.h5", 3),
                3,
                "a.h5' has too much to list: 1 groups, datasets and attributes, 6,291,456",
            )
        )


def test_attributes_of_every_plain_kind_are_read(tmp_path: Path) -> None:
    """Others are left: nothing says how long they are before they are read."""
    plain = {"a": "text", "b": 3, "c": 0.5, "d": True, "e": np.arange(3), "f": ["x", "y"]}
    with h5py.File(tmp_path / "a.h5", "w") as h5:
        h5.attrs.update(plain | {"bytes": np.bytes_(b"z")})
        lists = np.empty(1, object)
        lists[0] = np.arange(3, dtype="i4")
        h5.attrs.create("lists", lists, dtype=h5py.vlen_dtype("i4"))
    with open(tmp_path / "a.h5", "rb") as file, open_hdf5(file, "a.h5") as (catalogue, _):
        assert catalogue.attrs == plain | {"e": (0, 1, 2), "f": ("x", "y"), "bytes": "z"}


@pytest.mark.parametrize("limit", ["MOST_ENTRIES", "_LISTING_SECONDS"])
def test_a_limit_of_the_listing_is_named(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def many() -> None:
        with h5py.File("a.h5", "w") as h5:
            for k in range(60):
                h5[f"group {k}/x"] = 1.0

    monkeypatch.setattr(hdf5, limit, 20 if limit == "MOST_ENTRIES" else 0.0)
    with inside(tmp_path):
        check(Case("measure a.h5", many, 3, "a.h5' has too much to list"))


def good(path: str) -> None:
    with h5py.File(path, "w") as h5:
        h5["weights"] = np.random.default_rng(1).normal(size=(7, 3))


def counted(helper: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The process that reads, at each reading."""
    inner, seen = helper.read, list[int]()

    def read(file: Any) -> int:
        status: int = inner(file)
        seen.append(0 if helper._process is None else helper._process.pid)
        return status

    monkeypatch.setattr(helper, "read", read)
    return seen


def test_one_helper_reads_each_file_once(
    fresh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = counted(fresh, monkeypatch)
    with inside(tmp_path):
        for path in ("a.h5", "b.h5", "a.h5"):
            if not Path(path).exists():
                good(path)
            measure(path)
        assert len(seen) == 2 and len({*seen}) == 1
        good("a.h5")
        measure("a.h5")
        assert len(seen) == 3


def test_what_this_process_wrote_needs_no_reader(
    fresh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = counted(fresh, monkeypatch)
    with inside(tmp_path):
        solve(3, 4, out="a.h5")
        measure("a.h5")
        assert not seen


def test_after_a_crash_comes_the_next_file(tmp_path: Path, fresh: Any) -> None:
    with inside(tmp_path):
        world(CRASH)
        good("b.h5")
        for _ in range(2):
            with pytest.raises(DataError, match="crashes on it"):
                measure("a.h5")
            assert measure("b.h5").K == 7
        world(HANG)
        with pytest.raises(DataError, match=r"more than 0\.3 s"):
            measure("a.h5")
        assert measure("b.h5").K == 7


def dying(number: int) -> Callable[..., Any]:
    """A helper that gets this signal at each file."""

    def read(self: Any, file: Any) -> int:
        return -number

    return read


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGBUS])
def test_each_signal_of_a_crash(
    number: int, fresh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(fresh), "read", dying(number))
    with inside(tmp_path):
        good("a.h5")
        with pytest.raises(DataError, match=signal.Signals(number).name):
            measure("a.h5")


@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGKILL, signal.SIGTERM])
def test_a_slow_file_or_a_helper_that_somebody_ended_is_no_fault(
    number: int, fresh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(fresh), "read", dying(number))
    with inside(tmp_path):
        good("a.h5")
        assert measure("a.h5").K == 7


@pytest.mark.parametrize("python", ["/bin/true", "/bin/false", "/no/such/python"])
def test_without_a_helper_files_are_read_as_ever(
    python: str, fresh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", python)
    with inside(tmp_path):
        for name in ("a.h5", "b.h5"):
            good(name)
            assert measure(name).K == 7


def test_the_position_of_the_file_stays(fresh: Any, tmp_path: Path) -> None:
    with inside(tmp_path):
        good("a.h5")
        with open("a.h5", "rb", buffering=0) as file:
            file.read(5)
            hdf5_probe.probe(file, "a.h5")
            assert fresh.known and file.read(3) == b"\n\x1a\n"
            assert file.read() == Path("a.h5").read_bytes()[8:]


def test_threads_share_the_helper(fresh: Any, tmp_path: Path) -> None:
    with inside(tmp_path):
        for k in range(4):
            good(f"{k}.h5")
        found = list[int]()
        threads = [
            threading.Thread(target=lambda k=k: found.append(measure(f"{k}.h5").K))
            for k in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [7] * 4


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are told by /proc")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, None], ids=str)
def test_it_ends_with_its_process_and_knows_nothing_of_the_folder(
    end: int | None, tmp_path: Path
) -> None:
    """The folder holds modules of the names that the helper loads; none may run."""
    with inside(tmp_path):
        good("a.h5")
        for name in ("numpy.py", "h5py.py", "socket.py", "sitecustomize.py"):
            Path(name).write_text("open('ran', 'w')\n")
        script = (
            "import sys, time; from gnc_cli.io import hdf5_probe as p; "
            "p.probe(open('a.h5', 'rb'), 'a.h5'); assert p._HELPER.known and p._HELPER._ready; "
            "print(p._HELPER._process.pid, flush=True); sys.stdin.read()"
        )
        program = subprocess.Popen(
            [sys.executable, "-P", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        with program:
            assert program.stdout is not None and program.stdin is not None
            pid = int(program.stdout.readline())
            assert alive(pid)
            if end is None:
                program.stdin.close()
            else:
                program.send_signal(end)
            program.wait()
        given_up = time.monotonic() + 30.0
        while alive(pid) and time.monotonic() < given_up:
            time.sleep(0.01)
        assert not alive(pid) and not Path("ran").exists()


def test_a_forked_copy_has_a_helper_of_its_own(fresh: Any, tmp_path: Path) -> None:
    with inside(tmp_path):
        good("a.h5")
        good("b.h5")
        script = (
            "import os, sys; from gnc_cli.io import hdf5_probe as p\n"
            "f, g = open('a.h5', 'rb'), open('b.h5', 'rb')\n"
            "p.probe(f, 'a.h5'); mine = p._HELPER._process.pid\n"
            "copy = os.fork(); p.probe(g, 'b.h5')\n"
            "assert (p._HELPER._process.pid == mine) == (copy > 0)\n"
            "if copy: assert os.waitpid(copy, 0)[1] == 0\n"
        )
        subprocess.run(
            [sys.executable, "-W", "error", "-c", script],
            check=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
