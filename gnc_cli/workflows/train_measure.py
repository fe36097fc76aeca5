"""Collapse and accuracy of a network in training: the whole sets in fixed order, in eval mode."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.metrics.decisions import Decisions, merge, stream_decisions
from gnc_cli.networks.evaluation import evaluate
from gnc_cli.numerics.distributed import Processes, share
from gnc_cli.numerics.rows import ArrayRows
from gnc_cli.numerics.tensors import to_numpy
from gnc_cli.numerics.threads import limit_threads
from gnc_cli.results import MeasureResult
from gnc_cli.workflows.gnc_metrics import GNCMetrics

if TYPE_CHECKING:
    import torch

    from gnc_cli.networks.classifier import Classifier
    from gnc_cli.networks.device_images import DeviceImages

__all__ = ["Labelled", "Measured", "Measuring"]

_KEPT_BYTES = 2 << 30
"""Features of this size are kept for the second pass; larger sets go through the network twice."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """A set to measure."""

    images: "DeviceImages"
    """On the device, where they fit there."""
    labels: np.ndarray
    """int64, shape (N,)."""


@dataclass(frozen=True, eq=False)
class Measured:
    """One measurement."""

    result: MeasureResult | None
    """Of the training features; None where they could not be measured."""
    trouble: str | None
    """What could not be measured, these or another set, and why."""
    test_accuracy: float | None
    test_ncc_accuracy: float | None
    ood_accuracy: float | None
    seconds: float
    features: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    """Raw features (N, d), float32, and labels by split, in the first process; where asked for."""

    def after(self, epoch: float, step: int) -> "Measured":
        """The same with its place in the run: epochs and steps done."""
        if self.result is None:
            return self
        placed = replace(self.result, epoch=epoch, step=step, split="train")
        return replace(self, result=placed)


@dataclass(frozen=True, eq=False)
class Measuring:
    """Measures one network on its sets, whenever it is asked.

    Every process takes its share of the rows; all get the same answer.

    Args:
        model: the network in training.
        train: the training set.
        test: the test set, if there is one.
        ood: the out-of-distribution set, if there is one.
        processes: who takes part.
        passing: what `evaluate` wants beside the images: device, normalisation, batch size, ...
    """

    model: "Classifier"
    train: Labelled
    test: Labelled | None
    ood: Labelled | None
    processes: Processes
    passing: dict[str, Any]

    def __post_init__(self) -> None:
        d, K = self.model.head.d, self.model.head.K
        object.__setattr__(self, "_metrics", GNCMetrics(d, K))

    def measure(self, *, keep: bool = False, time_limit: float | None = None) -> Measured:
        """GNC1 to GNC3, NCC and accuracies of the network as it is now.

        Args:
            keep: also bring the features together in the first process.
            time_limit: seconds for GNC2, whose bracket is valid whenever they end.
        """
        started = time.monotonic()
        metrics: GNCMetrics = self._metrics  # type: ignore[attr-defined]
        weights = to_numpy(self.model.head.weights).astype(np.float64)
        kept: list[np.ndarray] | None = [] if keep or self._fits() else None
        result = trouble = None
        features: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        metrics.reset()
        try:
            for rows, labels in self._features(self.train):
                metrics.update(rows, labels)
                if kept is not None:
                    kept.append(to_numpy(rows))
        except DataError as error:  # features that overflow: the network, not the user, is to blame
            trouble = str(error)
        trouble = next((t for t in self.processes.all_gather(trouble) if t is not None), None)
        if trouble is None:
            metrics.sync()
            with limit_threads(1):
                for rows, labels in self._again(kept):
                    metrics.judge(rows, labels, weights)
            metrics.sync()
            result = metrics.compute(weights, time_limit=time_limit)
        if keep and kept is not None and trouble is None:
            features["train"] = self._together(kept, self.train)
        judged: dict[str, Decisions | None] = {"test": None, "ood": None}
        for split, images in (("test", self.test), ("ood", self.ood)):
            if images is not None and result is not None:
                judged[split], own, lost = self._judged(images, metrics, weights)
                if lost is not None:
                    trouble = f"{split} images: {lost}"
                elif keep and split == "test":
                    features["test"] = self._together(own, images)
        return Measured(
            result, trouble, _right(judged["test"]), _ncc(judged["test"]), _right(judged["ood"]),
            time.monotonic() - started, features if self.processes.first else {},
        )  # fmt: skip

    def class_means(self) -> tuple[np.ndarray, np.ndarray]:
        """Means (K, d) of the unit training features at the last measurement; which are there."""
        metrics: GNCMetrics = self._metrics  # type: ignore[attr-defined]
        return metrics.class_means()

    def _fits(self) -> bool:
        return len(self.train.labels) * self.model.head.d * 4 <= _KEPT_BYTES

    def _span(self, images: Labelled) -> range:
        return range(*share(len(images.labels), self.processes.rank, self.processes.size))

    def _features(self, images: Labelled) -> Iterator[tuple["torch.Tensor", np.ndarray]]:
        """Raw features of this process's share, batch by batch, and their labels."""
        span = self._span(images)
        for features, rows in evaluate(self.model, images.images, rows=span, **self.passing):
            yield features, images.labels[rows]

    def _again(self, kept: list[np.ndarray] | None) -> Iterator[tuple[Any, np.ndarray]]:
        if kept is None:
            yield from self._features(self.train)
        elif kept:
            span = self._span(self.train)
            yield np.concatenate(kept), self.train.labels[span.start : span.stop]

    def _judged(
        self, images: Labelled, metrics: GNCMetrics, weights: np.ndarray
    ) -> tuple[Decisions | None, list[np.ndarray], str | None]:
        """What classifier and training means say of another set; its features; or what is wrong."""
        means, present = metrics.class_means()
        found: Decisions | None = None
        kept = []
        lost: str | None = None
        try:
            for features, labels in self._features(images):
                rows = to_numpy(features)
                kept.append(rows)
                with limit_threads(1):
                    one = stream_decisions(
                        ArrayRows(rows), labels, weights=weights, means=means, present=present
                    )
                found = one if found is None else merge(found, one)
        except DataError as error:
            lost = str(error)
        lost = next((why for why in self.processes.all_gather(lost) if why is not None), None)
        whole: Decisions | None = None
        for part in self.processes.each(found):
            if part is not None:
                whole = part if whole is None else merge(whole, part)
        return (whole if lost is None else None), kept, lost

    def _together(
        self, kept: list[np.ndarray], images: Labelled
    ) -> tuple[np.ndarray, np.ndarray]:
        """The features of all processes, in the set's own order, in the first."""
        mine = np.concatenate(kept) if kept else np.empty((0, self.model.head.d), np.float32)
        parts = self.processes.gather(mine)
        return (mine if parts is None else np.concatenate(parts)), images.labels


def _right(found: Decisions | None) -> float | None:
    return None if found is None else _share(found.right, found.counted)


def _ncc(found: Decisions | None) -> float | None:
    return None if found is None else _share(found.ncc_right, found.counted)


def _share(right: np.ndarray | None, counted: np.ndarray) -> float | None:
    total = int(counted.sum())
    return None if right is None or not total else int(right.sum()) / total
