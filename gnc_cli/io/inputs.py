"""Opening what the user named: a regular file, `FILE:key`, or `-` for stdin; texts; folders.

Nothing here is without end: devices and named pipes are refused, stdin, texts and JSON are bounded.
"""

import contextlib
import io
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import PurePath
from typing import IO, Any, BinaryIO

from gnc_cli.errors import DataError, UsageError
from gnc_cli.parameters import Lines
from gnc_cli.runtime.deadline import waiting
from gnc_cli.runtime.system import AT_ONCE

_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
_PIECE = 1 << 20
_MOST_JSON = 50_000_000
"""Bytes of JSON; as Python has it, they may take thirty times as many."""
_LONGEST_LINE = 10_000_000
"""Bytes of a line of numbers; as Python has its cells, they may take sixty times as many."""
GZIP_SIGNATURE = b"\x1f\x8b"
"""First bytes of what gzip has packed."""
HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""First bytes of HDF5, the only format of arrays that is read from stdin."""


def memory_limit() -> int:
    """Bytes that one dataset may take: half of this machine's memory, or of the container's."""
    from gnc_cli.runtime.memory import total_memory

    return total_memory() // 2


def most_unpacked(stored: int) -> int:
    """Return the most bytes that honest data of `stored` bytes in a file has, or a little more.

    Deflate can stand for a thousandfold, which is what a bomb of zeros does.
    """
    return 100 * stored + (64 << 20)


def excess(declared: int, stored: int) -> str | None:
    """Return why data of `stored` bytes in a file cannot have the bytes that it declares; None
    where it can. Every reader asks this before it unpacks anything.

    >>> excess(1 << 40, 1000)
    'declares 1,099,511,627,776 bytes, of which 1,000 are stored: more than is unpacked'
    """
    if declared <= most_unpacked(stored):
        return None
    return f"declares {declared:,} bytes, of which {stored:,} are stored: more than is unpacked"


def split_key(path: str) -> tuple[str, str | None]:
    """`FILE:key` into file and key; a file of that very name comes first. The key may have colons.

    >>> split_key("-:run/W"), split_key("code.h5"), split_key("model.h5:dense/kernel:0")
    (('-', 'run/W'), ('code.h5', None), ('model.h5', 'dense/kernel:0'))
    """
    names = [path[: colon.start()] for colon in re.finditer(":", path)]
    files = [name for name in names if name == "-" or os.path.exists(name)]
    files += [name for name in names if PurePath(name).suffix != ""]
    if not files or os.path.exists(path):
        return path, None
    name, key = files[0], path[len(files[0]) + 1 :]
    if not key:
        raise UsageError(f"{path!r} names no dataset after the colon; write {name}:KEY")
    return name, key


def short_name(path: str) -> str:
    """`FILE:key` without the folders before it.

    >>> short_name("runs/a/train.h5:final/H"), short_name("runs/a/")
    ('train.h5:final/H', 'a')
    """
    name, key = split_key(path)
    name = PurePath(name).name or name
    return name if key is None else f"{name}:{key}"


@contextlib.contextmanager
def open_input(path: str, begins: bytes = HDF5_SIGNATURE) -> Iterator[IO[bytes]]:
    """A binary file that can be positioned.

    Args:
        path: of a file; `-` for stdin.
        begins: what the first piece of stdin must have.

    `-` and the pipes that a shell opens, `<(...)`, are read to their end first.

    Raises:
        DataError: missing, a folder, a device or a named pipe, not readable, empty, or more from a
            pipe than fits in the memory.
        UsageError: `-` while stdin is a terminal.
    """
    if path == "-":
        if sys.stdin.isatty():
            raise UsageError("'-' reads stdin, which is a terminal; pipe a file into it")
        yield _not_empty(_read_stream(sys.stdin.buffer, path, begins), path)
        return
    try:
        piped = path.startswith(_DESCRIPTORS) and stat.S_ISFIFO(os.stat(path).st_mode)
        file = open(path, "rb") if piped else open_regular(path)  # noqa: SIM115
    except FileNotFoundError as error:
        raise DataError(f"no such file: {path!r}; check the name and the folder") from error
    except IsADirectoryError as error:
        raise DataError(f"{path!r} is a folder; name a file inside it") from error
    except DataError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"cannot read {path!r}: {reason}") from error
    with file:
        yield _not_empty(_read_stream(file, path, b"") if piped else file, path)


def open_regular(path: str) -> BinaryIO:
    """A regular file, open for reading; OSError, or a DataError for what may have no end."""
    # Without waiting: a named pipe may never have a writer.
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | AT_ONCE))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise DataError(f"{path!r} is a device or a pipe; write what it gives to a file")
    return file


def _read_stream(stream: IO[bytes], path: str, begins: bytes) -> IO[bytes]:
    """All of a stream in memory."""
    content, most = io.BytesIO(), memory_limit() // 4
    with waiting("the end of stdin" if path == "-" else f"the end of {path!r}"):
        while piece := stream.read(_PIECE):
            if not content.tell() and begins not in piece:
                raise DataError("'-' cannot be read as HDF5: it does not begin so; pipe HDF5 in")
            if content.tell() + len(piece) > most:
                raise DataError(
                    f"{path!r} gives more than {most / 1e9:.3g} GB, an eighth of this machine's "
                    "memory; write it to a file"
                )
            content.write(piece)
    content.seek(0)
    return content


def read_json(path: str, what: str) -> Any:
    """The value of a JSON file.

    Raises:
        DataError: it cannot be read, is no JSON, or very large; `what` says what was expected.
    """
    with open_input(path) as file:
        text = decoded(file, path, f"expected {what}", _MOST_JSON)
    try:
        return json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path!r} is not JSON ({error}); expected {what}") from error


def _integer(text: str) -> int:
    """A whole number of a JSON file, of the size of a float at most: beyond, none can be compared
    with any.
    """
    if len(text) > 310 or abs(int(text)) > sys.float_info.max:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def walk(root: str | os.PathLike[str]) -> Iterator[tuple[str, list[str]]]:
    """Each folder below `root` that is not hidden, and the names of its files."""
    for place, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield place, names


def read_lines(path: str | Lines) -> list[str]:
    """The lines of a UTF-8 text file, stripped; blank lines at the end are dropped."""
    if isinstance(path, Lines):
        return [*path.lines]
    with open_input(path) as file:
        text = decoded(file, path, "expected one name or label a line")
    return [line.strip() for line in text.rstrip().splitlines()]


def decoded(file: IO[bytes], path: str, advice: str, most: int = sys.maxsize) -> str:
    """The whole of a UTF-8 text file; the message about other bytes ends in `advice`.

    Raises:
        DataError: other bytes, or more than `most`, or than an eighth of the memory that a dataset
            may take.
    """
    return "".join(pieces(file, path, advice, min(most, memory_limit() // 8), -1))


def pieces(file: IO[bytes], path: str, advice: str, most: int, size: int = _PIECE) -> Iterator[str]:
    """The text of a UTF-8 file in pieces of about `size` bytes, each of whole lines.

    Raises:
        DataError: other bytes, more than `most`, or a line longer than `_LONGEST_LINE`.
    """
    total, start = file_size(file), 0
    if total > most:
        raise DataError(
            f"{path!r} has {total / 1e6:.6g} MB, more than the {most / 1e6:.6g} MB of text that "
            f"are read; {advice}"
        )
    while piece := file.read(size):
        line = file.readline(_LONGEST_LINE)
        if len(line) == _LONGEST_LINE:
            raise DataError(
                f"{path!r} has a line of {_LONGEST_LINE:,} bytes or more, behind byte "
                f"{start + len(piece)}; end each point with a line feed, or save a table as .npy"
            )
        try:
            text = (piece + line).decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path!r} is no text file (byte {start + error.start} is not UTF-8); {advice}"
            ) from error
        yield text if start else text.removeprefix("\ufeff")
        start += len(piece) + len(line)


def file_size(file: IO[bytes]) -> int:
    """Bytes of a file, which then stands at its beginning."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return size


def _not_empty(file: IO[bytes], path: str) -> IO[bytes]:
    if not file.read(1):
        name = "stdin" if path == "-" else repr(path)
        raise DataError(f"{name} is empty; was the command that made it cut short?")
    file.seek(0)
    return file
