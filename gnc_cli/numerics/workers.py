"""Threads that each work on their own blocks, instead of all threads on every block.

Two OpenMP threads that share one product meet at a barrier some hundred times a second, and on
shared cores they wait there for the scheduler (35 to 80 times slower, measured). Workers are plain
Python threads; inside each, torch and BLAS run single-threaded, and they meet once a pass.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped,unused-ignore]

from gnc_cli.numerics.threads import available_cores

__all__ = ["Workers"]

T = TypeVar("T")


class Workers:
    """A context with `count` threads; the thread settings found on entry are put back on exit.

    Args:
        threads: how many; None for the cores this process may use. A GPU needs one, which feeds it.
        device: where the tensors live.

    Example:
        >>> with Workers(2) as workers:
        ...     workers.map(lambda worker: worker + 10)
        [10, 11]
    """

    def __init__(self, threads: int | None = None, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)
        threads = available_cores() if threads is None else threads
        self.count = max(1, threads) if self.device.type == "cpu" else 1

    def __enter__(self) -> "Workers":
        self._threads_before = torch.get_num_threads()
        self._blas: Any = threadpool_limits(1)
        torch.set_num_threads(1)
        # A sharp softmax is made of vanishing numbers: as denormals they cost twenty times more.
        # The setting belongs to a thread; off is the default, to which the exit returns.
        torch.set_flush_denormal(True)
        # The calling thread works too, so that one worker costs no thread at all.
        self._pool = (
            ThreadPoolExecutor(
                self.count - 1, initializer=torch.set_flush_denormal, initargs=(True,)
            )
            if self.count > 1
            else None
        )
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
        self._blas.restore_original_limits()
        torch.set_num_threads(self._threads_before)
        torch.set_flush_denormal(False)

    def map(self, task: Callable[[int], T]) -> list[T]:
        """`[task(0), ..., task(count - 1)]`, side by side; the first exception is raised."""
        others = [self._pool.submit(task, w) for w in range(1, self.count)] if self._pool else []
        try:
            first = task(0)
        finally:
            # No task outlives the call, whatever happened to its neighbour.
            for other in others:
                other.exception()
        return [first, *(other.result() for other in others)]
