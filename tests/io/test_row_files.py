"""Rows of results as columns of HDF5 and Parquet, and as lines of CSV: each value comes back."""

import csv
import io
from typing import Any

import h5py
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from gnc_cli.io.row_files import COLUMN_WRITERS, csv_text

COLUMNS = {
    "texts": st.text("ab,é\"'\n", min_size=1),
    "counts": st.integers(-(2**62), 2**62),
    "values": st.floats(allow_nan=False, allow_infinity=False),
    "flags": st.booleans(),
}
ROWS = st.lists(st.fixed_dictionaries(COLUMNS), min_size=1, max_size=5)


def columns_of(suffix: str, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    file = io.BytesIO()
    COLUMN_WRITERS[suffix](file, "rows", columns, {"command": "gnc bounds"})
    if suffix == ".parquet":
        return dict(parquet.read_table(file).to_pydict())
    with h5py.File(file) as h5:
        texts = {"texts": h5["rows/texts"].asstr()[:].tolist()}
        return {name: h5[f"rows/{name}"][:].tolist() for name in columns} | texts


@pytest.mark.parametrize("suffix", COLUMN_WRITERS)
@given(ROWS)
def test_columns_come_back(suffix: str, rows: list[dict[str, Any]]) -> None:
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    assert columns_of(suffix, columns) == columns


def test_null_is_null_in_parquet_and_nan_or_empty_in_hdf5() -> None:
    columns = {"texts": ["a", None], "values": [None, 2.0], "counts": [3, None]}
    assert columns_of(".parquet", columns) == columns
    found = columns_of(".h5", columns)
    assert found["texts"] == ["a", ""] and str(found["values"]) == "[nan, 2.0]"
    assert str(found["counts"]) == "[3.0, nan]"


@given(ROWS)
def test_lines_of_csv_come_back(rows: list[dict[str, Any]]) -> None:
    lines = csv.DictReader(io.StringIO(csv_text([*COLUMNS], rows), newline=""))
    assert [(float(line["values"]), int(line["counts"])) for line in lines] == [
        (row["values"], row["counts"]) for row in rows
    ]
