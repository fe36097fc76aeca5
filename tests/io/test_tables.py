"""Parquet and Arrow files: columns are read exactly and in pieces, and refused in one line."""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pyarrow
import pytest
from pyarrow import feather, parquet

from gnc_cli import measure
from gnc_cli.errors import DataError, UnavailableError
from gnc_cli.io import formats
from gnc_cli.io.codefile import read_points
from gnc_cli.io.formats import reader_for
from gnc_cli.io.inputs import open_input

WRITERS: dict[str, Callable[[Any, str], None]] = {
    "plain.parquet": lambda table, path: parquet.write_table(table, path, row_group_size=700),
    "packed.parquet": lambda table, path: parquet.write_table(table, path, compression="zstd"),
    "packed.feather": lambda table, path: feather.write_feather(table, path, chunksize=300),
    "plain.arrow": lambda table, path: feather.write_feather(
        table, path, compression="uncompressed"
    ),
    "polars.parquet": lambda table, path: polars.DataFrame(table).write_parquet(path),
    "polars.arrow": lambda table, path: polars.DataFrame(table).write_ipc(path),
}


def entries(path: Path | str) -> dict[str, Any]:
    """What each column holds, or why it is refused."""
    held: dict[str, Any] = {}
    with open_input(str(path)) as file, reader_for(str(path), file)(file, str(path)) as listed:
        for name, entry in listed.entries.items():
            try:
                held[name] = entry.load()
            except DataError as error:
                held[name] = str(error)
    return held


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_column_is_read_exactly(
    tmp_path: Path, rng: np.random.Generator, name: str
) -> None:
    H = rng.standard_normal((2000, 5))
    words = rng.choice(["ant", "bee", "cat"], 2000)
    fixed = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(H.astype("f4").ravel()), 5)
    columns = {
        "lists": [*H],
        "fixed": fixed,
        "large": pyarrow.array([*H], pyarrow.large_list(pyarrow.float64())),
        "y": rng.integers(0, 9, 2000),
        "words": words,
        "dictionary": pyarrow.array(words).dictionary_encode(),
        "dotted.name": np.arange(2000.0),
    }
    WRITERS[name](pyarrow.table(columns), str(tmp_path / name))
    held = entries(tmp_path / name)
    for column, values in columns.items():
        expected = H.astype("f4") if column == "fixed" else H if "l" in column[:1] else values
        np.testing.assert_array_equal(held[column], np.asarray(expected))
    assert held["fixed"].dtype == np.float32


@pytest.mark.parametrize("name", ["plain.parquet", "packed.feather"])
def test_threads_read_rows_in_any_order(
    tmp_path: Path, rng: np.random.Generator, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "_BATCH_BYTES", 4096)
    H = np.arange(20_000.0).reshape(5000, 4)
    path = str(tmp_path / name)
    WRITERS[name](pyarrow.table({"H": [*H], "y": np.arange(5000)}), path)
    ends = np.sort(rng.integers(0, 5001, (60, 2)))
    wrong = []
    with open_input(path) as file, formats.table_columns(file, path) as listed:

        def work(mine: np.ndarray) -> None:
            for start, stop in mine[mine[:, 0] < mine[:, 1]]:
                for column, expected in (("H", H), ("y", np.arange(5000))):
                    read = listed.entries[column].read
                    assert read is not None
                    if not np.array_equal(read(start, stop), expected[start:stop]):
                        wrong.append((column, start, stop))

        threads = [threading.Thread(target=work, args=(part,)) for part in np.split(ends, 4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_what_is_missing_is_refused_with_its_row(tmp_path: Path, suffix: str) -> None:
    path = str(tmp_path / f"holes{suffix}")
    table = pyarrow.table(
        {
            "H": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 2.0]],
            "null": [[1.0, 0.0], [0.0, 1.0], None, [1.0, 2.0]],
            "inner": [[1.0, 0.0], [0.0, None], [1.0, 1.0], [1.0, 2.0]],
            "ragged": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 2.0, 3.0]],
            "first": [None, [0.0, 1.0], [1.0, 1.0], [1.0, 2.0]],
            "y": [0, 1, 0, 1],
            "labels": [0, 1, 0, None],
            "words": ["a", "b", None, "a"],
            "pairs": [{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}],
        }
    )
    WRITERS["packed" + suffix](table, path)
    for features, labels, expected in (
        ("null", "y", "no list of 2 numbers at row 2"),
        ("inner", "y", "first row 1"),
        ("ragged", "y", "no list of 2 numbers at row 3"),
        ("first", "y", "no list of 2 numbers at row 0"),
        ("H", "labels", "first is nan at row 3"),
        ("H", "words", "None at row 2"),
        ("words", "y", "dtype words"),
        ("pairs", "y", "dtype Arrow's struct<a: int64>"),
        ("H", "nothing", "has no dataset 'nothing'; it holds 'H' (4, 2) float64"),
    ):
        with pytest.raises(DataError, match=r"\S") as caught:
            measure(path, features=features, labels=labels)
        assert expected in str(caught.value)
        assert os.path.basename(path) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_what_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.parquet"
    zeros = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(np.zeros(3_000_000 * 8)), 8)
    parquet.write_table(pyarrow.table({"H": zeros}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    with pytest.raises(DataError, match=r"declares 192,000,000 bytes.*without compression"):
        read_points(f"{path}:H")


def write_stream(table: Any, path: str) -> None:
    """An Arrow stream whose buffers are compressed."""
    options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
    with pyarrow.ipc.new_stream(path, table.schema, options=options) as stream:
        stream.write_table(table)


BOMBS: dict[str, Any] = {
    "one list": lambda n: pyarrow.ListArray.from_arrays(
        pyarrow.array([0, n], pyarrow.int32()), pyarrow.array(np.zeros(n, "i1"))
    ),
    "large list": lambda n: pyarrow.LargeListArray.from_arrays(
        pyarrow.array([0, n], pyarrow.int64()), pyarrow.array(np.zeros(n, "i1"))
    ),
    "fixed list": lambda n: pyarrow.FixedSizeListArray.from_arrays(np.zeros(n, "i1"), n),
    "nested": lambda n: pyarrow.FixedSizeListArray.from_arrays(BOMBS["one list"](n), 1),
    "dictionary": lambda n: pyarrow.array(["a" * n]).dictionary_encode(),
    "word": lambda n: pyarrow.array(["a" * n]),
    "view": lambda n: pyarrow.array(["a" * n], pyarrow.string_view()),
}
WRITERS_OF_BOMBS = {
    "a.parquet": WRITERS["packed.parquet"],
    "a.feather": lambda table, path: feather.write_feather(table, path, compression="zstd"),
    "a.arrow": write_stream,
}


@pytest.mark.parametrize("name", WRITERS_OF_BOMBS)
@pytest.mark.parametrize("kind", BOMBS)
def test_sizes_are_read_before_anything_is_unpacked(tmp_path: Path, name: str, kind: str) -> None:
    path = str(tmp_path / name)
    array = BOMBS[kind](80_000_000)
    WRITERS_OF_BOMBS[name](pyarrow.table({"features": array, "labels": [0]}), path)
    del array
    before = pyarrow.total_allocated_bytes()
    pool = pyarrow.default_memory_pool()
    allocated = pool.total_bytes_allocated()
    with pytest.raises(DataError, match=r"declares [\d,]+ bytes|dtype Arrow's") as caught:
        measure(path)
    assert name in str(caught.value) and "\n" not in str(caught.value)
    assert pool.total_bytes_allocated() - allocated < 20_000_000
    assert pyarrow.total_allocated_bytes() <= before


@pytest.mark.parametrize("name", WRITERS_OF_BOMBS)
@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary"])
def test_words_have_a_thousand_letters_and_are_shared(tmp_path: Path, name: str, kind: str) -> None:
    words: Any = ["a" * 1000, None, "b"] * 700
    array = pyarrow.array(words, kind if kind != "dictionary" else "string")
    array = array.dictionary_encode() if kind == "dictionary" else array
    path = str(tmp_path / name)
    WRITERS_OF_BOMBS[name](pyarrow.table({"words": array}), path)
    held = entries(path)["words"]
    assert held.tolist() == words
    assert len({*map(id, held.tolist())}) == 3
    longer = pyarrow.array(["a" * 1001, "b"], kind if kind != "dictionary" else "string")
    longer = longer.dictionary_encode() if kind == "dictionary" else longer
    WRITERS_OF_BOMBS[name](pyarrow.table({"words": longer}), path)
    assert "has a word of 1,001 letters, at most 1,000 are read" in entries(path)["words"]


@pytest.mark.parametrize(
    "name", ["plain.parquet", "packed.parquet", "packed.feather", "plain.arrow"]
)
def test_a_damaged_file_is_one_line(tmp_path: Path, rng: np.random.Generator, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](
        pyarrow.table({"H": [*rng.standard_normal((900, 3))], "y": np.arange(900) % 3}), str(path)
    )
    whole = path.read_bytes()
    for _ in range(40):
        damaged = bytearray(whole)
        for at in rng.integers(0, len(whole), 8):
            damaged[at] = rng.integers(0, 256)
        path.write_bytes(damaged[: rng.integers(1, len(whole))] if rng.random() < 0.3 else damaged)
        try:
            measure(path, features="H", labels="y")
        except DataError as error:
            assert name in str(error) and "\n" not in str(error)


def test_a_code_is_read_from_its_only_matrix(tmp_path: Path) -> None:
    path = tmp_path / "code.parquet"
    parquet.write_table(pyarrow.table({"points": [*np.eye(3)], "name": ["x", "y", "z"]}), path)
    np.testing.assert_array_equal(read_points(path).weights, np.eye(3))


def test_pyarrow_is_named_where_it_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet.write_table(pyarrow.table({"H": [*np.eye(3)]}), tmp_path / "H.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        UnavailableError, match=r"H.parquet' needs pyarrow; pip install 'gnc-cli\[p"
    ):
        measure(tmp_path / "H.parquet")
    with pytest.raises(UnavailableError, match=r"out.parquet.* needs pyarrow; .* \.csv or \.h5"):
        measure(weights=np.eye(3), out=tmp_path / "out.parquet")
