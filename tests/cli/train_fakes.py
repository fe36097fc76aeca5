"""A stand-in for the work of `gnc train`, so that the command line is tested by itself."""

import math
import sys
import types
from dataclasses import replace
from typing import Any

import pytest

from gnc_cli.results import Bracket, EpochRow, HeadFacts, TrainResult, TrainSeries
from tests.cli.measure_fakes import REFERENCE, row

DATA: dict[str, Any] = {
    "name": "glyphs", "classes": 100, "train_images": 900, "test_images": 300, "ood_images": None,
    "smallest_class": 9, "largest_class": 9, "channels": 1, "image_size": 32,
    "training_styles": ["DejaVu Sans Book", "DejaVu Serif Bold"], "merged": 3, "ood": None,
    "warnings": [],
}  # fmt: skip
RECIPE: dict[str, Any] = {
    "optimizer": "adamw", "lr": 0.003, "momentum": None, "weight_decay": 0.01,
    "schedule": "cosine", "milestones": None, "gamma": None, "warmup": 1.0, "batch_size": 64,
    "precision": "float32", "clip": None, "augment": ["crop", "rotate"], "mean": [0.125],
    "std": [0.25], "channels_last": True, "compile": False, "stem": "auto", "width": 1.0,
    "norm": "batch", "preset": None,
}  # fmt: skip
HEAD = HeadFacts(
    "learned", "sphere", 0.1, "ce", None, None, None, None, None, 394_410, 1000, 395_410, 0.0
)
ADVICE = "interrupted, the last checkpoint is written; go on with --resume --out runs/one"


def epoch(number: int, measured: bool = True, **changes: Any) -> EpochRow:
    """An epoch of 15 steps."""
    fields: dict[str, Any] = dict(
        epoch=number, step=15 * number, lr=0.003 / number, loss=4.5 / number**2,
        running_accuracy=1.0 - 0.5 / number, seconds=2.5, images_per_second=360.0,
    )  # fmt: skip
    if measured:
        fields |= dict(
            train_accuracy=1.0 - 0.25 / number, test_accuracy=1.0 - 0.375 / number,
            test_ncc_accuracy=1.0 - 0.5 / number, gnc1=0.5**number,
            gnc2=Bracket(0.0625 * number, 0.0625 * number + 1e-12), gnc3=0.75**number,
            ncc_accuracy=1.0 - 0.125 / number, measure_seconds=0.25,
        )  # fmt: skip
    return EpochRow(**(fields | changes))


def result(done: int = 4, **changes: Any) -> TrainResult:
    """So many epochs, of which the third was not measured."""
    history = tuple(epoch(e, e != 3) for e in range(1, done + 1))
    last = history[-1]
    measured = row(
        file=None, epoch=done, step=15 * done, N=900, gnc1=last.gnc1, gnc2=last.gnc2,
        gnc2_ratio=None if last.gnc2 is None else last.gnc2.lower / REFERENCE.value,
        gnc3=last.gnc3, ncc_accuracy=last.ncc_accuracy, accuracy=last.train_accuracy,
    )  # fmt: skip
    fields: dict[str, Any] = dict(
        seconds=12.5, version="0.1.0", run="runs/one", outcome="completed", advice=None, data=DATA,
        model="cnn", head=HEAD, recipe=RECIPE, seed=0, device="cpu", processes=1, epochs=done,
        epochs_asked=done, loss=last.loss, train_accuracy=last.train_accuracy,
        test_accuracy=last.test_accuracy, ood_accuracy=None,
        test_ncc_accuracy=last.test_ncc_accuracy,
        best={"epoch": done, "accuracy": last.test_accuracy, "of": "test", "ood_accuracy": None},
        measure_share=0.0625, images_per_second=360.0, history=history, measured=measured,
    )  # fmt: skip
    return TrainResult(**(fields | changes))


def full() -> TrainResult:
    """The paper's own head, stopped inside an epoch, with everything that can be asked for."""
    head = HeadFacts(
        "fixed", "sphere", 0.05, "cosface", 0.25, 0.9, "code.h5", "best", (2, 0, 1), 394_410, 1000,
        394_410, 0.0025, "given",
    )  # fmt: skip
    recipe = RECIPE | {
        "optimizer": "sgd", "momentum": 0.9, "schedule": "step", "milestones": [2, 3],
        "gamma": 0.1, "clip": 1.0, "preset": "fig2",
    }  # fmt: skip
    ood = {"ood_images": 12, "ood": {"name": "folder:stl", "classes_matched": 9}}
    made = result(
        head=head, recipe=recipe, data=DATA | ood, outcome="interrupted",
        advice=ADVICE, epochs_asked=9, ood_accuracy=0.5, processes=2, device="cuda:0",
    )  # fmt: skip
    history = (replace(made.history[0], loss=math.nan), *made.history[1:])
    history = tuple(replace(e, ood_accuracy=0.5 if e.gnc1 else None) for e in history)
    return replace(made, history=history)


def unmeasured() -> TrainResult:
    """Stopped before anything was measured, and without a test set."""
    gone = dict.fromkeys(
        ("train_accuracy", "test_accuracy", "test_ncc_accuracy", "best", "measured", "loss",
         "images_per_second")
    )  # fmt: skip
    return result(
        outcome="time_limit", epochs=0, epochs_asked=4, history=(), measure_share=0.0,
        advice="stopped by --time-limit; go on with --resume --out runs/one",
        data=DATA | {"test_images": None}, **gone,
    )  # fmt: skip


def placements(*accuracies: float, **changes: Any) -> TrainSeries:
    """A run each."""
    rows = [
        result(
            2, run=f"runs/all/assignment-{at}", test_accuracy=accuracy,
            head=replace(HEAD, kind="fixed", code="theorem, rho 1", permutation=(0, at, 3 - at),
                         assignment=f"{at} of {len(accuracies)}"),
        )
        for at, accuracy in enumerate(accuracies, 1)
    ]  # fmt: skip
    fields: dict[str, Any] = dict(
        seconds=25.0, version="0.1.0", run="runs/all", outcome="completed", rows=tuple(rows)
    )
    return TrainSeries(**(fields | changes))


class FakeTrain:
    """Remembers how it was called, tells of each epoch, and returns what it was told to."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.result: TrainResult | TrainSeries = result()
        self.error: BaseException | None = None

    def __call__(self, **options: Any) -> TrainResult | TrainSeries:
        self.calls.append(options)
        runs = self.result.rows if isinstance(self.result, TrainSeries) else (self.result,)
        for made in runs:
            options["on_run"](made.run)
            for done in made.history:
                options["on_epoch"](done)
        if self.error is not None:
            raise self.error
        return self.result


def install_train(monkeypatch: pytest.MonkeyPatch) -> FakeTrain:
    """Put a FakeTrain where `gnc train` looks for the work function."""
    fake = FakeTrain()
    module = types.ModuleType("gnc_cli.workflows.train")
    module.train = fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gnc_cli.workflows.train", module)
    return fake
