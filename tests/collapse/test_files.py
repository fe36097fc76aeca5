"""Folders in place of files: runs of `gnc train`, and what `measure` makes of their splits."""

import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from gnc_cli import measure, measure_series
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.errors import DataError
from gnc_cli.training.result import TrainResult
from tests.collapse.conftest import sources_of
from tests.training.problems import run, toy


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> TrainResult:
    """A run in `run`, with snapshots of two epochs."""
    folder = tmp_path_factory.mktemp("runs")
    return run(toy(folder / "toy.h5"), folder / "run", epochs=2, snapshot_every=1)


def splits(folder: str | Path, **options: object) -> dict[str | None, MeasureResult]:
    """The rows of the last epoch by split."""
    rows = measure_series(folder, select={"epoch": "2"}, **options).rows
    return {row.split: row for row in rows}


def test_measure_says_what_train_said(trained: TrainResult) -> None:
    """The same features, means and weights: the same shares, to the last digit."""
    rows, last = splits(trained.run), trained.history[-1]
    test, own = rows["test"], rows["train"]
    assert (test.accuracy, test.ncc_accuracy) == (last.test_accuracy, last.test_ncc_accuracy)
    assert (own.accuracy, own.ncc_accuracy) == (last.train_accuracy, last.ncc_accuracy)
    assert own.gnc2 == test.gnc2 == last.gnc2
    assert (own.gnc1, own.gnc3) == pytest.approx((last.gnc1, last.gnc3), rel=1e-12)
    assert test.policy.class_means == {
        "gnc1": "split train",
        "ncc": "split train",
        "classic": "split train",
        "gnc3": "own",
    }
    assert own.policy.class_means is not None and {*own.policy.class_means.values()} == {"own"}
    assert not test.warnings and own.ncc_leave_one_out is not None


def test_the_table_says_whose_class_means_count(gnc: Any, trained: TrainResult) -> None:
    note = "class means: those of split train for GNC1 and NCC of split test"
    assert note in gnc("measure", trained.run).stdout
    assert note not in gnc("measure", trained.run, "--means-from", "own").stdout
    one = gnc("measure", trained.run, "--select", "split=test", "--select", "epoch=2").stdout
    assert "nearest class mean of split train" in one


def test_a_test_split_by_its_own_means_or_another_file(trained: TrainResult) -> None:
    alone = splits(trained.run, means_from="own")["test"]
    assert alone.policy.class_means is not None and alone.policy.class_means["ncc"] == "own"
    assert alone.ncc_leave_one_out is not None and not alone.warnings
    file = f"{trained.run}/snapshots/epoch-0002-train.h5"
    named = splits(trained.run, means_from=file)["test"]
    same = splits(trained.run)["test"]
    assert (named.gnc1, named.ncc_accuracy) == (same.gnc1, same.ncc_accuracy)


def test_a_snapshot_by_its_name_keeps_its_training_means(trained: TrainResult) -> None:
    found = measure(f"{trained.run}/snapshots/epoch-0002-test.h5")
    assert not found.warnings
    expected = splits(trained.run)["test"]
    assert (found.gnc1, found.ncc_accuracy) == (expected.gnc1, expected.ncc_accuracy)
    assert found.policy.class_means == expected.policy.class_means


def test_a_test_snapshot_without_its_training_split(trained: TrainResult, tmp_path: Path) -> None:
    alone = measure(shutil.copy(f"{trained.run}/snapshots/epoch-0002-test.h5", tmp_path))
    (warning,) = [text for text in alone.warnings if "split" in text]
    assert "own class means" in warning and "means_from" in warning


def test_a_test_class_that_the_training_split_lacks(trained: TrainResult, tmp_path: Path) -> None:
    copied = tmp_path / "run"
    shutil.copytree(trained.run, copied)
    with h5py.File(copied / "snapshots/epoch-0002-train.h5", "a") as h5:
        labels = h5["labels"]
        labels[:] = np.where(labels[:] == 1, 0, labels[:])
    with pytest.raises(DataError, match="split train has no sample of class 1.*means_from='own'"):
        measure_series(copied)


def test_a_run_without_snapshots_gives_its_classifier(trained: TrainResult, tmp_path: Path) -> None:
    copied = tmp_path / "assignment-1"
    shutil.copytree(trained.run, copied)
    for path in copied.glob("snapshots/*"):
        path.unlink()
    found = measure(copied)
    assert found.file == f"{copied}/last.pt"
    assert found.N is None and found.gnc2.lower == pytest.approx(
        trained.measured.gnc2.lower, abs=1e-6
    )
    shutil.copytree(trained.run, tmp_path / "assignment-10")
    files = [source.file for source in sources_of([str(tmp_path)])]
    assert [*dict.fromkeys(files)] == [f"{tmp_path}/assignment-10/snapshots", found.file]


def test_a_folder_of_nothing_to_measure(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.jsonl").write_text("")
    with pytest.raises(DataError, match="a run without a checkpoint yet"):
        measure(f"{tmp_path}/r*")
    with pytest.raises(DataError, match="neither a run of gnc train .* nor a model"):
        measure(tmp_path)
