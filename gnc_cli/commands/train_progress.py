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

_BAR = 8
_TAKEN = _BAR + len(" 100% loss 1.23e-05  1:23:45 ")
"""Columns beside the figures."""


class Watch:
    """What is told of a run while it trains; says nothing where nobody watches."""

    progress: "Progress | None" = None

    def on_epoch(self, row: "EpochRow") -> None:
        """An epoch is done."""


class _Bar(Watch):
    def __init__(self, bars: Any) -> None:
        self._bars, self._task, self._figures = bars, None, list[str]()
        self.progress = self._report

    def _report(self, stage: str, done: int, total: int, loss: float) -> None:
        said = f"loss {loss:.3g}" if math.isfinite(loss) else ""
        seen = _fitting(self._figures, self._bars.console.width - _TAKEN)
        if self._task is None:
            self._task = self._bars.add_task(stage, total=total, loss=said, seen=seen)
        self._bars.update(self._task, completed=done, total=total, loss=said, seen=seen)

    def on_epoch(self, row: "EpochRow") -> None:
        """Keep what was measured last before the eyes."""
        rho = None if row.gnc2 is None else row.gnc2.lower
        figures = [
            ("test", row.test_accuracy, 3), ("GNC1", row.gnc1, 2), ("GNC2", rho, 2),
            ("GNC3", row.gnc3, 2), ("train", row.train_accuracy, 3), ("OOD", row.ood_accuracy, 3),
        ]  # fmt: skip
        said = [f"{name} {x:.{digits}g}" for name, x, digits in figures if x is not None]
        self._figures = [*said, f"after epoch {row.epoch}"] if said else self._figures


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
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    bars = Progress(
        BarColumn(bar_width=_BAR), TaskProgressColumn(), TextColumn("{task.fields[loss]}"),
        TextColumn("{task.fields[seen]}"), Remaining(compact=True), console=Console(stderr=True),
        transient=True,
    )  # fmt: skip
    with bars:
        yield _Bar(bars)
