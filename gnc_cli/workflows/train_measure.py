"""Collapse and accuracy of a network in training: the whole sets in fixed order, in eval mode."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.metrics.decisions import Decisions, merge, stream_decisions
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.distributed import Processes
from gnc_cli.numerics.rows import ArrayRows
from gnc_cli.numerics.tensors import to_numpy
from gnc_cli.numerics.threads import limit_threads
from gnc_cli.results import MeasureResult
from gnc_cli.workflows.gnc_metrics import GNCMetrics
from gnc_cli.workflows.train_features import FeaturePasses, Labelled, MeasuringInterrupted
from gnc_cli.workflows.train_together import of_first

if TYPE_CHECKING:
    from gnc_cli.networks.classifier import Classifier

__all__ = ["Measured", "Measuring"]


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
    weights: np.ndarray | None = None
    """The classifier that was measured, as it is, shape (K, d); where features were asked for."""
    features: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    """Raw features (N, d), float32, and labels by split, in the first process; where asked for."""
    too_large: tuple[str, ...] = ()
    """Splits whose features were asked for and are too many to be kept."""

    def after(self, epoch: float, step: int) -> "Measured":
        """The same with its place in the run: epochs and steps done."""
        if self.result is None:
            return self
        whole = int(epoch) if float(epoch).is_integer() else epoch
        placed = replace(self.result, epoch=whole, step=step, split="train")
        return replace(self, result=placed)


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

    def __init__(
        self,
        model: "Classifier",
        train: Labelled,
        test: Labelled | None,
        ood: Labelled | None,
        processes: Processes,
        passing: dict[str, Any],
    ) -> None:
        self.model, self.train, self.test, self.ood = model, train, test, ood
        self.processes = processes
        self._passes = FeaturePasses(model, processes, passing)
        self._metrics = GNCMetrics(model.head.d, model.head.K)

    def measure(self, *, keep: bool = False, deadline: Deadline | None = None) -> Measured:
        """GNC1 to GNC3, NCC and accuracies of the network as it is now.

        Decisions take as many threads as torch has now.

        Args:
            keep: also bring the features together in the first process, where they are not too
                large.
            deadline: for GNC2, whose bracket is valid whenever it strikes. Interruption alone ends
                the passes over the samples.

        Raises:
            MeasuringInterrupted: before all samples were looked at.
        """
        started = time.monotonic()
        self._passes.deadline = deadline = Deadline() if deadline is None else deadline
        metrics, own = self._metrics, self._passes.room(self.train)
        stored = to_numpy(self.model.head.weights)
        weights = stored.astype(np.float64)
        judged: dict[str, Decisions | None] = {"test": None, "ood": None}
        features: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        result = None
        metrics.reset()
        trouble = self._in_all(lambda: self._first_pass(own))
        if trouble is None:
            metrics.sync()
            trouble = self._in_all(lambda: self._second_pass(own, weights))
        if trouble is None:
            metrics.sync()
            if keep and own is not None:
                features["train"] = self._passes.together(own, self.train), self.train.labels
            own = None
            for split, images in (("test", self.test), ("ood", self.ood)):
                if images is None:
                    continue
                room = self._passes.room(images) if keep and split == "test" else None
                judged[split], lost = self._judged(images, weights, room)
                if lost is not None:
                    trouble = f"{split} images: {lost}"
                elif room is not None:
                    features[split] = self._passes.together(room, images), images.labels
            # Once for all: each process has a clock of its own, and would find another bracket.
            result = of_first(
                self.processes, lambda: metrics.compute(weights, deadline=deadline)
            )
        asked = {"train": self.train, "test": self.test} if keep else {}
        too_large = [s for s, images in asked.items() if images and not self._passes.fits(images)]
        return Measured(
            result, trouble, _right(judged["test"]), _ncc(judged["test"]), _right(judged["ood"]),
            time.monotonic() - started, stored.copy() if keep else None,
            features if self.processes.first else {},
            tuple(too_large),
        )  # fmt: skip

    def class_means(self) -> tuple[np.ndarray, np.ndarray]:
        """Means (K, d) of the unit training features at the last measurement; which are there."""
        return self._metrics.class_means()

    def _first_pass(self, own: np.ndarray | None) -> None:
        """Sums of the training features, which go to `own` if there is room."""
        at = 0
        for features, labels in self._passes.batches(self.train):
            self._metrics.update(features, labels)
            if own is not None:
                own[at : at + len(labels)] = to_numpy(features)
            at += len(labels)

    def _second_pass(self, own: np.ndarray | None, weights: np.ndarray) -> None:
        """Decisions on the training features."""
        passes = self._passes
        for rows, labels in (
            passes.gathered(self.train) if own is None else passes.cut(self.train, own)
        ):
            workers = _threads()
            with limit_threads(1):
                self._metrics.judge(rows, labels, weights, workers=workers)

    def _judged(
        self, images: Labelled, weights: np.ndarray, room: np.ndarray | None
    ) -> tuple[Decisions | None, str | None]:
        """What classifier and training means say of another set; or what is wrong with it."""
        means, present = self._metrics.class_means()
        found: Decisions | None = None

        def judge() -> None:
            nonlocal found
            for rows, labels in self._passes.gathered(images, room):
                workers = _threads()
                with limit_threads(1):
                    one = stream_decisions(
                        ArrayRows(rows), labels, weights=weights, means=means, present=present,
                        workers=workers,
                    )  # fmt: skip
                found = one if found is None else merge(found, one)

        lost = self._in_all(judge)
        whole: Decisions | None = None
        for part in self.processes.each(found):
            if part is not None:
                whole = part if whole is None else merge(whole, part)
        return (whole if lost is None else None), lost

    def _in_all(self, work: Callable[[], None]) -> str | None:
        """Do this process's part; what went wrong in some process, the same in all.

        Features that overflow are no error of the user's: the network is to blame.
        """
        trouble, stopped = None, False
        try:
            work()
        except DataError as error:
            trouble = str(error)
        except MeasuringInterrupted:
            stopped = True
        told = self.processes.all_gather((trouble, stopped))
        if any(stop for _, stop in told):
            raise MeasuringInterrupted
        return next((why for why, _ in told if why is not None), None)


def _threads() -> int:
    import torch

    return torch.get_num_threads()


def _right(found: Decisions | None) -> float | None:
    return None if found is None else _share(found.right, found.counted)


def _ncc(found: Decisions | None) -> float | None:
    return None if found is None else _share(found.ncc_right, found.counted)


def _share(right: np.ndarray | None, counted: np.ndarray) -> float | None:
    total = int(counted.sum())
    return None if right is None or not total else int(right.sum()) / total
