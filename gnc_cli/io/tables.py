"""Tables of Parquet, Arrow and `datasets`: columns of numbers, lists of numbers and words, read in
order.

pyarrow reads them, the extra `parquet`. Of a column some rows are decoded at a time, so that
features may exceed the memory.
"""

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import PurePath
from typing import IO, Any

import numpy as np

from gnc_cli.errors import DataError, import_extra
from gnc_cli.io.catalogue import (
    MOST_ENTRIES,
    WORDS,
    Catalogue,
    Entry,
    label_column,
    translated,
)
from gnc_cli.io.inputs import excess, file_size, open_input, read_json
from gnc_cli.parsing import shown

_BATCH_BYTES = 4 << 20
"""Of the rows that are decoded at once, as float64."""
_KEPT = 4 * ((os.cpu_count() or 1) + 2)
"""Batches that stay, for threads that ask for their rows later than others: a block of rows has
four, and a block per thread and two more are read at once."""


@contextlib.contextmanager
def columns(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """The columns of a Parquet file, of an Arrow (Feather) file or of an Arrow stream."""
    with translated(path, "Parquet or Arrow"):
        catalogue = _listed([file], path)
    yield catalogue


@contextlib.contextmanager
def saved_dataset(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """The columns of a folder that `datasets` saved: `path` is its state.json, which names the
    files of the rows."""
    folder = PurePath(path).parent
    with contextlib.ExitStack() as stack, translated(path, "the state.json of a data set"):
        names = [str(part["filename"]) for part in read_json(path, "a state")["_data_files"]]
        if any(PurePath(name).name != name for name in names):
            raise ValueError(f"it names files of other folders: {names}")
        parts = [stack.enter_context(open_input(str(folder / name))) for name in names]
        catalogue, files = _listed(parts, path), stack.pop_all()
    with files:
        yield catalogue


def _listed(files: list[IO[bytes]], path: str) -> Catalogue:
    """The columns of tables below each other, and those that together are features."""
    pyarrow, listed = import_extra("pyarrow", repr(path), "parquet"), Catalogue(path, {})
    lock, tables = threading.Lock(), [_table(pyarrow, file) for file in files]
    schema, N = tables[0][0], sum(rows for _, rows, _ in tables)
    if not all(other.equals(schema) for other, _, _ in tables):
        raise ValueError("its files have different columns")

    def scan(**options: Any) -> Iterator[Any]:
        return chain.from_iterable(each(**options) for _, _, each in tables)

    size = sum(map(file_size, files))
    entry = partial(_entry, types=pyarrow.types, N=N, size=size, scan=scan, lock=lock)
    fields = list(schema)[:MOST_ENTRIES]
    listed.entries.update((f.name, entry(listed.where(f.name), [f])) for f in fields)
    label = label_column(schema.names)
    numbers = [
        field
        for field in fields
        if listed.entries[field.name].real
        and field.name != label
        and not field.name.startswith("__index_level")
    ]
    if len(numbers) > 1 and {listed.entries[field.name].shape for field in numbers} == {(N,)}:
        name = "table" if label is None else "features"
        names = shown(", ".join(field.name for field in numbers))
        note = f"{len(numbers)} columns of numbers: {names}"
        listed.entries[name] = replace(entry(listed.where(name), numbers), note=note)
        if label is not None:
            listed.entries["labels"] = listed.entries[label]
    return listed


def _table(pyarrow: Any, file: IO[bytes]) -> tuple[Any, int, Callable[..., Iterator[Any]]]:
    """The schema of a table, its number of rows, and what gives batches of columns in order."""
    from pyarrow import parquet

    size, start = file_size(file), file.read(6)
    if start.startswith(b"PAR1"):
        table = parquet.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20)
        batches = partial(table.iter_batches, use_threads=False)
        return table.schema_arrow, table.metadata.num_rows, batches

    def stream(**options: Any) -> Any:  # each reader has a place of its own in the file
        segment = pyarrow.PythonFile(file, mode="r").get_stream(0, size)
        return pyarrow.ipc.open_stream(segment, **options)

    opened = partial(pyarrow.ipc.open_file, file) if start == b"ARROW1" else stream
    schema = opened().schema
    scan = partial(_arrow_batches, pyarrow.ipc, opened, schema)
    return schema, sum(map(len, scan(batch_size=_BATCH_BYTES, columns=schema.names[-1:]))), scan


def _arrow_batches(
    ipc: Any, opened: Callable[..., Any], schema: Any, batch_size: int, columns: list[str]
) -> Iterator[Any]:
    """Record batches of some columns of an Arrow file or stream, in pieces of `batch_size` rows.

    pyarrow.dataset does the same, but crashes where a file is damaged: nothing there holds offsets
    against the bytes that are there.
    """
    fields = [*map(schema.get_field_index, columns)]
    reader = opened(options=ipc.IpcReadOptions(use_threads=False, included_fields=fields))
    numbered = range(getattr(reader, "num_record_batches", 0))
    for batch in map(reader.get_batch, numbered) if hasattr(reader, "get_batch") else reader:
        batch.validate(full=True)
        for start in range(0, len(batch), batch_size):
            yield batch.slice(start, batch_size)


def _entry(
    where: str,
    fields: list[Any],
    *,
    types: Any,
    N: int,
    size: int,
    scan: Callable[..., Any],
    lock: threading.Lock,
) -> Entry:
    """A column as a dataset; one of lists is a matrix, as wide as its first list, and so are
    several columns of numbers.

    Args:
        where: names it in messages.
        fields: name and type of each column.
        types: the module that tells types apart.
        N: rows of the table.
        size: bytes of the file.
        scan: gives the batches of columns.
        lock: of the file.
    """
    names, kind = [field.name for field in fields], fields[0].type
    is_list = types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind)
    item = kind.value_type if is_list or types.is_dictionary(kind) else kind
    shape: tuple[int, ...] = (N,)
    if not is_list and (
        types.is_string(item) or types.is_large_string(item) or types.is_string_view(item)
    ):
        dtype = WORDS
    elif types.is_boolean(kind):
        dtype = "bool"
    elif (types.is_integer(item) or types.is_floating(item)) and not types.is_dictionary(kind):
        dtype = str(np.dtype(item.to_pandas_dtype()))
    else:
        return Entry(shape, f"Arrow's {kind}", False, lambda: np.empty(0))
    if len(fields) > 1:
        dtype = str(np.result_type(*(field.type.to_pandas_dtype() for field in fields)))
        shape = (N, len(fields))
    elif types.is_fixed_size_list(kind):
        shape = (N, kind.list_size)
    elif is_list:
        rows = (row for batch in scan(batch_size=4096, columns=names) for row in batch[names[0]])
        shape = (N, len(next((row for row in rows if row.is_valid), ())))
    row_bytes, width = 8 * max((1, *shape[1:])), shape[1:] if is_list else ()
    if problem := excess(N * row_bytes, size):
        return Entry.refused(problem, "store it without compression or dictionaries")

    def decoded() -> Iterator[tuple[int, np.ndarray]]:
        begin = 0
        for batch in scan(batch_size=max(1, _BATCH_BYTES // row_bytes), columns=names):
            pieces = [_decoded(where, begin, batch[name], dtype, *width) for name in names]
            yield begin, pieces[0] if len(names) == 1 else np.column_stack(pieces)
            begin += len(batch)

    read, real = _in_order(decoded, lock), dtype not in (WORDS, "bool")
    return Entry(shape, dtype, real, partial(read, 0, N), read=read, in_order=True)


def _decoded(where: str, begin: int, piece: Any, dtype: str, d: int | None = None) -> np.ndarray:
    """A piece of a column, or of one of lists of d numbers; `begin` is its first row. What is
    missing is NaN, or None among words."""
    if dtype == WORDS:
        return np.array(piece.to_pylist(), dtype=object)
    if d is not None:
        wrong = np.flatnonzero(piece.value_lengths().to_numpy(zero_copy_only=False) != d)
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
