"""MATLAB's files: the variables that are arrays of numbers.

Those of version 7.3 are HDF5 (`hdf5.py`), with the axes in the other order. Older ones are read by
scipy, one variable at a time; texts, cells, structures and objects are listed and never read.
"""

import contextlib
import math
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import IO

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue, Entry, translated
from gnc_cli.io.inputs import excess, file_size

CLASSES = {"double": "float64", "single": "float32", "logical": "uint8"}
CLASSES |= {name: name for bits in (8, 16, 32, 64) for name in (f"int{bits}", f"uint{bits}")}
"""Dtypes of MATLAB's classes of numbers."""


@contextlib.contextmanager
def mat(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """List a file of MATLAB before 7.3."""
    from scipy.io import loadmat, whosmat

    size, lock = file_size(file), threading.Lock()

    def variable(name: str, shape: tuple[int, ...], kind: str) -> Entry:
        if kind not in CLASSES:
            return refused(kind)
        if problem := excess(8 * math.prod(shape), size):
            return Entry.refused(problem, "save it with -v7.3")

        def load() -> np.ndarray:
            with lock:
                # With mat_dtype, complex numbers would lose their imaginary parts.
                array = loadmat(file, variable_names=[name])[name]
            if array.dtype.kind == "c":
                raise DataError(
                    f"{path!r}: dataset {name!r} has complex numbers; save [real(X), imag(X)]"
                )
            return np.asarray(array.astype(CLASSES[kind], copy=False))

        return without_single_axis(Entry(shape, CLASSES[kind], True, load))

    with translated(path, "a file of MATLAB"):
        entries = {name: variable(name, *rest) for name, *rest in whosmat(file)}
    yield Catalogue(path, entries)


def refused(kind: str) -> Entry:
    """List a variable of a class that holds no numbers."""
    return Entry.refused(
        f"is of MATLAB's class {kind}, no array of numbers",
        "number words in MATLAB: [names, ~, labels] = unique(words); labels = labels - 1",
    )


def without_single_axis(entry: Entry) -> Entry:
    """Make a vector of a row or a column, and a scalar of a single number: MATLAB has two axes at
    least."""
    if len(entry.shape) != 2 or 1 not in entry.shape:
        return entry
    shape = tuple(n for n in entry.shape if n != 1)
    return replace(
        entry, shape=shape, load=lambda: entry.load().reshape(shape), read=None, note=None
    )
