"""Parquet and Arrow tables: columns of numbers, of lists of numbers and of words, read in order.

pyarrow reads them, the extra `parquet`. Of a column some rows are decoded at a time, so that
features may exceed the memory.
"""

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any

import numpy as np

from gnc_cli.errors import DataError, import_extra
from gnc_cli.io.catalogue import (
    MOST_ENTRIES,
    WORDS,
    Catalogue,
    Entry,
    most_unpacked,
    translated,
)

_BATCH_BYTES = 4 << 20
"""Of the rows that are decoded at once, as float64."""
_KEPT = 4 * ((os.cpu_count() or 1) + 2)
"""Batches that stay, for threads that ask for their rows later than others: a block of rows has
four, and a block per thread and two more are read at once."""


@contextlib.contextmanager
def columns(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """The columns of a Parquet file or of an Arrow (Feather) file."""
    pyarrow, listed = import_extra("pyarrow", repr(path), "parquet"), Catalogue(path, {})
    from pyarrow import parquet

    start, size, lock = file.read(4), file.seek(0, os.SEEK_END), threading.Lock()
    with translated(path, "Parquet or an Arrow file (streams are not read)"):
        if start == b"PAR1":
            table = parquet.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20)
            schema, N = table.schema_arrow, table.metadata.num_rows
            scan = partial(table.iter_batches, use_threads=False)
        else:
            schema = pyarrow.ipc.open_file(file).schema
            scan = partial(_arrow_batches, pyarrow.ipc, file, schema)
            N = sum(map(len, scan(batch_size=_BATCH_BYTES, columns=schema.names[-1:])))
        for field in list(schema)[:MOST_ENTRIES]:
            listed.entries[field.name] = _entry(
                listed.where(field.name), pyarrow.types, field, N, size, scan, lock
            )
    yield listed


def _arrow_batches(
    ipc: Any, file: IO[bytes], schema: Any, batch_size: int, columns: list[str]
) -> Iterator[Any]:
    """Record batches of one column of an Arrow file, in pieces of `batch_size` rows.

    pyarrow.dataset does the same, but crashes where a file is damaged: nothing there holds offsets
    against the bytes that are there.
    """
    reader = ipc.open_file(
        file,
        options=ipc.IpcReadOptions(
            use_threads=False, included_fields=[schema.get_field_index(columns[0])]
        ),
    )
    for batch in map(reader.get_batch, range(reader.num_record_batches)):
        batch.validate(full=True)
        for start in range(0, len(batch), batch_size):
            yield batch.slice(start, batch_size)


def _entry(
    where: str,
    types: Any,
    field: Any,
    N: int,
    size: int,
    scan: Callable[..., Any],
    lock: threading.Lock,
) -> Entry:
    """A column as a dataset; one of lists is a matrix, as wide as its first list.

    Args:
        where: names it in messages.
        types: the module that tells types apart.
        field: its name and type.
        N: rows of the table.
        size: bytes of the file.
        scan: gives the batches of columns.
        lock: of the file.
    """
    name, kind = field.name, field.type
    is_list = types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind)
    item = kind.value_type if is_list or types.is_dictionary(kind) else kind
    shape: tuple[int, ...] = (N,)
    if not is_list and (
        types.is_string(item) or types.is_large_string(item) or types.is_string_view(item)
    ):
        dtype = WORDS
    elif (types.is_integer(item) or types.is_floating(item)) and not types.is_dictionary(kind):
        dtype = str(np.dtype(item.to_pandas_dtype()))
    else:
        return Entry(shape, f"Arrow's {kind}", False, lambda: np.empty(0))
    if types.is_fixed_size_list(kind):
        shape = (N, kind.list_size)
    elif is_list:
        lists = (
            row
            for batch in scan(batch_size=4096, columns=[name])
            for row in batch[name]
            if row.is_valid
        )
        shape = (N, len(next(lists, ())))
    row_bytes = 8 * max((1, *shape[1:]))
    if N * row_bytes > most_unpacked(size):
        return Entry.refused(
            f"declares shape {shape}, in a file of {size} bytes, more than is unpacked",
            "store it without compression or dictionaries",
        )

    def decoded() -> Iterator[tuple[int, np.ndarray]]:
        begin = 0
        for batch in scan(batch_size=max(1, _BATCH_BYTES // row_bytes), columns=[name]):
            yield begin, _decoded(where, begin, batch[name], dtype, *shape[1:])
            begin += len(batch)

    read = _in_order(decoded, lock)
    return Entry(shape, dtype, dtype != WORDS, partial(read, 0, N), read=read)


def _decoded(where: str, begin: int, piece: Any, dtype: str, d: int | None = None) -> np.ndarray:
    """A piece of a column, or of one of lists of d numbers; `begin` is its first row. What is
    missing is NaN, or None among words."""
    if dtype == WORDS:
        return np.array(piece.to_pylist(), dtype=object)
    if d is not None:
        lengths = piece.value_lengths().to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(lengths != d)
        if wrong.size:
            raise DataError(
                f"{where} has no list of {d} numbers at row {begin + wrong[0]}, as in the first; "
                "leave such rows out"
            )
        return np.asarray(piece.flatten().to_numpy(zero_copy_only=False).reshape(-1, d))
    return np.asarray(piece.to_numpy(zero_copy_only=False))


def _in_order(
    decoded: Callable[[], Iterator[tuple[int, np.ndarray]]], lock: threading.Lock
) -> Callable[[int, int], np.ndarray]:
    """A function that reads rows start to stop, from any thread, out of batches that come in order,
    each with the number of its first row."""
    kept: deque[tuple[int, np.ndarray]] = deque(maxlen=_KEPT)
    coming: Iterator[tuple[int, np.ndarray]] = iter(())

    def read(start: int, stop: int) -> np.ndarray:
        nonlocal coming
        with lock:
            if not kept or start < kept[0][0]:
                kept.clear()
                coming = decoded()
            parts = [*kept]
            while not kept or kept[-1][0] + len(kept[-1][1]) < stop:
                kept.append(next(coming))
                parts = [part for part in (*parts, kept[-1]) if part[0] + len(part[1]) > start]
        return np.concatenate(
            [rows[max(0, start - begin) : max(0, stop - begin)] for begin, rows in parts]
        )

    return read
