"""Collapse and accuracy of a network in training: the whole sets in fixed order, in eval mode.

Every process takes its share of the rows; all get the same answer.
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

_KEPT_BYTES = 2 << 30
"""Features up to this size, of one set and all processes, are kept; larger training sets go through
the network twice, and have no snapshot."""
_BLOCK_BYTES = 64 << 20
"""Features that are summed and decided on together."""
_ON_GPU = 4
"""A GPU takes this many times as much at once: it is done sooner, and so are many cores."""

Accuracies = tuple[float | None, float | None]
"""Of the classifier, and of the nearest class mean; None where nothing was counted."""


class MeasurementStopped(Exception):
    """An interruption or the time limit came before all samples were seen; raised in all processes
    alike.
    """


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Images to measure, with their classes."""

    images: DeviceImages
    """On the device, where they fit there."""
    labels: np.ndarray
    """int64, shape (N,)."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """One measurement."""

    result: MeasureResult | None
    """Of the training features; None where they could not be measured."""
    trouble: str | None
    """Which set could not be measured, and why."""
    test_accuracy: float | None
    test_ncc_accuracy: float | None
    ood_accuracy: float | None
    weights: np.ndarray | None = None
    """The classifier that was measured, as it is, shape (K, d); where features were asked for."""
    features: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    """Raw features (N, d), float32, and labels by split, in the first process; where asked for."""


class NetworkMeasurer:
    """Measures the network of a training on its own images, on those for testing, and on others."""

    def __init__(self, training: Training, data: ImageData) -> None:
        self._model, self._processes = training.model, training.processes
        self._device, self._precision = training.device, training.recipe.precision
        self._normalisation = training.batches.normalisation
        times = _ON_GPU if self._device.type == "cuda" else 1
        self._batch_size = max(256 * times, training.recipe.batch_size)
        self._train = LabelledImages(training.batches.images, data.train.labels)
        self._others = {
            split: LabelledImages(DeviceImages(images.images, training.device), images.labels)
            for split, images in (("test", data.test), ("ood", data.ood))
            if images is not None
        }
        self._d = training.model.head.d
        self._step = max(1, times * _BLOCK_BYTES // (4 * self._d))
        """Rows of a block."""
        self._deadline = self._late = Deadline()
        """A pass ends before its next batch if the first is interrupted or the second is over."""
        self._metrics = GNCMetrics(self._d, training.model.head.K)

    def measure(
        self,
        *,
        keep: bool = False,
        deadline: Deadline | None = None,
        patience: float | None = None,
        late: float | None = None,
    ) -> Measurement:
        """GNC1 to GNC3, NCC and accuracies of the network as it is now, with torch's threads.

        Args:
            keep: gather the features in the first process, where they are not too large.
            deadline: of GNC2, whose bracket is valid whenever it strikes; its interruption also
                ends the passes over the samples.
            patience: seconds for GNC2, once the passes are done.
            late: seconds after which the passes end.

        Raises:
            MeasurementStopped: the passes were ended.
        """
        self._deadline = deadline = deadline or Deadline()
        self._late = Deadline(late)
        metrics, own = self._metrics, self._buffer(self._train)
        weights = self._model.head.weights.detach()
        right: dict[str, Accuracies] = {}
        features: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        result = None
        metrics.reset()
        trouble = self._trouble_in_any(lambda: self._first_pass(own))
        if trouble is None:
            metrics.sync()
            trouble = self._trouble_in_any(lambda: self._second_pass(own, weights))
        if trouble is None:
            metrics.sync()
            if keep and own is not None:
                features["train"] = self._gather(own), self._train.labels
            own = None
            for split, images in self._others.items():
                buffer = self._buffer(images) if keep and split == "test" else None
                try:
                    right[split] = self._accuracies(images, weights, buffer)
                except DataError as error:
                    trouble = f"{split} images: {error}"
                    continue
                if buffer is not None:
                    features[split] = self._gather(buffer), images.labels
            # Once for all: each process has a clock of its own, and would find another bracket.
            result = run_on_first(
                self._processes,
                lambda: metrics.compute(weights, time_limit=patience, deadline=deadline),
            )
        test, ood = (right.get(split, (None, None)) for split in ("test", "ood"))
        return Measurement(
            result,
            trouble,
            test_accuracy=test[0],
            test_ncc_accuracy=test[1],
            ood_accuracy=ood[0],
            weights=to_numpy(weights).copy() if keep else None,
            features=features if self._processes.first else {},
        )

    def class_means(self) -> np.ndarray:
        """Means (K, d) of the unit training features at the last measurement."""
        return self._metrics.class_means()[0]

    def _first_pass(self, own: np.ndarray | None) -> None:
        """Sums of the training features, which are kept in `own` where they fit."""
        for rows, labels in self._stream_blocks(self._train, own):
            with limit_threads(1) as workers:
                self._metrics.update(rows, labels, workers=workers)

    def _second_pass(self, own: np.ndarray | None, weights: Tensor) -> None:
        """Decisions on the training features."""
        passed = (
            self._stream_blocks(self._train)
            if own is None
            else self._split_blocks(self._train, own)
        )
        for rows, labels in passed:
            with limit_threads(1) as workers:
                self._metrics.judge(rows, labels, weights, workers=workers)

    def _accuracies(
        self, images: LabelledImages, weights: Tensor, buffer: np.ndarray | None
    ) -> Accuracies:
        """Accuracies of classifier and training means on another set."""
        means, present = self._metrics.class_means()
        device = None if self._device.type == "cpu" else str(self._device)
        known = to_numpy(weights).astype(np.float64)
        rule = Judge(weights=known, means=means, present=present, device=device)
        blocks_judged: list[Decisions] = []

        def judge() -> None:
            for rows, labels in self._stream_blocks(images, buffer):
                with limit_threads(1) as workers:
                    reading = Pass(workers=workers)
                    one = stream_decisions(ArrayRows(rows), labels, rule, reading=reading)
                blocks_judged.append(one)

        trouble = self._trouble_in_any(judge)
        own = functools.reduce(Decisions.joined, blocks_judged) if blocks_judged else None
        parts = [part for part in self._processes.exchange(own) if part is not None]
        if trouble is not None:
            raise DataError(trouble)
        if not parts:
            return None, None
        whole = functools.reduce(Decisions.joined, parts)
        total = int(whole.counted.sum())
        if not total or whole.right is None or whole.ncc_right is None:
            return None, None
        return int(whole.right.sum()) / total, int(whole.ncc_right.sum()) / total

    def _trouble_in_any(self, work: Callable[[], None]) -> str | None:
        """Do this process's part; what went wrong in any process, the same text in all.

        Features that overflow are no error of the user's: the network is to blame.
        """
        trouble, stopped = None, False
        try:
            work()
        except DataError as error:
            trouble = str(error)
        except MeasurementStopped:
            stopped = True
        reports = self._processes.all_gather((trouble, stopped))
        if any(stop for _, stop in reports):
            raise MeasurementStopped
        return next((why for why, _ in reports if why is not None), None)

    def _buffer(self, images: LabelledImages) -> np.ndarray | None:
        """For the features of this process's share, if those of all together may be kept."""
        if len(images.labels) * self._d * 4 > _KEPT_BYTES:
            return None
        return np.empty((len(self._span(images)), self._d), dtype=np.float32)

    def _span(self, images: LabelledImages) -> range:
        return range(*share(len(images.labels), self._processes.rank, self._processes.size))

    def _batches(self, images: LabelledImages) -> Iterator[tuple[Tensor, np.ndarray]]:
        """Raw features of this process's share, batch by batch, and their labels."""
        passed = evaluate(
            self._model,
            images.images,
            normalisation=self._normalisation,
            device=self._device,
            batch_size=self._batch_size,
            precision=self._precision,
            rows=self._span(images),
        )
        with closing(passed):
            for features, rows in passed:
                self._check_interruption()
                yield features, images.labels[rows]

    def _stream_blocks(
        self, images: LabelledImages, buffer: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The same in larger blocks on the host, one after another in `buffer` if there is one."""
        span = self._span(images)
        keeps = buffer is not None
        if buffer is None:
            rows = min(len(span), self._step + self._batch_size)
            buffer = np.empty((rows, self._d), dtype=np.float32)
        first = end = 0
        at = span.start
        for features, labels in self._batches(images):
            buffer[end : end + len(labels)] = to_numpy(features)
            end += len(labels)
            last = at + end - first == span.stop
            if end - first >= self._step or last:
                yield buffer[first:end], images.labels[at : at + end - first]
                at += end - first
                first = end = end if keeps else 0

    def _split_blocks(
        self, images: LabelledImages, own: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Features from an earlier pass, block by block, with their labels."""
        labels = images.labels[self._span(images).start :][: len(own)]
        for a, b in blocks(len(own), self._step):
            self._check_interruption()
            yield own[a:b], labels[a:b]

    def _check_interruption(self) -> None:
        if self._deadline.interrupted or self._late.expired:
            raise MeasurementStopped

    def _gather(self, own: np.ndarray) -> np.ndarray:
        """The features of all processes, in the set's own order, in the first."""
        if self._processes.size == 1:
            return own
        parts = self._processes.exchange(own)
        if self._processes.first:
            return np.concatenate(list(parts))
        for _ in parts:
            pass  # one in memory at a time
        return own


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
    """Raw features, float32 (n, d), of every image, or of some consecutive rows; and their rows.

    The network is in eval mode until the last batch was taken or the iterator is closed; then each
    of its modules is as it was before. Memory is that of one batch.
    """
    rows = range(len(images)) if rows is None else rows
    batches = [
        slice(first, min(first + batch_size, rows.stop))
        for first in range(rows.start, rows.stop, batch_size)
    ]
    places = (torch.arange(batch.start, batch.stop) for batch in batches)
    with in_eval_mode(model), closing(images.stream(places)) as stream:
        for batch, pixels in zip(batches, stream, strict=True):
            # Not around the yield: whoever takes the batch is in no mode of ours.
            with torch.inference_mode(), autocast(precision, device):
                inputs = normalisation.apply(pixels).contiguous(memory_format=torch.channels_last)
                features = model.features(inputs)
            yield features, batch
