"""Independent tasks on every core of this machine, or on a cluster, through joblib or Dask.

A worker process loads its libraries with one BLAS thread, hears no signals (Ctrl-C reaches the
whole process group, and the parent alone decides), and leaves when its parent has died.
"""

import os
import pickle
import signal
import sys
import tempfile
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, islice
from multiprocessing import resource_tracker
from typing import Any, Generic, Protocol, TypeVar
from uuid import uuid4

from gnc_cli.errors import UnavailableError, UsageError
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline, Flag
from gnc_cli.runtime.threads import available_cores, limit_threads

T = TypeVar("T")
R = TypeVar("R")

_POLL = 0.05
"""Seconds between looks at the deadline while the workers are busy."""
_PATIENCE = 3.0
"""Seconds that workers have for their partial results once the deadline has expired."""
_LOOK = 0.005
"""Seconds between looks at the file that means stop, of some microseconds each."""
_DEATHS = 3
"""Calls of joblib in which a worker may die before the tasks are given up."""
_IDLE = 300
"""Seconds that an idle process stays."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_CONNECT = 5.0
"""Seconds for reaching a scheduler."""
_PROCESS = uuid4().hex
"""Of this process; a worker has its own."""


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
        self._workers: _Workers | None = None
        self._warming: threading.Thread | None = None
        self._warm = threading.Event()
        self._closed = threading.Event()

    def __enter__(self) -> "Pool":
        if self.cluster is not None:
            self._workers = _DaskWorkers(self.cluster)
        elif self.workers > 1:
            self._workers = _joblib_workers(self.workers)
        return self

    def __exit__(self, *_: object) -> None:
        if self._workers is not None:
            self._closed.set()
            if self._warming is not None and not self.ready:
                self._workers.stop()
                self._warming.join(_PATIENCE)
            self._workers.close()

    @property
    def ready(self) -> bool:
        """Whether tasks given to `run` begin at once: workers have started, or none are used."""
        return self._workers is None or self._warm.is_set()

    def warm(self) -> None:
        """Begin to start the workers, which takes some three seconds, and return at once."""
        if self._workers is not None and self._warming is None:
            self._warming = _thread(self._start_workers, self._workers)

    def _start_workers(self, workers: "_Workers") -> None:
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

    def _share(self, board: "_Board[Any, Any]", workers: "_Workers", stop: str) -> None:
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
            server.join(_PATIENCE)


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

    def calls(self, stop: str) -> "Iterator[_Call]":
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
            yield _Call(
                self.work, at, pickle.dumps(self.tasks[at]), end, stop, _PROCESS,
                textwrap.shorten(str(self.tasks[at]), 60),
            )  # fmt: skip

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
                    given_up = time.monotonic() + _PATIENCE
                self._changed.wait(_POLL)
        if self.error is not None:
            raise self.error

    def take(self, answer: "_Answer") -> None:
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


@dataclass(frozen=True)
class _Answer:
    """What a worker returns for one task."""

    at: int
    begun: bool
    result: Any = None


@dataclass(frozen=True)
class _Call:
    """One task with all that a worker needs for it."""

    work: Callable[[Any, Deadline], Any]
    at: int
    task: bytes
    """Pickled here: some backends hand out arrays that cannot be written to."""
    end: float | None
    """Of its time, by the clock of the day."""
    stop: str
    """The file that means stop."""
    parent: str
    """The process that waits for the result; a thread of it may be the worker."""
    name: str
    """Of the task, in messages."""

    def __call__(self, *flags: Flag) -> _Answer:
        """Work on it, here; the flags mean stop as well."""
        seconds = None if self.end is None else max(0.0, self.end - time.time())
        deadline = Deadline(seconds, _Stop(self.stop, flags))
        if deadline.expired:
            return _Answer(self.at, begun=False)
        if _PROCESS != self.parent:
            _one_thread()
        return _Answer(self.at, True, self.work(pickle.loads(self.task), deadline))


class _Workers(Protocol):
    """Where tasks are worked on beside this process. All but `close` may be called in threads."""

    ahead: int
    """Tasks that workers take before this process takes one."""

    def load(self, over: threading.Event) -> None:
        """Start the workers and load their libraries."""

    def stream(
        self, calls: Iterator[_Call], put: Callable[[_Answer], None], over: threading.Event
    ) -> None:
        """Work on the calls, and hand over each answer as it arrives."""

    def stop(self) -> None:
        """End what is still at work, once `over` is set: nothing new begins."""

    def close(self) -> None:
        """Give back what this pool alone holds."""


class _LokyWorkers:
    """Processes of joblib's executor (loky), which keeps them for the next pool."""

    def __init__(self, processes: int) -> None:
        self.ahead = processes
        self._lock = threading.Lock()
        self._last: Any = None
        """What was submitted last."""
        # Said, by a thread of loky, where a worker has grown and another takes its place, at no
        # harm to the tasks.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")

    def load(self, over: threading.Event) -> None:
        for future in [self._submit(_load, over) for _ in range(self.ahead)]:
            if future is not None:
                future.result()

    def _submit(self, call: Callable[[], Any], over: threading.Event) -> Any:
        from joblib.externals.loky import get_reusable_executor

        with self._lock:
            if over.is_set():
                return None
            executor = get_reusable_executor(
                self.ahead, timeout=_IDLE, initializer=_prepare, initargs=(os.getpid(),),
                env=dict.fromkeys(_THREADS, "1"),
            )  # fmt: skip
            self._last = executor.submit(call)
            return self._last

    def stream(
        self, calls: Iterator[_Call], put: Callable[[_Answer], None], over: threading.Event
    ) -> None:
        from concurrent.futures import FIRST_COMPLETED, wait
        from concurrent.futures.process import BrokenProcessPool

        busy: dict[Any, _Call] = {}
        again: _Call | None = None
        deaths = 0
        while not over.is_set():
            try:
                for call in islice(calls, self.ahead - len(busy)):
                    again = call  # where the submission finds all workers dead
                    busy[self._submit(call, over)] = call
                    again = None
                if not busy or None in busy:
                    return
                for future in wait(busy, return_when=FIRST_COMPLETED).done:
                    put(future.result())
                    del busy[future]
            except BrokenProcessPool:
                # One dead worker ends all; what they were at is begun anew.
                deaths += 1
                lost = [*busy.values(), *([again] if again is not None else [])]
                if deaths == _DEATHS:
                    names = " or ".join(call.name for call in lost)
                    raise UnavailableError(
                        f"a worker died at {names}, {deaths} times; is memory short? "
                        f"use fewer {spelled('workers')}"
                    ) from None
                calls, busy, again = chain(lost, calls), {}, None

    def stop(self) -> None:
        with self._lock:
            # Killed before it has taken up what was submitted last, loky fails in a thread of its
            # own. It takes tasks up in their order, within a moment.
            given_up = time.monotonic() + 1.0
            while self._last is not None and time.monotonic() < given_up:
                if self._last.running() or self._last.done():
                    break
                time.sleep(0.001)
            end_workers()

    def close(self) -> None:
        """Nothing: idle workers serve the next pool, and leave with this process."""


class _JoblibWorkers:
    """The workers of the backend that `joblib.parallel_config` has made active."""

    def __init__(self, workers: int, backend: Any) -> None:
        import joblib

        # Some (Ray) return all results together. Arrays are sent as copies: joblib's memory maps
        # cannot be written to. The active backend belongs to this thread, so it is read here.
        returned = "generator_unordered" if backend.supports_return_generator else "list"
        self._parallel = joblib.Parallel(
            n_jobs=workers, return_as=returned, batch_size=1, pre_dispatch="all", max_nbytes=None
        )
        self.ahead = sys.maxsize
        self._workers = workers

    def load(self, over: threading.Event) -> None:
        for _ in self._results([_load] * self._workers):
            pass

    def _results(self, calls: Iterable[Callable[[], Any]]) -> Iterable[Any]:
        from joblib import delayed

        return self._parallel(delayed(call)() for call in calls)

    def stream(
        self, calls: Iterator[_Call], put: Callable[[_Answer], None], over: threading.Event
    ) -> None:
        for answer in self._results(calls):
            put(answer)

    def stop(self) -> None:
        """Nothing: its workers see the file that means stop, or end their tasks unheard."""

    def close(self) -> None:
        """Nothing: the workers belong to whoever made the backend active."""


def _joblib_workers(workers: int) -> "_Workers":
    """This process is one of loky's workers; the user's own backend has them all."""
    from joblib.parallel import LokyBackend, get_active_backend

    backend = get_active_backend()[0]
    if isinstance(backend, LokyBackend):
        return _LokyWorkers(workers - 1)
    return _JoblibWorkers(workers, backend)


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


def end_workers() -> None:
    """End joblib's processes, idle or not; told to leave, they take a second or two."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor(reuse=True).shutdown(kill_workers=True)


class _DaskWorkers:
    """The workers of a Dask scheduler. One that dies costs its own task, which Dask runs again."""

    def __init__(self, address: str) -> None:
        self.ahead = sys.maxsize
        try:
            from distributed import Client
        except ImportError:
            raise UnavailableError(
                f"{spelled('cluster', address)} needs Dask; pip install 'gnc-cli[cluster]'"
            ) from None
        self.address = address
        try:
            self._client = Client(address, timeout=_CONNECT, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise UnavailableError(
                f"{spelled('cluster', address)}: no scheduler answers there "
                f"({_first_line(error)}); start one with `dask scheduler`"
            ) from None
        self._futures: list[Any] = []

    def load(self, over: threading.Event) -> None:
        while not (addresses := list(self._client.nthreads())):
            if over.wait(_POLL):
                return
        loads = [
            self._client.submit(_load, workers=[address], allow_other_workers=True, pure=False)
            for address in addresses
        ]
        self._client.gather(loads)

    def stream(
        self, calls: Iterator[_Call], put: Callable[[_Answer], None], over: threading.Event
    ) -> None:
        from distributed import as_completed

        each = list(calls)
        self._futures = [self._client.submit(_call_on_dask, call, pure=False) for call in each]
        of = {future.key: call for future, call in zip(self._futures, each, strict=True)}
        for future in as_completed(self._futures, loop=self._client.loop):
            put(self._result(future, of[future.key]))

    def _result(self, future: Any, call: _Call) -> _Answer:
        from distributed import CancelledError, KilledWorker

        try:
            answer: _Answer = future.result()
        except KilledWorker:
            raise UnavailableError(
                f"{spelled('cluster', self.address)}: every worker died at {call.name}; is memory "
                "short? use fewer workers per machine"
            ) from None
        except CancelledError:
            raise UnavailableError(
                f"{spelled('cluster', self.address)}: the scheduler was lost; see its log"
            ) from None
        except ModuleNotFoundError as error:
            raise UnavailableError(
                f"{spelled('cluster', self.address)}: a worker lacks {error.name}; install "
                "gnc-cli there, in the same version"
            ) from error
        return answer

    def stop(self) -> None:
        self._client.cancel(self._futures, force=True)

    def close(self) -> None:
        self._client.close(timeout=_PATIENCE)


def _call_on_dask(call: _Call) -> _Answer:
    return call(_Cancelled())


class _Cancelled:
    """In a Dask worker: whether the task at work has been cancelled, by its own worker's books."""

    def __init__(self) -> None:
        from distributed import get_worker

        self._tasks = get_worker().state.tasks
        self._key = get_worker().get_current_task()

    def is_set(self) -> bool:
        task = self._tasks.get(self._key)
        return task is None or task.state == "cancelled"


class _Stop:
    """Set once a file is there or one of the flags is set; looks every few milliseconds."""

    def __init__(self, path: str, flags: tuple[Flag, ...]) -> None:
        self._path, self._flags = path, flags
        self._set = False
        self._next = 0.0

    def is_set(self) -> bool:
        if not self._set and (now := time.monotonic()) >= self._next:
            self._set = os.path.exists(self._path) or any(flag.is_set() for flag in self._flags)
            self._next = now + _LOOK
        return self._set


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
            resource_tracker.ensure_running()
            heard = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
            signal.pthread_sigmask(signal.SIG_BLOCK, heard)
        target(*args)

    thread = threading.Thread(target=silent, daemon=True)
    thread.start()
    return thread


def _prepare(parent: int) -> None:
    """Make a process a worker, which leaves with its parent."""

    def leave_with_the_parent() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=leave_with_the_parent, daemon=True).start()
    _load()


def _load() -> None:
    """Load what a search needs."""
    import geoopt  # noqa: F401
    import torch  # noqa: F401


def _one_thread() -> None:
    """Hold BLAS of this process and torch in this thread to one thread, for good."""
    import torch

    _one_blas_thread()
    torch.set_num_threads(1)


@cache
def _one_blas_thread() -> None:
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
