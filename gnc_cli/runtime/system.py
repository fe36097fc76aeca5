"""Features that some operating systems lack, with their substitutes.

macOS lacks affinity masks, /proc and /sys. On Windows the package can be imported, but no more is
promised: files are not locked, and memory counts as infinite.
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
"""Signals of Ctrl-C, of the end of a batch job, of a terminal that closes, and of Ctrl-Break."""
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
"""Files of the GPU drivers of NVIDIA on Linux, on the Windows Subsystem for Linux, of AMD, and of
NVIDIA on Windows."""


def process_cores() -> int:
    """Return the number of cores that this process may use; all if there are no affinity masks."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def read_at(file: IO[bytes], buffer: Any, offset: int) -> int:
    """Fill a buffer from an offset of a file, and return the number of bytes read.

    The position of the file does not change. If the system cannot do this, the file is opened a
    second time.
    """
    if hasattr(os, "preadv"):
        count: int = os.preadv(file.fileno(), [buffer], offset)
        return count
    with open(file.name, "rb") as copy:
        copy.seek(offset)
        return copy.readinto(buffer)


if sys.platform == "win32":

    def lock(descriptor: int) -> None:
        """Leave the file unlocked."""

    def memory() -> tuple[int, int]:
        """Return a number above all memory, twice."""
        return sys.maxsize, sys.maxsize

    ADDRESS_SPACE = float("inf")

else:
    import fcntl
    import resource

    def lock(descriptor: int) -> None:
        """Lock a file that was just opened, until it is closed.

        Raises:
            BlockingIOError: another process has locked it.
            OSError: the file system has no locks.
        """
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def memory() -> tuple[int, int]:
        """Return the total and the available memory of this machine, in bytes."""
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        with contextlib.suppress(OSError, ValueError, IndexError):
            for line in Path("/proc/meminfo").read_text("ascii").splitlines():
                if line.startswith("MemAvailable:"):
                    return total, 1024 * int(line.split()[1])
        return total, total

    _limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    ADDRESS_SPACE = float("inf") if _limit in (-1, resource.RLIM_INFINITY) else float(_limit)
    """Limit of the address space of this process, in bytes."""

    def block_signals() -> None:
        """Suppress signals in this thread and in the processes that it starts."""
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
