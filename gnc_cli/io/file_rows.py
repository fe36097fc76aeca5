"""Rows of a file, block by block: an array at an offset, a dataset, the datasets of several files.

`FileRows` and `ConcatenatedRows` are `metrics.rows.Rows`, so that metrics stream from files that
exceed the memory. Nothing is mapped: a file that another program cuts short while it is read gives
an error, where a map would end the process.
"""

import io
import threading
from collections.abc import Sequence
from typing import IO

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue, check_bits, check_entry, checked, translated
from gnc_cli.runtime.system import read_at

_MAX_CALL_BYTES = 1 << 30
"""Largest number of bytes of one system call, half the limit of the kernel."""
_MAX_FLOAT32_BYTES = 2
"""Largest size of integers that float32 holds exactly, in bytes."""


class FlatArray:
    """Array stored in a file as in memory: `shape` numbers of `dtype`, at an offset.

    The position of the file is not touched, so several threads may read at once. With `fortran` the
    first axis varies fastest. The dtype `V2` is bfloat16.
    """

    def __init__(
        self,
        file: IO[bytes],
        offset: int,
        shape: tuple[int, ...],
        dtype: np.dtype,
        *,
        fortran: bool = False,
    ) -> None:
        self._file, self._offset, self._shape, self._dtype = file, offset, shape, dtype
        self._fortran = fortran and len(shape) > 1

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows start to stop of an array of one or more axes, in native byte order."""
        count, row_shape = stop - start, self._shape[1:]
        if self._fortran:
            # One run of `count` numbers for each index on the other axes, the second axis fastest.
            columns = np.empty((int(np.prod(row_shape)), count), self._dtype)
            for j, column in enumerate(columns):
                self._fill(column, j * self._shape[0] + start)
            raw = np.ascontiguousarray(columns.reshape(*row_shape[::-1], count).T)
        else:
            raw = np.empty((count, *row_shape), self._dtype)
            self._fill(raw, start * int(np.prod(row_shape)))
        return native(raw)

    def load(self) -> np.ndarray:
        """Read the whole array."""
        if self._shape:
            return self.read(0, self._shape[0])
        return FlatArray(self._file, self._offset, (1,), self._dtype).load().reshape(())

    def _fill(self, array: np.ndarray, position: int) -> None:
        """Read into a contiguous array, from the number at `position` on."""
        if array.size == 0:
            return
        view = array.reshape(-1).view(np.uint8).data
        offset = self._offset + position * self._dtype.itemsize
        if isinstance(self._file, io.BytesIO):
            piece = self._file.getvalue()[offset : offset + len(view)]
            count = len(piece)
            view[:count] = piece
        else:
            count = 0
            while count < len(view):
                part = view[count : count + _MAX_CALL_BYTES]
                size = read_at(self._file, part, offset + count)
                if size == 0:
                    break
                count += size
        if count < len(view):
            raise EOFError(f"the file ends {len(view) - count} bytes too early")


def matrix_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of rows: axes of length 1 after the first are left out, if one is longer.

    >>> matrix_shape((9, 4, 1, 1)), matrix_shape((9, 1, 4)), matrix_shape((9, 2, 4))
    ((9, 4), (9, 4), (9, 2, 4))
    """
    lengths = [length for length in shape[1:] if length != 1]
    return (shape[0], *lengths) if len(lengths) == 1 else shape if lengths else shape[:2]


def advice_for(shape: tuple[int, ...]) -> str:
    """Return advice on turning features of several places into a matrix; empty for a matrix."""
    if len(shape) == 3 and shape[0] == 1:
        return ": leave out the first axis, features[0]"
    token = "choose a token, features[:, 0], or " if len(shape) == 3 else ""
    axes = 1 if token else tuple(range(2, len(shape)))
    return f": {token}average the places, features.mean(axis={axes})" if axes else ""


class FileRows:
    """Matrix of an open file, shape (N, d), read by rows.

    Args:
        catalogue: catalogue of the file, which stays open.
        name: name of the dataset.
        min_columns: smallest valid number of columns.
        transpose: True to read the columns of the file, as a whole, as rows.

    Raises:
        DataError: it is not a matrix of real numbers, or its declared shape cannot be right.
    """

    def __init__(
        self, catalogue: Catalogue, name: str, min_columns: int = 2, transpose: bool = False
    ) -> None:
        entry = checked(catalogue, name, whole=False)
        check_bits(catalogue, name)
        self.location = catalogue.location(name)
        # Feature maps of one place, (N, d, 1, 1), as of networks with pooling, are rows.
        shape = matrix_shape(entry.shape)
        if len(shape) != 2:
            raise DataError(
                f"{self.location} has shape {entry.shape}; expected a matrix{advice_for(shape)}"
            )
        self._stored, self._transpose = shape, transpose
        shape = shape[::-1] if transpose else shape
        if shape[0] < 1 or shape[1] < min_columns:
            raise DataError(
                f"{self.location} has shape {entry.shape}; "
                f"expected at least 1 row and {min_columns} columns"
            )
        self.note = (
            "" if shape == entry.shape else f"{self.location}: shape {entry.shape} read as {shape}"
        )
        self._read = None if transpose else entry.read
        if self._read is None:
            check_entry(entry, self.location)  # it will be loaded whole
        self.shape = (int(shape[0]), int(shape[1]))
        self.dtype = _reading_dtype(entry.dtype)
        self.step = max(1, min(1 if transpose else entry.step, self.shape[0]))
        self._entry, self._path = entry, catalogue.path
        self._description = f"a dataset {name!r} of shape {entry.shape} {entry.dtype}"
        self._whole: np.ndarray | None = None
        self._lock = threading.Lock()

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows start to stop, shape (stop - start, d), in native byte order; any thread.

        bfloat16 reads as float32, integers as floating-point numbers that hold them.

        Raises:
            DataError: the file fails.
        """
        if start >= stop:
            return np.empty((0, self.shape[1]), self.dtype)
        with translated(self._path, self._description):
            read = self._read
            rows = self._loaded(start, stop) if read is None else read(start, stop)
            rows = rows.reshape(len(rows), self.shape[1])
            with np.errstate(over="ignore", invalid="ignore"):  # the caller checks for NaN
                return rows.astype(self.dtype, copy=False)

    def _loaded(self, start: int, stop: int) -> np.ndarray:
        """Return rows of the whole matrix, which stays in memory until its last row is read.

        Of several shards one or two are in memory at a time.
        """
        with self._lock:
            whole = self._whole
            if whole is None:
                whole = np.asarray(self._entry.load()).reshape(self._stored)
                whole = whole.T if self._transpose else whole
            self._whole = whole if stop < self.shape[0] else None
            return whole[start:stop]


class ConcatenatedRows:
    """Matrices of equal width, one below the other, shape (N, d) in all.

    Raises:
        DataError: the widths differ; the message names the files.
    """

    def __init__(self, parts: Sequence[FileRows]) -> None:
        first = parts[0]
        for part in parts[1:]:
            if part.shape[1] != first.shape[1]:
                raise DataError(
                    f"{part.location} has shape {part.shape}, but {first.location} has "
                    f"{first.shape}; shards must have equally many columns"
                )
        self._parts = list(parts)
        self._ends = np.cumsum([part.shape[0] for part in parts])
        self.shape = (int(self._ends[-1]), first.shape[1])
        self.dtype = np.result_type(*(part.dtype for part in parts))
        self.step = max(part.step for part in parts)
        self.location = first.location + (
            f" and {len(parts) - 1} more file(s)" if parts[1:] else ""
        )
        self.notes = tuple(part.note for part in parts if part.note)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows start to stop of all parts together, shape (stop - start, d); any thread."""
        pieces = []
        k = int(np.searchsorted(self._ends, start, side="right"))
        while start < stop:
            offset = int(self._ends[k]) - self._parts[k].shape[0]
            end = min(stop, int(self._ends[k]))
            pieces.append(self._parts[k].read(start - offset, end - offset))
            start, k = end, k + 1
        if not pieces:
            return np.empty((0, self.shape[1]), self.dtype)
        rows = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        return rows.astype(self.dtype, copy=False)


def _reading_dtype(dtype: str) -> np.dtype:
    """Return the dtype to which rows stored as `dtype` are converted, float16 to float64."""
    try:
        stored = np.dtype(dtype).newbyteorder("=")
    except TypeError:  # bfloat16 and torch's float8
        return np.dtype(np.float32)
    if stored.kind == "f":
        return stored if stored.itemsize <= 8 else np.dtype(np.float64)
    return np.dtype(np.float32 if stored.itemsize <= _MAX_FLOAT32_BYTES else np.float64)


BFLOAT16 = np.dtype("V2")
"""Stand-in for bfloat16, the upper half of a float32, in NumPy and HDF5, which lack its dtype."""


def native(array: np.ndarray) -> np.ndarray:
    """Convert to this machine's byte order, and `BFLOAT16` to float32.

    An array that needs no change is returned as it is.

    >>> native(np.array([1, 2], dtype=">i4")).dtype == np.int32
    True
    >>> native(np.array([0x3F80, 0xC000], dtype="<u2").view("V2"))
    array([ 1., -2.], dtype=float32)
    """
    if array.dtype == BFLOAT16:
        return (array.view("<u2").astype(np.uint32) << np.uint32(16)).view(np.float32)
    return array.astype(array.dtype.newbyteorder("="), copy=False)
