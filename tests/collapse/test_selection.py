"""Snapshots and files in their order, and only those that were asked for."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli import measure_series
from gnc_cli.collapse.files import File, expand, natural_key
from gnc_cli.collapse.sources import Source
from gnc_cli.errors import DataError, UsageError
from tests.collapse.conftest import sources_of

H = np.arange(12.0).reshape(4, 3)
Y = np.array([0, 1, 0, 1])
W = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])


def run(path: Path, snapshots: dict[str, dict[str, Any]], root: dict[str, Any]) -> Path:
    """A file with root data and snapshots; each a dictionary of arrays and of plain attributes."""
    with h5py.File(path, "w") as h5:
        places = {f"snapshots/{name}": content for name, content in snapshots.items()}
        for place, content in ({"/": root} | places).items():
            group = h5.require_group(place)
            for name, value in content.items():
                if isinstance(value, np.ndarray):
                    group[name] = value
                else:
                    group.attrs[name] = value
    return path


def names(sources: list[Source]) -> list[str | None]:
    return [source.snapshot for source in sources]


def test_snapshots_are_rows_in_order_of_their_epoch(tmp_path: Path) -> None:
    snapshots = {
        "b": {"features": H, "epoch": 2, "layer": "layer10"},
        "a": {"features": H + 1, "epoch": 10},
        "c": {"features": H + 2, "epoch": 2, "layer": "layer2", "labels": Y[::-1].copy()},
        "d": {"features": H + 3, "epoch": np.float32(2.5), "weights": 3 * W, "bias": np.ones(2)},
    }
    path = run(
        tmp_path / "a.h5", snapshots, {"labels": Y, "weights": W, "seed": 5, "split": "test"}
    )
    sources = sources_of([str(path)])
    assert names(sources) == ["c", "b", "d", "a"]
    assert [source.attrs["epoch"] for source in sources] == [2, 2, 2.5, 10]
    assert all(source.attrs["seed"] == 5 and source.file == str(path) for source in sources)
    with sources[0].open() as samples:
        assert samples.labels is not None and samples.labels.tolist() == [1, 0, 1, 0]
        assert np.array_equal(samples.weights, W)
        assert samples.locations["features"].endswith("'snapshots/c/features'")
    with sources[2].open() as samples:
        assert samples.labels is not None and samples.labels.tolist() == Y.tolist()
        assert np.array_equal(samples.weights, 3 * W)
        assert samples.bias is not None


def test_an_empty_snapshot_is_refused(tmp_path: Path) -> None:
    path = run(tmp_path / "a.h5", {"x": {"loss": np.ones(3)}}, {"weights": W})
    with pytest.raises(DataError, match="'snapshots/x'.*neither features nor weights"):
        sources_of([str(path)])


def test_snapshots_that_point_elsewhere(tmp_path: Path) -> None:
    run(tmp_path / "other.h5", {"x": {"features": H}}, {"labels": Y})
    path = run(tmp_path / "a.h5", {"x": {"features": H}}, {"labels": Y})
    with h5py.File(path, "a") as h5:
        h5["snapshots/latest"] = h5py.SoftLink("/snapshots/x")
    assert names(sources_of([str(path)])) == ["x"]
    with h5py.File(path, "a") as h5:
        h5["snapshots/y"] = h5py.ExternalLink("other.h5", "/snapshots/x")
    with pytest.raises(DataError, match="'snapshots/y' is a link to another file"):
        sources_of([str(path)])
    run(tmp_path / "b.h5", {}, {"features": H, "labels": Y})
    with h5py.File(tmp_path / "b.h5", "a") as h5:
        h5["snapshots"] = h5py.ExternalLink("other.h5", "/snapshots")
    with pytest.raises(DataError, match="'snapshots' is a link to another file"):
        sources_of([str(tmp_path / "b.h5")])


@pytest.mark.parametrize("epoch", ["twelve", np.nan, np.inf])
def test_an_epoch_is_a_number(tmp_path: Path, epoch: Any) -> None:
    path = run(tmp_path / "a.h5", {}, {"weights": W, "epoch": epoch})
    with pytest.raises(DataError, match=r"a\.h5.*epoch.*expected a number"):
        sources_of([str(path)])


def test_attributes_are_plain(tmp_path: Path) -> None:
    said = {
        "weights": W,
        "seed": np.int32(3),
        "name": b"x",
        "lr": [0.5, 0.25],
        "empty": h5py.Empty("f"),
    }
    path = run(tmp_path / "a.h5", {}, said)
    with h5py.File(path, "a") as h5:
        h5.attrs["big"] = np.zeros(1000)
        h5.attrs["odd"] = np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
    (source,) = sources_of([str(path)])
    assert source.attrs == {"seed": 3, "name": "x", "lr": [0.5, 0.25]}


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ([("epoch", range(0, 101, 10))], ["0", "10", "100"]),
        ([("epoch", "10")], ["10"]),
        ([("epoch", 10.0)], ["10"]),
        ([("epoch", [5, 100])], ["5", "100"]),
        ([("epoch", ["5", "10"])], ["5", "10"]),
        ([("snapshot", "100")], ["100"]),
        ([("snapshot", {"0", "5"})], ["0", "5"]),
        ([("split", "test"), ("epoch", range(0, 11))], ["0", "5", "10"]),
        ([("epoch", range(0, 101)), ("epoch", range(100, 200))], ["100"]),
    ],
)
def test_selecting(tmp_path: Path, select: list[tuple[str, Any]], expected: list[str]) -> None:
    snapshots = {str(e): {"features": H, "epoch": e} for e in (0, 5, 10, 100)}
    path = run(tmp_path / "a.h5", snapshots, {"labels": Y, "split": "test"})
    assert names(sources_of([str(path)], select=select)) == expected


def test_selecting_nothing(tmp_path: Path) -> None:
    snapshots = {str(e): {"features": H, "epoch": e} for e in (0, 5)}
    path = str(run(tmp_path / "a.h5", snapshots, {"labels": Y}))
    with pytest.raises(DataError, match="epoch 0, 5"):
        sources_of([path], select=[("epoch", "7")])
    with pytest.raises(UsageError, match="select epok.*epoch, file, snapshot"):
        sources_of([path], select=[("epok", "7")])


def test_a_value_that_no_row_has_is_named(tmp_path: Path) -> None:
    """`split=train,epoch=5` is two values of `split`, and once measured every epoch."""
    snapshots = {str(e): {"features": H, "epoch": e, "split": "train"} for e in (0, 5)}
    path = str(run(tmp_path / "a.h5", snapshots, {"labels": Y}))
    with pytest.raises(DataError, match=r"no row has split epoch=5.* train; give .*epoch=5.* by"):
        measure_series(path, select=["split=train,epoch=5"])
    with pytest.raises(DataError, match="no row has epoch 7, and there are 0, 5; drop it"):
        sources_of([path], select=[("epoch", [5, 7])])
    rows = measure_series(path, select=["split=train", "epoch=0..9"]).rows
    assert [row.epoch for row in rows] == [0, 5]


@given(st.lists(st.integers(0, 10**6), min_size=1), st.text("ab_", max_size=3))
def test_numbers_count_as_numbers(numbers: list[int], stem: str) -> None:
    words = [f"{stem}{n}.h5" for n in numbers]
    assert sorted(words, key=natural_key) == [f"{stem}{n}.h5" for n in sorted(numbers)]


def test_globs_and_names_with_brackets(tmp_path: Path) -> None:
    for name in ("p_2.h5", "p_10.h5", "p_[1].h5"):
        (tmp_path / name).write_text("x")
    assert expand(f"{tmp_path}/p_[1].h5:W") == [File(f"{tmp_path}/p_[1].h5", "W")]
    found = expand([f"{tmp_path}/p_[12]*.h5:W", "-"])
    assert found == [File(f"{tmp_path}/p_{n}.h5", "W") for n in (2, 10)] + [File("-")]
    with pytest.raises(DataError, match="no file matches"):
        expand(f"{tmp_path}/q*.h5")
