"""From the end of a run to the record that `train` returns."""

import statistics
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli import __version__
from gnc_cli.results import EpochRow, TrainResult
from gnc_cli.workflows.train_network import head_facts

if TYPE_CHECKING:
    import torch

    from gnc_cli.io.images.image_set import ImageData
    from gnc_cli.numerics.distributed import Processes
    from gnc_cli.workflows.train_run import Ending
    from gnc_cli.workflows.train_session import Session

__all__ = ["recipe_facts", "result_of"]

_ADVICE = {
    "time_limit": "stopped by --time-limit; go on with --resume --out {run}",
    "interrupted": "interrupted, the last checkpoint is written; go on with --resume --out {run}",
}
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
        advice=_ADVICE.get(ending.outcome, "").format(run=run) or None,
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
        measured=result,
        extras=_drawn(session, ending, data),
    )


def recipe_facts(session: "Session") -> dict[str, Any]:
    """Settings that say how it was trained; plain JSON."""
    recipe, settings = session.training.recipe, session.settings
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
    }  # fmt: skip


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
