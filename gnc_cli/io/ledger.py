"""Rows of a long run, one JSON object per line, each safe on disk before the next one begins.

A kill loses only the row being written: a line that was cut short is dropped by the next row. The
first row is written atomically, so that a file whose first line is not a whole row is none of ours.
Rows that replace those of a file are written to `FILE.part` beside it, which takes its name at the
end of the run. A run that fails or is killed before its first row leaves the file as it was.
"""

import contextlib
import json
import logging
import os
from collections.abc import Callable, Collection, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any, Generic, TypeVar

from gnc_cli.errors import DataError, OutputError
from gnc_cli.io.atomic import atomic_file, check_writable, unshare
from gnc_cli.runtime.deadline import begin_work
from gnc_cli.runtime.system import AS_STORED, lock

_Row = TypeVar("_Row")
_MOST_LINE = 1 << 26
"""Bytes; rows of results have thousands."""

_log = logging.getLogger(__name__)


class Ledger(contextlib.AbstractContextManager["Ledger[_Row]"], Generic[_Row]):
    """A file that only grows, held by one run at a time; a context that closes it.

    Opening it changes nothing in a file that is there: every line is read first. Other names of
    the file (hard links) keep the old rows.

    Args:
        path: the file, or None to keep nothing.
        read: makes a row of a line's JSON object; ValueError names the field that is wrong.
        first: the key that each line begins with, by which a line cut short is known as ours.
        options: must be equal for the rows of two runs to be in one file; kept in each row under
            `options`. None where the folder of the file says what its rows are of.
        resume: read the rows that are there and append to them; those of `FILE.part`, if a run
            was killed that would have replaced the file.
        force: replace an existing file, as soon as the run has ended with a row.

    Raises:
        OutputError: it exists with neither `force` nor `resume`, cannot be written, or belongs to
            another run at this moment.
        DataError: a line is no row, or was made with other options; names line and field.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        read: Callable[[dict[str, Any]], _Row],
        first: str,
        options: dict[str, Any] | None,
        *,
        resume: bool = False,
        force: bool = False,
    ) -> None:
        self._bare = options is None
        self.options: dict[str, Any] = json.loads(json.dumps(options or {}))
        self.rows: list[_Row] = []
        """The rows that were there."""
        self._read_row, self._head = read, b'{"%s"' % first.encode()
        self._ends: list[int] = []
        """Where the line of each row ends, in bytes."""
        self._file: int | None = None
        self._held = contextlib.ExitStack()
        self._fresh = False
        """Without a row, nothing of this run stays."""
        self._name = "" if path is None else os.fspath(path)
        if path is None:
            return
        begin_work()
        self._target = self._path = check_writable(path, force=force, resume=resume)
        part = check_writable(f"{self._target}.part", force=force, resume=resume, follow=False)
        there, apart = self._target.exists(), part.exists()
        if part.is_symlink() or (apart and self._is_foreign(part)):
            raise OutputError(
                f"{str(part)!r} is in the way, and was not begun by a run; move it, or name "
                "another file"
            )
        if resume:
            apart = apart and part.stat().st_size > 0
            if not (there or apart):
                _log.warning("%r does not exist yet; starting anew", self._name)
        with self._refusing(), self._held as held:
            # Neither resumed nor replaced: a file that another process has just made is its own.
            self._file = self._open(os.O_CREAT if resume or force else os.O_CREAT | os.O_EXCL)
            if apart or (there and not resume):
                self._path = part
                self._file = self._open(os.O_CREAT)
            if unshare(self._path):
                self._file = self._open()
            self._fresh = not resume
            if resume:
                self._read()
            self._held = held.pop_all()

    def append(self, row: dict[str, Any]) -> None:
        """Write a row, on disk when this returns.

        Raises:
            OutputError: the disk is full, say; the file holds the rows before.
        """
        if self._file is None:
            return
        row = row if self._bare else {**row, "options": self.options}
        line = (json.dumps(row, allow_nan=False) + "\n").encode()
        if not self._ends:
            self._rewrite([line])
            return
        before = self._cut()
        with self._refusing():
            os.lseek(self._file, before - 1, os.SEEK_SET)
            if os.read(self._file, 1) != b"\n":
                line = b"\n" + line
            try:
                written = 0
                while written < len(line):
                    written += os.write(self._file, line[written:])
                os.fsync(self._file)
            except OSError:
                os.ftruncate(self._file, before)
                raise
        self._ends.append(before + len(line))

    def keep(self, count: int) -> None:
        """Drop the rows after the first `count`."""
        del self.rows[count:], self._ends[count:]
        self._cut()

    def drop(self, numbers: Collection[int]) -> None:
        """Drop rows by their place from 0; a kill leaves all of them, or none.

        Raises:
            OutputError: the disk is full, say; all rows are there.
        """
        assert self._file is not None
        with self._refusing(), open(os.dup(self._file), "rb") as file:
            file.seek(0)
            spans = zip([0, *self._ends], self._ends, strict=False)
            lines = [file.read(end - begin).strip(b"\n") + b"\n" for begin, end in spans]
        kept = [line for number, line in enumerate(lines) if number not in numbers]
        if self._path != self._target:
            self.take_name()
        self._rewrite(kept)

    def take_name(self) -> None:
        """Replace the file by the rows that are here now; later ones are appended to it."""
        with self._refusing():
            self._cut()
            os.replace(self._path, self._target)
            self._path, self._fresh = self._target, False

    def close(self) -> None:
        """Release the file, with the new rows if there are any; closing twice does no harm."""
        with self._held, self._refusing():
            if self._ends and self._path != self._target:
                self.take_name()
            elif self._fresh and not self._ends:
                self._path.unlink(missing_ok=True)
        self._file, self._fresh = None, False

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _rewrite(self, lines: list[bytes]) -> None:
        """Replace the rows of the file by others in one step."""
        with self._refusing(), atomic_file(self._path, force=True) as file:
            file.write(b"".join(lines))
        self._ends, self._file = [*accumulate(map(len, lines))], self._open()

    def _is_foreign(self, part: Path) -> bool:
        """Whether it begins with anything but a whole row, made with whatever options."""
        with self._refusing(), open(part, "rb") as file:
            line = file.readline(_MOST_LINE)
        try:
            self._parse(line)
        except ValueError:
            return line != b""
        return not (line.startswith(self._head) and line.endswith(b"\n"))

    def _open(self, how: int = 0) -> int:
        """The file at `_path`, open and locked until this is closed."""
        file = os.open(self._path, os.O_RDWR | AS_STORED | how, 0o666)
        self._held.callback(os.close, file)
        try:
            lock(file)
            taken = not os.path.samestat(os.fstat(file), os.stat(self._path))
        except OSError as error:  # else a file system without locks
            taken = isinstance(error, (BlockingIOError, FileNotFoundError))
        if taken:
            raise OutputError(
                f"{self._name!r} is being written by another run; wait for it, or name another"
            )
        return file

    def _cut(self) -> int:
        """Drop what stands behind the last row; where that row ends."""
        assert self._file is not None
        end = self._ends[-1] if self._ends else 0
        os.ftruncate(self._file, end)
        return end

    def _read(self) -> None:
        assert self._file is not None
        end = 0
        with open(os.dup(self._file), "rb") as file:
            while line := file.readline(_MOST_LINE):
                end += len(line)
                known = line[: len(self._head)] == self._head[: len(line)]
                whole = line.endswith(b"\n") or len(line) == _MOST_LINE or _is_json(line)
                if known and not whole and self.rows:
                    return  # a row of ours that was cut short
                self.rows.append(self._row(len(self.rows) + 1, line))
                self._ends.append(end)

    def _row(self, number: int, line: bytes) -> _Row:
        """The row of a line."""
        try:
            row, made = self._parse(line)
        except ValueError as error:
            raise DataError(
                f"{self._name!r}, line {number}, {error}; name another file, or use --force to "
                "start anew"
            ) from error
        for key in sorted({*self.options, *made}):
            if made.get(key) != self.options.get(key):
                raise DataError(
                    f"{self._name!r}, line {number}, was made with {key} = {made.get(key)}, "
                    f"not {self.options.get(key)}; resume with equal options, or use --force "
                    "to start anew"
                )
        return row

    def _parse(self, line: bytes) -> tuple[_Row, dict[str, Any]]:
        """The row of a line and its options; ValueError says what is wrong."""
        row = json.loads(line) if _is_json(line) else None
        made = {} if self._bare or not isinstance(row, dict) else row.pop("options", None)
        if not isinstance(row, dict) or not isinstance(made, dict):
            raise ValueError("is no row of an earlier run")
        return self._read_row(row), made

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        """What the system refuses, as an OutputError."""
        try:
            yield
        except OutputError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise OutputError(
                f"cannot write {self._name!r}: {reason}; the rows before it are kept"
            ) from error


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
