"""PyTorch files: tensors and numeric NumPy arrays in nested dictionaries; no code of theirs runs.

The file is mapped where its kind allows, so that a large tensor is not loaded to read some rows.
"""

import argparse
import codecs
import contextlib
import io
import math
import os
import pickle
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.atomic import deferring_errors
from gnc_cli.io.catalogue import Catalogue, Entry, translated
from gnc_cli.io.provenance import provenance_text

if TYPE_CHECKING:
    from gnc_cli.io.codefile import CodeFile

_MOST_ITEMS = 1_000_000
_DEEPEST = 100
_LONGEST = 1000
"""Of a name. Dictionaries that hold themselves, or each other many times over, have no end."""
_PLAIN = (str, int, float)


@contextlib.contextmanager
def pt(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """A tensor, or nested dictionaries and lists of them, with `weights_only=True`.

    Attributes are the plain values beside the tensors at the top: `epoch`, `provenance`.
    """
    with translated(path, ".pt with plain tensors (weights_only=True)"):
        loaded = load_plain(file, path)
        entries = _entries(loaded)
        top = loaded if isinstance(loaded, dict) else {}
        attrs = {str(key): value for key, value in top.items() if isinstance(value, _PLAIN)}
    yield Catalogue(path, entries, attrs)


def write_pt(file: IO[bytes], code: "CodeFile") -> None:
    """A dictionary of torch tensors, for `torch.load(path, weights_only=True)`."""
    import torch

    tensors = {name: torch.from_numpy(array.copy()) for name, array in code.arrays().items()}
    with deferring_errors(file) as sink:
        torch.save(tensors | {"provenance": provenance_text(code.provenance)}, sink)


def load_plain(file: IO[bytes], path: str, *, mapped: bool = True) -> Any:
    """What the file holds, by `torch.load(weights_only=True)`, with numeric NumPy arrays allowed,
    and the options that training programs save: argparse's and pathlib's.

    `mapped`: large tensors stay in the file until they are used, where its kind allows.

    Raises:
        DataError: damaged, or with Python objects that could run code.
        Exception: whatever torch makes of other files; see `translated`.
    """
    import torch

    mapped = _is_archive(file) and mapped and not isinstance(file, io.BytesIO)
    with _inert(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch speaks of its own past here, not of the file
        try:
            source = path if mapped else file
            return torch.load(source, map_location="cpu", weights_only=True, mmap=mapped or None)
        except pickle.UnpicklingError as error:
            refused = re.search(r"GLOBAL (\S+) was not", str(error))
            if refused is None:
                raise DataError(
                    f"{path!r} is damaged, or holds Python objects beside tensors; those could "
                    "run code and are refused; save with torch.save({'weights': W}, FILE)"
                ) from error
            raise DataError(
                f"{path!r} holds a Python object, {refused[1]}, beside tensors; it could run code "
                "and is refused; save the tensors alone: "
                "torch.save(checkpoint['state_dict'], FILE)"
            ) from error
        except RuntimeError as error:
            if "TorchScript" in str(error):
                raise DataError(
                    f"{path!r} is a TorchScript program, and none is run here; save its tensors "
                    "with torch.save(module.state_dict(), FILE)"
                ) from error
            if "miniz" in str(error):  # torch asks to be told; the user needs to know of the file
                raise ValueError("its archive is damaged") from error
            raise


def _is_archive(file: IO[bytes]) -> bool:
    """Whether torch can map the file: a zip archive whose members are as long as they claim."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if not zipfile.is_zipfile(file):
        file.seek(0)
        start = file.read(4)
        file.seek(0)
        if start == b"PK\x03\x04":
            raise ValueError("it begins an archive that has no end")
        return False
    with zipfile.ZipFile(file) as archive:
        claimed = sum(member.file_size for member in archive.infolist())
    file.seek(0)
    if claimed > size:  # torch never compresses
        raise ValueError(f"its members claim {claimed} bytes in a file of {size}")
    return True


@contextlib.contextmanager
def _inert() -> Iterator[None]:
    """Let torch rebuild NumPy arrays and scalars (names of NumPy 1 and 2), namespaces and paths:
    nothing that acts."""
    import torch

    allowed: list[Any] = [np.ndarray, np.dtype, codecs.encode, argparse.Namespace]
    for name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"):
        allowed.append(_renamed(PurePath, "pathlib", name))
    allowed += {type(np.dtype(code)) for code in "?bBhHiIlLqQefdgFDSU"}
    functions: list[Any] = [value.__reduce__()[0] for value in (np.array(0), np.float64(0))]
    for function in functions:  # _reconstruct and scalar
        for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
            own = function.__module__ == module
            allowed.append(function if own else _renamed(function, module, function.__name__))
    if hasattr(torch.serialization, "safe_globals"):
        with torch.serialization.safe_globals(allowed):
            yield
    else:  # torch 2.4
        torch.serialization.add_safe_globals(allowed)
        yield


def _renamed(function: Callable[..., Any], module: str, name: str) -> Callable[..., Any]:
    """`function` under the name that the file has for it; torch goes by name."""

    def call(*args: Any) -> Any:
        return function(*args)

    call.__module__, call.__name__, call.__qualname__ = module, name, name
    return call


def _entries(loaded: Any) -> dict[str, Entry]:
    """The tensors and arrays of nested dictionaries and lists, by the path to them."""
    import torch

    entries: dict[str, Entry] = {}
    waiting: list[tuple[str, Any, int]] = [("", loaded, 0)]
    for _ in range(_MOST_ITEMS):
        if not waiting:
            return entries
        name, value, depth = waiting.pop()
        if isinstance(value, torch.Tensor):
            entries[name or "tensor"] = _tensor(value)
        elif isinstance(value, (np.ndarray, np.generic)):
            entries[name or "array"] = _array(np.asarray(value))
        elif depth > _DEEPEST or len(name) > _LONGEST:
            continue
        elif isinstance(value, (dict, list, tuple)):
            items = list(value.items() if isinstance(value, dict) else enumerate(value))
            dot = f"{name}." if name else ""
            waiting += [(f"{dot}{key}", item, depth + 1) for key, item in reversed(items)]
    raise ValueError(f"it holds more than {_MOST_ITEMS} items")


def _array(array: np.ndarray) -> Entry:
    return Entry(array.shape, str(array.dtype), array.dtype.kind in "iuf", lambda: array)


def _tensor(tensor: Any) -> Entry:
    import torch

    dtype = str(tensor.dtype).removeprefix("torch.")
    shape = tuple(tensor.shape)
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.device.type != "cpu":
        return Entry.refused("is no plain dense tensor")
    real = tensor.dtype.is_floating_point or dtype.startswith(("int", "uint"))
    plain = tensor.detach()
    alike = dtype in ("float16", "float32", "float64") or not tensor.dtype.is_floating_point

    def read(start: int, stop: int) -> np.ndarray:
        rows = plain[start:stop]
        return (rows if alike else rows.float()).numpy()

    def load() -> np.ndarray:
        return (plain if alike else plain.double()).numpy()

    def doubt() -> str | None:
        declared = math.prod(shape) * tensor.element_size()
        stored = tensor.untyped_storage().nbytes()
        if declared <= stored:
            return None
        return (
            f"declares shape {shape}, {declared} bytes, of which {stored} are stored: the same "
            "numbers again and again; save tensor.contiguous()"
        )

    return Entry(shape, dtype, real, load, read=read if shape else None, doubt=doubt)
