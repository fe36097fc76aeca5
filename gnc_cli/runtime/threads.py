"""The device of numerical work, how many threads it deserves, and threads that share it; settings
of libraries, which a call changes for itself and restores.

A device is the user's `--device` as a torch device. torch is imported on use: commands that need
no tensor start without it.

The worker threads of OpenBLAS, MKL and OpenMP wait for each other in spinning barriers, some
hundred times a second. On cores shared with other work, two threads make small products 35 to 80
times slower than one; only work of several milliseconds per call is worth splitting inside BLAS.
Elsewhere each thread works on blocks of its own (`ThreadTeam`), with BLAS and torch
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
"""As a container sees its own."""
_WORTH_SPLITTING = 2e8
"""Floating-point operations in one call, about 5 ms on one core, that justify a second thread."""
_CHANGED = threading.Lock()
_GENERATOR = threading.RLock()
_RUNNING: set[threading.Thread] = set()
"""The threads with a call at work."""
_callers_dtype: Any = None
"""The default dtype of torch to which the last call returns; None where it is ours."""


def resolve_device(name: str) -> "torch.device":
    """The torch device called `auto`, `cpu`, `cuda` or `cuda:N`.

    `auto` is the first CUDA device where there is one, else the CPU.

    Raises:
        UnavailableError: no such device here; the message names those there are.

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
        why = "" if torch.version.cuda or count else " (this torch was built without CUDA)"
        raise UnavailableError(f"--device {name} is not available{why}; here: {names}")
    return torch.device("cuda", index)


def accelerator(name: str, *, worthwhile: bool = True) -> "torch.device | None":
    """The GPU to use for work that NumPy does otherwise; None for the CPU.

    torch is imported only where a GPU is asked for by name, or `auto` and likely to be there.

    Args:
        name: `auto`, `cpu`, `cuda` or `cuda:N`.
        worthwhile: the work is large enough for `auto` to move it to a GPU.

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
    """Cores this process may use: by its affinity mask and its container's quota, and
    OMP_NUM_THREADS where that is lower.
    """
    cores = min(process_cores(), _quota())
    wish = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return min(cores, max(1, int(wish))) if wish.isdigit() else cores


def _quota() -> int:
    """Cores' worth of time that a container may use (cgroup v2 or v1), rounded up."""
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
    """Number of BLAS or torch threads for calls of this size.

    Args:
        flops_per_call: floating-point operations of one call (a product of (m, k) and (k, n)
            counts 2 m k n).
        requested: the user's `--threads`, which always wins; None to choose.

    Example:
        >>> threads_for(1e6)
        1
        >>> threads_for(1e6, requested=3)
        3
    """
    if requested is not None:
        return requested
    return max(1, min(available_cores(), int(flops_per_call // _WORTH_SPLITTING)))


@contextmanager
def limit_threads(count: int) -> Iterator[int]:
    """Hold BLAS, OpenMP and (where it is loaded already) torch to `count` threads, then restore.

    Yields the number of torch's threads so far, 0 where torch is not loaded.

    Example:
        >>> with limit_threads(1):
        ...     pass
    """
    from threadpoolctl import threadpool_limits

    torch = loaded("torch")
    before = torch.get_num_threads() if torch is not None else 0
    with threadpool_limits(count):
        if torch is not None:
            torch.set_num_threads(count)
        try:
            yield before
        finally:
            torch = loaded("torch")
            if torch is not None:
                torch.set_num_threads(before or available_cores())


@contextmanager
def flush_denormals() -> Iterator[None]:
    """Treat denormal numbers as zero in this thread, where they cost twenty times more; restore.

    Example:
        >>> with flush_denormals():
        ...     sys.float_info.min / 2
        0.0
    """
    import torch

    before = sys.float_info.min / 2 == 0.0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


class ThreadTeam:
    """A context with `count` threads for torch; thread settings are restored on exit.

    Inside each thread, torch and BLAS run single-threaded.

    Args:
        threads: how many; None for the cores this process may use. A GPU needs one, which feeds it.
        device: where the tensors live.

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
        # A sharp softmax is made of vanishing numbers: as denormals they cost twenty times more.
        self._stack.enter_context(flush_denormals())
        self._pool: ThreadPoolExecutor | None = None
        # The calling thread works too, so that a team of one costs no thread at all.
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
        """`[task(0), ..., task(count - 1)]`, in parallel; the first exception is raised."""
        others = [self._pool.submit(task, w) for w in range(1, self.count)] if self._pool else []
        try:
            first = task(0)
        finally:
            # No task outlives the call, whatever happened to its neighbour.
            for other in others:
                other.exception()
        return [first, *(other.result() for other in others)]


def loaded(name: str) -> Any:
    """A module if this process uses it, whole even where another thread is loading it; or None.

    Example:
        >>> loaded("antigravity") is None
        True
    """
    return import_module(name) if sys.modules.get(name) is not None else None


@contextmanager
def default_settings() -> Iterator[None]:
    """Run a call under NumPy's and torch's default settings, whatever the caller's are; restore.

    The default dtype is one for all threads of a process: the last call at work restores it.
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
            if torch.get_default_device().type != "cpu":  # it slows every operation down
                stack.enter_context(torch.device("cpu"))
        yield


@contextmanager
def exclusive_generator(gpus: Sequence[Any] = ()) -> Iterator[None]:
    """Let one thread at a time seed torch's own generators and draw from them; restore them."""
    import torch

    with _GENERATOR, torch.random.fork_rng(devices=gpus):
        yield


@contextmanager
def _running(thread: threading.Thread, torch: Any) -> Iterator[None]:
    global _callers_dtype
    with _CHANGED:
        _RUNNING.add(thread)
        if torch is not None and torch.get_default_dtype() != torch.float32:
            _callers_dtype = torch.get_default_dtype()
            torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        with _CHANGED:
            _RUNNING.discard(thread)
            if not _RUNNING and _callers_dtype is not None:
                torch.set_default_dtype(_callers_dtype)
                _callers_dtype = None
