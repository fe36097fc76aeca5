"""The layer between a convolution and its ReLU: batch, group or no normalisation.

Batch normalisation couples the samples of a batch, so two processes with half a batch each differ
from one with all of it; group normalisation (Wu and He, "Group Normalization", 2018,
https://arxiv.org/abs/1803.08494) treats every image alone and does not.
"""

import copy

import torch
from torch import nn

__all__ = ["NORMS", "convolution", "normalisation", "trains_on_one"]

NORMS: tuple[str, ...] = ("batch", "group", "none")

_MOST_GROUPS = 32
_LEAST_CHANNELS = 4
"""With one channel a group a map of one pixel would always be normalised to zero."""


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
        inputs,
        outputs,
        kernel,
        stride=stride,
        padding=kernel // 2,
        groups=groups,
        bias=norm == "none",
    )


def trains_on_one(encoder: nn.Module, shape: tuple[int, ...]) -> bool:
    """Whether a single image, (C, S, S), can be trained on, tried on a copy on the CPU.

    It cannot where a batch norm has maps of one pixel: it would see one value of each channel.

    Example:
        >>> layers = [nn.Conv2d(1, 4, 3, stride=2), nn.BatchNorm2d(4)]
        >>> [trains_on_one(nn.Sequential(*layers), (1, S, S)) for S in (3, 5)]
        [False, True]
    """
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            copy.deepcopy(encoder).cpu().train()(torch.zeros(1, *shape))
    except ValueError as error:
        if "more than 1 value per channel" not in str(error):
            raise
        return False
    return True
