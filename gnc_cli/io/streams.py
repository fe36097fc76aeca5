"""Writing codes too large to hold: rows are asked for block by block and go straight to the file.

HDF5 files are chunked and compressed (two-valued rows shrink about forty times), in float32: the
readers normalise, and rows of the form (+-1)/sqrt(d) lose nothing by it. `.npy` is plain float32.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import IO, Any

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.io.atomic import atomic_file
from gnc_cli.io.hdf5 import write_attributes
from gnc_cli.io.sink import deferring_errors
from gnc_cli.io.stdout import write_stdout

__all__ = ["STREAMED_SUFFIXES", "check_stream_target", "write_rows"]

STREAMED_SUFFIXES = (".h5", ".npy")
_BLOCK_ENTRIES = 1 << 23
_CHUNK_BYTES = 1 << 20

Block = Callable[[int, int], np.ndarray]
"""Rows start to stop, shape (stop - start, d)."""


def check_stream_target(path: str | os.PathLike[str]) -> None:
    """Refuse a suffix that cannot be streamed.

    Raises:
        UsageError: see above.
    """
    if os.fspath(path) != "-" and PurePath(path).suffix.lower() not in STREAMED_SUFFIXES:
        raise UsageError(
            f"--out {os.fspath(path)!r}: a code of this size is written in chunks, as .h5 or .npy;"
            " choose one of these"
        )


def write_rows(
    path: str | os.PathLike[str],
    shape: tuple[int, int],
    block: Block,
    provenance: dict[str, Any],
    *,
    force: bool = False,
) -> None:
    """Write rows (K, d) as `/weights` of a code file, never more than a block in memory.

    Args:
        path: `.h5`, `.npy`, or `-` for HDF5 on stdout.
        shape: (K, d).
        block: makes rows `start` to `stop`.
        provenance: as in `CodeFile`.
        force: overwrite.

    Raises:
        UsageError: another suffix.
        OutputError: the file exists without `force`, or cannot be written.
    """
    check_stream_target(path)
    if os.fspath(path) == "-":
        with tempfile.TemporaryFile() as file:
            _write_hdf5(file, shape, block, provenance)
            write_stdout(file)
        return
    with atomic_file(path, force=force) as target:
        if PurePath(path).suffix.lower() == ".npy":
            _write_npy(target, shape, block)
        else:
            _write_hdf5(target, shape, block, provenance)


def _write_hdf5(
    file: IO[bytes], shape: tuple[int, int], block: Block, provenance: dict[str, Any]
) -> None:
    import h5py

    with deferring_errors(file) as sink, h5py.File(sink, "w") as h5:
        write_attributes(h5, {}, provenance)
        rows = max(1, min(shape[0], _CHUNK_BYTES // (4 * shape[1])))
        weights = h5.create_dataset(
            "weights", shape, np.float32, chunks=(rows, shape[1]),
            compression="gzip", compression_opts=1, shuffle=True, track_times=False,
        )  # fmt: skip
        for start, values in _blocks(shape, block, rows):
            weights[start : start + len(values)] = values


def _write_npy(file: IO[bytes], shape: tuple[int, int], block: Block) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(np.float32)), "fortran_order": False}
    np.lib.format.write_array_header_1_0(file, {**header, "shape": shape})
    for _, values in _blocks(shape, block, 1):
        file.write(values.tobytes())


def _blocks(
    shape: tuple[int, int], block: Block, multiple: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Blocks of whole chunks, float32."""
    step = max(multiple, _BLOCK_ENTRIES // shape[1] // multiple * multiple)
    for start in range(0, shape[0], step):
        yield start, block(start, min(start + step, shape[0])).astype(np.float32)
