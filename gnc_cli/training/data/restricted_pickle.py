"""Pickles of arrays, lists, dicts, strings, bytes and numbers; nothing else is ever built.

The machine of `pickle` runs no code by itself: it asks `find_class` for what a file wants to call.
Here it gets stand-ins for NumPy's three names, under those of NumPy 1 and 2, and they check every
argument before NumPy sees it; any other name ends the reading.
"""

import math
import pickle
import re
from typing import IO, Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import translated

_NUMBERS = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f[248])")
_WHAT = "a pickle of arrays, lists, dicts, strings and numbers"


def load_plain(file: IO[bytes], where: str) -> Any:
    """The one object of a pickle, of Python 2 or 3; arrays as protocols 2 to 4 write them.

    Args:
        file: an open binary file.
        where: names it in messages.

    Returns:
        Lists, dicts, tuples, strings, bytes and numbers as they are (the strings of Python 2 are
        bytes), arrays as numpy.ndarray or a subclass.

    Raises:
        DataError: the file wants to build anything else, and what; or it is damaged.

    Example:
        >>> import io
        >>> load_plain(io.BytesIO(pickle.dumps({"data": [1, 2.5]})), "some file")
        {'data': [1, 2.5]}
    """
    with translated(where, _WHAT):
        return _Unpickler(file, where).load()


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: IO[bytes], where: str) -> None:
        super().__init__(file, encoding="bytes")
        self._where = where

    def find_class(self, module: str, name: str, /) -> Any:
        # New ones each time, without attributes: a file may try to write into what it is given.
        if (module, name) == ("numpy", "ndarray"):
            return _ArrayType()
        if (module, name) == ("numpy", "dtype"):
            return _DtypeType()
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return _Reconstruct()
        wanted = f"{module}.{name}"[:100]
        raise DataError(
            f"{self._where!r} wants to build {wanted!r}, which may run code and is refused; "
            f"expected {_WHAT} alone: get the file from its source again"
        )


class _ArrayType:
    """In place of numpy.ndarray, which files name and never call."""

    __slots__ = ()


class _DtypeType:
    """In place of numpy.dtype."""

    __slots__ = ()

    def __call__(self, code: Any, align: Any = 0, copy: Any = 0) -> "_Dtype":
        text = _text(code)
        if not _NUMBERS.fullmatch(text):
            raise ValueError(f"an array has dtype {text[:40]!r}, which is no number")
        return _Dtype(text)


class _Dtype:
    """In place of a dtype: its code, then its byte order."""

    __slots__ = ("value",)

    def __init__(self, code: str) -> None:
        self.value = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        order: Any = _text(state[1])
        if order not in ("<", ">", "|", "="):
            raise ValueError("an array's dtype has a state that NumPy does not write")
        if any(part is not None for part in state[2:5]):
            raise ValueError("an array's dtype has fields, and is no number")
        self.value = self.value.newbyteorder(order)


class _Reconstruct:
    """In place of NumPy's function: an empty array, which its state then fills."""

    __slots__ = ()

    def __call__(self, kind: Any, shape: Any, code: Any) -> "_Array":
        if not isinstance(kind, _ArrayType):
            raise ValueError("an array is of a class other than numpy.ndarray")
        return _Array((0,), np.uint8)


class _Array(np.ndarray):
    """An array whose state is checked before it is believed."""

    def __setstate__(self, state: Any, /) -> None:
        version, shape, dtype, fortran, raw = state
        right = (
            version == 1
            and isinstance(shape, tuple)
            and all(type(n) is int and n >= 0 for n in shape)
            and isinstance(dtype, _Dtype)
            and isinstance(raw, bytes)
        )
        if not right:
            raise ValueError("an array has a state that NumPy does not write")
        if math.prod(shape) * dtype.value.itemsize != len(raw):
            raise ValueError(f"an array of shape {shape} {dtype.value} has {len(raw)} bytes")
        checked: Any = (1, shape, dtype.value, bool(fortran), raw)
        super().__setstate__(checked)


def _text(value: Any) -> str:
    """A short text, which Python 2 wrote as bytes."""
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
