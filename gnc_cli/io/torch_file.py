"""PyTorch files: tensors and numeric NumPy arrays in nested dictionaries; none of their code runs.

Files are read here, not by `torch.load`, whose unpickler of plain data lets a file of some bytes
take gigabytes; older ones can do more damage. The layout is simple: an archive with a pickle and
one member per storage. A regular file is mapped, so that some rows of a large tensor are read
without the rest.
"""

import contextlib
import io
import math
import mmap
import pickle
import re
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from struct import unpack
from typing import IO, Any, ClassVar

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import NAMES, WORDS, Catalogue, Entry, translated
from gnc_cli.io.inputs import excess, file_size
from gnc_cli.io.texts import values_entry
from gnc_cli.parsing import quote

_MAX_ITEMS = 1_000_000
"""Largest number of items of dictionaries and lists that are listed, far above that of a model."""
_MAX_STEPS = 10_000_000
"""Largest number of steps of a pickle; a tensor takes about 60."""
_MAX_DEPTH, _MAX_NAME_LETTERS = 100, 1000
"""Deepest level of nested dictionaries, and longest name of a tensor, in letters.

Dictionaries that contain themselves, or each other many times, have no end.
"""
_ENTRY_BYTES = 1000
"""Memory of an entry without its name, in bytes."""
_MAX_AXES = 64
"""Largest number of axes of an array, the limit of NumPy 2."""
_LEGACY_MAGIC = (0x1950A86A20F9469CFC6C).to_bytes(10, "little")
"""Number with which files of torch before 1.6 begin, after four bytes of the pickle."""
_PLAIN_TYPES = (str, int, float)
"""Types of attributes, and of the keys of dictionaries."""
_NUMBER_KEYS = range(1 << 16)
"""Keys of dictionaries that stay numbers: those of an optimizer's state."""
_OPCODES = [
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
"""Opcodes of a pickle that torch.save writes."""
_STORAGE_DTYPES = {
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
    "QUInt4x2": "uint8",
    "QUInt2x4": "uint8",
    "Untyped": "uint8",
}
"""Dtypes by the class of their storage in torch, without `Storage`."""
_LABEL_NAMES = {*sum(NAMES["labels"], ())}
"""Names of lists in which a vector is a batch, not a sample."""
_BATCH_NAMES = {*_LABEL_NAMES, *sum(NAMES["features"] + NAMES["logits"], ())}
"""Names of lists whose items are batches or samples."""
_MODEL_NAMES = {"epoch", "step", *sum(NAMES["weights"] + NAMES["bias"], ())}
"""Names in dictionaries that are snapshots or models, not batches of one set."""
_NOT_DENSE = "is not a plain dense tensor"
_REMEDIES = {
    "_rebuild_sparse_tensor": "save tensor.to_dense()",
    "_rebuild_qtensor": "save tensor.dequantize()",
    "_rebuild_nested_tensor": "save torch.cat(tensor.unbind())",
    "_rebuild_njt": "save torch.cat(tensor.unbind())",
    "_rebuild_meta_tensor_no_storage": "load its numbers, and save it then",
    "DTensor": "save tensor.full_tensor()",
}
"""Next step by the function or class that torch.load would call."""
_TORCH_TYPES = re.compile(r"torch\.((bfloat|float|u?int|complex)\d+(_e\dm\d\w*)?|bool|device)")
"""Dtypes and devices of torch."""
_NUMPY_DTYPE = re.compile(r"[biufc]\d{1,2}")
"""Codes of the numeric dtypes of NumPy."""
_DROPPED_TYPES = re.compile(
    r"_?_?builtin(s|__)\.(set|complex|bytearray)|collections\.Counter|argparse\.Namespace"
    r"|pathlib(\._local)?\.(Pure)?(Posix|Windows)Path|torch\.(Tensor|per_\w+)|numpy\.ndarray"
    r"|torch\.nn\.parameter\.(Parameter|Buffer)|torch\.serialization\._get_layout"
)
"""Types and functions whose values are allowed next to tensors, and dropped."""


@contextlib.contextmanager
def tensors(file: IO[bytes], path: str) -> Iterator[Catalogue]:
    """Open a file of a tensor, or of nested dictionaries and lists of them.

    Attributes are the plain values at the top: `epoch`, `provenance`.
    """
    with translated(path, ".pt with plain tensors"):
        content = load_plain(file, path)
        size, declared, entries = file_size(file), 0, {}
        for name, entry in _list_tensors(content):
            # A shared tensor counts under each of its names; a number has a byte or more.
            declared += _ENTRY_BYTES + len(name) + math.prod(entry.shape)
            if problem := excess(declared, size):
                raise DataError(f"{path!r} {problem}; save each tensor once, and clones of views")
            entries[name] = entry
        top = content if isinstance(content, dict) else {}
        attrs = {str(key): value for key, value in top.items() if isinstance(value, _PLAIN_TYPES)}
    yield Catalogue(path, entries, attrs)


def load_plain(file: IO[bytes], path: str, *, mapped: bool = True) -> Any:
    """Load a file: tensors on the CPU, plain data, `_Array`, and an `Entry` for other tensors.

    Args:
        file: the open file.
        path: its name in messages.
        mapped: True if large tensors stay in the file until they are used, unless it was piped.

    Raises:
        DataError: damaged, with Python objects that could run code, or of torch before 1.6.
        Exception: any error to which a damaged file leads; see `translated`.
    """
    size, start = file_size(file), file.read(16)
    if start.startswith(pickle.PROTO):
        kind, step = "a pickle", "save its arrays: numpy.savez('data.npz', features=H, labels=y)"
        if start[4:14] == _LEGACY_MAGIC:
            kind = "a pickle, as torch saved before 1.6"
            step = "save the tensors again, with torch 1.6 or later: torch.save(tensors, FILE)"
        raise DataError(f"{path!r} is {kind}; it could run code and is refused; {step}")
    with zipfile.ZipFile(file) as archive:
        members = {member.filename.partition("/")[2]: member for member in archive.infolist()}
        declared = sum(member.file_size for member in archive.infolist())
        if declared > size or "data.pkl" not in members:
            raise ValueError(f"its {len(members)} members declare {declared} bytes of {size}")
        if any(member.compress_type for member in archive.infolist()):
            raise ValueError("its members are compressed, and torch writes them as they are")
        if "byteorder" in members and archive.read(members["byteorder"]) != b"little":
            raise ValueError("its numbers are big-endian")
        data = archive.read(members["data.pkl"])
    buffer: mmap.mmap | bytearray
    if mapped and not isinstance(file, io.BytesIO):
        buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    else:
        file.seek(0)
        buffer = bytearray(file.read())

    def find_storage(key: str, length: int) -> tuple[Any, int]:
        member = members[f"data/{key}"]
        if length > member.file_size:
            raise ValueError(f"a storage of {length} bytes in {member.filename!r}")
        # The header of a member of a zip archive: 30 bytes, then two texts of these lengths.
        lengths = np.frombuffer(buffer, "<u2", 2, member.header_offset + 26)
        return buffer, member.header_offset + 30 + int(lengths.sum())

    return _Unpickler(io.BytesIO(data), path, size, find_storage).load()


class _Dtype:
    """Numeric dtype, by its code; None for others."""

    def __init__(self, code: str, *_: Any) -> None:
        self.numbers = np.dtype(code) if _NUMPY_DTYPE.fullmatch(code) else None

    def build(self, order: Any, *state: Any) -> None:
        """Take the byte order, and nothing else: size and fields are those of the code.

        Raises:
            ValueError: the state has more.
        """
        if self.numbers is not None:
            if order not in ("<", ">", "|", "=") or state != (None, None, None, -1, -1, 0):
                raise ValueError(f"its dtype {self.numbers} has another state than its code")
            self.numbers = self.numbers.newbyteorder(order)


class _Array:
    """NumPy array or scalar; without numbers until its state is read, or if it has none."""

    numbers: np.ndarray | None = None

    def build(self, shape: Any, dtype: _Dtype, fortran: Any, data: bytes) -> "_Array":
        """Take the numbers.

        Raises:
            ValueError: their number is not that of the shape.
        """
        if dtype.numbers is not None:
            flat = np.frombuffer(data, dtype.numbers)
            lengths = [n for n in shape[:_MAX_AXES] if type(n) is int and 0 <= n < 1 << 63]
            if len(lengths) < len(shape) or math.prod(lengths) != len(flat):
                raise ValueError(f"an array has {len(flat)} numbers, and its shape is another")
            self.numbers = flat.reshape(shape, order="F" if fortran else "C")
        return self


class _LimitedStream:
    """Stream of which `_MAX_STEPS` pieces can be read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._read, self.readline, self._remaining = file.read, file.readline, _MAX_STEPS

    def read(self, count: int, /) -> bytes:
        self._remaining -= 1
        if self._remaining < 0:
            raise ValueError(f"its pickle takes more than {_MAX_STEPS:,} steps")
        return self._read(count)


class _Unpickler(pickle._Unpickler):
    """Reader of tensors, numeric arrays and plain data from a pickle, and of nothing else.

    Each name in a pickle stands for a function or type of this module. The objects take no more
    memory than a small multiple of the file's size.

    Args:
        file: the pickle.
        path: name of the file in messages.
        size: size of the file, in bytes.
        find_storage: function of the key and the length of a storage, in bytes, that returns a
            buffer and the offset of the storage in it.
    """

    memo: dict[int, Any]
    read: Callable[[int], bytes]
    stack: list[Any]
    pop_mark: Callable[[], list[Any]]

    def __init__(
        self,
        file: IO[bytes],
        path: str,
        size: int,
        find_storage: Callable[[str, int], tuple[Any, int]],
    ) -> None:
        super().__init__(_LimitedStream(file), encoding="utf-8")
        self.storages: dict[str, Any] = {}
        """Flat tensors by key."""
        self._path, self._find_storage, self._budget = path, find_storage, size

    def load(self) -> Any:
        try:
            return super().load()
        except (LookupError, TypeError, AttributeError, EOFError, pickle.PickleError) as error:
            raise DataError(
                f"{self._path!r} is damaged, or holds Python objects, which could run code and are "
                "refused; save with torch.save({'weights': W}, FILE)"
            ) from error

    def find_class(self, module: str, name: str, /) -> Any:
        import torch

        full_name = f"{module}.{name}"
        if module in ("torch", "torch.cuda", "torch.storage") and name.endswith("Storage"):
            return getattr(torch, _STORAGE_DTYPES[name.removesuffix("Storage")])
        if _TORCH_TYPES.fullmatch(full_name):
            return getattr(torch, name)
        methods = {"_codecs.encode": self._encode, "collections.OrderedDict": self._ordered_dict}
        if function := _FUNCTIONS.get(full_name) or methods.get(full_name):
            return function
        if full_name.startswith("torch._utils._rebuild_"):
            return lambda *_: Entry.refused(_NOT_DENSE, _REMEDIES.get(name, "save tensor.cpu()"))
        if _DROPPED_TYPES.fullmatch(full_name):
            return lambda *_: None
        pairs = zip(self.stack[::2], self.stack[1::2], strict=False)
        key = next((key for key, value in pairs if isinstance(value, dict) and value), None)
        expression = "model.state_dict()" if key is None else f"checkpoint[{quote(key)}]"
        if any(value is _rebuild_tensor for value in self.stack):  # and its class comes next
            expression = "tensor.as_subclass(torch.Tensor)"
        raise DataError(
            f"{self._path!r} holds a Python object, {full_name.removeprefix('__builtin__.')[:100]},"
            " which could run code and is refused; "
            + _REMEDIES.get(name, f"save the tensors alone: torch.save({expression}, FILE)")
        )

    def persistent_load(self, pid: Any) -> Any:
        import torch

        kind, dtype, key, _, count, *view = pid
        if kind != "storage" or type(key) is not str or any(view):
            raise ValueError("a storage has no plain name")
        if key not in self.storages:
            flat = torch.empty(0, dtype=dtype)
            if count > 0:
                buffer, offset = self._find_storage(key, count * flat.itemsize)
                flat = torch.frombuffer(buffer, dtype=dtype, count=count, offset=offset)
            self.storages[key] = flat
        return self.storages[key]

    def _encode(self, text: str, coding: str) -> bytes:
        if coding != "latin1":
            raise pickle.UnpicklingError("only bytes in latin1 are written by torch")
        self.charge(len(text))
        return text.encode(coding)

    def _ordered_dict(self, items: Any = ()) -> OrderedDict[Any, Any]:
        self.charge(64 * len(items))
        return OrderedDict(_with_plain_keys(items))

    def charge(self, count: int) -> None:
        """Count bytes of memory.

        Raises:
            ValueError: all together are more than the file has, as of copies of copies.
        """
        self._budget -= count
        if self._budget < 0:
            raise ValueError("its pickle and storages take more than the file holds")

    def _load_build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if isinstance(target, (_Array, _Dtype)):
            target.build(*state[1:])
        elif isinstance(target, OrderedDict):
            vars(target)["_metadata"] = state.get("_metadata")
        elif target is not None:
            raise pickle.UnpicklingError("an object has a state")

    def _set(self, items: list[Any]) -> None:
        self.stack[-1].update(_with_plain_keys(zip(items[::2], items[1::2], strict=True)))

    def _remember(self) -> None:
        """Store the top of the stack in the memo, whose indices are taken in order."""
        (index,) = unpack("<I", self.read(4))
        if index > len(self.memo):
            raise ValueError(f"its pickle has index {index} of {len(self.memo)} in the memo")
        self.memo[index] = self.stack[-1]

    dispatch: ClassVar[dict[int, Any]] = {
        **{opcode[0]: pickle._Unpickler.dispatch[opcode[0]] for opcode in _OPCODES},
        pickle.NEWOBJ[0]: pickle._Unpickler.dispatch[pickle.REDUCE[0]],
        pickle.BUILD[0]: _load_build,
        pickle.LONG_BINPUT[0]: _remember,
        pickle.SETITEM[0]: lambda self: self._set([self.stack.pop(-2), self.stack.pop()]),
        pickle.SETITEMS[0]: lambda self: self._set(self.pop_mark()),
    }


def _with_plain_keys(pairs: Iterable[tuple[Any, Any]]) -> Iterator[tuple[str | int, Any]]:
    """Return pairs for a dictionary, with texts in place of numbers beyond `_NUMBER_KEYS`.

    Python's hashes of numbers are not secret, so that a file can choose ones that collide. Other
    keys are dropped: tuples of tuples may take for ever to be hashed, or written.
    """
    return (
        (key if type(key) is str or (type(key) is int and key in _NUMBER_KEYS) else str(key), value)
        for key, value in pairs
        if isinstance(key, _PLAIN_TYPES)
    )


def _rebuild_tensor(
    storage: Any,
    offset: int,
    size: Any,
    stride: Any,
    _: Any = None,
    __: Any = None,
    metadata: Any = None,
) -> Any:
    """Return a part of a storage as a tensor; torch refuses a part that exceeds it.

    By `metadata` its numbers are the negative or the conjugate of the stored ones.
    """
    import torch

    if len(size) > _MAX_AXES:
        raise ValueError(f"a tensor of {len(size)} axes")
    tensor = torch.as_strided(storage, size, stride, offset)
    declared, stored = tensor.numel() * tensor.itemsize, tensor.untyped_storage().nbytes()
    if declared > stored:
        return Entry.refused(
            f"declares shape {tuple(size)}, {declared} bytes, of which {stored} are stored: the "
            "same numbers again and again",
            "save tensor.contiguous()",
        )
    if not set(metadata := metadata or {}) <= {"conj", "neg"}:
        return Entry.refused(_NOT_DENSE, "save tensor.clone()")
    tensor = tensor.conj() if metadata.get("conj") else tensor
    return torch._neg_view(tensor) if metadata.get("neg") else tensor


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "__builtin__.bytes": lambda: b"",
    "numpy.dtype": _Dtype,
    "torch.Size": lambda lengths: lengths[:_MAX_AXES],
    "torch._utils._rebuild_tensor": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v3": lambda storage, *args: _rebuild_tensor(
        storage.view(args[5]), *args[:5], *args[6:]
    ),
    "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
    "torch._utils._rebuild_parameter_with_state": lambda tensor, *_: tensor,
    "torch._tensor._rebuild_from_type_v2": lambda function, _, args, __: function(*args),
}
"""Functions and types by their names in a pickle."""
for _core in ("core", "_core"):  # of NumPy 1 and 2
    _FUNCTIONS[f"numpy.{_core}.multiarray._reconstruct"] = lambda *_: _Array()
    _FUNCTIONS[f"numpy.{_core}.multiarray.scalar"] = lambda dtype, data=b"": _Array().build(
        (), dtype, False, data
    )


def _list_tensors(content: Any) -> Iterator[tuple[str, Entry]]:
    """Yield the tensors and arrays of nested dictionaries and lists, by the path to them."""
    import torch

    listed_types = (Entry, torch.Tensor, _Array, dict, list, tuple)
    columns: dict[tuple[int, str], dict[str, Entry]] = {}
    remaining = _MAX_ITEMS

    def visit(name: str, value: Any, depth: int) -> Iterator[tuple[str, Entry]]:
        nonlocal remaining
        if isinstance(value, listed_types[:3]):
            kind = "array" if isinstance(value, _Array) else "tensor"
            yield name or kind, value if isinstance(value, Entry) else _entry(value)
        elif depth <= _MAX_DEPTH:
            remaining -= len(value)
            if remaining < 0:
                raise ValueError(f"it holds more than {_MAX_ITEMS} items")
            prefix, word = f"{name}." if name else "", name.rpartition(".")[2]
            container = id(value), word if word in _BATCH_NAMES or not name else "other"
            if container not in columns:
                columns[container] = (
                    {} if isinstance(value, dict) else _columns(container[1], value)
                )
            for key, entry in columns[container].items():
                yield prefix + key if key else name, entry
            if not columns[container]:
                for part, item in value.items() if isinstance(value, dict) else enumerate(value):
                    if (
                        isinstance(item, listed_types)
                        and len(prefix) + len(str(part)) <= _MAX_NAME_LETTERS
                    ):
                        yield from visit(f"{prefix}{part}", item, depth + 1)

    return visit("", content, 0) if isinstance(content, listed_types) else iter(())


def _columns(role: str, rows: Any) -> dict[str, Entry]:
    """Join a list of batches or samples: tensors, dictionaries, pairs.

    Lists of tensors are batches at the top and under the names of features, labels and logits.
    Dictionaries are batches if they have such a name, and neither weights nor the epoch of a
    snapshot. A pair, or a list of pairs, is features and labels in either order. Nothing for other
    lists.

    Args:
        role: last part of the list's name, if it is one of these; empty at the top, else `other`.
        rows: a list or tuple.
    """
    if len(rows) and all(isinstance(row, dict) for row in rows):
        keys = {str(key): None for key in rows[0]}
        batch_names = _BATCH_NAMES & keys.keys()
        if not batch_names or _MODEL_NAMES & keys.keys() or len(keys) * len(rows) > _MAX_ITEMS:
            return {}
        unlike = Entry.refused("differs from part to part", "save one shape and type of tensors")
        columns = {key: _joined(key, [row.get(key) for row in rows]) for key in keys}
        columns |= {key: unlike for key in batch_names if columns[key] is None}
        return {key: entry for key, entry in columns.items() if entry is not None}
    for pairs, first in product(([rows], rows), (0, 1)):
        if all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
            H = _joined("features", [pair[first] for pair in pairs])
            y = _joined("labels", [pair[1 - first] for pair in pairs])
            if H is None or y is None or len(H.shape) != 2 or y.shape != H.shape[:1]:
                continue
            if H.real and (y.dtype == WORDS or "int" in y.dtype):
                return {"features": H, "labels": y}
    joined = _joined(role, rows) if role != "other" else None
    if joined is None:
        return {}
    return {"" if role else "labels" if len(joined.shape) == 1 else "features": joined}


def _joined(name: str, parts: Any) -> Entry | None:
    """Join the batches or samples called `name`, one below the other; None if they do not fit."""
    import torch

    if len(parts) and all(type(part) in (*_PLAIN_TYPES, bool) for part in parts):
        texts = any(type(part) is str for part in parts)
        column = values_entry([*map(str, parts)] if texts else parts)
        return None if column.problem or (name and name not in _BATCH_NAMES) else column
    if not all(isinstance(part, (torch.Tensor, _Array)) for part in parts):
        return None
    by_id = {key: _entry(part) for key, part in {id(part): part for part in parts}.items()}
    entries = [by_id[id(part)] for part in parts]
    kinds = [(e.dtype, e.real, len(e.shape), e.shape[1:], e.problem) for e in by_id.values()]
    if any(kind != kinds[0] for kind in kinds) or not parts or entries[0].problem:
        return None
    axes = len(entries[0].shape)
    are_labels = name in _LABEL_NAMES or (name not in _BATCH_NAMES and "int" in entries[0].dtype)
    stacked = axes == 0 or (axes == 1 and not are_labels)
    if stacked and any(entry.shape != entries[0].shape for entry in by_id.values()):
        return None
    if len(parts) == 1 and not stacked:
        return replace(entries[0], note="of a pair of features and labels")
    count = len(parts) if stacked else sum(entry.shape[0] for entry in entries)
    join: Callable[..., np.ndarray] = np.stack if stacked else np.concatenate
    return replace(
        entries[0],
        shape=(count, *entries[0].shape[not stacked :]),
        load=lambda: join([entry.load() for entry in entries]),
        read=None,
        note=f"a list of {len(parts)} {'samples' if stacked else 'batches'}, put together",
    )


def _entry(value: Any) -> Entry:
    """List a tensor, or an array of NumPy."""
    if isinstance(value, _Array):
        array = value.numbers
        if array is None:
            return Entry.refused("is an array of texts or Python objects", "save plain numbers")
        return Entry(array.shape, str(array.dtype), array.dtype.kind in "iuf", lambda: array)
    dtype, floating = str(value.dtype).removeprefix("torch."), value.dtype.is_floating_point
    in_numpy = dtype in ("float16", "float32", "float64") or not floating

    def read(*rows: int) -> np.ndarray:
        part = value[slice(*rows)] if rows else value
        return np.asarray((part if in_numpy else part.float()).numpy(force=True))

    # Dtypes with x2 pack two numbers into a byte.
    real = "x2" not in dtype and (floating or dtype.startswith(("int", "uint")))
    return Entry(tuple(value.shape), dtype, real, read, read=read if value.ndim else None)
