"""Small stand-ins for encoders, heads and data: fast, with nothing of the real ones' details."""

import numpy as np
import torch
from torch import Tensor, nn

from gnc_cli.networks.augmentation import Augmentation
from gnc_cli.networks.normalisation import Normalisation

__all__ = [
    "GREY",
    "MOVES",
    "FakeClassifier",
    "FakeEncoder",
    "FakeHead",
    "fake_images",
]

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


class FakeHead(nn.Module):
    """Unit weights and features, or plain ones, at a temperature."""

    def __init__(self, d: int, K: int, tau: float = 0.2, sphere: bool = True) -> None:
        super().__init__()
        self.tau, self.sphere = tau, sphere
        start = torch.randn(K, d, generator=torch.Generator().manual_seed(1))
        self.raw = nn.Parameter(start)

    def forward(self, features: Tensor) -> Tensor:
        W, H = self.raw, features.float()
        if self.sphere:
            W, H = nn.functional.normalize(W), nn.functional.normalize(H)
        return H @ W.T / self.tau


class FakeClassifier(nn.Module):
    """Encoder, head and cross-entropy."""

    def __init__(self, encoder: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head

    def features(self, images: Tensor) -> Tensor:
        return self.encoder(images).float()

    def forward(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.head(self.features(images))
        losses = nn.functional.cross_entropy(logits, labels, reduction="none")
        return losses, logits.argmax(1) == labels


def fake_images(N: int = 50, K: int = 5, S: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Noise around one bright square a class: images uint8 (N, 1, S, S) and labels (N,)."""
    rng = np.random.default_rng(0)
    labels = np.arange(N) % K
    images = rng.integers(0, 120, (N, 1, S, S), dtype=np.uint8)
    for image, k in zip(images, labels, strict=True):
        image[0, k : k + 3, (2 * k) % S : (2 * k) % S + 3] += 130
    return images, labels
