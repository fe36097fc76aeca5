"""A small encoder and small images: fast, with nothing of the real ones' details."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gnc_cli.training.networks.batches import Augmentation, Normalisation
from gnc_cli.training.networks.classifier import Classifier
from gnc_cli.training.networks.heads import DecayHead, SphereHead
from gnc_cli.training.networks.losses import make_loss

GREY = Normalisation((0.5,), (0.25,))
MOVES = Augmentation(padding=1, flip=True, degrees=10.0)


class FakeEncoder(nn.Module):
    """A convolution, a norm (`group`, `batch`, `none`), dropout, a linear layer to d features."""

    def __init__(self, d: int = 4, norm: str = "group", dropout: float = 0.0, seed: int = 0):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
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


def fake_model(*, sphere: bool = True, **encoder: Any) -> Classifier:
    """Five classes in four dimensions, learned with cross-entropy."""
    head = SphereHead(4, 5, tau=0.2, seed=1) if sphere else DecayHead(4, 5, seed=1)
    return Classifier(FakeEncoder(**encoder), head, make_loss("ce", tau=head.tau))


def fake_images(N: int = 50, K: int = 5, S: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Noise around one bright square per class: images uint8 (N, 1, S, S) and labels (N,)."""
    rng = np.random.default_rng(0)
    labels = np.arange(N) % K
    images = rng.integers(0, 120, (N, 1, S, S), dtype=np.uint8)
    for image, k in zip(images, labels, strict=True):
        image[0, k : k + 3, (2 * k) % S : (2 * k) % S + 3] += 130
    return images, labels


class Elsewhere:
    """`Pictures` that are no array, and how often they were asked for."""

    def __init__(self, images: np.ndarray) -> None:
        self._images, self.shape, self.asked = images, images.shape, 0

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        self.asked += 1
        return self._images[rows]
