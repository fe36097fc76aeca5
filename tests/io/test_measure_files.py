"""Files of rows and of classes: whole or untouched, equal bytes for equal rows, read back."""

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import gnc_cli
from gnc_cli.errors import OutputError, UsageError
from gnc_cli.io.measure_files import CLASS_COLUMNS, write_per_class
from gnc_cli.io.row_files import check_rows_target, write_rows
from gnc_cli.results import Bracket, ClassRow
from gnc_cli.results.lines import flat_row
from tests.cli.measure_fakes import class_row, full, grouped, row, series, weights_only

HEADER = (
    "label,name,count,mean_norm,spread,one_vs_rest_lower,one_vs_rest_upper,nearest,nearest_name,"
    "nearest_cosine,rattler,accuracy,min_margin"
)
ABSENT = ClassRow(2, None, 0, None, None, None, None, None, None, None)
CLASSES = [class_row(0, name="a, \"b\"", nearest_name="é"), class_row(1, rattler=True), ABSENT]


@pytest.fixture(autouse=True)
def _same_birthday(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


def read_h5(path: Path, group: str) -> dict[str, Any]:
    with h5py.File(path) as file:
        found = {}
        for name, dataset in file[group].items():
            text = h5py.check_string_dtype(dataset.dtype) is not None
            found[name] = (dataset.asstr() if text else dataset)[()].tolist()
        return found


def test_rows_as_json_are_the_whole_result(tmp_path: Path) -> None:
    for result in (full(), grouped()):
        write_rows(tmp_path / "r.json", result.to_json(), force=True)
        assert json.loads((tmp_path / "r.json").read_text()) == result.to_json()


def test_rows_as_csv(tmp_path: Path) -> None:
    write_rows(tmp_path / "r.csv", series(full(), weights_only()).to_json())
    one, two = csv.DictReader((tmp_path / "r.csv").read_text().splitlines())
    assert float(one["gnc2.upper"]) == full().gnc2.upper and one["command"] == "measure"
    assert float(one["gnc1"]) == 1e-4 and two["gnc1"] == ""
    assert one["variants.classic.nc1"] == "0.0123" and two["variants.classic.nc1"] == ""
    assert one.keys() == two.keys() and "worst_classes" not in "".join(one)


def test_rows_as_hdf5(tmp_path: Path) -> None:
    write_rows(tmp_path / "r.h5", series(full(), weights_only()).to_json())
    found = read_h5(tmp_path / "r.h5", "rows")
    assert found["file"] == ["features.h5", "head.safetensors"]
    assert found["K"] == [100, 32000] and isinstance(found["K"][0], int)
    assert found["gnc2.lower"] == [0.66, 0.0]
    assert found["gnc1"][0] == 1e-4 and np.isnan(found["gnc1"][1])
    assert found["snapshot"] == ["final", ""]
    assert set(found) == {*flat_row(full().to_json()), *flat_row(weights_only().to_json()),
                          "command"}  # fmt: skip
    with h5py.File(tmp_path / "r.h5") as file:
        attrs = dict(file.attrs)
    assert attrs == {
        "gnc_format": 1, "kind": "rows", "created": "2023-11-14T22:13:20Z",
        "gnc_version": gnc_cli.__version__, "provenance": '{"command": "gnc measure"}',
    }  # fmt: skip


def test_no_rows_make_a_file_too(tmp_path: Path) -> None:
    for suffix in ("csv", "h5", "json"):
        write_rows(tmp_path / f"r.{suffix}", series().to_json())
    assert read_h5(tmp_path / "r.h5", "rows") == {}


def test_flat_rows_keep_scalars_and_texts_alone() -> None:
    flat = flat_row(full().to_json())
    assert all(v is None or isinstance(v, (str, int, float, bool)) for v in flat.values())
    assert flat["without_duplicates.gnc2.lower"] == 0.665 and "duplicates" not in flat
    assert flat["classes.missing_labels"] == "3; 17; 20; 99"
    # An empty list must not change its kind with the first record that enters it.
    assert "worst_classes" not in flat_row(row(worst_classes=()).to_json())
    assert flat_row(row().to_json())["warnings"] is None


def test_classes_as_csv(tmp_path: Path) -> None:
    write_per_class(tmp_path / "c.csv", CLASSES)
    text = (tmp_path / "c.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0] == HEADER == ",".join(CLASS_COLUMNS)
    one, two, none = csv.DictReader(text.splitlines())
    assert one["name"] == 'a, "b"' and one["nearest_name"] == "é"
    assert float(one["one_vs_rest_upper"]) == 0.6600000001 and one["rattler"] == "False"
    assert two["rattler"] == "True" and two["name"] == ""
    assert {k for k, v in none.items() if v} == {"label", "count"}


def test_classes_as_hdf5(tmp_path: Path) -> None:
    write_per_class(tmp_path / "c.h5", CLASSES)
    found = read_h5(tmp_path / "c.h5", "per_class")
    assert set(found) == set(CLASS_COLUMNS)
    assert found["label"] == [0, 1, 2] and found["name"] == ['a, "b"', "", ""]
    assert found["nearest_name"][0] == "é" and found["count"] == [500, 500, 0]
    assert found["one_vs_rest_lower"][:2] == [0.66, 0.661]
    assert np.isnan(found["one_vs_rest_lower"][2]) and np.isnan(found["nearest"][2])


def test_names_that_nobody_gave_are_no_columns(tmp_path: Path) -> None:
    rows = [class_row(0, name=None, nearest_name=None), ABSENT]
    write_per_class(tmp_path / "c.h5", rows)
    found = read_h5(tmp_path / "c.h5", "per_class")
    assert set(CLASS_COLUMNS) - set(found) == {"name", "nearest_name"}
    write_per_class(tmp_path / "c.csv", rows)
    assert (tmp_path / "c.csv").read_text().splitlines()[0] == HEADER


def test_classes_say_how_they_were_made(tmp_path: Path) -> None:
    write_per_class(tmp_path / "a.h5", CLASSES)
    made = {"command": "gnc measure /home/ada/run.h5 --seed 3", "seed": 3}
    write_per_class(tmp_path / "b.h5", CLASSES, provenance=made)
    said = []
    for name in "ab":
        with h5py.File(tmp_path / f"{name}.h5") as file:
            assert file.attrs["kind"] == "per_class"
            assert file.attrs["gnc_version"] == gnc_cli.__version__
            said.append(json.loads(file.attrs["provenance"]))
    assert said == [
        {"command": "gnc measure"}, {"command": "gnc measure run.h5 --seed 3", "seed": 3},
    ]  # fmt: skip


def test_numbers_come_back_to_the_last_bit(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((50, 2)) * 10.0 ** np.arange(-25, 25)[:, None]
    values.sort(axis=1)
    rows = [class_row(k, one_vs_rest=Bracket(*map(float, v))) for k, v in enumerate(values)]
    write_per_class(tmp_path / "c.csv", rows)
    write_per_class(tmp_path / "c.h5", rows)
    read = csv.DictReader((tmp_path / "c.csv").read_text().splitlines())
    text = [[float(r["one_vs_rest_lower"]), float(r["one_vs_rest_upper"])] for r in read]
    found = read_h5(tmp_path / "c.h5", "per_class")
    assert text == values.tolist()
    assert [found["one_vs_rest_lower"], found["one_vs_rest_upper"]] == values.T.tolist()


@pytest.mark.parametrize("suffix", ["csv", "h5", "json"])
def test_equal_rows_have_equal_bytes(tmp_path: Path, suffix: str) -> None:
    for name in "ab":
        write_rows(tmp_path / f"{name}.{suffix}", grouped().to_json())
        if suffix != "json":
            write_per_class(tmp_path / f"{name}_c.{suffix}", CLASSES)
    for end in ("", "_c") if suffix != "json" else ("",):
        one, two = ((tmp_path / f"{name}{end}.{suffix}").read_bytes() for name in "ab")
        assert one == two


@pytest.mark.parametrize("name", ["c.csv", "c.h5"])
def test_a_failure_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    def broken() -> Iterator[ClassRow]:
        yield class_row(0)
        raise KeyboardInterrupt

    path = tmp_path / name
    path.write_text("mine")
    with pytest.raises(OutputError, match="--force"):
        write_per_class(path, CLASSES)
    with pytest.raises(KeyboardInterrupt):
        write_per_class(path, broken(), force=True)
    assert path.read_text() == "mine" and os.listdir(tmp_path) == [name]


def test_unknown_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--out .*r\.npz.*\.csv, \.json, \.h5"):
        write_rows(tmp_path / "r.npz", row().to_json())
    with pytest.raises(UsageError, match="--per-class"):
        write_per_class(tmp_path / "r.json", [])
    check_rows_target("--out", None, (".csv",))
    check_rows_target("--out", "A.CSV", (".csv",))
    assert os.listdir(tmp_path) == []


def test_classes_may_be_made_one_by_one(tmp_path: Path) -> None:
    count = 30_000
    write_per_class(tmp_path / "c.csv", (class_row(k) for k in range(count)))
    with (tmp_path / "c.csv").open() as file:
        assert sum(1 for _ in file) == count + 1
