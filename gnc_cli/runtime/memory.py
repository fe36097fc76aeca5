"""Free memory and disk space, and the refusal of work that needs more."""

import contextlib
import os
import shutil
from pathlib import Path

from gnc_cli.errors import UnavailableError
from gnc_cli.runtime.system import memory

_CGROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)
"""Folder and files of a container's memory limit and use, in version 2 and 1 of cgroups; the folder
also has `memory.stat`."""


def check_memory(
    required: float,
    work: str,
    hint: str,
    *,
    free: float | None = None,
    place: str = "this machine",
) -> None:
    """Refuse work that cannot fit, before it begins.

    Args:
        required: bytes, an upper estimate of two or three terms.
        work: names the work in the message, such as `a search for K=50 points in d=5`.
        hint: what the user can do about it.
        free: free bytes on `place`; None for those of this machine.
        place: names the device in the message.

    Raises:
        UnavailableError: the work requires more bytes than are free.
    """
    free = free_memory() if free is None else free
    if required > free:
        raise UnavailableError(
            f"{work} needs {size(required)} of memory; {size(free)} are free on {place}: {hint}"
        )


def check_disk(required: float, out: str | os.PathLike[str], content: str, hint: str) -> None:
    """Refuse a file that its disk cannot hold, before it is written.

    Args:
        required: bytes of the file.
        out: path of the file.
        content: names the content of the file in the message.
        hint: what the user can do about it.

    Raises:
        UnavailableError: the file requires more bytes than are free.
    """
    folder = _folder(out)
    disk = shutil.disk_usage(folder)
    if disk.total and required > disk.free:  # /proc and the like have no size
        raise UnavailableError(
            f"{content} needs {size(required)} of disk; {size(disk.free)} are free in {folder!r}: "
            f"{hint}"
        )


def size(count: float) -> str:
    """Return a number of bytes as people read it: `11.6 GB`, `2.05 PB`.

    >>> size(11.6e9), size(3e5), size(2.048e15)
    ('11.6 GB', '1 MB', '2.05 PB')
    """
    for unit, scale in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9)):
        if count >= scale:
            return f"{count / scale:,.3g} {unit}" if count < 1e18 else f"{count / scale:.1e} {unit}"
    return f"{max(1.0, count / 1e6):.0f} MB"


def free_memory() -> float:
    """Return the free memory, in bytes.

    This is what the system calls available, or the rest of a container's limit if that is less.
    """
    limits = [memory()[1], *(_container_available(*group) for group in _CGROUPS)]
    return min(limit for limit in limits if limit is not None)


def total_memory() -> int:
    """Return the total memory of this machine, or of the container, in bytes."""
    total = memory()[0]
    for folder, limit, _ in _CGROUPS:
        with contextlib.suppress(OSError, ValueError):  # "max" if there is no limit
            total = min(total, int(Path(folder, limit).read_text("ascii")))
    return total


def _container_available(folder: str, limit: str, usage: str) -> int | None:
    """Return the bytes that a container may still take, with its file cache, which can be dropped.

    None if the container has no limit.
    """
    root = Path(folder)
    with contextlib.suppress(OSError, ValueError):  # "max" if there is no limit
        free = int((root / limit).read_bytes()) - int((root / usage).read_bytes())
        lines = map(str.split, (root / "memory.stat").read_text("ascii").splitlines())
        return free + sum(int(n) for key, n in lines if key in ("active_file", "inactive_file"))
    return None


def _folder(out: str | os.PathLike[str]) -> str:
    """Return the existing folder nearest to the file `out`; that of temporary files for `-`."""
    path = os.fspath(out)
    if path == "-":
        import tempfile

        return tempfile.gettempdir()
    while not os.path.isdir(path):
        path = os.path.dirname(path) or "."
    return path
