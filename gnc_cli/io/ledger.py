"""Rows of a long run, one JSON object per line, each safe on disk before the next one begins.

A kill loses only the row being written: a line that was cut short is dropped on resuming.
"""

import fcntl
import json
import os
from types import TracebackType
from typing import Any

from gnc_cli.errors import DataError, OutputError
from gnc_cli.io.atomic import check_writable


class Ledger:
    """A file that only grows, held by one run at a time; a context that closes it.

    Args:
        path: the file, or None to keep nothing.
        options: must be equal for the rows of two runs to be in one file; kept in each row under
            `options`. None where the folder of the file says what its rows are of.
        resume: read the rows that are there and append to them.
        force: replace an existing file.

    Raises:
        OutputError: it exists with neither `force` nor `resume`, cannot be written, or belongs to
            another run at this moment.
        DataError: a line is no row, or was made with other options.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        options: dict[str, Any] | None,
        *,
        resume: bool = False,
        force: bool = False,
    ) -> None:
        self._bare = options is None
        self.options: dict[str, Any] = json.loads(json.dumps(options or {}))
        self.rows: list[dict[str, Any]] = []
        """The rows that were there, without their options."""
        self._file: int | None = None
        self._name = "" if path is None else os.fspath(path)
        if path is None:
            return
        target = check_writable(path, force=force, resume=resume)
        try:
            self._file = os.open(target, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise OutputError(
                    f"{self._name!r} is being written by another run; wait for it, or name another"
                ) from error
            except OSError:
                pass  # a file system without locks
            if resume:
                self._read()
            else:
                os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_END)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError) and not isinstance(error, OutputError):
                raise self._refusal(error) from error
            raise

    def append(self, row: dict[str, Any]) -> None:
        """Write a row, on disk when this returns.

        Raises:
            OutputError: the disk is full, say; the file holds the rows before.
        """
        if self._file is None:
            return
        row = row if self._bare else {**row, "options": self.options}
        line = (json.dumps(row, allow_nan=False) + "\n").encode()
        before = os.lseek(self._file, 0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, before)
            raise self._refusal(error) from error

    def keep(self, count: int) -> None:
        """Drop the rows after the first `count`."""
        assert self._file is not None
        lines = self._bytes().splitlines(keepends=True)
        os.ftruncate(self._file, sum(map(len, lines[:count])))
        del self.rows[count:]

    def close(self) -> None:
        """Release the file; closing twice does no harm."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _read(self) -> None:
        assert self._file is not None
        data = self._bytes()
        end = data.rfind(b"\n") + 1
        for number, line in enumerate(data[:end].splitlines(), start=1):
            row = self._row(line)
            if row is None:
                raise self._foreign(number)
            made = {} if self._bare else row.pop("options")
            for key in sorted({*self.options, *made}):
                if made.get(key) != self.options.get(key):
                    raise DataError(
                        f"{self._name!r}, line {number}, was made with {key} = {made.get(key)}, "
                        f"not {self.options.get(key)}; resume with equal options, or use --force "
                        "to start anew"
                    )
            self.rows.append(row)
        if end < len(data):
            rest = data[end:]
            if not rest.startswith(b"{") or (_is_json(rest) and self._row(rest) is None):
                raise self._foreign(len(self.rows) + 1)  # not a row of ours that was cut short
            os.ftruncate(self._file, end)

    def _bytes(self) -> bytes:
        assert self._file is not None
        with open(os.dup(self._file), "rb") as file:
            file.seek(0)
            return file.read()

    def _row(self, line: bytes) -> dict[str, Any] | None:
        """The row of a line; None where it is none."""
        row = json.loads(line) if _is_json(line) else None
        whole = isinstance(row, dict) and (self._bare or isinstance(row.get("options"), dict))
        return row if whole else None

    def _foreign(self, number: int) -> DataError:
        return DataError(
            f"{self._name!r}, line {number}, is no row of an earlier run; "
            "name another file, or use --force to start anew"
        )

    def _refusal(self, error: OSError) -> OutputError:
        reason = error.strerror or str(error)
        return OutputError(f"cannot write {self._name!r}: {reason}; the rows before it are kept")


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
