"""The process around a command: its standard streams, its limits, what the system refuses."""

import errno
import os
import sys
from io import TextIOBase, TextIOWrapper
from typing import Any

from gnc_cli.errors import GncError, OutputError, UnavailableError
from gnc_cli.runtime.memory import lacking_memory

_LEAST_SPACE = 640_000_000
"""Bytes of address space; with less, OpenBLAS waits for ever while it is loaded."""
_FULL = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.EROFS,
    errno.EBADF,
    errno.EPIPE,
)
_LOST = ("gloo/transport", "NCCL")
"""Of torch, where the other side of a connection is gone."""


def check_surroundings() -> None:
    """Refuse a process in which no command can work.

    Raises:
        UnavailableError: its address space is too small.
    """
    import resource

    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    if space not in (-1, resource.RLIM_INFINITY) and space < _LEAST_SPACE:
        raise UnavailableError(
            f"this process may have {space / 1e6:.0f} MB of address space (ulimit -v), and needs "
            f"{_LEAST_SPACE / 1e6:.0f} MB or more; raise the limit"
        )


def open_streams() -> None:
    """Put something in the place of closed standard streams, so that no file opened later takes it.

    A closed stdin is empty; a closed stdout refuses what is written; a closed stderr swallows it.
    Letters that the encoding of stdout lacks are shown as `?`.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # the lowest free number is the next one given
            os.open(os.devnull, os.O_RDWR if number == 2 else os.O_RDONLY)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)
    if sys.stdout is None:
        sys.stdout = _Closed()
    elif isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)


class _Closed(TextIOBase):
    """A stdout that is closed."""

    encoding = "utf-8"

    @property
    def buffer(self) -> "_Closed":
        return self

    def fileno(self) -> int:
        return 1

    def write(self, text: Any) -> int:
        raise OSError(errno.EBADF, "it is closed; use --out or --report")


def refusal(error: Exception) -> GncError | None:
    """What the system refused, as an error of one line; None where `error` is a bug.

    Files that the user named have messages of their own; here is the rest: the libraries' files,
    threads, memory, and stdout while a help text is printed.
    """
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        import resource

        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return UnavailableError(f"{most} open files are not enough; raise the limit (ulimit -n)")
    if isinstance(error, OSError) and error.errno == errno.EAGAIN:
        return UnavailableError(
            "no further process may start; raise the limit (ulimit -u), or give --workers 1"
        )
    if (lacking := lacking_memory(error, ("K", "d", "restarts"))) is not None:
        return lacking
    text = str(error)
    if isinstance(error, RuntimeError) and any(words in text for words in _LOST):
        return UnavailableError(
            "another process of this run has ended, or cannot be reached; see what it said, and "
            "start all of them again, gnc train with --resume"
        )
    if isinstance(error, OSError) and error.errno in _FULL:
        name = "to stdout" if error.filename is None else repr(error.filename)
        return OutputError(f"cannot write {name}: {error.strerror}")
    if isinstance(error, FileNotFoundError) and "No usable temporary directory" in text:
        return OutputError("no folder for temporary files can be written to; set TMPDIR to one")
    return None
