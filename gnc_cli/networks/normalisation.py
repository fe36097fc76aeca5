"""Channel by channel: the statistics of the training images, and images brought to mean 0, std 1.

The sums come from counts of the 256 values that a pixel can have: exact, whatever the number of
images, with no difference of large numbers.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gnc_cli.errors import DataError
from gnc_cli.networks.device_images import Pictures

__all__ = ["Normalisation", "channel_statistics"]

_BLOCK = 1 << 22
"""Pixels looked at in one go."""


@dataclass(frozen=True)
class Normalisation:
    """Affine map of each channel, for pixels between 0 and 1.

    Example:
        >>> Normalisation((0.5,), (0.25,)).apply(torch.full((1, 1, 1, 2), 255.0)).tolist()
        [[[[2.0, 2.0]]]]
    """

    mean: tuple[float, ...]
    """Of each channel, pixels between 0 and 1."""
    std: tuple[float, ...]
    """Of each channel; 1 where the channel is constant."""

    def apply(self, images: Tensor) -> Tensor:
        """`(images / 255 - mean) / std`.

        Args:
            images: shape (n, C, S, S), values 0 to 255, uint8 as stored or float32 as
                `Augmentation.apply` returns them.

        Returns:
            float32, shape (n, C, S, S), on the device of the images; a new tensor.

        Raises:
            DataError: another number of channels.
        """
        if images.ndim != 4 or images.shape[1] != len(self.mean):
            raise DataError(
                f"images have shape {tuple(images.shape)}; the normalisation is of "
                f"{len(self.mean)} channels, (n, {len(self.mean)}, S, S)"
            )
        mean, std = (torch.tensor(x, dtype=torch.float64) for x in (self.mean, self.std))
        scale, shift = (
            x.float().to(images.device, non_blocking=True)[:, None, None]
            for x in (1 / (255 * std), mean / std)
        )
        return (images * scale).sub_(shift)


def channel_statistics(images: Pictures) -> Normalisation:
    """Mean and standard deviation of every channel over all pixels of all images.

    Args:
        images: uint8, shape (N, C, S, S); read in blocks.

    Returns:
        Statistics in float64 of pixels between 0 and 1; std (of the population, divided by the
        number of pixels) is 1 for a constant channel.

    Raises:
        DataError: no images.

    Example:
        >>> channel_statistics(np.array([[[[0, 255]]]], dtype=np.uint8))
        Normalisation(mean=(0.5,), std=(0.5,))
    """
    N, C, *size = images.shape
    if N == 0:
        raise DataError("no images: channel statistics need one at least")
    counts = np.zeros((C, 256), dtype=np.int64)
    block = max(1, _BLOCK // (C * int(np.prod(size))))
    for first in range(0, N, block):
        rows = images[np.arange(first, min(first + block, N))]
        for c in range(C):
            counts[c] += np.bincount(rows[:, c].ravel(), minlength=256)
    value = np.arange(256) / 255.0
    share = counts / counts.sum(axis=1, keepdims=True)
    mean = share @ value
    std = np.sqrt((share * (value - mean[:, None]) ** 2).sum(axis=1))
    std[(counts > 0).sum(axis=1) == 1] = 1.0
    return Normalisation(tuple(mean.tolist()), tuple(std.tolist()))
