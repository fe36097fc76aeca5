"""Reading the samples through: class moments first, then decisions, then resamples.

Several processes under torchrun take a share of the rows each; what they found is merged in order
of rank, so that all hold the same statistics.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.metrics.bootstrap import bootstrap
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.decisions import Decisions, merge, stream_decisions
from gnc_cli.metrics.stream_moments import StreamedMoments, stream_moments
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.distributed import Processes, share
from gnc_cli.numerics.rows import Rows, block_rows
from gnc_cli.numerics.threads import limit_threads, threads_for
from gnc_cli.results import BootstrapIntervals
from gnc_cli.workflows.measure_parts import Statistics
from gnc_cli.workflows.measure_policy import check_unit, storage_eps
from gnc_cli.workflows.measure_request import Request
from gnc_cli.workflows.measure_samples import Prepared

__all__ = ["Reading", "class_statistics", "read_statistics"]

Progress = Callable[[str, int, int, float], None]


@dataclass(frozen=True, eq=False)
class Reading:
    """How the samples are read."""

    processes: Processes
    interrupt: threading.Event | None = None
    """Stops everything; no time limit does: samples are read to their end or not at all."""
    time_limit: float | None = None
    """Seconds for what can be cut short with a valid result, row by row: GNC2, say."""
    progress: Progress | None = None

    @property
    def interruption(self) -> Deadline:
        """For reading the samples."""
        return Deadline(None, self.interrupt)

    def deadline(self) -> Deadline:
        """For GNC2 of a row, from now on."""
        return Deadline(self.time_limit, self.interrupt)

    def span(self, rows: Rows) -> tuple[int, int] | None:
        """This process's share of the rows; None for all."""
        if self.processes.size == 1:
            return None
        return share(rows.shape[0], self.processes.rank, self.processes.size, rows.step)


def class_statistics(
    prepared: Prepared,
    request: Request,
    reading: Reading,
    centres: dict[str, np.ndarray] | None = None,
) -> StreamedMoments:
    """Class moments of all samples, in every space that is asked for.

    Args:
        prepared: with features.
        request: spaces, block size, threads.
        reading: processes, deadline, progress.
        centres: by space, the class means of other data.

    Raises:
        DataError: a feature is not finite, or zero where it must be scaled.
        TimeoutError: the deadline came first.
    """
    assert prepared.features is not None and prepared.labels is not None
    rows = prepared.features
    workers = _workers(rows, request, float(rows.shape[1]))
    # Each worker multiplies alone; threads inside the products would wait for each other.
    with limit_threads(1):
        found = stream_moments(
            rows, prepared.labels, prepared.K, spaces=request.spaces, centres=centres,
            where=prepared.where.get("features", "features"), block=request.chunk_rows,
            workers=workers, span=reading.span(rows), deadline=reading.interruption,
            progress=reading.progress,
        )  # fmt: skip
    return _gathered(found, reading.processes)


def read_statistics(
    prepared: Prepared, request: Request, reading: Reading, train: StreamedMoments | None
) -> tuple[Statistics, StreamedMoments]:
    """Everything that the samples say.

    Args:
        prepared: with features.
        train: moments of the set whose class means count (`--means-from`).

    Raises:
        DataError: as `class_statistics`; a class that the training set lacks; rows that are not
            unit under `--normalize require`.
        TimeoutError: the deadline came first.
    """
    assert prepared.features is not None and prepared.labels is not None
    own = "unit" if request.unit else "raw"
    centres = None
    if train is not None:
        _check_train(train.moments[own], prepared)
        centres = {space: moments.means for space, moments in train.moments.items()}
    found = class_statistics(prepared, request, reading, centres)
    if request.normalize == "require":
        norms, eps = (found.norm_min, found.norm_max), storage_eps(prepared.features.dtype)
        check_unit(norms, eps, prepared.d, prepared.where.get("features", "features"))
    moments = found.moments[own]
    judge = moments if train is None else train.moments[own]
    decisions = _decide(prepared, request, reading, judge, own=train is None)
    nc4 = None
    if request.variants in ("classic", "all") and decisions.agree is not None:
        raw = decisions
        if request.unit:
            means = (train or found).moments["raw"]
            raw = _decide(prepared, request, reading, means, own=False, unit=False)
        nc4 = (raw.agree or 0) / max(1, int(raw.counted.sum()))
    intervals = None
    if request.bootstrap:
        others = None if train is None else train.moments[own]
        intervals = _resample(prepared, request, reading, decisions, moments, others)
    statistics = Statistics(
        moments=moments,
        raw=found.moments.get("raw"),
        decisions=decisions,
        train=None if train is None else train.moments[own],
        raw_train=None if train is None else train.moments.get("raw"),
        bootstrap=intervals,
        nc4=nc4,
    )
    return statistics, found


def _decide(
    prepared: Prepared,
    request: Request,
    reading: Reading,
    judge: ClassMoments,
    *,
    own: bool,
    unit: bool | None = None,
) -> Decisions:
    """Decisions by the class means of `judge`; `own` where they are the samples' own."""
    rows, labels = prepared.features, prepared.labels
    assert rows is not None and labels is not None
    workers = _workers(rows, request, float(prepared.K))
    with limit_threads(1):
        found = stream_decisions(
            rows, labels, weights=prepared.weights, bias=prepared.bias, logits=prepared.logits,
            means=judge.means, present=judge.present, own_counts=judge.counts if own else None,
            unit=request.unit if unit is None else unit,
            where=prepared.where.get("features", "features"), block=request.chunk_rows,
            workers=workers, span=reading.span(rows), deadline=reading.interruption,
            progress=reading.progress,
        )  # fmt: skip
    parts = list(reading.processes.each(found))
    whole = parts[0]
    for part in parts[1:]:
        whole = merge(whole, part)
    return whole


def _resample(
    prepared: Prepared,
    request: Request,
    reading: Reading,
    decisions: Decisions,
    whole: ClassMoments,
    others: ClassMoments | None,
) -> BootstrapIntervals:
    assert request.bootstrap and prepared.features is not None and prepared.labels is not None
    workers = _workers(prepared.features, request, float(prepared.d))
    with limit_threads(1):
        return bootstrap(
            prepared.features, prepared.labels, prepared.K, prepared.weights, decisions.right,
            decisions.ncc_right, replicates=request.bootstrap, seed=request.seed,
            unit=request.unit, whole=whole, means_of=others,
            where=prepared.where.get("features", "features"), block=request.chunk_rows,
            workers=workers, deadline=reading.interruption, progress=reading.progress,
        )  # fmt: skip


def _gathered(found: StreamedMoments, processes: Processes) -> StreamedMoments:
    """The moments of all processes, the same in each."""
    if processes.size == 1:
        return found
    whole: StreamedMoments | None = None
    for part in processes.each(found):
        whole = part if whole is None else whole.merged(part)
    assert whole is not None
    return whole


def _workers(rows: Rows, request: Request, columns: float) -> int:
    """Threads for products of a block of rows with as many columns as there are classes, say."""
    block = block_rows(rows, request.chunk_rows)
    return threads_for(2.0 * block * rows.shape[1] * columns, request.threads)


def _check_train(train: ClassMoments, prepared: Prepared) -> None:
    assert prepared.labels is not None
    if train.means.shape != (prepared.K, prepared.d):
        raise DataError(
            f"--means-from has class means of shape {train.means.shape}, not "
            f"{(prepared.K, prepared.d)}; give the training set of the same network"
        )
    seen = np.unique(prepared.labels[prepared.labels >= 0])
    unknown = seen[~train.present[seen]]
    if unknown.size:
        raise DataError(
            f"--means-from has no sample of class {prepared.selection.kept[unknown[0]]}, which "
            "the data have; leave such classes out with --classes FILE"
        )
