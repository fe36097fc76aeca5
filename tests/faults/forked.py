"""Commands in processes of their own that start at once: forks of a server that has all modules.

A command runs as `gnc` does, with its streams in files; only the interpreter takes nothing down at
its end. Before it, limits of the system are set, and a signal may be ordered for a line of the
package: the process sends it to itself before it runs the line of that number, so that the same
order always ends it at the same place.
"""

import atexit
import contextlib
import ctypes
import gc
import json
import mmap
import os
import pkgutil
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
_LONG = 30.0
"""Seconds after which a process hangs."""
_PACKAGES = ("matplotlib.backends.backend_agg", "geoopt", "torch._dynamo")
"""What commands load while they run."""
_FIRST = (
    "bounds --d 3 --K 7 --json --report {0}/b.md --out {0}/b.h5",
    "solve --d 3 --K 7 --json --method descent --restarts 1 --workers 1 --out {0}/s.h5",
    "measure {0}/s.h5 --json --plot {0}/s.png",
    "compare {0}/s.h5 --json",
)
"""Commands of the server itself."""


@dataclass(frozen=True)
class Order:
    """A command, and what the system does to it."""

    words: tuple[str, ...]
    """The words behind `gnc`."""
    signal: int = 0
    """The signal that it gets; none if 0."""
    line: int = 0
    """The line of the package before which it gets the signal, counted from 1."""
    part: str = ""
    """Folder of the package whose lines are counted; all if empty."""
    file_size: int | None = None
    """The largest file that it may write, in bytes."""
    open_files: int | None = None
    """Files that it may open beyond those open at its start."""
    memory: int | None = None
    """Address space that it may take beyond that of its start, in bytes."""


@dataclass(frozen=True)
class End:
    """How a process ended."""

    code: int
    """Its exit code; of a signal that ended it, the negative number."""
    out: bytes
    said: str
    """stderr."""
    peak: int
    """Its largest resident memory, in bytes."""
    reached: bool
    """Whether it got the signal."""
    after: float
    """Seconds of a core that it took after the signal."""
    hangs: bool = field(default=False)


class Server:
    """Runs orders, one after another; a context that ends it."""

    def __init__(self) -> None:
        plain = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
        plain |= {"OMP_NUM_THREADS": "1", "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.forked"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=plain,
        )

    def run(self, order: Order, folder: Path, streams: Path) -> End:
        """Run a command in `folder`, its stdout and stderr in two files in `streams`."""
        assert self._process.stdin and self._process.stdout
        request = [asdict(order), str(folder), str(streams)]
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        told = json.loads(self._process.stdout.readline())
        out, said = (streams / "out").read_bytes(), (streams / "said").read_bytes()
        return End(out=out, said=said.decode("utf-8", "backslashreplace"), **told)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def serve() -> None:
    """Answer orders until there are no more."""
    orders, answers = os.fdopen(os.dup(0), "rb", buffering=0), os.dup(1)
    os.dup2(2, 1)
    import gnc_cli
    from gnc_cli.cli import app, main
    from tests.conftest import runner

    for module in pkgutil.walk_packages(gnc_cli.__path__, "gnc_cli."):
        if "integrations" not in module.name and not module.name.endswith("__main__"):
            import_module(module.name)
    for name in _PACKAGES:
        import_module(name)
    with tempfile.TemporaryDirectory() as folder:  # what is read and built once stays
        for words in _FIRST:
            runner(app)(*words.format(folder).split())
    gc.freeze()
    stamp = mmap.mmap(-1, 16)
    while line := orders.readline():
        order, folder, streams = json.loads(line)
        stamp[:16] = bytes(16)
        process = os.fork()
        if process == 0:
            orders.close()
            os.close(answers)
            _become(Order(**order), folder, Path(streams), stamp)
            _end(main)
        os.write(answers, json.dumps(_awaited(process, stamp)).encode() + b"\n")


def _end(main: Callable[[], None]) -> None:
    """Run the program, and leave this process as the interpreter does."""
    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    except BaseException as error:
        code = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
        traceback.print_exc()
    sys.settrace(None)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    if code == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code if isinstance(code, int) else 1)


def _awaited(process: int, stamp: mmap.mmap) -> dict[str, Any]:
    """How a forked process ends."""
    given_up, hangs, status = time.monotonic() + _LONG, False, 0
    while not (ended := os.wait4(process, os.WNOHANG))[0]:
        time.sleep(0.001)
        if not hangs and time.monotonic() > given_up:
            hangs = True
            os.kill(process, signal.SIGKILL)
    _, status, used = ended
    reached, before = struct.unpack("dd", stamp[:16])
    return {
        "code": os.waitstatus_to_exitcode(status),
        "peak": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "reached": bool(reached),
        "after": used.ru_utime + used.ru_stime - before if reached else 0.0,
        "hangs": hangs,
    }


def _become(order: Order, folder: str, streams: Path, stamp: mmap.mmap) -> None:
    """Be the process that a shell starts for this command."""
    os.setsid()
    os.chdir(folder)
    for number, name in enumerate((os.devnull, streams / "out", streams / "said")):
        how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY
        opened = os.open(name, how, 0o666)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = ["gnc", *order.words]
    _obey()
    if order.file_size is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order.file_size,) * 2)
    if order.open_files is not None:
        most = max(map(int, os.listdir("/dev/fd"))) + order.open_files
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if order.memory is not None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + order.memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    if order.signal:
        _send_at(order, stamp)


def _obey() -> None:
    """End with the server, and have no right of root to write what nobody may (Linux)."""
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        system.prctl(1, int(signal.SIGKILL))
        if os.geteuid() == 0:
            system.capset(struct.pack("Ii", 0x20080522, 0), bytes(24))


def _send_at(order: Order, stamp: mmap.mmap) -> None:
    """Send the signal before the line of that number."""
    part, count = os.path.join("gnc_cli", order.part), 0

    def each(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count == order.line:
                sys.settrace(None)
                stamp[:16] = struct.pack("dd", 1.0, time.process_time())
                os.kill(os.getpid(), order.signal)
                return None
        return each if count < order.line else None

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        return each if part in frame.f_code.co_filename else None

    sys.settrace(enter)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        serve()
