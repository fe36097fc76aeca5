"""One dataset of an HDF5 file: what it claims, held against what is stored, and its rows.

Contiguous datasets are read at their offset, from any thread at once; the others through h5py under
a lock, whole chunks at a time, so that nothing is decompressed twice.
"""

import math
import threading
from collections import OrderedDict
from typing import IO, Any

import numpy as np

from gnc_cli.io.catalogue import Entry, memory_limit
from gnc_cli.io.flat import FlatArray, native

__all__ = ["dataset_entry", "refused"]

_MOST_GAIN = 1100
"""More bytes than this from one compressed byte are a bomb: gzip reaches 1032, and never more."""
_KEPT_BANDS = 2
"""Bands of chunks that stay decompressed: blocks may overlap two, in either order."""

_AGAIN = "was the program that made it cut short? run it again"


def dataset_entry(dataset: Any, file: IO[bytes], size: int, lock: threading.Lock) -> Entry:
    """The catalogue's entry of an open h5py dataset; nothing is read yet.

    Args:
        dataset: of an open h5py.File.
        file: behind it.
        size: bytes of that file.
        lock: shared by all datasets of the file.
    """
    if dataset.is_virtual or dataset.external:
        return refused("takes its data from other files and is refused")
    if dataset.shape is None:
        return refused("is empty")
    try:
        dtype = dataset.dtype
    except TypeError:
        return refused("has a type of numbers that NumPy lacks")
    shape = tuple(int(n) for n in dataset.shape)
    real = dtype.kind in "iuf"
    flat = _flat(dataset, file, shape) if real else None
    banded = _Bands(dataset, lock)

    def load() -> np.ndarray:
        if flat is not None:
            return flat.load()
        with lock:
            return native(np.asarray(dataset[()]))

    return Entry(
        shape,
        str(dtype),
        real,
        load,
        read=None if not shape else flat.read if flat is not None else banded.read,
        step=banded.step,
        doubt=lambda: _doubt(dataset, shape, size),
    )


def refused(problem: str) -> Entry:
    """An entry that is listed and never read."""
    return Entry((), "none", False, lambda: np.empty(0), problem)


class _Bands:
    """Rows of a dataset by way of h5py."""

    def __init__(self, dataset: Any, lock: threading.Lock) -> None:
        self._dataset = dataset
        self._lock = lock
        self._kept: OrderedDict[int, np.ndarray] = OrderedDict()
        self.step = int(dataset.chunks[0]) if dataset.chunks else 1

    def read(self, start: int, stop: int) -> np.ndarray:
        """Rows start to stop; a band of chunks that is only wanted in part is kept for the rest."""
        step, rows = self.step, self._dataset.shape[0]
        pieces = []
        with self._lock:
            while start < stop:
                whole = stop if stop == rows else stop // step * step
                if start % step == 0 and start < whole:
                    pieces.append(self._fetch(start, whole))
                else:
                    first = start // step * step
                    pieces.append(self._band(first)[start - first : stop - first])
                start += len(pieces[-1])
            return np.concatenate(pieces) if len(pieces) > 1 else pieces[0]

    def _band(self, first: int) -> np.ndarray:
        if first not in self._kept:
            self._kept[first] = self._fetch(first, min(first + self.step, self._dataset.shape[0]))
            while len(self._kept) > _KEPT_BANDS:
                self._kept.popitem(last=False)
        self._kept.move_to_end(first)
        return self._kept[first]

    def _fetch(self, start: int, stop: int) -> np.ndarray:
        return native(self._dataset[start:stop])


def _flat(dataset: Any, file: IO[bytes], shape: tuple[int, ...]) -> FlatArray | None:
    """The numbers where they lie, if they lie there as NumPy would have them."""
    import h5py

    offset = dataset.id.get_offset()  # None where chunked, compact or never written
    if offset is None or not dataset.id.get_type().equal(h5py.h5t.py_create(dataset.dtype)):
        return None
    return FlatArray(file, offset, shape, dataset.dtype)


def _doubt(dataset: Any, shape: tuple[int, ...], size: int) -> str | None:
    """Why the declared shape cannot be true, by the bytes that are stored for it."""
    declared = math.prod(shape) * dataset.dtype.itemsize
    if declared == 0:
        return None
    claim = f"declares shape {shape}, {declared / 1e9:.3g} GB"
    stored = dataset.id.get_storage_size()
    if stored == 0:
        return f"declares shape {shape}, and not one number of it was ever written; {_AGAIN}"
    if stored > size:
        return f"{claim}, and {stored} bytes stored in a file of {size}; is the file damaged?"
    if not dataset.chunks:
        return None if declared <= stored else f"{claim}, of which {stored} bytes are stored"
    expected = math.prod(-(-n // c) for n, c in zip(shape, dataset.chunks, strict=True))
    written = dataset.id.get_num_chunks()
    if written < expected:
        return (
            f"declares shape {shape}, of which {written} of {expected} chunks were ever written; "
            f"{_AGAIN}"
        )
    chunk = math.prod(dataset.chunks) * dataset.dtype.itemsize
    if expected * chunk > _MOST_GAIN * stored:
        return f"{claim}, from {stored} stored bytes, more than compression can do; is it damaged?"
    band = max(chunk, dataset.chunks[0] * math.prod(shape[1:]) * dataset.dtype.itemsize)
    if _KEPT_BANDS * band > memory_limit():
        return (
            f"has chunks {dataset.chunks}, {band / 1e9:.3g} GB for one row of them, which the "
            "memory cannot hold; store it in smaller chunks"
        )
    return None
