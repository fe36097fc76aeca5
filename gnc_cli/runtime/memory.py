"""Memory and disk: how much is free, and the refusal of work that cannot fit."""

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
"""Where a container's limit and use stand, in version 2 and 1, beside `memory.stat`."""


def check_memory(
    needed: float,
    what: str,
    hint: str,
    *,
    free: float | None = None,
    where: str = "this machine",
) -> None:
    """Refuse work that cannot fit, before it begins.

    Args:
        needed: bytes, an upper estimate of two or three terms.
        what: names the work in the message, as `a search for K=50 points in d=5`.
        hint: what to do about it.
        free: bytes that there are on `where`; None for those of this machine.

    Raises:
        UnavailableError: more is needed than there is.
    """
    free = free_memory() if free is None else free
    if needed > free:
        raise UnavailableError(
            f"{what} needs {size(needed)} of memory; {size(free)} are free on {where}: {hint}"
        )


def check_disk(needed: float, out: str | os.PathLike[str], what: str, hint: str) -> None:
    """Refuse a file that its disk cannot hold, before it is written.

    Raises:
        UnavailableError: more bytes are needed than are free.
    """
    folder = _folder(out)
    disk = shutil.disk_usage(folder)
    if disk.total and needed > disk.free:  # /proc and the like have no size
        raise UnavailableError(
            f"{what} needs {size(needed)} of disk; {size(disk.free)} are free in {folder!r}: {hint}"
        )


def size(count: float) -> str:
    """Bytes as people read them: `11.6 GB`, `2.05 PB`.

    >>> size(11.6e9), size(3e5), size(2.048e15)
    ('11.6 GB', '1 MB', '2.05 PB')
    """
    for unit, scale in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9)):
        if count >= scale:
            return f"{count / scale:,.3g} {unit}" if count < 1e18 else f"{count / scale:.1e} {unit}"
    return f"{max(1.0, count / 1e6):.0f} MB"


def free_memory() -> float:
    """Memory that can still be had, in bytes.

    What the system calls available, or less where the limit of a container is nearer.
    """
    limits = [memory()[1], *(_container_available(*group) for group in _CGROUPS)]
    return min(limit for limit in limits if limit is not None)


def total_memory() -> int:
    """All memory of this machine, or of the container."""
    total = memory()[0]
    for folder, limit, _ in _CGROUPS:
        with contextlib.suppress(OSError, ValueError):  # "max" where there is no limit
            total = min(total, int(Path(folder, limit).read_text("ascii")))
    return total


def _container_available(folder: str, limit: str, used: str) -> int | None:
    """What a container may still take; its file cache can be dropped, so that it counts as free."""
    root = Path(folder)
    with contextlib.suppress(OSError, ValueError):  # "max" where there is no limit
        left = int((root / limit).read_bytes()) - int((root / used).read_bytes())
        lines = map(str.split, (root / "memory.stat").read_text("ascii").splitlines())
        return left + sum(int(n) for key, n in lines if key in ("active_file", "inactive_file"))
    return None


def _folder(out: str | os.PathLike[str]) -> str:
    """The folder that exists already where `out` is written; that of temporary files for `-`."""
    path = os.fspath(out)
    if path == "-":
        import tempfile

        return tempfile.gettempdir()
    while not os.path.isdir(path):
        path = os.path.dirname(path) or "."
    return path
