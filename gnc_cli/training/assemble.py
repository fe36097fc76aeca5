"""From training and measurements to the records that `train` writes and returns."""

import dataclasses
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gnc_cli import __version__
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.records import Bracket
from gnc_cli.runtime.distributed import Processes
from gnc_cli.training.data.image_set import ImageData
from gnc_cli.training.measure import Measured
from gnc_cli.training.networks.classifier import count_parameters
from gnc_cli.training.networks.training import EpochTotals
from gnc_cli.training.result import EpochRow, HeadFacts, TrainResult
from gnc_cli.training.session import Session

_CHANCE = 0.1
"""Of the way from chance to 1; a training accuracy below it has learned next to nothing."""
_DRAWN = 20_000
"""Features that a picture of the circle or the sphere shows at most."""


@dataclass(frozen=True, eq=False)
class Ending:
    """How a run ended."""

    outcome: str
    """`completed`, `time_limit` or `interrupted`."""
    history: tuple[EpochRow, ...]
    measured: Measured | None
    best: dict[str, Any] | None
    train_seconds: float
    measure_seconds: float


def epoch_row(
    totals: EpochTotals, measured: Measured | None, measure_seconds: float = 0.0
) -> EpochRow:
    """The row of an epoch; `measured` after it took so many seconds, with all that came with it."""
    row = EpochRow(
        epoch=totals.epoch, step=totals.step, lr=totals.lr, loss=totals.loss,
        running_accuracy=totals.accuracy, seconds=totals.seconds,
        images_per_second=totals.images_per_second,
    )  # fmt: skip
    if measured is None:
        return row
    result = measured.result
    return dataclasses.replace(
        row,
        train_accuracy=None if result is None else result.accuracy,
        test_accuracy=measured.test_accuracy,
        ood_accuracy=measured.ood_accuracy,
        test_ncc_accuracy=measured.test_ncc_accuracy,
        gnc1=None if result is None else result.gnc1,
        gnc2=None if result is None else result.gnc2,
        gnc3=None if result is None else result.gnc3,
        ncc_accuracy=None if result is None else result.ncc_accuracy,
        measure_seconds=measure_seconds,
    )


def stored_row(stored: dict[str, Any]) -> EpochRow:
    """The row of a line of metrics.jsonl."""
    names = {f.name for f in dataclasses.fields(EpochRow)}
    values = {k: v for k, v in stored.items() if k in names}
    if values.get("gnc2") is not None:
        values["gnc2"] = Bracket(**values["gnc2"])
    return EpochRow(**values)


def row_in_words(row: EpochRow, epochs: int) -> str:
    """An epoch in log.txt."""
    words = [f"epoch {row.epoch}/{epochs}", f"loss {row.loss:.4g}"]
    for name, value in (
        ("train", row.train_accuracy), ("test", row.test_accuracy), ("ood", row.ood_accuracy),
        ("gnc1", row.gnc1), ("gnc2", None if row.gnc2 is None else row.gnc2.lower),
        ("gnc3", row.gnc3), ("ncc", row.ncc_accuracy),
    ):  # fmt: skip
        if value is not None:
            words.append(f"{name} {value:.4g}")
    return ", ".join(words)


def result_of(
    session: Session,
    ending: Ending,
    data: ImageData,
    facts: dict[str, Any],
    *,
    run: str,
    processes: Processes,
    device: torch.device,
    seconds: float,
) -> TrainResult:
    """The result of one run in the folder `run`; `facts` are of the data, plain JSON."""
    settings, history = session.settings, ending.history
    measured = ending.measured
    spent = ending.train_seconds + ending.measure_seconds
    speeds = [row.images_per_second for row in history]
    result = None if measured is None else measured.result
    return TrainResult(
        seconds=seconds,
        version=__version__,
        run=run,
        outcome=ending.outcome,
        advice=_advice(ending, session, run),
        data=facts,
        model=settings.model,
        head=_head_facts(session),
        recipe=_recipe_facts(session),
        seed=settings.seed,
        device=str(device),
        processes=processes.size,
        epochs=len(history),
        epochs_asked=settings.epochs,
        loss=history[-1].loss if history else None,
        train_accuracy=_last(history, "train_accuracy") if result is None else result.accuracy,
        test_accuracy=_of(ending, "test_accuracy"),
        ood_accuracy=_of(ending, "ood_accuracy"),
        test_ncc_accuracy=_of(ending, "test_ncc_accuracy"),
        best=ending.best,
        measure_share=ending.measure_seconds / spent if spent else 0.0,
        images_per_second=statistics.median(speeds) if speeds else None,
        history=history,
        measured=None if result is None else _named(result, data.class_names),
        extras=_drawn(session, ending, data),
    )


def _head_facts(session: Session) -> HeadFacts:
    """The classifier in words and numbers."""
    settings, plan, model = session.settings, session.plan, session.model
    encoder = count_parameters(model.encoder)
    return HeadFacts(
        kind=settings.kind,
        constraint=settings.constraint,
        tau=model.head.tau,
        loss=settings.loss,
        margin=plan.margin,
        beta=settings.beta if settings.kind == "cmf" else None,
        code=plan.code_name,
        assignment=(settings.assignment or "identity") if settings.kind == "fixed" else None,
        permutation=plan.permutation,
        encoder_parameters=encoder,
        head_parameters=plan.K * plan.d,
        trained_parameters=sum(p.numel() for p in model.parameters() if p.requires_grad),
        saved_share=model.head.saved_parameters / (encoder + plan.K * plan.d),
        margin_source=plan.margin_source,
    )


def _recipe_facts(session: Session) -> dict[str, Any]:
    """Settings that say how it was trained; plain JSON."""
    recipe, settings = session.training.recipe, session.settings
    start = settings.init_from or settings.backbone_weights
    normalisation = session.normalisation
    return {
        "optimizer": recipe.optimizer, "lr": recipe.lr,
        "momentum": recipe.momentum if recipe.optimizer == "sgd" else None,
        "weight_decay": recipe.weight_decay, "schedule": recipe.schedule,
        "milestones": list(recipe.milestones) if recipe.schedule == "step" else None,
        "gamma": recipe.gamma if recipe.schedule == "step" else None,
        "warmup": recipe.warmup, "batch_size": recipe.batch_size, "precision": recipe.precision,
        "clip": recipe.clip, "augment": list(settings.augment or ()),
        "mean": list(normalisation.mean), "std": list(normalisation.std),
        "channels_last": recipe.channels_last, "compile": recipe.compile, "stem": settings.stem,
        "width": settings.width, "norm": settings.norm, "preset": settings.preset,
        "start": os.path.basename(start.rstrip("/")) if start else None,
    }  # fmt: skip


def _advice(ending: Ending, session: Session, run: str) -> str | None:
    """What to do next: go on where it stopped, or change what did not learn."""
    settings, K = session.settings, session.plan.K
    if ending.outcome != "completed":
        word = "stopped by --time-limit" if ending.outcome == "time_limit" else "interrupted"
        path = settings.data.partition(":")[2]
        data = f" --data {settings.data}" if os.path.isabs(path) else ""  # config.json has no such
        model = f" --model {settings.model}" if ":" in settings.model else ""  # never from a file
        return (
            f"{word}, the last checkpoint is written; go on with --resume --out {run}{data}{model}"
        )
    accuracy = _last(ending.history, "train_accuracy")
    if accuracy is None or accuracy > 1.0 / K + _CHANCE * (1.0 - 1.0 / K):
        return None
    return (
        f"the training accuracy, {accuracy:.3g}, is near chance after {ending.history[-1].step} "
        "steps: try more --epochs, a smaller --batch-size, another --lr or a longer --warmup"
    )


def _named(result: MeasureResult, names: Sequence[str]) -> MeasureResult:
    """The same with the names of the classes beside their numbers."""
    worst = tuple(
        dataclasses.replace(
            row, name=names[row.label],
            nearest_name=None if row.nearest is None else names[row.nearest],
        )
        for row in result.worst_classes
    )  # fmt: skip
    return dataclasses.replace(result, worst_classes=worst)


def _of(ending: Ending, name: str) -> float | None:
    if ending.measured is None:
        return _last(ending.history, name)
    found: float | None = getattr(ending.measured, name)
    return found


def _last(history: tuple[EpochRow, ...], name: str) -> float | None:
    """The latest value that was measured."""
    values = (getattr(row, name) for row in reversed(history))
    return next((value for value in values if value is not None), None)


def _drawn(session: Session, ending: Ending, data: ImageData) -> dict[str, Any]:
    """What the picture of a circle or sphere needs."""
    measured = ending.measured
    if measured is None or session.plan.d not in (2, 3) or "train" not in measured.features:
        return {}
    features, labels = measured.features["train"]
    if len(labels) > _DRAWN:
        chosen = np.random.default_rng(0).choice(len(labels), _DRAWN, replace=False)
        features, labels = features[chosen], labels[chosen]
    return {
        "features": features,
        "labels": labels,
        "weights": measured.weights,
        "class_names": data.class_names,
    }
