"""The part of a machine, or of a cluster, that a call may use."""

from contextlib import AbstractContextManager
from dataclasses import dataclass

from gnc_cli.runtime.parallel import processes
from gnc_cli.runtime.threads import limit_threads, threads_for


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The device, threads and processes of a call."""

    device: str = "auto"
    """`auto`, `cpu`, `cuda` or `cuda:1`."""
    threads: int | None = None
    """Threads on the CPU; None: as many as suit the work."""
    workers: int | None = None
    """Processes on this machine; None: one per core."""
    cluster: str | None = None
    """Address of a Dask scheduler, in place of processes here."""

    @property
    def processes(self) -> int:
        """The number of processes that work on this machine."""
        return processes(self.workers, self.cluster)

    def limited_threads(self, flops_per_call: float) -> AbstractContextManager[object]:
        """Limit libraries to the user's number of threads, or one that suits calls of this size."""
        return limit_threads(threads_for(flops_per_call, self.threads))
