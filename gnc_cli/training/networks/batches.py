"""Images on their way to a network: cropped, mirrored, rotated at random, normalised, in batches.

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
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from gnc_cli.errors import UsageError
from gnc_cli.parameters import spelled
from gnc_cli.runtime.distributed import share
from gnc_cli.training.data.image_set import Pictures

_RESIDENT_BYTES = 2 << 30
"""Images up to this size are kept on the device."""
_BLOCK = 1 << 22
"""Pixels whose values are counted at once."""


@dataclass(frozen=True)
class Augmentation:
    """How far an image may be moved; zeros leave it as it is."""

    padding: int = 4
    """Crops begin up to this many pixels outside of the image, on each side."""
    flip: bool = False
    """Whether every second image is mirrored, left to right."""
    degrees: float = 15.0
    """Largest angle of rotation, to either side, about the centre of the crop."""

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """The parameters of `count` images, from the generator's state alone, float32 (count, 4).

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
    shares = counts / counts.sum(axis=1, keepdims=True)
    mean = shares @ value
    std = np.sqrt((shares * (value - mean[:, None]) ** 2).sum(axis=1))
    std[(counts > 0).sum(axis=1) == 1] = 1.0
    return Normalisation(tuple(mean.tolist()), tuple(std.tolist()))


class DeviceImages:
    """Images of which any rows can be had on the device, as they are: uint8 (n, C, S, S).

    They live on the device when they take at most 2 GB, and at most a quarter of the free memory of
    a GPU; an array in the memory of a CPU stays where it is. Other images are gathered on the host,
    the next batch in a thread while the last one is worked on.
    """

    def __init__(self, images: Pictures, device: torch.device) -> None:
        self.shape = tuple(images.shape)
        self._images, self._device = images, device
        self._resident: Tensor | None = None
        resident_bytes = _RESIDENT_BYTES
        if device.type == "cuda":
            resident_bytes = min(resident_bytes, torch.cuda.mem_get_info(device)[0] // 4)
        if isinstance(images, np.ndarray) and images.flags.carray and device.type == "cpu":
            self._resident = torch.from_numpy(images)
        elif int(np.prod(self.shape)) <= resident_bytes:
            self._resident = _tensor(images[np.arange(self.shape[0])]).to(device)

    def __len__(self) -> int:
        return self.shape[0]

    def stream(self, rows: Iterable[Tensor]) -> Generator[Tensor, None, None]:
        """For each tensor of `rows` (int64, on the CPU) those images, on the device."""
        if self._resident is None:
            yield from self._gathered(rows)
            return
        for chosen in rows:
            yield self._resident[chosen.to(self._device, non_blocking=True)]

    def _gathered(self, rows: Iterable[Tensor]) -> Generator[Tensor, None, None]:
        waiting: Future[Tensor] | None = None
        with ThreadPoolExecutor(1, thread_name_prefix="gnc-images") as thread:
            for chosen in rows:
                ahead = thread.submit(self._gather, chosen.numpy())
                if waiting is not None:
                    yield waiting.result().to(self._device, non_blocking=True)
                waiting = ahead
            if waiting is not None:
                yield waiting.result().to(self._device, non_blocking=True)

    def _gather(self, rows: np.ndarray) -> Tensor:
        pixels = _tensor(self._images[rows])
        return pixels.pin_memory() if self._device.type == "cuda" else pixels


def _tensor(pixels: np.ndarray) -> Tensor:
    return torch.from_numpy(np.require(pixels, requirements=("C", "W")))


@dataclass(frozen=True, eq=False)
class Batch:
    """This process's share of one batch."""

    images: Tensor
    """float32 (n, C, S, S), augmented and normalised, on the device."""
    labels: Tensor
    """int64 (n,), on the device."""
    weight: float
    """n * processes / (samples of the whole batch): the mean over processes of their mean losses,
    so weighted, is the mean of the whole batch."""


class Batches:
    """Training images in batches, shared by the processes that train together.

    An epoch is cut into `steps` nearly equal batches, so that none is tiny: where they are of two,
    an odd number of samples has one of three, for batch norm wants two. The order of the
    samples, of all processes together, depends on (seed, epoch) alone, and how a batch is augmented
    on (seed, epoch, step): any batch can be had without those before it, and all processes together
    see what one would see alone. `batch_size` is that of all of them, the largest but for that one
    of three.
    """

    def __init__(
        self,
        images: Pictures | DeviceImages,
        labels: np.ndarray,
        *,
        batch_size: int,
        seed: int,
        normalisation: Normalisation,
        augmentation: Augmentation,
        device: torch.device,
        rank: int = 0,
        size: int = 1,
    ) -> None:
        self.N = len(labels)
        self.steps = max(1, min(-(-self.N // batch_size), self.N // 2))
        self.seed = seed
        if self.N // self.steps < 2 * size:
            raise UsageError(
                f"{spelled('batch_size', batch_size)}: {self.N} training images in {self.steps} "
                f"batches do not give each of {size} processes two, which batch norm needs; use "
                "larger batches or fewer processes"
            )
        self.images = images if isinstance(images, DeviceImages) else DeviceImages(images, device)
        """All images, as they are; `evaluate` takes them from here."""
        self.labels = torch.from_numpy(np.array(labels, dtype=np.int64))
        self.normalisation, self._augmentation = normalisation, augmentation
        self._device, self._rank, self._size = device, rank, size

    def epoch(self, epoch: int, start: int = 0) -> Generator[Batch, None, None]:
        """The batches of an epoch, from 0, beginning with step `start`."""
        generator = torch.Generator().manual_seed(seed_at(self.seed, epoch))
        order = torch.randperm(self.N, generator=generator)
        shares = [self._share(step) for step in range(start, self.steps)]
        rows = [order[first:last] for first, last, _, _ in shares]
        with closing(self.images.stream(rows)) as stream:
            for step, (first, last, begin, end), chosen, pixels in zip(
                range(start, self.steps), shares, rows, stream, strict=True
            ):
                generator = torch.Generator().manual_seed(seed_at(self.seed, epoch, step))
                drawn = self._augmentation.draw(end - begin, generator)
                moved = self._augmentation.apply(pixels, drawn[first - begin : last - begin])
                images = self.normalisation.apply(moved)
                yield Batch(
                    images.contiguous(memory_format=torch.channels_last),
                    self.labels[chosen].to(self._device, non_blocking=True),
                    (last - first) * self._size / (end - begin),
                )

    def _share(self, step: int) -> tuple[int, int, int, int]:
        """Which places of the order are ours (first, last), and all of the batch (begin, end)."""
        begin, end = share(self.N, step, self.steps)
        first, last = share(end - begin, self._rank, self._size)
        return begin + first, begin + last, begin, end


def seed_at(seed: int, *position: int) -> int:
    """A seed for one place of a run, such as (epoch,) or (epoch, step); others are unrelated."""
    return int(np.random.SeedSequence(seed, spawn_key=position).generate_state(1, np.uint64)[0])
