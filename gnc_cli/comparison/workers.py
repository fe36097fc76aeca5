"""Many jobs, one after the other in this process, or side by side in several.

Workers are fresh processes with one thread each. The parent alone hears signals: it raises a flag
that every search polls, waits for the workers, and keeps the rows that were finished. Should the
parent die, its workers leave too.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from gnc_cli.errors import UnavailableError

_POLL = 0.1
"""Seconds between looks at the interruption while all workers are busy."""
_GRACE = 5.0
"""Seconds a worker has to leave when nothing is left to do."""

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
    """Work on each job, and hand over each result as it is ready.

    Args:
        jobs: picklable where there are several workers.
        work: a function at the top level of a module; returns None where the flag cut it short.
        done: called here, in this process, in the order of finishing.
        workers: processes; one works right here.
        interrupt: set it to stop early.

    Returns:
        Whether all jobs were finished.

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
    from multiprocessing.connection import wait

    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    waiting = list(jobs)[::-1]
    busy: dict[Any, J] = {}
    complete = True
    processes: list[tuple[Any, Any]] = []

    def send_next(link: Any) -> None:
        busy[link] = waiting.pop()
        with contextlib.suppress(BrokenPipeError):  # receiving will say so
            link.send(busy[link])

    try:
        with _single_threaded():
            for _ in range(workers):
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(work, theirs, stop), daemon=True)
                process.start()
                processes.append((process, ours))
                theirs.close()
        for _, link in processes:
            send_next(link)
        while busy:
            if interrupt.is_set():
                stop.set()
            ready: list[Any] = wait(list(busy), timeout=_POLL)
            for link in ready:
                job = busy.pop(link)
                try:
                    error, result = link.recv()
                except (EOFError, ConnectionResetError):
                    raise UnavailableError(
                        f"a worker died at {job}; is memory short? use fewer --workers and --resume"
                    ) from None
                if error is not None:
                    raise error
                if result is None:
                    complete = False
                else:
                    done(job, result)
                if waiting and not interrupt.is_set():
                    send_next(link)
        for _, link in processes:
            with contextlib.suppress(BrokenPipeError):
                link.send(None)
        for process, _ in processes:
            process.join(_GRACE)
    finally:
        for process, link in processes:
            process.kill()
            process.join()
            link.close()
    return complete and not waiting


def _serve(work: Callable[[Any, Flag], Any], link: Any, stop: Any) -> None:
    """What a worker does: a job, its result, the next one, until None arrives."""
    import multiprocessing
    import pickle
    import signal

    # Ctrl-C reaches the whole group; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def leave_with_the_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=leave_with_the_parent, daemon=True).start()
    while (job := link.recv()) is not None:
        answer: tuple[BaseException | None, Any]
        try:
            answer = None, work(job, stop)
        except Exception as error:  # the parent raises it
            try:
                pickle.loads(pickle.dumps(error))
                answer = error, None
            except Exception:
                answer = RuntimeError(f"{type(error).__name__}: {error}"), None
        link.send(answer)


@contextlib.contextmanager
def _single_threaded() -> Iterator[None]:
    """Processes started inside the block load their libraries with one thread each."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
