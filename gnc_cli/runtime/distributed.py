"""Several processes on one task: `torchrun --nproc-per-node 2 -m gnc_cli ...`.

Only small objects and accumulated sums travel, so gloo of torch.distributed on the CPU is enough,
also next to a training run whose own group is nccl. A single process does not import torch here.

An error in one process is raised in all of them, and only the first process prints it.
"""

import atexit
import datetime
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from gnc_cli.errors import GncError, UnavailableError
from gnc_cli.runtime.threads import loaded

_T = TypeVar("_T")
_LONE_TIMEOUT = datetime.timedelta(seconds=10)
"""Longest wait of processes that torchrun did not start for each other: short, since the others
may not exist."""
_TORCHRUN_TIMEOUT = datetime.timedelta(minutes=5)
"""Longest wait under torchrun, which starts all processes, and ends all if one fails."""


@dataclass(frozen=True, eq=False)
class Processes(AbstractContextManager["Processes"]):
    """The processes that work together; each process holds one instance.

    Every method except the end of the `with` is collective: all processes call it, in the same
    order.

    Example:
        >>> with Processes.current() as processes:
        ...     processes.rank, processes.size, processes.all_gather("a")
        (0, 1, ['a'])
    """

    rank: int = 0
    """Rank of this process, from 0; rank 0 prints."""
    size: int = 1
    """Number of processes."""
    group: Any = None
    """The gloo group of all processes; None is the default group."""
    owns: str = ""
    """Part of torch.distributed that was set up here: `world` (all of it, which stays until the
    process ends, since it cannot be set up twice on one port), `group` (destroyed at the end of
    the `with`), or empty."""

    @classmethod
    def current(cls, device: Any = None) -> "Processes":
        """Return the processes of this run; start gloo if `torchrun` started this one.

        If torch.distributed runs already, it is used; if it has nccl alone, a gloo group of all its
        processes is added. Otherwise torchrun's environment decides (`started_by_torchrun`);
        without it this is the only process, and torch is not imported.

        Args:
            device: a CUDA device of this process alone, whose tensors travel over nccl.

        Raises:
            UnavailableError: the environment announces more processes, but they cannot connect.
        """
        dist = loaded("torch.distributed")
        if dist is not None and dist.is_available() and dist.is_initialized():
            rank, size = dist.get_rank(), dist.get_world_size()
            if "gloo" in dist.get_backend_config():
                return cls(rank, size)
            return cls(rank, size, dist.new_group(backend="gloo"), "group")
        return _start(device) if started_by_torchrun() else cls()

    @property
    def first(self) -> bool:
        """True if this is rank 0, which prints and writes for all."""
        return self.rank == 0

    def exchange(self, value: Any) -> Iterator[Any]:
        """Yield every process's `value` in order of rank, one in memory at a time.

        Every process must consume all of them. The order is the same everywhere, so that sums are
        equal to the last bit in every process.
        """
        if self.size == 1:
            yield value
            return
        import torch.distributed as dist

        for rank in range(self.size):
            box = [value if rank == self.rank else None]
            dist.broadcast_object_list(box, src=rank, group=self.group)
            yield box[0]

    def all_gather(self, value: Any) -> list[Any]:
        """Return every process's `value`, in order of rank, in every process."""
        return list(self.exchange(value))

    def __exit__(self, kind: object, *exception: object) -> None:
        """Close a group that was set up here, or wait until no process needs the world."""
        if self.owns == "group":
            import torch.distributed as dist

            dist.destroy_process_group(self.group)
        elif self.owns == "world" and kind is None:  # after an error the others may not come
            self.all_gather(None)


def run_on_first(processes: Processes, work: Callable[[], _T]) -> _T:
    """Return the first process's result of `work` in every process; all of them call this.

    No choice that depends on rounding or on a file system then differs between machines.
    """
    answer, error = _attempt(work) if processes.first else ([], None)
    _agree(processes, error)
    results: list[list[_T]] = processes.all_gather(answer)
    return next(part[0] for part in results if part)


def run_on_all(processes: Processes, work: Callable[[], _T]) -> _T:
    """Return this process's result of `work` once all processes have finished theirs.

    `work` must not be collective itself: a process that fails would leave the others waiting in it.
    """
    answer, error = _attempt(work)
    _agree(processes, error)
    return answer[0]


def _attempt(work: Callable[[], _T]) -> tuple[list[_T], Exception | None]:
    """Return the result as a list of one, or the error; a TimeoutError is an interruption."""
    try:
        return [work()], None
    except (GncError, TimeoutError) as error:
        return [], error


def _agree(processes: Processes, error: Exception | None) -> None:
    """Raise the error of the first process that has one in all processes."""
    first = next((e for e in processes.all_gather(error) if e is not None), None)
    if isinstance(first, GncError):
        first.silent = not processes.first
    if first is not None:
        raise first


def share(N: int, rank: int, size: int, step: int = 1) -> tuple[int, int]:
    """Return the rows (start, stop) of N that process `rank` takes: whole chunks of `step` rows.

    The shares of the `size` processes are consecutive, cover all rows, and differ by at most one
    chunk; with more processes than chunks some are empty.

    Example:
        >>> [share(10, rank, 2, step=4) for rank in range(2)]
        [(0, 4), (4, 10)]
    """
    chunks = -(-N // step)
    return min(N, rank * chunks // size * step), min(N, (rank + 1) * chunks // size * step)


def started_by_torchrun() -> bool:
    """Return True if this is one of several processes; a batch system sets only WORLD_SIZE."""
    size = os.environ.get("WORLD_SIZE", "")
    address = os.environ.get("RANK") and os.environ.get("MASTER_ADDR")
    return size.isdigit() and int(size) > 1 and bool(address)


def on_this_machine(name: str) -> int | None:
    """Return torchrun's LOCAL_RANK or LOCAL_WORLD_SIZE; None if it is not a number."""
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else None


def is_rank_zero() -> bool:
    """Return True if this process prints: of several under torchrun only the first one does."""
    return not started_by_torchrun() or os.environ["RANK"] == "0"


def _start(device: Any) -> Processes:
    """Start torch.distributed with the other processes that torchrun started."""
    announced = os.environ["WORLD_SIZE"]
    # Without torchrun the variables may be left over from another run.
    timeout = _TORCHRUN_TIMEOUT if "TORCHELASTIC_RUN_ID" in os.environ else _LONE_TIMEOUT
    import torch.distributed as dist
    from torch.distributed.rendezvous import rendezvous

    try:
        store, rank, size = next(rendezvous("env://", timeout=timeout))
        backend = "gloo" if device is None else "cpu:gloo,cuda:nccl"
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, device_id=device)
    except (RuntimeError, ValueError) as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UnavailableError(
            f"WORLD_SIZE={announced} announces several processes, but they did not connect "
            f"({first}); start all of them with torchrun, or unset WORLD_SIZE"
        ) from error
    atexit.register(dist.destroy_process_group)
    return Processes(dist.get_rank(), dist.get_world_size(), None, "world")
