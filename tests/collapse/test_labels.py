"""Labels as people have them: one-hot, from 1, in a file without a name; keys without a file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli import measure
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.errors import DataError
from gnc_cli.io.labels import zero_based
from tests.collapse.conftest import K, put

FORMS = {"one-based": lambda y: y + 1, "one-hot": lambda y: np.eye(K, dtype=np.float32)[y]}


def measured(*files: Any, **options: Any) -> MeasureResult:
    result = measure(*files, **options)
    assert isinstance(result, MeasureResult)
    return result


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("suffix", [".h5", ".npy", None])
def test_labels_in_the_form_that_is_said(
    tmp_path: Path, data: dict[str, np.ndarray], form: str, suffix: str | None
) -> None:
    expected, given = measured(**data), dict[str, Any](data)
    given["labels"] = FORMS[form](data["labels"])
    if suffix is not None:
        given = {
            name: put(tmp_path / f"{name}{suffix}", {"x": array}) for name, array in given.items()
        }
    found = measured(**given, labels_are=form)
    own = {"gnc/seconds": found.seconds, "gnc/file": found.file}
    assert found.flat() == pytest.approx(expected.flat() | own)
    with pytest.raises(DataError, match=f"labels_are='{form}'"):
        measure(**given)


def test_labels_from_one_without_weights(data: dict[str, np.ndarray]) -> None:
    del data["weights"], data["bias"]
    data["labels"] = data["labels"] + 1
    suspect = measured(**data)
    assert suspect.K == K + 1 and "count from 1" in suspect.warnings[0]
    assert "labels_are='one-based'" in suspect.warnings[0]
    with pytest.raises(DataError, match="raise K to 13; or if they count from 1"):
        measure(**data, K=K)
    assert not measured(**data, labels_are="one-based").warnings
    data["labels"][data["labels"] == 2] = 4  # with gaps they may well be from 0
    assert not measured(**data).warnings


@pytest.mark.parametrize(
    ("values", "form", "words"),
    [
        ([0, 1, 2], "one-based", "label 0 at row 0"),
        ([0, 1, 2], "one-hot", "(3,) is not one-hot"),
        ([[1, 0], [1, 1]], "one-hot", "is not one-hot"),
        ([[1, 0], [0, 1]], "one-based", "one-hot"),
        ([[0.0, 1.0], [1.0, 0.0]], "zero-based", "is one-hot, shape (2, 2)"),
    ],
)
def test_labels_in_another_form_than_said(values: list[Any], form: str, words: str) -> None:
    with pytest.raises(DataError) as caught:
        zero_based(np.array(values), "y", form)
    assert words in str(caught.value) and str(caught.value).startswith("y")


def test_labels_by_their_place_alone(gnc: Any, tmp_path: Path, data: dict[str, np.ndarray]) -> None:
    names = ("features", "labels", "weights")
    f, y, w = (put(tmp_path / f"{name}.npy", {"x": data[name]}) for name in names)
    run = gnc("measure", f, y)
    assert run.exit_code == 3 and f"gnc measure --features {f} --labels {y}\n" in run.stderr
    run = gnc("measure", f, w, y)
    command = f"gnc measure --features {f} --labels {y} --weights {w}"
    assert command in run.stderr
    assert gnc(*command.split()[1:]).exit_code == 0
    assert "--features FILE --labels" in gnc("measure", y).stderr
    with pytest.raises(DataError, match=f"gnc measure --features {f} --labels {y}"):
        measure(f, y)


def test_one_hot_labels_by_their_place_alone(
    gnc: Any, tmp_path: Path, data: dict[str, np.ndarray]
) -> None:
    f = put(tmp_path / "f.npy", {"x": data["features"]})
    y = put(tmp_path / "y.npy", {"x": np.eye(K)[data["labels"]]})
    run = gnc("measure", f, y)
    command = f"gnc measure --features {f} --labels {y} --labels-are one-hot"
    assert run.exit_code == 3 and run.stderr.endswith(f"{command}\n")
    assert gnc(*command.split()[1:]).exit_code == 0
    with pytest.raises(DataError, match="--labels .*y.npy --labels-are one-hot"):
        measure(f, y)
    axes = put(tmp_path / "axes.npy", {"x": np.concatenate([np.eye(K), -np.eye(K)])})
    beside = put(tmp_path / "beside.npy", {"x": data["features"][: 2 * K]})
    assert gnc("measure", axes, beside).exit_code == 0  # codes, both


@pytest.mark.parametrize("suffix", [".pt", ".npz", ".h5"])
def test_a_key_in_place_of_a_file(
    gnc: Any, tmp_path: Path, data: dict[str, np.ndarray], suffix: str
) -> None:
    arrays = {"model.fc2.weight": data["weights"], "model.fc1.weight": np.ones((7, 7))}
    path = put(tmp_path / f"m{suffix}", arrays)
    run = gnc("measure", path, "--weights", "fc2.weight")
    assert run.exit_code == 3 and f"--weights {path}:fc2.weight" in run.stderr
    assert gnc("measure", "--weights", f"{path}:fc2.weight").exit_code == 0
    features = put(tmp_path / "f.npy", {"x": data["features"]})
    run = gnc("measure", features, "--weights", path, "--labels", "fc1.weight")
    assert f"--labels {path}:fc1.weight" in run.stderr
    run = gnc("measure", path, "--weights", "fc3.weight")
    assert "no such file: 'fc3.weight'; check" in run.stderr
