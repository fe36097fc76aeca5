"""Independent tasks, shared between this process and the workers beside it (`runtime.workers`).

A `Pool` belongs to a search and its `run` to one round: the tasks lie on a board, from which this
process and the workers take them. What a task ends in does not depend on who took it.
"""

import os
import pickle
import signal
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from multiprocessing import resource_tracker
from typing import Any, Generic, TypeVar
from uuid import uuid4

from gnc_cli.errors import UsageError
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.threads import available_cores, limit_threads
from gnc_cli.runtime.workers import (
    PATIENCE,
    Answer,
    Call,
    DaskWorkers,
    Workers,
    joblib_workers,
    safe_path,
)

T = TypeVar("T")
R = TypeVar("R")

WORTH_PROCESSES = 3.0
"""Seconds of work from which on processes are started: each takes one until it can work."""
_POLL = 0.05
"""Seconds between looks at the deadline while the workers are busy."""


class Pool:
    """Runs independent tasks in processes of one thread each, or in this process.

    Processes are started by joblib (loky), which keeps them for the next pool; inside
    `joblib.parallel_config(...)` its backend is used in their place (Ray, Dask, threads).

    Args:
        workers: processes, this one included; 1 starts none.
        cluster: address of a Dask scheduler, whose workers are used: `tcp://host:8786`.

    Raises:
        UnavailableError: on entry: Dask is not installed, or no scheduler answers.

    Example:
        >>> with Pool() as pool:
        ...     pool.run(lambda task, deadline: task + 10, [1, 2], Deadline())
        [11, 12]
    """

    def __init__(self, workers: int = 1, cluster: str | None = None) -> None:
        self.workers = workers
        self.cluster = cluster
        self._workers: Workers | None = None
        self._warming: threading.Thread | None = None
        self._warm = threading.Event()
        self._closed = threading.Event()

    def __enter__(self) -> "Pool":
        if self.cluster is not None:
            self._workers = DaskWorkers(self.cluster)
        elif self.workers > 1:
            self._workers = joblib_workers(self.workers)
        return self

    def __exit__(self, *_: object) -> None:
        if self._workers is not None:
            self._closed.set()
            if self._warming is not None and not self.ready:
                self._workers.stop()
                self._warming.join(PATIENCE)
            self._workers.close()

    @property
    def ready(self) -> bool:
        """Whether tasks given to `run` begin at once: workers have started, or none are used."""
        return self._workers is None or self._warm.is_set()

    def warm(self) -> None:
        """Begin to start the workers, which takes about a second, and return at once."""
        if self._workers is not None and self._warming is None:
            self._warming = _thread(self._start_workers, self._workers)

    def _start_workers(self, workers: Workers) -> None:
        # What fails here fails again at the first task, where somebody is listening.
        with suppress(Exception):
            workers.load(self._closed)
        self._warm.set()

    def run(
        self,
        work: Callable[[T, Deadline], R],
        tasks: Sequence[T],
        deadline: Deadline,
        done: Callable[[int, R], None] | None = None,
    ) -> list[R | None]:
        """`[work(task, its deadline) for task in tasks]`.

        This process works as well; alone, until `warm` was called and the workers have started.
        Every task has one thread of BLAS and torch, so that its result is the same wherever it ran.

        Args:
            work: a function, for other processes one at the top level of a module, which polls its
                deadline and then returns what it has.
            tasks: picklable; what `str` makes of one stands in error messages.
            deadline: no task is begun after it has expired. Workers that have not returned a few
                seconds later are stopped.
            done: called with `(index, result)` as results arrive, in any order, one at a time; for
                those of workers in a thread, that it need not wait for this process's own task.

        Returns:
            Results in the order of the tasks; None where a task was not begun or was given up.

        Raises:
            UnavailableError: workers died again and again, or the cluster was lost.
            Exception: the first that `work` or `done` raised; the other tasks are stopped.
        """
        board: _Board[T, R] = _Board(work, list(tasks), deadline, done or (lambda i, result: None))
        with limit_threads(1):
            if self._warming is None or (len(tasks) < 2 and not self.cluster):
                board.work_here(deadline)
            else:
                assert self._workers is not None, "they are warming"
                with _stop_file() as stop:
                    self._share(board, self._workers, stop)
        return board.results

    def _share(self, board: "_Board[Any, Any]", workers: Workers, stop: str) -> None:
        """Work here until the workers are ready, then wait for what they return."""
        over = threading.Event()
        calls = board.calls(stop)
        first = list(islice(calls, workers.ahead)) if self.ready else []

        def serve() -> None:
            while not self._warm.wait(_POLL):
                if over.is_set():
                    return
            try:
                workers.stream(chain(first, calls), board.take, over)
            except BaseException as error:
                board.fail(error)

        server = _thread(serve)
        try:
            board.work_here(board.own_deadline())
            board.collect(lambda: _touch(stop))
        finally:
            over.set()
            if board.handed:
                _touch(stop)
                workers.stop()
                self._warming = None
                self._warm.clear()
            server.join(PATIENCE)


@dataclass
class _Board(Generic[T, R]):
    """The tasks of one `run`: which wait, which were handed to workers, and their results."""

    work: Callable[[T, Deadline], R]
    tasks: list[T]
    deadline: Deadline
    done: Callable[[int, R], None]
    handed: set[int] = field(default_factory=set)
    """At the workers."""
    error: BaseException | None = None
    """What ended it early."""

    def __post_init__(self) -> None:
        self.results: list[R | None] = [None] * len(self.tasks)
        self._waiting = list(range(len(self.tasks)))[::-1]
        self._lock = threading.Lock()
        self._changed = threading.Condition()

    def calls(self, stop: str) -> "Iterator[Call]":
        """Tasks that wait, one after the other, for the workers that ask for them."""
        end = None
        if self.deadline.seconds is not None:
            end = time.time() + self.deadline.remaining
        while True:
            with self._lock:
                if not self._waiting:
                    return
                at = self._waiting.pop()
                self.handed.add(at)
            yield Call(
                self.work,
                at,
                pickle.dumps(self.tasks[at]),
                end,
                stop,
                textwrap.shorten(str(self.tasks[at]), 60),
            )

    def work_here(self, deadline: Deadline) -> None:
        """Work on the tasks that wait, until none does or the deadline has expired."""
        while True:
            with self._lock:
                if deadline.expired:
                    self._waiting.clear()
                if not self._waiting:
                    return
                at = self._waiting.pop()
            result = self.work(self.tasks[at], deadline)
            with self._changed:
                self._finish(at, result)

    def own_deadline(self) -> Deadline:
        """The deadline for tasks here: an error elsewhere ends them too."""
        limit = None if self.deadline.seconds is None else self.deadline.remaining
        return Deadline(limit, _Failed(self))

    def collect(self, stop: Callable[[], None]) -> None:
        """Wait until all results are there or the deadline is long past; raise what failed."""
        given_up = float("inf")
        with self._changed:
            while self.handed and self.error is None and time.monotonic() < given_up:
                if self.deadline.expired and given_up == float("inf"):
                    stop()
                    given_up = time.monotonic() + PATIENCE
                self._changed.wait(_POLL)
        if self.error is not None:
            raise self.error

    def take(self, answer: Answer) -> None:
        """The answer of a worker, in another thread."""
        with self._changed:
            self.handed.discard(answer.at)
            if answer.begun:
                self._finish(answer.at, answer.result)
            self._changed.notify()

    def fail(self, error: BaseException) -> None:
        """What a worker or the caller's `done` raised, in another thread."""
        with self._changed:
            self.error = self.error or error
            self._changed.notify()

    def _finish(self, at: int, result: Any) -> None:
        self.results[at] = result
        self.done(at, result)


class _Failed:
    """Set once a board has failed or its own deadline was interrupted."""

    def __init__(self, board: "_Board[Any, Any]") -> None:
        self._board = board

    def is_set(self) -> bool:
        return self._board.error is not None or self._board.deadline.interrupted


def processes(workers: int | None, cluster: str | None) -> int:
    """How many processes work on this machine: all cores by default.

    Raises:
        UsageError: a number was given beside a cluster, which has workers of its own.
    """
    if workers is not None and cluster is not None:
        raise UsageError(
            f"{spelled('workers')} and {spelled('cluster')} exclude each other; the cluster has "
            "workers of its own"
        )
    return workers or available_cores()


@contextmanager
def _stop_file() -> Iterator[str]:
    """The path of a file that does not exist; it is removed where somebody made it."""
    path = os.path.join(tempfile.gettempdir(), f"gnc-stop-{uuid4().hex}")
    try:
        yield path
    finally:
        if os.path.exists(path):
            os.unlink(path)


def _touch(path: str) -> None:
    open(path, "w").close()


def _thread(target: Callable[..., None], *args: Any) -> threading.Thread:
    """Start a thread that hears no signals, so that processes it starts hear none."""

    def silent() -> None:
        if hasattr(signal, "pthread_sigmask"):
            # It unblocks the signals when it starts, so it starts first.
            with safe_path(), suppress(OSError):
                resource_tracker.ensure_running()
            heard = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
            signal.pthread_sigmask(signal.SIG_BLOCK, heard)
        target(*args)

    thread = threading.Thread(target=silent, daemon=True)
    thread.start()
    return thread
