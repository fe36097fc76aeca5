"""Images on their way to a device, and the batches of an epoch: every sample once, at random."""

from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gnc_cli.errors import UsageError
from gnc_cli.parameters import spelled
from gnc_cli.runtime.distributed import share
from gnc_cli.training.data.image_set import Pictures
from gnc_cli.training.networks.preprocessing import Augmentation, Normalisation

_RESIDENT_BYTES = 2 << 30
"""Images up to this size are kept on the device."""


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

    Raises:
        UsageError: no samples, or batches too small to give each process one.
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
        channels_last: bool = False,
    ) -> None:
        self.N = len(labels)
        self.steps = -(-self.N // batch_size)
        if batch_size > 1:
            self.steps = max(1, min(self.steps, self.N // 2))
        self.seed = seed
        if self.N < max(1, size) or self.N // self.steps < size:
            raise UsageError(
                f"{spelled('batch_size', batch_size)}: {self.N} training images in {self.steps} "
                f"batches do not give each of {size} processes one; use larger batches or fewer "
                "processes"
            )
        self.smallest = self.N // self.steps // size
        """Images of the smallest share that a process has of a batch."""
        self.images = images if isinstance(images, DeviceImages) else DeviceImages(images, device)
        """All images, as they are; `evaluate` takes them from here."""
        self._labels = torch.from_numpy(np.array(labels, dtype=np.int64))
        self._normalisation, self._augmentation = normalisation, augmentation
        self._device, self._rank, self._size = device, rank, size
        self._format = torch.channels_last if channels_last else torch.contiguous_format

    def epoch(self, epoch: int, start: int = 0) -> Generator[Batch, None, None]:
        """The batches of an epoch, from 0, beginning with step `start`."""
        generator = torch.Generator().manual_seed(seed_at(self.seed, epoch))
        order = torch.randperm(self.N, generator=generator)
        shares = [self._share(step) for step in range(start, self.steps)]
        rows = [order[first:last] for first, last, _, _ in shares]
        with closing(self.images.stream(rows)) as stream:
            for step, chosen, pixels in zip(range(start, self.steps), rows, stream, strict=True):
                first, last, begin, end = self._share(step)
                generator = torch.Generator().manual_seed(seed_at(self.seed, epoch, step))
                drawn = self._augmentation.draw(end - begin, generator)
                moved = self._augmentation.apply(pixels, drawn[first - begin : last - begin])
                images = self._normalisation.apply(moved)
                yield Batch(
                    images.contiguous(memory_format=self._format),
                    self._labels[chosen].to(self._device, non_blocking=True),
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
