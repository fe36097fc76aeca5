"""The bar of a training run on stderr: epoch, loss, and the last measured figures."""

import contextlib
import math
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnc_cli.console.progress import Progress
    from gnc_cli.training.result import EpochRow

__all__ = ["Watch", "epochs_on_terminal"]

_BAR = 6
_TAKEN = _BAR + len("  loss 1.23e-05  1:23:45 ")
"""Columns beside the epoch and the figures."""


class Watch:
    """What is told of a run while it trains; says nothing where nobody watches."""

    progress: "Progress | None" = None

    def on_epoch(self, row: "EpochRow") -> None:
        """An epoch is done."""


class _Bar(Watch):
    def __init__(self, bars: Any) -> None:
        self._bars, self._task, self._figures = bars, None, list[str]()
        self._steps: float | None = None
        self.progress = self._report

    def _report(self, stage: str, done: int, total: int, loss: float) -> None:
        epoch = f"{100 * done // total}%"
        if self._steps is not None:
            epoch = f"epoch {max(1, math.ceil(done / self._steps))}/{round(total / self._steps)}"
        room = self._bars.console.width - _TAKEN - len(epoch)
        fields = {
            "loss": f"loss {loss:.3g}" if math.isfinite(loss) else "", "epoch": epoch,
            "seen": _fitting(self._figures, room),
        }  # fmt: skip
        if self._task is None:
            self._task = self._bars.add_task(stage, total=total, **fields)
        self._bars.update(self._task, completed=done, total=total, **fields)

    def on_epoch(self, row: "EpochRow") -> None:
        """Keep what was measured last before the eyes; an epoch's steps are known from here on."""
        self._steps = row.step / row.epoch
        rho = None if row.gnc2 is None else row.gnc2.lower
        figures = [
            ("test", row.test_accuracy, 3), ("GNC2", rho, 2), ("train", row.train_accuracy, 3),
            ("GNC1", row.gnc1, 2), ("GNC3", row.gnc3, 2), ("OOD", row.ood_accuracy, 3),
        ]  # fmt: skip
        said = [f"{name} {x:.{digits}g}" for name, x, digits in figures if x is not None]
        self._figures = [f"@{row.epoch}: {said[0]}", *said[1:]] if said else self._figures


def _fitting(figures: list[str], room: int) -> str:
    """As many as there is room for, so that the bar stays one line with nothing cut.

    >>> _fitting(["test 0.95", "GNC1 0.004", "GNC2 0.34"], 25)
    'test 0.95 GNC1 0.004'
    """
    shown = len(figures)
    while shown and len(" ".join(figures[:shown])) > room:
        shown -= 1
    return " ".join(figures[:shown])


@contextlib.contextmanager
def epochs_on_terminal(quiet: bool = False) -> Iterator[Watch]:
    """A bar while the block runs, for a person at a terminal."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield Watch()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    bars = Progress(
        BarColumn(bar_width=_BAR), TextColumn("{task.fields[epoch]}"),
        TextColumn("{task.fields[loss]}"), TextColumn("{task.fields[seen]}"),
        Remaining(compact=True), console=Console(stderr=True), transient=True,
    )  # fmt: skip
    with bars:
        yield _Bar(bars)
