"""Many jobs, one after the other in this process, or side by side in processes of one thread each.

The pool is the standard library's: joblib's (tried at 1.6) needs the same flag, the same watch on
the parent, whose death its workers outlive, and names no job when a worker dies. The parent alone
hears signals.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from gnc_cli.errors import UnavailableError

_POLL = 0.1
"""Seconds between looks at the interruption while all workers are busy."""

J = TypeVar("J")
R = TypeVar("R")


class Flag(Protocol):
    """What a search polls to know that it should stop: a threading.Event, say."""

    def is_set(self) -> bool:
        """Stop now."""


def run_jobs(
    jobs: Sequence[J],
    work: Callable[[J, Flag], R | None],
    done: Callable[[J, R], None],
    *,
    workers: int = 1,
    interrupt: Flag | None = None,
) -> bool:
    """Work on each job, and hand over each result as it is ready; whether all were finished.

    Args:
        jobs: picklable where there are several workers.
        work: a function at the top level of a module; returns None where the flag cut it short.
        done: called here, in this process, in the order of finishing.
        workers: processes; one works right here.
        interrupt: set it to stop early.

    Raises:
        UnavailableError: a worker died.
        Exception: the first that `work` or `done` raised; the workers are stopped first.
    """
    stop: Flag = threading.Event() if interrupt is None else interrupt
    if min(workers, len(jobs)) > 1:
        return _side_by_side(jobs, work, done, min(workers, len(jobs)), stop)
    for job in jobs:
        result = None if stop.is_set() else work(job, stop)
        if result is None:
            return False
        done(job, result)
    return True


def _side_by_side(
    jobs: Sequence[J],
    work: Callable[[J, Flag], R | None],
    done: Callable[[J, R], None],
    workers: int,
    interrupt: Flag,
) -> bool:
    import multiprocessing
    from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
    from concurrent.futures.process import BrokenProcessPool

    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    waiting = list(jobs)[::-1]
    busy: dict[Future[R | None], J] = {}
    complete = True
    with ProcessPoolExecutor(workers, context, initializer=_prepare, initargs=(stop,)) as pool:
        try:
            while busy or (waiting and not interrupt.is_set()):
                with _inherited():
                    while waiting and len(busy) < workers and not interrupt.is_set():
                        job = waiting.pop()
                        busy[pool.submit(_work, work, job)] = job
                if interrupt.is_set():
                    stop.set()
                ready, _ = wait(busy, timeout=_POLL, return_when=FIRST_COMPLETED)
                for future in ready:
                    result = future.result()
                    job = busy.pop(future)
                    if result is None:
                        complete = False
                    else:
                        done(job, result)
        except BrokenProcessPool:
            at_work = " or ".join(str(job) for job in busy.values())
            raise UnavailableError(
                f"a worker died at {at_work}; is memory short? use fewer --workers and --resume"
            ) from None
        finally:
            stop.set()
    return complete and not waiting


_stop: Any = None
"""In a worker: the flag of its parent."""


def _prepare(stop: Any) -> None:
    """Make a process a worker, which leaves with its parent."""
    import multiprocessing

    global _stop
    _stop = stop
    parent = multiprocessing.parent_process()

    def leave_with_the_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=leave_with_the_parent, daemon=True).start()


def _work(work: Callable[[J, Flag], R | None], job: J) -> R | None:
    return work(job, _stop)


@contextlib.contextmanager
def _inherited() -> Iterator[None]:
    """Processes started inside the block hear no signals, and load their libraries with one thread.

    Ctrl-C reaches the whole group, and a worker may still be starting.
    """
    import signal

    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    heard = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
