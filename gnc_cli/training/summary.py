"""The record that `train` returns, of a run that has ended."""

import dataclasses
import os
import statistics
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from gnc_cli import __version__
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.io.code import portable
from gnc_cli.parameters import spelled
from gnc_cli.training.data.image_set import ImageData
from gnc_cli.training.epochs import Epochs, best_of
from gnc_cli.training.head import HeadPlan
from gnc_cli.training.measure import Measurement
from gnc_cli.training.networks.batches import Normalisation
from gnc_cli.training.networks.classifier import EncoderWithHead, count_parameters
from gnc_cli.training.result import HeadFacts, TrainResult
from gnc_cli.training.settings import Settings

_LEARNED = 0.1
"""A network that has come less far from chance to 1 has learned next to nothing."""


def result_of(epochs: Epochs, plan: HeadPlan, data: ImageData, seconds: float) -> TrainResult:
    """The result of one run."""
    measurement, history, training = epochs.measurement, tuple(epochs.history), epochs.training
    settings, result = epochs.settings, None if measurement is None else measurement.result
    measuring = sum(row.measure_seconds for row in history)
    spent = measuring + sum(row.seconds for row in history)

    def last(name: str) -> float | None:
        """The last measured value, of this session or of an earlier one."""
        values = [getattr(row, name) for row in history if getattr(row, name) is not None]
        return values[-1] if values else None

    names = ("test_accuracy", "ood_accuracy", "test_ncc_accuracy")
    others = {n: last(n) if measurement is None else getattr(measurement, n) for n in names}
    train_accuracy = last("train_accuracy") if result is None else result.accuracy
    return TrainResult(
        seconds=seconds,
        version=__version__,
        run=epochs.folder.path,
        outcome=epochs.outcome,
        advice=_advice(epochs, train_accuracy),
        data=data_facts(data),
        model=settings.model,
        head=_head_facts(settings, plan, training.model),
        recipe=_recipe_facts(settings, training.batches.normalisation),
        seed=settings.seed,
        device=str(training.device),
        processes=training.processes.size,
        epochs=len(history),
        epochs_asked=settings.epochs,
        loss=history[-1].loss if history else None,
        train_accuracy=train_accuracy,
        **others,
        best=best_of(history),
        measure_share=measuring / spent if spent else 0.0,
        images_per_second=statistics.median(r.images_per_second for r in history)
        if history
        else None,
        history=history,
        measured=None if result is None else _with_class_names(result, data.class_names),
        extras=_plot_arrays(measurement, data.class_names),
    )


def data_facts(data: ImageData) -> dict[str, Any]:
    """What the result says of the data; plain JSON."""
    _, channels, size, _ = data.train.images.shape
    counts = np.bincount(data.train.labels, minlength=len(data.class_names))
    ours = {
        "name": data.name,
        "classes": len(data.class_names),
        "train_images": len(data.train.labels),
        "test_images": None if data.test is None else len(data.test.labels),
        "ood_images": None if data.ood is None else len(data.ood.labels),
        "smallest_class": int(counts.min()),
        "largest_class": int(counts.max()),
        "channels": channels,
        "image_size": size,
    }
    matched, warnings = None, list(data.warnings)
    if data.ood is not None:
        matched = {"name": data.ood.name, "classes_matched": data.ood.classes_matched}
        warnings += [f"{data.ood.name}: {line}" for line in data.ood.warnings]
    # In this order, and with these counts.
    return ours | data.facts | ours | {"ood": matched, "warnings": portable(warnings)}


def _head_facts(settings: Settings, plan: HeadPlan, model: EncoderWithHead) -> HeadFacts:
    """The classifier in words and numbers."""
    encoder = count_parameters(model.encoder)
    return HeadFacts(
        kind=settings.head_kind,
        constraint=settings.constraint,
        tau=model.head.tau,
        loss=settings.loss,
        margin=plan.margin,
        beta=settings.beta if settings.head_kind == "cmf" else None,
        code=plan.code_name,
        assignment=(settings.assignment or "identity") if settings.head_kind == "fixed" else None,
        permutation=plan.permutation,
        encoder_parameters=encoder,
        head_parameters=plan.K * plan.d,
        trained_parameters=sum(p.numel() for p in model.parameters() if p.requires_grad),
        saved_share=model.head.saved_parameters / (encoder + plan.K * plan.d),
        margin_source=plan.margin_source,
    )


def _recipe_facts(settings: Settings, normalisation: Normalisation) -> dict[str, Any]:
    """Settings that say how it was trained; plain JSON."""
    start = settings.init_from or settings.backbone_weights
    return {
        "optimizer": settings.optimizer,
        "lr": settings.lr,
        "momentum": settings.momentum if settings.optimizer == "sgd" else None,
        "weight_decay": settings.weight_decay,
        "schedule": settings.schedule,
        "milestones": list(settings.milestones) if settings.schedule == "step" else None,
        "warmup": settings.warmup,
        "batch_size": settings.batch_size,
        "precision": settings.precision,
        "augment": list(settings.augment or ()),
        "mean": list(normalisation.mean),
        "std": list(normalisation.std),
        "width": settings.width,
        "preset": settings.preset,
        "start": PurePath(start).name if start else None,
    }


def _advice(epochs: Epochs, accuracy: float | None) -> str | None:
    """How to go on where it stopped, or where the training `accuracy` is near chance."""
    settings, chance = epochs.settings, 1.0 / epochs.training.model.head.K
    if epochs.outcome == "completed":
        if accuracy is None or accuracy > chance + _LEARNED * (1.0 - chance):
            return None
        return (
            f"training accuracy {accuracy:.3g} is near chance; try more {spelled('epochs')} or "
            f"another {spelled('lr')}"
        )
    word = "interrupted"
    if epochs.outcome == "time_limit":
        word = f"stopped by {spelled('time_limit')}"
    path = settings.data.partition(":")[2]
    data = f" --data {settings.data}" if os.path.isabs(path) else ""  # config.json has no such
    model = f" --model {settings.model}" if ":" in settings.model else ""  # never from a file
    return (
        f"{word}, the last checkpoint is written; go on with --resume --out "
        f"{epochs.folder.path}{data}{model}"
    )


def _with_class_names(result: MeasureResult, names: Sequence[str]) -> MeasureResult:
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


def _plot_arrays(measurement: Measurement | None, class_names: Sequence[str]) -> dict[str, Any]:
    """What the picture of a circle or sphere needs, where the measurement kept it."""
    if measurement is None or "train" not in measurement.features:
        return {}
    features, labels = measurement.features["train"]
    return {
        "features": features,
        "labels": labels,
        "weights": measurement.weights,
        "class_names": class_names,
    }
