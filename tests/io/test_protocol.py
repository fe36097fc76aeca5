"""One protocol for every reader: a table of properties times every format.

Each cell gives the numbers of the plain arrays, or the refusal that `REFUSALS` names. A refusal has
a next step, which the test takes, and which then gives the numbers of the plain arrays.
"""

import functools
import gzip
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import safetensors.torch
import scipy.io
import torch

from gnc_cli import measure
from gnc_cli.errors import GncError

N, D, K = 36, 5, 3
RNG = np.random.default_rng(3)
Y = np.arange(N) % K
W = RNG.standard_normal((K, D))
H = W[Y] + 0.3 * RNG.standard_normal((N, D))
B = np.array([0.5, -0.2, 0.1])
WORDS = np.array(["ant", "bee", "cat"])
Arrays = dict[str, np.ndarray]
Call = dict[str, Any]
"""Arguments of `measure`; `files` are the positional ones."""


class UnsavableError(Exception):
    """The format cannot hold such an array at all."""


# Formats: arrays in files of a folder, and the call that measures them ------------


def _plain(arrays: Arrays, *kinds: str) -> Arrays:
    """The arrays, if their types are among `kinds` of NumPy, in native byte order."""
    if any(a.dtype.kind not in kinds or not a.dtype.isnative for a in arrays.values()):
        raise UnsavableError
    return arrays


def _bfloat16(array: np.ndarray) -> torch.Tensor:
    """The tensor whose bits `array` has, of the two-byte type that stands for bfloat16 here."""
    return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)


def _tensor(array: np.ndarray) -> torch.Tensor:
    if array.dtype.kind == "V":
        return _bfloat16(array)
    _plain({"": array}, *"iufb")
    return torch.from_numpy(np.ascontiguousarray(array))


def _h5(folder: Path, arrays: Arrays) -> Call:
    with h5py.File(folder / "f.h5", "w") as file:
        _fill(file, arrays)
    return {"files": [folder / "f.h5"]}


def _fill(file: Any, arrays: Arrays) -> None:
    """Put arrays into an open HDF5 file."""
    for name, array in arrays.items():
        if array.dtype.kind == "U":
            file[name] = array.astype(object)
        elif array.dtype.kind == "V":
            kind = h5py.h5t.IEEE_F32LE.copy()
            kind.set_fields(15, 7, 8, 0, 7)
            kind.set_size(2)
            kind.set_ebias(127)
            space = h5py.h5s.create_simple(array.shape)
            dataset = h5py.h5d.create(file.id, name.encode(), kind, space)
            dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, array.view("<u2"), mtype=kind)
        else:
            file[name] = array


def _h5_chunked(folder: Path, arrays: Arrays) -> Call:
    if any(a.dtype.kind not in "iuf" or not a.size for a in arrays.values()):
        raise UnsavableError
    with h5py.File(folder / "f.h5", "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, chunks=True, compression="gzip", shuffle=True)
    return {"files": [folder / "f.h5"]}


def _npz(folder: Path, arrays: Arrays) -> Call:
    np.savez(folder / "f.npz", **arrays)  # type: ignore[arg-type]
    return {"files": [folder / "f.npz"]}


def _npy(folder: Path, arrays: Arrays) -> Call:
    if not {*arrays} <= {"features", "labels", "weights", "bias", "kernel"}:
        raise UnsavableError  # a file of one array has no names of groups
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    if "kernel" in arrays:
        raise UnsavableError
    return {name: folder / f"{name}.npy" for name in arrays}


def _pt(folder: Path, arrays: Arrays) -> Call:
    torch.save({name: _tensor(array) for name, array in arrays.items()}, folder / "f.pt")
    return {"files": [folder / "f.pt"]}


def _pt_numpy(folder: Path, arrays: Arrays) -> Call:
    torch.save(_plain(arrays, *"iufb"), folder / "f.ckpt")
    return {"files": [folder / "f.ckpt"]}


def _nested(folder: Path, arrays: Arrays) -> Call:
    """Lists of batches in nested dictionaries, as a loop of one's own saves them."""
    if any("/" in name for name in arrays):
        raise UnsavableError
    rows = len(arrays["features"]) if "features" in arrays else 0
    batched = {
        name: [*_tensor(array).split(8)] if len(array) == rows and rows else _tensor(array)
        for name, array in arrays.items()
    }
    torch.save({"epoch": 3, "state": batched}, folder / "f.pth")
    return {name: f"{folder}/f.pth:state.{name}" for name in arrays if name != "kernel"} | (
        {"weights": f"{folder}/f.pth:state.kernel"} if "kernel" in arrays else {}
    )


def _safetensors(folder: Path, arrays: Arrays) -> Call:
    tensors = {name: _tensor(array) for name, array in arrays.items()}
    safetensors.torch.save_file(tensors, folder / "f.safetensors")
    return {"files": [folder / "f.safetensors"]}


def _mat(folder: Path, arrays: Arrays) -> Call:
    scipy.io.savemat(folder / "f.mat", _matlab(arrays))
    return {"files": [folder / "f.mat"]}


def _matlab(arrays: Arrays) -> Arrays:
    """Arrays that MATLAB has, with vectors as columns."""
    if any("/" in name for name in arrays) or any(a.dtype.itemsize == 2 for a in arrays.values()):
        raise UnsavableError  # no groups, and no floats of two bytes
    if any(not a.size for a in arrays.values()):
        raise UnsavableError
    arrays = _plain(arrays, *"iuf")
    return {name: a[:, None] if a.ndim == 1 else a for name, a in arrays.items()}


def _mat73(folder: Path, arrays: Arrays) -> Call:
    with h5py.File(folder / "f.mat", "w", userblock_size=512) as file:
        for name, array in _matlab(arrays).items():
            file[name] = array.T
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
    with (folder / "f.mat").open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
    return {"files": [folder / "f.mat"]}


def _beside(folder: Path, arrays: Arrays) -> Call:
    """The classifier of a table: in a file of its own."""
    if not {"features"} <= {*arrays} <= {"features", "labels", "weights", "bias"}:
        raise UnsavableError
    others = {name: arrays[name] for name in ("weights", "bias") if name in arrays}
    for name, array in others.items():
        np.save(folder / f"{name}.npy", _plain({name: array}, *"f")[name])
    return {name: folder / f"{name}.npy" for name in others}


def _rows(arrays: Arrays) -> Iterator[tuple[np.ndarray, Any]]:
    """Features and label, row by row."""
    features, labels = arrays["features"], arrays.get("labels")
    if features.ndim != 2 or (labels is not None and labels.ndim != 1):
        raise UnsavableError
    for index, row in enumerate(_plain({"": features}, *"iuf")[""]):
        yield row, None if labels is None else labels[index].item()


def _text(delimiter: str, suffix: str) -> Callable[[Path, Arrays], Call]:
    def save(folder: Path, arrays: Arrays) -> Call:
        call = _beside(folder, arrays)
        if "labels" not in arrays or not len(arrays["features"]):
            raise UnsavableError
        if arrays["features"].dtype.kind != "f":
            raise UnsavableError  # numbers of a text are what they say
        header = [*(f"f{j}" for j in range(arrays["features"].shape[1])), "label"]
        lines = [delimiter.join(header)]
        for row, label in _rows(arrays):
            lines.append(delimiter.join([*(repr(float(value)) for value in row), str(label)]))
        data = "\n".join(lines).encode()
        path = folder / f"f{suffix}"
        path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
        return {"files": [path]} | call

    return save


def _jsonl(folder: Path, arrays: Arrays) -> Call:
    call = _beside(folder, arrays)
    if not len(arrays["features"]):
        raise UnsavableError
    lines = []
    for row, label in _rows(arrays):
        if not np.isfinite(row).all() or row.dtype.kind != "f":
            raise UnsavableError
        lines.append(
            json.dumps(
                {"embedding": row.tolist()} | ({"label": label} if label is not None else {})
            )
        )
    (folder / "f.jsonl").write_text("\n".join(lines))
    return {"files": [folder / "f.jsonl"]} | call


def _fvecs(folder: Path, arrays: Arrays) -> Call:
    features = arrays.get("features", W)
    if features.dtype != np.float32 or features.ndim != 2 or not len(features):
        raise UnsavableError
    call = _beside(folder, {name: a for name, a in arrays.items() if name != "labels"})
    records = np.concatenate(
        [np.full((len(features), 1), features.shape[1], "<i4").view("<f4"), features], axis=1
    )
    records.astype("<f4").tofile(folder / "f.fvecs")
    np.save(folder / "labels.npy", arrays["labels"])
    return {"features": folder / "f.fvecs", "labels": folder / "labels.npy"} | call


def _table(arrays: Arrays, *, wide: bool) -> Any:
    """An Arrow table of features and labels."""
    import pyarrow

    if arrays["features"].ndim != 2 or any(not a.dtype.isnative for a in arrays.values()):
        raise UnsavableError
    features = _plain({"": arrays["features"]}, *"iuf")[""]
    columns: dict[str, Any] = {}
    if wide:
        columns = {f"f{j}": pyarrow.array(features[:, j]) for j in range(features.shape[1])}
    else:
        columns["features"] = pyarrow.array(
            [*features], type=pyarrow.list_(pyarrow.from_numpy_dtype(features.dtype))
        )
    if "labels" in arrays:
        if arrays["labels"].ndim != 1:
            raise UnsavableError
        columns["label"] = pyarrow.array(
            arrays["labels"].tolist() if arrays["labels"].dtype.kind == "U" else arrays["labels"]
        )
    return pyarrow.table(columns)


def _arrow(write: Callable[[Any, str], None], suffix: str, *, wide: bool = False) -> Any:
    def save(folder: Path, arrays: Arrays) -> Call:
        call = _beside(folder, arrays)
        write(_table(arrays, wide=wide), str(folder / f"f{suffix}"))
        return {"files": [folder / f"f{suffix}"]} | call

    return save


def _write_parquet(table: Any, path: str) -> None:
    from pyarrow import parquet

    parquet.write_table(table, path)


def _write_feather(table: Any, path: str) -> None:
    from pyarrow import feather

    feather.write_feather(table, path)


def _write_stream(table: Any, path: str) -> None:
    import pyarrow

    with pyarrow.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=10)


FORMATS: dict[str, Callable[[Path, Arrays], Call]] = {
    "h5": _h5,
    "h5 chunked": _h5_chunked,
    "npz": _npz,
    "npy": _npy,
    "pt": _pt,
    "ckpt of NumPy arrays": _pt_numpy,
    "nested pt of batches": _nested,
    "safetensors": _safetensors,
    "mat 5": _mat,
    "mat 7.3": _mat73,
    "csv": _text(",", ".csv"),
    "csv.gz": _text(",", ".csv.gz"),
    "tsv": _text("\t", ".tsv"),
    "jsonl": _jsonl,
    "fvecs": _fvecs,
    "parquet": _arrow(_write_parquet, ".parquet"),
    "wide parquet": _arrow(_write_parquet, ".parquet", wide=True),
    "feather": _arrow(_write_feather, ".feather"),
    "arrow stream": _arrow(_write_stream, ".arrow"),
}


# Properties: what is stored, and the plain arrays that it stands for ------------


@dataclass(frozen=True)
class Property:
    """Arrays as they are stored, and the call with plain arrays that gives the same numbers."""

    stored: Arrays
    plain: Call
    options: Call = field(default_factory=dict)
    """Further arguments with which the files are measured."""


def _of(**changes: Any) -> Arrays:
    arrays = {"features": H, "labels": Y, "weights": W} | changes
    return {name: array for name, array in arrays.items() if array is not None}


PLAIN: Call = {"features": H, "labels": Y, "weights": W}
H16 = (H.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
BF16 = (H16.astype(np.uint32) << 16).view(np.float32)
SOME = np.arange(N) >= 6
MASKED = np.where(SOME, Y, -100)
ZERO = np.where((np.arange(N) == 7)[:, None], 0.0, H)
NAN = np.where((np.arange(N) == 7)[:, None], np.nan, H)
GAPS = 2 * Y  # classes 1 and 3 have no samples
W5 = np.repeat(W, 2, axis=0)[:5] * np.array([1, -1, 1, -1, 1])[:, None]
HEAD: Call = {"weights": W}
LEFT_OUT: Call = {"features": H[SOME], "labels": Y[SOME], "weights": W}

PROPERTIES: dict[str, Property] = {
    "float64": Property(_of(), PLAIN),
    "float32": Property(_of(features=H.astype("f4")), PLAIN | {"features": H.astype("f4")}),
    "float16": Property(_of(features=H.astype("f2")), PLAIN | {"features": H.astype("f2")}),
    "bfloat16": Property(_of(features=H16.view("V2")), PLAIN | {"features": BF16}),
    "big-endian": Property(_of(features=H.astype(">f4")), PLAIN | {"features": H.astype("f4")}),
    "bias": Property(_of(bias=B), PLAIN | {"bias": B}),
    "labels uint8": Property(_of(labels=Y.astype("u1")), PLAIN),
    "labels int32": Property(_of(labels=Y.astype("i4")), PLAIN),
    "labels float64": Property(_of(labels=Y.astype("f8")), PLAIN),
    "labels float16": Property(_of(labels=Y.astype("f2")), PLAIN),
    "labels (N, 1)": Property(_of(labels=Y[:, None]), PLAIN),
    "labels bool": Property(
        _of(labels=Y == 1, weights=W[:2]), PLAIN | {"labels": (Y == 1) * 1, "weights": W[:2]}
    ),
    "labels words": Property(_of(labels=WORDS[Y], weights=None), {"features": H, "labels": Y}),
    "labels words with a head": Property(_of(labels=WORDS[Y]), PLAIN),
    "labels one-hot": Property(_of(labels=np.eye(K)[Y]), PLAIN),
    "labels one-based": Property(_of(labels=Y + 1), PLAIN),
    "labels soft": Property(_of(labels=0.7 * np.eye(K)[Y] + 0.1), PLAIN),
    "labels ignored": Property(_of(labels=MASKED), LEFT_OUT),
    "labels ignored by name": Property(
        _of(labels=np.where(SOME, Y, 255)), LEFT_OUT, {"ignore_label": [255]}
    ),
    "labels NaN": Property(_of(labels=np.where(SOME, Y, np.nan)), LEFT_OUT),
    "missing classes": Property(
        _of(labels=GAPS, weights=W5), {"features": H, "labels": GAPS, "weights": W5}
    ),
    "transposed head": Property(_of(weights=np.ascontiguousarray(W.T)), PLAIN),
    "kernel": Property(_of(weights=None, kernel=np.ascontiguousarray(W.T)), PLAIN),
    "kernel and bias": Property(
        _of(weights=None, kernel=np.ascontiguousarray(W.T), bias=B), PLAIN | {"bias": B}
    ),
    "transposed head with bias": Property(
        _of(weights=np.ascontiguousarray(W.T), bias=B), PLAIN | {"bias": B}
    ),
    "(N, 1, d)": Property(_of(features=H[:, None]), PLAIN),
    "(N, d, 1, 1)": Property(_of(features=H[:, :, None, None]), PLAIN),
    "(N, T, d)": Property(_of(features=np.stack([H, -H, 2 * H], axis=1)), PLAIN),
    "zero rows": Property(_of(features=ZERO), PLAIN | {"features": ZERO, "normalize": "off"}),
    "NaN": Property(_of(features=NAN), PLAIN),
    "empty": Property(_of(features=H[:0], labels=Y[:0]), PLAIN),
    "head alone": Property({"weights": W}, {"weights": W}),
    "groups": Property(
        {
            "train/features": H,
            "train/labels": Y,
            "test/features": H[SOME],
            "test/labels": Y[SOME],
            "weights": W,
        },
        LEFT_OUT,
        {"select": {"split": "test"}, "means_from": "own"},
    ),
    "no labels": Property({"features": H}, {"features": H}),
    "int16 features": Property(_of(features=H16.view(np.int16)), PLAIN | {"features": BF16}),
}


# Refusals, and their next steps ------------

Step = Callable[[Path, Callable[[Path, Arrays], Call], Property, Call], tuple[Call, Call]]
"""Takes the next step that a message names: from the folder, the format, the property and the call
that was refused, the call to make and the one with plain arrays that it must agree with."""


def _with(**options: Any) -> Step:
    """Add options to the call."""
    return lambda folder, save, prop, call: (call | options, prop.plain)


def _saved(change: Callable[[Arrays], Arrays], plain: Call) -> Step:
    """Save other arrays."""

    def step(folder: Path, save: Any, prop: Property, call: Call) -> tuple[Call, Call]:
        (folder / "again").mkdir()
        return save(folder / "again", change(prop.stored)) | prop.options, plain

    return step


def _named_classes(folder: Path, save: Any, prop: Property, call: Call) -> tuple[Call, Call]:
    (folder / "names.txt").write_text("\n".join(WORDS))
    return call | {"class_names": folder / "names.txt"}, prop.plain


def _without(rows: np.ndarray) -> Callable[[Arrays], Arrays]:
    """Leave out some rows of features and labels."""
    return lambda arrays: arrays | {n: arrays[n][rows] for n in ("features", "labels")}


def _as_message_says(folder: Path, save: Any, prop: Property, call: Call) -> tuple[Call, Call]:
    """Name the features as bits of bfloat16, as the message spells it; the rest by its name."""
    with pytest.raises(GncError, match=":bf16") as error:
        _measured(call)
    spelling = re.search(r"(\S+:bf16)", str(error.value))
    assert spelling is not None
    return call | {"features": spelling[1]}, prop.plain


NOT_7 = np.arange(N) != 7
TEXTS = ("csv", "csv.gz", "tsv")
REFUSALS: dict[str, tuple[str, Step]] = {
    "labels one-hot": (r"labels_are='one-hot'", _with(labels_are="one-hot")),
    "labels one-based": (r"labels_are='one-based'", _with(labels_are="one-based")),
    "labels words with a head": (r"class_names", _named_classes),
    "labels NaN": (
        r"(no class|not finite|no value|NaN)",
        _saved(_without(SOME), LEFT_OUT),
    ),
    "transposed head": (r"transpose_weights", _with(transpose_weights=True)),
    "(N, T, d)": (
        r"features\[:, 0\].*features\.mean\(axis=1\)",
        _saved(lambda arrays: arrays | {"features": arrays["features"][:, 0]}, PLAIN),
    ),
    "zero rows": (r"--normalize off|normalize='off'", _with(normalize="off")),
    "NaN": (
        r"NaN or infinity.*remove|not finite|holds NaN",
        _saved(_without(NOT_7), {"features": H[NOT_7], "labels": Y[NOT_7], "weights": W}),
    ),
    "empty": (
        r"row|empty",
        _saved(lambda arrays: _of(), PLAIN),
    ),
    "int16 features": (r"bits of bfloat16", _as_message_says),
}
"""By property, what the message must say, and the next step; in every format that can store it."""


def _false_and_true(folder: Path, save: Any, prop: Property, call: Call) -> tuple[Call, Call]:
    (folder / "names.txt").write_text("False\nTrue")
    return call | {"class_names": folder / "names.txt"}, prop.plain


def _by_option(folder: Path, save: Any, prop: Property, call: Call) -> tuple[Call, Call]:
    return {"features": call["files"][0]}, prop.plain


OF_FORMATS: dict[tuple[str, str], tuple[str, Step]] = {
    **{("labels bool", kind): (r"words.*class_names", _false_and_true) for kind in TEXTS},
    ("no labels", "wide parquet"): (r"choose with features", _by_option),
}
"""Refusals by property and format."""


NO_WORDS = {"labels words", "labels words with a head"}
NO_HALVES = {"float16", "bfloat16", "labels float16", "int16 features"}
IN_COLUMNS = {
    *("labels (N, 1)", "labels one-hot", "labels soft", "(N, 1, d)", "(N, d, 1, 1)", "(N, T, d)"),
    *("kernel", "kernel and bias", "head alone", "groups", "bfloat16", "big-endian"),
}
"""What columns of a table, or its lists, cannot be."""
IN_TEXTS = IN_COLUMNS | {"empty", "int16 features"}
IN_MATLAB = NO_WORDS | NO_HALVES | {"big-endian", "labels bool", "empty", "groups"}
TABLES = ("parquet", "wide parquet", "feather", "arrow stream")
UNSAVABLE: dict[str, set[str]] = {
    "h5 chunked": NO_WORDS | {"bfloat16", "labels bool", "empty"},
    "npy": {"kernel", "kernel and bias", "groups"},
    "pt": NO_WORDS | {"big-endian"},
    "ckpt of NumPy arrays": NO_WORDS | {"bfloat16", "big-endian"},
    "nested pt of batches": NO_WORDS | {"big-endian", "groups"},
    "safetensors": NO_WORDS | {"big-endian"},
    "mat 5": IN_MATLAB,
    "mat 7.3": IN_MATLAB,
    **dict.fromkeys(("csv", "csv.gz", "tsv"), IN_TEXTS | {"no labels"}),
    "jsonl": IN_TEXTS | {"NaN"},
    "fvecs": {*PROPERTIES} - {"float32"},
    **dict.fromkeys(TABLES, IN_COLUMNS),
}
"""By format the properties whose arrays it cannot hold."""


def _cells() -> Iterator[Any]:
    for name in PROPERTIES:
        for kind in FORMATS:
            if name not in UNSAVABLE.get(kind, ()):
                yield pytest.param(name, kind, id=f"{name}-{kind}")


@pytest.mark.parametrize("kind", UNSAVABLE)
def test_what_a_format_cannot_hold_is_not_tested_there(tmp_path: Path, kind: str) -> None:
    for name in UNSAVABLE[kind]:
        with pytest.raises(UnsavableError):
            FORMATS[kind](tmp_path, PROPERTIES[name].stored)


IGNORED = {"seconds", "file", "snapshot", "epoch", "step", "split", "attrs", "notes", "warnings"}


def _numbers(result: Any) -> dict[str, Any]:
    """All that two equal sets share; how they are stored may differ, and the words about it."""
    kept = {key: value for key, value in result.to_json().items() if key not in IGNORED}
    kept["policy"] = {k: v for k, v in kept["policy"].items() if k not in ("precision", "head")}
    return json.loads(re.sub(r'name": "\w+"', 'name": null', json.dumps(kept)))


def _measured(call: Call) -> Any:
    return measure(call.get("files", ()), **{k: v for k, v in call.items() if k != "files"})


def _agree(found: Any, expected: Any) -> None:
    """Compare all numbers by path; texts and None must be equal."""
    mine, theirs = dict(_flat(_numbers(found))), dict(_flat(_numbers(expected)))
    assert mine.keys() == theirs.keys()
    different = {
        key: (value, theirs[key])
        for key, value in mine.items()
        if value != theirs[key]
        and not (
            isinstance(value, float)
            and isinstance(theirs[key], float)
            and math.isclose(value, theirs[key], rel_tol=1e-9, abs_tol=1e-12)
        )
    }
    assert not different


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested values, by path."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in items:
        if isinstance(below, (dict, list)):
            yield from _flat(below, f"{name}.{key}")
        else:
            yield f"{name}.{key}", below


@functools.cache
def _expected(name: str) -> Any:
    """The measurement of the plain arrays of a property."""
    return _measured(PROPERTIES[name].plain)


@pytest.mark.parametrize(("name", "kind"), [*_cells()])
def test_every_property_in_every_format(tmp_path: Path, name: str, kind: str) -> None:
    prop, save = PROPERTIES[name], FORMATS[kind]
    call = save(tmp_path, prop.stored) | prop.options
    refusal = REFUSALS.get(name) or OF_FORMATS.get((name, kind))
    if refusal is None:
        _agree(_measured(call), _expected(name))
        return
    pattern, step = refusal
    with pytest.raises(GncError, match=pattern) as error:
        _measured(call)
    message = str(error.value)
    assert "\n" not in message
    then, plain = step(tmp_path, save, prop, call)
    _agree(_measured(then), _expected(name) if plain is prop.plain else _measured(plain))


SHARDED = [kind for kind in FORMATS if "float32" not in UNSAVABLE.get(kind, ())]


@pytest.mark.parametrize("kind", SHARDED)
def test_shards_are_one_set_in_every_format(tmp_path: Path, kind: str) -> None:
    parts = []
    for number, rows in enumerate(np.split(np.arange(N), [10])):
        folder = tmp_path / f"part{number}"
        folder.mkdir()
        arrays = {"features": H[rows].astype("f4"), "labels": Y[rows]}
        parts.append(FORMATS[kind](folder, arrays))
    joined = {name: [call[name] for call in parts] for name in parts[0] if name != "files"}
    if "files" in parts[0]:
        joined["features"] = [file for call in parts for file in call["files"]]
    found = measure(**joined, weights=_head_file(tmp_path))
    _agree(found, _expected("float32"))


def _head_file(folder: Path) -> Path:
    """The classifier in a file of its own."""
    np.save(folder / "weights.npy", W)
    return folder / "weights.npy"


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
@pytest.mark.parametrize("index", ["numbers", "words"])
def test_row_names_are_no_feature(tmp_path: Path, suffix: str, index: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(H, columns=[f"f{j}" for j in range(D)]).assign(label=Y)
    frame.index = 7 * np.arange(N) if index == "numbers" else [f"row {i}" for i in range(N)]
    path = tmp_path / f"frame{suffix}"
    if suffix == ".feather":
        frame = frame.reset_index(drop=True)  # pandas writes no other
    getattr(frame, f"to_{suffix[1:]}")(path)
    try:
        found = measure(path)
    except GncError as error:
        assert suffix == ".csv" and "to_csv(index=False)" in str(error)
        frame.to_csv(path, index=False)
        found = measure(path)
    _agree(found, measure(features=H, labels=Y))
