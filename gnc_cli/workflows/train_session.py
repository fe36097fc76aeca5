"""A network, its batches, its optimiser and its measurements, ready to be trained."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from gnc_cli.io.images.image_set import ImageData, ImageSet
from gnc_cli.networks.batches import Batches
from gnc_cli.networks.classifier import Classifier
from gnc_cli.networks.device_images import DeviceImages
from gnc_cli.networks.normalisation import Normalisation, channel_statistics
from gnc_cli.networks.recipe import Recipe
from gnc_cli.networks.training import Training
from gnc_cli.networks.work import flops_per_call
from gnc_cli.numerics.threads import available_cores, threads_for
from gnc_cli.workflows.train_data import augmentation_of
from gnc_cli.workflows.train_features import Labelled
from gnc_cli.workflows.train_head import HeadPlan
from gnc_cli.workflows.train_measure import Measuring
from gnc_cli.workflows.train_network import build_network, load_start
from gnc_cli.workflows.train_settings import Settings

if TYPE_CHECKING:
    from gnc_cli.numerics.distributed import Processes

__all__ = ["Session", "open_session", "precision_on", "recipe_of"]


@dataclass(frozen=True, eq=False)
class Session:
    """Everything of a run that is not on disk."""

    settings: Settings
    """With the augmentation that was chosen."""
    plan: HeadPlan
    device: torch.device
    model: Classifier
    training: Training
    measuring: Measuring
    normalisation: Normalisation
    flops: float
    """Floating-point operations of a typical call of its layers, for a batch of one process."""
    said: tuple[str, ...]
    """Lines for the log: what the network started from."""

    def threads(self, requested: int | None) -> int:
        """Processor threads that it deserves: few where layers are small, for they would wait.

        Args:
            requested: the user's `--threads`, which wins.
        """
        if self.device.type != "cpu":
            return requested or available_cores()
        return threads_for(self.flops, requested)


def open_session(
    settings: Settings,
    plan: HeadPlan,
    data: ImageData,
    ood: ImageSet | None,
    processes: "Processes",
    device: torch.device,
    *,
    fresh: bool = True,
) -> Session:
    """Build the network and all that trains and measures it.

    Args:
        settings: of the run.
        plan: of its head.
        data, ood: images.
        processes, device: where it runs.
        fresh: start from `--init-from` or `--backbone-weights`; a run that goes on does not.

    Raises:
        UnavailableError: the device cannot hold the head, or has not the precision.
        DataError, UsageError: a model, checkpoint or recipe that cannot be used.
    """
    model = build_network(settings, plan, data.train.images.shape, device, processes.size)
    said = load_start(model, settings) if fresh else []
    batch_size = -(-settings.batch_size // processes.size)
    flops = flops_per_call(model.encoder, data.train.images.shape[1:], batch_size)
    settings, augmentation = augmentation_of(settings, data)
    normalisation = channel_statistics(data.train.images)
    recipe = recipe_of(settings, device)
    batches = Batches(
        data.train.images, data.train.labels, batch_size=settings.batch_size, seed=settings.seed,
        normalisation=normalisation, augmentation=augmentation, device=device,
        rank=processes.rank, size=processes.size, channels_last=recipe.channels_last,
    )  # fmt: skip
    training = Training(model, batches, recipe, processes=processes, device=device)
    measuring = Measuring(
        model,
        Labelled(batches.images, data.train.labels),
        _on(device, data.test),
        _on(device, ood),
        processes,
        {
            "normalisation": normalisation, "device": device, "precision": recipe.precision,
            "batch_size": max(256, settings.batch_size), "channels_last": recipe.channels_last,
        },
    )  # fmt: skip
    return Session(
        settings, plan, device, model, training, measuring, normalisation, flops, tuple(said)
    )


def recipe_of(settings: Settings, device: torch.device) -> Recipe:
    """The settings as the training loop takes them."""
    return Recipe(
        epochs=settings.epochs, batch_size=settings.batch_size, optimizer=settings.optimizer,
        lr=settings.lr, momentum=settings.momentum, weight_decay=settings.weight_decay,
        schedule=settings.schedule, milestones=settings.milestones, gamma=settings.gamma,
        warmup=settings.warmup, precision=precision_on(device, settings.precision),
        clip=settings.clip, channels_last=settings.channels_last, compile=settings.compile,
    )  # fmt: skip


def precision_on(device: torch.device, precision: str) -> str:
    """`auto` is bf16 on GPUs that have it, not merely emulate it, else float32."""
    if precision != "auto":
        return precision
    if device.type != "cuda":
        return "float32"
    with torch.cuda.device(device):  # the question is about the current one
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"


def _on(device: torch.device, images: ImageSet | None) -> Labelled | None:
    if images is None:
        return None
    return Labelled(DeviceImages(images.images, device), images.labels)
