"""Device and threads of numerical work; settings of libraries that a call changes and restores.

A device is the user's `--device` as a torch device. torch is imported on first use: commands that
need no tensor start without it.

The worker threads of OpenBLAS, MKL and OpenMP wait for each other in spinning barriers, some
hundred times a second. On cores shared with other work, two threads make small products 35 to 80
times slower than one; only work of several milliseconds per call is worth splitting inside BLAS.
For smaller calls each thread works on its own blocks (`ThreadTeam`), with BLAS and torch
single-threaded.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gnc_cli.errors import UnavailableError
from gnc_cli.runtime.system import GPU_DRIVERS, process_cores

if TYPE_CHECKING:
    import torch

T = TypeVar("T")

_CGROUP = Path("/sys/fs/cgroup")
"""Folder of this process's cgroup, as a container sees it."""
_SPLIT_FLOPS = 2e8
"""Floating-point operations of one call, about 5 ms on one core, that justify a second thread."""
_DTYPE_LOCK = threading.Lock()
"""Lock of the two values below and of torch's default dtype."""
_GENERATOR_LOCK = threading.RLock()
"""Lock of torch's random generators."""
_RUNNING: set[threading.Thread] = set()
"""The threads that run a call."""
_callers_dtype: Any = None
"""Default dtype of torch that the last call restores; None if it is float32."""


def resolve_device(name: str) -> "torch.device":
    """Return the torch device called `auto`, `cpu`, `cuda` or `cuda:N`.

    `auto` is the first CUDA device if there is one, else the CPU.

    Raises:
        UnavailableError: there is no such device; the message lists the existing ones.

    Example:
        >>> resolve_device("cpu")
        device(type='cpu')
    """
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "cpu" or (name == "auto" and count == 0):
        return torch.device("cpu")
    index = int(name.partition(":")[2] or 0)
    if index >= count:
        names = ", ".join(["cpu", *(f"cuda:{i}" for i in range(count))])
        reason = "" if torch.version.cuda or count else " (this torch was built without CUDA)"
        raise UnavailableError(f"--device {name} is not available{reason}; here: {names}")
    return torch.device("cuda", index)


def accelerator(name: str, *, worthwhile: bool = True) -> "torch.device | None":
    """Return the GPU for work that can run on one; None for NumPy on the CPU.

    torch is imported only if a GPU is named, or if the name is `auto` and a GPU is likely.

    Args:
        name: `auto`, `cpu`, `cuda` or `cuda:N`.
        worthwhile: True if the work is large enough for `auto` to move it to a GPU.

    Raises:
        UnavailableError: as `resolve_device`.

    Example:
        >>> accelerator("cpu") is None
        True
    """
    if name == "cpu" or (name == "auto" and not (worthwhile and _gpu_is_likely())):
        return None
    device = resolve_device(name)
    return None if device.type == "cpu" else device


def _gpu_is_likely() -> bool:
    torch = loaded("torch")
    if torch is not None:
        return bool(torch.cuda.is_available())
    return any(Path(driver).exists() for driver in GPU_DRIVERS)


def available_cores() -> int:
    """Return the number of cores that this process may use.

    Its affinity mask, its container's quota and OMP_NUM_THREADS limit it.
    """
    cores = min(process_cores(), _quota())
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return min(cores, max(1, int(limit))) if limit.isdigit() else cores


def _quota() -> int:
    """Return the number of cores of a container's quota (cgroup v2 or v1), rounded up."""
    try:
        if (_CGROUP / "cpu.max").exists():
            quota, period = (_CGROUP / "cpu.max").read_text("ascii").split()
        else:
            quota, period = (
                (_CGROUP / "cpu" / f"cpu.cfs_{name}_us").read_text("ascii")
                for name in ("quota", "period")
            )
        return max(1, -(-int(quota) // int(period))) if int(quota) > 0 else sys.maxsize
    except (OSError, ValueError):  # no container, or no quota: "max"
        return sys.maxsize


def threads_for(flops_per_call: float, requested: int | None = None) -> int:
    """Return the number of BLAS or torch threads for calls of this size.

    Args:
        flops_per_call: floating-point operations of one call (a product of (m, k) and (k, n)
            counts 2 m k n).
        requested: the user's `--threads`, which always applies; None to choose by size.

    Example:
        >>> threads_for(1e6)
        1
        >>> threads_for(1e6, requested=3)
        3
    """
    if requested is not None:
        return requested
    return max(1, min(available_cores(), int(flops_per_call // _SPLIT_FLOPS)))


@contextmanager
def limit_threads(count: int) -> Iterator[int]:
    """Limit BLAS, OpenMP and torch, if it is loaded, to `count` threads, then restore.

    Yields the earlier number of torch's threads, 0 if torch is not loaded.

    Example:
        >>> with limit_threads(1):
        ...     pass
    """
    from threadpoolctl import threadpool_limits

    torch = loaded("torch")
    earlier = torch.get_num_threads() if torch is not None else 0
    with threadpool_limits(count):
        if torch is not None:
            torch.set_num_threads(count)
        try:
            yield earlier
        finally:
            torch = loaded("torch")
            if torch is not None:
                torch.set_num_threads(earlier or available_cores())


@contextmanager
def flush_denormals() -> Iterator[None]:
    """Treat denormal numbers, which cost twenty times more, as zero in this thread; then restore.

    Example:
        >>> with flush_denormals():
        ...     sys.float_info.min / 2
        0.0
    """
    import torch

    flushed = sys.float_info.min / 2 == 0.0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(flushed)


class ThreadTeam:
    """A context with `count` threads for torch; thread settings are restored on exit.

    Inside each thread, torch and BLAS run single-threaded.

    Args:
        threads: number of threads; None for one per core. A GPU has one, which feeds it.
        device: device of the tensors.

    Example:
        >>> with ThreadTeam(2) as team:
        ...     team.map(lambda thread: thread + 10)
        [10, 11]
    """

    def __init__(self, threads: int | None = None, device: "torch.device | str" = "cpu") -> None:
        import torch

        self.device = torch.device(device)
        threads = available_cores() if threads is None else threads
        self.count = max(1, threads) if self.device.type == "cpu" else 1

    def __enter__(self) -> "ThreadTeam":
        from concurrent.futures import ThreadPoolExecutor

        self._stack = ExitStack()
        self._stack.enter_context(limit_threads(1))
        # Most terms of a sharp softmax vanish, and would be denormal.
        self._stack.enter_context(flush_denormals())
        self._pool: ThreadPoolExecutor | None = None
        # The calling thread works too, so that a team of one starts no thread.
        if self.count > 1:
            import torch

            pool = ThreadPoolExecutor(
                self.count - 1, initializer=torch.set_flush_denormal, initargs=(True,)
            )
            self._pool = self._stack.enter_context(pool)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def map(self, task: Callable[[int], T]) -> list[T]:
        """Return `[task(0), ..., task(count - 1)]`, in parallel; raise the first exception."""
        others = [self._pool.submit(task, w) for w in range(1, self.count)] if self._pool else []
        try:
            first = task(0)
        finally:
            # No task outlives the call, even if another one has failed.
            for other in others:
                other.exception()
        return [first, *(other.result() for other in others)]


def loaded(name: str) -> Any:
    """Return a module that this process has imported, or None; wait for a thread that imports it.

    Example:
        >>> loaded("antigravity") is None
        True
    """
    return import_module(name) if sys.modules.get(name) is not None else None


@contextmanager
def default_settings() -> Iterator[None]:
    """Run a call under the default settings of NumPy and torch, then restore the caller's.

    All threads share the default dtype: the last running call restores it.
    """
    thread = threading.current_thread()
    if thread in _RUNNING:  # a call within a call
        yield
        return
    numpy, torch = loaded("numpy"), loaded("torch")
    with ExitStack() as stack:
        stack.enter_context(_running(thread, torch))
        if numpy is not None:
            stack.enter_context(numpy.errstate(all="warn", under="ignore"))
        if torch is not None:
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.enable_grad())
            for device in filter(torch.is_autocast_enabled, ("cpu", "cuda")):
                stack.enter_context(torch.autocast(device, enabled=False))
            if torch.get_default_device().type != "cpu":  # setting it slows every operation down
                stack.enter_context(torch.device("cpu"))
        yield


@contextmanager
def exclusive_generator(gpus: Sequence[Any] = ()) -> Iterator[None]:
    """Reserve torch's global generators for one thread, which may seed them; then restore them.

    Args:
        gpus: CUDA devices whose generators are restored too.
    """
    import torch

    with _GENERATOR_LOCK, torch.random.fork_rng(devices=gpus):
        yield


@contextmanager
def _running(thread: threading.Thread, torch: Any) -> Iterator[None]:
    global _callers_dtype
    with _DTYPE_LOCK:
        _RUNNING.add(thread)
        if torch is not None and torch.get_default_dtype() != torch.float32:
            _callers_dtype = torch.get_default_dtype()
            torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        with _DTYPE_LOCK:
            _RUNNING.discard(thread)
            if not _RUNNING and _callers_dtype is not None:
                torch.set_default_dtype(_callers_dtype)
                _callers_dtype = None
