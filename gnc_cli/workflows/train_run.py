"""One run of `gnc train`: epochs, measurements, checkpoints, until its end or a stop."""

import dataclasses
import logging
import time
from collections.abc import Callable
from typing import Any

from gnc_cli.errors import DataError, GncError, UsageError
from gnc_cli.io.run_checkpoints import read_checkpoint
from gnc_cli.io.runs import RunFolder
from gnc_cli.networks.training import EpochTotals, NonFiniteLoss
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.distributed import Processes
from gnc_cli.numerics.tensors import to_numpy
from gnc_cli.results import Bracket, EpochRow, plain
from gnc_cli.workflows.train_measure import Measured
from gnc_cli.workflows.train_session import Session

__all__ = ["Ending", "Run"]

_SHARE = 0.1
"""Of the wall time that measuring may take, where `--measure-every` does not say how often."""
_INTERVALS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
_log = logging.getLogger(__name__)


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
        self.session, self.folder, self.where = session, folder, where
        self.processes, self.deadline = processes, deadline
        self._on_step, self._on_epoch = on_step, on_epoch
        self._history: list[EpochRow] = []
        self._every = session.settings.measure_every
        self._best: dict[str, Any] | None = None
        self._train_seconds = self._measure_seconds = 0.0
        self._last: tuple[tuple[int, int], Measured] | None = None

    def resume(self) -> None:
        """Take up the run where its last checkpoint left it.

        Raises:
            DataError: the checkpoint is damaged, or of another run.
        """
        state = read_checkpoint(f"{self.where}/last.pt")
        try:
            training, run = state["training"], state["run"]
            self._best, self._every = run["best"], run["every"]
            self._train_seconds, self._measure_seconds = run["seconds"]
            done, asked = int(training["epoch"]), self.session.settings.epochs
            if done > asked:
                raise UsageError(f"--epochs {asked}: the run has done {done}; ask for more")
            self.session.training.load_state(training)
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, GncError):
                raise
            raise DataError(f"{self.where}/last.pt is no checkpoint of gnc train") from error
        self._every = self.session.settings.measure_every or self._every
        rows = None
        if self.folder is not None:
            self.folder.truncate_epochs(done)
            self.folder.drop_snapshots(done)
            rows = self.folder.read_epochs()
            self.folder.log(f"resumed after epoch {done}, step {self.session.training.step}")
        rows = next((r for r in self.processes.all_gather(rows) if r is not None), [])
        self._history = [_row_of(row) for row in rows]

    def to_the_end(self) -> Ending:
        """Train until all epochs are done, time is up, or somebody interrupts.

        Raises:
            DataError: the loss is no longer finite; names the last good checkpoint.
        """
        training, epochs = self.session.training, self.session.settings.epochs
        while training.epoch < epochs and not self._stops():
            began = time.perf_counter()
            try:
                totals = training.run_epoch(lambda: self.deadline.expired, self._step)
            except NonFiniteLoss as error:
                raise self._lost(error) from error
            self._train_seconds += time.perf_counter() - began
            if totals is None:
                self._save(best=False)
                break
            self._after_epoch(totals)
        completed = training.epoch >= epochs
        if not completed and (training.epoch, training.step) == (0, 0):
            self._save(best=False)  # what the advice promises to go on from
        interrupted = any(self.processes.all_gather(self.deadline.interrupted))
        outcome = "completed" if completed else "interrupted" if interrupted else "time_limit"
        position = (training.epoch, training.step)
        if outcome != "interrupted" and (self._last is None or self._last[0] != position):
            self._measure(keep=self._drawn)
        self._say(f"{outcome} after {training.epoch} of {epochs} epochs")
        return Ending(
            outcome, tuple(self._history), None if self._last is None else self._last[1],
            self._best, self._train_seconds, self._measure_seconds,
        )  # fmt: skip

    @property
    def _drawn(self) -> bool:
        """Whether a picture shows every feature."""
        return self.session.plan.d in (2, 3)

    def _stops(self) -> bool:
        return any(self.processes.all_gather(self.deadline.expired))

    def _step(self, step: int, steps: int, loss: float) -> None:
        if self._on_step is not None:
            done = self.session.training.epoch * steps + step
            self._on_step(done, self.session.settings.epochs * steps, loss)

    def _after_epoch(self, totals: EpochTotals) -> None:
        """Measure where it is time, then write the epoch down and save."""
        settings, epoch = self.session.settings, totals.epoch
        every = settings.snapshot_every
        final = epoch == settings.epochs
        snapshot = self.folder_kept and (final or (every is not None and epoch % every == 0))
        measured = None
        if final or snapshot or self._due(epoch):
            measured = self._measure(keep=snapshot or (final and self._drawn))
            if epoch == 2:
                self._settle(totals.seconds, measured.seconds)
        row = _row(totals, measured)
        self._history.append(row)
        if snapshot and measured is not None and self.folder is not None:
            weights = to_numpy(self.session.model.head.weights)
            for split, (features, labels) in measured.features.items():
                self.folder.add_snapshot(
                    epoch, totals.step, features=features, labels=labels, weights=weights,
                    split=split,
                )  # fmt: skip
        if self.folder is not None:
            self.folder.add_epoch(plain(row))
            self.folder.log(_line(row, settings.epochs))
        self._save(best=self._is_best(row))
        if self._on_epoch is not None and self.processes.first:
            self._on_epoch(row)

    @property
    def folder_kept(self) -> bool:
        """Whether this run leaves anything behind."""
        return bool(self.where)

    def _due(self, epoch: int) -> bool:
        if self._every is None:
            return epoch <= 2
        return epoch == 1 or epoch % self._every == 0

    def _settle(self, training: float, measuring: float) -> None:
        """How often to measure from now on, by what an epoch and a measurement take."""
        if self._every is None:
            rest = training * _SHARE / (1.0 - _SHARE)
            wanted = next((n for n in _INTERVALS if measuring <= n * rest), _INTERVALS[-1])
            self._every = self.processes.all_gather(wanted)[0]

    def _measure(self, *, keep: bool) -> Measured:
        training = self.session.training
        epoch = training.epoch + training.step / training.batches.steps
        measured = self.session.measuring.measure(keep=keep).after(
            epoch, training.epoch * training.batches.steps + training.step
        )
        self._measure_seconds += measured.seconds
        self._last = ((training.epoch, training.step), measured)
        if measured.trouble is not None:
            self._say(f"epoch {training.epoch} could not be measured: {measured.trouble}")
            _log.warning("epoch %d could not be measured: %s", training.epoch, measured.trouble)
        return measured

    def _is_best(self, row: EpochRow) -> bool:
        accuracy = row.train_accuracy if row.test_accuracy is None else row.test_accuracy
        if accuracy is None or (self._best is not None and accuracy <= self._best["accuracy"]):
            return False
        of = "train" if row.test_accuracy is None else "test"
        self._best = {
            "epoch": row.epoch, "accuracy": accuracy, "of": of, "ood_accuracy": row.ood_accuracy
        }  # fmt: skip
        return True

    def _save(self, *, best: bool) -> None:
        if self.folder is None:
            return
        normalisation = self.session.normalisation
        self.folder.write_checkpoint(
            {
                "format": 1,
                "training": self.session.training.state(),
                "run": {
                    "best": self._best,
                    "every": self._every,
                    "seconds": (self._train_seconds, self._measure_seconds),
                },
                "normalisation": {
                    "mean": list(normalisation.mean), "std": list(normalisation.std)
                },
            },
            best=best,
        )  # fmt: skip

    def _say(self, line: str) -> None:
        if self.folder is not None:
            self.folder.log(line)

    def _lost(self, error: NonFiniteLoss) -> DataError:
        """The same error with the checkpoint to go back to."""
        done = len(self._history)
        back = f"the last good checkpoint is {self.where}/last.pt, of epoch {done}"
        said = f"{error}; {back}" if done and self.folder_kept else str(error)
        self._say(said)
        return DataError(said)


def _row(totals: EpochTotals, measured: Measured | None) -> EpochRow:
    row = EpochRow(
        epoch=totals.epoch, step=totals.step, lr=totals.lr, loss=totals.loss,
        running_accuracy=totals.accuracy, seconds=totals.seconds,
        images_per_second=totals.images_per_second,
    )  # fmt: skip
    if measured is None:
        return row
    result = measured.result
    return dataclasses.replace(
        row,
        train_accuracy=None if result is None else result.accuracy,
        test_accuracy=measured.test_accuracy,
        ood_accuracy=measured.ood_accuracy,
        test_ncc_accuracy=measured.test_ncc_accuracy,
        gnc1=None if result is None else result.gnc1,
        gnc2=None if result is None else result.gnc2,
        gnc3=None if result is None else result.gnc3,
        ncc_accuracy=None if result is None else result.ncc_accuracy,
        measure_seconds=measured.seconds,
    )


def _row_of(stored: dict[str, Any]) -> EpochRow:
    """A line of metrics.jsonl."""
    names = {f.name for f in dataclasses.fields(EpochRow)}
    values = {k: v for k, v in stored.items() if k in names}
    if values.get("gnc2") is not None:
        values["gnc2"] = Bracket(**values["gnc2"])
    return EpochRow(**values)


def _line(row: EpochRow, epochs: int) -> str:
    """An epoch in log.txt."""
    said = [f"epoch {row.epoch}/{epochs}", f"loss {row.loss:.4g}"]
    for name, value in (
        ("train", row.train_accuracy), ("test", row.test_accuracy), ("ood", row.ood_accuracy),
        ("gnc1", row.gnc1), ("gnc2", None if row.gnc2 is None else row.gnc2.lower),
        ("gnc3", row.gnc3), ("ncc", row.ncc_accuracy),
    ):  # fmt: skip
        if value is not None:
            said.append(f"{name} {value:.4g}")
    return ", ".join(said)
