"""Rows of a file, block by block: one dataset, or the datasets of several files one after another.

Structurally `numerics.rows.Rows`, so that metrics stream from files that exceed the memory.
"""

import threading
from collections.abc import Sequence

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue, check_entry, checked, translated

__all__ = ["ConcatenatedRows", "FileRows"]

_SMALL = 2
"""Bytes of the integers that float32 holds exactly."""


class FileRows:
    """A matrix of an open file.

    Args:
        catalogue: of the file, which stays open.
        name: the dataset.
        least: the smallest number of columns that makes sense.

    Raises:
        DataError: no matrix of real numbers, or its claims are not to be believed.
    """

    def __init__(self, catalogue: Catalogue, name: str, least: int = 2) -> None:
        if name not in catalogue.entries:
            raise DataError(f"{catalogue.path!r} has no dataset {name!r}; it holds {catalogue}")
        entry = checked(catalogue, name, whole=False)
        self.where = catalogue.where(name)
        if len(entry.shape) != 2:
            raise DataError(f"{self.where} has shape {entry.shape}; expected a matrix")
        if entry.shape[0] < 1 or entry.shape[1] < least:
            raise DataError(
                f"{self.where} has shape {entry.shape}; expected at least 1 row and {least} columns"
            )
        if entry.read is None:
            check_entry(entry, self.where)  # it will be loaded whole
        self.shape = (int(entry.shape[0]), int(entry.shape[1]))
        self.dtype = _read_as(entry.dtype)
        self.step = max(1, min(entry.step, self.shape[0]))
        self._entry, self._path = entry, catalogue.path
        self._what = f"a dataset {name!r} of shape {entry.shape} {entry.dtype}"
        self._whole: np.ndarray | None = None
        self._lock = threading.Lock()

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows start to stop, shape (stop - start, d), native byte order; any thread.

        bfloat16 reads as float32, integers as floating-point numbers that hold them.

        Raises:
            DataError: the file fails.
        """
        if start >= stop:
            return np.empty((0, self.shape[1]), self.dtype)
        with translated(self._path, self._what):
            read = self._entry.read
            rows = self._load()[start:stop] if read is None else read(start, stop)
            if rows.shape != (stop - start, self.shape[1]):
                raise ValueError(f"rows {start} to {stop} came back as {rows.shape}")
            with np.errstate(over="ignore", invalid="ignore"):  # NaN is for those who count it
                return rows.astype(self.dtype, copy=False)

    def _load(self) -> np.ndarray:
        with self._lock:
            if self._whole is None:
                whole = self._entry.load()
                if whole.shape != self.shape:
                    raise ValueError(f"it came back as {whole.shape}")
                self._whole = whole
            return self._whole


class ConcatenatedRows:
    """Matrices of equal width, one below the other.

    Raises:
        DataError: the widths differ; names the files.
    """

    def __init__(self, parts: Sequence[FileRows]) -> None:
        first = parts[0]
        for part in parts[1:]:
            if part.shape[1] != first.shape[1]:
                raise DataError(
                    f"{part.where} has shape {part.shape}, but {first.where} has {first.shape}; "
                    "shards must have equally many columns"
                )
        self._parts = list(parts)
        self._ends = np.cumsum([part.shape[0] for part in parts])
        self.shape = (int(self._ends[-1]), first.shape[1])
        self.dtype = np.result_type(*(part.dtype for part in parts))
        self.step = max(part.step for part in parts)
        more = len(parts) - 1
        self.where = first.where + (f" and {more} more file(s)" if more else "")

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows start to stop, counted through all parts; any thread.

        Raises:
            DataError: a file fails.
        """
        pieces = []
        k = int(np.searchsorted(self._ends, start, side="right"))
        while start < stop:
            first = int(self._ends[k]) - self._parts[k].shape[0]
            end = min(stop, int(self._ends[k]))
            pieces.append(self._parts[k].read(start - first, end - first))
            start, k = end, k + 1
        if not pieces:
            return np.empty((0, self.shape[1]), self.dtype)
        rows = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        return rows.astype(self.dtype, copy=False)


def _read_as(dtype: str) -> np.dtype:
    """How rows stored as `dtype` are read: float16 to float64."""
    try:
        stored = np.dtype(dtype).newbyteorder("=")
    except TypeError:  # bfloat16 and torch's float8
        return np.dtype(np.float32)
    if stored.kind == "f":
        return stored if stored.itemsize <= 8 else np.dtype(np.float64)
    return np.dtype(np.float32 if stored.itemsize <= _SMALL else np.float64)
