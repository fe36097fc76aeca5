"""An array that lies in a file as it lies in memory: any rows are one read at an offset.

Nothing is mapped: a file that another program cuts short while it is read gives an error, where a
map would end the process.
"""

import io
import os
from typing import IO

import numpy as np

__all__ = ["FlatArray", "native"]

_MOST_BYTES = 1 << 30
"""Of one system call; the kernel takes no more than 2 GiB."""


class FlatArray:
    """`shape` numbers of `dtype` that begin `offset` bytes into an open file.

    Args:
        file: a file, or BytesIO; its position is not touched, so any threads may read at once.
        offset: in bytes.
        shape: of the array.
        dtype: as stored, with its byte order.
        fortran: the first axis varies fastest.
        bfloat16: `dtype` is `<u2` and holds the upper halves of float32 numbers.
    """

    def __init__(
        self,
        file: IO[bytes],
        offset: int,
        shape: tuple[int, ...],
        dtype: np.dtype,
        *,
        fortran: bool = False,
        bfloat16: bool = False,
    ) -> None:
        self._file = file
        self._offset = offset
        self._shape = shape
        self._dtype = dtype
        self._fortran = fortran and len(shape) > 1
        self._bfloat16 = bfloat16

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows start to stop of an array of one or more axes, native byte order.

        Raises:
            EOFError: the file ends before them.
            OSError: the file cannot be read.
        """
        count, rest = stop - start, self._shape[1:]
        if self._fortran:
            # One run of `count` numbers for each place on the other axes, the second axis fastest.
            columns = np.empty((int(np.prod(rest)), count), self._dtype)
            for j, column in enumerate(columns):
                self._fill(column, j * self._shape[0] + start)
            raw = np.ascontiguousarray(columns.reshape(*rest[::-1], count).T)
        else:
            raw = np.empty((count, *rest), self._dtype)
            self._fill(raw, start * int(np.prod(rest)))
        return self._decoded(raw)

    def load(self) -> np.ndarray:
        """The whole array."""
        if self._shape:
            return self.read(0, self._shape[0])
        raw = np.empty(1, self._dtype)
        self._fill(raw, 0)
        return self._decoded(raw).reshape(())

    def _decoded(self, raw: np.ndarray) -> np.ndarray:
        if self._bfloat16:
            return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return native(raw)

    def _fill(self, array: np.ndarray, skip: int) -> None:
        """Read into a contiguous array, from `skip` numbers after the beginning."""
        if array.size == 0:
            return
        view = array.reshape(-1).view(np.uint8).data
        offset = self._offset + skip * self._dtype.itemsize
        if isinstance(self._file, io.BytesIO):
            with self._file.getbuffer() as buffer:
                piece = buffer[offset : offset + len(view)]
                got = len(piece)
                view[:got] = piece
                piece.release()
        else:
            got = 0
            while got < len(view):
                part = view[got : got + _MOST_BYTES]
                done = os.preadv(self._file.fileno(), [part], offset + got)
                if done == 0:
                    break
                got += done
        if got < len(view):
            raise EOFError(f"the file ends {len(view) - got} bytes too early")


def native(array: np.ndarray) -> np.ndarray:
    """The same numbers in this machine's byte order; the same array where they are already.

    >>> native(np.array([1, 2], dtype=">i4")).dtype == np.int32
    True
    """
    return array.astype(array.dtype.newbyteorder("="), copy=False)
