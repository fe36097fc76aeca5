"""Collapse and accuracy of a network in training, on whole sets in fixed order, in eval mode.

Every process reads its share of the rows, and all return the same values.
"""

import functools
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from gnc_cli.collapse.gnc_metrics import GNCMetrics
from gnc_cli.collapse.measure_model import in_eval_mode
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.errors import DataError
from gnc_cli.metrics.decisions import Decisions, Judge, stream_decisions
from gnc_cli.metrics.rows import ArrayRows, Pass, blocks, to_numpy
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import run_on_first, share
from gnc_cli.runtime.threads import limit_threads
from gnc_cli.training.data.image_set import ImageData
from gnc_cli.training.networks.batches import DeviceImages, Normalisation
from gnc_cli.training.networks.classifier import EncoderWithHead, autocast
from gnc_cli.training.networks.training import Training

_MAX_KEPT_BYTES = 2 << 30
"""Largest features of one set in all processes that are kept, in bytes. Larger training sets pass
through the network twice, and have no snapshot."""
_BLOCK_BYTES = 64 << 20
"""Size of the blocks of features that are summed and classified together, in bytes."""
_GPU_FACTOR = 4
"""Factor of batches and blocks on a GPU, which needs larger ones to be used fully."""

Accuracies = tuple[float | None, float | None]
"""Accuracies of the classifier and of the nearest class mean; None without samples."""


class MeasurementStoppedError(Exception):
    """An interruption or the time limit ended the passes; raised in all processes."""


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Images to measure, and their classes."""

    images: DeviceImages
    """Images, on the device if they fit there."""
    labels: np.ndarray
    """int64, shape (N,)."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """Results of a measurement."""

    result: MeasureResult | None
    """Record of the training features; None if they could not be measured."""
    problem: str | None
    """Set that could not be measured, and the reason."""
    test_accuracy: float | None
    test_ncc_accuracy: float | None
    ood_accuracy: float | None
    weights: np.ndarray | None = None
    """Classifier (K, d), not normalised; None unless features are kept."""
    features: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    """Raw features (N, d), float32, and labels (N,) by split, in the first process, if kept."""


class NetworkMeasurer:
    """Measurements of a network on its training images, test images and others."""

    def __init__(self, training: Training, data: ImageData) -> None:
        self._model, self._processes = training.model, training.processes
        self._device, self._precision = training.device, training.recipe.precision
        self._normalisation = training.batches.normalisation
        factor = _GPU_FACTOR if self._device.type == "cuda" else 1
        self._batch_size = max(256 * factor, training.recipe.batch_size)
        self._train = LabelledImages(training.batches.images, data.train.labels)
        self._others = {
            split: LabelledImages(DeviceImages(images.images, training.device), images.labels)
            for split, images in (("test", data.test), ("ood", data.ood))
            if images is not None
        }
        self._d = training.model.head.d
        self._block_rows = max(1, factor * _BLOCK_BYTES // (4 * self._d))
        """Number of rows per block."""
        self._deadline = self._overrun = Deadline()
        """A pass ends before its next batch if the first is interrupted or the second expired."""
        self._metrics = GNCMetrics(self._d, training.model.head.K)

    def measure(
        self,
        *,
        keep: bool = False,
        deadline: Deadline | None = None,
        patience: float | None = None,
        overrun: float | None = None,
    ) -> Measurement:
        """Measure GNC1 to GNC3, NCC and accuracies of the network, with torch's threads.

        Args:
            keep: gather the features in the first process, if they are not too large.
            deadline: ends GNC2, whose bracket is valid at any time. Its interruption also ends the
                passes over the samples.
            patience: seconds for GNC2 after the passes.
            overrun: seconds after which the passes end.

        Raises:
            MeasurementStoppedError: the passes were ended.
        """
        self._deadline = deadline = deadline or Deadline()
        self._overrun = Deadline(overrun)
        metrics, stored = self._metrics, self._buffer(self._train)
        weights = self._model.head.weights.detach()
        accuracies: dict[str, Accuracies] = {}
        features: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        result = None
        metrics.reset()
        problem = self._run_on_all(lambda: self._first_pass(stored))
        if problem is None:
            metrics.sync()
            problem = self._run_on_all(lambda: self._second_pass(stored, weights))
        if problem is None:
            metrics.sync()
            if keep and stored is not None:
                features["train"] = self._gather(stored), self._train.labels
            stored = None
            for split, images in self._others.items():
                buffer = self._buffer(images) if keep and split == "test" else None
                try:
                    accuracies[split] = self._accuracies(images, weights, buffer)
                except DataError as error:
                    problem = f"{split} images: {error}"
                    continue
                if buffer is not None:
                    features[split] = self._gather(buffer), images.labels
            # In one process: each has its own clock, and would return another bracket.
            result = run_on_first(
                self._processes,
                lambda: metrics.compute(weights, time_limit=patience, deadline=deadline),
            )
        test, ood = (accuracies.get(split, (None, None)) for split in ("test", "ood"))
        return Measurement(
            result,
            problem,
            test_accuracy=test[0],
            test_ncc_accuracy=test[1],
            ood_accuracy=ood[0],
            weights=to_numpy(weights).copy() if keep else None,
            features=features if self._processes.first else {},
        )

    def class_means(self) -> np.ndarray:
        """Return the means (K, d) of the unit training features at the last measurement."""
        return self._metrics.class_means()[0]

    def _first_pass(self, stored: np.ndarray | None) -> None:
        """Sum the training features, and keep them in `stored` if passed."""
        for rows, labels in self._stream_blocks(self._train, stored):
            with limit_threads(1) as workers:
                self._metrics.update(rows, labels, workers=workers)

    def _second_pass(self, stored: np.ndarray | None, weights: Tensor) -> None:
        """Classify the training features."""
        stream = (
            self._stream_blocks(self._train)
            if stored is None
            else self._split_blocks(self._train, stored)
        )
        for rows, labels in stream:
            with limit_threads(1) as workers:
                self._metrics.judge(rows, labels, weights, workers=workers)

    def _accuracies(
        self, images: LabelledImages, weights: Tensor, buffer: np.ndarray | None
    ) -> Accuracies:
        """Return the accuracies of classifier and training means on another set."""
        means, present = self._metrics.class_means()
        device = None if self._device.type == "cpu" else str(self._device)
        classifier = to_numpy(weights).astype(np.float64)
        rule = Judge(weights=classifier, means=means, present=present, device=device)
        decisions: list[Decisions] = []

        def judge() -> None:
            for rows, labels in self._stream_blocks(images, buffer):
                with limit_threads(1) as workers:
                    reading = Pass(workers=workers)
                    block = stream_decisions(ArrayRows(rows), labels, rule, reading=reading)
                decisions.append(block)

        problem = self._run_on_all(judge)
        part = functools.reduce(Decisions.joined, decisions) if decisions else None
        parts = [part for part in self._processes.exchange(part) if part is not None]
        if problem is not None:
            raise DataError(problem)
        if not parts:
            return None, None
        total = functools.reduce(Decisions.joined, parts)
        count = int(total.samples.sum())
        if not count or total.right is None or total.ncc_right is None:
            return None, None
        return int(total.right.sum()) / count, int(total.ncc_right.sum()) / count

    def _run_on_all(self, work: Callable[[], None]) -> str | None:
        """Run this process's part; return the first problem of any process, the same in all.

        Features that overflow are a result about the network, not an error of the user.
        """
        problem, is_stopped = None, False
        try:
            work()
        except DataError as error:
            problem = str(error)
        except MeasurementStoppedError:
            is_stopped = True
        reports = self._processes.all_gather((problem, is_stopped))
        if any(stop for _, stop in reports):
            raise MeasurementStoppedError
        return next((reason for reason, _ in reports if reason is not None), None)

    def _buffer(self, images: LabelledImages) -> np.ndarray | None:
        """Allocate the features of this process's share, or None if all together are too large."""
        if len(images.labels) * self._d * 4 > _MAX_KEPT_BYTES:
            return None
        return np.empty((len(self._span(images)), self._d), dtype=np.float32)

    def _span(self, images: LabelledImages) -> range:
        return range(*share(len(images.labels), self._processes.rank, self._processes.size))

    def _batches(self, images: LabelledImages) -> Iterator[tuple[Tensor, np.ndarray]]:
        """Yield raw features (n, d) of this process's share, batch by batch, and their labels."""
        batches = evaluate(
            self._model,
            images.images,
            normalisation=self._normalisation,
            device=self._device,
            batch_size=self._batch_size,
            precision=self._precision,
            rows=self._span(images),
        )
        with closing(batches):
            for features, rows in batches:
                self._check_interruption()
                yield features, images.labels[rows]

    def _stream_blocks(
        self, images: LabelledImages, buffer: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield them in larger blocks on the host, one after another in `buffer` if passed."""
        span = self._span(images)
        keeps = buffer is not None
        if buffer is None:
            rows = min(len(span), self._block_rows + self._batch_size)
            buffer = np.empty((rows, self._d), dtype=np.float32)
        first = end = 0
        row = span.start
        for features, labels in self._batches(images):
            buffer[end : end + len(labels)] = to_numpy(features)
            end += len(labels)
            last = row + end - first == span.stop
            if end - first >= self._block_rows or last:
                yield buffer[first:end], images.labels[row : row + end - first]
                row += end - first
                first = end = end if keeps else 0

    def _split_blocks(
        self, images: LabelledImages, stored: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the features of an earlier pass, block by block, and their labels."""
        labels = images.labels[self._span(images).start :][: len(stored)]
        for a, b in blocks(len(stored), self._block_rows):
            self._check_interruption()
            yield stored[a:b], labels[a:b]

    def _check_interruption(self) -> None:
        if self._deadline.interrupted or self._overrun.expired:
            raise MeasurementStoppedError

    def _gather(self, features: np.ndarray) -> np.ndarray:
        """Return the features of all processes, in the order of the set, to the first process."""
        if self._processes.size == 1:
            return features
        # Other processes have one part in memory at a time, and discard it.
        parts = [part for part in self._processes.exchange(features) if self._processes.first]
        return np.concatenate(parts) if parts else features


def evaluate(
    model: EncoderWithHead,
    images: DeviceImages,
    *,
    normalisation: Normalisation,
    device: torch.device,
    batch_size: int,
    precision: str = "float32",
    rows: range | None = None,
) -> Generator[tuple[Tensor, slice], None, None]:
    """Yield the raw features of images batch by batch, float32 (n, d), and their rows.

    The network is in eval mode until the last batch was taken or the iterator is closed. Then each
    of its modules returns to its mode. Memory is that of one batch.

    Args:
        model: the network.
        images: uint8 (N, C, S, S).
        normalisation: of the images.
        device: where the network is.
        batch_size: number of images per batch.
        precision: `float32`, `bf16` or `fp16`.
        rows: consecutive images, all by default.
    """
    rows = range(len(images)) if rows is None else rows
    batches = [
        slice(first, min(first + batch_size, rows.stop))
        for first in range(rows.start, rows.stop, batch_size)
    ]
    indices = (torch.arange(batch.start, batch.stop) for batch in batches)
    with in_eval_mode(model), closing(images.stream(indices)) as stream:
        for batch, pixels in zip(batches, stream, strict=True):
            # Not around the yield: the caller's code between batches keeps its own modes.
            with torch.inference_mode(), autocast(precision, device):
                inputs = normalisation.apply(pixels).contiguous(memory_format=torch.channels_last)
                features = model.features(inputs)
            yield features, batch
