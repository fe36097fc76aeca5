"""The formats by suffix: an open file becomes a `Catalogue`, valid inside a `with` block.

Names, shapes and dtypes come first, numbers only when asked for. Nothing is unpickled, no link is
followed out of the file, and whatever a library raises becomes one DataError.
"""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import PurePath
from typing import IO

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue, Entry
from gnc_cli.io.hdf5 import SIGNATURE, open_hdf5
from gnc_cli.io.npy import npy, npz
from gnc_cli.io.safetensors_file import safetensors, safetensors_index
from gnc_cli.io.text import read_table
from gnc_cli.io.torch_file import pt

__all__ = ["READERS", "Reader", "reader_for"]

Reader = Callable[[IO[bytes], str], AbstractContextManager[Catalogue]]


@contextlib.contextmanager
def hdf5(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """HDF5 of any layout."""
    with open_hdf5(file, path) as (catalogue, _):
        yield catalogue


@contextlib.contextmanager
def txt(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Text, one point a line."""
    table = read_table(file, path)
    yield Catalogue(path, {"table": Entry(table.shape, "float64", True, lambda: table)})


READERS: dict[str, Reader] = {
    ".h5": hdf5,
    ".hdf5": hdf5,
    ".npz": npz,
    ".npy": npy,
    ".txt": txt,
    ".csv": txt,
    ".safetensors": safetensors,
    ".index.json": safetensors_index,
    ".pt": pt,
    ".pth": pt,
    ".ckpt": pt,
}


def reader_for(path: str, file: IO[bytes]) -> Reader:
    """The reader that the suffix names, or the first bytes where no suffix does.

    Raises:
        DataError: neither names a format.
    """
    if path == "-":
        return hdf5
    if path.endswith("index.json"):
        return safetensors_index
    suffix = PurePath(path).suffix.lower()
    if suffix in READERS:
        return READERS[suffix]
    start = file.read(len(SIGNATURE))
    file.seek(0)
    if start == SIGNATURE:
        return hdf5
    raise DataError(
        f"{path!r} has a suffix that names no format and does not begin like HDF5; "
        f"rename it to one of {', '.join(READERS)}"
    )
