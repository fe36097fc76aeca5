"""The bar of a training run on stderr: steps, loss, and the last measured figures."""

import contextlib
import math
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnc_cli.commands.progress import Progress
    from gnc_cli.results import EpochRow

__all__ = ["Watch", "epochs_on_terminal"]


class Watch:
    """What is told of a run while it trains; says nothing where nobody watches."""

    progress: "Progress | None" = None

    def on_epoch(self, row: "EpochRow") -> None:
        """An epoch is done."""


class _Bar(Watch):
    def __init__(self, bars: Any) -> None:
        self._bars, self._task, self._seen = bars, None, ""
        self.progress = self._report

    def _report(self, stage: str, done: int, total: int, loss: float) -> None:
        said = f"loss {loss:.3g}" if math.isfinite(loss) else ""
        if self._task is None:
            self._task = self._bars.add_task(stage, total=total, loss=said, seen=self._seen)
        self._bars.update(self._task, completed=done, total=total, loss=said, seen=self._seen)

    def on_epoch(self, row: "EpochRow") -> None:
        """Keep what was measured last before the eyes."""
        rho = None if row.gnc2 is None else row.gnc2.lower
        figures = [
            ("test", row.test_accuracy), ("train", row.train_accuracy), ("GNC1", row.gnc1),
            ("GNC2", rho), ("GNC3", row.gnc3),
        ]  # fmt: skip
        said = [f"{name} {value:.3g}" for name, value in figures if value is not None]
        self._seen = "  ".join([f"epoch {row.epoch}", *said]) if said else self._seen


@contextlib.contextmanager
def epochs_on_terminal(quiet: bool = False) -> Iterator[Watch]:
    """A bar while the block runs, for a person at a terminal."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield Watch()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    bars = Progress(
        TextColumn("{task.description}"), BarColumn(bar_width=20), TaskProgressColumn(),
        TextColumn("{task.fields[loss]}"), TextColumn("{task.fields[seen]}"),
        Remaining(compact=True), console=Console(stderr=True), transient=True,
    )  # fmt: skip
    with bars:
        yield _Bar(bars)
