"""Images, network, batches and measurements of a run, ready to be trained."""

import dataclasses
import os
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from gnc_cli.errors import DataError
from gnc_cli.parameters import spelled
from gnc_cli.records import read_plain
from gnc_cli.runtime.distributed import Processes
from gnc_cli.runtime.predictions import FLOPS, Prediction
from gnc_cli.runtime.threads import available_cores, threads_for
from gnc_cli.training.checkpoints import read_checkpoint, read_tensors
from gnc_cli.training.data.image_set import ImageData, ImageSet, MatchedSet, first_per_class
from gnc_cli.training.data.load import load_images, load_matched
from gnc_cli.training.head import HeadPlan, build_head
from gnc_cli.training.measure import Labelled, Measuring
from gnc_cli.training.networks.batches import (
    Augmentation,
    Batches,
    DeviceImages,
    Normalisation,
    channel_statistics,
)
from gnc_cli.training.networks.classifier import (
    Classifier,
    count_parameters,
    flops_per_call,
    size_of_call,
)
from gnc_cli.training.networks.encoders import build_encoder, load_backbone
from gnc_cli.training.networks.losses import make_loss
from gnc_cli.training.networks.memory import OPTIMIZER_STATE, check_head_fits, free_bytes
from gnc_cli.training.networks.training import Recipe, Training
from gnc_cli.training.request import Settings


def read_data(
    settings: Settings, note: Callable[[str], None], threads: int | None = None
) -> tuple[ImageData, MatchedSet | None]:
    """The images of a run; the out-of-distribution set has the labels of the training set.

    `note` is called with a line for each thing left out.
    """
    data = load_images(
        settings.data,
        classes=settings.classes,
        subset=settings.classes_subset,
        image_size=settings.image_size,
        fonts=settings.fonts,
        script=settings.script,
        threads=threads,
    )
    if settings.images_per_class is not None:
        data = first_per_class(data, settings.images_per_class)
    for warning in data.warnings:
        note(warning)
    if settings.ood is None:
        return data, None
    shape = data.train.images.shape
    return data, load_matched(
        settings.ood,
        data.class_names,
        image_size=shape[-1],
        channels=shape[1],
        note=note,
        threads=threads,
    )


@dataclass(frozen=True, eq=False)
class Session:
    """Everything of a run that is not on disk."""

    settings: Settings
    """With the augmentation that was chosen."""
    plan: HeadPlan
    data: ImageData
    ood: MatchedSet | None
    device: torch.device
    training: Training
    measuring: Measuring
    normalisation: Normalisation
    flops: float
    """Floating-point operations of a typical call of its layers, for a batch of one process."""
    start: str | None
    """A line for the log: what the network started from."""

    def threads(self, requested: int | None) -> int:
        """Processor threads, as requested, else few where layers are small: they would wait."""
        if self.device.type != "cpu":
            return requested or available_cores()
        return threads_for(self.flops, requested)


def open_session(
    settings: Settings,
    plan: HeadPlan,
    data: ImageData,
    ood: MatchedSet | None,
    processes: Processes,
    device: torch.device,
    *,
    fresh: bool = True,
    out: str | None = None,
    limited: bool = True,
) -> Session:
    """Build the network and all that trains and measures it.

    Unless `fresh`, a checkpoint brings the weights, and the run's start is not loaded.

    Raises:
        UnavailableError: this machine cannot hold the network, its head, or what the run writes
            to `out`; or it would take more than a year, unless it is `limited` in time.
    """
    shape = data.train.images.shape
    batch_size = -(-settings.batch_size // processes.size)
    if ":" not in settings.model:
        predicted = _predicted(settings, plan.d, data, batch_size)
        if limited or device.type != "cpu":
            predicted = dataclasses.replace(predicted, seconds=0.0)
        predicted.require(
            f"{spelled('model', settings.model)} at batch size {batch_size} with "
            f"{settings.optimizer} for {settings.epochs} epochs",
            f"take a smaller {spelled('batch_size')}, {spelled('width')} or {spelled('epochs')}, "
            f"or a larger {spelled('snapshot_every')}",
            out=out,
            free=free_bytes(device) / (1 if device.type == "cuda" else processes.size),
            where=str(device),
        )
    check_head_fits(
        plan.d,
        plan.K,
        batch_size,
        head="decay" if settings.constraint == "decay" else settings.kind,
        optimizer=settings.optimizer,
        device=device,
    )
    encoder = build_encoder(
        settings.model,
        channels=shape[1],
        image_size=shape[-1],
        feature_dim=plan.d,
        width=settings.width,
        seed=settings.seed,
    )
    head = build_head(settings, plan)
    model = Classifier(encoder, head, make_loss(settings.loss, tau=head.tau, margin=plan.margin))
    start = _load_start(model.encoder, settings) if fresh else None
    flops = flops_per_call(model.encoder, shape[1:], batch_size)
    moves = settings.augment
    if moves is None:  # all that keeps the classes
        moves = ("crop", "flip", "rotate") if data.flip else ("crop", "rotate")
        settings = dataclasses.replace(settings, augment=moves)
    papers = Augmentation()
    augmentation = Augmentation(
        padding=papers.padding if "crop" in moves else 0,
        flip="flip" in moves,
        degrees=papers.degrees if "rotate" in moves else 0.0,
    )
    normalisation = channel_statistics(data.train.images)
    shared = [f.name for f in dataclasses.fields(Recipe) if f.name in vars(settings)]
    precision = precision_on(device, settings.precision)
    recipe = Recipe(**{n: getattr(settings, n) for n in shared} | {"precision": precision})
    batches = Batches(
        data.train.images,
        data.train.labels,
        batch_size=settings.batch_size,
        seed=settings.seed,
        normalisation=normalisation,
        augmentation=augmentation,
        device=device,
        rank=processes.rank,
        size=processes.size,
    )
    training = Training(model, batches, recipe, processes=processes, device=device)

    def labelled(images: ImageSet | None) -> Labelled | None:
        if images is None:
            return None
        return Labelled(DeviceImages(images.images, device), images.labels)

    measuring = Measuring(
        model,
        Labelled(batches.images, data.train.labels),
        labelled(data.test),
        labelled(ood),
        processes,
        {
            "normalisation": normalisation,
            "device": device,
            "precision": recipe.precision,
            "batch_size": max(256, settings.batch_size),
        },
    )
    return Session(
        settings, plan, data, ood, device, training, measuring, normalisation, flops, start
    )


def _predicted(settings: Settings, d: int, data: ImageData, batch_size: int) -> Prediction:
    """What training a network takes, from a copy of it that has sizes only.

    Weights, gradients and the optimiser's state; the outputs of all layers for a batch; the last
    and the best checkpoint, and the snapshots.
    """
    N, *shape = data.train.images.shape
    with torch.device("meta"):
        encoder = build_encoder(
            settings.model,
            channels=shape[0],
            image_size=shape[-1],
            feature_dim=d,
            width=settings.width,
        )
        outputs, flops = size_of_call(encoder, shape)
    numbers = count_parameters(encoder) * (2 + OPTIMIZER_STATE[settings.optimizer])
    snapshots = settings.epochs // (settings.snapshot_every or settings.epochs)
    tests = 0 if data.test is None else len(data.test.labels)
    return Prediction(
        memory=4.0 * (numbers + min(batch_size, N) * outputs),
        disk=8.0 * numbers + 4.0 * snapshots * (N + tests) * d,
        seconds=3.0 * flops * N * settings.epochs / (FLOPS * available_cores()),
    )


def precision_on(device: torch.device, precision: str) -> str:
    """`auto` is bf16 on GPUs that have it, not merely emulate it, else float32."""
    if precision != "auto":
        return precision
    if device.type != "cuda":
        return "float32"
    with torch.cuda.device(device):  # the question is about the current one
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"


def _load_start(encoder: nn.Module, settings: Settings) -> str | None:
    """Take over the encoder of a checkpoint, where one was asked for; a line that says so.

    The head starts fresh, and so does a last layer of another dimension.
    """
    start = settings.backbone_weights or settings.init_from
    if start is None:
        return None
    if settings.backbone_weights is None:
        origin, tensors = "encoder of", _stored_encoder(start)
    else:
        origin, tensors = "from", read_tensors(start)
        if any(name.startswith("training.model.") for name in tensors):
            raise DataError(
                f"{spelled('backbone_weights', start)} is a checkpoint of gnc train; give it to "
                f"{spelled('init_from')}"
            )
    left_out = ", ".join(load_backbone(encoder, tensors)) or "nothing"
    return f"{origin} {os.path.basename(start.rstrip('/'))}; left out: {left_out}"


def _stored_encoder(path: str) -> dict[str, torch.Tensor]:
    """The encoder of an earlier run, or of its checkpoint."""
    if os.path.isdir(path):
        best = os.path.join(path, "best.pt")
        path = best if os.path.isfile(best) else os.path.join(path, "last.pt")
    state = read_checkpoint(path)
    try:
        stored = read_plain(dict[str, torch.Tensor], state["training"]["model"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{spelled('init_from', path)} is no checkpoint of gnc train; those of others go to "
            f"{spelled('backbone_weights')}"
        ) from error
    prefix = "encoder."
    return {k.removeprefix(prefix): v for k, v in stored.items() if k.startswith(prefix)}
