"""What the built-in networks share: settings, convolutions with norms, stem, last layer, start."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

NORMS: tuple[str, ...] = ("batch", "group", "none")
"""Layers between a convolution and its ReLU.

Batch normalisation couples the samples of a batch, so two processes with half a batch each differ
from one with all of it; group normalisation (Wu and He, "Group Normalization", 2018,
https://arxiv.org/abs/1803.08494) treats every image alone and does not.
"""
STEMS: tuple[str, ...] = ("auto", "small", "imagenet")
"""First layers of a network: "auto" is small under 96 pixels."""

_LARGE = 96
"""Pixels from which a network halves an image twice before it looks closely."""
_MOST_GROUPS = 32
_LEAST_CHANNELS = 4
"""With one channel per group a map of one pixel would always be normalised to zero."""


@dataclass(frozen=True)
class EncoderShape:
    """Settings that every built-in network understands."""

    channels: int
    """Channels of the images."""
    feature_dim: int | None
    """Outputs of the last linear layer; None leaves that layer out."""
    stem: str
    """Which stem: "small" or "imagenet"."""
    width: float
    """Factor of the published number of channels."""
    norm: str
    """Which normalisation: "batch", "group" or "none"."""


def choose_stem(stem: str, image_size: int) -> str:
    """The stem itself for "small" and "imagenet"; "auto" is small under 96 pixels.

    Example:
        >>> choose_stem("auto", 64), choose_stem("auto", 224), choose_stem("small", 224)
        ('small', 'imagenet', 'small')
    """
    if stem == "auto":
        return "small" if image_size < _LARGE else "imagenet"
    return stem


def scaled(channels: int, width: float) -> int:
    """`width` times `channels`, rounded to a multiple of 8, at least 8.

    Example:
        >>> scaled(64, 1.0), scaled(64, 0.3), scaled(64, 0.01)
        (64, 16, 8)
    """
    return max(8, 8 * round(channels * width / 8))


def normalisation(norm: str, channels: int) -> nn.Module:
    """Normalisation of maps (N, channels, H, W): one of `NORMS`.

    Group normalisation takes the most groups that divide the channels, 32 at most and with four
    channels or more in each. "none" is an identity without parameters.

    Example:
        >>> normalisation("group", 64).num_groups, normalisation("group", 24).num_groups
        (16, 6)
    """
    if norm == "batch":
        return nn.BatchNorm2d(channels)
    if norm == "group":
        most = max(1, min(_MOST_GROUPS, channels // _LEAST_CHANNELS))
        groups = next(count for count in range(most, 0, -1) if channels % count == 0)
        return nn.GroupNorm(groups, channels)
    return nn.Identity()


def convolution(
    norm: str, inputs: int, outputs: int, kernel: int, *, stride: int = 1, groups: int = 1
) -> nn.Conv2d:
    """Padded convolution that goes with `normalisation(norm, ...)`.

    A bias would be cancelled by a normalisation, so it is there only where `norm` is "none".
    """
    return nn.Conv2d(
        inputs, outputs, kernel, stride=stride, padding=kernel // 2, groups=groups,
        bias=norm == "none",
    )  # fmt: skip


def first_convolution(shape: EncoderShape, outputs: int) -> nn.Conv2d:
    """3 x 3 with stride 1 for small images, 7 x 7 with stride 2 for large ones."""
    if shape.stem == "small":
        return convolution(shape.norm, shape.channels, outputs, 3)
    return convolution(shape.norm, shape.channels, outputs, 7, stride=2)


def first_pooling(shape: EncoderShape) -> nn.Module:
    """No pooling for small images, 3 x 3 maxima with stride 2 for large ones."""
    return nn.Identity() if shape.stem == "small" else nn.MaxPool2d(3, stride=2, padding=1)


def last_layer(shape: EncoderShape, channels: int) -> tuple[nn.Module, int]:
    """Linear layer behind the pooled `channels`, or none, and the dimension of what comes out."""
    if shape.feature_dim is None:
        return nn.Identity(), channels
    return nn.Linear(channels, shape.feature_dim), shape.feature_dim


@torch.no_grad()
def initialise(module: nn.Module, mode: Literal["fan_in", "fan_out"]) -> None:
    """He's normal initialisation of every convolution; biases 0 and norms the identity.

    Linear layers keep PyTorch's own. Random numbers come from the current CPU generator.

    Args:
        module: changed in place.
        mode: "fan_out" keeps the variance of gradients (ResNet), "fan_in" that of activations.

    Source: He et al., "Delving Deep into Rectifiers", 2015, https://arxiv.org/abs/1502.01852
    """
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode=mode, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
        elif isinstance(layer, nn.BatchNorm2d | nn.GroupNorm):
            nn.init.ones_(layer.weight)
            nn.init.zeros_(layer.bias)
