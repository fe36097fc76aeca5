"""The run folder as all processes of a run see it: the first writes, and all hear of a failure."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from gnc_cli.workflows.train_together import of_first

if TYPE_CHECKING:
    from gnc_cli.io.runs import RunFolder
    from gnc_cli.numerics.distributed import Processes
    from gnc_cli.workflows.train_measure import Measured

__all__ = ["Writing"]

_log = logging.getLogger(__name__)
T = TypeVar("T")


class Writing:
    """Writes a run; every process makes the same calls.

    Args:
        folder: in the first process; None in the others, and for runs that leave nothing behind.
        where: its path, empty for these.
        processes: who takes part.

    Every method but `say` and `warn` raises OutputError, in all processes alike, where the first
    cannot write (the disk is full, say).
    """

    def __init__(self, folder: "RunFolder | None", where: str, processes: "Processes") -> None:
        self._folder, self._where, self._processes = folder, where, processes
        self._warned: set[str] = set()

    def back_to(self, epoch: int) -> list[dict[str, Any]]:
        """Drop what came after an epoch; the lines of metrics.jsonl that are left."""

        def drop(folder: "RunFolder") -> list[dict[str, Any]]:
            folder.truncate_epochs(epoch)
            folder.drop_snapshots(epoch)
            return folder.read_epochs()

        return self._in_first(drop) or []

    def checkpoint(self, state: dict[str, Any]) -> None:
        """last.pt."""
        self._in_first(lambda folder: folder.write_checkpoint(state))

    def best(self) -> None:
        """best.pt is what last.pt is now."""
        self._in_first(lambda folder: folder.mark_best())

    def epoch(self, row: dict[str, Any], words: str) -> None:
        """A line of metrics.jsonl, and one of log.txt."""
        self._in_first(lambda folder: folder.add_epoch(row))
        self.say(words)

    def snapshot(self, epoch: int, step: int, measured: "Measured") -> None:
        """The features that were measured, each split of them that was kept."""

        weights = measured.weights
        assert weights is not None, "it was measured with keep=True"

        def write(folder: "RunFolder") -> None:
            for split, (features, labels) in measured.features.items():
                folder.add_snapshot(
                    epoch, step, features=features, labels=labels, weights=weights,
                    split=split,
                )  # fmt: skip

        for split in measured.too_large:
            self.warn(
                f"no snapshot of the {split} features, which are larger than 2 GiB; for one take "
                "a smaller --feature-dim or fewer images"
            )
        self._in_first(write)

    def say(self, line: str) -> None:
        """A line of log.txt, and of the log on stderr where that is wanted."""
        if self._folder is not None:
            self._folder.log(line)
            _log.info("%s", line)

    def warn(self, line: str) -> None:
        """The same, and a warning, but each line once."""
        if line not in self._warned:
            self._warned.add(line)
            self.say(line)
            if self._processes.first:
                _log.warning("%s", line)

    def _in_first(self, work: "Callable[[RunFolder], T]") -> T | None:
        """What `work` gives, in all processes; its failure, in all of them too."""
        if not self._where:
            return None

        def with_folder() -> T:
            assert self._folder is not None, "the first process holds the folder"
            return work(self._folder)

        return of_first(self._processes, with_folder)
