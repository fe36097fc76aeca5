"""Texts: numbers of any layout are read exactly, in little memory, or are refused in one line."""

import csv
import gzip
import io
import json
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli import bounds, compare, measure
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io import inputs, texts
from gnc_cli.io.catalogue import Catalogue
from gnc_cli.io.codefile import read_points

CELLS = st.sampled_from(
    ["1", "2.5", "-3e2", "1/3", "cat", "", " ", '"4"', '"', "a,b", "nan", "label", "x", "0", "\0"]
)
ROWS = st.lists(st.lists(CELLS, max_size=4), max_size=5)


def read(content: bytes, name: str = "a.csv") -> dict[str, np.ndarray]:
    """Every dataset of a text."""
    reader = (
        texts.off_points
        if name.endswith(".off")
        else texts.gz
        if name.endswith("gz")
        else texts.TEXTS
    )
    reader = reader["." + name.rpartition(".")[2]] if isinstance(reader, dict) else reader
    with reader(io.BytesIO(content), name) as catalogue:
        assert isinstance(catalogue, Catalogue)
        return {key: entry.load() for key, entry in catalogue.entries.items()}


def write_eye(folder: Path) -> Path:
    np.savetxt(folder / "eye.txt", np.eye(3))
    return folder / "eye.txt"


@given(
    ROWS,
    st.sampled_from([",", "\t", ";", " "]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "\ufeff"]),
    st.sampled_from(["a.csv", "a.tsv", "a.txt"]),
)
def test_any_layout_is_read_or_refused(
    rows: list[list[str]], delimiter: str, end: str, mark: str, name: str
) -> None:
    text = mark + end.join(map(delimiter.join, rows)) + end
    try:
        read(text.encode(), name)
    except (DataError, UsageError) as error:
        assert name in str(error) and "\n" not in str(error)


@given(
    st.lists(st.lists(st.floats(allow_nan=False), min_size=3, max_size=3), min_size=1),
    st.sampled_from(["first", "middle", "last"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.integers(1, 40),
)
def test_numbers_and_labels_are_those_of_the_csv_module(
    rows: list[list[float]], place: str, end: str, words: bool, size: int
) -> None:
    index = ["first", "middle", "last"].index(place)
    names = ["x1", "x2"]
    names.insert(index, "label")
    for k, row in enumerate(rows):
        row[index] = k % 3
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator=end)
    writer.writerow(names)
    for row in rows:
        cells = [*map(repr, row)]
        cells[index] = f"c{row[index]}" if words else str(row[index])
        writer.writerow(cells)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "pieces", partial(inputs.pieces, size=size))
        held = read(("\ufeff" + file.getvalue()).encode())
    numbers = np.delete(np.array(rows), index, axis=1)
    np.testing.assert_array_equal(held["features"], numbers)
    expected = [f"c{k % 3}" if words else k % 3 for k in range(len(rows))]
    assert held["labels"].tolist() == expected


@pytest.mark.parametrize("label", ["a,b,label", "label,a,b", "a,b,label,", "a,b,y,label"])
@pytest.mark.parametrize("row", ["1,2", "1,cat", "1,2,cat,5,6", '1,"2'])
def test_ragged_tables_are_one_line(tmp_path: Path, label: str, row: str) -> None:
    path = tmp_path / "ragged.csv"
    path.write_text(f"{label}\n{row}\n{row}\n")
    with pytest.raises(DataError, match=r"ragged.csv' is not a table of numbers") as caught:
        measure(path)
    assert "\n" not in str(caught.value)


def test_a_quotation_mark_without_end_is_one_line() -> None:
    rows = "1,cat\n" * 30_000
    with pytest.raises(DataError, match="is not a table of numbers"):
        read(f'x,y\n1,"cat\n{rows}'.encode())


@pytest.mark.parametrize(
    ("name", "line", "most"),
    [
        ("a.txt", "11 \n", 5.0),
        ("a.txt", "\n", 1.0),
        ("a.txt", "# 1 2 3 4\n", 1.0),
        ("a.csv", "1,2.25,cat\n", 8.0),
        ("a.jsonl", '{"a": [1, 2], "y": 1}\n', 5.0),
        ("a.jsonl", "{}\n", 1.0),
        ("a.off", "11\n", 5.0),
        ("a.off.faces", "1 0\n", 5.0),
    ],
)
def test_little_memory_is_taken(
    name: str, line: str, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = partial(inputs.pieces, size=1 << 12)
    monkeypatch.setattr(texts, "pieces", small)
    count = 400_000 // len(line)
    heads = {
        "a.off": f"nOFF 1 {count} 0 0\n",
        "a.off.faces": f"OFF 1 {count} 0\n1 1 1\n",
        "a.txt": "1\n",
    }
    content = (heads.get(name, "") + line * count).encode()
    tracemalloc.start()
    try:
        read(content, name.removesuffix(".faces"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most * len(content) + (1 << 20)


def test_long_lines_are_refused() -> None:
    for name in ("a.txt", "a.jsonl", "a.off"):
        with pytest.raises(DataError, match=r"has a line of 10,000,000 bytes or more"):
            read(b"1 " * 6_000_000, name)


def test_bytes_of_another_text_have_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "pieces", partial(inputs.pieces, size=4))
    with pytest.raises(DataError, match=r"^'a.csv' is not a text file \(byte 9 is not UTF-8\)"):
        read(b"1,2\n3,4\n5\xff")


@pytest.mark.parametrize("size", [1, 30, 10_000])
def test_json_lines_are_read_in_pieces(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(texts, "pieces", partial(inputs.pieces, size=size))
    rows = [{"H": [k, 0.5], "y": k % 3, "w": "ab"[k % 2], "late": k} for k in range(50)]
    rows = [row if k > 9 else {**row, "late": None} for k, row in enumerate(rows)]
    rows[3]["w"], rows[4]["w"] = None, "\u2028"
    del rows[20]["w"]
    content = "\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()
    with texts.jsonl(io.BytesIO(content), "a.jsonl") as catalogue:
        held = {key: entry.load() for key, entry in catalogue.entries.items()}
        problem = catalogue.entries["late"].problem
    np.testing.assert_array_equal(held["H"], [row["H"] for row in rows])
    np.testing.assert_array_equal(held["y"], [row["y"] for row in rows])
    assert held["w"].tolist() == [row.get("w") for row in rows]
    assert problem is not None and "is not a number" in problem
    np.testing.assert_array_equal(read(gzip.compress(content), "a.jsonl.gz")["H"], held["H"])
    for line, reason in (("{", "in line 101"), ("[1]", "no object in line 101")):
        with pytest.raises(DataError, match=reason):
            read(content + f"\n\n{line}\n".encode(), "a.jsonl")


def test_keys_of_single_lines_do_not_multiply() -> None:
    keys = "".join(f'{{"k{k}": 1}}\n' for k in range(20_000))
    with pytest.raises(DataError, match="declares 3,200,000,000 bytes"):
        read(keys.encode(), "a.jsonl")


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl", "a.off", "table.csv"])
def test_thousands_of_digits_are_exact_or_refused(tmp_path: Path, name: str) -> None:
    digits, path = "1" * 4400, tmp_path / name
    whole, small = digits, f"0.{digits}"
    for number in (whole, small):
        if name == "table.csv":
            path.write_text(f"3,4,{number}\n")
            with pytest.raises(DataError, match=r"line 1: .* is no decimal number of 400 digits"):
                compare(write_eye(tmp_path), table=path)
            continue
        text = {
            "a.txt": f"1 0.5\n{number} 0.25\n",
            "a.csv": f"x1,x2\n1,0.5\n{number},0.25\n",
            "a.jsonl": f'{{"H": [1.0, 0.5]}}\n{{"H": [{number}, 0.25]}}\n',
            "a.off": f"nOFF 2 2 0 0\n1 0.5\n{number} 0.25\n",
        }[name]
        path.write_text(text)
        if number == small:
            (points,) = read(path.read_bytes(), name).values()
            assert points.tolist() == [[1.0, 0.5], [float(small), 0.25]]
            continue
        with pytest.raises(DataError, match=r"(inf at row 1|4400 digits in line 2)") as caught:
            measure(weights=path)
        assert name in str(caught.value) and "\n" not in str(caught.value)


def test_thousands_of_digits_in_options() -> None:
    with pytest.raises(UsageError, match="too large"):
        bounds(d="1" * 4400, K=4)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="is not a device"):
        measure(weights=np.eye(3), device="cuda:" + "1" * 4400)


# OFF


@pytest.mark.parametrize(
    "text",
    [
        "OFF",
        "OFF 3 0",
        "OFF\n-3 0 0\n1 0 0\n",
        "OFF\n999999999999999999 0 0\n1 0 0\n",
        "nOFF\n0\n3 0 0\n",
        "nOFF\nx\n3 0 0\n",
        "OFF\n2 0 0\n1 0 0\n0 1 x\n",
        "OFF\n2 9 0\n1 0 0\n0 1 0\n",
        "OFF\n" + "9" * 5000 + " 0 0\n",
        "COFF\n2 0 0\n1 0 0 1 1 1 1\n0 1 0 1 1 1 1\n",
        # Colours of points, no count of edges, a point too many or too few, a corner of no point, a
        # negative count, other digits.
        "OFF\n4 2 0\n1 0 0 9 0 0\n0 1 0 9 0 0\n0 0 1 0 0 0\n-1 -1 -1 0 0 0\n3 0 1 2\n3 1 2 3\n",
        "OFF\n3 1\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n",
        "OFF\n4 1 3\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n",
        "OFF\n2 1 3\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n",
        "OFF\n3 1 3\n1 0 0\n0 1 0\n0 0 1\n3 0 1 99\n",
        "OFF\n3 -1 3\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n",
        "OFF\n0_2 0 0\n1 0 0\n0 1 0\n",
        "OFF\n2 0 0\n1_0 0 0\n0 1 0\n",
        "OFF\n\u0662 0 0\n1 0 0\n0 1 0\n",
    ],
)
def test_bad_off_files_are_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "code.off"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="code.off") as caught:
        read_points(path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300
    assert "invalid literal" not in str(caught.value) and "index" not in str(caught.value)


def test_off_files_of_others(tmp_path: Path) -> None:
    path = tmp_path / "code.off"
    path.write_text("OFF 3 1 3 # a triangle\n\n1 0 0  0 1 0\n0 0 1\n3 0 1 2 255 0 0\n")
    assert np.array_equal(read_points(path).weights, np.eye(3))
