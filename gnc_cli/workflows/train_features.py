"""Features of image sets as a network in training has them: each process's share, in order."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli.networks.evaluation import evaluate
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.distributed import Processes, share
from gnc_cli.numerics.rows import blocks
from gnc_cli.numerics.tensors import to_numpy

if TYPE_CHECKING:
    import torch

    from gnc_cli.networks.classifier import Classifier
    from gnc_cli.networks.device_images import DeviceImages

__all__ = ["FeaturePasses", "Labelled", "MeasuringInterrupted"]

_KEPT_BYTES = 2 << 30
"""Features up to this size, of one set and all processes, are kept; larger training sets go through
the network twice, and have no snapshot."""
_BLOCK_BYTES = 64 << 20
"""Features that are decided on together."""


class MeasuringInterrupted(Exception):
    """Somebody interrupted before all samples were looked at; raised in all processes alike."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """A set to measure."""

    images: "DeviceImages"
    """On the device, where they fit there."""
    labels: np.ndarray
    """int64, shape (N,)."""


class FeaturePasses:
    """Passes of one network over its sets, in eval mode.

    Args:
        model: the network.
        processes: who takes part.
        passing: what `evaluate` wants beside the images: device, normalisation, batch size, ...
    """

    def __init__(
        self, model: "Classifier", processes: Processes, passing: dict[str, Any]
    ) -> None:
        self._model, self._processes, self._passing = model, processes, passing
        self._d = model.head.d
        self.deadline = Deadline()
        """Looked at before each batch: interruption ends the pass with MeasuringInterrupted."""

    def fits(self, images: Labelled) -> bool:
        """Whether the features of all processes together may be kept."""
        return len(images.labels) * self._d * 4 <= _KEPT_BYTES

    def room(self, images: Labelled) -> np.ndarray | None:
        """Space for the features of this process's share, if there may be so many."""
        if not self.fits(images):
            return None
        return np.empty((len(self._span(images)), self._d), dtype=np.float32)

    def _span(self, images: Labelled) -> range:
        return range(*share(len(images.labels), self._processes.rank, self._processes.size))

    def batches(self, images: Labelled) -> Iterator[tuple["torch.Tensor", np.ndarray]]:
        """Raw features of this process's share, batch by batch, and their labels."""
        span = self._span(images)
        passed = evaluate(self._model, images.images, rows=span, **self._passing)
        with closing(passed):
            for features, rows in passed:
                self._poll()
                yield features, images.labels[rows]

    def gathered(
        self, images: Labelled, room: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The same in larger blocks on the host, one after the other in `room` if it is given."""
        span, step = self._span(images), self._step
        keeps = room is not None
        if room is None:
            rows = min(len(span), step + int(self._passing["batch_size"]))
            room = np.empty((rows, self._d), dtype=np.float32)
        first = end = 0
        at = span.start
        for features, labels in self.batches(images):
            room[end : end + len(labels)] = to_numpy(features)
            end += len(labels)
            last = at + end - first == span.stop
            if end - first >= step or last:
                yield room[first:end], images.labels[at : at + end - first]
                at += end - first
                first = end = end if keeps else 0

    def cut(
        self, images: Labelled, own: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Features of it that were kept, block by block, with their labels."""
        labels = images.labels[self._span(images).start :][: len(own)]
        for a, b in blocks(len(own), self._step):
            self._poll()
            yield own[a:b], labels[a:b]

    @property
    def _step(self) -> int:
        """Rows of a block."""
        return max(1, _BLOCK_BYTES // (4 * self._d))

    def _poll(self) -> None:
        if self.deadline.interrupted:
            raise MeasuringInterrupted

    def together(self, own: np.ndarray, images: Labelled) -> np.ndarray:
        """The features of all processes, in the set's own order, in the first."""
        if self._processes.size == 1:
            return own
        N = len(images.labels) if self._processes.first else 0
        whole, at = np.empty((N, own.shape[1]), dtype=np.float32), 0
        for part in self._processes.each(own):
            if self._processes.first:
                whole[at : at + len(part)] = part
            at += len(part)
        return whole
