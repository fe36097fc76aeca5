"""One run of `gnc train`: epochs, measurements, checkpoints, until its end or a stop.

last.pt is written as soon as an epoch is trained, with the epoch's totals; its line in
metrics.jsonl comes last, after measurement, best.pt and snapshot. A run that was killed between
them finds the totals without the line, and does the rest again.
"""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

from gnc_cli.errors import DataError, GncError, UsageError
from gnc_cli.io.run_checkpoints import read_checkpoint
from gnc_cli.io.runs import RunFolder
from gnc_cli.networks.training import EpochTotals, NonFiniteLoss
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.distributed import Processes
from gnc_cli.results import EpochRow, plain
from gnc_cli.workflows.train_cadence import Cadence
from gnc_cli.workflows.train_features import MeasuringInterrupted
from gnc_cli.workflows.train_measure import Measured
from gnc_cli.workflows.train_rows import epoch_row, row_in_words, stored_row
from gnc_cli.workflows.train_session import Session
from gnc_cli.workflows.train_state import check_same_data, checkpoint_state, stored_totals
from gnc_cli.workflows.train_writing import Writing

__all__ = ["Ending", "Run"]


@dataclasses.dataclass(frozen=True, eq=False)
class Ending:
    """How a run ended."""

    outcome: str
    """`completed`, `time_limit` or `interrupted`."""
    history: tuple[EpochRow, ...]
    measured: Measured | None
    best: dict[str, Any] | None
    train_seconds: float
    measure_seconds: float


class Run:
    """Trains a session into a run folder.

    Args:
        session: network, batches, measurements.
        folder: in the first process; None in the others, and for runs that leave nothing behind.
        where: the folder's path, in every process.
        processes: who takes part.
        deadline: time limit and interruption.
        on_step: told (steps done, steps in all, loss) after each step.
        on_epoch: told each epoch's row, in the first process.
    """

    def __init__(
        self,
        session: Session,
        folder: RunFolder | None,
        where: str,
        processes: Processes,
        deadline: Deadline,
        *,
        on_step: Callable[[int, int, float], None] | None = None,
        on_epoch: Callable[[EpochRow], None] | None = None,
    ) -> None:
        self.session, self.where = session, where
        self.processes, self.deadline = processes, deadline
        self._write = Writing(folder, where, processes)
        self._on_step, self._on_epoch = on_step, on_epoch
        self._cadence = Cadence(session.settings.measure_every, session.settings.epochs)
        self._history: list[EpochRow] = []
        self._pending: EpochTotals | None = None
        """Of an epoch that is trained and saved, and has no line yet."""
        self._best: dict[str, Any] | None = None
        self._last: Measured | None = None
        self._saved: tuple[int, int] | None = None
        """Epochs done, and steps of the next one, in last.pt."""

    def resume(self) -> None:
        """Take up the run where its last checkpoint left it.

        Raises:
            DataError: the checkpoint is damaged, of another run or of other pictures.
        """
        state = read_checkpoint(f"{self.where}/last.pt")
        training = self.session.training
        try:
            self._best = state["run"]["best"]
            self._cadence.load(state["run"]["cadence"])
            totals = stored_totals(state)
            done, asked = int(state["training"]["epoch"]), self.session.settings.epochs
            if done > asked:
                raise UsageError(f"--epochs {asked}: the run has done {done}; ask for more")
            training.load_state(state["training"])
            check_same_data(state, self.session, self.where)
        except GncError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{self.where}/last.pt is no checkpoint of gnc train") from error
        self._saved = done, training.step
        self._history = [stored_row(line) for line in self._write.back_to(done)]
        self._write.say(f"resumed after epoch {done}, step {training.step}")
        if totals is not None and (not self._history or self._history[-1].epoch < totals.epoch):
            self._pending = totals
        elif totals is not None:  # the checkpoint is older than the epoch's measurement
            self._count(self._history[-1])

    def to_the_end(self) -> Ending:
        """Train until all epochs are done, time is up, or somebody interrupts.

        Raises:
            DataError: the loss is no longer finite; names the last good checkpoint.
        """
        training, epochs = self.session.training, self.session.settings.epochs
        if self._pending is not None:
            self._after_epoch(self._pending)
        while self._pending is None and training.epoch < epochs and not self._expired:
            began = time.perf_counter()
            try:
                totals = training.run_epoch(lambda: self.deadline.expired, self._step)
            except NonFiniteLoss as error:
                raise self._lost(error) from error
            self._save(totals, began)
            if totals is None:
                break
            self._pending = totals
            self._after_epoch(totals)
        completed = training.epoch >= epochs and self._pending is None
        if not completed and (training.epoch, training.step) == (0, 0):
            self._save(None, time.perf_counter())  # what the advice promises to go on from
        outcome = "completed" if completed else "interrupted" if self._broken else "time_limit"
        if outcome != "interrupted" and self._last is None:  # not even in this session
            found = self._measure(training.epoch, keep=self._drawn)
            self._cadence.measure_seconds += 0.0 if found is None else found.seconds
        self._write.say(f"{outcome} after {training.epoch} of {epochs} epochs")
        rows = [*self._history, *([epoch_row(self._pending, None)] if self._pending else [])]
        return Ending(
            outcome, tuple(rows), self._last, self._best,
            self._cadence.train_seconds, self._cadence.measure_seconds,
        )  # fmt: skip

    @property
    def _drawn(self) -> bool:
        """Whether a picture shows every feature."""
        return self.session.plan.d in (2, 3)

    @property
    def _ever_measured(self) -> bool:
        return self._last is not None or any(row.measure_seconds for row in self._history)

    @property
    def _broken(self) -> bool:
        """Whether somebody interrupted; the same in all processes."""
        return any(self.processes.all_gather(self.deadline.interrupted))

    @property
    def _expired(self) -> bool:
        """Whether time is up or somebody interrupted; the same in all processes."""
        return any(self.processes.all_gather(self.deadline.expired))

    def _step(self, step: int, steps: int, loss: float) -> None:
        if self._on_step is not None:
            done = self.session.training.epoch * steps + step
            self._on_step(done, self.session.settings.epochs * steps, loss)

    def _after_epoch(self, totals: EpochTotals) -> None:
        """Measure where it is time, then write the epoch down; a stop may leave it pending."""
        began = time.perf_counter()
        settings, epoch = self.session.settings, totals.epoch
        every = settings.snapshot_every
        final = epoch == settings.epochs
        snapshot = bool(self.where) and (final or (every is not None and epoch % every == 0))
        measured = None
        if final or snapshot or self._due(epoch):
            late = not final and self._ever_measured and self._expired
            if late or self._broken:
                return
            measured = self._measure(epoch, keep=snapshot or self._drawn, final=final)
            if measured is None:
                return
            if snapshot:
                self._write.snapshot(epoch, totals.step, measured)
            if not self._drawn:
                self._last = dataclasses.replace(measured, weights=None, features={})
        row = epoch_row(totals, measured, time.perf_counter() - began)
        if self._count(row):
            self._write.best()
        self._history.append(row)
        self._write.epoch(plain(row), row_in_words(row, settings.epochs))
        self._pending = None
        if self._on_epoch is not None and self.processes.first:
            self._on_epoch(row)

    def _due(self, epoch: int) -> bool:
        due: bool = self.processes.all_gather(self._cadence.due(epoch))[0]
        return due

    def _measure(self, epoch: int, *, keep: bool, final: bool = True) -> Measured | None:
        """Measure the network as it is; None where somebody interrupted."""
        training = self.session.training
        deadline = self.deadline if final else self.deadline.within(self._cadence.patience)
        try:
            found = self.session.measuring.measure(keep=keep, deadline=deadline)
        except MeasuringInterrupted:
            self._write.say(f"epoch {epoch} is not measured: interrupted")
            return None
        steps = training.batches.steps
        self._last = found.after(
            training.epoch + training.step / steps, training.epoch * steps + training.step
        )
        if found.trouble is not None:
            self._write.warn(f"epoch {epoch} could not be measured: {found.trouble}")
        return self._last

    def _count(self, row: EpochRow) -> bool:
        """Take the row's time and accuracy into account; whether it is the best so far."""
        if row.measure_seconds:
            self._cadence.measured(row.measure_seconds, row.epoch)
        accuracy = row.train_accuracy if row.test_accuracy is None else row.test_accuracy
        if accuracy is None or (self._best is not None and accuracy <= self._best["accuracy"]):
            return False
        of = "train" if row.test_accuracy is None else "test"
        self._best = {
            "epoch": row.epoch, "accuracy": accuracy, "of": of, "ood_accuracy": row.ood_accuracy
        }  # fmt: skip
        return True

    def _save(self, totals: EpochTotals | None, began: float) -> None:
        """Write last.pt; the time since `began` is training's."""
        training, before = self.session.training, self._cadence.train_seconds
        self._cadence.train_seconds = before + time.perf_counter() - began
        self._write.checkpoint(
            checkpoint_state(self.session, totals, best=self._best, cadence=self._cadence.state())
        )
        self._cadence.train_seconds = before + time.perf_counter() - began
        self._saved = training.epoch, training.step

    def _lost(self, error: NonFiniteLoss) -> DataError:
        """The same error with the checkpoint to go back to."""
        said = str(error)
        if self._saved not in (None, (0, 0)) and self.where:
            epoch, step = self._saved
            at = f"step {step} of epoch {epoch + 1}" if step else f"epoch {epoch}"
            said = f"{said}; the last good checkpoint is {self.where}/last.pt, of {at}"
        self._write.say(said)
        return DataError(said)
