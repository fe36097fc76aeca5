"""Pictures on their way to a device: living there when they fit, else brought batch by batch."""

from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

__all__ = ["DeviceImages", "Pictures"]

_RESIDENT_BYTES = 2 << 30


class Pictures(Protocol):
    """Pictures (N, C, S, S), uint8, wherever they are; an ndarray is one."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, rows: np.ndarray, /) -> np.ndarray: ...


class DeviceImages:
    """Pictures of which any rows can be had on the device, as they are: uint8 (n, C, S, S).

    They live on the device when they take at most `resident_bytes`, and at most a quarter of the
    free memory of a GPU; an array in the memory of a CPU stays where it is. Other pictures are
    gathered on the host, the next batch in a thread while the last one is worked on.

    Args:
        images: the pictures.
        device: where they are wanted.
        resident_bytes: 0 to leave them where they are.

    Example:
        >>> black = DeviceImages(np.zeros((9, 1, 8, 8), np.uint8), torch.device("cpu"))
        >>> [tuple(pixels.shape) for pixels in black.stream([torch.tensor([3, 1])])]
        [(2, 1, 8, 8)]
    """

    def __init__(
        self, images: Pictures, device: torch.device, *, resident_bytes: int = _RESIDENT_BYTES
    ) -> None:
        self.shape = tuple(images.shape)
        self._images = images
        self._device = device
        self._resident: Tensor | None = None
        if isinstance(images, np.ndarray) and images.flags.carray and device.type == "cpu":
            self._resident = torch.from_numpy(images)
        elif int(np.prod(self.shape)) <= _room(device, resident_bytes):
            self._resident = _tensor(images[np.arange(len(images))]).to(device)

    def __len__(self) -> int:
        return self.shape[0]

    def stream(self, rows: Iterable[Tensor]) -> Generator[Tensor, None, None]:
        """For each tensor of `rows` (int64, on the CPU) those pictures, on the device."""
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


def _room(device: torch.device, resident_bytes: int) -> int:
    if device.type != "cuda":
        return resident_bytes
    return min(resident_bytes, torch.cuda.mem_get_info(device)[0] // 4)
