"""metrics.jsonl of a run: an epoch a line, each on disk before the next one begins.

A kill can cut the last line short; opening drops it. Lines stand in the order of their epochs.
"""

import json
import os
from pathlib import Path
from typing import Any

from gnc_cli.errors import DataError, OutputError
from gnc_cli.io.run_places import no_link
from gnc_cli.results import plain

__all__ = ["EpochLines"]


class EpochLines:
    """A file of rows that have a whole number `epoch`, which increases from line to line.

    Args:
        path: the file; made where missing, mended where its last line is torn.

    Raises:
        DataError: a line is no row of an epoch; named by its number.
        OutputError: the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = str(path)
        self._ends: list[tuple[int, int]] = []
        """Epoch of each line, and the byte after it."""
        try:
            data = path.read_bytes() if path.exists() else b""
        except OSError as error:
            raise self._refusal(error) from error
        at = 0
        for number, line in enumerate(data.splitlines(keepends=True), start=1):
            row = _row(line)
            if row is None and at + len(line) < len(data):
                raise DataError(
                    f"{self._name!r}, line {number}, is no epoch of a run; remove that line, or "
                    "start anew with --force"
                )
            if row is None or not line.endswith(b"\n"):
                break
            at += len(line)
            self._ends.append((row["epoch"], at))
        self._cut(at)

    def add(self, row: dict[str, Any]) -> None:
        """Write a row, on disk when this returns; rows of its epoch and later ones go first.

        Numbers that are not finite become null.

        Raises:
            OutputError: the disk is full, say; the earlier epochs are kept.
        """
        self.truncate(row["epoch"] - 1)
        line = (json.dumps(plain(row), allow_nan=False) + "\n").encode()
        end = self._end()
        try:
            with open(self._path, "r+b", opener=no_link) as file:
                file.seek(end)
                try:
                    file.write(line)
                    file.flush()
                except OSError:
                    os.ftruncate(file.fileno(), end)
                    raise
                os.fsync(file.fileno())
        except OSError as error:
            raise self._refusal(error) from error
        self._ends.append((row["epoch"], end + len(line)))

    def truncate(self, after: int) -> None:
        """Drop the rows of epochs above `after`.

        Raises:
            OutputError: the file cannot be written.
        """
        kept = [pair for pair in self._ends if pair[0] <= after]
        if len(kept) < len(self._ends):
            self._ends = kept
            self._cut(self._end())

    def read(self) -> list[dict[str, Any]]:
        """All rows, by epoch."""
        lines = self._path.read_bytes()[: self._end()].splitlines()
        return [json.loads(line) for line in lines]

    def _end(self) -> int:
        return self._ends[-1][1] if self._ends else 0

    def _cut(self, size: int) -> None:
        try:
            with open(self._path, "ab", opener=no_link) as file:
                if file.seek(0, os.SEEK_END) > size:
                    file.truncate(size)
        except OSError as error:
            raise self._refusal(error) from error

    def _refusal(self, error: OSError) -> OutputError:
        if isinstance(error, OutputError):
            return error
        reason = error.strerror or str(error)
        return OutputError(
            f"cannot write {self._name!r}: {reason}; the epochs before are kept, free the disk "
            "and go on with --resume"
        )


def _row(line: bytes) -> dict[str, Any] | None:
    """The row of a line; None where it is none."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and type(row.get("epoch")) is int else None
