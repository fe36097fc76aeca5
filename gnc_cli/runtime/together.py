"""What several processes do once for all of them.

What one of them cannot do, none of them can: the same error is raised in all, and the first alone
prints it.
"""

from collections.abc import Callable
from typing import TypeVar

from gnc_cli.errors import GncError
from gnc_cli.runtime.distributed import Processes

_T = TypeVar("_T")


def of_first(processes: Processes, work: Callable[[], _T]) -> _T:
    """What `work` gives in the first process, in every process; all of them call it.

    So that nothing which rounding or a file system decides differs between machines.
    """
    found, error = _tried(work) if processes.first else ([], None)
    _agree(processes, error)
    return next(part[0] for part in processes.all_gather(found) if part)


def in_all(processes: Processes, work: Callable[[], _T]) -> _T:
    """What `work` gives in this process, once all have done it; not for work that is collective."""
    found, error = _tried(work)
    _agree(processes, error)
    return found[0]


def _tried(work: Callable[[], _T]) -> tuple[list[_T], Exception | None]:
    """The result as a list of one, else the error; a TimeoutError is an interruption."""
    try:
        return [work()], None
    except (GncError, TimeoutError) as error:
        return [], error


def _agree(processes: Processes, own: Exception | None) -> None:
    """Raise in all processes what one of them met."""
    errors = processes.all_gather(own)
    error = next((e for e in errors if e is not None), None)
    if isinstance(error, GncError):
        error.told = not processes.first
    if error is not None:
        raise error
