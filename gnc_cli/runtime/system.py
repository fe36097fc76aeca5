"""What not every system has, in one place, and what happens where it is missing.

macOS lacks affinity masks, /proc and /sys. On Windows the package can be imported, and no more is
promised: there is no lock, and memory counts as without end.
"""

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import IO, Any

SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    if hasattr(signal, name)
)
"""Ctrl-C, a batch system's end, a terminal that closes, Ctrl-Break."""
AS_STORED: int = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""Flags for `os.open`: follow no link, translate no line ends."""
AT_ONCE: int = getattr(os, "O_NONBLOCK", 0)
"""Flag for `os.open`: wait for no writer of a named pipe."""
GPU_DRIVERS = (
    "/dev/nvidiactl",
    "/dev/dxg",
    "/dev/kfd",
    os.path.join(os.environ.get("SYSTEMROOT", ""), "System32", "nvcuda.dll"),
)
"""Files that the drivers of NVIDIA (Linux, Windows Subsystem for Linux) and AMD put there, and that
of NVIDIA on Windows."""


def process_cores() -> int:
    """Cores that this process may use: all of the machine where there are no affinity masks."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def read_at(file: IO[bytes], buffer: Any, offset: int) -> int:
    """Fill a buffer from a place of a file, whose position stays; how many bytes were read.

    Where the system cannot do this, the file is opened once more.
    """
    if hasattr(os, "preadv"):
        return os.preadv(file.fileno(), [buffer], offset)
    with open(file.name, "rb") as again:
        again.seek(offset)
        return again.readinto(buffer)


if sys.platform == "win32":

    def lock(descriptor: int) -> None:
        """Do nothing."""

    def memory() -> tuple[int, int]:
        """A number above all memory, twice."""
        return sys.maxsize, sys.maxsize

    ADDRESS_SPACE = float("inf")

else:
    import fcntl
    import resource

    def lock(descriptor: int) -> None:
        """Hold a file that was just opened, until it is closed.

        Raises:
            BlockingIOError: another process holds it.
            OSError: the file system has no locks.
        """
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def memory() -> tuple[int, int]:
        """All memory of this machine, and what can still be had, in bytes."""
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        with contextlib.suppress(OSError, ValueError, IndexError):
            for line in Path("/proc/meminfo").read_text("ascii").splitlines():
                if line.startswith("MemAvailable:"):
                    return total, 1024 * int(line.split()[1])
        return total, total

    _limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    ADDRESS_SPACE = float("inf") if _limit in (-1, resource.RLIM_INFINITY) else float(_limit)
    """Bytes of address space that this process may have."""

    def block_signals() -> None:
        """Let this thread, and the processes that it starts, hear no signals."""
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
