"""Training images in batches, cropped, mirrored and rotated at random, and normalised.

The parameters of a batch's moves are drawn on the CPU, one row per image. An image's result depends
on its own row alone, so that processes that share a batch see the same images as one process that
has all of it. Images are moved as they are stored, uint8, and normalised afterwards: pixels from
outside the image are then black, as in the paper's code and in glyphs. Zeros in normalised images
would be the mean colour instead. The three moves are one map, so pixels are interpolated once, and
a corner that the crop moves out and the rotation brings back is still there. On one CPU core 128
images of 32 x 32 take 1 ms, and a quarter of it without rotation, which alone interpolates.

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
from gnc_cli.runtime.distributed import Processes, share
from gnc_cli.training.data.image_set import Images

_MAX_RESIDENT_BYTES = 2 << 30
"""Largest set of images that is kept on the device, in bytes: 2 GB leave room for the network."""
_MAX_COUNTED_PIXELS = 1 << 22
"""Number of pixels whose values are counted together, which bounds the memory."""


@dataclass(frozen=True)
class Augmentation:
    """Largest moves of an image; zeros leave it unchanged."""

    padding: int = 4
    """Largest number of pixels by which a crop begins outside of the image, on each side."""
    flip: bool = False
    """True if an image is mirrored, left to right, with probability 1/2."""
    degrees: float = 15.0
    """Largest angle of rotation in degrees, to either side, about the centre of the crop."""

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Draw the moves of `count` images from the generator alone, float32 (count, 4).

        A row has the crop's offset down and to the right in pixels, 1 if it is mirrored, else 0,
        and the angle in radians, positive counterclockwise.
        """
        moves = torch.zeros(count, 4)
        bounds = (-self.padding, self.padding + 1)
        moves[:, :2] = torch.randint(*bounds, (count, 2), generator=generator)
        if self.flip:
            moves[:, 2] = torch.randint(2, (count,), generator=generator)
        fraction = 2.0 * torch.rand(count, generator=generator) - 1.0
        moves[:, 3] = math.radians(self.degrees) * fraction
        return moves

    def apply(self, images: Tensor, moves: Tensor) -> Tensor:
        """Crop, then mirror, then rotate every image by its row of `moves`, as `draw` returns them.

        Args:
            images: uint8 (n, C, S, S), on any device.
            moves: float32 (n, 4), on the CPU.

        Returns:
            float32 of the images' shape and device, from 0 to 255: whole numbers if `degrees` is 0,
            interpolated bilinearly otherwise.
        """
        if self.degrees:
            return _interpolate(images, moves)
        return (_shift(images, moves) if self.padding or self.flip else images).float()


def _shift(images: Tensor, moves: Tensor) -> Tensor:
    """Shift by whole pixels and mirror images (n, C, S, S), without arithmetic on their values."""
    n, C, S, _ = images.shape
    pad = int(moves[:, :2].abs().max()) if n else 0
    offsets = moves[:, :3].long().to(images.device, non_blocking=True)
    down, right, flip = offsets[:, :, None].unbind(1)
    pixel = torch.arange(S, device=images.device)
    row = pixel + down + pad
    column = torch.where(flip == 1, S - 1 - pixel, pixel) + right + pad
    indices = (row[:, :, None] * (S + 2 * pad) + column[:, None, :]).view(n, 1, S * S)
    padded = F.pad(images, (pad,) * 4).flatten(2)
    return padded.gather(2, indices.expand(n, C, S * S)).view(n, C, S, S)


def _interpolate(images: Tensor, moves: Tensor) -> Tensor:
    """Interpolate images (n, C, S, S) bilinearly, once; pixel centres are -1 + (2 i + 1) / S."""
    S = images.shape[2]
    # float64 on the CPU, so that parts of a batch and all devices have the same cosines.
    down, right, flip, angle = moves.double().unbind(1)
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
    """An affine map of each channel."""

    mean: tuple[float, ...]
    """Mean of each channel, for pixels from 0 to 1."""
    std: tuple[float, ...]
    """Standard deviation of each channel; 1 if the channel is constant."""

    def apply(self, images: Tensor) -> Tensor:
        """Return `(images / 255 - mean) / std` of uint8 or float32 (n, C, S, S), as new float32."""
        mean, std = (torch.tensor(x, dtype=torch.float64) for x in (self.mean, self.std))
        scale, shift = (
            x.float().to(images.device, non_blocking=True)[:, None, None]
            for x in (1 / (255 * std), mean / std)
        )
        return (images * scale).sub_(shift)


def channel_statistics(images: Images) -> Normalisation:
    """Return mean and standard deviation of every channel over all pixels of images (N, C, S, S).

    The sums come from counts of the 256 values of a pixel: they are exact for any number of images,
    without differences of large numbers. std is that of the population, divided by the number of
    pixels.
    """
    N, C, *size = images.shape
    counts = np.zeros((C, 256), dtype=np.int64)
    block = max(1, _MAX_COUNTED_PIXELS // (C * int(np.prod(size))))
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
    """Images whose rows are read in any order, on the device: uint8 (n, C, S, S).

    They are kept on the device if they take at most 2 GB, and at most a quarter of the free memory
    of a GPU. An array in the memory of a CPU is not copied. Other images are gathered on the host,
    the next batch in a thread while the current one is used.
    """

    def __init__(self, images: Images, device: torch.device) -> None:
        self.shape = tuple(images.shape)
        self._images, self._device = images, device
        self._resident: Tensor | None = None
        free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else math.inf
        if isinstance(images, np.ndarray) and images.flags.carray and device.type == "cpu":
            self._resident = torch.from_numpy(images)
        elif int(np.prod(self.shape)) <= min(_MAX_RESIDENT_BYTES, free / 4):
            self._resident = _as_tensor(images[np.arange(self.shape[0])]).to(device)

    def __len__(self) -> int:
        return self.shape[0]

    def stream(self, rows: Iterable[Tensor]) -> Generator[Tensor, None, None]:
        """Yield the images of each tensor of `rows` (int64, on the CPU), on the device."""
        if self._resident is None:
            yield from self._prefetch(rows)
            return
        for batch_rows in rows:
            yield self._resident[batch_rows.to(self._device, non_blocking=True)]

    def _prefetch(self, rows: Iterable[Tensor]) -> Generator[Tensor, None, None]:
        pending: Future[Tensor] | None = None
        with ThreadPoolExecutor(1, thread_name_prefix="gnc-images") as thread:
            for batch_rows in rows:
                submitted = thread.submit(self._gather, batch_rows.numpy())
                if pending is not None:
                    yield pending.result().to(self._device, non_blocking=True)
                pending = submitted
            if pending is not None:
                yield pending.result().to(self._device, non_blocking=True)

    def _gather(self, rows: np.ndarray) -> Tensor:
        pixels = _as_tensor(self._images[rows])
        return pixels.pin_memory() if self._device.type == "cuda" else pixels


def _as_tensor(pixels: np.ndarray) -> Tensor:
    return torch.from_numpy(np.require(pixels, requirements=("C", "W")))


@dataclass(frozen=True, eq=False)
class Batch:
    """The share of one process in a batch."""

    images: Tensor
    """float32 (n, C, S, S), augmented and normalised, on the device."""
    labels: Tensor
    """int64 (n,), on the device."""
    weight: float
    """n * processes / (samples of the whole batch). The mean over processes of their mean losses,
    multiplied by this, is the mean of the whole batch."""


class Batches:
    """Training images in batches, shared by the processes that train together.

    An epoch is cut into `steps` nearly equal batches, so that none is tiny. As batch norm requires
    two samples, batches of two from an odd number of samples include one of three. The order of the
    samples, for all processes together, depends on (seed, epoch) alone, and the moves of a batch on
    (seed, epoch, step). So any batch can be made without those before it, and all processes
    together have the images that one would have alone. `batch_size` is that of all processes, and
    the largest but for the one of three.
    """

    def __init__(
        self,
        images: Images | DeviceImages,
        labels: np.ndarray,
        *,
        batch_size: int,
        seed: int,
        normalisation: Normalisation,
        augmentation: Augmentation,
        device: torch.device,
        processes: Processes | None = None,
    ) -> None:
        self.N = len(labels)
        self.steps = max(1, min(-(-self.N // batch_size), self.N // 2))
        self.seed, self._processes = seed, processes or Processes()
        if self.N // self.steps < 2 * self._processes.size:
            raise UsageError(
                f"{spelled('batch_size', batch_size)}: {self.N} training images in {self.steps} "
                f"batches do not give each of {self._processes.size} processes two, which batch "
                "norm needs; use larger batches or fewer processes"
            )
        self.images = images if isinstance(images, DeviceImages) else DeviceImages(images, device)
        """All images, not augmented; `evaluate` reads them too."""
        self.labels = torch.from_numpy(np.array(labels, dtype=np.int64))
        self.normalisation, self._augmentation = normalisation, augmentation
        self._device = device

    def epoch(self, epoch: int, start: int = 0) -> Generator[Batch, None, None]:
        """Yield the batches of an epoch, counted from 0, beginning with step `start`."""
        generator = torch.Generator().manual_seed(position_seed(self.seed, epoch))
        order = torch.randperm(self.N, generator=generator)
        shares = [self._share(step) for step in range(start, self.steps)]
        rows = [order[first:last] for first, last, _, _ in shares]
        with closing(self.images.stream(rows)) as stream:
            for step, (first, last, begin, end), batch_rows, pixels in zip(
                range(start, self.steps), shares, rows, stream, strict=True
            ):
                generator = torch.Generator().manual_seed(position_seed(self.seed, epoch, step))
                moves = self._augmentation.draw(end - begin, generator)
                augmented = self._augmentation.apply(pixels, moves[first - begin : last - begin])
                images = self.normalisation.apply(augmented)
                yield Batch(
                    images.contiguous(memory_format=torch.channels_last),
                    self.labels[batch_rows].to(self._device, non_blocking=True),
                    (last - first) * self._processes.size / (end - begin),
                )

    def _share(self, step: int) -> tuple[int, int, int, int]:
        """Return the range of this process in the order of samples, and that of the whole batch."""
        begin, end = share(self.N, step, self.steps)
        first, last = share(end - begin, self._processes.rank, self._processes.size)
        return begin + first, begin + last, begin, end


def position_seed(seed: int, *position: int) -> int:
    """Return an independent seed for each position of a run, such as (epoch,) or (epoch, step)."""
    return int(np.random.SeedSequence(seed, spawn_key=position).generate_state(1, np.uint64)[0])
