"""The small network: it learns, and it is small."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from gnc_cli.networks.encoders import build_encoder, count_parameters


@pytest.mark.parametrize("norm", ["batch", "group", "none"])
def test_it_learns_shifted_patterns(norm: str) -> None:
    generator = torch.Generator().manual_seed(0)
    patterns = torch.randn(6, 1, 16, 16, generator=generator)
    labels = torch.arange(6).repeat_interleave(9)
    shifts = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    images = torch.cat([p.roll(s, (1, 2)) for p in patterns for s in shifts])[:, None]
    encoder = build_encoder("cnn", channels=1, image_size=16, feature_dim=6, width=0.5, norm=norm)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-3)
    for _ in range(40):
        loss = F.cross_entropy(F.normalize(encoder(images), dim=1) / 0.1, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    right = encoder.eval()(images.roll(1, 2)).argmax(1) == labels
    assert right.float().mean() > 0.8


def test_five_convolutions_in_half_a_million_parameters() -> None:
    encoder = build_encoder("cnn", channels=1, feature_dim=10)
    assert sum(isinstance(layer, nn.Conv2d) for layer in encoder.modules()) == 5
    assert count_parameters(encoder) < 500_000
