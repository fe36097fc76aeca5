"""Heads of `train`: learned, class means, fixed codes; assignments of the classes; losses."""

import json
import math
import threading
from pathlib import Path
from typing import Any

import h5py
import jsonschema
import numpy as np
import pytest

from gnc_cli import schemas, solve
from gnc_cli.errors import DataError, UsageError
from gnc_cli.training.api import train, train_series
from gnc_cli.training.head import assign
from gnc_cli.training.result import EpochRow, TrainResult, TrainSeries
from gnc_cli.training.run_folder import read_state
from tests.training.problems import TINY, run, timeless, toy

SQUARE = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
RHO = 1.0
"""Of the square: from a corner to the diagonal of its neighbours."""


@pytest.fixture(scope="module")
def square(home: Path) -> str:
    """The square, in a file."""
    solved = home / "square.npy"
    np.save(solved, SQUARE)
    return str(solved)


def _rows(result: TrainResult) -> np.ndarray:
    """The classifier of the last snapshot."""
    with h5py.File(max(Path(result.run).glob("snapshots/*-train.h5"))) as h5:
        return np.asarray(h5["weights"])


def _config(result: TrainResult | TrainSeries) -> dict[str, Any]:
    return json.loads((Path(result.run) / "config.json").read_text())


def test_class_means_save_the_head(home: Path, data: str) -> None:
    result = run(data, home / "cmf", head="cmf", beta=0.5, epochs=6)
    head = result.head
    assert (head.kind, head.beta) == ("cmf", 0.5)
    assert head.trained_parameters == head.encoder_parameters
    assert head.saved_share == pytest.approx(12 / (head.encoder_parameters + 12), rel=1e-12)
    assert result.test_accuracy is not None and result.test_accuracy >= 0.9
    state = read_state(home / "cmf" / "last.pt")["training"]
    tensors = sum("exp_avg" in entry for entry in state["optimizer"]["state"].values())
    assert tensors == len([k for k in state["model"] if not k.startswith("head")])
    assert np.abs(np.linalg.norm(_rows(result), axis=1) - 1.0).max() < 1e-6


def test_a_fixed_code_stays(home: Path, data: str, square: str) -> None:
    result = run(data, home / "fixed", head=f"fixed:{square}", feature_dim=None, epochs=6)
    assert np.array_equal(_rows(result), SQUARE)
    assert result.measured.gnc2.lower == pytest.approx(RHO, abs=1e-6)
    assert result.measured.gnc2.upper == pytest.approx(RHO, abs=1e-6)
    assert (result.head.kind, result.head.code) == ("fixed", "square.npy")
    assert (result.head.assignment, result.head.permutation) == ("identity", (0, 1, 2, 3))
    assert result.head.trained_parameters == result.head.encoder_parameters
    assert result.test_accuracy is not None and result.test_accuracy >= 0.9
    assert _config(result)["plan"]["d"] == 2  # the code's
    assert _config(result)["settings"]["head"] == "fixed:square.npy"
    jsonschema.validate(result.to_json(), schemas.load("train"))
    kept = f"{result.run}/snapshots/epoch-0006-train.h5"
    again = run(data, home / "again", head=f"fixed:{kept}", feature_dim=None, epochs=1)
    assert again.head.code == "epoch-0006-train.h5"


def test_a_code_is_solved_where_none_is_given(home: Path, data: str) -> None:
    result = run(data, home / "solved", head="fixed:solve", feature_dim=3, epochs=1)
    want = solve(3, 4).rho_one_vs_rest
    assert result.measured.gnc2.lower == pytest.approx(want.lower, abs=1e-6)
    assert result.head.code is not None and f"rho {want.lower:.6g}" in result.head.code
    halt, many = threading.Event(), toy(home / "many.h5", 17)
    halt.set()
    for limit in ({"time_limit": 0.01}, {"interrupt": halt}):
        with pytest.raises(DataError, match="fixed:solve': .*stopped.*gnc solve --d 5 --K 17"):
            run(many, home / "no", head="fixed:solve", feature_dim=5, **limit)
    assert not (home / "no").exists()


def test_classes_on_rows(home: Path, data: str, square: str) -> None:
    """identity, random, a file: class k has row permutation[k]; the network learns any of them."""
    (home / "rows.txt").write_text("2, 0, 1\n3\n")
    random = tuple(int(p) for p in assign("random", SQUARE, seed=1, similarity=None))
    for how, wanted in (("random", random), (str(home / "rows.txt"), (2, 0, 1, 3))):
        out = home / Path(how).stem
        result = run(data, out, head=f"fixed:{square}", assignment=how, feature_dim=2, epochs=2)
        assert result.head.permutation == wanted
        assert np.array_equal(_rows(result), SQUARE[list(wanted)])
        again = train(
            data=data, out=out, resume=True, model=TINY, epochs=3, device="cpu", threads=1
        )
        assert again.head.permutation == wanted
        assert np.array_equal(_rows(again), SQUARE[list(wanted)])
        assert timeless(again.history[:2]) == timeless(result.history)


def test_best_and_worst_of_a_given_similarity(home: Path, data: str, square: str) -> None:
    """Classes 0, 1 and 2, 3 look alike: near on the square at best, opposite at worst."""
    alike = np.eye(4)
    alike[0, 1] = alike[1, 0] = alike[2, 3] = alike[3, 2] = 0.9
    np.save(home / "alike.npy", alike)
    cosines = {}
    for how in ("best", "worst"):
        result = run(
            data,
            home / how,
            head=f"fixed:{square}",
            assignment=how,
            feature_dim=2,
            epochs=1,
            similarity=home / "alike.npy",
        )
        gram = _rows(result) @ _rows(result).T
        cosines[how] = (round(float(gram[0, 1]), 6), round(float(gram[2, 3]), 6))
        assert result.head.assignment == how
    assert cosines == {"best": (0.0, 0.0), "worst": (-1.0, -1.0)}


def test_best_of_a_short_learned_run(home: Path, square: str) -> None:
    """Prototypes 0 and 1, and 2 and 3, all but coincide; the short run finds out.

    With a margin loss, whose margin is of the code, and with a deadline that comes too soon.
    """
    data = toy(home / "pairs.h5", order=(0, 0, 1, 1), noise=20.0)
    asked: dict[str, Any] = {
        "head": f"fixed:{square}",
        "feature_dim": 2,
        "epochs": 20,
        "loss": "cosface",
        "measure_every": 50,
    }
    for how, wanted in (("best", 0.0), ("worst", -1.0)):
        rows = _rows(run(data, home / f"short-{how}", assignment=how, **asked))
        assert float(rows[0] @ rows[1]) == pytest.approx(wanted, abs=1e-6)
        assert float(rows[2] @ rows[3]) == pytest.approx(wanted, abs=1e-6)
    for limit in ({"time_limit": 1e-9}, {"interrupt": threading.Event()}):
        if "interrupt" in limit:
            limit["interrupt"].set()  # type: ignore[union-attr]
        with pytest.raises(DataError, match="assignment='best': the short run .*similarity"):
            run(data, home / "no", assignment="best", **asked, **limit)
    assert not (home / "no").exists()


def test_all_assignments_on_the_square(home: Path, data: str, square: str) -> None:
    halt = threading.Event()
    heard: list[EpochRow] = []

    def on_epoch(row: EpochRow) -> None:
        heard.append(row)
        if len(heard) == 3:  # the second run's first epoch
            halt.set()

    asked: dict[str, Any] = {
        "data": data,
        "model": TINY,
        "head": f"fixed:{square}",
        "assignment": "all",
        "epochs": 2,
        "batch_size": 32,
        "lr": 0.01,
        "augment": (),
        "seed": 1,
        "device": "cpu",
        "threads": 1,
        "measure_every": 1,
    }
    with pytest.raises(UsageError, match=r"run per assignment; call train_series\(\)$"):
        train(**asked, out=home / "whole")
    whole = train_series(**asked, out=home / "whole")
    assert whole.outcome == "completed"
    placed = [(0, 1, 2, 3), (0, 1, 3, 2), (0, 2, 1, 3)]
    assert [row.head.permutation for row in whole.rows] == placed
    assert [row.head.assignment for row in whole.rows] == ["1 of 3", "2 of 3", "3 of 3"]
    assert _config(whole)["runs"] == 3 and _config(whole)["settings"]["assignment"] == "all"
    jsonschema.validate(whole.to_json(), schemas.load("train"))
    # Begun again with --force, and stopped: no run of the earlier series is left.
    out = home / "all"
    train_series(**asked, out=out)
    (out / "assignment-3" / "mine.txt").write_text("kept")
    part = train_series(**asked, out=out, force=True, on_epoch=on_epoch, interrupt=halt)
    assert part.outcome == "interrupted"
    assert [row.outcome for row in part.rows] == ["completed", "interrupted"]
    assert {path.name for path in (out / "assignment-3").iterdir()} == {"mine.txt", "snapshots"}
    # A third that was killed in its first epoch has a folder and no checkpoint.
    (out / "assignment-3" / "config.json").write_text("{}")
    series = train_series(
        data=data, head=f"fixed:{square}", out=out, resume=True, model=TINY, device="cpu", threads=1
    )
    assert series.outcome == "completed"
    for at, (one, other) in enumerate(zip(series.rows, whole.rows, strict=True), 1):
        assert timeless(one.history) == timeless(other.history)
        assert one.head == other.head and Path(one.run) == out / f"assignment-{at}"
        assert np.array_equal(_rows(one), SQUARE[list(one.head.permutation or ())])
    # One of them can be gone on with alone.
    (alone,) = train_series(
        data=data,
        out=series.rows[1].run,
        resume=True,
        model=TINY,
        epochs=3,
        device="cpu",
        threads=1,
    ).rows
    assert alone.epochs == 3
    assert alone.head.permutation == placed[1]


def test_free_lengths(home: Path, data: str) -> None:
    result = run(data, home / "decay", constraint="decay", weight_decay=1e-3, epochs=6)
    assert (result.head.constraint, result.head.tau, result.head.loss) == ("decay", 1.0, "ce")
    norms = np.linalg.norm(_rows(result), axis=1)
    assert norms.max() > 1.05 or norms.min() < 0.95
    assert result.test_ncc_accuracy is not None and result.test_ncc_accuracy >= 0.9
    preset = run(data, home / "b1", preset="b1", constraint="decay", epochs=1, model=TINY)
    assert preset.head.tau == 1.0  # whatever the preset has for the sphere, also in the loss
    assert preset.history[0].loss < 2.0 * math.log(4)


@pytest.mark.parametrize(
    ("loss", "of_square", "of_simplex"),
    [("cosface", RHO, 4 / 3), ("arcface", math.pi / 2, math.acos(-1 / 3))],
)
def test_the_margins_that_a_code_allows(
    loss: str, of_square: float, of_simplex: float, data: str, square: str, tmp_path: Path
) -> None:
    """Of the code; without one of the best known, which for four in three dimensions is proved."""
    fixed = run(data, tmp_path / "a", loss=loss, head=f"fixed:{square}", feature_dim=2).head
    free = run(data, tmp_path / "b", loss=loss, feature_dim=3)
    own = run(data, tmp_path / "c", loss=loss, margin=0.2, epochs=1).head
    assert fixed.margin == pytest.approx(of_square, abs=1e-9)
    assert free.head.margin == pytest.approx(of_simplex, abs=1e-6) and own.margin == 0.2
    assert (fixed.margin_source, own.margin_source) == ("the fixed code", "given")
    assert "simplex" in str(free.head.margin_source)
    assert free.loss is not None and free.loss < free.history[0].loss
