"""How many threads a piece of numerical work deserves.

The worker threads of OpenBLAS, MKL and OpenMP wait for each other in spinning barriers. On cores
shared with other work, two threads make small products 35 to 80 times slower than one; only work
of several milliseconds a call is worth splitting.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gnc_cli.errors import UsageError

__all__ = ["available_cores", "limit_threads", "threads_for"]

_WORTH_SPLITTING = 2e8
"""Floating-point operations in one call, about 5 ms on one core, that justify a second thread."""


def available_cores() -> int:
    """Cores this process may use: its affinity mask, and OMP_NUM_THREADS where that is lower."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    wish = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return min(cores, max(1, int(wish))) if wish.isdigit() else cores


def threads_for(flops_per_call: float, requested: int | None = None) -> int:
    """Number of BLAS or torch threads for calls of this size.

    Args:
        flops_per_call: floating-point operations of one call (a product of (m, k) and (k, n)
            counts 2 m k n).
        requested: the user's `--threads`, which always wins; None to choose.

    Raises:
        UsageError: fewer than one thread requested.

    Example:
        >>> threads_for(1e6)
        1
        >>> threads_for(1e6, requested=3)
        3
    """
    if requested is not None:
        if requested < 1:
            raise UsageError(f"--threads {requested}: at least one thread is needed")
        return requested
    return max(1, min(available_cores(), int(flops_per_call // _WORTH_SPLITTING)))


@contextmanager
def limit_threads(count: int) -> Iterator[None]:
    """Hold BLAS, OpenMP and (where it is loaded already) torch to `count` threads, then restore.

    Example:
        >>> with limit_threads(1):
        ...     pass
    """
    from threadpoolctl import threadpool_limits

    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else 0
    with threadpool_limits(count):
        if torch is not None:
            torch.set_num_threads(count)
        try:
            yield
        finally:
            if torch is not None:
                torch.set_num_threads(before)
