"""Several processes on one task: `torchrun --nproc-per-node 2 -m gnc_cli ...`.

Only small objects and accumulated sums travel, so gloo of torch.distributed on the CPU is enough,
also beside a training run whose own group is nccl. A single process never imports torch from here.

What one process cannot do, none of them can: the same error is raised in all, and the first alone
prints it.
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
_ALONE = datetime.timedelta(seconds=10)
"""How long the processes wait for each other where none of them was started by torchrun."""
_UNDER_TORCHRUN = datetime.timedelta(minutes=5)
"""The same under torchrun, which starts all of them, and ends all where one fails."""


@dataclass(frozen=True, eq=False)
class Processes(AbstractContextManager["Processes"]):
    """The processes that work together; each of them holds one.

    Every method but the end of the `with` is collective: all call it, in the same order.

    Example:
        >>> with Processes.current() as processes:
        ...     processes.rank, processes.size, processes.all_gather("a")
        (0, 1, ['a'])
    """

    rank: int = 0
    """Of this process, from 0; rank 0 is the one that prints."""
    size: int = 1
    """How many there are."""
    group: Any = None
    """The gloo group of all processes; None is the default group."""
    owns: str = ""
    """What was set up here: `world` (all of torch.distributed, which then stays up until the
    process ends, for it cannot be set up twice on one port), `group` (taken down at the end of the
    `with`), or nothing."""

    @classmethod
    def current(cls, device: Any = None) -> "Processes":
        """The processes around this one; starts gloo where `torchrun` started us.

        torch.distributed that runs already is used as it is; where it has no gloo (nccl alone) a
        gloo group of all its processes is made beside it. Otherwise torchrun's environment decides
        (`started_by_torchrun`); without it this is the only process, and torch is not imported.

        Args:
            device: a CUDA device of this process alone, whose tensors travel over nccl.

        Raises:
            UnavailableError: the environment announces more processes, but they cannot meet.
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
        """Whether this is rank 0, which prints and writes for all."""
        return self.rank == 0

    def each(self, value: Any) -> Iterator[Any]:
        """Every process's `value` in order of rank, one in memory at a time; take all of them.

        The same order everywhere, so that sums come out the same in every process.
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
        """Every process's `value`, in order of rank, in every process."""
        return list(self.each(value))

    def __exit__(self, kind: object, *exception: object) -> None:
        """Take down a group of ours; where the world is ours, wait until all are done with it."""
        if self.owns == "group":
            import torch.distributed as dist

            dist.destroy_process_group(self.group)
        elif self.owns == "world" and kind is None:  # after an error the others may not come
            self.all_gather(None)


def of_first(processes: Processes, work: Callable[[], _T]) -> _T:
    """What `work` gives in the first process, in every process; all of them call it.

    So that nothing which rounding or a file system decides differs between machines.
    """
    answer, error = _tried(work) if processes.first else ([], None)
    _agree(processes, error)
    return next(part[0] for part in processes.all_gather(answer) if part)


def in_all(processes: Processes, work: Callable[[], _T]) -> _T:
    """What `work` gives in this process, returned after all processes have done theirs.

    Work that is itself collective is not for this: a process that fails would leave the others
    waiting in it.
    """
    answer, error = _tried(work)
    _agree(processes, error)
    return answer[0]


def _tried(work: Callable[[], _T]) -> tuple[list[_T], Exception | None]:
    """The result as a list of one, else the error; a TimeoutError is an interruption."""
    try:
        return [work()], None
    except (GncError, TimeoutError) as error:
        return [], error


def _agree(processes: Processes, own: Exception | None) -> None:
    """Raise in all processes what one of them met."""
    errors = processes.all_gather(own)
    error = next((e for e in errors if e is not None), None)
    if isinstance(error, GncError):
        error.silent = not processes.first
    if error is not None:
        raise error


def share(N: int, rank: int, size: int, step: int = 1) -> tuple[int, int]:
    """The rows (start, stop) of N that process `rank` of `size` takes: whole chunks of `step` rows.

    The shares follow each other, cover all rows, and differ by at most one chunk; with more
    processes than chunks some are empty.

    Example:
        >>> [share(10, rank, 2, step=4) for rank in range(2)]
        [(0, 4), (4, 10)]
    """
    chunks = -(-N // step)
    return min(N, rank * chunks // size * step), min(N, (rank + 1) * chunks // size * step)


def started_by_torchrun() -> bool:
    """Whether this is one of several processes; a batch system sets WORLD_SIZE alone."""
    size = os.environ.get("WORLD_SIZE", "")
    met = os.environ.get("RANK") and os.environ.get("MASTER_ADDR")
    return size.isdigit() and int(size) > 1 and bool(met)


def on_this_machine(name: str) -> int | None:
    """What torchrun has put into LOCAL_RANK or LOCAL_WORLD_SIZE; None where it is no number."""
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else None


def is_rank_zero() -> bool:
    """Whether this process prints: of several under torchrun the first alone does."""
    return not started_by_torchrun() or os.environ["RANK"] == "0"


def _start(device: Any) -> Processes:
    """Start torch.distributed with the other processes that torchrun started."""
    announced = os.environ["WORLD_SIZE"]
    # What torchrun did not start may be what is left of another run's environment.
    patience = _UNDER_TORCHRUN if "TORCHELASTIC_RUN_ID" in os.environ else _ALONE
    import torch.distributed as dist
    from torch.distributed.rendezvous import rendezvous

    try:
        store, rank, size = next(rendezvous("env://", timeout=patience))
        backend = "gloo" if device is None else "cpu:gloo,cuda:nccl"
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, device_id=device)
    except (RuntimeError, ValueError) as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UnavailableError(
            f"WORLD_SIZE={announced} announces several processes, but they did not meet "
            f"({first}); start all of them with torchrun, or unset WORLD_SIZE"
        ) from error
    atexit.register(dist.destroy_process_group)
    return Processes(dist.get_rank(), dist.get_world_size(), None, "world")
