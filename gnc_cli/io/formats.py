"""One function per format: an open file becomes a `Catalogue`, valid inside a `with` block.

Names, shapes and dtypes come first, numbers only when asked for. Nothing is unpickled, no link is
followed out of the file, and whatever a library raises becomes one DataError.
"""

import contextlib
import io
import math
import os
import pickle
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import IO, Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import Catalogue, Entry, translated
from gnc_cli.io.hdf5 import open_hdf5
from gnc_cli.io.text import read_table

__all__ = ["READERS", "Reader"]

_SAFETENSORS_WORDS = {"F": "float", "BF": "bfloat", "I": "int", "U": "uint"}

Reader = Callable[[IO[bytes], str], AbstractContextManager[Catalogue]]


@contextlib.contextmanager
def hdf5(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """HDF5 of any layout."""
    with open_hdf5(file, path) as (catalogue, _):
        yield catalogue


@contextlib.contextmanager
def npy(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """One NumPy array; a pickle, or an array of objects, is refused."""
    size = file.seek(0, os.SEEK_END)

    @contextlib.contextmanager
    def rewound() -> Iterator[IO[bytes]]:
        file.seek(0)
        yield file

    with translated(path, ".npy"):
        entry = _npy_entry(rewound, size)
    yield Catalogue(path, {"array": entry})


@contextlib.contextmanager
def npz(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """A zip archive of NumPy arrays; `provenance` is a string."""
    with translated(path, ".npz"):
        archive = zipfile.ZipFile(file)
    with archive:
        entries: dict[str, Entry] = {}
        attrs: dict[str, Any] = {}
        for member in archive.infolist():
            name, dot, suffix = member.filename.rpartition(".")
            if not dot or suffix != "npy":
                continue

            def stream(member: zipfile.ZipInfo = member) -> IO[bytes]:
                return archive.open(member)

            with translated(path, f".npz (member {member.filename!r})"):
                entry = _npy_entry(stream, member.file_size)
                if name == "provenance":
                    attrs[name] = str(entry.load()) if entry.dtype.startswith("<U") else ""
                else:
                    entries[name] = entry
        yield Catalogue(path, entries, attrs)


@contextlib.contextmanager
def safetensors(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Safetensors, mapped rather than read; bfloat16 takes torch."""
    from safetensors import safe_open

    if isinstance(file, io.BytesIO):
        raise DataError(f"{path!r} is a pipe; save the safetensors in a file first")
    with translated(path, "safetensors"), contextlib.ExitStack() as stack:
        tensors = stack.enter_context(safe_open(path, framework="numpy"))
        entries = {}
        for name in tensors.keys():  # noqa: SIM118 (no mapping: it has keys and nothing else)
            view = tensors.get_slice(name)
            code = str(view.get_dtype())  # F64, BF16, I32, U8; BOOL, C64, F8_E4M3 and others
            word = _SAFETENSORS_WORDS.get(code.rstrip("0123456789"))
            dtype = word + code.lstrip("BFIU") if word else code

            def load(name: str = name, dtype: str = dtype) -> np.ndarray:
                if dtype != "bfloat16":
                    return tensors.get_tensor(name)
                with safe_open(path, framework="pt") as again:
                    return again.get_tensor(name).double().numpy()

            entries[name] = Entry(tuple(view.get_shape()), dtype, word is not None, load)
        held = stack.pop_all()
        attrs = dict(tensors.metadata() or {})
    with held:
        yield Catalogue(path, entries, attrs)


@contextlib.contextmanager
def pt(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """A torch tensor, or nested dictionaries of them, with `weights_only=True`: no code runs."""
    import torch

    with translated(path, ".pt with plain tensors (weights_only=True)"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch speaks of its own past here, not of the file
        try:
            loaded = torch.load(file, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError as error:
            raise DataError(
                f"{path!r} is damaged, or holds Python objects beside tensors; those could run "
                "code and are refused; save with torch.save({'weights': W}, FILE)"
            ) from error
    entries: dict[str, Entry] = {}
    attrs: dict[str, Any] = {}

    def visit(name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            entries[name or "tensor"] = _torch_entry(value)
        elif isinstance(value, dict):
            for key, item in value.items():
                visit(f"{name}.{key}" if name else str(key), item)
        elif isinstance(value, str) and name == "provenance":
            attrs[name] = value

    visit("", loaded)
    yield Catalogue(path, entries, attrs)


@contextlib.contextmanager
def txt(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Text, one point a line."""
    table = read_table(file, path)
    yield Catalogue(path, {"table": Entry(table.shape, "float64", True, lambda: table)})


def _npy_entry(stream: Callable[[], AbstractContextManager[IO[bytes]]], size: int) -> Entry:
    """Read the header alone, and hold the shape it declares against the bytes that are there."""
    with stream() as file:
        version = np.lib.format.read_magic(file)
        readers = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        if version not in readers:
            raise ValueError(f"version {version} of the format holds no plain numbers")
        shape, _, dtype = readers[version](file)
        held = size - file.tell()
    needed = math.prod(shape) * dtype.itemsize
    if needed > held and not dtype.hasobject:
        raise ValueError(f"its header declares {shape} {dtype}, {needed} bytes; {held} follow")

    def load() -> np.ndarray:
        with stream() as file:
            return np.lib.format.read_array(file, allow_pickle=False)

    return Entry(shape, str(dtype.str if dtype.kind == "U" else dtype), dtype.kind in "iuf", load)


def _torch_entry(tensor: Any) -> Entry:
    import torch

    dtype = str(tensor.dtype).removeprefix("torch.")
    shape = tuple(tensor.shape)
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.device.type != "cpu":
        return Entry(shape, dtype, False, lambda: np.empty(0), "is no plain dense tensor")
    real = tensor.dtype.is_floating_point or dtype.startswith(("int", "uint"))

    def load() -> np.ndarray:
        plain = tensor.detach()
        return (plain.double() if plain.dtype.is_floating_point else plain).numpy()

    return Entry(shape, dtype, real, load)


READERS: dict[str, Reader] = {
    ".h5": hdf5,
    ".hdf5": hdf5,
    ".npz": npz,
    ".npy": npy,
    ".txt": txt,
    ".csv": txt,
    ".safetensors": safetensors,
    ".pt": pt,
    ".pth": pt,
}
