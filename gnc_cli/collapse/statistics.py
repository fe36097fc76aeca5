"""Reading the samples through: class moments first, then decisions, then resamples.

Several processes under torchrun take a share of the rows each; what they found is merged in order
of rank, so that all hold the same statistics.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from gnc_cli.collapse.opening import Samples
from gnc_cli.collapse.parts import Statistics
from gnc_cli.collapse.policy import check_unit, storage_eps
from gnc_cli.collapse.prepare import Prepared, prepare_samples
from gnc_cli.collapse.request import Request
from gnc_cli.collapse.sources import Source, find_samples
from gnc_cli.errors import DataError
from gnc_cli.metrics.bootstrap import bootstrap
from gnc_cli.metrics.class_moments import ClassMoments, StreamedMoments, stream_moments
from gnc_cli.metrics.decisions import Decisions, merge, stream_decisions
from gnc_cli.metrics.records import BootstrapIntervals
from gnc_cli.metrics.rows import block_rows
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import Processes, share
from gnc_cli.runtime.threads import limit_threads, threads_for

Progress = Callable[[str, int, int, float], None]

_LISTED = 8


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


def read_statistics(
    prepared: Prepared, request: Request, reading: Reading, train: StreamedMoments | None
) -> Statistics:
    """Everything that the samples say; `train` is of the set whose class means count, if another.

    Raises:
        DataError: a feature is not finite, or zero where it must be scaled; a class that the
            training set lacks; rows that are not unit under `--normalize require`.
        TimeoutError: interrupted.
    """
    reader = _Reader(prepared, request, reading)
    own, centres, others = request.spaces[0], None, None
    if train is not None:
        others = train.moments[own]
        _check_train(others, prepared)
        centres = {space: moments.means for space, moments in train.moments.items()}
    found = reader.moments(centres)
    if request.normalize == "require" and prepared.features is not None:
        norms, eps = (found.norm_min, found.norm_max), storage_eps(prepared.features.dtype)
        check_unit(norms, eps, prepared.d, reader.where)
    moments = found.moments[own]
    decisions = reader.decide(others or moments, unit=request.unit, own=train is None)
    nc4 = None
    if request.variants in ("classic", "all") and decisions.agree is not None:
        raw = decisions
        if request.unit:
            raw = reader.decide((train or found).moments["raw"], unit=False, own=False)
        nc4 = (raw.agree or 0) / max(1, int(raw.counted.sum()))
    return Statistics(
        moments=moments,
        raw=found.moments.get("raw"),
        decisions=decisions,
        train=others,
        raw_train=None if train is None else train.moments.get("raw"),
        bootstrap=None if request.bootstrap is None else reader.resample(
            request.bootstrap, decisions, moments, others
        ),
        nc4=nc4,
    )  # fmt: skip


class _Reader:
    """Passes over the samples of one set, with as many threads as pay for themselves."""

    def __init__(self, prepared: Prepared, request: Request, reading: Reading) -> None:
        assert prepared.features is not None and prepared.labels is not None
        self.rows, self.labels, self.prepared = prepared.features, prepared.labels, prepared
        self.request, self.reading = request, reading
        self.where = prepared.where.get("features", "features")

    def moments(self, centres: dict[str, np.ndarray] | None = None) -> StreamedMoments:
        """Class moments in every space asked for; `centres` are class means of other data."""
        # Each worker multiplies alone; threads inside the products would wait for each other.
        with limit_threads(1):
            found = stream_moments(
                self.rows, self.labels, self.prepared.K, spaces=self.request.spaces,
                centres=centres, span=self._share(), **self._effort(self.prepared.d),
            )  # fmt: skip
        return reduce(StreamedMoments.merged, self.reading.processes.each(found))

    def decide(self, judge: ClassMoments, *, unit: bool, own: bool) -> Decisions:
        """Decisions by the class means of `judge`; `own` where they are the samples' own."""
        prepared = self.prepared
        with limit_threads(1):
            found = stream_decisions(
                self.rows, self.labels, weights=prepared.weights, bias=prepared.bias,
                logits=prepared.logits, means=judge.means, present=judge.present,
                own_counts=judge.counts if own else None, unit=unit, span=self._share(),
                **self._effort(prepared.K),
            )  # fmt: skip
        return reduce(merge, self.reading.processes.each(found))

    def resample(
        self,
        replicates: int,
        decisions: Decisions,
        whole: ClassMoments,
        others: ClassMoments | None,
    ) -> BootstrapIntervals:
        """Intervals; every process draws from all rows."""
        with limit_threads(1):
            return bootstrap(
                self.rows, self.labels, whole, self.prepared.weights, decisions.right,
                decisions.ncc_right, replicates=replicates, seed=self.request.seed,
                unit=self.request.unit, means_of=others, **self._effort(self.prepared.d),
            )  # fmt: skip

    def _share(self) -> tuple[int, int]:
        """The rows of this process."""
        processes = self.reading.processes
        return share(self.rows.shape[0], processes.rank, processes.size, self.rows.step)

    def _effort(self, columns: int) -> dict[str, Any]:
        """Where, how and until when; threads for products with so many columns."""
        work = 2.0 * block_rows(self.rows) * self.rows.shape[1] * columns
        return {
            "where": self.where, "workers": threads_for(work, self.request.threads),
            "deadline": self.reading.interruption, "progress": self.reading.progress,
        }  # fmt: skip


def _check_train(train: ClassMoments, prepared: Prepared) -> None:
    assert prepared.labels is not None
    if train.means.shape != (prepared.K, prepared.d):
        raise DataError(
            f"{spelled('means_from')} has class means of shape {train.means.shape}, not "
            f"{(prepared.K, prepared.d)}; give the training set of the same network"
        )
    seen = np.unique(prepared.labels[prepared.labels >= 0])
    unknown = seen[~train.present[seen]]
    if unknown.size:
        raise DataError(
            f"{spelled('means_from')} has no sample of class "
            f"{prepared.selection.kept[unknown[0]]}, which the data have; leave such classes out "
            f"with {spelled('classes', 'FILE')}"
        )


class TrainingMeans:
    """`--means-from FILE`: the training set's class moments, read once where rows share them."""

    def __init__(self, request: Request, reading: Reading) -> None:
        self._request, self._reading = request, reading
        self._sources: list[Source] = []
        self._last: tuple[Source, int, StreamedMoments] | None = None
        if request.means_from is not None:
            self._sources = find_samples([request.means_from])

    @property
    def stamp(self) -> str:
        """Changes when the training set does."""
        return ",".join(source.stamp for source in self._sources)

    def of(self, source: Source, prepared: Prepared) -> StreamedMoments | None:
        """Moments of the training rows that belong to `source`; None without `--means-from`.

        Of several snapshots it is the one of the same name, else of the same epoch.
        """
        if not self._sources:
            return None
        chosen, K = self._matching(source), prepared.selection.K
        if self._last is None or self._last[:2] != (chosen, K):
            with chosen.open() as samples:
                train = self._prepared(samples, prepared)
                self._last = (chosen, K, _Reader(train, self._request, self._reading).moments())
        return self._last[2]

    def _matching(self, source: Source) -> Source:
        if len(self._sources) == 1:
            return self._sources[0]
        for place in (lambda s: s.snapshot, lambda s: s.attrs.get("epoch")):
            for candidate in self._sources:
                if place(source) is not None and place(candidate) == place(source):
                    return candidate
        snapshots = [s for s in self._sources if s.snapshot is not None] or self._sources
        names = [
            f"{s.file}:snapshots/{s.snapshot}" if s.snapshot else f"{s.file}" for s in snapshots
        ]
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        raise DataError(
            f"{self._request.means_from!r} has several training sets, {', '.join(names[:_LISTED])}"
            f"{more}, and none shares snapshot or epoch with what is measured; name one: "
            f"{spelled('means_from', names[0])}"
        )

    def _prepared(self, samples: Samples, prepared: Prepared) -> Prepared:
        """The training set with the classes of the set that is measured."""
        request = replace(self._request, K=prepared.selection.K, classes=None, min_count=None)
        train = prepare_samples(replace(samples, weights=None, bias=None, logits=None), request)
        selection = prepared.selection
        assert train.labels is not None
        return replace(train, selection=selection, labels=selection.labels(train.labels))
