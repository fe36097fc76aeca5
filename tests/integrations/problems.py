"""A network and samples for trainers: five classes that are easily learned."""

from typing import Any

import torch
from torch import Tensor, nn

D, K = 4, 5


class Network(nn.Module):
    """Images (n, 6) to logits (n, K); the head is not its only linear layer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.encoder = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, D))
        self.head = nn.Linear(D, K)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.encoder(images))


def samples(N: int = 60) -> tuple[Tensor, Tensor]:
    """Images (N, 6) and labels (N,)."""
    generator = torch.Generator().manual_seed(4)
    labels = torch.arange(N) % K
    centres = torch.randn(K, 6, generator=generator)
    return centres[labels] + 0.4 * torch.randn(N, 6, generator=generator), labels


def features(N: int = 60) -> dict[str, Any]:
    """Features (N, D), labels, logits and weights of an untrained network."""
    network = Network().eval()
    images, labels = samples(N)
    with torch.no_grad():
        found = network.encoder(images)
        return {
            "features": found,
            "labels": labels,
            "logits": network.head(found),
            "weights": network.head.weight.detach(),
        }
