"""Arrays after a header: `.npy`, `.fvecs`, `.safetensors`, `.npz` and the variables of MATLAB.

The first three are read by rows. `.npz`, a zip archive of `.npy`, and MATLAB are read whole. The
header of safetensors is simple enough to be read here: rows are read by offset without a map, and
bfloat16 without torch. MATLAB's files of version 7.3 are HDF5 (`hdf5.py`), with the axes in the
other order. Older ones are read by SciPy, one variable at a time. Texts, cells, structures and
objects are listed and never read.
"""

import contextlib
import json
import math
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import IO, Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import MAX_ENTRIES, WORDS, Catalogue, Entry, translated
from gnc_cli.io.code import CodeFile, provenance_text
from gnc_cli.io.file_rows import BFLOAT16, FlatArray, native
from gnc_cli.io.inputs import excess, file_size, open_input, read_json
from gnc_cli.io.torch_file import tensors

_HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
"""Readers of the header of `.npy`, by version; version 3 is for structured arrays."""
_SAFETENSORS_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
}
"""Dtypes by their names in safetensors."""
_MAX_HEADER_BYTES = 20_000_000
"""Largest header of safetensors, in bytes, 200 for each of `MAX_ENTRIES` tensors.

It is parsed as a whole.
"""
MATLAB_NUMBERS = {"double": "float64", "single": "float32", "logical": "uint8"} | {
    name: name for bits in (8, 16, 32, 64) for name in (f"int{bits}", f"uint{bits}")
}
"""Dtypes of the number classes of MATLAB."""


@contextlib.contextmanager
def npy(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Open a file of one NumPy array; a pickle, or an array of objects, is refused."""
    with translated(path, ".npy"):
        size = file_size(file)
        shape, fortran, dtype = _npy_header(file, size)
        if dtype.hasobject:
            raise DataError(
                f"{path!r} holds Python objects; those could run code and are refused: "
                "save plain numbers"
            )
        flat = FlatArray(file, file.tell(), shape, dtype, fortran=fortran)
    entry = _entry(shape, dtype, flat.load)
    yield Catalogue(path, {"array": replace(entry, read=flat.read if entry.real else None)})


@contextlib.contextmanager
def fvecs(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Open a file of rows of float32, each after its length as int32."""
    size, d = file_size(file), int.from_bytes(file.read(4), "little")
    if not 0 < d < 1 << 30 or size % (4 + 4 * d):
        raise DataError(
            f"{path!r} has {size} bytes, which are not rows of {d} float32; is it cut short?"
        )
    N = size // (4 + 4 * d)
    flat = FlatArray(file, 0, (N, 1 + d), np.dtype("<f4"))

    def read(start: int, stop: int) -> np.ndarray:
        rows = flat.read(start, stop)
        wrong = np.flatnonzero(rows[:, 0].copy().view(np.int32) != d)
        if wrong.size:
            raise DataError(
                f"{path!r} does not have {d} numbers in row {start + wrong[0]}; rows have one "
                "length"
            )
        return rows[:, 1:]

    yield Catalogue(path, {"array": Entry((N, d), "float32", True, partial(read, 0, N), read=read)})


@contextlib.contextmanager
def npz(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Open a zip archive of NumPy arrays; `provenance` is a string."""
    with translated(path, ".npz"):
        archive = zipfile.ZipFile(file)
    with archive:
        entries: dict[str, Entry] = {}
        attrs: dict[str, Any] = {}
        for member in archive.infolist():
            name, dot, suffix = member.filename.rpartition(".")
            if not dot or suffix != "npy":
                continue
            with translated(path, f".npz (member {member.filename!r})"):
                entry = _member(archive, member)
                if name == "provenance":
                    attrs[name] = str(entry.load()) if entry.dtype == WORDS else ""
                else:
                    entries[name] = entry
        yield Catalogue(path, entries, attrs)


def write_npy(file: IO[bytes], code: CodeFile) -> None:
    """Write the weights alone, float64, in the format of NumPy."""
    np.lib.format.write_array(file, code.arrays()["weights"], allow_pickle=False)


def write_npz(file: IO[bytes], code: CodeFile) -> None:
    """Write `weights`, `features` if there are any, and `provenance` (a string), uncompressed."""
    arrays = code.arrays() | {"provenance": np.array(provenance_text(code.provenance))}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            # np.savez would store the time of day; here equal input gives equal bytes.
            member = zipfile.ZipInfo(name + ".npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(member, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


@contextlib.contextmanager
def safetensors(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Open a file of tensors in the format of safetensors."""
    with translated(path, "safetensors"):
        size = file_size(file)
        length = int.from_bytes(file.read(8), "little")
        if length > min(size - 8, _MAX_HEADER_BYTES):
            raise ValueError(
                f"a header of {length} bytes, at most {_MAX_HEADER_BYTES} are read, "
                f"in a file of {size}"
            )
        header = json.loads(file.read(length))
        if not isinstance(header, dict) or len(header) > MAX_ENTRIES:
            raise ValueError(f"its header is not a dictionary of at most {MAX_ENTRIES:,} tensors")
        attrs = {str(key): value for key, value in dict(header.pop("__metadata__", {})).items()}
        entries = {name: _tensor(file, item, 8 + length, size) for name, item in header.items()}
    yield Catalogue(path, entries, attrs)


@contextlib.contextmanager
def shards(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Open the tensors of several files in the folder of their index, by its `weight_map`.

    The index is `model.safetensors.index.json` or `pytorch_model.bin.index.json`.

    Raises:
        DataError: this is not an index, or it points out of its folder. A missing file or tensor
            is refused only when it is read, since the others can be used.
    """
    readers = {".safetensors": safetensors, ".bin": tensors}
    kind = "an index of the tensors of a model"
    with translated(path, kind):
        names_by_shard: dict[str, list[str]] = {}
        for name, shard in read_json(path, kind)["weight_map"].items():
            names_by_shard.setdefault(str(shard), []).append(name)
    entries: dict[str, Entry] = {}
    with contextlib.ExitStack() as stack:
        for shard, names in names_by_shard.items():
            reader = readers.get(PurePath(shard).suffix)
            if PurePath(shard).name != shard or reader is None:
                raise DataError(
                    f"{path!r} points to {shard!r}; expected {' or '.join(readers)} files in its "
                    "folder"
                )
            location = str(PurePath(path).with_name(shard))
            missing = Entry.refused(f"is in {location!r}, which is missing", "fetch that file too")
            shard_entries = dict.fromkeys(names, missing)
            if os.path.exists(location):
                file = stack.enter_context(open_input(location))
                shard_entries = stack.enter_context(reader(file, location)).entries
            entries |= {name: shard_entries[name] for name in names if name in shard_entries}
        yield Catalogue(path, entries)


def write_safetensors(file: IO[bytes], code: CodeFile) -> None:
    """Write `weights` and `features`, with the provenance in the metadata."""
    from safetensors.numpy import save

    file.write(save(code.arrays(), metadata={"provenance": provenance_text(code.provenance)}))


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Entry:
    """List one array of an archive, by its header alone."""
    if problem := excess(member.file_size, member.compress_size):
        raise ValueError(f"it {problem}; save it uncompressed, with numpy.savez")
    with archive.open(member) as file:
        shape, _, dtype = _npy_header(file, member.file_size)

    def load() -> np.ndarray:
        with archive.open(member) as file:
            return np.asarray(np.lib.format.read_array(file, allow_pickle=False))

    return _entry(shape, dtype, load)


def _entry(shape: tuple[int, ...], dtype: np.dtype, load: Callable[[], np.ndarray]) -> Entry:
    """List an array of NumPy: texts are words, and a dtype of 2 raw bytes is bfloat16."""
    if dtype.kind in "US":
        return Entry(shape, WORDS, False, lambda: load().astype(str).astype(object))
    if dtype != BFLOAT16:
        return Entry(shape, str(dtype), dtype.kind in "iuf", load)
    note = "2 opaque bytes per number, read as bfloat16"
    return Entry(shape, "bfloat16", True, lambda: native(load()), note=note)


def _npy_header(file: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Read shape, Fortran order and dtype, as NumPy does, and compare the shape with the file."""
    version = np.lib.format.read_magic(file)
    if version not in _HEADER_READERS:
        raise ValueError(f"version {version} of the format does not hold plain numbers")
    shape, fortran, dtype = _HEADER_READERS[version](file)
    if any(n < 0 for n in shape):
        raise ValueError(f"its header declares shape {shape}")
    stored, declared = size - file.tell(), math.prod(shape) * dtype.itemsize
    if declared > stored and not dtype.hasobject:
        raise ValueError(f"its header declares {shape} {dtype}, {declared} bytes; {stored} follow")
    return shape, fortran, dtype


def _tensor(file: IO[bytes], item: dict[str, Any], start: int, size: int) -> Entry:
    """List one tensor of safetensors: `start` is the end of the header, `size` that of the file."""
    shape = tuple(item["shape"])
    begin, end = item["data_offsets"]
    if not all(type(n) is int and n >= 0 for n in (*shape, begin, end)):
        raise ValueError(f"shape {shape} at {begin}:{end}")
    dtype = _SAFETENSORS_DTYPES.get(item["dtype"], str(item["dtype"]))
    if item["dtype"] not in _SAFETENSORS_DTYPES:  # C64, F8_E4M3 and others
        return Entry(shape, dtype, False, lambda: np.empty(0))
    stored = BFLOAT16 if dtype == "bfloat16" else np.dtype(dtype).newbyteorder("<")
    if end > size - start or math.prod(shape) * stored.itemsize != end - begin:
        raise ValueError(f"shape {shape} {dtype} at {begin}:{end} of {size - start} bytes")
    flat = FlatArray(file, start + begin, shape, stored)
    return Entry(shape, dtype, dtype != "bool", flat.load, read=flat.read if shape else None)


@contextlib.contextmanager
def mat(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Open a file of MATLAB before 7.3."""
    from scipy.io import loadmat, whosmat

    size, lock = file_size(file), threading.Lock()

    def variable(name: str, shape: tuple[int, ...], kind: str) -> Entry:
        if kind not in MATLAB_NUMBERS:
            return matlab_refusal(kind)
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
            return np.asarray(array.astype(MATLAB_NUMBERS[kind], copy=False))

        return without_single_axis(Entry(shape, MATLAB_NUMBERS[kind], True, load))

    with translated(path, "a file of MATLAB"):
        entries = {name: variable(name, *rest) for name, *rest in whosmat(file)}
    yield Catalogue(path, entries)


def matlab_refusal(kind: str) -> Entry:
    """Return the entry of a variable that does not hold numbers."""
    return Entry.refused(
        f"is of MATLAB's class {kind}, not an array of numbers",
        "number words in MATLAB: [names, ~, labels] = unique(words); labels = labels - 1",
    )


def without_single_axis(entry: Entry) -> Entry:
    """Turn a row or column into a vector, and a single number into a scalar.

    MATLAB stores at least two axes.
    """
    if len(entry.shape) != 2 or 1 not in entry.shape:
        return entry
    shape = tuple(n for n in entry.shape if n != 1)
    return replace(
        entry, shape=shape, load=lambda: entry.load().reshape(shape), read=None, note=None
    )
