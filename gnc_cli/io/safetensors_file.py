"""Safetensors: a JSON header with offsets, then the numbers.

The header is plain enough to be read here: rows come by offset without a map, and bfloat16 without
torch.
"""

import contextlib
import json
import math
import os
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from gnc_cli.io.catalogue import MOST_ENTRIES, Catalogue, Entry, translated
from gnc_cli.io.code import CodeFile
from gnc_cli.io.file_rows import FlatArray
from gnc_cli.io.provenance import provenance_text

_TYPES = {
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
}
_MOST_HEADER = 20_000_000
"""Bytes."""


@contextlib.contextmanager
def safetensors(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """One file of tensors."""
    with translated(path, "safetensors"):
        header, start, size = _header(file)
        metadata = header.pop("__metadata__", {})
        entries = {name: _entry(file, item, start, size) for name, item in header.items()}
        ends = [item["data_offsets"][1] for item in header.values()]
        if max(ends, default=0) != size - start:
            raise ValueError(f"{size - start} bytes of numbers, {max(ends, default=0)} expected")
        attrs = {str(key): value for key, value in dict(metadata).items()}
    yield Catalogue(path, entries, attrs)


def write_safetensors(file: IO[bytes], code: CodeFile) -> None:
    """`weights` and `features`; provenance in the metadata."""
    from safetensors.numpy import save

    file.write(save(code.arrays(), metadata={"provenance": provenance_text(code.provenance)}))


def _header(file: IO[bytes]) -> tuple[dict[str, Any], int, int]:
    """The header, where the numbers begin, and the size of the file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if length > min(size - 8, _MOST_HEADER):
        raise ValueError(
            f"a header of {length} bytes, at most {_MOST_HEADER} are read, in a file of {size}"
        )
    header = json.loads(file.read(length))
    if not isinstance(header, dict) or len(header) > MOST_ENTRIES:
        raise ValueError(f"its header is no dictionary of at most {MOST_ENTRIES:,} tensors")
    return header, 8 + length, size


def _entry(file: IO[bytes], item: dict[str, Any], start: int, size: int) -> Entry:
    shape = tuple(item["shape"])
    begin, end = item["data_offsets"]
    if not all(type(n) is int and n >= 0 for n in (*shape, begin, end)):
        raise ValueError(f"shape {shape} at {begin}:{end}")
    dtype = _TYPES.get(item["dtype"], str(item["dtype"]))  # BOOL, C64, F8_E4M3 and others
    if item["dtype"] not in _TYPES:
        return Entry(shape, dtype, False, lambda: np.empty(0))
    bfloat16 = dtype == "bfloat16"
    stored = np.dtype("u2" if bfloat16 else dtype).newbyteorder("<")
    if end > size - start or math.prod(shape) * stored.itemsize != end - begin:
        raise ValueError(f"shape {shape} {dtype} at {begin}:{end} of {size - start} bytes")
    flat = FlatArray(file, start + begin, shape, stored, bfloat16=bfloat16)
    return Entry(shape, dtype, True, flat.load, read=flat.read if shape else None)
