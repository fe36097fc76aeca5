"""Rows of a long run, one JSON object per line, each safe on disk before the next one begins.

A kill loses only the row being written: the next row replaces an incomplete line. The first row is
written atomically, so that a file whose first line is not a whole row was not written here. Rows
that replace those of a file are written to `FILE.part` in its folder, which takes its name at the
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
_MAX_LINE_BYTES = 1 << 26
"""Longest line, in bytes, that is parsed; rows of results have thousands."""

_log = logging.getLogger(__name__)


class Ledger(contextlib.AbstractContextManager["Ledger[_Row]"], Generic[_Row]):
    """File that only grows, locked by one run at a time; a context that closes it.

    Opening changes nothing in an existing file: every line is read first. Other names of
    the file (hard links) keep the old rows.

    Args:
        path: the file, or None to store nothing.
        read: function that converts the JSON object of a line to a row; its ValueError names the
            wrong field.
        first_key: first key of each line, by which an incomplete line is recognised.
        options: options of the run, stored in each row under `options`, which must be equal for
            all rows of a file. None if the folder of the file determines them.
        resume: True to read the existing rows and append to them, or to those of `FILE.part` if a
            run was killed that would have replaced the file.
        force: True to replace an existing file as soon as the run has ended with a row.

    Raises:
        OutputError: the file exists with neither `force` nor `resume`, cannot be written, or is
            locked by another run.
        DataError: a line is not a row, or has other options; the message names line and field.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        read: Callable[[dict[str, Any]], _Row],
        first_key: str,
        options: dict[str, Any] | None,
        *,
        resume: bool = False,
        force: bool = False,
    ) -> None:
        self._stores_options = options is not None
        self.options: dict[str, Any] = json.loads(json.dumps(options or {}))
        self.rows: list[_Row] = []
        """Rows that the file had."""
        self._read_row, self._head = read, b'{"%s"' % first_key.encode()
        self._ends: list[int] = []
        """End of the line of each row, in bytes."""
        self._file: int | None = None
        self._resources = contextlib.ExitStack()
        self._fresh = False
        """True if the file is removed unless the run writes a row."""
        self._name = "" if path is None else os.fspath(path)
        if path is None:
            return
        begin_work()
        self._target = self._path = check_writable(path, force=force, resume=resume)
        part = check_writable(f"{self._target}.part", force=force, resume=resume, follow=False)
        target_exists, part_exists = self._target.exists(), part.exists()
        if part.is_symlink() or (part_exists and self._is_foreign(part)):
            raise OutputError(
                f"{str(part)!r} is in the way, and was not begun by a run; move it, or name "
                "another file"
            )
        if resume:
            part_exists = part_exists and part.stat().st_size > 0
            if not (target_exists or part_exists):
                _log.warning("%r does not exist yet; starting a new file", self._name)
        with self._refusing(), self._resources as resources:
            # Without resume and force, a file that another process has just created is not touched.
            self._file = self._open(os.O_CREAT if resume or force else os.O_CREAT | os.O_EXCL)
            if part_exists or (target_exists and not resume):
                self._path = part
                self._file = self._open(os.O_CREAT)
            if unshare(self._path):
                self._file = self._open()
            self._fresh = not resume
            if resume:
                self._read()
            self._resources = resources.pop_all()

    def append(self, row: dict[str, Any]) -> None:
        """Write a row, on disk when this returns.

        Raises:
            OutputError: the disk is full, for example; the file then has the earlier rows.
        """
        if self._file is None:
            return
        row = {**row, "options": self.options} if self._stores_options else row
        line = (json.dumps(row, allow_nan=False) + "\n").encode()
        if not self._ends:
            self._rewrite([line])
            return
        end = self._cut()
        with self._refusing():
            os.lseek(self._file, end - 1, os.SEEK_SET)
            if os.read(self._file, 1) != b"\n":
                line = b"\n" + line
            try:
                count = 0
                while count < len(line):
                    count += os.write(self._file, line[count:])
                os.fsync(self._file)
            except OSError:
                os.ftruncate(self._file, end)
                raise
        self._ends.append(end + len(line))

    def keep(self, count: int) -> None:
        """Drop the rows after the first `count`."""
        del self.rows[count:], self._ends[count:]
        self._cut()

    def drop(self, indices: Collection[int]) -> None:
        """Drop rows by their index from 0; a kill leaves all of them, or none.

        Raises:
            OutputError: the disk is full, for example; all rows are then kept.
        """
        assert self._file is not None
        with self._refusing(), open(os.dup(self._file), "rb") as file:
            file.seek(0)
            spans = zip([0, *self._ends], self._ends, strict=False)
            lines = [file.read(end - begin).strip(b"\n") + b"\n" for begin, end in spans]
        remaining = [line for index, line in enumerate(lines) if index not in indices]
        if self._path != self._target:
            self.take_name()
        self._rewrite(remaining)

    def take_name(self) -> None:
        """Replace the file with the current rows; later ones are appended to it."""
        with self._refusing():
            self._cut()
            os.replace(self._path, self._target)
            self._path, self._fresh = self._target, False

    def close(self) -> None:
        """Release the file, with the new rows if there are any; closing twice is allowed."""
        with self._resources, self._refusing():
            if self._ends and self._path != self._target:
                self.take_name()
            elif self._fresh and not self._ends:
                self._path.unlink(missing_ok=True)
        self._file, self._fresh = None, False

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _rewrite(self, lines: list[bytes]) -> None:
        """Replace all rows of the file in one step."""
        with self._refusing(), atomic_file(self._path, force=True) as file:
            file.write(b"".join(lines))
        self._ends, self._file = [*accumulate(map(len, lines))], self._open()

    def _is_foreign(self, part: Path) -> bool:
        """Return True unless the file is empty or begins with a whole row, of any options."""
        with self._refusing(), open(part, "rb") as file:
            line = file.readline(_MAX_LINE_BYTES)
        try:
            self._parse(line)
        except ValueError:
            return line != b""
        return not (line.startswith(self._head) and line.endswith(b"\n"))

    def _open(self, flags: int = 0) -> int:
        """Open and lock the file at `_path` until this ledger is closed."""
        file = os.open(self._path, os.O_RDWR | AS_STORED | flags, 0o666)
        self._resources.callback(os.close, file)
        try:
            lock(file)
            busy = not os.path.samestat(os.fstat(file), os.stat(self._path))
        except OSError as error:  # other errors: a file system without locks
            busy = isinstance(error, (BlockingIOError, FileNotFoundError))
        if busy:
            raise OutputError(
                f"{self._name!r} is being written by another run; wait for it, or name another"
            )
        return file

    def _cut(self) -> int:
        """Truncate the file after the last row and return its end, in bytes."""
        assert self._file is not None
        end = self._ends[-1] if self._ends else 0
        os.ftruncate(self._file, end)
        return end

    def _read(self) -> None:
        """Read the rows of the file, up to an incomplete last line."""
        assert self._file is not None
        end = 0
        with open(os.dup(self._file), "rb") as file:
            while line := file.readline(_MAX_LINE_BYTES):
                end += len(line)
                begins_as_row = line[: len(self._head)] == self._head[: len(line)]
                complete = line.endswith(b"\n") or len(line) == _MAX_LINE_BYTES or _parse_json(line)
                if begins_as_row and not complete and self.rows:
                    return  # an incomplete last row
                self.rows.append(self._row(len(self.rows) + 1, line))
                self._ends.append(end)

    def _row(self, number: int, line: bytes) -> _Row:
        """Return the row of a line, with errors that name the line."""
        try:
            row, options = self._parse(line)
        except ValueError as error:
            raise DataError(
                f"{self._name!r}, line {number}, {error}; name another file, or use --force to "
                "replace it"
            ) from error
        for key in sorted({*self.options, *options}):
            if options.get(key) != self.options.get(key):
                raise DataError(
                    f"{self._name!r}, line {number}, was made with {key} = {options.get(key)}, "
                    f"not {self.options.get(key)}; resume with equal options, or use --force "
                    "to replace it"
                )
        return row

    def _parse(self, line: bytes) -> tuple[_Row, dict[str, Any]]:
        """Return the row of a line and its options; raise ValueError for other lines."""
        row = _parse_json(line)
        options = row.pop("options", None) if self._stores_options and isinstance(row, dict) else {}
        if not isinstance(row, dict) or not isinstance(options, dict):
            raise ValueError("is not a row of an earlier run")
        return self._read_row(row), options

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        """Turn errors of the system into OutputError."""
        try:
            yield
        except OutputError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise OutputError(
                f"cannot write {self._name!r}: {reason}; the rows before it are kept"
            ) from error


def _parse_json(text: bytes) -> Any:
    """Parse a value of JSON; None if the text is not JSON, or null."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
