"""Formats by content and suffix, and the readers that turn a file into a `Catalogue`.

A reader gives a catalogue that is valid inside a `with` block. Names, shapes and dtypes come first,
numbers only when asked for. Nothing is unpickled, no link out of the file is followed, and every
error of a library becomes one DataError.

Tables of Parquet, Arrow and `datasets` have columns of numbers, lists of numbers and words, which
pyarrow reads in order, the extra `parquet`. Some rows of a column are decoded at a time, so that
features may exceed the memory.
"""

import contextlib
import os
import struct
import threading
import zipfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import PurePath
from typing import IO, Any, NamedTuple

import numpy as np

from gnc_cli.errors import DataError, import_extra
from gnc_cli.io.array_files import fvecs, mat, npy, npz, safetensors, shards
from gnc_cli.io.catalogue import MAX_ENTRIES, WORDS, Catalogue, Entry, label_column, translated
from gnc_cli.io.hdf5 import open_hdf5
from gnc_cli.io.inputs import (
    GZIP_SIGNATURE,
    HDF5_SIGNATURE,
    excess,
    file_size,
    open_input,
    read_json,
)
from gnc_cli.io.texts import TEXTS, gz, off_points
from gnc_cli.io.torch_file import tensors
from gnc_cli.parsing import quote

_BATCH_BYTES = 4 << 20
"""Bytes of the rows that are decoded at once, as float64."""
_MAX_CACHED_BATCHES = 4 * ((os.cpu_count() or 1) + 2)
"""Number of decoded batches that stay, for threads that ask for their rows later than others.

A block of rows has four, and one block per thread and two more are read at once.
"""
_MAX_WORD_LETTERS = 1000
"""Longest word that may name a class, in letters; longer ones are texts."""
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
"""Kinds of messages of Arrow, and the fields that list them at the end of a file."""
_CONTINUATION = 0xFFFFFFFF
"""Number before the length of a message, since Arrow 0.15."""
DATASET = "state.json"
"""File of a folder of `datasets` that names the others."""
Reader = Callable[[IO[bytes], str], AbstractContextManager[Catalogue]]
"""Function that opens the catalogue of a file for a block, by the file and its name."""


class _Table(NamedTuple):
    """Table of one file, or of several with the same columns."""

    schema: Any
    N: int
    """Number of rows."""
    scan: Callable[..., Iterator[Any]]
    """Function of `batch_size` and `columns` that yields record batches in order."""
    declared_bytes: Callable[[str], int]
    """Function that returns the bytes that a column declares beyond those of its rows."""


@contextlib.contextmanager
def table_columns(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Open the columns of a Parquet file, of an Arrow (Feather) file or of an Arrow stream."""
    with translated(path, "Parquet or Arrow"):
        catalogue = _column_catalogue([file], path)
    yield catalogue


@contextlib.contextmanager
def saved_dataset(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Open the columns of a folder that `datasets` saved.

    `path` is its state.json, which names the files of the rows.
    """
    folder = PurePath(path).parent
    with contextlib.ExitStack() as stack, translated(path, "the state.json of a data set"):
        names = [str(part["filename"]) for part in read_json(path, "a state")["_data_files"]]
        if any(PurePath(name).name != name for name in names):
            raise ValueError(f"it names files of other folders: {names}")
        parts = [stack.enter_context(open_input(str(folder / name))) for name in names]
        catalogue, files = _column_catalogue(parts, path), stack.pop_all()
    with files:
        yield catalogue


def _column_catalogue(files: list[IO[bytes]], path: str) -> Catalogue:
    """List the columns of tables below each other, and those that together are features."""
    pyarrow, catalogue = import_extra("pyarrow", repr(path), "parquet"), Catalogue(path, {})
    tables = [_table(pyarrow, file, path) for file in files]
    schema, N = tables[0].schema, sum(table.N for table in tables)
    if not all(table.schema.equals(schema) for table in tables):
        raise ValueError("its files have different columns")

    def scan(**options: Any) -> Iterator[Any]:
        return chain.from_iterable(table.scan(**options) for table in tables)

    def declared_bytes(name: str) -> int:
        return sum(table.declared_bytes(name) for table in tables)

    entry = partial(
        _entry,
        table=_Table(schema, N, scan, declared_bytes),
        types=pyarrow.types,
        size=sum(map(file_size, files)),
        lock=threading.Lock(),
    )
    fields = list(schema)[:MAX_ENTRIES]
    entries, label = catalogue.entries, label_column(schema.names)
    entries.update((f.name, entry(catalogue.location(f.name), [f])) for f in fields)
    numbers = [
        field
        for field in fields
        if entries[field.name].real
        and field.name != label
        and not field.name.startswith("__index_level")
    ]
    if len(numbers) > 1 and {entries[field.name].shape for field in numbers} == {(N,)}:
        name = "table" if label is None else "features"
        names = quote(", ".join(field.name for field in numbers))
        note = f"{len(numbers)} columns of numbers: {names}"
        entries[name] = replace(entry(catalogue.location(name), numbers), note=note)
        if label is not None:
            entries["labels"] = entries[label]
    return catalogue


def _table(pyarrow: Any, file: IO[bytes], path: str) -> _Table:
    """Open the table of a file.

    Raises:
        DataError: its buffers declare more bytes than real data unpack to.
    """
    from pyarrow import parquet

    size, start = file_size(file), file.read(6)
    if start.startswith(b"PAR1"):
        open_parquet = partial(parquet.ParquetFile, file, pre_buffer=False, buffer_size=1 << 20)
        schema, metadata = (table := open_parquet()).schema_arrow, table.metadata
        words = [field.name for field in schema if _is_text(pyarrow.types, field.type)]
        table = open_parquet(metadata=metadata, read_dictionary=words)
        scan = partial(table.iter_batches, use_threads=False)
        return _Table(schema, metadata.num_rows, scan, partial(_column_bytes, metadata))

    def open_stream(**options: Any) -> Any:  # each reader has its own position in the file
        segment = pyarrow.PythonFile(file, mode="r").get_stream(0, size)
        return pyarrow.ipc.open_stream(segment, **options)

    messages = [*(_listed_messages if start == b"ARROW1" else _messages)(file, size)]
    unpacked = sum(bytes for rows, bytes in messages if rows is None)
    unpacked += max((bytes for rows, bytes in messages if rows is not None), default=0)
    if problem := excess(unpacked, size):
        raise DataError(f"{path!r} {problem}; store it without compression")
    open_reader = partial(pyarrow.ipc.open_file, file) if start == b"ARROW1" else open_stream
    schema = open_reader().schema
    scan = partial(_arrow_batches, pyarrow.ipc, open_reader, schema)
    return _Table(schema, sum(rows or 0 for rows, _ in messages), scan, lambda name: 0)


def _column_bytes(metadata: Any, name: str) -> int:
    """Return the bytes of a column of Parquet: 8 per number in lists, words uncompressed."""
    paths = (metadata.schema.column(index).path for index in range(metadata.num_columns))
    columns = [index for index, path in enumerate(paths) if f"{path}.".startswith(f"{name}.")]
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    chunks = (group.column(index) for group in groups for index in columns)
    return sum(max(8 * chunk.num_values, chunk.total_uncompressed_size) for chunk in chunks)


def _messages(file: IO[bytes], size: int, begin: int = 0) -> Iterator[tuple[int | None, int]]:
    """Yield the number of rows of each message of an Arrow stream, and the bytes that it declares.

    Messages without rows have None. The bytes are those of compressed buffers, by their own
    statement: nothing is unpacked.

    Reference: Arrow Columnar Format, Message.fbs.
    """
    while begin < size:
        file.seek(begin)
        length = int.from_bytes(file.read(4), "little")
        if length == _CONTINUATION:
            length = int.from_bytes(file.read(4), "little")
        if not length:
            return
        message = file.read(length)
        root, body = _follow(message, 0), file.tell()
        kind = _read_number(message, root, 1, "<B")
        batch = _follow(message, _field_position(message, root, 2))
        if kind == _DICTIONARY_BATCH:
            batch = _follow(message, _field_position(message, batch, 1))
        unpacked, begin = 0, body + _read_number(message, root, 3, "<Q")
        if kind in (_DICTIONARY_BATCH, _RECORD_BATCH) and _field_position(message, batch, 3):
            for offset, stored in _read_vector(message, batch, 2, "<QQ"):
                file.seek(body + offset)
                prefix = int.from_bytes(file.read(8), "little", signed=True) if stored else 0
                unpacked += max(0, prefix)
        yield _read_number(message, batch, 0, "<q") if kind == _RECORD_BATCH else None, unpacked


def _listed_messages(file: IO[bytes], size: int) -> Iterator[tuple[int | None, int]]:
    """Yield the same as `_messages` for those that the end of an Arrow file lists."""
    file.seek(size - 10)  # the length of the list, and b"ARROW1"
    length = int.from_bytes(file.read(4), "little")
    file.seek(size - 10 - length)
    footer = file.read(length)
    for field in (_DICTIONARY_BATCH, _RECORD_BATCH):
        for begin, *_ in _read_vector(footer, _follow(footer, 0), field, "<qi4xq"):
            yield from islice(_messages(file, size, begin), 1)


def _read_vector(message: bytes, table: int, field: int, form: str) -> Iterator[tuple[int, ...]]:
    """Yield the items of a field of a FlatBuffers table, by their form for `struct`."""
    if position := _field_position(message, table, field):
        begin = _follow(message, position)
        count = struct.unpack_from("<I", message, begin)[0]
        yield from struct.iter_unpack(form, message[begin + 4 :][: count * struct.calcsize(form)])


def _field_position(message: bytes, table: int, field: int) -> int:
    """Return the position of a field of a FlatBuffers table; 0 if it has its default."""
    layout = table - struct.unpack_from("<i", message, table)[0]
    size, entry = struct.unpack_from("<H", message, layout)[0], 4 + 2 * field
    offset = struct.unpack_from("<H", message, layout + entry)[0] if entry < size else 0
    return offset and table + offset


def _follow(message: bytes, position: int) -> int:
    """Return the position to which the offset at a position points."""
    return int(position + struct.unpack_from("<I", message, position)[0])


def _read_number(message: bytes, table: int, field: int, form: str) -> int:
    """Return the number in a field of a FlatBuffers table, by its form for `struct`."""
    position = _field_position(message, table, field)
    return int(struct.unpack_from(form, message, position)[0]) if position else 0


def _arrow_batches(
    ipc: Any, open_reader: Callable[..., Any], schema: Any, batch_size: int, columns: list[str]
) -> Iterator[Any]:
    """Yield record batches of some columns of an Arrow file or stream, of `batch_size` rows.

    pyarrow.dataset does the same, but crashes on a damaged file, as it does not compare offsets
    with the bytes that are there.
    """
    fields = [*map(schema.get_field_index, columns)]
    reader = open_reader(options=ipc.IpcReadOptions(use_threads=False, included_fields=fields))
    indices = range(getattr(reader, "num_record_batches", 0))
    for batch in map(reader.get_batch, indices) if hasattr(reader, "get_batch") else reader:
        batch.validate(full=True)
        for start in range(0, len(batch), batch_size):
            yield batch.slice(start, batch_size)


def _is_text(types: Any, kind: Any) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _entry(
    location: str,
    fields: list[Any],
    *,
    table: _Table,
    types: Any,
    size: int,
    lock: threading.Lock,
) -> Entry:
    """List a column as a dataset, or several columns of numbers as a matrix.

    A column of lists is a matrix too, as wide as its first list.

    Args:
        location: name of the dataset in messages.
        fields: name and type of each column.
        table: the table.
        types: module that distinguishes types.
        size: size of the file, in bytes.
        lock: lock of the file.
    """
    names, kind = [field.name for field in fields], fields[0].type
    is_list = types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind)
    item = kind.value_type if is_list or types.is_dictionary(kind) else kind
    shape: tuple[int, ...] = (table.N,)
    remedy = "store it without compression or dictionaries"
    if problem := excess(table.declared_bytes(names[0]), size):
        return Entry.refused(problem, remedy)
    if not is_list and _is_text(types, item):
        dtype = WORDS
    elif types.is_boolean(kind):
        dtype = "bool"
    elif (types.is_integer(item) or types.is_floating(item)) and not types.is_dictionary(kind):
        dtype = str(np.dtype(item.to_pandas_dtype()))
    else:
        return Entry(shape, f"Arrow's {kind}", False, lambda: np.empty(0))
    if len(fields) > 1:
        dtype = str(np.result_type(*(field.type.to_pandas_dtype() for field in fields)))
        shape = (table.N, len(fields))
    elif types.is_fixed_size_list(kind):
        shape = (table.N, kind.list_size)
    elif is_list:
        batches = table.scan(batch_size=16, columns=names)
        lists = (row for batch in batches for row in batch[names[0]] if row.is_valid)
        shape = (table.N, len(next(lists, ())))
    row_bytes, width = 8 * max((1, *shape[1:])), shape[1:] if is_list else ()
    if problem := excess(table.N * row_bytes, size):
        return Entry.refused(problem, remedy)

    def decode() -> Iterator[tuple[int, np.ndarray]]:
        begin = 0
        for batch in table.scan(batch_size=max(1, _BATCH_BYTES // row_bytes), columns=names):
            columns = [_decode(location, begin, batch[name], dtype, *width) for name in names]
            yield begin, columns[0] if len(names) == 1 else np.column_stack(columns)
            begin += len(batch)

    read, real = _ordered_reader(decode, lock), dtype not in (WORDS, "bool")
    return Entry(shape, dtype, real, partial(read, 0, table.N), read=read, in_order=True)


def _decode(location: str, begin: int, piece: Any, dtype: str, d: int | None = None) -> np.ndarray:
    """Return a piece of a column of numbers or words, shape (n,), or of lists, shape (n, d).

    Missing numbers are NaN, missing words None.

    Args:
        location: name of the column in messages.
        begin: row of the table at which the piece begins.
        piece: an array of Arrow.
        dtype: dtype of the column.
        d: length of each list.

    Raises:
        DataError: a word is too long, or a list has another length.
    """
    if dtype == WORDS:
        piece = piece if hasattr(piece, "dictionary") else piece.dictionary_encode()
        words = np.array([*piece.dictionary.to_pylist(), None], dtype=object)
        letters = max((len(word) for word in words if word is not None), default=0)
        if letters > _MAX_WORD_LETTERS:
            raise DataError(
                f"{location} has a word of {letters:,} letters, at most {_MAX_WORD_LETTERS:,} are "
                "read; store class numbers"
            )
        indices = piece.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)
        return np.asarray(words[indices])
    if d is not None:
        wrong = np.flatnonzero(piece.value_lengths().to_numpy(zero_copy_only=False) != d)
        if wrong.size:
            raise DataError(
                f"{location} has no list of {d} numbers at row {begin + wrong[0]}, as in the "
                "first; leave such rows out"
            )
        return np.asarray(piece.flatten().to_numpy(zero_copy_only=False).reshape(-1, d))
    return np.asarray(piece.to_numpy(zero_copy_only=False))


def _ordered_reader(
    decode: Callable[[], Iterator[tuple[int, np.ndarray]]], lock: threading.Lock
) -> Callable[[int, int], np.ndarray]:
    """Return a function that reads rows start to stop, from any thread.

    Args:
        decode: function that yields all batches in order, each with the index of its first row.
        lock: lock of the file.
    """
    cache: deque[tuple[int, np.ndarray]] = deque(maxlen=_MAX_CACHED_BATCHES)
    batches: Iterator[tuple[int, np.ndarray]] = iter(())

    def read(start: int, stop: int) -> np.ndarray:
        nonlocal batches
        with lock:
            if not cache or start < cache[0][0]:
                cache.clear()
                batches = decode()
            parts = [*cache]
            while not cache or cache[-1][0] + len(cache[-1][1]) < stop:
                cache.append(next(batches))
                parts = [part for part in (*parts, cache[-1]) if part[0] + len(part[1]) > start]
        return np.concatenate(
            [rows[max(0, start - begin) : max(0, stop - begin)] for begin, rows in parts]
        )

    return read


def keras(file: IO[bytes], path: str) -> AbstractContextManager[Catalogue]:
    """Refuse a model of Keras, in which the names of weights do not say what they are."""
    raise DataError(
        f"{path!r} is a model of Keras; save its last layer: W, b = "
        "keras.models.load_model(FILE).layers[-1].get_weights(); "
        "numpy.savez('head.npz', weights=W.T, bias=b)"
    )


FORMATS: dict[str, Reader] = {
    ".mat": mat,
    ".h5": open_hdf5,
    ".hdf5": open_hdf5,
    ".npz": npz,
    ".npy": npy,
    ".safetensors": safetensors,
    ".index.json": shards,
    ".pt": tensors,
    ".pth": tensors,
    ".ckpt": tensors,
    **TEXTS,
    ".gz": gz,
    ".fvecs": fvecs,
    ".off": off_points,
    ".parquet": table_columns,
    ".arrow": table_columns,
    ".feather": table_columns,
}
"""Readers by suffix."""


def reader_for(path: str, file: IO[bytes]) -> Reader:
    """Return the reader of a file by its first bytes, for texts and damaged files by its suffix.

    Raises:
        DataError: neither names a format.
    """
    if path == "-":
        return open_hdf5
    if path.endswith("index.json"):
        return shards
    if PurePath(path).name == DATASET:
        return saved_dataset
    if reader := _reader_by_content(file) or FORMATS.get(PurePath(path).suffix.lower()):
        return reader
    step = f"rename a text to one of {', '.join(TEXTS)}"
    if b"\0" in file.read(1024):
        step = "convert it: numpy.savez('data.npz', features=H, labels=y)"
    raise DataError(
        f"{path!r} has a suffix that names no format and begins like none of "
        f"{', '.join(FORMATS)}; {step}"
    )


def _reader_by_content(file: IO[bytes]) -> Reader | None:
    """Return the reader by the first bytes, of a zip archive by its members; None if unknown."""
    size, start = file_size(file), file.read(16)
    file.seek(0)
    if start.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(file) as archive:
                names = {name.rpartition("/")[2] for name in archive.namelist()}
        except Exception:  # damaged: the reader by suffix will say so
            return None
        finally:
            file.seek(0)
        return keras if "model.weights.h5" in names else tensors if "data.pkl" in names else npz
    if int.from_bytes(start[:8], "little") <= size - 8 and start[8:9] == b"{":
        return safetensors
    readers: dict[bytes, Reader | None] = {
        HDF5_SIGNATURE: open_hdf5,
        b"MATLAB 7.3": open_hdf5,
        b"MATLAB 5.0": mat,
        b"\x93NUMPY": npy,
        b"PAR1": table_columns,
        b"ARROW1": table_columns,
        b"\x80": tensors if start[2:3] != b"\0" else None,  # a pickle, or .fvecs of d = 128
        _CONTINUATION.to_bytes(4, "little"): table_columns,  # an Arrow stream
        GZIP_SIGNATURE: gz,
    }
    return next((reader for magic, reader in readers.items() if start.startswith(magic)), None)
