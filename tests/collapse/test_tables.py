"""Tables and data frames in `measure` and `compare`: the numbers of arrays, classes called by their
words; rows as Parquet."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

from gnc_cli import bounds, compare, measure
from gnc_cli.errors import DataError, UsageError
from tests.collapse.conftest import K, by_hand, put

WORDS = np.array([f"class-{k:02}" for k in range(K)])
KEYS = {"features": "emb", "labels": "y"}


class Capsule:
    """A column of a library that knows Arrow's interface and nothing else."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._column.__arrow_c_stream__(requested_schema)


def table(data: dict[str, np.ndarray]) -> Any:
    columns = {"emb": [*data["features"]], "y": data["labels"], "word": WORDS[data["labels"]]}
    return pyarrow.table(columns)


@pytest.fixture
def file(tmp_path: Path, data: dict[str, np.ndarray]) -> str:
    parquet.write_table(table(data), tmp_path / "data.parquet", row_group_size=100)
    return str(tmp_path / "data.parquet")


def test_columns_of_a_table_measure_as_arrays_do(
    gnc: Any, tmp_path: Path, file: str, data: dict[str, np.ndarray]
) -> None:
    expected = by_hand(**data)
    np.savez(tmp_path / "head.npz", weights=data["weights"], bias=data["bias"])
    options = ("--features", "emb", "--labels", "y", "--weights", str(tmp_path / "head.npz"))
    row = json.loads(gnc("measure", file, *options, "--json").stdout)
    for name in ("gnc1", "gnc3", "accuracy", "ncc_accuracy"):
        assert row[name] == pytest.approx(expected[name], rel=1e-9)
    assert row["file"] == f"{file}:emb"


def test_an_option_names_a_dataset_of_one_file(
    gnc: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: dict[str, np.ndarray]
) -> None:
    monkeypatch.chdir(tmp_path)
    del data["weights"], data["bias"]
    put(tmp_path / "run.h5", {"emb": data["features"], "y": data["labels"], "features": np.eye(3)})
    for at, part in enumerate(np.split(np.arange(240), 3)):
        np.savez(f"part-{at}.npz", emb=data["features"][part], y=data["labels"][part])
    expected = measure(**data)
    assert measure("run.h5", **KEYS).gnc1 == expected.gnc1
    shards = measure(features="part-*.npz:emb", labels="part-*.npz:y")
    assert shards.gnc1 == pytest.approx(expected.gnc1, rel=1e-9) and shards.N == 240
    for files in ["part-*.npz"], [f"part-{at}.npz" for at in range(3)]:
        said = gnc("measure", *files, "--features", "emb", "--labels", "y")
        assert said.exit_code == 2 and "one set: --features part*.h5:emb" in said.stderr
    np.save("labels.npy", data["labels"])
    assert measure("run.h5", features="emb", labels="labels.npy").gnc1 == expected.gnc1
    np.save("emb", data["features"])
    Path("emb.npy").rename("emb")  # a file of that name comes first
    assert measure("run.h5", features="emb", labels="run.h5:y").gnc1 == expected.gnc1
    assert "no such file: 'y.npy'" in gnc("measure", "run.h5", "--labels", "y.npy").stderr


def test_words_are_the_names_of_classes(
    tmp_path: Path, file: str, data: dict[str, np.ndarray]
) -> None:
    expected = measure(features=data["features"], labels=data["labels"])
    result = measure(file, features="emb", labels="word")
    assert result.gnc1 == expected.gnc1 and result.K == K
    assert [row.name for row in result.per_class] == WORDS.tolist()
    head = {"features": f"{file}:emb", "labels": f"{file}:word"}
    head |= {role: put(tmp_path / f"{role}.npy", {"x": data[role]}) for role in ("weights", "bias")}
    with pytest.raises(DataError, match="these are words, and the order .* give class_names"):
        measure(**head)
    backwards = WORDS[::-1].tolist()
    with_head = measure(**head, class_names=backwards)
    turned = measure(**data | {"labels": K - 1 - data["labels"]})
    assert with_head.accuracy == turned.accuracy and with_head.gnc3 == turned.gnc3
    with pytest.raises(DataError, match=r"word'.*'class-11' at row \d+ is none of the 11 names"):
        measure(**head, class_names=WORDS[:-1].tolist())
    with pytest.raises(DataError, match="has words; drop labels_are='one-based'"):
        measure(**head, labels_are="one-based")


def test_training_means_of_other_words_are_refused(
    tmp_path: Path, file: str, data: dict[str, np.ndarray]
) -> None:
    some = table(data).filter(pyarrow.array(data["labels"] > 0)).rename_columns(["emb", "_", "y"])
    parquet.write_table(some, tmp_path / "test.parquet")
    train = table(data).rename_columns(["emb", "_", "y"])
    parquet.write_table(train, tmp_path / "train.parquet")
    options: dict[str, Any] = {"means_from": tmp_path / "train.parquet"}
    with pytest.raises(DataError, match="and those measured are different words"):
        measure(tmp_path / "test.parquet", **options)
    result = measure(tmp_path / "test.parquet", **options, class_names=WORDS.tolist(), K=K)
    means = measure(features=data["features"], labels=data["labels"]).ncc_accuracy
    assert result.classes.missing == 1 and result.ncc_accuracy == pytest.approx(means, abs=0.1)


@pytest.mark.parametrize("labels", ["y", "word"])
def test_frames_are_arrays(data: dict[str, np.ndarray], labels: str) -> None:
    expected = measure(features=data["features"], labels=data["labels"]).gnc1
    arrow = table(data)
    frames = [arrow, arrow.to_pandas(), polars.DataFrame(arrow)]
    frames += [polars.DataFrame(arrow).with_columns(emb=polars.Series(data["features"]))]
    for frame in frames:
        assert measure(features=frame["emb"], labels=frame[labels]).gnc1 == expected
    categories = frames[1][labels].astype("category")
    assert measure(features=Capsule(arrow["emb"]), labels=categories).gnc1 == expected
    for wide in (pandas.DataFrame(data["features"]), polars.DataFrame(data["features"])):
        assert measure(features=wide, labels=Capsule(arrow["y"])).gnc1 == expected
        code = compare(wide[:24]).rows[0]
        assert code.max_cosine == compare(data["features"][:24]).rows[0].max_cosine


@pytest.mark.parametrize("series", [pandas.Series, polars.Series])
def test_what_a_frame_lacks_is_refused_with_its_row(series: Any) -> None:
    whole = {"features": series([[1.0, 2.0], [2.0, 1.0], [1.0, 3.0]]), "labels": series([0, 1, 0])}
    for role, values, expected in (
        ("features", [[1.0, 2.0], [2.0, 1.0], None], "row 2 is None"),
        ("features", [[1.0, 2.0], [2.0], [1.0, 3.0]], "row 1 is"),
        ("features", [[1.0, 2.0], [2.0, None], [1.0, 3.0]], "row 1"),
        ("labels", [0, 1, None], "row 2"),
        ("labels", ["a", "b", None], "row 2"),
    ):
        with pytest.raises(DataError, match=f"{role}.*{expected}"):
            measure(**whole | {role: series(values)})


def test_rows_are_written_as_parquet(
    tmp_path: Path, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    rows, classes = tmp_path / "rows.parquet", tmp_path / "classes.parquet"
    result = measure(file, features="emb", labels="word", out=rows, per_class=classes)
    names, (line,) = result.csv_rows()
    (row,) = parquet.read_table(rows).to_pylist()
    assert [*row] == names and row == pytest.approx(line)
    assert row["accuracy"] is None and row["gnc1"] == result.gnc1
    table = parquet.read_table(classes)
    assert table["name"].to_pylist() == WORDS.tolist()
    assert table["nearest"].type == "int64" and table["accuracy"].null_count == K
    assert table.schema.metadata[b"created"] == b"2023-11-14T22:13:20Z"
    assert json.loads(table.schema.metadata[b"provenance"])["command"] == "gnc measure"
    first = classes.read_bytes()
    measure(file, features="emb", labels="word", per_class=classes, force=True)
    assert classes.read_bytes() == first
    answer = bounds(3, 24, out=tmp_path / "bounds.parquet")
    assert parquet.read_table(tmp_path / "bounds.parquet").num_rows == len(answer.rows)
    with pytest.raises(UsageError, match=r"\.parquet"):
        measure(file, features="emb", labels="y", out=tmp_path / "rows.xlsx")
