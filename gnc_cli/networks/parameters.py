"""Widths, counts and first values of a network's parameters."""

from typing import Literal

import torch
from torch import nn

__all__ = ["count_parameters", "initialise", "scaled"]


def count_parameters(module: nn.Module) -> int:
    """Numbers in its parameters, frozen ones too; running statistics are buffers and no part.

    Example:
        >>> count_parameters(nn.Linear(512, 100))
        51300
    """
    return sum(parameter.numel() for parameter in module.parameters())


def scaled(channels: int, width: float) -> int:
    """`width` times `channels`, rounded to a multiple of 8, at least 8.

    Example:
        >>> scaled(64, 1.0), scaled(64, 0.3), scaled(64, 0.01)
        (64, 16, 8)
    """
    return max(8, 8 * round(channels * width / 8))


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
