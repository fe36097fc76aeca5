"""Images as a network sees them: cropped, mirrored and rotated at random, then mean 0 and std 1.

The parameters of a batch's moves are drawn on the CPU, one row per image; an image's result depends
on its own row alone, so that processes that share a batch see the same images as one process that
has all of it. Images are moved as they are stored, uint8, and normalised afterwards: what comes in
from outside is then black, as in the paper's code and in glyphs. Zeros in normalised images would
be the mean colour instead. The three moves are one map, so pixels are interpolated once, and a
corner that the crop moved out and the rotation brings back is still there. On one CPU core 128
images of 32 x 32 take 1 ms, a quarter of it without rotation, where nothing is interpolated.

Reference: the recipe of section 4 of arXiv 2310.05351 (padding 4, rotation up to 15 degrees).
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from gnc_cli.training.data.image_set import Pictures

_BLOCK = 1 << 22
"""Pixels whose values are counted at once."""


@dataclass(frozen=True)
class Augmentation:
    """How far an image may be moved; zeros leave it as it is."""

    padding: int = 4
    """Crops begin up to so many pixels outside of the image, on each side."""
    flip: bool = False
    """Whether every second image is mirrored, left to right."""
    degrees: float = 15.0
    """Largest angle of rotation, to either side, about the centre of the crop."""

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """The parameters of so many images, from the generator's state alone, float32 (count, 4).

        The crop's offset down and to the right, pixels; 1 where it is mirrored, else 0; the angle,
        radians, positive against the clock.
        """
        drawn = torch.zeros(count, 4)
        reach = (-self.padding, self.padding + 1)
        drawn[:, :2] = torch.randint(*reach, (count, 2), generator=generator)
        if self.flip:
            drawn[:, 2] = torch.randint(2, (count,), generator=generator)
        turn = 2.0 * torch.rand(count, generator=generator) - 1.0
        drawn[:, 3] = math.radians(self.degrees) * turn
        return drawn

    def apply(self, images: Tensor, drawn: Tensor) -> Tensor:
        """Crop, then mirror, then rotate every image by its own row of what `draw` returned.

        Images are uint8 (n, C, S, S), on any device. The result, float32 of the same shape and
        device, is between 0 and 255: whole numbers where `degrees` is 0, bilinear otherwise.
        """
        if self.degrees:
            return _interpolated(images, drawn)
        return (_shifted(images, drawn) if self.padding or self.flip else images).float()


def _shifted(images: Tensor, drawn: Tensor) -> Tensor:
    """Whole pixels out of the padded images: no arithmetic on their values."""
    n, C, S, _ = images.shape
    pad = int(drawn[:, :2].abs().max()) if n else 0
    whole = drawn[:, :3].long().to(images.device, non_blocking=True)
    down, right, flip = whole[:, :, None].unbind(1)
    pixel = torch.arange(S, device=images.device)
    row = pixel + down + pad
    column = torch.where(flip == 1, S - 1 - pixel, pixel) + right + pad
    at = (row[:, :, None] * (S + 2 * pad) + column[:, None, :]).view(n, 1, S * S)
    padded = F.pad(images, (pad,) * 4).flatten(2)
    return padded.gather(2, at.expand(n, C, S * S)).view(n, C, S, S)


def _interpolated(images: Tensor, drawn: Tensor) -> Tensor:
    """Each source point once, bilinear; pixel centres lie at -1 + (2 i + 1) / S."""
    S = images.shape[2]
    # float64 on the CPU: no slice of a batch, no device sees another cosine than the whole.
    down, right, flip, angle = drawn.double().unbind(1)
    cos, sin, mirror = angle.cos(), angle.sin(), 1.0 - 2.0 * flip
    rows = torch.stack(
        [mirror * cos, -mirror * sin, 2.0 * right / S, sin, cos, 2.0 * down / S], dim=1
    )
    a, b, x, c, e, y = rows.float().to(images.device, non_blocking=True)[:, :, None, None].unbind(1)
    centre = (2.0 * torch.arange(S, device=images.device) + 1.0 - S) / S
    # Elementwise products and sums only: a batched product may round by the size of its batch.
    grid = torch.stack([a * centre + b * centre[:, None] + x, c * centre + e * centre[:, None] + y])
    return F.grid_sample(
        images.float(), grid.permute(1, 2, 3, 0), padding_mode="zeros", align_corners=False
    )


@dataclass(frozen=True)
class Normalisation:
    """Affine map of each channel, for pixels between 0 and 1."""

    mean: tuple[float, ...]
    """Of each channel, pixels between 0 and 1."""
    std: tuple[float, ...]
    """Of each channel; 1 where the channel is constant."""

    def apply(self, images: Tensor) -> Tensor:
        """`(images / 255 - mean) / std`: uint8 or float32 (n, C, S, S) to a new float32 tensor."""
        mean, std = (torch.tensor(x, dtype=torch.float64) for x in (self.mean, self.std))
        scale, shift = (
            x.float().to(images.device, non_blocking=True)[:, None, None]
            for x in (1 / (255 * std), mean / std)
        )
        return (images * scale).sub_(shift)


def channel_statistics(images: Pictures) -> Normalisation:
    """Mean and standard deviation of every channel over all pixels of all images.

    The sums come from counts of the 256 values that a pixel can have: exact, whatever the number
    of images, with no difference of large numbers. std is of the population, divided by the number
    of pixels.
    """
    N, C, *size = images.shape
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
