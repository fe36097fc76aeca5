"""One set of features and weights, from open files to a result."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.io.shelf import file_stamp
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.threads import limit_threads, threads_for
from gnc_cli.results import Bracket, Gnc2Reference, MeasureResult
from gnc_cli.workflows.measure_assemble import assemble
from gnc_cli.workflows.measure_parts import Effort, Identity, Statistics
from gnc_cli.workflows.measure_policy import check_unit, floor_warning, policy_of, storage_eps
from gnc_cli.workflows.measure_reference import gnc2_reference
from gnc_cli.workflows.measure_request import Request
from gnc_cli.workflows.measure_samples import Prepared, prepare_samples
from gnc_cli.workflows.measure_sources import Source
from gnc_cli.workflows.measure_statistics import Reading, read_statistics
from gnc_cli.workflows.measure_train import TrainingMeans
from gnc_cli.workflows.measure_weights import Weights, given_weights, mean_weights

if TYPE_CHECKING:
    from gnc_cli.io.samples import Samples

__all__ = ["Measurer"]

_ATTRS = ("epoch", "step", "layer", "split")
_CLOSED = 1e-6
"""Share of the upper end that a bracket of GNC2 may leave open without a word."""


class Measurer:
    """Measures sets one after the other with one request; keeps what they share.

    Args:
        request: what is asked.
        reading: processes, deadline, progress.
    """

    def __init__(self, request: Request, reading: Reading) -> None:
        self.request, self.reading = request, reading
        self._train = TrainingMeans(request, reading)
        self._references: dict[tuple[int, int], Gnc2Reference | None] = {}

    def stamp(self, source: Source) -> str:
        """Changes when the set does, or a file beside it that the numbers hang on."""
        request = self.request
        beside = (request.classes, request.class_names, request.reference)
        files = [file_stamp(path) for path in beside if isinstance(path, str)]
        return "|".join([source.stamp, self._train.stamp, *files])

    def measure(self, samples: "Samples", source: Source) -> MeasureResult:
        """The result of one open set.

        Raises:
            DataError, UsageError: the set cannot be measured.
            TimeoutError: the deadline came before the samples were read.
        """
        started = time.monotonic()
        request = self.request
        prepared = prepare_samples(samples, request)
        given = _given(prepared, request)
        statistics, found, warnings = Statistics(), None, []
        if prepared.features is None:
            _check_without_samples(request)
        else:
            statistics, found = read_statistics(
                prepared, request, self.reading, self._train.of(source, prepared)
            )
            assert statistics.moments is not None
            dtype = prepared.features.dtype
            floor = floor_warning(statistics.moments, dtype, request.unit)
            warnings = [] if floor is None else [floor]
        if given is None:
            assert statistics.moments is not None
            given = mean_weights(statistics.moments, unit=request.unit)
        weights, deadline = given, self.reading.deadline()
        K, d = weights.rows.shape
        with limit_threads(threads_for(2.0 * K * K * d, request.threads)):
            result = assemble(
                statistics, weights, self._effort(deadline),
                labels=prepared.selection.kept,
                identity=_identity(source),
                names=prepared.names,
                reference=self._reference(d, K) if request.unit else None,
                policy=policy_of(prepared, weights, request, found),
                warnings=tuple(warnings),
                started=started,
            )  # fmt: skip
        wide = _open_bracket(result.gnc2, deadline)
        if wide:
            result = replace(result, warnings=(*result.warnings, wide))
        result.extras["cut_short"] = deadline.expired and len(result.warnings) > len(warnings)
        return result

    def _effort(self, deadline: Deadline) -> Effort:
        request = self.request
        return Effort(
            every_class=True if request.every_class else None, duplicates=request.duplicates,
            variants=request.variants, probability=request.probability, seed=request.seed,
            device=request.device, deadline=deadline,
        )  # fmt: skip

    def _reference(self, d: int, K: int) -> Gnc2Reference | None:
        if (d, K) not in self._references:
            self._references[d, K] = gnc2_reference(
                d, K, self.request.reference, self.reading.deadline()
            )
        return self._references[d, K]


def _check_without_samples(request: Request) -> None:
    """Refuse options that are about samples, where there are weights alone.

    Raises:
        UsageError: one was used.
    """
    asked = {
        "--means-from": request.means_from is not None,
        "--bootstrap": request.bootstrap is not None,
        "--missing error": request.missing == "error",
    }
    for option, used in asked.items():
        if used:
            raise UsageError(f"{option} is about samples, and there are weights alone; drop it")


def _open_bracket(rho: Bracket, deadline: Deadline) -> str | None:
    """Why the bracket of GNC2 is wide, if it is."""
    if rho.width <= _CLOSED * rho.upper or rho.upper <= _CLOSED:
        return None
    if deadline.interrupted:
        return "interrupted before the bracket of GNC2 closed; it is valid, and wide"
    if deadline.expired:
        return "time came before the bracket of GNC2 closed; it is valid: raise --time-limit"
    return "the bracket of GNC2 did not close; it is valid: please report these weights"


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


def _identity(source: Source) -> Identity:
    attrs = {k: v for k, v in source.attrs.items() if k not in (*_ATTRS, "provenance")}
    return Identity(
        file=source.file,
        snapshot=source.snapshot,
        epoch=_number(source.attrs.get("epoch")),
        step=_number(source.attrs.get("step")),
        layer=_text(source.attrs.get("layer")),
        split=_text(source.attrs.get("split")),
        attrs=attrs,
    )


def _number(value: Any) -> float | None:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if plain else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
