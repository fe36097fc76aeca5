"""Atomic writes: a reader sees the old file or the new one, never a part of either.

Also binary data on stdout, and a file object for libraries that cannot handle a failed write.
"""

import contextlib
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from gnc_cli.errors import OutputError
from gnc_cli.parameters import check_current_folder
from gnc_cli.runtime.system import AS_STORED

TEMPORARY = ".gnc-"
"""Prefix of the names of temporary files."""
_PIECE_BYTES = 1 << 20
"""Number of bytes written to stdout at once."""


@contextlib.contextmanager
def atomic_file(
    path: str | os.PathLike[str], *, force: bool, follow: bool = True
) -> Iterator[IO[bytes]]:
    """Open a binary file for reading and writing that becomes `path` if the block ends well.

    The bytes go to a temporary file in the same folder, reach the disk (fsync), and take the
    target's name in one step: with `force` by renaming, without it by a link, which never replaces
    a file that another process created meanwhile. If the block raises, or the process is killed,
    `path` is unchanged; a killed process leaves its temporary file, `.gnc-*.tmp`. Permissions are
    those of a new file (the umask's).

    Args:
        path: the target.
        force: True to replace an existing file.
        follow: True to replace the file that a symbolic link points to, False to replace the link.

    Raises:
        OutputError: the target exists without `force`, cannot be written, or the disk is full.
    """
    target = check_writable(path, force=force, follow=follow)
    # Not the name of `target` plus a suffix, so that a long one stays legal.
    temporary = target.with_name(f"{TEMPORARY}{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | AS_STORED, 0o666)
    except OSError as error:
        raise _refusal(path, error) from error
    file = os.fdopen(descriptor, "w+b")
    try:
        yield file
        file.flush()
        os.fsync(file.fileno())
        file.close()
        if not force:
            _claim(temporary, target)
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            file.close()
        if isinstance(error, FileExistsError):
            raise _exists(path) from error
        if isinstance(error, OSError) and not isinstance(error, OutputError):
            raise _refusal(path, error) from error
        raise
    finally:
        # Renaming one name of a file to another of its names does nothing, and leaves both.
        with contextlib.suppress(OSError):
            temporary.unlink()
    _sync_folder(target.parent)


def _claim(temporary: Path, target: Path) -> None:
    """Make `target` a name of the file, or of an empty one; raise FileExistsError if it exists."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL))


def check_writable(
    path: str | os.PathLike[str], *, force: bool, resume: bool = False, follow: bool = True
) -> Path:
    """Return the file that writing to `path` would create, checked without touching it.

    Args:
        path: the target.
        force: True if an existing file may be replaced.
        resume: True if the work continues with an existing file, which may be replaced.
        follow: True for the file that a symbolic link points to, False for the link itself, which
            counts as an existing file.

    Raises:
        OutputError: the folder is missing or not writable, the target is a folder or a device, it
            exists with neither `force` nor `resume`, or the current folder was deleted.
    """
    check_current_folder(path)
    try:
        # os.stat, not Path.exists: the latter hides a name that is too long or a loop of links.
        if follow:
            target = Path(os.path.realpath(path))
        else:
            target = Path(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        mode = os.stat(target, follow_symlinks=follow).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    except (OSError, ValueError) as error:
        raise _refusal(path, error) from error
    folder = target.parent
    if not folder.is_dir():
        raise OutputError(f"cannot write {str(path)!r}: no folder {str(folder)!r}; make it first")
    if mode is not None and stat.S_ISDIR(mode):
        raise OutputError(f"cannot write {str(path)!r}: it is a folder; name a file inside it")
    if mode is not None and not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise OutputError(f"cannot write {str(path)!r}: it is a device or a pipe; name a file")
    if mode is not None and not (force or resume):
        raise _exists(path)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(
            f"cannot write {str(path)!r}: folder {str(folder)!r} is not writable; choose another"
        )
    return target


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it.

    Raises:
        OutputError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot make folder {str(folder)!r}: {error.strerror}; choose another place"
        ) from error


def write_text(path: str, text: str, *, force: bool = False) -> None:
    """Write `text` as UTF-8, atomically; see `atomic_file`."""
    with atomic_file(path, force=force) as file:
        file.write(text.encode())


def unshare(path: Path) -> bool:
    """Replace a file that has other names (hard links) with a copy; these keep the old content.

    Returns:
        True if it had other names.
    """
    if not path.is_file() or path.stat().st_nlink == 1:
        return False
    with open(path, "rb") as old, atomic_file(path, force=True) as new:
        shutil.copyfileobj(old, new)
    return True


@contextlib.contextmanager
def deferring_errors(file: IO[bytes]) -> Iterator[Any]:
    """Wrap `file` so that its first OSError is raised only after the block has ended.

    HDF5 and PyTorch cannot recover from a full disk: they fail again on closing, with errors of
    their own, and HDF5 once more at exit. So for the library every write succeeds, and the caller
    gets the error and discards the file. Long writes check `.error` between their pieces.
    """
    sink = _Sink(file)
    try:
        yield sink
    finally:
        # Also if the library raised another error because of it.
        if sink.error is not None:
            raise sink.error


def write_stdout(file: IO[bytes]) -> None:
    """Copy `file`, from its beginning, to stdout; raise OutputError if the pipe is closed."""
    file.seek(0)
    try:
        while piece := file.read(_PIECE_BYTES):
            while piece:  # an unbuffered stdout (python -u) may take a part at a time
                piece = piece[sys.stdout.buffer.write(piece) :]
        sys.stdout.buffer.flush()
    except OSError as error:
        # Python flushes stdout once more at exit, and would report the remaining bytes as an error.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputError(
            f"cannot write to stdout: {error.strerror}; is the pipe closed?"
        ) from error


def _exists(path: str | os.PathLike[str]) -> OutputError:
    return OutputError(f"{os.fspath(path)!r} exists; add --force to replace it")


def _refusal(path: str | os.PathLike[str], error: OSError | ValueError) -> OutputError:
    reason = getattr(error, "strerror", None) or str(error)
    return OutputError(
        f"cannot write {os.fspath(path)!r}: {reason}; nothing was changed, choose another place"
    )


def _sync_folder(folder: Path) -> None:
    # The rename must survive a power cut, too. File systems that cannot do this raise an error; the
    # bytes of the file are on the disk in any case.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _Sink:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._file, name)

        def call(*args: Any) -> Any:
            if self.error is None:
                try:
                    return method(*args)
                except OSError as error:
                    self.error = error
            return len(args[0]) if name in ("write", "readinto") else 0

        return call
