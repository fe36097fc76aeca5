"""The epochs of a run: training, measurements and checkpoints, until its end or a stop.

last.pt is written as soon as an epoch is trained, with the epoch's totals, and every half a minute
within a long one. The epoch's line in metrics.jsonl comes last, after measurement, best.pt and
snapshot. A run that was killed between them finds the totals without the line, and repeats the
rest. `make_result` makes the record of an ended run that `train` returns.
"""

import dataclasses
import os
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import PurePath
from typing import Any

from gnc_cli import __version__
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.errors import DataError, UsageError
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline, Progress, SaveTimes
from gnc_cli.training.data.image_set import ImageData, data_facts
from gnc_cli.training.head import HeadPlan
from gnc_cli.training.measure import Measurement, MeasurementStoppedError, NetworkMeasurer
from gnc_cli.training.networks.batches import Normalisation
from gnc_cli.training.networks.classifier import EncoderWithHead, count_parameters
from gnc_cli.training.networks.training import (
    EpochTotals,
    NonFiniteLossError,
    Training,
    any_process,
)
from gnc_cli.training.result import EpochRow, HeadFacts, TrainResult
from gnc_cli.training.run_folder import Checkpoint, DataStamp, RunFolder, checkpoint_state
from gnc_cli.training.settings import Settings

_MAX_MEASURE_SHARE = 0.1
"""Largest share of measurements in the wall time, if `--measure-every` is not set."""
_OTHER_ACCURACIES = ("test_accuracy", "ood_accuracy", "test_ncc_accuracy")
"""Accuracies on other images than the training set's."""
_METRICS = ("ncc_accuracy", "gnc1", "gnc1_centred", "gnc2", "gnc3", "gnc3_centred")
"""Values of a measurement in the row of an epoch, next to accuracies."""
_INTERVALS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Intervals between measurements, in epochs: round numbers, for plots and tables."""
_MIN_SECONDS = 10.0
"""Shortest time for GNC2, and longest that a measurement exceeds a time limit by, in seconds."""
_MIN_LEARNED = 0.1
"""Smallest training accuracy, as a share of the way from chance to 1, of a network that learns."""


class Epochs:
    """The training of a network into a run folder; every process makes the same calls."""

    def __init__(
        self,
        settings: Settings,
        training: Training,
        measurer: NetworkMeasurer,
        folder: RunFolder,
        deadline: Deadline,
        *,
        progress: Progress | None = None,
        on_epoch: Callable[[EpochRow], None] | None = None,
    ) -> None:
        self.settings, self.training, self.folder = settings, training, folder
        self.history: list[EpochRow] = []
        self.measurement: Measurement | None = None
        """Last measurement of this session."""
        self.outcome = ""
        """`completed`, `time_limit` or `interrupted`."""
        self._measurer, self._deadline = measurer, deadline
        self._progress, self._on_epoch = progress, on_epoch
        self._is_out_of_time = False
        """True if the time limit has ended a measurement."""
        self._pending: EpochTotals | None = None
        """Totals of an epoch that is trained and saved, but has no line in metrics.jsonl yet."""
        self._save_times = SaveTimes()

    def resume(self, state: Checkpoint) -> None:
        """Continue the run from its last checkpoint.

        Raises:
            UsageError: fewer epochs are requested than are done.
            DataError: the checkpoint is that of another network, or of other images.
        """
        path, training, totals = self.folder.path, self.training, state.totals
        epochs_done, epochs = state.training.epoch, self.settings.epochs
        if epochs_done > epochs:
            raise UsageError(
                f"{spelled('epochs', epochs)}: the run has done {epochs_done}; ask for more"
            )
        training.load_state(state.training)
        state.data.check_same(DataStamp.from_batches(training.batches), path, self.settings.data)
        self.history = self.folder.rewind(epochs_done) or []
        self.folder.log(f"resumed after epoch {epochs_done}, step {training.step}")
        if totals is not None and (not self.history or self.history[-1].epoch < totals.epoch):
            self._pending = totals

    def run(self) -> None:
        """Train until all epochs are done, the time limit is over, or an interruption comes."""
        training, epochs = self.training, self.settings.epochs
        if self._pending is not None:
            self._conclude(self._pending)
        while self._pending is None and training.epoch < epochs and not self._expired():
            totals = self._train()
            if totals is not None:
                self._conclude(totals)
        completed = training.epoch >= epochs and self._pending is None
        if not completed and (training.epoch, training.step) == (0, 0):
            self._save(None)  # from which the advice says to continue
        stopped = "interrupted" if self._interrupted() else "time_limit"
        self.outcome = "completed" if completed else stopped
        if self.outcome != "interrupted" and self.measurement is None and not self._is_out_of_time:
            self._measure(training.epoch, keep=self._keeps_features)
        self.folder.log(f"{self.outcome} after {training.epoch} of {epochs} epochs")
        if self._pending is not None:
            self.history.append(_epoch_row(self._pending, None))

    def _train(self) -> EpochTotals | None:
        """Train to the end of the epoch, a stop, or the next checkpoint, and write last.pt."""
        training, epochs = self.training, self.settings.epochs
        steps, report = training.batches.steps, self._progress
        try:
            with closing(training.steps()) as losses:
                for loss in losses:
                    if report is not None:
                        steps_done = training.epoch * steps + training.step
                        report("training", steps_done, epochs * steps, loss)
                    save = bool(self.folder.path) and self._save_times.due
                    if any_process(save or self._deadline.expired, training.processes):
                        break
            totals = training.settle()
        except NonFiniteLossError as error:
            text = f"{error}; the last good checkpoint, if any, is {self.folder.path}/last.pt"
            self.folder.log(text)
            raise DataError(text) from error
        self._save(totals)
        return totals

    def _conclude(self, totals: EpochTotals) -> None:
        """Measure if it is due, then record the epoch; a stop may leave it pending."""
        start, settings, epoch = time.perf_counter(), self.settings, totals.epoch
        self._pending = totals
        is_final = epoch == settings.epochs
        is_kept = is_final or (settings.snapshot_every and epoch % settings.snapshot_every == 0)
        snapshot = bool(self.folder.path and is_kept)
        is_due = measure_due(settings, epoch, self._train_seconds, self.history)
        measurement = None
        # The clocks of several processes differ, so the first decides for all.
        if snapshot or self.training.processes.all_gather(is_due)[0]:
            was_measured = self.measurement is not None or any(
                row.measure_seconds for row in self.history
            )
            if (not is_final and was_measured and self._expired()) or self._interrupted():
                return
            measurement = self._measure(
                epoch, keep=snapshot or self._keeps_features, is_final=is_final
            )
            if measurement is None:
                return
            if snapshot:
                self.folder.write_snapshots(epoch, totals.step, measurement)
            if not self._keeps_features:
                self.measurement = dataclasses.replace(measurement, weights=None, features={})
        row = _epoch_row(totals, measurement, time.perf_counter() - start)
        self.history.append(row)
        best = _best_of(self.history)
        if best is not None and best["epoch"] == epoch:
            self.folder.write_best()
        self.folder.add_epoch(row, _log_line(row, settings.epochs))
        self._pending = None
        if self._on_epoch is not None and self.training.processes.first:
            self._on_epoch(row)

    def _measure(self, epoch: int, *, keep: bool, is_final: bool = True) -> Measurement | None:
        """Measure the network; return None if interrupted, or too long after the time limit."""
        training, limit = self.training, self._deadline.seconds
        overrun = (
            None
            if limit is None
            else self._deadline.remaining + _MIN_SECONDS + _MAX_MEASURE_SHARE * limit
        )
        try:
            measurement = self._measurer.measure(
                keep=keep,
                deadline=self._deadline,
                overrun=overrun,
                patience=None
                if is_final
                else max(_MIN_SECONDS, _MAX_MEASURE_SHARE * self._train_seconds),
            )
        except MeasurementStoppedError:
            if self._interrupted():
                self.folder.log(f"epoch {epoch} is not measured: interrupted")
            else:
                self._is_out_of_time = True
                self.folder.warn(f"epoch {epoch} is not measured: the time limit came first")
            return None
        if measurement.problem is not None:
            self.folder.warn(f"epoch {epoch} could not be measured: {measurement.problem}")
        if measurement.result is not None:
            steps, part = training.batches.steps, training.step
            result = dataclasses.replace(
                measurement.result,
                epoch=training.epoch + part / steps if part else training.epoch,
                step=training.epoch * steps + part,
                split="train",
            )
            measurement = dataclasses.replace(measurement, result=result)
        self.measurement = measurement
        return measurement

    @property
    def _train_seconds(self) -> float:
        """Training time of all epochs so far, in seconds."""
        pending = 0.0 if self._pending is None else self._pending.seconds
        return sum((row.seconds for row in self.history), pending)

    @property
    def _keeps_features(self) -> bool:
        """True if features stay in memory for a plot, which shows those of d = 2 and 3."""
        return self.training.model.head.d in (2, 3)

    def _interrupted(self) -> bool:
        """Return whether the run was interrupted, the same in all processes."""
        return any_process(self._deadline.interrupted, self.training.processes)

    def _expired(self) -> bool:
        """Return whether the time limit is over or the run was interrupted, the same in all."""
        return any_process(self._deadline.expired, self.training.processes)

    def _save(self, totals: EpochTotals | None) -> None:
        """Write last.pt."""
        with self._save_times.saving():
            self.folder.write_checkpoint(checkpoint_state(self.training, totals))


def measure_due(
    settings: Settings, epoch: int, train_seconds: float, history: Sequence[EpochRow]
) -> bool:
    """Return whether to measure after an epoch, so that it takes at most 10 % of the run time.

    The first and the last epoch are always measured. Between them multiples of `measure_every` are.
    By default the interval follows from the times of an epoch and of the last measurement, and all
    measurements together, including that of the last epoch, take at most a tenth of the expected
    run time. So the first epochs, with most of the collapse, are measured most often.

    Args:
        settings: settings of the run, of which `measure_every` and the number of epochs are read.
        epoch: number of the epoch, which is already trained.
        train_seconds: training time of the epochs up to this one.
        history: rows of the epochs before.
    """
    if epoch in (1, settings.epochs):
        return True
    if settings.measure_every is not None:
        return epoch % settings.measure_every == 0
    seconds = [row.measure_seconds for row in history if row.measure_seconds]
    last_seconds = seconds[-1] if seconds else 0.0
    share = train_seconds / epoch * _MAX_MEASURE_SHARE / (1.0 - _MAX_MEASURE_SHARE)  # of one epoch
    interval = next((n for n in _INTERVALS if last_seconds <= n * share), _INTERVALS[-1])
    return epoch % interval == 0 and sum(seconds) + 2.0 * last_seconds <= share * settings.epochs


def _best_of(history: Sequence[EpochRow]) -> dict[str, Any] | None:
    """Return epoch and accuracy of best.pt: on the test set, without one on the training set."""
    best: dict[str, Any] | None = None
    for row in history:
        split = "train" if row.test_accuracy is None else "test"
        accuracy = row.train_accuracy if row.test_accuracy is None else row.test_accuracy
        if accuracy is not None and (best is None or accuracy > best["accuracy"]):
            best = {
                "epoch": row.epoch,
                "accuracy": accuracy,
                "of": split,
                "ood_accuracy": row.ood_accuracy,
            }
    return best


def _epoch_row(
    totals: EpochTotals, measurement: Measurement | None, measure_seconds: float = 0.0
) -> EpochRow:
    """Return the row of an epoch, whose measurement took `measure_seconds`."""
    values: dict[str, Any] = {}
    if measurement is not None:
        values = {name: getattr(measurement, name) for name in _OTHER_ACCURACIES}
    if measurement is not None and measurement.result is not None:
        values |= {name: getattr(measurement.result, name) for name in _METRICS}
        values["train_accuracy"] = measurement.result.accuracy
    return EpochRow(
        epoch=totals.epoch,
        step=totals.step,
        lr=totals.lr,
        loss=totals.loss,
        running_accuracy=totals.accuracy,
        seconds=totals.seconds,
        measure_seconds=0.0 if measurement is None else measure_seconds,
        images_per_second=totals.images_per_second,
        **values,
    )


def _log_line(row: EpochRow, epochs: int) -> str:
    """Return the line of an epoch in log.txt."""
    values = {
        "train": row.train_accuracy,
        "test": row.test_accuracy,
        "ood": row.ood_accuracy,
        "gnc1": row.gnc1,
        "gnc1_centred": row.gnc1_centred,
        "gnc2": None if row.gnc2 is None else row.gnc2.lower,
        "gnc3": row.gnc3,
        "gnc3_centred": row.gnc3_centred,
        "ncc": row.ncc_accuracy,
    }
    words = [f"{name} {value:.4g}" for name, value in values.items() if value is not None]
    return ", ".join([f"epoch {row.epoch}/{epochs}", f"loss {row.loss:.4g}", *words])


def make_result(epochs: Epochs, plan: HeadPlan, data: ImageData, seconds: float) -> TrainResult:
    """Return the result of one run."""
    measurement, history, training = epochs.measurement, tuple(epochs.history), epochs.training
    settings, result = epochs.settings, None if measurement is None else measurement.result
    measuring = sum(row.measure_seconds for row in history)
    total_seconds = measuring + sum(row.seconds for row in history)

    def last_value(name: str) -> float | None:
        """Return the last measured value, of this session or of an earlier one."""
        values = [getattr(row, name) for row in history if getattr(row, name) is not None]
        return values[-1] if values else None

    accuracies = {
        name: last_value(name) if measurement is None else getattr(measurement, name)
        for name in _OTHER_ACCURACIES
    }
    train_accuracy = last_value("train_accuracy") if result is None else result.accuracy
    return TrainResult(
        seconds=seconds,
        version=__version__,
        run=epochs.folder.path,
        outcome=epochs.outcome,
        advice=_advice(epochs, train_accuracy),
        data=data_facts(data),
        model=settings.model,
        head=_head_facts(settings, plan, training.model),
        recipe=_recipe_facts(settings, training.batches.normalisation),
        seed=settings.seed,
        device=str(training.device),
        processes=training.processes.size,
        epochs=len(history),
        epochs_asked=settings.epochs,
        loss=history[-1].loss if history else None,
        train_accuracy=train_accuracy,
        **accuracies,
        best=_best_of(history),
        measure_share=measuring / total_seconds if total_seconds else 0.0,
        images_per_second=statistics.median(r.images_per_second for r in history)
        if history
        else None,
        history=history,
        measured=None if result is None else _with_class_names(result, data.class_names),
        extras=_plot_arrays(measurement, data.class_names),
    )


def _head_facts(settings: Settings, plan: HeadPlan, model: EncoderWithHead) -> HeadFacts:
    """Return the description of the classifier."""
    encoder = count_parameters(model.encoder)
    return HeadFacts(
        kind=settings.head_kind,
        constraint=settings.constraint,
        tau=model.head.tau,
        loss=settings.loss,
        margin=plan.margin,
        beta=settings.beta if settings.head_kind == "cmf" else None,
        code=plan.code_name,
        assignment=(settings.assignment or "identity") if settings.head_kind == "fixed" else None,
        permutation=plan.permutation,
        encoder_parameters=encoder,
        head_parameters=plan.K * plan.d,
        trained_parameters=sum(p.numel() for p in model.parameters() if p.requires_grad),
        saved_share=model.head.saved_parameters / (encoder + plan.K * plan.d),
        margin_source=plan.margin_source,
    )


def _recipe_facts(settings: Settings, normalisation: Normalisation) -> dict[str, Any]:
    """Return the settings of the training, as plain JSON."""
    start = settings.init_from or settings.backbone_weights
    return {
        "optimizer": settings.optimizer,
        "lr": settings.lr,
        "momentum": settings.momentum if settings.optimizer == "sgd" else None,
        "weight_decay": settings.weight_decay,
        "schedule": settings.schedule,
        "milestones": list(settings.milestones) if settings.schedule == "step" else None,
        "warmup": settings.warmup,
        "batch_size": settings.batch_size,
        "precision": settings.precision,
        "augment": list(settings.augment or ()),
        "mean": list(normalisation.mean),
        "std": list(normalisation.std),
        "width": settings.width,
        "preset": settings.preset,
        "start": PurePath(start).name if start else None,
    }


def _advice(epochs: Epochs, accuracy: float | None) -> str | None:
    """Return the next step if the run stopped, or if the training `accuracy` is near chance."""
    settings, chance = epochs.settings, 1.0 / epochs.training.model.head.K
    if epochs.outcome == "completed":
        if accuracy is None or accuracy > chance + _MIN_LEARNED * (1.0 - chance):
            return None
        return (
            f"training accuracy {accuracy:.3g} is near chance; try more {spelled('epochs')} or "
            f"another {spelled('lr')}"
        )
    word = "interrupted"
    if epochs.outcome == "time_limit":
        word = f"stopped by {spelled('time_limit')}"
    path = settings.data.partition(":")[2]
    data = (
        f" --data {settings.data}" if os.path.isabs(path) else ""
    )  # which config.json does not keep
    model = f" --model {settings.model}" if ":" in settings.model else ""  # which no file may set
    return (
        f"{word}, the last checkpoint is written; continue with --resume --out "
        f"{epochs.folder.path}{data}{model}"
    )


def _with_class_names(result: MeasureResult, names: Sequence[str]) -> MeasureResult:
    """Return the record with the names of the classes next to their numbers."""
    worst = tuple(
        dataclasses.replace(
            row,
            name=names[row.label],
            nearest_name=None if row.nearest is None else names[row.nearest],
        )
        for row in result.worst_classes
    )
    return dataclasses.replace(result, worst_classes=worst)


def _plot_arrays(measurement: Measurement | None, class_names: Sequence[str]) -> dict[str, Any]:
    """Return the arrays for the plot of a circle or sphere, if the measurement kept them."""
    if measurement is None or "train" not in measurement.features:
        return {}
    features, labels = measurement.features["train"]
    return {
        "features": features,
        "labels": labels,
        "weights": measurement.weights,
        "class_names": class_names,
    }
