"""Signals at any moment: the first ends a command with what there is, the second at once."""

import array
import fcntl
import os
import re
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

import gnc_cli
from gnc_cli import solve
from gnc_cli.console.process import interruptible
from gnc_cli.errors import DataError, StoppedError
from gnc_cli.runtime.deadline import begin_work, end_wait, fatal_signals, waiting

ROOT = Path(gnc_cli.__file__).parent.parent
FINISHING = "gnc: finishing with the best so far; interrupt again to stop at once\n"
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def started(*words: str, stdin: int | None = None, cwd: Path = ROOT) -> subprocess.Popen[str]:
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "gnc_cli", *words],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=surroundings,
        cwd=cwd,
        # Where the tests themselves run under nohup, the commands would ignore it too.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )


def until(what: Callable[[], bool]) -> None:
    for _ in range(6000):
        if what():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to that")


def unread(pipe: int) -> int:
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def threads(process: subprocess.Popen[str]) -> int:
    return len(os.listdir(f"/proc/{process.pid}/task"))


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        out, said = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, out, said


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        *(
            pytest.param(number, marks=pytest.mark.slow)
            for number in (signal.SIGINT, signal.SIGHUP)
        ),
    ],
)
@pytest.mark.parametrize(
    "words",
    [
        "measure -",
        *(
            pytest.param(words, marks=pytest.mark.slow)
            for words in (
                "measure /dev/stdin",
                "measure --weights -",
                "compare -",
                "solve --d 2 --K 4 --init -",
                "train --data h5:- --epochs 1",
                "solve --d 2 --K 5 --fixed -",
            )
        ),
    ],
)
def test_a_stalled_input_is_given_up(words: str, number: signal.Signals) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"\x89HDF\r\n\x1a\n")
    process = started(*words.split(), stdin=reading)
    try:
        until(lambda: unread(reading) == 0)
        process.send_signal(number)
        code, out, said = ended(process)
    finally:
        os.close(reading)
        os.close(writing)
    name = "'/dev/stdin'" if "/dev" in words else "stdin"
    told = f"gnc: interrupted while waiting for the end of {name}; nothing was done\n"
    assert (code, out, said) == (130, "", FINISHING + told)


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    "words",
    [
        "solve --d 10 --K 100",
        "solve --d 10 --K 100 --workers 2",
        "solve --d 5 --K 3000",
        "solve --d 4 --K 30 --problem ufm --tau 1..0.001/50",
        "train --epochs 1000 --out run",
    ],
)
def test_the_first_signal_ends_with_what_there_is(
    words: str, number: signal.Signals, tmp_path: Path
) -> None:
    process = started(*words.split(), cwd=tmp_path)
    until(lambda: threads(process) > 1)  # the one that hears signals
    process.send_signal(number)
    code, _, said = ended(process)
    assert code == 130 and said.startswith(FINISHING) and "Traceback" not in said
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("gap", [0.0, 0.1, 0.5, 1.0, 2.0])
def test_the_second_signal_ends_at_once(number: signal.Signals, gap: float) -> None:
    process = started("solve", "--d", "10", "--K", "100", "--workers", "2")
    until(lambda: threads(process) > 1)
    process.send_signal(number)
    time.sleep(gap)
    process.send_signal(number)
    code, _, said = ended(process)
    assert (code, said) == (130, FINISHING)


@pytest.mark.slow
@pytest.mark.parametrize("number", SIGNALS[:2])
@pytest.mark.parametrize("moment", [0.3, 0.5, 0.7, 0.9])
def test_a_signal_before_the_work_has_begun(number: signal.Signals, moment: float) -> None:
    process = started("bounds", "--d", "3..100", "--K", "2..100")
    until(lambda: b"gnc_cli" in Path(f"/proc/{process.pid}/cmdline").read_bytes())
    time.sleep(moment)
    process.send_signal(number)
    code, _, said = ended(process)
    # Python itself handles nothing yet in its first moments.
    assert code in (130, -number) and "gnc_cli" not in said


def hanging(path: Path) -> None:
    """A file with a free object of size 0 in its global heap, which libhdf5 reads for ever."""
    sound(path)
    data = bytearray(path.read_bytes())
    data[data.find(b"GCOL") + 0x30] = 0
    path.write_bytes(data)


def sound(path: Path) -> None:
    with h5py.File(path, "w") as h5:
        h5["weights"] = np.random.default_rng(0).normal(size=(7, 3))
        h5["images"], h5["labels"] = np.zeros((14, 28, 28), "u1"), np.arange(14) % 7
        h5.attrs["note"] = "x"


def default_signals(process: subprocess.Popen[str]) -> bool:
    """Whether a process has loaded HDF5 and leaves SIGTERM to the system."""
    place = Path("/proc", str(process.pid))
    caught = re.search(r"^SigCgt:\s*(\w+)$", (place / "status").read_text(), re.MULTILINE)
    assert caught is not None
    loaded = "libhdf5" in (place / "maps").read_text()
    return loaded and not int(caught[1], 16) >> (signal.SIGTERM - 1) & 1


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, *(pytest.param(n, marks=pytest.mark.slow) for n in SIGNALS[::2])]
)
@pytest.mark.parametrize(
    "words",
    [
        "measure sound.h5 hanging.h5 --out rows.jsonl",
        *(
            pytest.param(words, marks=pytest.mark.slow)
            for words in (
                "compare sound.h5 hanging.h5",
                "measure sound.h5 --means-from hanging.h5 --out rows.jsonl",
                "measure sound.h5 --ood hanging.h5 --out rows.jsonl",
                "solve --d 3 --K 7 --init hanging.h5 --out code.h5",
                "solve --d 3 --K 9 --fixed hanging.h5",
                "solve --d 3 --K 7 --resume --out hanging.h5",
                "train --data h5:hanging.h5 --out run",
                "train --data h5:sound.h5 --head fixed:hanging.h5 --out run",
                "train --data h5:sound.h5 --backbone-weights hanging.h5 --out run",
            )
        ),
    ],
)
def test_a_signal_ends_a_listing_that_hangs(
    words: str, number: signal.Signals, tmp_path: Path
) -> None:
    sound(tmp_path / "sound.h5")
    hanging(tmp_path / "hanging.h5")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*")}
    process = started(*words.split(), cwd=tmp_path)
    try:
        until(lambda: default_signals(process))
    finally:
        process.send_signal(number)
    code, out, _ = ended(process)
    assert (code, out) == (-number, "")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*")} == before


def test_signals_are_fatal_until_work_has_begun() -> None:
    """Only those that the command caught, and in its main thread."""
    hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible(quiet=True):
            ours = signal.getsignal(signal.SIGTERM)
            with fatal_signals():
                assert [*map(signal.getsignal, SIGNALS)] == [
                    signal.SIG_DFL,
                    signal.SIG_DFL,
                    signal.SIG_IGN,
                ]
            seen = []

            def read() -> None:
                with fatal_signals():
                    seen.append(signal.getsignal(signal.SIGTERM))

            thread = threading.Thread(target=read)
            thread.start()
            thread.join()
            begin_work()
            with fatal_signals():
                seen.append(signal.getsignal(signal.SIGTERM))
            assert seen == [ours, ours]
        assert signal.getsignal(signal.SIGTERM) != ours
    finally:
        signal.signal(signal.SIGHUP, hangup)


def test_a_wait_ends_where_it_is_stopped() -> None:
    with pytest.raises(StoppedError, match="interrupted while waiting for it"):
        with waiting("it"):
            end_wait()
    end_wait()  # nothing waits


def line(K: int, d: int) -> np.ndarray:
    W = np.zeros((K, d))
    W[:, 0] = np.where(np.arange(K) < K // 2, 1.0, -1.0)
    return W


def pair(K: int, d: int) -> np.ndarray:
    W = np.random.default_rng(0).normal(size=(K, d))
    W[1] = W[0]
    return W


@pytest.mark.parametrize("problem", ["softmax", "tammes"])
@pytest.mark.parametrize(
    ("make", "K", "d"), [(pair, 7, 3), (line, 7, 3), (line, 30, 4), (pair, 24, 4)]
)
def test_a_start_with_equal_rows_comes_apart(problem: str, make: object, K: int, d: int) -> None:
    found = solve(d, K, init=make(K, d), restarts=0, problem=problem)  # type: ignore[operator]
    assert found.max_cosine < 0.9


@pytest.mark.parametrize("problem", ["softmax", "tammes"])
def test_equal_fixed_rows_are_refused(problem: str) -> None:
    with pytest.raises(DataError, match="fixed: row [01] coincides with another"):
        solve(3, 7, fixed=[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], problem=problem)
