"""Opening what the user named: a file, `FILE:key`, a pipe, or `-` for stdin; short text files."""

import contextlib
import io
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import PurePath
from typing import IO

from gnc_cli.errors import DataError, UsageError


def split_key(path: str) -> tuple[str, str | None]:
    """`FILE:key` into file and key; a file of that very name comes first.

    >>> split_key("-:run/W"), split_key("code.h5")
    (('-', 'run/W'), ('code.h5', None))
    """
    name, colon, key = path.rpartition(":")
    named = name == "-" or os.path.exists(name) or PurePath(name).suffix != ""
    if not colon or not named or os.path.exists(path):
        return path, None
    if not key:
        raise UsageError(f"{path!r} names no dataset after the colon; write {name}:KEY")
    return name, key


def short_name(path: str) -> str:
    """`FILE:key` without the folders before it.

    >>> short_name("runs/a/train.h5:final/H"), short_name("runs/a/")
    ('train.h5:final/H', 'a')
    """
    name, key = split_key(path)
    name = os.path.basename(name.rstrip("/")) or name
    return name if key is None else f"{name}:{key}"


@contextlib.contextmanager
def open_input(path: str) -> Iterator[IO[bytes]]:
    """A binary file that can be positioned; `-`, pipes and devices are read to their end first.

    Raises:
        DataError: missing, a folder, not readable, empty.
        UsageError: `-` while stdin is a terminal.
    """
    if path == "-":
        if sys.stdin.isatty():
            raise UsageError("'-' reads HDF5 from stdin, which is a terminal; pipe a file into it")
        with io.BytesIO(sys.stdin.buffer.read()) as stream:
            yield _not_empty(stream, path)
        return
    try:
        file: IO[bytes] = open(path, "rb")
    except FileNotFoundError as error:
        raise DataError(f"no such file: {path!r}; check the name and the folder") from error
    except IsADirectoryError as error:
        raise DataError(f"{path!r} is a folder; name a file inside it") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"cannot read {path!r}: {reason}") from error
    with file:
        regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        yield _not_empty(file if regular else io.BytesIO(file.read()), path)


def read_lines(path: str) -> list[str]:
    """The lines of a UTF-8 text file, stripped; blank lines at the end are dropped."""
    with open_input(path) as file:
        text = decoded(file, path, "expected one name or label a line")
    return [line.strip() for line in text.rstrip().splitlines()]


def decoded(file: IO[bytes], path: str, advice: str) -> str:
    """The whole of a UTF-8 text file; the message about other bytes ends in `advice`."""
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path!r} is no text file (byte {error.start} is not UTF-8); {advice}"
        ) from error


def _not_empty(file: IO[bytes], path: str) -> IO[bytes]:
    if not file.read(1):
        what = "stdin is" if path == "-" else f"{path!r} is"
        raise DataError(f"{what} empty; was the command that made it cut short?")
    file.seek(0)
    return file
