"""Where a run is kept: a folder of its own, held by one process; and texts without such places."""

import errno
import fcntl
import json
import os
import re
from pathlib import Path
from typing import Any

from gnc_cli.errors import OutputError
from gnc_cli.io.codefile import creation_time, provenance_text

__all__ = ["dated_folder", "held", "made", "no_link", "portable"]

# Of `folder:/home/ada/tiny`, but not of a URL.
_SCHEME = re.compile(r"(?<!\S)([A-Za-z]\w*:)/(?!/)(?:[^\s/]+/)*(?=[^\s/])")


def no_link(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file of a run, which may be somebody else's folder: a symbolic link is not followed.

    Serves `open` as its `opener`.

    Raises:
        OutputError: the file is a symbolic link.
        OSError: it cannot be opened.
    """
    try:
        return os.open(path, flags | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise OutputError(
            f"{os.fspath(path)!r} is a symbolic link, and gnc train follows none in a run folder; "
            "put the file itself there, or name another folder"
        ) from error


def held(path: Path) -> int:
    """A file, open for adding lines and locked until it is closed.

    Raises:
        OutputError: it cannot be written, or another run has it.
    """
    try:
        descriptor = no_link(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(
            f"cannot write {str(path)!r}: {error.strerror}; choose another place"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise OutputError(
            f"{str(path.parent)!r} is being written by another run; wait for it, or name a folder"
        ) from error
    except OSError:
        pass  # a file system without locks
    return descriptor


def dated_folder(label: str) -> Path:
    """A new folder `runs/2026-11-21-1530-LABEL`, by UTC, with a number where that is taken.

    Raises:
        OutputError: it cannot be made.
    """
    stamp = creation_time()  # 2026-11-21T15:30:00Z
    said = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.")
    name = f"{stamp[:10]}-{stamp[11:13]}{stamp[14:16]}" + (f"-{said}" if said else "")
    number = 1
    while True:
        folder = Path("runs") / (name if number == 1 else f"{name}-{number}")
        try:
            made(folder, new=True)
            return folder
        except FileExistsError:
            number += 1


def made(folder: Path, *, new: bool = False) -> None:
    """Make a folder, and those above it.

    Raises:
        FileExistsError: it is there, and must be `new`.
        OutputError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=not new)
    except OSError as error:
        if new and isinstance(error, FileExistsError) and folder.exists():
            raise
        raise OutputError(
            f"cannot make folder {str(folder)!r}: {error.strerror}; choose another place"
        ) from error


def portable(value: Any) -> Any:
    """`value` as JSON has it, absolute paths cut down to their last part.

    >>> portable({"data": "folder:/home/ada/tiny", "out": "/tmp/run", "url": "https://a.b/c"})
    {'data': 'folder:tiny', 'out': 'run', 'url': 'https://a.b/c'}
    """
    if isinstance(value, dict):
        return {str(key): portable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [portable(item) for item in value]
    cut = json.loads(provenance_text({"": value}))[""]
    return _SCHEME.sub(r"\1", cut) if isinstance(cut, str) else cut
