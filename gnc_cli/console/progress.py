"""Progress on stderr, for a person at a terminal; silent everywhere else."""

import contextlib
import math
import sys
from collections.abc import Iterator

from gnc_cli.runtime.deadline import Progress

_WITHOUT_BEST = frozenset({"bounds", "moments", "decisions", "rows"})
"""Stages that come to an end rather than to a best value; theirs is the share done."""


@contextlib.contextmanager
def progress_on_terminal(quiet: bool = False, first: str = "working") -> Iterator[Progress | None]:
    """A bar per stage while the block runs; None where nobody watches.

    Args:
        first: what is done before the first stage says anything.
    """
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[share]}"),
        TextColumn("{task.fields[best]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    waiting = bars.add_task(first, total=None, best="", share="")
    tasks: dict[str, TaskID] = {}

    def report(stage: str, done: int, total: int, best: float) -> None:
        bars.update(waiting, visible=False)
        length = total if total > 0 else None
        value = f"{best:.9g}" if math.isfinite(best) else "-"
        said = "" if stage in _WITHOUT_BEST else f"best {value}"
        share = f"{done:,}" if length is None else f"{done:,}/{length:,}"
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=length, best=said, share=share)
        bars.update(tasks[stage], completed=done, total=length, best=said, share=share)

    with bars:
        yield report
