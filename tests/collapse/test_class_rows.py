"""One record per class: made on access, written whole or not at all, read back."""

import csv
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import gnc_cli
from gnc_cli.brackets import Bracket
from gnc_cli.collapse.class_rows import CLASS_COLUMNS, write_per_class
from gnc_cli.collapse.result import ClassRow, MeasureResult
from tests.collapse.conftest import NAMES

HEADER = (
    "label,name,count,mean_norm,spread,one_vs_rest_lower,one_vs_rest_upper,nearest,nearest_name,"
    "nearest_cosine,rattler,accuracy,min_margin"
)


def class_row(label: int, **changes: Any) -> ClassRow:
    fields: dict[str, Any] = dict(
        label=label,
        name=None,
        count=500,
        mean_norm=0.99,
        spread=0.0199,
        one_vs_rest=Bracket(0.66 + 0.001 * label, 0.6600000001 + 0.001 * label),
        nearest=label + 1,
        nearest_name=None,
        nearest_cosine=0.335,
        rattler=label > 2,
    )
    return ClassRow(**(fields | changes))


ABSENT = ClassRow(2, None, 0, None, None, None, None, None, None, None)
CLASSES = [class_row(0, name='a, "b"', nearest_name="é"), class_row(1, rattler=True), ABSENT]


@pytest.fixture(autouse=True)
def _same_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


def read_h5(path: Path) -> dict[str, Any]:
    with h5py.File(path) as file:
        found = {}
        for name, dataset in file["per_class"].items():
            text = h5py.check_string_dtype(dataset.dtype) is not None
            found[name] = (dataset.asstr() if text else dataset)[()].tolist()
        return found


def test_records_of_a_measurement(result: MeasureResult) -> None:
    rows = list(result.per_class)
    assert [row.label for row in rows] == list(range(12)) and rows[3].name == NAMES[3]
    assert {row.count for row in rows} == {20}
    nearest_to_hull = min(rows, key=lambda row: row.one_vs_rest.upper)
    assert nearest_to_hull == result.worst_classes[0] and nearest_to_hull.rattler is False
    assert np.mean([row.accuracy for row in rows]) == pytest.approx(result.accuracy)
    assert result.sample_margins is not None
    assert min(row.min_margin for row in rows) == result.sample_margins.min
    assert max(row.nearest_cosine for row in rows) == result.max_cosine
    with pytest.raises(IndexError):
        result.per_class[12]


def test_classes_as_csv(tmp_path: Path) -> None:
    write_per_class(tmp_path / "c.csv", CLASSES, provenance=None, force=False)
    text = (tmp_path / "c.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0] == HEADER == ",".join(CLASS_COLUMNS)
    one, two, none = csv.DictReader(text.splitlines())
    assert one["name"] == 'a, "b"' and one["nearest_name"] == "é"
    assert float(one["one_vs_rest_upper"]) == 0.6600000001 and one["rattler"] == "False"
    assert two["rattler"] == "True" and two["name"] == ""
    assert {k for k, v in none.items() if v} == {"label", "count"}


def test_classes_as_hdf5(tmp_path: Path) -> None:
    made = {"command": "gnc measure /home/ada/run.h5 --seed 3", "seed": 3}
    write_per_class(tmp_path / "c.h5", CLASSES, provenance=made, force=False)
    found = read_h5(tmp_path / "c.h5")
    assert set(found) == set(CLASS_COLUMNS)
    assert found["label"] == [0, 1, 2] and found["name"] == ['a, "b"', "", ""]
    assert found["one_vs_rest_lower"][:2] == [0.66, 0.661]
    assert np.isnan(found["one_vs_rest_lower"][2]) and np.isnan(found["nearest"][2])
    with h5py.File(tmp_path / "c.h5") as file:
        assert file.attrs["kind"] == "per_class"
        assert file.attrs["gnc_version"] == gnc_cli.__version__
        said = json.loads(file.attrs["provenance"])
    assert said == {"command": "gnc measure run.h5 --seed 3", "seed": 3}
    write_per_class(
        tmp_path / "n.h5", [class_row(0), ABSENT], provenance=None, force=False
    )  # names that nobody gave
    assert set(CLASS_COLUMNS) - set(read_h5(tmp_path / "n.h5")) == {"name", "nearest_name"}
