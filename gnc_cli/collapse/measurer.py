"""One set of features and weights, from open files to a result.

The samples are read through for class moments first, then for decisions, then for resamples.
"""

import time
from dataclasses import replace
from typing import Any

import numpy as np

from gnc_cli.collapse.assemble import (
    Statistics,
    Weights,
    assemble,
    given_weights,
    mean_weights,
)
from gnc_cli.collapse.other_sets import OutOfDistribution, TrainingMeans, check_train
from gnc_cli.collapse.reader import Reader, Reading
from gnc_cli.collapse.reference import gnc2_reference
from gnc_cli.collapse.request import Request
from gnc_cli.collapse.result import Gnc2Reference, MeasureResult
from gnc_cli.collapse.samples import Prepared, Samples, file_stamp, prepare_samples
from gnc_cli.collapse.sources import Source
from gnc_cli.errors import UsageError
from gnc_cli.io.labels import suspicion
from gnc_cli.metrics.class_moments import StreamedMoments, predict_moments
from gnc_cli.metrics.gnc2 import predict_gnc2
from gnc_cli.parameters import spelled
from gnc_cli.records import Bracket
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.predictions import FLOPS, Prediction
from gnc_cli.runtime.threads import limit_threads, threads_for

_CLOSED = 1e-6
"""Share of the upper end that a bracket of GNC2 may leave open without a word."""


class Measurer:
    """Measures sets one after the other with one request; keeps what they share."""

    def __init__(self, request: Request, reading: Reading, ood: Source | None = None) -> None:
        self.request, self.reading = request, reading
        self._train = TrainingMeans(request, reading)
        self._ood = OutOfDistribution(ood, request, reading)
        self._references: dict[tuple[int, int], Gnc2Reference | None] = {}

    def stamp(self, source: Source) -> str:
        """Changes when the set does, or a file beside it that the numbers depend on."""
        request = self.request
        beside = (request.classes, request.class_names, request.reference, request.table)
        files = [file_stamp(path) for path in beside if isinstance(path, str)]
        return "|".join([source.stamp, self._train.stamp(source), self._ood.stamp, *files])

    def measure(self, samples: Samples, source: Source) -> MeasureResult:
        """The result of one open set.

        Raises:
            DataError, UsageError: the set cannot be measured.
            TimeoutError: interrupted before the samples were read.
        """
        started = time.monotonic()
        request = self.request
        prepared = prepare_samples(samples, request)
        _predicted(prepared, request).within(self.reading.time_limit).require(
            f"measuring K={prepared.K} classes in d={prepared.d}",
            f"leave classes out with {spelled('min_count')} or {spelled('classes', 'FILE')}",
        )
        weights = _given(prepared, request)  # checked before hours are spent on the features
        statistics = Statistics()
        if prepared.features is not None:
            ood = self._ood.moments(prepared.d)
            training = self._train.of(source)
            statistics = _read_statistics(
                prepared,
                request,
                self.reading,
                self._train.moments(training, prepared),
                self._train.name(training),
            )
            statistics = replace(statistics, ood=ood)
            assert statistics.moments is not None
            weights = weights or mean_weights(statistics.moments, unit=request.unit)
        else:
            for name in ("means_from", "ood", "variants", "labels_are"):
                if getattr(request, name) != getattr(Request, name):  # its default
                    raise UsageError(
                        f"{spelled(name)} is about samples, and there are only weights; drop it"
                    )
        assert weights is not None
        deadline, (K, d) = self.reading.deadline(), weights.rows.shape
        with limit_threads(threads_for(2.0 * K * K * d, request.threads)):
            result = assemble(
                request,
                statistics,
                weights,
                labels=prepared.kept,
                left_out=prepared.K_in_file - prepared.K,
                names=prepared.names,
                reference=self._reference(d, K) if request.unit else None,
                place=_place(source),
                head=source.head,
                deadline=deadline,
                started=started,
            )
        wide = _open_bracket(result.gnc2, deadline)
        alone = self._train.lacking(source) if prepared.features is not None else None
        counted = missing = None
        if samples.labels is not None and samples.weights is None and samples.logits is None:
            counted = suspicion(samples.labels)
        if samples.labels is not None and (left := np.count_nonzero(samples.labels < 0)):
            missing = f"{left} of {len(samples.labels)} samples have label -1 or -100: left out"
        notes = [*samples.notes, *source.notes]
        said = [w for w in (wide, alone, counted, missing, *notes) if w is not None]
        result = replace(result, warnings=(*result.warnings, *said))
        cut_short = deadline.expired and (bool(result.undecided) or wide is not None)
        return replace(result, cut_short=cut_short)

    def _reference(self, d: int, K: int) -> Gnc2Reference | None:
        if (d, K) not in self._references:
            self._references[d, K] = gnc2_reference(
                d, K, self.request.reference, self.reading.deadline(), self.request.table
            )
        return self._references[d, K]


def _predicted(prepared: Prepared, request: Request) -> Prediction:
    """What a set takes: the moments of its samples, and GNC2 of its weights."""
    d, K = prepared.d, prepared.K
    if prepared.features is None:
        return predict_gnc2(d, K, request.every_class)
    N = prepared.features.shape[0]
    moments = predict_moments(d, K, N, len(request.spaces(d, K)))
    rows = K if prepared.weights is not None else min(K, N)
    gnc2 = predict_gnc2(d, rows, request.every_class)
    passes = 6.0 * N * d * max(d, K) / FLOPS
    return Prediction(moments.memory + gnc2.memory + 50e6 + 24.0 * N, seconds=passes + gnc2.seconds)


def _given(prepared: Prepared, request: Request) -> Weights | None:
    """The weights that were given, if any."""
    if prepared.weights is None:
        return None
    where = prepared.where["weights"]
    return given_weights(prepared.weights, unit=request.unit, labels=prepared.kept, where=where)


def _place(source: Source) -> dict[str, Any]:
    """Where the numbers are from, as the result has it."""
    attrs = {name: value for name, value in source.attrs.items() if name != "provenance"}
    place = {name: attrs.pop(name, None) for name in ("epoch", "step", "layer", "split")}
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
            training set lacks.
        TimeoutError: interrupted.
    """
    reader = Reader(prepared, request, reading)
    own, centres, others = "unit" if request.unit else "raw", None, None
    if train is not None:
        others = train.moments[own]
        check_train(others, prepared, means_of)
        centres = {space: moments.means for space, moments in train.moments.items()}
    found = reader.moments(centres)
    moments, storage = found.moments[own], str(reader.rows.dtype)
    decisions = reader.decide((train or found).moments, own=train is None)
    accuracy = "none" if prepared.weights is None else "raw rows"
    accuracy += ", no bias" if accuracy == "raw rows" and prepared.bias is None else ""
    return Statistics(
        moments=moments,
        raw=found.moments.get("raw"),
        decisions=decisions,
        means_of=means_of,
        accuracy=accuracy if prepared.logits is None else "logits",
        train=others,
        raw_train=None if train is None else train.moments.get("raw"),
        storage=storage,
    )
