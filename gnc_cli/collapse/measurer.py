"""One set of features and weights, from open files to a result."""

import os
import time
from dataclasses import replace

import numpy as np

from gnc_cli.collapse.assemble import assemble
from gnc_cli.collapse.opening import Samples, file_stamp
from gnc_cli.collapse.parts import (
    Effort,
    Identity,
    Statistics,
    Weights,
    given_weights,
    mean_weights,
)
from gnc_cli.collapse.policy import check_unit, class_means, floor_warning, policy_of, storage_eps
from gnc_cli.collapse.prepare import Prepared, prepare_samples
from gnc_cli.collapse.reference import gnc2_reference
from gnc_cli.collapse.request import Request
from gnc_cli.collapse.result import Gnc2Reference, MeasureResult, Policy
from gnc_cli.collapse.sources import Source
from gnc_cli.collapse.statistics import Reading, TrainingMeans, read_statistics
from gnc_cli.errors import UsageError
from gnc_cli.parameters import spelled
from gnc_cli.records import Bracket
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.threads import limit_threads, threads_for

_CLOSED = 1e-6
"""Share of the upper end that a bracket of GNC2 may leave open without a word."""


class Measurer:
    """Measures sets one after the other with one request; keeps what they share."""

    def __init__(self, request: Request, reading: Reading) -> None:
        self.request, self.reading = request, reading
        self._train = TrainingMeans(request, reading)
        self._references: dict[tuple[int, int], Gnc2Reference | None] = {}

    def stamp(self, source: Source) -> str:
        """Changes when the set does, or a file beside it that the numbers depend on."""
        request = self.request
        beside = (request.classes, request.class_names, request.reference)
        files = [file_stamp(path) for path in beside if isinstance(path, str)]
        return "|".join([source.stamp, self._train.stamp, *files])

    def measure(self, samples: Samples, source: Source) -> MeasureResult:
        """The result of one open set.

        Raises:
            DataError, UsageError: the set cannot be measured.
            TimeoutError: interrupted before the samples were read.
        """
        started = time.monotonic()
        request = self.request
        prepared = prepare_samples(samples, request)
        weights = _given(prepared, request)
        statistics, warning = Statistics(), None
        if prepared.features is None:
            _check_without_samples(request)
        else:
            train = self._train.of(source, prepared)
            statistics = read_statistics(prepared, request, self.reading, train)
            assert statistics.moments is not None
            warning = floor_warning(statistics.moments, prepared.features.dtype, request.unit)
            weights = weights or mean_weights(statistics.moments, unit=request.unit)
        assert weights is not None
        deadline = self.reading.deadline()
        effort = Effort(
            every_class=True if request.every_class else None, duplicates=request.duplicates,
            variants=request.variants, seed=request.seed, device=request.device,
            deadline=deadline,
        )  # fmt: skip
        K, d = weights.rows.shape
        with limit_threads(threads_for(2.0 * K * K * d, request.threads)):
            result = assemble(
                statistics, weights, effort,
                labels=prepared.selection.kept,
                identity=_identity(source),
                names=prepared.names,
                reference=self._reference(d, K) if request.unit else None,
                policy=_policy(prepared, weights, request),
                warnings=() if warning is None else (warning,),
                started=started,
            )  # fmt: skip
        wide = _open_bracket(result.gnc2, deadline)
        if wide:
            result = replace(result, warnings=(*result.warnings, wide))
        more = len(result.warnings) > (warning is not None)
        return replace(result, cut_short=deadline.expired and more)

    def _reference(self, d: int, K: int) -> Gnc2Reference | None:
        if (d, K) not in self._references:
            self._references[d, K] = gnc2_reference(
                d, K, self.request.reference, self.reading.deadline()
            )
        return self._references[d, K]


def _given(prepared: Prepared, request: Request) -> Weights | None:
    """The weights that were given, if any; checked before hours are spent on the features."""
    if prepared.weights is None:
        return None
    where = prepared.where.get("weights", "weights")
    if request.normalize == "require":
        norms = np.linalg.norm(prepared.weights, axis=1)
        single = storage_eps(np.dtype(np.float32))  # files of weights say nothing finer
        check_unit((norms.min(), norms.max()), single, prepared.d, where)
    return given_weights(
        prepared.weights, unit=request.unit, labels=prepared.selection.kept, where=where
    )


def _check_without_samples(request: Request) -> None:
    """Refuse options that are about samples, where there are weights alone."""
    for name in ("means_from", "bootstrap"):
        if getattr(request, name) is not None:
            raise UsageError(
                f"{spelled(name)} is about samples, and there are weights alone; drop it"
            )


def _identity(source: Source) -> Identity:
    own = {"epoch", "step", "layer", "split"}
    place = {name: source.attrs.get(name) for name in own}
    place |= {name: str(place[name]) for name in ("layer", "split") if place[name] is not None}
    attrs = {k: v for k, v in source.attrs.items() if k not in own and k != "provenance"}
    return Identity(file=source.file, snapshot=source.snapshot, **place, attrs=attrs)


def _policy(prepared: Prepared, weights: Weights, request: Request) -> Policy:
    accuracy, features = "none", prepared.features
    if features is not None and prepared.logits is not None:
        accuracy = "logits"
    elif features is not None and prepared.weights is not None:
        accuracy = "raw rows"
    means_from = "own" if request.means_from is None else os.path.basename(request.means_from)
    return policy_of(
        weights,
        normalize=request.normalize,
        accuracy=accuracy,
        means_from=None if features is None else class_means(means_from),
        storage=None if features is None else str(features.dtype),
        variants=request.variants,
        classes=None if request.classes is None else os.path.basename(request.classes),
        min_count=request.min_count,
        classes_left_out=prepared.selection.K - prepared.K,
    )


def _open_bracket(rho: Bracket, deadline: Deadline) -> str | None:
    """Why the bracket of GNC2 is wide, if it is."""
    if rho.width <= _CLOSED * rho.upper or rho.upper <= _CLOSED:
        return None
    if deadline.interrupted:
        return "interrupted before the bracket of GNC2 closed; it is valid, and wide"
    if deadline.expired:
        return "time came before the bracket of GNC2 closed; it is valid: raise --time-limit"
    return "the bracket of GNC2 did not close; it is valid: please report these weights"
