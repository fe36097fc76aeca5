"""The formats by content and suffix: how a file becomes a `Catalogue`.

A reader gives a catalogue that is valid inside a `with` block. Names, shapes and dtypes come first,
numbers only when asked for. Nothing is unpickled, no link is followed out of the file, and whatever
a library raises becomes one DataError.

Tables of Parquet, Arrow and `datasets` have columns of numbers, lists of numbers and words, which
pyarrow reads in order, the extra `parquet`. Of a column some rows are decoded at a time, so that
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
from typing import IO, Any

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
from gnc_cli.io.texts import TEXTS, gz, off
from gnc_cli.io.torch_file import tensors
from gnc_cli.parsing import quote

_BATCH_BYTES = 4 << 20
"""Of the rows that are decoded at once, as float64."""
_LONGEST_WORD = 1000
"""Letters of a word."""
_DICTIONARIES, _ROWS = 2, 3
"""Kinds of messages of Arrow, and the fields that list them at the end of a file."""
_Table = tuple[Any, int, Callable[..., Iterator[Any]], Callable[[str], int]]
_KEPT = 4 * ((os.cpu_count() or 1) + 2)
"""Batches that stay, for threads that ask for their rows later than others: a block of rows has
four, and a block per thread and two more are read at once."""
DATASET = "state.json"
"""The file of a folder of `datasets` that names the others."""
Reader = Callable[[IO[bytes], str], AbstractContextManager[Catalogue]]


@contextlib.contextmanager
def table_columns(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """The columns of a Parquet file, of an Arrow (Feather) file or of an Arrow stream."""
    with translated(path, "Parquet or Arrow"):
        catalogue = _listed([file], path)
    yield catalogue


@contextlib.contextmanager
def saved_dataset(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """The columns of a folder that `datasets` saved: `path` is its state.json, which names the
    files of the rows.
    """
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
    lock, tables = threading.Lock(), [_table(pyarrow, file, path) for file in files]
    schema, N = tables[0][0], sum(rows for _, rows, *_ in tables)
    if not all(other.equals(schema) for other, *_ in tables):
        raise ValueError("its files have different columns")

    def scan(**options: Any) -> Iterator[Any]:
        return chain.from_iterable(each(**options) for _, _, each, _ in tables)

    def declared(name: str) -> int:
        return sum(each(name) for *_, each in tables)

    size = sum(map(file_size, files))
    entry = partial(
        _entry, types=pyarrow.types, N=N, size=size, scan=scan, declared=declared, lock=lock
    )
    fields = list(schema)[:MAX_ENTRIES]
    listed.entries.update((f.name, entry(listed.location(f.name), [f])) for f in fields)
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
        names = quote(", ".join(field.name for field in numbers))
        note = f"{len(numbers)} columns of numbers: {names}"
        listed.entries[name] = replace(entry(listed.location(name), numbers), note=note)
        if label is not None:
            listed.entries["labels"] = listed.entries[label]
    return listed


def _table(pyarrow: Any, file: IO[bytes], path: str) -> _Table:
    """The schema of a table, its number of rows, what gives batches of columns in order, and the
    bytes that a column declares beyond those of its rows.
    """
    from pyarrow import parquet

    size, start = file_size(file), file.read(6)
    if start.startswith(b"PAR1"):
        opened = partial(parquet.ParquetFile, file, pre_buffer=False, buffer_size=1 << 20)
        schema, metadata = (table := opened()).schema_arrow, table.metadata
        words = [field.name for field in schema if _are_words(pyarrow.types, field.type)]
        table = opened(metadata=metadata, read_dictionary=words)
        scan = partial(table.iter_batches, use_threads=False)
        return schema, metadata.num_rows, scan, partial(_declared, metadata)

    def stream(**options: Any) -> Any:  # each reader has a place of its own in the file
        segment = pyarrow.PythonFile(file, mode="r").get_stream(0, size)
        return pyarrow.ipc.open_stream(segment, **options)

    messages = [*(_listed_messages if start == b"ARROW1" else _messages)(file, size)]
    unpacked = sum(bytes for rows, bytes in messages if rows is None)
    unpacked += max((bytes for rows, bytes in messages if rows is not None), default=0)
    if problem := excess(unpacked, size):
        raise DataError(f"{path!r} {problem}; store it without compression")
    reader = partial(pyarrow.ipc.open_file, file) if start == b"ARROW1" else stream
    schema = reader().schema
    scan = partial(_arrow_batches, pyarrow.ipc, reader, schema)
    return schema, sum(rows or 0 for rows, _ in messages), scan, lambda name: 0


def _declared(metadata: Any, name: str) -> int:
    """The bytes of a column of Parquet: 8 for each number in lists, words without compression."""
    paths = (metadata.schema.column(index).path for index in range(metadata.num_columns))
    columns = [index for index, path in enumerate(paths) if f"{path}.".startswith(f"{name}.")]
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    chunks = (group.column(index) for group in groups for index in columns)
    return sum(max(8 * chunk.num_values, chunk.total_uncompressed_size) for chunk in chunks)


def _messages(file: IO[bytes], size: int, begin: int = 0) -> Iterator[tuple[int | None, int]]:
    """The rows of each message of an Arrow stream, None of those that have none, and the bytes that
    its buffers declare where they are compressed. Nothing is unpacked.

    Reference: Arrow Columnar Format, Message.fbs.
    """
    while begin < size:
        file.seek(begin)
        length = int.from_bytes(file.read(4), "little")
        if length == 0xFFFFFFFF:  # before the length since Arrow 0.15
            length = int.from_bytes(file.read(4), "little")
        if not length:
            return
        message = file.read(length)
        root, body = _follow(message, 0), file.tell()
        kind, batch = _number(message, root, 1, "<B"), _follow(message, _place(message, root, 2))
        begin = body + _number(message, root, 3, "<Q")
        if kind == _DICTIONARIES:
            batch = _follow(message, _place(message, batch, 1))
        unpacked = 0
        if kind in (_DICTIONARIES, _ROWS) and _place(message, batch, 3):
            for offset, stored in _vector(message, batch, 2, "<QQ"):
                file.seek(body + offset)
                prefix = int.from_bytes(file.read(8), "little", signed=True) if stored else 0
                unpacked += max(0, prefix)
        yield _number(message, batch, 0, "<q") if kind == _ROWS else None, unpacked


def _listed_messages(file: IO[bytes], size: int) -> Iterator[tuple[int | None, int]]:
    """The same for the messages that the end of an Arrow file lists."""
    file.seek(size - 10)
    length = int.from_bytes(file.read(4), "little")
    file.seek(size - 10 - length)
    footer = file.read(length)
    for field in (_DICTIONARIES, _ROWS):
        for begin, *_ in _vector(footer, _follow(footer, 0), field, "<qi4xq"):
            yield from islice(_messages(file, size, begin), 1)


def _vector(message: bytes, table: int, field: int, form: str) -> Iterator[tuple[int, ...]]:
    """The items of a field of a table of FlatBuffers."""
    if place := _place(message, table, field):
        begin = _follow(message, place)
        count = struct.unpack_from("<I", message, begin)[0]
        yield from struct.iter_unpack(form, message[begin + 4 :][: count * struct.calcsize(form)])


def _place(message: bytes, table: int, field: int) -> int:
    """The place of a field of a table of FlatBuffers; 0 where it has its default."""
    entry = table - struct.unpack_from("<i", message, table)[0]
    size = struct.unpack_from("<H", message, entry)[0]
    within = 4 + 2 * field < size
    offset = struct.unpack_from("<H", message, entry + 4 + 2 * field)[0] if within else 0
    return offset and table + offset


def _follow(message: bytes, place: int) -> int:
    """The place that the number at a place points to."""
    return int(place + struct.unpack_from("<I", message, place)[0])


def _number(message: bytes, table: int, field: int, form: str) -> int:
    place = _place(message, table, field)
    return int(struct.unpack_from(form, message, place)[0]) if place else 0


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


def _are_words(types: Any, kind: Any) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _entry(
    where: str,
    fields: list[Any],
    *,
    types: Any,
    N: int,
    size: int,
    scan: Callable[..., Any],
    declared: Callable[[str], int],
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
        declared: gives the bytes that a column declares, or fewer.
        lock: of the file.
    """
    names, kind = [field.name for field in fields], fields[0].type
    is_list = types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind)
    item = kind.value_type if is_list or types.is_dictionary(kind) else kind
    shape: tuple[int, ...] = (N,)
    remedy = "store it without compression or dictionaries"
    if problem := excess(declared(names[0]), size):
        return Entry.refused(problem, remedy)
    if not is_list and _are_words(types, item):
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
        rows = (row for batch in scan(batch_size=16, columns=names) for row in batch[names[0]])
        shape = (N, len(next((row for row in rows if row.is_valid), ())))
    row_bytes, width = 8 * max((1, *shape[1:])), shape[1:] if is_list else ()
    if problem := excess(N * row_bytes, size):
        return Entry.refused(problem, remedy)

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
    missing is NaN, or None among words.
    """
    if dtype == WORDS:
        piece = piece if hasattr(piece, "dictionary") else piece.dictionary_encode()
        words = np.array([*piece.dictionary.to_pylist(), None], dtype=object)
        longest = max((len(word) for word in words if word is not None), default=0)
        if longest > _LONGEST_WORD:
            raise DataError(
                f"{where} has a word of {longest:,} letters, at most {_LONGEST_WORD:,} are read; "
                "store class numbers"
            )
        return words[piece.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)]
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
    each with the number of its first row.
    """
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


def keras(file: IO[bytes], path: str) -> AbstractContextManager[Catalogue]:
    """Refuse a model of Keras: its weights have no names there that say what they are."""
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
    ".off": off,
    ".parquet": table_columns,
    ".arrow": table_columns,
    ".feather": table_columns,
}


def reader_for(path: str, file: IO[bytes]) -> Reader:
    """The reader for what the file's first bytes say it is; text and damaged files go by suffix."""
    if path == "-":
        return open_hdf5
    if path.endswith("index.json"):
        return shards
    if PurePath(path).name == DATASET:
        return saved_dataset
    if reader := _by_content(file) or FORMATS.get(PurePath(path).suffix.lower()):
        return reader
    step = f"rename a text to one of {', '.join(TEXTS)}"
    if b"\0" in file.read(1024):
        step = "convert it: numpy.savez('data.npz', features=H, labels=y)"
    raise DataError(
        f"{path!r} has a suffix that names no format and begins like none of "
        f"{', '.join(FORMATS)}; {step}"
    )


def _by_content(file: IO[bytes]) -> Reader | None:
    """What a file is by its first bytes, and a zip archive by its members; None where unknown."""
    size = file_size(file)
    start = file.read(16)
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
    known: dict[bytes, Reader | None] = {
        HDF5_SIGNATURE: open_hdf5,
        b"MATLAB 7.3": open_hdf5,
        b"MATLAB 5.0": mat,
        b"\x93NUMPY": npy,
        b"PAR1": table_columns,
        b"ARROW1": table_columns,
        b"\x80": tensors if start[2:3] != b"\0" else None,  # a pickle, or .fvecs of d = 128
        b"\xff\xff\xff\xff": table_columns,  # an Arrow stream
        GZIP_SIGNATURE: gz,
    }
    return next((reader for magic, reader in known.items() if start.startswith(magic)), None)
