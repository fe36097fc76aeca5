"""Independent tasks in this process or in those of joblib's active backend.

The backend is joblib's own processes (loky), Dask behind `--cluster`, or what the caller made
active with `joblib.parallel_config` (Ray, threads). What a task ends in does not depend on where
it ran: every task has one thread of BLAS and torch.

A worker hears no signals, since Ctrl-C reaches the whole process group and the parent alone
decides. It imports nothing from the current folder, and leaves when its parent has died.
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
"""Processes are started for more seconds of work than this: each takes one until it can work."""
_PATIENCE = 3.0
"""Seconds that workers have for their partial results once the deadline has expired."""
_POLL = 0.05
"""Seconds between looks at the deadline while the workers are busy."""
_TRIALS = 3
"""Times that tasks are begun where workers die."""
_CONNECT = 5.0
"""Seconds for reaching a scheduler."""
_SAFE_PATH = "PYTHONSAFEPATH"
"""While this is set, Python starts without the current folder among the places of modules."""
_MOMENT = 0.1
"""Seconds in which loky takes up what was sent out: a thread of its own fails if killed before."""
_STARTING = threading.Lock()


class Pool:
    """Runs independent tasks side by side.

    Args:
        workers: processes; 1 for this one alone.
        cluster: address of a Dask scheduler, whose workers are used: `tcp://host:8786`.

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
        """Of joblib; None for this process."""
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
            self._client.close(timeout=_PATIENCE)

    def run(
        self, work: Callable[[T, Deadline], R], tasks: Sequence[T], deadline: Deadline
    ) -> Iterator[tuple[int, R]]:
        """`(index, work(task, its deadline))` for each task, in the order in which they end.

        Args:
            work: for other processes a function at the top level of a module; polls its deadline
                and then returns what it has.
            tasks: picklable; what `str` makes of one stands in error messages.
            deadline: no task is begun after it has expired. What has not arrived a few seconds
                later is given up, and at once after an interruption.

        Raises:
            UnavailableError: workers died repeatedly, or the cluster has none or was lost.
            Exception: the first that `work` raised; the other tasks are stopped.
        """
        with limit_threads(1):
            if self._backend is None:
                for at, task in enumerate(tasks):
                    if deadline.expired:
                        return
                    yield at, work(task, deadline)
                return
            left = dict(enumerate(tasks))
            for trial in range(1, _TRIALS + 1):
                begun: list[int] = []
                try:
                    for at, result in self._arriving(work, left, begun, deadline):
                        del left[at]
                        yield at, result
                    return
                except Exception as error:
                    names = (textwrap.shorten(str(left[at]), 60) for at in begun if at in left)
                    lost = " or ".join(islice(names, 3))
                    if self.cluster is not None:
                        raise _of_cluster(self.cluster, error, lost) from None
                    if not isinstance(error, BrokenExecutor):
                        raise
                    if trial == _TRIALS:
                        raise UnavailableError(
                            f"a worker died at {lost}, {trial} times; is memory short? "
                            f"use fewer {spelled('workers')}"
                        ) from None

    def _arriving(
        self,
        work: Callable[[Any, Deadline], Any],
        tasks: dict[int, Any],
        begun: list[int],
        deadline: Deadline,
    ) -> Iterator[tuple[int, Any]]:
        """The results of one call of joblib, made in a thread so that the deadline is polled here.

        Args:
            begun: takes the indices of tasks as they are sent out.
        """
        import joblib

        order, over = list(tasks), threading.Event()
        arrived: SimpleQueue[Any] = SimpleQueue()
        # Some backends (Ray) return all results together. Arrays travel in bytes: what joblib and
        # Dask hand out cannot be written to.
        parallel = joblib.Parallel(
            n_jobs=self.workers if self.cluster is None else -1,
            backend=self._backend,
            return_as="generator_unordered" if self._backend.supports_return_generator else "list",
            batch_size=1,
            pre_dispatch="n_jobs",  # a task's time counts from when it is sent out
            max_nbytes=None,
        )

        def calls() -> Iterator[Any]:
            for at in order:
                if over.is_set() or deadline.expired:
                    return
                begun.append(at)
                left = None if deadline.seconds is None else deadline.remaining
                yield joblib.delayed(_call)(work, at, pickle.dumps(tasks[at]), left)

        def collect() -> None:
            try:
                if not self._started:
                    list(parallel(joblib.delayed(os.getpid)() for _ in range(self.workers)))
                    self._started = True
                for answer in parallel(calls()):
                    arrived.put(answer)
                arrived.put(None)
            except BaseException as error:
                arrived.put(error)

        thread = _thread(collect)
        try:
            while (answer := self._next(arrived, deadline)) is not None:
                if isinstance(answer, BaseException):
                    raise answer
                yield answer
        finally:
            over.set()
            thread.join(_MOMENT)
            if thread.is_alive() and self._client is None:
                end_workers()
                thread.join(_PATIENCE)

    def _next(self, arrived: "SimpleQueue[Any]", deadline: Deadline) -> Any:
        """What arrives next; None where the deadline was interrupted or expired long ago."""
        while True:
            with suppress(Empty):
                return arrived.get(timeout=_POLL)
            late = deadline.seconds is not None and deadline.elapsed > deadline.seconds + _PATIENCE
            if late or deadline.interrupted:
                return None


def processes(workers: int | None, cluster: str | None) -> int:
    """How many processes work on this machine: all cores by default.

    Raises:
        UsageError: a number was given beside a cluster, which has workers of its own.
    """
    if workers is not None and cluster is not None:
        raise excludes("workers", spelled("cluster"), "the cluster has workers of its own")
    return workers or available_cores()


def end_workers() -> None:
    """End joblib's processes, idle or not; by themselves they take a second or two to leave."""
    from joblib.externals.loky import reusable_executor

    if reusable_executor._executor is not None:  # it would be made, only to be ended
        reusable_executor._executor.shutdown(kill_workers=True)


def _call(
    work: Callable[[Any, Deadline], R], at: int, task: bytes, seconds: float | None
) -> tuple[int, R]:
    """One task, in a worker; its time counts from here, whatever the clocks of the machines."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    if torch := loaded("torch"):
        torch.set_num_threads(1)
    return at, work(pickle.loads(task), Deadline(seconds))


def _active_backend() -> Any:
    """The caller's joblib backend, or processes of joblib that keep apart from this one's folder
    and signals.
    """
    from joblib.parallel import LokyBackend, get_active_backend

    class SafeLoky(LokyBackend):
        def _prepare_worker_env(self, n_jobs: int) -> dict[str, str]:
            return {**super()._prepare_worker_env(n_jobs), _SAFE_PATH: "1"}

    active = get_active_backend()[0]
    if not isinstance(active, LokyBackend):
        return active
    # Said, by a thread of loky, where a worker has grown and another takes its place, at no harm
    # to the tasks.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
    return SafeLoky(
        nesting_level=0,
        inner_max_num_threads=1,
        initializer=_watch_parent,
        initargs=(os.getpid(),),
    )


def _watch_parent(parent: int) -> None:
    """Let a worker leave once its parent has died, and the parent alone decide on Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _thread(target: Callable[[], None]) -> threading.Thread:
    """Start a thread that hears no signals, so that processes it starts hear none."""

    def run_without_signals() -> None:
        if sys.platform != "win32":
            from joblib.externals.loky.backend import resource_tracker as of_loky

            from gnc_cli.runtime.system import block_signals

            # They unblock the signals when they start, so they start first.
            with safe_path(), suppress(OSError):
                resource_tracker.ensure_running()
                of_loky.ensure_running()
            block_signals()
        target()

    thread = threading.Thread(target=run_without_signals, daemon=True)
    thread.start()
    return thread


@contextmanager
def safe_path() -> Iterator[None]:
    """Processes that are started within the block import nothing from the current folder."""
    with _STARTING:
        before = os.environ.get(_SAFE_PATH)
        os.environ[_SAFE_PATH] = "1"
        try:
            yield
        finally:
            del os.environ[_SAFE_PATH]
            if before is not None:
                os.environ[_SAFE_PATH] = before


def _dask_client(address: str) -> Any:
    distributed = import_extra("distributed", spelled("cluster", address), "cluster")
    try:
        return distributed.Client(address, timeout=_CONNECT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UnavailableError(
            f"{spelled('cluster', address)}: no scheduler answers there ({reason}); start one with "
            "`dask scheduler`"
        ) from None


def _dask_backend(client: Any) -> Any:
    from joblib._dask import DaskDistributedBackend

    class Dask(DaskDistributedBackend):
        """Hands on what joblib would wait for: tasks that Dask gave up, a lost scheduler."""

        def submit(self, func: Any, callback: Any = None) -> Any:
            future = super().submit(func, callback)
            future.add_done_callback(lambda done: done.exception() and callback(done.exception()))
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, BaseException):
                raise out
            return super().retrieve_result_callback(out)

    return Dask(client=client)


def _of_cluster(address: str, error: Exception, lost: str) -> Exception:
    """What became of tasks on a cluster, in a line; a task's own error as it is.

    Args:
        lost: the tasks that were under way.
    """
    from distributed import CancelledError, KilledWorker

    cluster = spelled("cluster", address)
    if isinstance(error, KilledWorker):
        return UnavailableError(
            f"{cluster}: every worker died at {lost}; is memory short? use fewer workers per "
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
