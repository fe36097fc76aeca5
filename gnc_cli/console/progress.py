"""What stderr carries while a command runs: progress at a terminal, and what the library logs."""

import contextlib
import logging
import math
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from gnc_cli.console.process import note
from gnc_cli.runtime.deadline import Progress

_WITHOUT_BEST = frozenset(
    {"bounds", "moments", "decisions", "directions", "rows", "reach", "reach of sets"}
)
"""Stages that come to an end rather than to a best value; theirs is the share done."""


@contextlib.contextmanager
def progress_on_terminal(quiet: bool, first: str) -> Iterator[Progress | None]:
    """A bar per stage while the block runs; None where nobody watches.

    Args:
        first: what is done before the first stage says anything.
    """
    if quiet or not sys.stderr.isatty():
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
        value = f"best {best:.9g}" if math.isfinite(best) else "best -"
        figures: dict[str, Any] = {
            "share": f"{done:,}" if length is None else f"{done:,}/{length:,}",
            "best": "" if stage in _WITHOUT_BEST else value,
        }
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=length, **figures)
        bars.update(tasks[stage], completed=done, total=length, **figures)

    with bars:
        yield report


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


@contextlib.contextmanager
def conversation(quiet: bool, verbose: bool) -> Iterator[None]:
    """Show warnings (not with `quiet`) and, with `verbose`, what the loggers of gnc_cli say."""
    logger, handler = logging.getLogger("gnc_cli"), _Notes()
    old_level, old_propagate = logger.level, logger.propagate
    level = logging.ERROR if quiet else logging.INFO if verbose else logging.WARNING
    logger.setLevel(level)
    logger.addHandler(handler)
    logger.propagate = False

    def show_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
        if not quiet and not issubclass(category, DeprecationWarning):
            note(f"warning: {message}")

    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_warning  # type: ignore[assignment]
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(old_level)
        logger.propagate = old_propagate
