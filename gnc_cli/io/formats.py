"""The formats by content and suffix: how a file becomes a `Catalogue`.

A reader gives a catalogue that is valid inside a `with` block. Names, shapes and dtypes come first,
numbers only when asked for. Nothing is unpickled, no link is followed out of the file, and whatever
a library raises becomes one DataError.
"""

import contextlib
import io
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import PurePath
from typing import IO

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.array_files import npy, npz, safetensors
from gnc_cli.io.catalogue import NAMES, Catalogue, Entry, translated
from gnc_cli.io.expressions import MARKS, nearest_float
from gnc_cli.io.inputs import HDF5_SIGNATURE, decoded, file_size, open_input, read_json
from gnc_cli.io.matlab import mat
from gnc_cli.io.off import off
from gnc_cli.io.tables import columns

_MOST_EXACT = 4_000_000
"""Characters of a file with expressions: about a minute."""
Reader = Callable[[IO[bytes], str], AbstractContextManager[Catalogue]]
_WORD = re.compile(r"(?!(nan|inf(inity)?)$|sqrt\()[^\W\d]", re.IGNORECASE)
"""How a word of a header begins; `sqrt(2)` is a number."""


def hdf5(file: IO[bytes], path: str) -> AbstractContextManager[Catalogue]:
    """HDF5 of any layout."""
    from gnc_cli.io.hdf5 import open_hdf5

    return open_hdf5(file, path)


def pt(file: IO[bytes], path: str) -> AbstractContextManager[Catalogue]:
    """A tensor, or nested dictionaries and lists of them, as torch saves them."""
    from gnc_cli.io.torch_file import tensors

    return tensors(file, path)


_SHARDS: dict[str, Reader] = {".safetensors": safetensors, ".bin": pt}


@contextlib.contextmanager
def txt(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Text, one point per line."""
    table, header = read_table(file, path)
    called = {*sum(NAMES["labels"], ("class",))} - ({"y"} if "x" in header else set())
    label = [at for at, word in enumerate(header) if word.lower() in called]
    arrays = {"table": table}
    if len(label) == 1 and len(header) > 1:
        arrays = {"features": np.delete(table, label, axis=1), "labels": table[:, label[0]]}
    yield Catalogue(
        path,
        {
            name: Entry(array.shape, "float64", True, partial(np.asarray, array))
            for name, array in arrays.items()
        },
    )


def read_table(file: IO[bytes], path: str) -> tuple[np.ndarray, list[str]]:
    """The numbers of a text file, one row per line, shape (rows, columns), float64, exact; and the
    words of its first line, where all are words or it counts the columns from 0, as pandas does.

    Columns are separated by commas if the first line of data has one, by blanks otherwise. Numbers
    may be expressions, such as `1/3` or `sqrt(5)/5`: see `expressions`.

    Raises:
        DataError: no text, no numbers, or rows of unequal length; names the line.
    """
    text = decoded(file, path, "if it is another format, give it that format's suffix")
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    first = next((line for line in lines if line), None)
    if first is None:
        raise DataError(f"{path!r} holds no numbers; expected one point a line")
    delimiter = "," if "," in first else None
    words = [word.strip().strip('"') for word in first.split(delimiter)]
    counted = len(words) > 2 and words == [str(at) for at in range(len(words))]
    header = words if counted or all(_WORD.match(word) for word in words) else []
    if header and any(lines[lines.index(first) + 1 :]):
        lines[lines.index(first)] = ""
    try:
        return _numbers("\n".join(lines), delimiter), header
    except ValueError as error:
        reason = str(error).partition("; use `usecols`")[0].rstrip(".")
        row = re.search(r" at row (\d+)(, column \d+|)$", reason)
        if row is not None:  # NumPy counts rows of numbers, and from 1 where their length changes
            numbers = [number for number, line in enumerate(lines, start=1) if line]
            number_of_line = numbers[int(row[1]) - (not row[2])]
            # The cause is what `nearest_float` says.
            reason = f"{error.__cause__ or reason[: row.start()]} in line {number_of_line}{row[2]}"
        raise DataError(
            f"{path!r} is no table of numbers: {reason}; write one point on each line, put # "
            "before lines of words, drop a column of row names (to_csv(index=False)), and number "
            "classes that are words"
        ) from error


def _numbers(text: str, delimiter: str | None) -> np.ndarray:
    """Decimal numbers, as fast as NumPy reads them; or some that are expressions."""
    try:
        return np.loadtxt(io.StringIO(text), delimiter=delimiter, ndmin=2)
    except ValueError:
        if len(text) > _MOST_EXACT or MARKS.search(text) is None:
            raise
    return np.loadtxt(
        io.StringIO(text), delimiter=delimiter, ndmin=2, converters=nearest_float, encoding=None
    )


@contextlib.contextmanager
def shards(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """The tensors of several files beside an index of them, `model.safetensors.index.json` or
    `pytorch_model.bin.index.json`, by its `weight_map`.

    Raises:
        DataError: no such index, or it points out of its folder. A file or tensor that is missing
            is refused where it is asked for: the others can be used.
    """
    with translated(path, "an index of the tensors of a model"):
        index = read_json(path, "an index of the tensors of a model")
        names_of: dict[str, list[str]] = {}
        for name, shard in index["weight_map"].items():
            names_of.setdefault(str(shard), []).append(name)
    entries: dict[str, Entry] = {}
    with contextlib.ExitStack() as stack:
        for shard, names in names_of.items():
            reader = _SHARDS.get(PurePath(shard).suffix)
            if PurePath(shard).name != shard or reader is None:
                raise DataError(
                    f"{path!r} points to {shard!r}; expected {' or '.join(_SHARDS)} files of its "
                    "own folder"
                )
            beside = str(PurePath(path).with_name(shard))
            if not os.path.exists(beside):
                missing = Entry.refused(
                    f"is in {beside!r}, which is missing", "fetch that file too"
                )
                entries |= dict.fromkeys(names, missing)
                continue
            part = stack.enter_context(reader(stack.enter_context(open_input(beside)), beside))
            entries |= {name: part.entries[name] for name in names if name in part.entries}
        yield Catalogue(path, entries)


FORMATS: dict[str, Reader] = {
    ".mat": mat,
    ".h5": hdf5,
    ".hdf5": hdf5,
    ".npz": npz,
    ".npy": npy,
    ".safetensors": safetensors,
    ".index.json": shards,
    ".pt": pt,
    ".pth": pt,
    ".ckpt": pt,
    ".txt": txt,
    ".csv": txt,
    ".off": off,
    ".parquet": columns,
    ".arrow": columns,
    ".feather": columns,
}


def reader_for(path: str, file: IO[bytes]) -> Reader:
    """The reader for what the file's first bytes say it is; text and damaged files go by suffix."""
    if path == "-":
        return hdf5
    if path.endswith("index.json"):
        return shards
    reader = _by_content(file)
    if reader is not None:
        return reader
    suffix = PurePath(path).suffix.lower()
    if suffix in FORMATS:
        return FORMATS[suffix]
    raise DataError(
        f"{path!r} has a suffix that names no format and begins like none; "
        f"rename it to one of {', '.join(FORMATS)}"
    )


def _by_content(file: IO[bytes]) -> Reader | None:
    """What a file is by its first bytes, and a zip archive by its members; None where unknown."""
    size = file_size(file)
    start = file.read(16)
    file.seek(0)
    if start.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(file) as archive:
                torch = any(name.rpartition("/")[2] == "data.pkl" for name in archive.namelist())
        except Exception:  # damaged: the reader by suffix will say so
            return None
        finally:
            file.seek(0)
        return pt if torch else npz
    if int.from_bytes(start[:8], "little") <= size - 8 and start[8:9] == b"{":
        return safetensors
    known = {
        HDF5_SIGNATURE: hdf5,
        b"MATLAB 7.3": hdf5,
        b"MATLAB 5.0": mat,
        b"\x93NUMPY": npy,
        b"PAR1": columns,
        b"ARROW1": columns,
        b"\x80": pt,  # a pickle
    }
    return next((reader for magic, reader in known.items() if start.startswith(magic)), None)
