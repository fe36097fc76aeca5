"""Passes over the samples of one set: by blocks, in threads, and in processes under torchrun.

Each process takes a share of the rows; what they find is merged in order of rank, so that all hold
the same statistics. What ends one of them early ends all.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from gnc_cli.collapse.request import Request
from gnc_cli.collapse.samples import Prepared
from gnc_cli.metrics.class_moments import ClassMoments, StreamedMoments, stream_moments
from gnc_cli.metrics.decisions import Decisions, merge, stream_decisions
from gnc_cli.metrics.rows import block_rows
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import Processes, share
from gnc_cli.runtime.threads import limit_threads, threads_for
from gnc_cli.runtime.together import in_all


@dataclass(frozen=True, eq=False)
class Reading:
    """How the samples are read."""

    processes: Processes
    interrupt: threading.Event | None = None
    """Stops everything; no time limit does: samples are read to their end or not at all."""
    time_limit: float | None = None
    """Seconds for what can be cut short with a valid result, row by row: GNC2, say."""
    progress: Callable[[str, int, int, float], None] | None = None

    @property
    def interruption(self) -> Deadline:
        """For reading the samples."""
        return Deadline(None, self.interrupt)

    @property
    def interrupted(self) -> bool:
        """Whether one of the processes was interrupted; all of them ask."""
        return any(self.processes.all_gather(self.interruption.interrupted))

    def deadline(self) -> Deadline:
        """For GNC2 of a row, from now on."""
        return Deadline(self.time_limit, self.interrupt)


class Reader:
    """Passes over the samples of one set, with as many threads as pay for themselves."""

    def __init__(self, prepared: Prepared, request: Request, reading: Reading) -> None:
        assert prepared.features is not None and prepared.labels is not None
        self.rows, self.labels, self.prepared = prepared.features, prepared.labels, prepared
        self.request, self.reading = request, reading
        self.where = prepared.where["features"]
        processes = reading.processes
        self.span = share(self.rows.shape[0], processes.rank, processes.size, self.rows.step)

    def moments(self, centres: dict[str, np.ndarray] | None = None) -> StreamedMoments:
        """Class moments in every space that is needed; `centres` are class means of other data."""
        # Each worker multiplies alone; threads inside the products would wait for each other.
        with limit_threads(1):
            found = in_all(
                self.reading.processes,
                lambda: stream_moments(
                    self.rows,
                    self.labels,
                    self.prepared.K,
                    centres=centres,
                    spaces=self.request.spaces(self.prepared.d, self.prepared.K),
                    span=self.span,
                    **self._effort(self.prepared.d),
                ),
            )
        return reduce(StreamedMoments.merged, self.reading.processes.each(found))

    def decide(self, judges: Mapping[str, ClassMoments], *, own: bool) -> Decisions:
        """Decisions by class means, by space; `own` where they are the samples' own."""
        prepared, unit = self.prepared, self.request.unit
        answered = prepared.weights is not None or prepared.logits is not None
        judge = judges["unit" if unit else "raw"]
        raw = judges.get("raw") if unit and answered else None
        with limit_threads(1):
            found = in_all(
                self.reading.processes,
                lambda: stream_decisions(
                    self.rows,
                    self.labels,
                    weights=prepared.weights,
                    bias=prepared.bias,
                    logits=prepared.logits,
                    means=judge.means,
                    present=judge.present,
                    raw_means=None if raw is None else raw.means,
                    own_counts=judge.counts if own else None,
                    unit=unit,
                    span=self.span,
                    **self._effort(prepared.K),
                ),
            )
        return reduce(merge, self.reading.processes.each(found))

    def _effort(self, columns: int) -> dict[str, Any]:
        """Where, how and until when; threads for products with so many columns."""
        work = 2.0 * block_rows(self.rows) * self.rows.shape[1] * columns
        return {
            "where": self.where,
            "workers": threads_for(work, self.request.threads),
            "deadline": self.reading.interruption,
            "progress": self.reading.progress,
        }
