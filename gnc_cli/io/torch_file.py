"""PyTorch files: tensors and numeric NumPy arrays in nested dictionaries; no code of theirs runs.

Files are read here, not by `torch.load`: its unpickler of plain data lets a file of some bytes take
gigabytes, and older ones let it do worse. The layout is simple: an archive with a pickle and a
member per storage. It is mapped where it can be, so that a large tensor is not loaded to read some
rows.
"""

import contextlib
import io
import math
import mmap
import pickle
import re
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import IO, Any, ClassVar

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import NAMES, Catalogue, Entry, translated
from gnc_cli.io.inputs import file_size

_MOST_ITEMS = 1_000_000
_MOST_STEPS = 10_000_000
"""Of a pickle; a tensor takes about 60."""
_DEEPEST = 100
_LONGEST = 1000
"""Of a name. Dictionaries that hold themselves, or each other many times over, have no end."""
_MOST_AXES = 64
_PLAIN = (str, int, float)
_STEPS = [
    pickle.PROTO,
    pickle.GLOBAL,
    pickle.REDUCE,
    pickle.BUILD,
    pickle.NEWOBJ,
    pickle.BINPERSID,
    pickle.MARK,
    pickle.EMPTY_DICT,
    pickle.EMPTY_LIST,
    pickle.EMPTY_TUPLE,
    pickle.APPEND,
    pickle.APPENDS,
    pickle.SETITEM,
    pickle.SETITEMS,
    pickle.TUPLE,
    pickle.TUPLE1,
    pickle.TUPLE2,
    pickle.TUPLE3,
    pickle.NONE,
    pickle.NEWTRUE,
    pickle.NEWFALSE,
    pickle.BININT,
    pickle.BININT1,
    pickle.BININT2,
    pickle.LONG1,
    pickle.BINFLOAT,
    pickle.BINUNICODE,
    pickle.SHORT_BINSTRING,
    pickle.BINGET,
    pickle.LONG_BINGET,
    pickle.BINPUT,
    pickle.LONG_BINPUT,
    pickle.STOP,
]
"""What torch.save writes into a pickle."""
_STORAGES = {
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
    "ComplexDouble": "complex128",
    "ComplexFloat": "complex64",
    "QInt32": "int32",
    "QInt8": "int8",
    "QUInt8": "uint8",
    "Untyped": "uint8",
}
_BATCHED = {n for role in ("features", "labels", "logits") for tier in NAMES[role] for n in tier}
_NOT_DENSE = "is no plain dense tensor"
_OF_TORCH = re.compile(r"torch\.((bfloat|float|u?int|complex)\d+(_e\dm\d\w*)?|bool|device)")
_NUMPY_DTYPE = re.compile(r"[biufc]\d{1,2}")
_IGNORED = re.compile(
    r"_?_?builtin(s|__)\.(set|complex|bytearray)|collections\.Counter|argparse\.Namespace"
    r"|pathlib(\._local)?\.(Pure)?(Posix|Windows)Path|torch\.(Tensor|per_\w+)|numpy\.ndarray"
    r"|torch\.nn\.parameter\.(Parameter|Buffer)|torch\.serialization\._get_layout"
)
"""What may lie beside tensors, and is not kept."""


@contextlib.contextmanager
def tensors(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """A tensor, or nested dictionaries and lists of them.

    Attributes are the plain values beside the tensors at the top: `epoch`, `provenance`.
    """
    with translated(path, ".pt with plain tensors"):
        loaded = load_plain(file, path)
        entries = _put_together(_entries(loaded))
        top = loaded if isinstance(loaded, dict) else {}
        attrs = {str(key): value for key, value in top.items() if isinstance(value, _PLAIN)}
    yield Catalogue(path, entries, attrs)


def load_plain(file: IO[bytes], path: str, *, mapped: bool = True) -> Any:
    """What the file holds: tensors on the CPU, plain data, `_Array`; an `Entry` for other tensors.

    `mapped`: large tensors stay in the file until they are used, unless it was piped.

    Raises:
        DataError: damaged, with Python objects that could run code, or of torch before 1.6.
        Exception: whatever other files lead to; see `translated`.
    """
    size = file_size(file)
    if file.read(1) == pickle.PROTO:
        raise DataError(
            f"{path!r} is a pickle, as torch saved before 1.6; it could run code and is refused; "
            "save the tensors again, with torch 1.6 or later"
        )
    with zipfile.ZipFile(file) as archive:
        members = {member.filename.partition("/")[2]: member for member in archive.infolist()}
        claimed = sum(member.file_size for member in archive.infolist())
        if claimed > size or "data.pkl" not in members:
            raise ValueError(f"its {len(members)} members claim {claimed} bytes of {size}")
        if any(member.compress_type for member in archive.infolist()):
            raise ValueError("its members are compressed, and torch writes them as they are")
        if "byteorder" in members and archive.read(members["byteorder"]) != b"little":
            raise ValueError("its numbers are big-endian")
        data = archive.read(members["data.pkl"])
    whole: mmap.mmap | bytearray
    if mapped and not isinstance(file, io.BytesIO):
        whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    else:
        file.seek(0)
        whole = bytearray(file.read())

    def find(key: str, length: int) -> tuple[Any, int]:
        member = members[f"data/{key}"]
        if length > member.file_size:
            raise ValueError(f"a storage of {length} bytes in {member.filename!r}")
        names = np.frombuffer(whole, "<u2", 2, member.header_offset + 26)
        return whole, member.header_offset + 30 + int(names.sum())

    return _Unpickler(io.BytesIO(data), path, size, find).load()


class _Dtype:
    """A numeric dtype, by its code; None for others."""

    def __init__(self, code: str, *_: Any) -> None:
        self.numbers = np.dtype(code) if _NUMPY_DTYPE.fullmatch(code) else None

    def build(self, order: Any, *state: Any) -> None:
        """Take the byte order, and nothing else: size and fields are those of the code."""
        if self.numbers is not None:
            if order not in ("<", ">", "|", "=") or state != (None, None, None, -1, -1, 0):
                raise ValueError(f"its dtype {self.numbers} has a state of its own")
            self.numbers = self.numbers.newbyteorder(order)


class _Array:
    """A NumPy array or scalar; without numbers until its state comes, and where it has none."""

    numbers: np.ndarray | None = None

    def build(self, shape: Any, dtype: _Dtype, fortran: Any, data: bytes) -> "_Array":
        """Take the numbers, if they are as many as the shape says."""
        if dtype.numbers is not None:
            flat = np.frombuffer(data, dtype.numbers)
            lengths = [n for n in shape[:_MOST_AXES] if type(n) is int and 0 <= n < 1 << 63]
            if len(lengths) < len(shape) or math.prod(lengths) != len(flat):
                raise ValueError(f"an array has {len(flat)} numbers, and its shape is another")
            self.numbers = flat.reshape(shape, order="F" if fortran else "C")
        return self


class _Steps:
    """A stream from which a limited number of pieces is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._read, self.readline, self._left = file.read, file.readline, _MOST_STEPS

    def read(self, count: int, /) -> bytes:
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"its pickle takes more than {_MOST_STEPS:,} steps")
        return self._read(count)


class _Unpickler(pickle._Unpickler):
    """Tensors, numeric arrays and plain data out of a pickle, and nothing else.

    Each name in a pickle stands for a function or type of this module. What the pickle makes takes
    no more memory than a small multiple of the file's size.

    Args:
        file: the pickle.
        path: names the file in messages.
        size: of the file.
        find: of a storage's key and length in bytes makes its buffer and its place there.
    """

    stack: list[Any]
    pop_mark: Callable[[], list[Any]]

    def __init__(
        self, file: IO[bytes], path: str, size: int, find: Callable[[str, int], tuple[Any, int]]
    ) -> None:
        super().__init__(_Steps(file), encoding="utf-8")
        self.storages: dict[str, Any] = {}
        """Flat tensors by key."""
        self._path, self._find, self._left = path, find, size

    def load(self) -> Any:
        try:
            return super().load()
        except (LookupError, TypeError, AttributeError, EOFError, pickle.PickleError) as error:
            raise DataError(
                f"{self._path!r} is damaged, or holds Python objects beside tensors; those could "
                "run code and are refused; save with torch.save({'weights': W}, FILE)"
            ) from error

    def find_class(self, module: str, name: str, /) -> Any:
        import torch

        full = f"{module}.{name}"
        if module in ("torch", "torch.cuda", "torch.storage") and name.endswith("Storage"):
            return getattr(torch, _STORAGES[name.removesuffix("Storage")])
        if _OF_TORCH.fullmatch(full):
            return getattr(torch, name)
        if full in _FUNCTIONS:
            return _FUNCTIONS[full]
        if full in ("_codecs.encode", "collections.OrderedDict"):
            return self._encode if name == "encode" else self._ordered
        if full.startswith("torch._utils._rebuild_"):
            return lambda *_: Entry.refused(_NOT_DENSE)
        if _IGNORED.fullmatch(full):
            return lambda *_: None
        raise DataError(
            f"{self._path!r} holds a Python object, {full.removeprefix('__builtin__.')[:100]}, "
            "beside tensors; it could run code and is refused; save the tensors alone: "
            "torch.save(checkpoint['state_dict'], FILE)"
        )

    def persistent_load(self, pid: Any) -> Any:
        import torch

        kind, dtype, key, _, count, *view = pid
        if kind != "storage" or type(key) is not str or any(view):
            raise ValueError("a storage has no plain name")
        if key not in self.storages:
            flat = torch.empty(0, dtype=dtype)
            if count > 0:
                buffer, offset = self._find(key, count * flat.itemsize)
                flat = torch.frombuffer(buffer, dtype=dtype, count=count, offset=offset)
            self.storages[key] = flat
        return self.storages[key]

    def _encode(self, text: str, coding: str) -> bytes:
        if coding != "latin1":
            raise pickle.UnpicklingError("only bytes in latin1 are written by torch")
        self.charge(len(text))
        return text.encode(coding)

    def _ordered(self, items: Any = ()) -> OrderedDict[Any, Any]:
        self.charge(64 * len(items))
        return OrderedDict((key, value) for key, value in items if isinstance(key, _PLAIN))

    def charge(self, count: int) -> None:
        """Refuse what takes more than the file, or is copied many times."""
        self._left -= count
        if self._left < 0:
            raise ValueError("its pickle and storages take more than the file holds")

    def _load_build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if isinstance(target, (_Array, _Dtype)):
            target.build(*state[1:])
        elif isinstance(target, OrderedDict):
            vars(target)["_metadata"] = state.get("_metadata")
        elif target is not None:
            raise pickle.UnpicklingError("an object has a state")

    def _load_setitem(self) -> None:
        self._set([self.stack.pop(-2), self.stack.pop()])

    def _load_setitems(self) -> None:
        self._set(self.pop_mark())

    def _set(self, items: list[Any]) -> None:
        """Other keys are dropped: tuples of tuples may take for ever to be hashed, or written."""
        pairs = zip(items[::2], items[1::2], strict=True)
        target = self.stack[-1]
        target.update((key, value) for key, value in pairs if isinstance(key, _PLAIN))

    dispatch: ClassVar[dict[int, Any]] = {
        **{step[0]: pickle._Unpickler.dispatch[step[0]] for step in _STEPS},
        pickle.NEWOBJ[0]: pickle._Unpickler.dispatch[pickle.REDUCE[0]],
        pickle.BUILD[0]: _load_build,
        pickle.SETITEM[0]: _load_setitem,
        pickle.SETITEMS[0]: _load_setitems,
    }


def _tensor_of(
    storage: Any,
    offset: int,
    size: Any,
    stride: Any,
    _: Any = None,
    __: Any = None,
    metadata: Any = None,
) -> Any:
    """Part of a storage; torch refuses what lies outside. `metadata`: it is stored negated."""
    import torch

    if len(size) > _MOST_AXES:
        raise ValueError(f"a tensor of {len(size)} axes")
    tensor = torch.as_strided(storage, size, stride, offset)
    declared, stored = tensor.numel() * tensor.itemsize, tensor.untyped_storage().nbytes()
    if declared > stored:
        return Entry.refused(
            f"declares shape {tuple(size)}, {declared} bytes, of which {stored} are stored: the "
            "same numbers again and again",
            "save tensor.contiguous()",
        )
    return Entry.refused(_NOT_DENSE) if metadata else tensor


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "__builtin__.bytes": lambda: b"",
    "numpy.dtype": _Dtype,
    "torch.Size": lambda lengths: lengths[:_MOST_AXES],
    "torch._utils._rebuild_tensor": _tensor_of,
    "torch._utils._rebuild_tensor_v2": _tensor_of,
    "torch._utils._rebuild_tensor_v3": lambda storage, *args: _tensor_of(
        storage.view(args[5]), *args[:5], *args[6:]
    ),
    "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
    "torch._utils._rebuild_parameter_with_state": lambda tensor, *_: tensor,
    "torch._tensor._rebuild_from_type_v2": lambda function, _, args, __: function(*args),
}
for _core in ("core", "_core"):  # of NumPy 1 and 2
    _FUNCTIONS[f"numpy.{_core}.multiarray._reconstruct"] = lambda *_: _Array()
    _FUNCTIONS[f"numpy.{_core}.multiarray.scalar"] = lambda dtype, data=b"": _Array().build(
        (), dtype, False, data
    )


def _entries(loaded: Any) -> dict[str, Entry]:
    """The tensors and arrays of nested dictionaries and lists, by the path to them."""
    import torch

    entries: dict[str, Entry] = {}
    kept = (Entry, torch.Tensor, _Array, dict, list, tuple)
    waiting = [("", loaded, 0)] if isinstance(loaded, kept) else []
    left = _MOST_ITEMS
    while waiting:
        name, value, depth = waiting.pop()
        if isinstance(value, Entry):
            entries[name or "tensor"] = value
        elif isinstance(value, torch.Tensor):
            entries[name or "tensor"] = _tensor(value)
        elif isinstance(value, _Array):
            entries[name or "array"] = _array(value.numbers)
        elif depth <= _DEEPEST:
            left -= len(value)
            if left < 0:
                raise ValueError(f"it holds more than {_MOST_ITEMS} items")
            items = list(value.items() if isinstance(value, dict) else enumerate(value))
            dot = f"{name}." if name else ""
            waiting += [
                (f"{dot}{key}", item, depth + 1)
                for key, item in reversed(items)
                if isinstance(item, kept) and len(dot) + len(str(key)) <= _LONGEST
            ]
    return entries


def _array(array: np.ndarray | None) -> Entry:
    if array is None:
        return Entry.refused("is an array of texts or Python objects", "save plain numbers")
    return Entry(array.shape, str(array.dtype), array.dtype.kind in "iuf", lambda: array)


def _tensor(tensor: Any) -> Entry:
    dtype = str(tensor.dtype).removeprefix("torch.")
    shape = tuple(tensor.shape)
    real = tensor.dtype.is_floating_point or dtype.startswith(("int", "uint"))
    alike = dtype in ("float16", "float32", "float64") or not tensor.dtype.is_floating_point

    def read(start: int, stop: int) -> np.ndarray:
        rows = tensor[start:stop]
        return (rows if alike else rows.float()).numpy()

    def load() -> np.ndarray:
        return (tensor if alike else tensor.double()).numpy()

    return Entry(shape, dtype, real, load, read=read if shape else None)


def _put_together(entries: dict[str, Entry]) -> dict[str, Entry]:
    """Lists of batches as one dataset each, under the name of the list; a pair of
    features and labels, in either order, and a list of such pairs under these names. Lists of
    unequal widths stay apart."""
    lists: dict[str, list[str]] = {}
    for name in entries:
        place, _, last = name.rpartition(".")
        if last.isdigit() and place.rpartition(".")[2] in _BATCHED:
            lists.setdefault(place, []).append(name)
        elif last in ("0", "1") and (matrix := _matrix_of_pair(entries, place)):
            lists.setdefault("features" if last == matrix else "labels", []).append(name)
    whole = dict(entries)
    for name, parts in lists.items():
        together = [entries[part] for part in parts]
        if name not in entries and len({(e.dtype, e.real, e.shape[1:]) for e in together}) == 1:
            for part in parts:
                del whole[part]
            whole[name] = _one(together)
    return whole


def _matrix_of_pair(entries: dict[str, Entry], place: str) -> str | None:
    """Which of two, `0` or `1`, holds the features of which the other holds the labels."""
    first, second, third = (entries.get(f"{place}.{i}".strip(".")) for i in range(3))
    if first is None or second is None or third is not None or not (place.isdigit() or not place):
        return None
    for last, H, y in (("0", first, second), ("1", second, first)):
        if H.real and len(H.shape) == 2 and y.shape == H.shape[:1] and "int" in y.dtype:
            return last
    return None


def _one(parts: list[Entry]) -> Entry:
    """The parts below each other."""
    if len(parts) == 1:
        return replace(parts[0], note="of a pair of features and labels")
    shape = (sum(part.shape[0] for part in parts if part.shape), *parts[0].shape[1:])

    def load() -> Any:
        return np.concatenate([part.load() for part in parts])

    note = f"a list of {len(parts)} batches, put together"
    return Entry(shape, parts[0].dtype, parts[0].real, load, note=note)
