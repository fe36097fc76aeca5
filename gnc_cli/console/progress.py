"""Progress on stderr, for a person at a terminal; silent everywhere else."""

import contextlib
import math
import sys
from collections.abc import Iterator

from gnc_cli.runtime.deadline import Progress

_WITHOUT_BEST = frozenset({"moments", "decisions", "bootstrap", "rows"})
"""Stages that come to an end rather than to a best value; theirs is the share done."""


@contextlib.contextmanager
def progress_on_terminal(quiet: bool = False) -> Iterator[Progress | None]:
    """A bar a stage while the block runs; None where nobody watches."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[best]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, TaskID] = {}

    def report(stage: str, done: int, total: int, best: float) -> None:
        length = total if total > 0 else None
        value = f"{best:.12g}" if math.isfinite(best) else "-"
        said = "" if stage in _WITHOUT_BEST else f"best {value}"
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=length, best=said)
        bars.update(tasks[stage], completed=done, total=length, best=said)

    with bars:
        yield report
