"""`train` on toy images (`api.py`, `run.py`, `result.py`): it learns; a second witness agrees."""

import json
import os
from pathlib import Path

import h5py
import jsonschema
import pytest
import torch

from gnc_cli import measure, measure_series, schemas
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.errors import DataError
from gnc_cli.plain import plain
from gnc_cli.training.result import EpochRow, TrainResult
from gnc_cli.training.run_folder import read_state
from gnc_cli.training.view import view
from tests.training.problems import run, toy

SCHEMA = schemas.load("train")


@pytest.fixture(scope="module")
def told() -> list[EpochRow]:
    """What `on_epoch` was told of the learned run."""
    return []


@pytest.fixture(scope="module")
def learned(home: Path, data: str, told: list[EpochRow]) -> TrainResult:
    """A small convolutional network, augmented; other images of the same classes, shuffled."""
    ood = toy(
        home / "ood.h5",
        5,
        noise=40.0,
        names=("DOG", "emu", "Cat", "/", "Ant"),
        order=(3, 4, 2, 1, 0),
        seed=9,
    )
    return run(
        data,
        home / "learned",
        model="cnn",
        width=0.25,
        augment=None,
        epochs=12,
        snapshot_every=5,
        measure_every=4,
        ood=ood,
        on_epoch=told.append,
    )


def _lines(folder: Path | str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text().splitlines()]


def test_it_learns(learned: TrainResult) -> None:
    assert learned.outcome == "completed" and learned.advice is None
    assert (learned.epochs, learned.epochs_asked) == (12, 12)
    shares = (learned.test_accuracy, learned.train_accuracy, learned.test_ncc_accuracy)
    assert min(share or 0.0 for share in shares) >= 0.9
    assert learned.ood_accuracy is not None and learned.ood_accuracy >= 0.8  # matched by name
    first, last = learned.history[0], learned.history[-1]
    assert first.gnc1 is not None and last.gnc1 is not None and last.gnc1 < first.gnc1 / 2
    assert first.gnc3 is not None and last.gnc3 is not None and last.gnc3 < first.gnc3
    assert last.loss < first.loss / 5
    assert 0.0 < learned.measure_share < 1.0
    images = [row.images_per_second for row in learned.history]
    assert min(images) <= learned.images_per_second <= max(images)


def test_a_run_takes_the_place_of_one_whose_files_are_links(tmp_path: Path, data: str) -> None:
    """A copy of a folder may keep equal files once."""
    run(data, tmp_path / "run", epochs=1)
    os.replace(tmp_path / "run" / "last.pt", tmp_path / "run" / "best.pt")
    os.link(tmp_path / "run" / "best.pt", tmp_path / "run" / "last.pt")
    assert run(data, tmp_path / "run", epochs=1, force=True).outcome == "completed"


def test_a_network_near_chance_says_what_to_try(home: Path, data: str) -> None:
    result = run(data, home / "chance", epochs=1, lr=1e-9, seed=5)
    assert result.outcome == "completed" and result.advice is not None
    assert result.advice.endswith("is near chance; try more epochs or another lr")
    assert result.advice in view(result, False)[-1].html()


def test_what_the_result_says(learned: TrainResult) -> None:
    data, recipe, head = learned.data, learned.recipe, learned.head
    assert (data["name"], data["classes"]) == ("h5:toy.h5", 4)
    counts = [data[f"{of}_images"] for of in ("train", "test", "ood")]
    assert counts == [96, 32, 32]  # of the four classes known, not the fifth
    assert data["ood"] == {"name": "h5:ood.h5", "classes_matched": 4}
    assert recipe["augment"] == ["crop", "rotate"]  # grey images are not mirrored
    assert recipe["milestones"] is None and recipe["momentum"] is None
    assert (learned.seed, learned.device, learned.processes) == (1, "cpu", 1)
    assert (head.kind, head.code, head.head_parameters, head.saved_share) == (
        "learned",
        None,
        12,
        0.0,
    )
    assert head.trained_parameters == head.encoder_parameters + 12
    body = learned.to_json()
    jsonschema.validate(body, SCHEMA)
    assert body["train_accuracy"] == body["accuracy"] and body["epoch"] == 12
    assert body["step"] == learned.history[-1].step == 36


def test_an_epoch_a_line(learned: TrainResult, told: list[EpochRow]) -> None:
    lines = _lines(learned.run)
    assert lines == [plain(row) for row in learned.history]
    assert tuple(told) == learned.history
    assert [(line["epoch"], line["step"]) for line in lines] == [(e, 3 * e) for e in range(1, 13)]
    defs = SCHEMA["$defs"]
    epoch = jsonschema.Draft202012Validator(defs["EpochRow"] | {"$defs": defs})
    for line in lines:
        epoch.validate(line)


def test_measured_when_it_was_asked(learned: TrainResult) -> None:
    measured = [1, 4, 5, 8, 10, 12]  # the first and the last, each fourth, and those of a snapshot
    for row in learned.history:
        there = row.epoch in measured
        found = (
            row.gnc1,
            row.gnc2,
            row.gnc3,
            row.ncc_accuracy,
            row.test_accuracy,
            row.ood_accuracy,
        )
        assert {value is not None for value in found} == {there}
        assert (row.measure_seconds > 0.0) == there
    assert sorted(os.listdir(Path(learned.run) / "snapshots")) == [
        f"epoch-{epoch:04d}-{split}.h5" for epoch in (5, 10, 12) for split in ("test", "train")
    ]
    with h5py.File(Path(learned.run) / "snapshots/epoch-0012-train.h5", "r") as final:
        assert final["features"].shape == (96, 3) and final["weights"].shape == (4, 3)
        assert {"epoch": 12, "step": 36, "split": "train"}.items() <= dict(final.attrs).items()


def test_measure_is_a_second_witness(learned: TrainResult) -> None:
    series = measure_series(os.path.join(learned.run, "snapshots"))
    rows = {(row.epoch, row.split): row for row in series.rows}
    mine = learned.measured
    assert mine is not None and mine.gnc2 is not None
    _agree(rows[12, "train"], mine)
    by_epoch = {row.epoch: row for row in learned.history}
    for epoch in (5, 10):
        _agree(rows[epoch, "train"], by_epoch[epoch])
    assert rows[12, "test"].accuracy == learned.test_accuracy
    # Test rows go to the means of the training rows, so the file has to name these.
    tests = measure(
        os.path.join(learned.run, "snapshots/epoch-0012-test.h5"),
        means_from=os.path.join(learned.run, "snapshots/epoch-0012-train.h5"),
    )
    assert tests.ncc_accuracy == learned.test_ncc_accuracy


def _agree(theirs: MeasureResult, ours: MeasureResult | EpochRow) -> None:
    """Features and weights are stored as they were measured, so rounding alone tells them apart."""
    accuracy = ours.accuracy if isinstance(ours, MeasureResult) else ours.train_accuracy
    assert theirs.accuracy == accuracy and theirs.ncc_accuracy == ours.ncc_accuracy
    assert theirs.gnc1 == pytest.approx(ours.gnc1, abs=1e-9)
    assert theirs.gnc3 == pytest.approx(ours.gnc3, abs=1e-9)
    assert theirs.gnc2 is not None and ours.gnc2 is not None
    assert theirs.gnc2.lower == pytest.approx(ours.gnc2.lower, abs=1e-9)
    assert theirs.gnc2.upper == pytest.approx(ours.gnc2.upper, abs=1e-9)


def test_the_folder_holds_what_it_says(home: Path, learned: TrainResult) -> None:
    folder = Path(learned.run)
    assert folder == home / "learned"
    assert sorted(os.listdir(folder)) == [
        "best.pt",
        "config.json",
        "last.pt",
        "log.txt",
        "metrics.jsonl",
        "snapshots",
    ]
    config = json.loads((folder / "config.json").read_text())
    assert config["settings"]["data"] == "h5:toy.h5" and config["settings"]["ood"] == "h5:ood.h5"
    assert config["settings"]["augment"] == ["crop", "rotate"]
    log = (folder / "log.txt").read_text()
    assert "epoch 12/12, loss " in log and "completed after 12 of 12 epochs" in log
    # No file says where it was.
    for path in folder.rglob("*.*"):
        assert str(home).encode() not in path.read_bytes(), path


def test_without_test_images(home: Path) -> None:
    data = toy(home / "untested.h5", test_each=0)
    result = run(data, home / "untested")
    assert result.test_accuracy is None and result.data["test_images"] is None
    assert result.best is not None and result.best["of"] == "train"
    assert result.best["accuracy"] == max(row.train_accuracy or 0.0 for row in result.history)
    assert measure(os.path.join(result.run, "snapshots")).split == "train"
    jsonschema.validate(result.to_json(), SCHEMA)


def test_an_image_without_features_does_not_end_the_run(home: Path) -> None:
    data = toy(home / "blind.h5")
    with h5py.File(home / "blind.h5", "r+") as h5:
        h5["test_images"][3] = 0
    result = run(data, home / "blind", model="tests.training.problems:blind")
    assert result.outcome == "completed" and result.test_accuracy is None
    assert result.measured is not None and result.best is not None
    assert result.best["of"] == "train"
    log = (Path(result.run) / "log.txt").read_text()
    assert "epoch 3 could not be measured: test images: " in log and "row 3" in log


def test_a_loss_that_is_no_number(home: Path, data: str) -> None:
    model = "tests.training.problems:blowing"
    with pytest.raises(DataError) as caught:
        run(data, home / "blown", model=model, epochs=5, measure_every=1)
    said = str(caught.value)
    assert said.startswith("epoch 3, step 2 of 3: the loss or a weight is not a finite number: ")
    assert "learning rate" in said and "warmup" in said and "\n" not in said
    last = home / "blown" / "last.pt"
    assert said.endswith(f"the last good checkpoint, if any, is {last}")
    state = read_state(last)["training"]
    assert state["epoch"] == 2
    assert all(bool(tensor.isfinite().all()) for tensor in state["model"].values())
    assert [line["epoch"] for line in _lines(home / "blown")] == [1, 2]
    assert "epoch 3, step 2 of 3" in (home / "blown" / "log.txt").read_text()


def test_from_an_earlier_run(home: Path, data: str) -> None:
    first = run(data, home / "first", model="cnn", width=0.25, epochs=2)
    before = read_state(home / "first" / "best.pt")["training"]["model"]
    moving = ("running", "num_batches", "head.")
    start = {n: t for n, t in before.items() if not any(word in n for word in moving)}
    still = {"model": "cnn", "width": 0.25, "epochs": 1, "lr": 1e-30, "weight_decay": 0.0}
    run(data, home / "again", init_from=first.run, seed=5, **still)
    state = read_state(home / "again" / "last.pt")["training"]["model"]
    assert all(torch.equal(state[name], tensor) for name, tensor in start.items())
    assert not torch.equal(state["head.weight"], before["head.weight"])
    config = json.loads((home / "again" / "config.json").read_text())
    assert config["settings"]["init_from"] == "first"
    # Another dimension leaves the last layer fresh, and the log says so; a file will do too.
    wide = run(
        data, home / "wide", init_from=home / "first" / "best.pt", **(still | {"feature_dim": 5})
    )
    state = read_state(home / "wide" / "last.pt")["training"]["model"]
    assert all(torch.equal(state[n], t) for n, t in start.items() if ".fc." not in n)
    assert state["encoder.fc.weight"].shape[0] == 5
    log = (Path(wide.run) / "log.txt").read_text()
    assert "encoder of best.pt; left out: fc.weight, fc.bias" in log
    for asked, said in (
        ({"init_from": home / "no-such"}, "no-such"),
        ({"init_from": home / "first" / "config.json"}, "config.json"),
        ({"backbone_weights": home / "first" / "last.pt"}, "no name in the checkpoint"),
    ):
        with pytest.raises(DataError, match=said):
            run(data, home / "none", **asked, **still)
