"""One set of features and weights, from open files to a result.

The samples are read through for class moments first, then for decisions, then for resamples.
Several processes under torchrun take a share of the rows each; what they found is merged in order
of rank, so that all hold the same statistics.
"""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from gnc_cli.collapse.assemble import (
    Statistics,
    Weights,
    assemble,
    given_weights,
    mean_weights,
    storage_eps,
)
from gnc_cli.collapse.labels import suspicion
from gnc_cli.collapse.reference import gnc2_reference
from gnc_cli.collapse.request import OWN, Request
from gnc_cli.collapse.result import Gnc2Reference, MeasureResult
from gnc_cli.collapse.samples import Prepared, Samples, file_stamp, prepare_samples
from gnc_cli.collapse.sources import TRAINING, Source, find_samples
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.inputs import split_key
from gnc_cli.metrics.bootstrap import bootstrap
from gnc_cli.metrics.class_moments import ClassMoments, StreamedMoments, stream_moments
from gnc_cli.metrics.decisions import Decisions, merge, stream_decisions
from gnc_cli.metrics.records import BootstrapIntervals
from gnc_cli.metrics.rows import block_rows
from gnc_cli.parameters import spelled
from gnc_cli.records import Bracket
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import Processes, share
from gnc_cli.runtime.threads import limit_threads, threads_for

_CLOSED = 1e-6
"""Share of the upper end that a bracket of GNC2 may leave open without a word."""
_LISTED = 8


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

    def deadline(self) -> Deadline:
        """For GNC2 of a row, from now on."""
        return Deadline(self.time_limit, self.interrupt)


class Measurer:
    """Measures sets one after the other with one request; keeps what they share."""

    def __init__(self, request: Request, reading: Reading) -> None:
        self.request, self.reading = request, reading
        self._train = _TrainingMeans(request, reading)
        self._references: dict[tuple[int, int], Gnc2Reference | None] = {}

    def stamp(self, source: Source) -> str:
        """Changes when the set does, or a file beside it that the numbers depend on."""
        request = self.request
        beside = (request.classes, request.class_names, request.reference)
        files = [file_stamp(path) for path in beside if isinstance(path, str)]
        return "|".join([source.stamp, self._train.stamp(source), *files])

    def measure(self, samples: Samples, source: Source) -> MeasureResult:
        """The result of one open set.

        Raises:
            DataError, UsageError: the set cannot be measured.
            TimeoutError: interrupted before the samples were read.
        """
        started = time.monotonic()
        request = self.request
        prepared = prepare_samples(samples, request)
        weights = _given(prepared, request)  # checked before hours are spent on the features
        statistics = Statistics()
        if prepared.features is not None:
            training = self._train.of(source)
            statistics = _read_statistics(
                prepared, request, self.reading, self._train.moments(training, prepared),
                self._train.name(training, source),
            )  # fmt: skip
            assert statistics.moments is not None
            weights = weights or mean_weights(statistics.moments, unit=request.unit)
        else:
            for name in ("means_from", "bootstrap"):
                if getattr(request, name) is not None:
                    raise UsageError(
                        f"{spelled(name)} is about samples, and there are only weights; drop it"
                    )
        assert weights is not None
        deadline, (K, d) = self.reading.deadline(), weights.rows.shape
        with limit_threads(threads_for(2.0 * K * K * d, request.threads)):
            result = assemble(
                request, statistics, weights,
                labels=prepared.kept,
                left_out=prepared.K_in_file - prepared.K,
                names=prepared.names,
                reference=self._reference(d, K) if request.unit else None,
                place=_place(source),
                head=source.head,
                deadline=deadline,
                started=started,
            )  # fmt: skip
        wide = _open_bracket(result.gnc2, deadline)
        alone = self._train.lacking(source) if prepared.features is not None else None
        counted = None
        if samples.labels is not None and samples.weights is None and samples.logits is None:
            counted = suspicion(samples.labels)
        said = [warning for warning in (wide, alone, counted) if warning is not None]
        result = replace(result, warnings=(*result.warnings, *said))
        cut_short = deadline.expired and (result.cut_short or wide is not None)
        return replace(result, cut_short=cut_short)

    def _reference(self, d: int, K: int) -> Gnc2Reference | None:
        if (d, K) not in self._references:
            self._references[d, K] = gnc2_reference(
                d, K, self.request.reference, self.reading.deadline()
            )
        return self._references[d, K]


def _given(prepared: Prepared, request: Request) -> Weights | None:
    """The weights that were given, if any."""
    if prepared.weights is None:
        return None
    where = prepared.where["weights"]
    if request.normalize == "require":
        # As float32: files of weights say nothing finer.
        _check_unit(np.linalg.norm(prepared.weights, axis=1), "float32", prepared.d, where)
    return given_weights(prepared.weights, unit=request.unit, labels=prepared.kept, where=where)


def _check_unit(norms: Any, storage: str, d: int, where: str) -> None:
    """`--normalize require`: refuse norms of rows that are not 1 to the precision of storage."""
    allowed = 8.0 * max(storage_eps(storage), 1e-12) * d**0.5
    for norm in (np.min(norms), np.max(norms)):
        if not abs(norm - 1.0) <= allowed:
            raise DataError(
                f"{where} has a row of norm {norm:.6g}, and {spelled('normalize', 'require')} "
                f"wants 1; use {spelled('normalize', 'auto')}, or save unit rows"
            )


def _place(source: Source) -> dict[str, Any]:
    """Where the numbers are from, as the result has it."""
    attrs = {name: value for name, value in source.attrs.items() if name != "provenance"}
    place = {name: attrs.pop(name, None) for name in ("epoch", "step", "layer", "split")}
    place |= {name: str(place[name]) for name in ("layer", "split") if place[name] is not None}
    return {"file": source.file, "snapshot": source.snapshot, **place, "attrs": attrs}


def _open_bracket(rho: Bracket, deadline: Deadline) -> str | None:
    """Why the bracket of GNC2 is wide, if it is."""
    if rho.width <= _CLOSED * rho.upper or rho.upper <= _CLOSED:
        return None
    if deadline.interrupted:
        return "interrupted before the bracket of GNC2 closed; it is valid, and wide"
    if deadline.expired:
        return "time came before the bracket of GNC2 closed; it is valid: raise --time-limit"
    return "the bracket of GNC2 did not close; it is valid: please report these weights"


def _read_statistics(
    prepared: Prepared,
    request: Request,
    reading: Reading,
    train: StreamedMoments | None,
    means_of: str,
) -> Statistics:
    """Everything that the samples say; `train` is of the set whose class means count, if another,
    which messages and the policy call `means_of`.

    Raises:
        DataError: a feature is not finite, or zero where it must be scaled; a class that the
            training set lacks; rows that are not unit under `--normalize require`.
        TimeoutError: interrupted.
    """
    reader = _Reader(prepared, request, reading)
    own, centres, others = request.spaces[0], None, None
    if train is not None:
        others = train.moments[own]
        _check_train(others, prepared, means_of)
        centres = {space: moments.means for space, moments in train.moments.items()}
    found = reader.moments(centres)
    moments, storage = found.moments[own], str(reader.rows.dtype)
    if request.normalize == "require":
        _check_unit((found.norm_min, found.norm_max), storage, prepared.d, reader.where)
    decisions = reader.decide(others or moments, unit=request.unit, own=train is None)
    nc4 = intervals = None
    if request.classic and decisions.agree is not None:
        raw = decisions
        if request.unit:
            raw = reader.decide((train or found).moments["raw"], unit=False, own=False)
        nc4 = (raw.agree or 0) / max(1, int(raw.counted.sum()))
    if request.bootstrap is not None:
        intervals = reader.resample(request.bootstrap, decisions, moments, others)
    accuracy = "none" if prepared.weights is None else "raw rows"
    return Statistics(
        moments=moments,
        raw=found.moments.get("raw"),
        decisions=decisions,
        means_of=means_of,
        accuracy=accuracy if prepared.logits is None else "logits",
        train=others,
        raw_train=None if train is None else train.moments.get("raw"),
        bootstrap=intervals,
        nc4=nc4,
        storage=storage,
    )


class _Reader:
    """Passes over the samples of one set, with as many threads as pay for themselves."""

    def __init__(self, prepared: Prepared, request: Request, reading: Reading) -> None:
        assert prepared.features is not None and prepared.labels is not None
        self.rows, self.labels, self.prepared = prepared.features, prepared.labels, prepared
        self.request, self.reading = request, reading
        self.where = prepared.where["features"]
        processes = reading.processes
        self.span = share(self.rows.shape[0], processes.rank, processes.size, self.rows.step)

    def moments(self, centres: dict[str, np.ndarray] | None = None) -> StreamedMoments:
        """Class moments in every space asked for; `centres` are class means of other data."""
        # Each worker multiplies alone; threads inside the products would wait for each other.
        with limit_threads(1):
            found = stream_moments(
                self.rows, self.labels, self.prepared.K, spaces=self.request.spaces,
                centres=centres, span=self.span, **self._effort(self.prepared.d),
            )  # fmt: skip
        return reduce(StreamedMoments.merged, self.reading.processes.each(found))

    def decide(self, judge: ClassMoments, *, unit: bool, own: bool) -> Decisions:
        """Decisions by the class means of `judge`; `own` where they are the samples' own."""
        prepared = self.prepared
        with limit_threads(1):
            found = stream_decisions(
                self.rows, self.labels, weights=prepared.weights, bias=prepared.bias,
                logits=prepared.logits, means=judge.means, present=judge.present,
                own_counts=judge.counts if own else None, unit=unit, span=self.span,
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

    def _effort(self, columns: int) -> dict[str, Any]:
        """Where, how and until when; threads for products with so many columns."""
        work = 2.0 * block_rows(self.rows) * self.rows.shape[1] * columns
        return {
            "where": self.where, "workers": threads_for(work, self.request.threads),
            "deadline": self.reading.interruption, "progress": self.reading.progress,
        }  # fmt: skip


def _check_train(train: ClassMoments, prepared: Prepared, name: str) -> None:
    assert prepared.labels is not None
    if train.means.shape != (prepared.K, prepared.d):
        raise DataError(
            f"{name} has class means of shape {train.means.shape}, not "
            f"{(prepared.K, prepared.d)}; give the training set of the same network"
        )
    seen = np.unique(prepared.labels[prepared.labels >= 0])
    unknown = seen[~train.present[seen]]
    if unknown.size:
        raise DataError(
            f"{name} has no sample of class {prepared.kept[unknown[0]]}, which the data have; "
            f"leave such classes out with {spelled('classes', 'FILE')}, or take the data's own "
            f"means with {spelled('means_from', OWN)}"
        )


class _TrainingMeans:
    """Whose class means count: those of `--means-from FILE`, else of the training split of the same
    moment of a run, else the set's own. A training set is read once where rows share it."""

    def __init__(self, request: Request, reading: Reading) -> None:
        self._request, self._reading = request, reading
        self._last: tuple[Source, int, list[int], StreamedMoments] | None = None
        named = request.means_from not in (None, OWN)
        self._sources = []
        if named:
            self._sources = find_samples(
                [str(request.means_from)], labels_are=request.labels_are
            )

    def stamp(self, source: Source) -> str:
        """Changes when the training set does."""
        sources = [*self._sources, *([source.training] if source.training else [])]
        return ",".join(each.stamp for each in sources)

    def of(self, source: Source) -> Source | None:
        """The training set that belongs to `source`; None where its own means count.

        Of several snapshots in a file it is the one of the same name, else of the same epoch.
        """
        if self._sources:
            return self._matching(source)
        return None if self._request.means_from == OWN else source.training

    def name(self, training: Source | None, source: Source) -> str:
        """What messages and the policy call it."""
        if training is None:
            return OWN
        if training is source.training and not self._sources:
            return f"split {training.attrs['split']}"
        return os.path.basename(str(self._request.means_from))

    def lacking(self, source: Source) -> str | None:
        """A warning where a snapshot of test data goes by its own class means, unasked."""
        split = source.attrs.get("split", TRAINING)
        if source.snapshot is None or split == TRAINING or self.of(source) is not None:
            return None
        if self._request.means_from == OWN:
            return None
        return (
            f"split {split} goes by its own class means, as there is no snapshot of split "
            f"{TRAINING} beside it; name the training set with {spelled('means_from', 'FILE')}"
        )

    def moments(self, training: Source | None, prepared: Prepared) -> StreamedMoments | None:
        """Moments of the training rows, over the classes of the set that is measured."""
        if training is None:
            return None
        key = training, prepared.K_in_file, prepared.kept.tolist()
        if self._last is None or self._last[:3] != key:
            request = replace(self._request, K=prepared.K_in_file, classes=None, min_count=None)
            with training.open() as samples:
                own = replace(samples, weights=None, bias=None, logits=None)
                train = prepare_samples(own, request)
                assert train.labels is not None
                train = replace(train, kept=prepared.kept, labels=prepared.numbered(train.labels))
                found = _Reader(train, self._request, self._reading).moments()
            self._last = (*key, found)
        return self._last[3]

    def _matching(self, source: Source) -> Source:
        if len(self._sources) == 1:
            return self._sources[0]
        # Test sets are none, nor is what is measured, unless its file calls it a training set.
        fit = [
            s for s in self._sources
            if s.attrs.get("split") == "train" or ("split" not in s.attrs and not _same(s, source))
        ]  # fmt: skip
        for place in (lambda s: s.snapshot, lambda s: s.attrs.get("epoch")):
            for candidate in fit:
                if place(source) is not None and place(candidate) == place(source):
                    return candidate
        names = [
            f"{s.file}:snapshots/{s.snapshot}" if s.snapshot else f"{s.file}"
            for s in sorted(fit, key=lambda s: s.snapshot is None)
        ]
        if not names:
            raise DataError(
                f"{self._request.means_from!r} has no training set beside what is measured; name "
                f"one: {spelled('means_from', 'train.h5')}"
            )
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        raise DataError(
            f"{self._request.means_from!r} has several training sets, {', '.join(names[:_LISTED])}"
            f"{more}, and none shares snapshot or epoch with what is measured; name one: "
            f"{spelled('means_from', names[0])}"
        )


def _same(a: Source, b: Source) -> bool:
    """Whether two sources are one set, however its file was named."""
    files = {os.path.realpath(split_key(str(source.file))[0]) for source in (a, b)}
    return len(files) == 1 and a.snapshot == b.snapshot
