"""The record that `train` returns, of a run that has ended."""

import dataclasses
import os
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnc_cli import __version__
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.parameters import spelled
from gnc_cli.training.data.image_set import ImageData, MatchedSet
from gnc_cli.training.epochs import Run
from gnc_cli.training.networks.classifier import count_parameters
from gnc_cli.training.result import HeadFacts, TrainResult
from gnc_cli.training.run_folder import portable
from gnc_cli.training.session import Session

_CHANCE = 0.1
"""Of the way from chance to 1; a training accuracy below it has learned next to nothing."""
_DRAWN = 20_000
"""Features that a picture of the circle or the sphere shows at most."""


def result_of(run: Run, seconds: float) -> TrainResult:
    """The result of one run."""
    session, measured, history = run.session, run.measured, tuple(run.history)
    settings, result = session.settings, None if measured is None else measured.result
    spent = run.cadence.train_seconds + run.cadence.measure_seconds

    def last(name: str) -> float | None:
        """The last measured value, of this session or of an earlier one."""
        found = [getattr(row, name) for row in history if getattr(row, name) is not None]
        return found[-1] if found else None

    names = ("test_accuracy", "ood_accuracy", "test_ncc_accuracy")
    others = {n: last(n) if measured is None else getattr(measured, n) for n in names}
    return TrainResult(
        seconds=seconds,
        version=__version__,
        run=run.folder.path,
        outcome=run.outcome,
        advice=_advice(run),
        data=data_facts(session.data, session.ood),
        model=settings.model,
        head=_head_facts(session),
        recipe=_recipe_facts(session),
        seed=settings.seed,
        device=str(session.device),
        processes=run.processes.size,
        epochs=len(history),
        epochs_asked=settings.epochs,
        loss=history[-1].loss if history else None,
        train_accuracy=last("train_accuracy") if result is None else result.accuracy,
        **others,
        best=run.best,
        measure_share=run.cadence.measure_seconds / spent if spent else 0.0,
        images_per_second=statistics.median(r.images_per_second for r in history)
        if history
        else None,
        history=history,
        measured=None if result is None else _named(result, session.data.class_names),
        extras=_drawn(run),
    )


def data_facts(data: ImageData, ood: MatchedSet | None) -> dict[str, Any]:
    """What the result says of the data; plain JSON."""
    shape = data.train.images.shape
    counts = np.bincount(data.train.labels, minlength=len(data.class_names))
    ours = {
        "name": data.name,
        "classes": len(data.class_names),
        "train_images": len(data.train.labels),
        "test_images": None if data.test is None else len(data.test.labels),
        "ood_images": None if ood is None else len(ood.labels),
        "smallest_class": int(counts.min()),
        "largest_class": int(counts.max()),
        "channels": shape[1],
        "image_size": shape[-1],
    }
    matched, warnings = None, list(data.warnings)
    if ood is not None:
        matched = {"name": ood.name, "classes_matched": ood.classes_matched}
        warnings += [f"{ood.name}: {line}" for line in ood.warnings]
    # In this order, and with these counts.
    return ours | data.facts | ours | {"ood": matched, "warnings": portable(warnings)}


def _head_facts(session: Session) -> HeadFacts:
    """The classifier in words and numbers."""
    settings, plan, model = session.settings, session.plan, session.training.model
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
    return {
        "optimizer": recipe.optimizer,
        "lr": recipe.lr,
        "momentum": recipe.momentum if recipe.optimizer == "sgd" else None,
        "weight_decay": recipe.weight_decay,
        "schedule": recipe.schedule,
        "milestones": list(recipe.milestones) if recipe.schedule == "step" else None,
        "warmup": recipe.warmup,
        "batch_size": recipe.batch_size,
        "precision": recipe.precision,
        "augment": list(settings.augment or ()),
        "mean": list(session.normalisation.mean),
        "std": list(session.normalisation.std),
        "width": settings.width,
        "preset": settings.preset,
        "start": os.path.basename(start.rstrip("/")) if start else None,
    }


def _advice(run: Run) -> str | None:
    """What to do next: go on where it stopped, or change what did not learn."""
    settings, K = run.session.settings, run.session.plan.K
    if run.outcome != "completed":
        word = "interrupted"
        if run.outcome == "time_limit":
            word = f"stopped by {spelled('time_limit')}"
        path = settings.data.partition(":")[2]
        data = f" --data {settings.data}" if os.path.isabs(path) else ""  # config.json has no such
        model = f" --model {settings.model}" if ":" in settings.model else ""  # never from a file
        return (
            f"{word}, the last checkpoint is written; go on with --resume --out {run.folder.path}"
            f"{data}{model}"
        )
    measured = [r.train_accuracy for r in run.history if r.train_accuracy is not None]
    if not measured or measured[-1] > 1.0 / K + _CHANCE * (1.0 - 1.0 / K):
        return None
    return (
        f"accuracy {measured[-1]:.3g} is near chance; try more {spelled('epochs')} or "
        f"another {spelled('lr')}"
    )


def _named(result: MeasureResult, names: Sequence[str]) -> MeasureResult:
    """The same with the names of the classes beside their numbers."""
    worst = tuple(
        dataclasses.replace(
            row,
            name=names[row.label],
            nearest_name=None if row.nearest is None else names[row.nearest],
        )
        for row in result.worst_classes
    )
    return dataclasses.replace(result, worst_classes=worst)


def _drawn(run: Run) -> dict[str, Any]:
    """What the picture of a circle or sphere needs."""
    measured = run.measured
    if measured is None or run.session.plan.d not in (2, 3) or "train" not in measured.features:
        return {}
    features, labels = measured.features["train"]
    if len(labels) > _DRAWN:
        chosen = np.random.default_rng(0).choice(len(labels), _DRAWN, replace=False)
        features, labels = features[chosen], labels[chosen]
    return {
        "features": features,
        "labels": labels,
        "weights": measured.weights,
        "class_names": run.session.data.class_names,
    }
