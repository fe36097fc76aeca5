"""The workers beside this process: joblib's processes, the user's own joblib backend, or Dask's.

A worker process works with one BLAS thread, hears no signals (Ctrl-C reaches the whole process
group, and the parent alone decides), and leaves when its parent has died. It loads what its first
task needs: a search begins with tasks that can do without torch, which takes two seconds to load.
"""

import os
import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import Any, Protocol
from uuid import uuid4

from gnc_cli.errors import UnavailableError
from gnc_cli.parameters import spelled
from gnc_cli.runtime.calls import loaded
from gnc_cli.runtime.deadline import Deadline, Flag

PATIENCE = 3.0
"""Seconds that workers have for their partial results once the deadline has expired."""
_POLL = 0.05
"""Seconds between looks at a scheduler that has no workers yet."""
_LOOK = 0.005
"""Seconds between looks at the file that means stop, of some microseconds each."""
_DEATHS = 3
"""Calls of joblib in which a worker may die before the tasks are given up."""
_IDLE = 300
"""Seconds that an idle process stays."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_SAFE_PATH = "PYTHONSAFEPATH"
"""While this is set, Python starts without the current folder among the places of modules."""
_STARTING = threading.Lock()
_CONNECT = 5.0
"""Seconds for reaching a scheduler."""
_PROCESS = uuid4().hex
"""Of this process; a worker has its own."""


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


@dataclass(frozen=True)
class Answer:
    """What a worker returns for one task."""

    at: int
    begun: bool
    result: Any = None


@dataclass(frozen=True)
class Call:
    """One task with all that a worker needs for it."""

    work: Callable[[Any, Deadline], Any]
    at: int
    task: bytes
    """Pickled here: some backends hand out arrays that cannot be written to."""
    end: float | None
    """Of its time, by the clock of the day."""
    stop: str
    """The file that means stop."""
    name: str
    """Of the task, in messages."""
    parent: str = _PROCESS
    """The process that waits for the result; a thread of it may be the worker."""

    def __call__(self, *flags: Flag) -> Answer:
        """Work on it, here; the flags mean stop as well."""
        seconds = None if self.end is None else max(0.0, self.end - time.time())
        deadline = Deadline(seconds, _Stop(self.stop, flags))
        if deadline.expired:
            return Answer(self.at, begun=False)
        if _PROCESS != self.parent:
            _one_thread()
        return Answer(self.at, True, self.work(pickle.loads(self.task), deadline))


class Workers(Protocol):
    """Where tasks are worked on beside this process. All but `close` may be called in threads."""

    ahead: int
    """Tasks that workers take before this process takes one."""

    def load(self, over: threading.Event) -> None:
        """Start the workers; return once one can work."""

    def stream(
        self, calls: Iterator[Call], put: Callable[[Answer], None], over: threading.Event
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
        future = self._submit(_ready, over)
        if future is not None:
            future.result()

    def _submit(self, call: Callable[[], Any], over: threading.Event) -> Any:
        from joblib.externals.loky import get_reusable_executor

        with self._lock, safe_path():
            if over.is_set():
                return None
            executor = get_reusable_executor(
                self.ahead,
                timeout=_IDLE,
                initializer=_prepare,
                initargs=(os.getpid(),),
                env=dict.fromkeys((*_THREADS, _SAFE_PATH), "1"),
            )
            self._last = executor.submit(call)
            return self._last

    def stream(
        self, calls: Iterator[Call], put: Callable[[Answer], None], over: threading.Event
    ) -> None:
        from concurrent.futures import FIRST_COMPLETED, wait
        from concurrent.futures.process import BrokenProcessPool

        busy: dict[Any, Call] = {}
        again: Call | None = None
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
        for _ in self._results([_ready] * self._workers):
            pass

    def _results(self, calls: Iterable[Callable[[], Any]]) -> Iterable[Any]:
        from joblib import delayed

        return self._parallel(delayed(call)() for call in calls)

    def stream(
        self, calls: Iterator[Call], put: Callable[[Answer], None], over: threading.Event
    ) -> None:
        for answer in self._results(calls):
            put(answer)

    def stop(self) -> None:
        """Nothing: its workers see the file that means stop, or end their tasks unheard."""

    def close(self) -> None:
        """Nothing: the workers belong to whoever made the backend active."""


def joblib_workers(workers: int) -> Workers:
    """Workers of the active joblib backend: with loky one fewer, since this process works too."""
    from joblib.parallel import LokyBackend, get_active_backend

    backend = get_active_backend()[0]
    if isinstance(backend, LokyBackend):
        return _LokyWorkers(workers - 1)
    return _JoblibWorkers(workers, backend)


def end_workers() -> None:
    """End joblib's processes, idle or not; told to leave, they take a second or two."""
    from joblib.externals.loky import reusable_executor

    if reusable_executor._executor is not None:  # it would be made, only to be ended
        reusable_executor._executor.shutdown(kill_workers=True)


class DaskWorkers:
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
        while not self._client.nthreads():
            if over.wait(_POLL):
                return

    def stream(
        self, calls: Iterator[Call], put: Callable[[Answer], None], over: threading.Event
    ) -> None:
        from distributed import as_completed

        each = list(calls)
        self._futures = [self._client.submit(_call_on_dask, call, pure=False) for call in each]
        of = {future.key: call for future, call in zip(self._futures, each, strict=True)}
        for future in as_completed(self._futures, loop=self._client.loop):
            put(self._result(future, of[future.key]))

    def _result(self, future: Any, call: Call) -> Answer:
        from distributed import CancelledError, KilledWorker

        try:
            answer: Answer = future.result()
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
        self._client.close(timeout=PATIENCE)


def _call_on_dask(call: Call) -> Answer:
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


def _prepare(parent: int) -> None:
    """Make a process a worker, which leaves with its parent."""

    def leave_with_the_parent() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=leave_with_the_parent, daemon=True).start()


def _ready() -> None:
    """What a worker does first."""


def _one_thread() -> None:
    """Hold BLAS of this process and torch in this thread to one thread, for good."""
    _one_blas_thread()
    if torch := loaded("torch"):
        torch.set_num_threads(1)


@cache
def _one_blas_thread() -> None:
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
