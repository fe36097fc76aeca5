"""A small encoder, small images, their training: fast, with nothing of the real ones' details."""

import contextlib
import itertools
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gnc_cli.runtime.distributed import Processes
from gnc_cli.training.networks.batches import Augmentation, Batches, Normalisation
from gnc_cli.training.networks.classifier import EncoderWithHead
from gnc_cli.training.networks.heads import Head, SphereHead
from gnc_cli.training.networks.losses import make_loss
from gnc_cli.training.networks.training import EpochTotals, Training
from gnc_cli.training.settings import Recipe

GREY = Normalisation((0.5,), (0.25,))
MOVES = Augmentation(padding=1, flip=True, degrees=10.0)


class FakeEncoder(nn.Module):
    """A convolution, a norm (`group`, `batch`, `none`), dropout, a linear layer to d features."""

    def __init__(self, d: int = 4, norm: str = "group", dropout: float = 0.0, seed: int = 0):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            norms = {"group": nn.GroupNorm(2, 8), "batch": nn.BatchNorm2d(8), "none": nn.Identity()}
            self.layers = nn.Sequential(
                nn.Conv2d(1, 8, 3, padding=1),
                norms[norm],
                nn.ReLU(),
                nn.AdaptiveAvgPool2d(2),
                nn.Flatten(),
                nn.Dropout(dropout),
                nn.Linear(32, d),
            )

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images)


def fake_model(head: Head | None = None, **encoder: Any) -> EncoderWithHead:
    """Five classes in four dimensions, learned with cross-entropy."""
    head = head or SphereHead(4, 5, tau=0.2, seed=1)
    return EncoderWithHead(FakeEncoder(**encoder), head, make_loss("ce", tau=head.tau))


def fake_images(N: int = 50, K: int = 5, S: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Noise around one bright square per class: images uint8 (N, 1, S, S) and labels (N,)."""
    rng = np.random.default_rng(0)
    labels = np.arange(N) % K
    images = rng.integers(0, 120, (N, 1, S, S), dtype=np.uint8)
    for image, k in zip(images, labels, strict=True):
        image[0, k : k + 3, (2 * k) % S : (2 * k) % S + 3] += 130
    return images, labels


class Elsewhere:
    """`Images` that are not an array, and the number of times they were read."""

    def __init__(self, images: np.ndarray) -> None:
        self._images, self.shape, self.asked = images, images.shape, 0

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        self.asked += 1
        return self._images[rows]


def fake_training(
    recipe: Recipe,
    *,
    model: EncoderWithHead | None = None,
    N: int = 70,
    seed: int = 7,
    place: torch.device,
    processes: Processes | None = None,
    **encoder: Any,
) -> Training:
    """The training of a fake model, or of another, on N fake images."""
    processes = processes or Processes()
    images, labels = fake_images(N)
    batches = Batches(
        images,
        labels,
        batch_size=recipe.batch_size,
        seed=seed,
        normalisation=GREY,
        augmentation=MOVES,
        device=place,
        processes=processes,
    )
    model = model or fake_model(**encoder)
    return Training(model, batches, recipe, processes=processes, device=place)


def advance(training: Training, steps: int = 1000) -> EpochTotals | None:
    """Train to the end of the epoch, or as many losses; on a GPU the first comes after one step,
    the next after ten more."""
    with contextlib.closing(training.steps()) as losses:
        for _ in itertools.islice(losses, steps):
            pass
    return training.settle()
