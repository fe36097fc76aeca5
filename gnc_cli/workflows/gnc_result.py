"""From what `GNCMetrics` has taken in to the record that `measure` gives."""

from dataclasses import replace
from typing import Any

import numpy as np

from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.numerics.threads import limit_threads, threads_for
from gnc_cli.results import Gnc2Reference, MeasureResult
from gnc_cli.workflows.gnc_accumulated import Accumulated
from gnc_cli.workflows.measure_assemble import assemble
from gnc_cli.workflows.measure_parts import Effort, Statistics
from gnc_cli.workflows.measure_policy import describe_policy, floor_warning, means_policy
from gnc_cli.workflows.measure_weights import Weights, given_weights, mean_weights

__all__ = ["result_of", "rows_of"]


def rows_of(raw: np.ndarray | None, moments: ClassMoments, *, unit: bool) -> Weights:
    """The rows that GNC2 is about.

    Args:
        raw: a classifier's weights, shape (K, d), float64; None where the class means stand in.
        moments: in the space of the GNC metrics.
        unit: whether that is the space of unit rows.

    Raises:
        DataError: a row is zero, or fewer than two classes have a sample.
    """
    if raw is None:
        return mean_weights(moments, unit=unit)
    return given_weights(raw, unit=unit, labels=np.arange(len(raw)), where="weights")


def result_of(
    state: Accumulated,
    weights: Weights,
    effort: Effort,
    *,
    unit: bool,
    reference: Gnc2Reference | None,
    started: float,
) -> MeasureResult:
    """The metrics of all batches.

    Args:
        state: with at least one sample.
        weights: of `rows_of`.
        effort: what is asked about GNC2.
        unit: whether the GNC metrics are of unit rows.
        reference: what GNC2 is held against.
        started: `time.monotonic()` at the beginning.
    """
    moments = next(iter(state.moments.values()))
    warning = None
    if state.storage in ("float64", "float32", "float16"):
        warning = floor_warning(moments, np.dtype(state.storage), unit)
    rows, d = weights.rows.shape
    with limit_threads(threads_for(2.0 * rows * rows * d)):
        result = assemble(
            Statistics(moments, state.moments.get("raw"), state.decisions, nc4=state.nc4),
            weights,
            effort,
            labels=np.arange(moments.K),
            reference=reference,
            policy=_policy(state, weights, unit, effort.variants),
            warnings=() if warning is None else (warning,),
            started=started,
        )
    # A second pass without weights says nothing of the classifier; the logits did.
    return result if result.accuracy is not None else replace(result, accuracy=state.accuracy)


def _policy(state: Accumulated, weights: Weights, unit: bool, variants: str) -> dict[str, Any]:
    """What was done, in the words of `measure`."""
    by_weights = any(found.right is not None for found in state.judged.values())
    by_logits = "logits" if state.answered.any() else "none"
    return describe_policy(
        normalize="auto" if unit else "off",
        weights=weights,
        accuracy="raw rows" if by_weights else by_logits,
        class_means=means_policy("own") | {"ncc": "own" if state.own else "other"},
        storage=state.storage,
        variants=variants,
    )
