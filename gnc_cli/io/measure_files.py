"""What `gnc measure` writes: its rows (.csv, .json, .h5) and a row a class (.csv, .h5).

Writing is atomic and reproducible: equal rows, equal bytes.
"""

import csv
import io
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import IO, Any

import numpy as np

import gnc_cli
from gnc_cli.errors import UsageError
from gnc_cli.io.atomic import atomic_file
from gnc_cli.io.codefile import creation_time, provenance_text
from gnc_cli.io.sink import deferring_errors
from gnc_cli.results import ClassRow
from gnc_cli.results.lines import flat_row

__all__ = ["CLASS_COLUMNS", "check_rows_target", "write_per_class", "write_rows"]

CLASS_COLUMNS = (
    "label", "name", "count", "mean_norm", "spread", "one_vs_rest_lower", "one_vs_rest_upper",
    "nearest", "nearest_name", "nearest_cosine", "rattler", "accuracy", "min_margin",
)  # fmt: skip
"""Header of a `--per-class` file."""
_NAMES = ("name", "nearest_name")

_FORMAT = 1
_Path = str | os.PathLike[str]


def check_rows_target(option: str, path: _Path | None, suffixes: Sequence[str]) -> None:
    """Refuse a name whose suffix chooses no format.

    Raises:
        UsageError: it is none of `suffixes`.
    """
    if path is not None and PurePath(path).suffix.lower() not in suffixes:
        raise UsageError(
            f"{option} {os.fspath(path)!r} has no known suffix; end it in {', '.join(suffixes)}"
        )


def write_rows(path: _Path, result: dict[str, Any], *, force: bool = False) -> None:
    """Write the rows of a result in the format of the suffix.

    `.csv`: a line a row under dotted keys, as --csv prints them. `.json`: the whole result, as
    --json prints it. `.h5`: group `/rows` with a dataset a key, one value a row; what is null is
    NaN, or an empty text.

    Args:
        path: the target.
        result: `to_json()` of a result, or of a series.
        force: replace an existing file.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file exists without `force`, or cannot be written; nothing has changed.
    """
    check_rows_target("--out", path, (".csv", ".json", ".h5"))
    suffix = PurePath(path).suffix.lower()
    head = {"command": result["command"], "version": result["version"]}
    rows = [head | flat_row(row) for row in result.get("rows", [result])]
    names = list(dict.fromkeys(name for row in rows for name in row))
    with atomic_file(path, force=force) as file:
        if suffix == ".json":
            file.write(json.dumps(result, allow_nan=False).encode() + b"\n")
        elif suffix == ".csv":
            _write_csv(file, names, ([row.get(name) for name in names] for row in rows))
        else:
            columns = {name: _column([row.get(name) for row in rows]) for name in names}
            _write_hdf5(file, "rows", columns, {})


def write_per_class(
    path: _Path,
    rows: Iterable[ClassRow],
    *,
    force: bool = False,
    provenance: dict[str, Any] | None = None,
) -> None:
    """Write a row a class: .csv with the header `CLASS_COLUMNS`, or .h5 with a dataset a column.

    The columns of names are left out of .h5 where no class has a name.

    Args:
        path: the target.
        rows: of all classes, by label; a million of them may be made one by one.
        force: replace an existing file.
        provenance: how the rows were made (command, seed, options), for .h5.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file exists without `force`, or cannot be written; nothing has changed.
    """
    check_rows_target("--per-class", path, (".csv", ".h5"))
    cells = (_cells(row) for row in rows)
    with atomic_file(path, force=force) as file:
        if PurePath(path).suffix.lower() == ".csv":
            _write_csv(file, CLASS_COLUMNS, cells)
            return
        held = list(zip(*cells, strict=True)) or [()] * len(CLASS_COLUMNS)
        columns = {
            name: _column(values)
            for name, values in zip(CLASS_COLUMNS, held, strict=True)
            if name not in _NAMES or any(value is not None for value in values)
        }
        _write_hdf5(file, "per_class", columns, provenance or {})


def _cells(row: ClassRow) -> tuple[Any, ...]:
    rho = row.one_vs_rest
    ends = (None, None) if rho is None else (rho.lower, rho.upper)
    return (
        row.label, row.name, row.count, row.mean_norm, row.spread, *ends, row.nearest,
        row.nearest_name, row.nearest_cosine, row.rattler, row.accuracy, row.min_margin,
    )  # fmt: skip


def _write_csv(file: IO[bytes], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=False)
    try:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
        text.flush()
    finally:
        text.detach()


def _column(values: Sequence[Any]) -> np.ndarray:
    """One dataset: texts in UTF-8, whole numbers, truth values, or floats with NaN for null."""
    known = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in known):
        # Of one length: a million texts on HDF5's heap are slow to write and to read.
        return np.array([b"" if value is None else str(value).encode() for value in values])
    if known and len(known) == len(values) and len({type(value) for value in known}) == 1:
        return np.array(values)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _write_hdf5(
    file: IO[bytes], kind: str, columns: dict[str, np.ndarray], provenance: dict[str, Any]
) -> None:
    import h5py

    with deferring_errors(file) as sink, h5py.File(sink, "w") as h5:
        ours = {
            "gnc_format": _FORMAT, "kind": kind, "created": creation_time(),
            "gnc_version": gnc_cli.__version__,
            "provenance": provenance_text({"command": "gnc measure"} | provenance),
        }  # fmt: skip
        for name, value in ours.items():
            h5.attrs[name] = value
        parent = h5.create_group(kind)
        for name, column in columns.items():
            if column.dtype.kind == "S":
                column = column.astype(h5py.string_dtype("utf-8", column.dtype.itemsize))
            parent.create_dataset(name, data=column, track_times=False)
