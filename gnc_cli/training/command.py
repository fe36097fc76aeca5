"""`gnc train`, and the bar of a run on stderr: epoch, loss, and the last measured figures."""

import contextlib
import math
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gnc_cli.console.expose import expose
from gnc_cli.console.options import OutputOptions, Shape
from gnc_cli.console.show import print_line
from gnc_cli.runtime.distributed import is_rank_zero
from gnc_cli.training import api

if TYPE_CHECKING:
    from gnc_cli.training.result import EpochRow


@contextlib.contextmanager
def _watch(output: OutputOptions) -> Iterator[dict[str, Any]]:
    """A bar on a terminal; with --jsonl a line per epoch and run."""
    runs: list[str] = []
    with epochs_on_terminal(output.quiet) as bar:

        def on_epoch(row: "EpochRow") -> None:
            if bar is not None:
                bar.on_epoch(row)
            if output.shape is Shape.JSONL and is_rank_zero():
                print_line(row, {"run": runs[-1]})

        progress = bar.report if bar is not None and is_rank_zero() else None
        yield {"progress": progress, "on_run": runs.append, "on_epoch": on_epoch}


class EpochBar:
    """A line of rich's that is rewritten as the run goes on."""

    def __init__(self, bars: Any) -> None:
        self._bars, self._figures = bars, ""
        self._task = bars.add_task("reading the data, building the network", total=None)
        self._steps: float | None = None

    def report(self, stage: str, done: int, total: int, loss: float) -> None:
        """Steps done, as `progress` is called with them."""
        epoch = f"{100 * done // total}%"
        if self._steps is not None:
            epoch = f"epoch {math.ceil(done / self._steps)}/{round(total / self._steps)}"
        text = f"{epoch} loss {loss:.3g} {self._figures}"
        self._bars.update(self._task, completed=done, total=total, description=text)

    def on_epoch(self, row: "EpochRow") -> None:
        """Keep what was measured last in view; an epoch's steps are known from here on."""
        self._steps = row.step / row.epoch
        figures = {
            "test": row.test_accuracy,
            "GNC2": None if row.gnc2 is None else row.gnc2.lower,
            "train": row.train_accuracy,
            "GNC1": row.gnc1,
            "GNC3": row.gnc3,
            "OOD": row.ood_accuracy,
        }
        words = [f"{name} {x:.3g}" for name, x in figures.items() if x is not None]
        if words:
            self._figures = f"@{row.epoch}: {' '.join(words)}"


@contextlib.contextmanager
def epochs_on_terminal(quiet: bool = False) -> Iterator[EpochBar | None]:
    """A bar while the block runs, for a person at a terminal."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    bars = Progress(
        BarColumn(bar_width=6),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="crop")),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        transient=True,
    )
    with bars:
        yield EpochBar(bars)


train = expose(api.train, view="gnc_cli.training.view", watch=_watch)
