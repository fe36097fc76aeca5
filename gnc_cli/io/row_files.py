"""Files of rows: `.csv` (lines), `.json` (the whole result), `.h5` and `.parquet` (columns).

Writing is atomic and reproducible: equal rows give equal bytes.
"""

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

import numpy as np

from gnc_cli.errors import import_extra
from gnc_cli.escaping import in_csv
from gnc_cli.io.atomic import atomic_file, deferring_errors
from gnc_cli.io.hdf5 import write_attributes
from gnc_cli.parameters import check_suffix, spelled
from gnc_cli.records import Result

ROW_SUFFIXES = (".csv", ".json", ".h5", ".parquet")
"""Suffixes of the formats of rows."""

_Path = str | os.PathLike[str]


def write_rows(
    path: _Path,
    result: Result,
    *,
    options: dict[str, Any] | None = None,
    datasets: Mapping[str, np.ndarray] | None = None,
    force: bool,
) -> None:
    """Write the rows of a result in the format of the suffix.

    `.csv`: one line per row under dotted keys, as --csv prints them. `.json`: the whole result, as
    --json prints it. `.h5`: group `/rows` with one dataset per column and one value per row; null
    is NaN, or an empty text. `.parquet`: the same columns, where null is null.

    Args:
        path: the target.
        result: the record of a command.
        options: options of the command, for the provenance of .h5 and .parquet.
        datasets: further datasets of .h5, of any shape, by their paths in it.
        force: True to replace an existing file.

    Raises:
        UsageError: unknown suffix.
        OutputError: the file exists without `force`, or cannot be written; nothing has changed.
    """
    suffix = check_suffix(path, ROW_SUFFIXES, spelled("out"))
    names, lines = result.csv_rows()
    with atomic_file(path, force=force) as file:
        if suffix == ".json":
            file.write(result.dumps().encode() + b"\n")
        elif suffix == ".csv":
            file.write(csv_text(names, lines).encode())
        else:
            columns: dict[str, Any] = {name: [line.get(name) for line in lines] for name in names}
            columns |= {**(datasets or {})} if suffix == ".h5" else {}
            origin = {"command": f"gnc {result.command}", "options": options}
            COLUMN_WRITERS[suffix](file, "rows", columns, {k: v for k, v in origin.items() if v})


def csv_text(names: Sequence[str], lines: Iterable[Mapping[str, Any]]) -> str:
    """Return the CSV text of lines, mappings with these keys; see `write_csv`."""
    file = io.BytesIO()
    write_csv(file, names, ([line.get(name) for name in names] for line in lines))
    return file.getvalue().decode()


def write_csv(file: IO[bytes], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a header and rows as CSV, None as an empty cell."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(map(in_csv, row) for row in rows)
        text.flush()
    finally:
        text.detach()


def column(values: Sequence[Any]) -> np.ndarray:
    """Convert values to a dataset, shape (n,).

    It holds texts in UTF-8, whole numbers, truth values, or floats with NaN for null.
    """
    present = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in present):
        # Fixed length: a million texts on the heap of HDF5 are slow to write and to read.
        texts = ["" if value is None else str(value) for value in values]
        return np.array([text.encode(errors="backslashreplace") for text in texts])  # file names
    if present and len(present) == len(values) and len({type(value) for value in present}) == 1:
        return np.array(values)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def write_columns(
    file: IO[bytes], kind: str, columns: Mapping[str, Sequence[Any]], provenance: dict[str, Any]
) -> None:
    """Write an HDF5 file with one group, named `kind`, and one dataset per column in it."""
    import h5py

    with deferring_errors(file) as sink, h5py.File(sink, "w") as h5:
        write_attributes(h5.attrs, kind, provenance)
        parent = h5.create_group(kind)
        for name, values in columns.items():
            data = values if isinstance(values, np.ndarray) else column(values)
            if data.dtype.kind == "S":
                data = data.astype(h5py.string_dtype("utf-8", data.dtype.itemsize))
            parent.create_dataset(name, data=data, track_times=False)


def write_parquet(
    file: IO[bytes], kind: str, columns: Mapping[str, Sequence[Any]], provenance: dict[str, Any]
) -> None:
    """Write a Parquet file with these columns, in which None is null.

    Its metadata are the attributes of an HDF5 file.
    """
    pyarrow = import_extra("pyarrow", "a .parquet file", "parquet")
    from pyarrow.parquet import write_table

    arrays, attributes = {}, dict[str, Any]()
    for name, values in columns.items():
        array = pyarrow.array(
            column(values), mask=np.array([value is None for value in values], dtype=bool)
        )
        arrays[name] = array.cast("string") if array.type == "binary" else array
    write_attributes(attributes, kind, provenance)
    write_table(
        pyarrow.table(arrays, metadata={name: str(v) for name, v in attributes.items()}), file
    )


COLUMN_WRITERS = {".h5": write_columns, ".parquet": write_parquet}
"""Writers of columns, by suffix."""
