"""Independent tasks in this process or in those of joblib's active backend.

The backend is joblib's own processes (loky), Dask behind `--cluster`, or what the caller made
active with `joblib.parallel_config` (Ray, threads). The result of a task does not depend on the
backend: every task has one thread of BLAS and torch.

A worker blocks signals: Ctrl-C reaches the whole process group, and only the parent decides. It
imports nothing from the current folder, and exits once its parent has died.
"""

import os
import pickle
import signal
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing import resource_tracker
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from gnc_cli.errors import UnavailableError, import_extra
from gnc_cli.parameters import excludes, spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.threads import available_cores, limit_threads, loaded

T = TypeVar("T")
R = TypeVar("R")

WORTH_PROCESSES = 3.0
"""Least seconds of work for which processes are started: each needs one until it can work."""
_RESULT_TIMEOUT = 3.0
"""Seconds in which workers return their partial results once the deadline has expired."""
_POLL = 0.05
"""Seconds between two checks of the deadline while the workers are busy."""
_MAX_TRIALS = 3
"""Attempts at tasks whose workers die: a second and a third one, since memory may be short for a
moment."""
_CONNECT_TIMEOUT = 5.0
"""Seconds in which a scheduler must answer."""
_SAFE_PATH = "PYTHONSAFEPATH"
"""Environment variable that keeps the current folder out of Python's module search path."""
_LOKY_DELAY = 0.1
"""Seconds in which loky accepts its tasks: its own thread fails if killed earlier."""
_ENVIRONMENT_LOCK = threading.Lock()
"""Lock of the environment while `safe_path` has changed it."""


class Pool:
    """Runs independent tasks in parallel.

    Args:
        workers: number of processes; 1 for this process alone.
        cluster: address of a Dask scheduler whose workers are used: `tcp://host:8786`.

    Raises:
        UnavailableError: on entry: Dask is not installed, or no scheduler answers.

    Example:
        >>> with Pool() as pool:
        ...     list(pool.run(lambda task, deadline: task + 10, [1, 2], Deadline()))
        [(0, 11), (1, 12)]
    """

    def __init__(self, workers: int = 1, cluster: str | None = None) -> None:
        self.workers = workers
        self.cluster = cluster
        self._client: Any = None
        self._backend: Any = None
        """Backend of joblib; None for this process."""
        self._started = False

    def __enter__(self) -> "Pool":
        if self.cluster is not None:
            self._client = _dask_client(self.cluster)
            self._backend = _dask_backend(self._client)
        elif self.workers > 1:
            self._backend = _active_backend()
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close(timeout=_RESULT_TIMEOUT)

    def run(
        self, work: Callable[[T, Deadline], R], tasks: Sequence[T], deadline: Deadline
    ) -> Iterator[tuple[int, R]]:
        """Yield `(index, work(task, its deadline))` of each task, in the order in which they end.

        Args:
            work: for other processes a function at the top level of a module; polls its deadline
                and returns its partial result once that expires.
            tasks: picklable; error messages show `str(task)`.
            deadline: no task starts after it has expired. A result that is missing a few seconds
                later is dropped; after an interruption at once.

        Raises:
            UnavailableError: workers died repeatedly, or the cluster has none or was lost.
            Exception: the first that `work` raised; the other tasks are stopped.
        """
        with limit_threads(1):
            if self._backend is None:
                for index, task in enumerate(tasks):
                    if deadline.expired:
                        return
                    yield index, work(task, deadline)
                return
            waiting = dict(enumerate(tasks))
            for trial in range(1, _MAX_TRIALS + 1):
                dispatched: list[int] = []
                try:
                    for index, result in self._results(work, waiting, dispatched, deadline):
                        del waiting[index]
                        yield index, result
                    return
                except Exception as error:
                    texts = (str(waiting[index]) for index in dispatched if index in waiting)
                    victims = " or ".join(textwrap.shorten(t, 60) for t in islice(texts, 3))
                    if self.cluster is not None:
                        raise _cluster_error(self.cluster, error, victims) from None
                    if not isinstance(error, BrokenExecutor):
                        raise
                    if trial == _MAX_TRIALS:
                        raise UnavailableError(
                            f"a worker died at {victims}, {trial} times; is memory short? "
                            f"use fewer {spelled('workers')}"
                        ) from None

    def _results(
        self,
        work: Callable[[Any, Deadline], Any],
        tasks: dict[int, Any],
        dispatched: list[int],
        deadline: Deadline,
    ) -> Iterator[tuple[int, Any]]:
        """Yield the results of one call of joblib in a thread, so that this one polls the deadline.

        Args:
            work: as in `run`.
            tasks: index -> task.
            dispatched: receives the indices of tasks as they are sent out.
            deadline: as in `run`.
        """
        import joblib

        order, finished = list(tasks), threading.Event()
        answers: SimpleQueue[Any] = SimpleQueue()
        # Some backends (Ray) return all results together. Arrays travel as bytes: those that joblib
        # and Dask pass on are read-only.
        parallel = joblib.Parallel(
            n_jobs=self.workers if self.cluster is None else -1,
            backend=self._backend,
            return_as="generator_unordered" if self._backend.supports_return_generator else "list",
            batch_size=1,
            pre_dispatch="n_jobs",  # a task's time counts from when it is sent out
            max_nbytes=None,
        )

        def calls() -> Iterator[Any]:
            for index in order:
                if finished.is_set() or deadline.expired:
                    return
                dispatched.append(index)
                seconds = None if deadline.seconds is None else deadline.remaining
                yield joblib.delayed(_call)(work, index, pickle.dumps(tasks[index]), seconds)

        def collect() -> None:
            try:
                if not self._started:
                    list(parallel(joblib.delayed(os.getpid)() for _ in range(self.workers)))
                    self._started = True
                for answer in parallel(calls()):
                    answers.put(answer)
                answers.put(None)
            except BaseException as error:
                answers.put(error)

        thread = _start_thread(collect)
        try:
            while (answer := self._next(answers, deadline)) is not None:
                if isinstance(answer, BaseException):
                    raise answer
                yield answer
        finally:
            finished.set()
            thread.join(_LOKY_DELAY)
            if thread.is_alive() and self._client is None:
                end_workers()
                thread.join(_RESULT_TIMEOUT)

    def _next(self, answers: "SimpleQueue[Any]", deadline: Deadline) -> Any:
        """Return the next answer; None after an interruption, or if it comes too late."""
        while True:
            with suppress(Empty):
                return answers.get(timeout=_POLL)
            overdue = deadline.elapsed - _RESULT_TIMEOUT
            if deadline.interrupted or (
                deadline.seconds is not None and overdue > deadline.seconds
            ):
                return None


def processes(workers: int | None, cluster: str | None) -> int:
    """Return the number of processes on this machine: one per core by default.

    Raises:
        UsageError: both are given, but a cluster has workers of its own.
    """
    if workers is not None and cluster is not None:
        raise excludes("workers", spelled("cluster"), "the cluster has workers of its own")
    return workers or available_cores()


def end_workers() -> None:
    """End joblib's processes, idle or not; by themselves they need a second or two to exit."""
    from joblib.externals.loky import reusable_executor

    if reusable_executor._executor is not None:  # the public function would create one
        reusable_executor._executor.shutdown(kill_workers=True)


def _call(
    work: Callable[[Any, Deadline], R], index: int, task: bytes, seconds: float | None
) -> tuple[int, R]:
    """Run one task in a worker; its time counts from here, since clocks of machines differ."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    if torch := loaded("torch"):
        torch.set_num_threads(1)
    return index, work(pickle.loads(task), Deadline(seconds))


def _active_backend() -> Any:
    """Return the caller's joblib backend, or loky with workers that ignore folder and signals."""
    from joblib.parallel import LokyBackend, get_active_backend

    class SafeLoky(LokyBackend):
        def _prepare_worker_env(self, n_jobs: int) -> dict[str, str]:
            return {**super()._prepare_worker_env(n_jobs), _SAFE_PATH: "1"}

    active = get_active_backend()[0]
    if not isinstance(active, LokyBackend):
        return active
    # A thread of loky warns of this when it replaces a worker that has grown; no task is harmed.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
    return SafeLoky(
        nesting_level=0,
        inner_max_num_threads=1,
        initializer=_watch_parent,
        initargs=(os.getpid(),),
    )


def _watch_parent(parent: int) -> None:
    """Watch the parent in a worker: exit once it is dead, and leave Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _start_thread(target: Callable[[], None]) -> threading.Thread:
    """Start a thread that blocks signals, so that the processes it starts block them too."""

    def run_without_signals() -> None:
        if sys.platform != "win32":
            from joblib.externals.loky.backend import resource_tracker as loky_tracker

            from gnc_cli.runtime.system import block_signals

            # The trackers unblock the signals when they start, so they start first.
            with safe_path(), suppress(OSError):
                resource_tracker.ensure_running()
                loky_tracker.ensure_running()
            block_signals()
        target()

    thread = threading.Thread(target=run_without_signals, daemon=True)
    thread.start()
    return thread


@contextmanager
def safe_path() -> Iterator[None]:
    """Keep processes that start within the block from importing from the current folder."""
    with _ENVIRONMENT_LOCK:
        earlier = os.environ.get(_SAFE_PATH)
        os.environ[_SAFE_PATH] = "1"
        try:
            yield
        finally:
            del os.environ[_SAFE_PATH]
            if earlier is not None:
                os.environ[_SAFE_PATH] = earlier


def _dask_client(address: str) -> Any:
    distributed = import_extra("distributed", spelled("cluster", address), "cluster")
    try:
        return distributed.Client(address, timeout=_CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UnavailableError(
            f"{spelled('cluster', address)}: no scheduler answers there ({reason}); start one with "
            "`dask scheduler`"
        ) from None


def _dask_backend(client: Any) -> Any:
    from joblib._dask import DaskDistributedBackend

    class Dask(DaskDistributedBackend):
        """Passes on errors that joblib would wait for: dropped tasks, a lost scheduler."""

        def submit(self, func: Any, callback: Any = None) -> Any:
            future = super().submit(func, callback)
            future.add_done_callback(lambda task: task.exception() and callback(task.exception()))
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, BaseException):
                raise out
            return super().retrieve_result_callback(out)

    return Dask(client=client)


def _cluster_error(address: str, error: Exception, tasks: str) -> Exception:
    """Return the error of a cluster with a message of one line; a task's own error unchanged.

    Args:
        address: address of the scheduler.
        error: raised by Dask or by a task.
        tasks: names the tasks that were running.
    """
    from distributed import CancelledError, KilledWorker

    cluster = spelled("cluster", address)
    if isinstance(error, KilledWorker):
        return UnavailableError(
            f"{cluster}: every worker died at {tasks}; is memory short? use fewer workers per "
            "machine"
        )
    if isinstance(error, CancelledError):
        return UnavailableError(f"{cluster}: the scheduler was lost; see its log")
    if isinstance(error, TimeoutError):
        return UnavailableError(
            f"{cluster}: the scheduler has no workers; start some with `dask worker {address}`"
        )
    if isinstance(error, ModuleNotFoundError):
        return UnavailableError(
            f"{cluster}: a worker lacks {error.name}; install gnc-cli there, in the same version"
        )
    return error
