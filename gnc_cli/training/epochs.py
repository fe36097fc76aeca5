"""The epochs of a run: training, measurements and checkpoints, until its end or a stop.

last.pt is written as soon as an epoch is trained, with the epoch's totals, and every half a minute
within a long one; the epoch's line in metrics.jsonl comes last, after measurement, best.pt and
snapshot. A run that was killed between them finds the totals without the line, and does the rest
again.
"""

import dataclasses
import time
from typing import Any

from gnc_cli.errors import DataError, UsageError
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import SaveTimes
from gnc_cli.training.checkpoints import check_same_data, checkpoint_state, read_run
from gnc_cli.training.measure import Measured, MeasuringInterrupted
from gnc_cli.training.networks.training import EpochTotals, NonFiniteLoss
from gnc_cli.training.request import Options
from gnc_cli.training.result import EpochRow
from gnc_cli.training.run_folder import RunFolder
from gnc_cli.training.session import Session

_SHARE = 0.1
"""Of the wall time that measuring may take, where `--measure-every` does not say how often."""
_INTERVALS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
_LEAST = 10.0
"""Seconds that GNC2 gets in any case, and that a measurement may go on after a time limit."""


class Run:
    """Trains a session into a run folder; every process makes the same calls."""

    def __init__(self, session: Session, folder: RunFolder, options: Options) -> None:
        self.session, self.folder, self.options = session, folder, options
        self.processes, self.deadline = folder.processes, options.deadline
        self.cadence = Cadence(session.settings.measure_every, session.settings.epochs)
        self.history: list[EpochRow] = []
        self.best: dict[str, Any] | None = None
        self.measured: Measured | None = None
        """The last measurement of this session."""
        self._too_late = False
        """The time limit has ended a measurement."""
        self.outcome = ""
        """`completed`, `time_limit` or `interrupted`."""
        self._pending: EpochTotals | None = None
        """Of an epoch that is trained and saved, and has no line yet."""
        self._saved = (0, 0)
        """Epochs done, and steps of the next one, in last.pt."""
        self._save_times = SaveTimes()

    def resume(self) -> None:
        """Take up the run where its last checkpoint left it."""
        where, training = self.folder.path, self.session.training
        state = read_run(f"{where}/last.pt")
        run, totals = state.run, state.run.totals
        done, asked = state.training.epoch, self.session.settings.epochs
        if done > asked:
            raise UsageError(f"{spelled('epochs', asked)}: the run has done {done}; ask for more")
        training.load_state(state.training)
        check_same_data(state, self.session, where)
        self.best = None if run.best is None else vars(run.best)
        self.cadence.load(vars(run.cadence))
        self._saved = done, training.step
        self.history = self.folder.back_to(done)
        self.folder.log(f"resumed after epoch {done}, step {training.step}")
        if totals is not None and (not self.history or self.history[-1].epoch < totals.epoch):
            self._pending = totals
        elif totals is not None:  # the checkpoint is older than the epoch's measurement
            self._count(self.history[-1])

    def to_the_end(self) -> None:
        """Train until all epochs are done, time is up, or somebody interrupts."""
        training, epochs = self.session.training, self.session.settings.epochs
        if self._pending is not None:
            self._after_epoch(self._pending)
        while self._pending is None and training.epoch < epochs and not self._expired:
            began = time.perf_counter()
            try:
                totals = training.run_epoch(self._stops, self._step)
            except NonFiniteLoss as error:
                raise self._lost(error) from error
            self._save(totals, began)
            if totals is not None:
                self._pending = totals
                self._after_epoch(totals)
        completed = training.epoch >= epochs and self._pending is None
        if not completed and (training.epoch, training.step) == (0, 0):
            self._save(None, time.perf_counter())  # what the advice promises to go on from
        self.outcome = (
            "completed" if completed else "interrupted" if self._interrupted else "time_limit"
        )
        never = self.measured is None and not self._too_late
        if self.outcome != "interrupted" and never:
            found = self._measure(training.epoch, keep=self._drawn)
            self.cadence.measure_seconds += 0.0 if found is None else found.seconds
        self.folder.log(f"{self.outcome} after {training.epoch} of {epochs} epochs")
        if self._pending is not None:
            self.history.append(_epoch_row(self._pending, None))

    def _stops(self) -> bool:
        """Whether to leave the epoch: for good, or for a checkpoint."""
        return bool(self.folder.path and self._save_times.due) or self.deadline.expired

    @property
    def _drawn(self) -> bool:
        """Whether a picture shows every feature."""
        return self.session.plan.d in (2, 3)

    @property
    def _interrupted(self) -> bool:
        """Whether somebody interrupted; the same in all processes."""
        return any(self.processes.all_gather(self.deadline.interrupted))

    @property
    def _expired(self) -> bool:
        """Whether time is up or somebody interrupted; the same in all processes."""
        return any(self.processes.all_gather(self.deadline.expired))

    def _step(self, step: int, steps: int, loss: float) -> None:
        if self.options.progress is not None:
            done, total = self.session.training.epoch, self.session.settings.epochs
            self.options.progress("training", done * steps + step, total * steps, loss)

    def _after_epoch(self, totals: EpochTotals) -> None:
        """Measure where it is time, then write the epoch down; a stop may leave it pending."""
        began = time.perf_counter()
        settings, epoch = self.session.settings, totals.epoch
        final = epoch == settings.epochs
        wanted = final or (settings.snapshot_every and epoch % settings.snapshot_every == 0)
        snapshot = bool(self.folder.path and wanted)
        measured = None
        if final or snapshot or self.processes.all_gather(self.cadence.due(epoch))[0]:
            ever = self.measured is not None or any(row.measure_seconds for row in self.history)
            late = not final and ever and self._expired
            if late or self._interrupted:
                return
            measured = self._measure(epoch, keep=snapshot or self._drawn, final=final)
            if measured is None:
                return
            if snapshot:
                self.folder.snapshot(epoch, totals.step, measured)
            if not self._drawn:
                self.measured = dataclasses.replace(measured, weights=None, features={})
        row = _epoch_row(totals, measured, time.perf_counter() - began)
        if self._count(row):
            self.folder.best()
        self.history.append(row)
        self.folder.epoch(row, _in_words(row, settings.epochs))
        self._pending = None
        if self.options.on_epoch is not None and self.processes.first:
            self.options.on_epoch(row)

    def _measure(self, epoch: int, *, keep: bool, final: bool = True) -> Measured | None:
        """Measure the network as it is; None where somebody interrupted, or where it would go on
        for long after the time limit."""
        training, limit = self.session.training, self.deadline.seconds
        late = None if limit is None else self.deadline.remaining + _LEAST + _SHARE * limit
        try:
            found = self.session.measuring.measure(
                keep=keep,
                deadline=self.deadline,
                late=late,
                patience=None if final else self.cadence.patience,
            )
        except MeasuringInterrupted:
            if self._interrupted:
                self.folder.log(f"epoch {epoch} is not measured: interrupted")
            else:
                self._too_late = True
                self.folder.warn(f"epoch {epoch} is not measured: the time limit came first")
            return None
        if found.trouble is not None:
            self.folder.warn(f"epoch {epoch} could not be measured: {found.trouble}")
        if found.result is not None:
            steps, part = training.batches.steps, training.step
            placed = dataclasses.replace(
                found.result,
                epoch=training.epoch + part / steps if part else training.epoch,
                step=training.epoch * steps + part,
                split="train",
            )
            found = dataclasses.replace(found, result=placed)
        self.measured = found
        return found

    def _count(self, row: EpochRow) -> bool:
        """Take the row's time and accuracy into account; whether it is the best so far."""
        if row.measure_seconds:
            self.cadence.measured(row.measure_seconds, row.epoch)
        of = "train" if row.test_accuracy is None else "test"
        accuracy = row.train_accuracy if row.test_accuracy is None else row.test_accuracy
        if accuracy is None or (self.best is not None and accuracy <= self.best["accuracy"]):
            return False
        self.best = {
            "epoch": row.epoch,
            "accuracy": accuracy,
            "of": of,
            "ood_accuracy": row.ood_accuracy,
        }
        return True

    def _save(self, totals: EpochTotals | None, began: float) -> None:
        """Write last.pt; the time since `began` is training's."""
        training, before = self.session.training, self.cadence.train_seconds
        self.cadence.train_seconds = before + time.perf_counter() - began
        with self._save_times.saving():
            self.folder.checkpoint(
                checkpoint_state(self.session, totals, best=self.best, cadence=self.cadence.state())
            )
        self.cadence.train_seconds = before + time.perf_counter() - began
        self._saved = training.epoch, training.step

    def _lost(self, error: NonFiniteLoss) -> DataError:
        """The same error with the checkpoint to go back to."""
        text = str(error)
        if self._saved != (0, 0) and self.folder.path:
            epoch, step = self._saved
            at = f"step {step} of epoch {epoch + 1}" if step else f"epoch {epoch}"
            text = f"{text}; the last good checkpoint is {self.folder.path}/last.pt, of {at}"
        self.folder.log(text)
        return DataError(text)


def _epoch_row(
    totals: EpochTotals, measured: Measured | None, measure_seconds: float = 0.0
) -> EpochRow:
    """The row of an epoch; `measured` after it took so many seconds, with all that came with it."""
    row = EpochRow(
        epoch=totals.epoch,
        step=totals.step,
        lr=totals.lr,
        loss=totals.loss,
        running_accuracy=totals.accuracy,
        seconds=totals.seconds,
        images_per_second=totals.images_per_second,
    )
    if measured is None:
        return row
    row = dataclasses.replace(
        row,
        test_accuracy=measured.test_accuracy,
        ood_accuracy=measured.ood_accuracy,
        test_ncc_accuracy=measured.test_ncc_accuracy,
        measure_seconds=measure_seconds,
    )
    if (result := measured.result) is None:
        return row
    return dataclasses.replace(
        row,
        train_accuracy=result.accuracy,
        ncc_accuracy=result.ncc_accuracy,
        gnc1=result.gnc1,
        gnc1_centred=result.gnc1_centred,
        gnc2=result.gnc2,
        gnc3=result.gnc3,
        gnc3_centred=result.gnc3_centred,
    )


def _in_words(row: EpochRow, epochs: int) -> str:
    """An epoch in log.txt."""
    found = {
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
    words = [f"{name} {value:.4g}" for name, value in found.items() if value is not None]
    return ", ".join([f"epoch {row.epoch}/{epochs}", f"loss {row.loss:.4g}", *words])


class Cadence:
    """When to measure a network in training: so that it takes at most 10 % of the run time.

    The first epoch and the last are measured always; between them multiples of an interval that
    follows from what an epoch and the latest measurement took, as long as all of them, the last
    one included, keep within a tenth of what the whole run will take: most of the collapse is in
    its first epochs. The clocks of several processes differ, so the first decides for all.
    `asked` epochs between measurements are what the user wants, if anything.

    Example:
        >>> cadence = Cadence(None, 100)
        >>> cadence.train_seconds = 1.0
        >>> cadence.measured(0.5, epoch=1)
        >>> cadence.every
        5
        >>> cadence.train_seconds = 5.0
        >>> cadence.due(5), cadence.due(6)
        (True, False)
    """

    def __init__(self, asked: int | None, epochs: int) -> None:
        self.asked, self.epochs = asked, epochs
        self.every = asked or 1
        self.train_seconds = self.measure_seconds = 0.0
        self._cost = 0.0

    def due(self, epoch: int) -> bool:
        """Whether to measure after this epoch, which is trained already."""
        if epoch in (1, self.epochs):
            return True
        if epoch % self.every:
            return False
        if self.asked is not None:
            return True
        share = _SHARE / (1.0 - _SHARE)
        whole = self.train_seconds * self.epochs / epoch
        return self.measure_seconds + 2.0 * self._cost <= share * whole

    def measured(self, seconds: float, epoch: int) -> None:
        """A measurement took so long, with all that came with it."""
        self.measure_seconds += seconds
        self._cost = seconds
        if self.asked is None and epoch:
            rest = self.train_seconds / epoch * _SHARE / (1.0 - _SHARE)
            self.every = next((n for n in _INTERVALS if seconds <= n * rest), _INTERVALS[-1])

    @property
    def patience(self) -> float:
        """Seconds that GNC2 of one measurement may take."""
        return max(_LEAST, _SHARE * self.train_seconds)

    def state(self) -> dict[str, float | int]:
        """Plain data, from which `load` goes on."""
        return {
            "every": self.every,
            "cost": self._cost,
            "train_seconds": self.train_seconds,
            "measure_seconds": self.measure_seconds,
        }

    def load(self, state: dict[str, float | int]) -> None:
        """Go on from `state`; an interval that the user asks for now wins."""
        self.every = self.asked or int(state["every"])
        self._cost = float(state["cost"])
        self.train_seconds = float(state["train_seconds"])
        self.measure_seconds = float(state["measure_seconds"])
