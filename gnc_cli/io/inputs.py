"""Inputs of the user: a regular file, `FILE:key`, or `-` for stdin; texts; folders.

All reads are bounded: devices and named pipes are refused, stdin, texts and JSON have limits.
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
"""Prefixes of the paths that a shell gives to pipes."""
_PIECE_BYTES = 1 << 20
"""Number of bytes read at a time."""
_MAX_JSON_BYTES = 50_000_000
"""Largest JSON file, in bytes, whose Python objects may take thirty times its size."""
_MAX_LINE_BYTES = 10_000_000
"""Longest line of numbers, in bytes, whose Python cells may take sixty times its length."""
GZIP_SIGNATURE = b"\x1f\x8b"
"""First bytes of a gzip file."""
HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""First bytes of HDF5, the only format of arrays that is read from stdin."""


def memory_limit() -> int:
    """Return the bytes that one dataset may take, half the memory of the machine or container."""
    from gnc_cli.runtime.memory import total_memory

    return total_memory() // 2


def max_unpacked_bytes(stored: int) -> int:
    """Return the largest number of bytes to which `stored` bytes are unpacked.

    Real data are smaller. Deflate can unpack to a thousand times the size, as in a bomb of zeros.
    """
    return 100 * stored + (64 << 20)


def excess(declared: int, stored: int) -> str | None:
    """Return why `stored` bytes of a file cannot unpack to the declared bytes; None if they can.

    Every reader checks this before it unpacks anything.

    >>> excess(1 << 40, 1000)
    'declares 1,099,511,627,776 bytes, of which 1,000 are stored: more than is unpacked'
    """
    if declared <= max_unpacked_bytes(stored):
        return None
    return f"declares {declared:,} bytes, of which {stored:,} are stored: more than is unpacked"


def split_key(path: str) -> tuple[str, str | None]:
    """Split `FILE:key` into file and key; a file of the whole name takes precedence.

    The key may have colons.

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
    """Return `FILE:key` without its folders.

    >>> short_name("runs/a/train.h5:final/H"), short_name("runs/a/")
    ('train.h5:final/H', 'a')
    """
    name, key = split_key(path)
    name = PurePath(name).name or name
    return name if key is None else f"{name}:{key}"


@contextlib.contextmanager
def open_input(path: str, signature: bytes = HDF5_SIGNATURE) -> Iterator[IO[bytes]]:
    """Open a binary file that can be positioned.

    `-` and the pipes that a shell opens, `<(...)`, are read to their end first.

    Args:
        path: name of a file; `-` for stdin.
        signature: bytes that the first piece of stdin must contain.

    Raises:
        DataError: missing, a folder, a device or a named pipe, not readable, empty, or more from a
            pipe than fits in the memory.
        UsageError: `-` while stdin is a terminal.
    """
    if path == "-":
        if sys.stdin.isatty():
            raise UsageError("'-' reads stdin, which is a terminal; pipe a file into it")
        yield _not_empty(_read_stream(sys.stdin.buffer, path, signature), path)
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
    """Open a regular file for reading.

    Raises:
        OSError: it cannot be opened.
        DataError: it is a device or a pipe, which may have no end.
    """
    # Do not wait: a named pipe may never have a writer.
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | AT_ONCE))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise DataError(f"{path!r} is a device or a pipe; write its output to a file")
    return file


def _read_stream(stream: IO[bytes], path: str, signature: bytes) -> IO[bytes]:
    """Read a stream into memory, if its first piece contains the signature."""
    content, limit = io.BytesIO(), memory_limit() // 4
    with waiting("the end of stdin" if path == "-" else f"the end of {path!r}"):
        while piece := stream.read(_PIECE_BYTES):
            if not content.tell() and signature not in piece:
                raise DataError("'-' cannot be read as HDF5: it does not begin so; pipe HDF5 in")
            if content.tell() + len(piece) > limit:
                raise DataError(
                    f"{path!r} gives more than {limit / 1e9:.3g} GB, an eighth of this machine's "
                    "memory; write it to a file"
                )
            content.write(piece)
    content.seek(0)
    return content


def read_json(path: str, description: str) -> Any:
    """Read the value of a JSON file.

    Raises:
        DataError: it cannot be read, is not JSON, or is very large; `description` says what was
            expected.
    """
    with open_input(path) as file:
        text = decoded(file, path, f"expected {description}", _MAX_JSON_BYTES)
    try:
        return json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path!r} is not JSON ({error}); expected {description}") from error


def _integer(text: str) -> int:
    """Parse a whole number of a JSON file within the range of float64.

    Larger ones cannot be compared with floats.
    """
    # 310: a sign and the digits of the largest float64; longer texts are slow to convert.
    if len(text) > 310 or abs(int(text)) > sys.float_info.max:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def walk(root: str | os.PathLike[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each folder below `root` that is not hidden, and the names of its files."""
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        yield folder, names


def read_lines(path: str | Lines) -> list[str]:
    """Read the stripped lines of a UTF-8 text file, without blank lines at the end."""
    if isinstance(path, Lines):
        return [*path.lines]
    with open_input(path) as file:
        text = decoded(file, path, "expected one name or label per line")
    return [line.strip() for line in text.rstrip().splitlines()]


def decoded(file: IO[bytes], path: str, advice: str, limit: int = sys.maxsize) -> str:
    """Read a whole UTF-8 text file; error messages end in `advice`.

    Raises:
        DataError: it is not UTF-8, or has more bytes than `limit` or than an eighth of the memory
            that a dataset may take.
    """
    return "".join(pieces(file, path, advice, min(limit, memory_limit() // 8), -1))


def pieces(
    file: IO[bytes], path: str, advice: str, limit: int, size: int = _PIECE_BYTES
) -> Iterator[str]:
    """Yield the text of a UTF-8 file in pieces of about `size` bytes, each of whole lines.

    Raises:
        DataError: it is not UTF-8, has more bytes than `limit`, or a line longer than
            `_MAX_LINE_BYTES`.
    """
    total, start = file_size(file), 0
    if total > limit:
        raise DataError(
            f"{path!r} has {total / 1e6:.6g} MB, more than the {limit / 1e6:.6g} MB of text that "
            f"are read; {advice}"
        )
    while piece := file.read(size):
        line = file.readline(_MAX_LINE_BYTES)
        if len(line) == _MAX_LINE_BYTES:
            raise DataError(
                f"{path!r} has a line of {_MAX_LINE_BYTES:,} bytes or more, after byte "
                f"{start + len(piece)}; end each point with a line feed, or save a table as .npy"
            )
        try:
            text = (piece + line).decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path!r} is not a text file (byte {start + error.start} is not UTF-8); {advice}"
            ) from error
        yield text if start else text.removeprefix("\ufeff")
        start += len(piece) + len(line)


def file_size(file: IO[bytes]) -> int:
    """Return the size of a file in bytes, and move to its beginning."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return size


def _not_empty(file: IO[bytes], path: str) -> IO[bytes]:
    if not file.read(1):
        name = "stdin" if path == "-" else repr(path)
        raise DataError(f"{name} is empty; was the command that made it cut short?")
    file.seek(0)
    return file
