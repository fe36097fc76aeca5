"""From the end of a run to the record that `train` returns."""

import dataclasses
import os
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli import __version__
from gnc_cli.results import EpochRow, MeasureResult, TrainResult
from gnc_cli.workflows.train_network import head_facts
from gnc_cli.workflows.train_settings import Settings

if TYPE_CHECKING:
    import torch

    from gnc_cli.io.images.image_set import ImageData
    from gnc_cli.numerics.distributed import Processes
    from gnc_cli.workflows.train_run import Ending
    from gnc_cli.workflows.train_session import Session

__all__ = ["recipe_facts", "result_of"]

_CHANCE = 0.1
"""Of the way from chance to 1; a training accuracy below it has learned next to nothing."""
_DRAWN = 20_000
"""Features that a picture of the circle or the sphere shows at most."""


def result_of(
    session: "Session",
    ending: "Ending",
    data: "ImageData",
    facts: dict[str, Any],
    *,
    run: str,
    processes: "Processes",
    device: "torch.device",
    seconds: float,
) -> TrainResult:
    """The result of one run.

    Args:
        session: network and settings.
        ending: how it ended, with its history.
        data: what it was trained on.
        facts: of the data, plain JSON.
        run: the run folder, as the user named it.
        processes, device: where it ran.
        seconds: wall time of the whole command.
    """
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
        advice=_advice(ending, settings, run, session.plan.K),
        data=facts,
        model=settings.model,
        head=head_facts(settings, session.plan, session.model),
        recipe=recipe_facts(session),
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


def recipe_facts(session: "Session") -> dict[str, Any]:
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


def _advice(ending: "Ending", settings: Settings, run: str, K: int) -> str | None:
    """What to do next: go on where it stopped, or change what did not learn."""
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


def _of(ending: "Ending", name: str) -> float | None:
    if ending.measured is None:
        return _last(ending.history, name)
    found: float | None = getattr(ending.measured, name)
    return found


def _last(history: tuple[EpochRow, ...], name: str) -> float | None:
    """The latest value that was measured."""
    values = (getattr(row, name) for row in reversed(history))
    return next((value for value in values if value is not None), None)


def _drawn(session: "Session", ending: "Ending", data: "ImageData") -> dict[str, Any]:
    """What the picture of a circle or sphere needs."""
    if ending.measured is None or session.plan.d not in (2, 3):
        return {}
    if "train" not in ending.measured.features:
        return {}
    features, labels = ending.measured.features["train"]
    if len(labels) > _DRAWN:
        chosen = np.random.default_rng(0).choice(len(labels), _DRAWN, replace=False)
        features, labels = features[chosen], labels[chosen]
    return {
        "features": features,
        "labels": labels,
        "weights": ending.measured.weights,
        "class_names": data.class_names,
    }
