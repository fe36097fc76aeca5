"""`--means-from`: which training set a row takes, and what is said where none is clear."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from gnc_cli import measure
from gnc_cli.errors import DataError
from gnc_cli.results import MeasureResult, MeasureSeries
from tests.problems import icosahedron

Y = np.repeat(np.arange(12), 4)
H = np.random.default_rng(6).standard_normal((len(Y), 3)) * 0.2 + icosahedron()[Y]


def _run(path: Path, epochs: tuple[int, ...]) -> str:
    """A file of snapshots; features drift with the epoch."""
    with h5py.File(path, "w") as h5:
        h5["labels"] = Y
        for epoch in epochs:
            h5[f"snapshots/epoch_{epoch}/features"] = H + 0.1 * epoch
            h5[f"snapshots/epoch_{epoch}"].attrs["epoch"] = epoch
    return str(path)


def test_several_training_sets_are_listed(tmp_path: Path) -> None:
    run = _run(tmp_path / "run.h5", (1, 2))
    with pytest.raises(DataError) as caught:
        measure(features=H, labels=Y, means_from=run)
    message = str(caught.value)
    assert "None" not in message and "\n" not in message
    assert f"{run}:snapshots/epoch_1, {run}:snapshots/epoch_2" in message
    named = message.rpartition("--means-from ")[2]  # the next step works
    assert isinstance(measure(features=H, labels=Y, means_from=named), MeasureResult)


def test_snapshots_find_their_own_training_set(tmp_path: Path) -> None:
    train, test = _run(tmp_path / "train.h5", (1, 2, 3)), _run(tmp_path / "test.h5", (3, 1))
    series = measure(test, means_from=train)
    assert isinstance(series, MeasureSeries) and len(series.rows) == 2
    for row, epoch in zip(series.rows, (1, 3), strict=True):
        own = measure(features=H + 0.1 * epoch, labels=Y,
                      means_from=f"{train}:snapshots/epoch_{epoch}")  # fmt: skip
        assert isinstance(own, MeasureResult) and row.gnc1 == own.gnc1
    lacking = _run(tmp_path / "more.h5", (9,))
    with pytest.raises(DataError, match="epoch_3, and none shares snapshot or epoch"):
        measure(lacking, means_from=train)
