"""Labels as people have them: one-hot, from 1, in a file without a name; keys without a file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnc_cli import measure
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.errors import DataError
from gnc_cli.io.loading import zero_based
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
    with pytest.raises(DataError, match="expected 0 to 11; if they count from 1"):
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


def test_a_file_of_labels_in_place_of_a_code(gnc: Any, tmp_path: Path) -> None:
    y = put(tmp_path / "y.npy", {"x": np.arange(9) % 3})
    assert f"--features FILE --labels {y}" in gnc("measure", y).stderr
