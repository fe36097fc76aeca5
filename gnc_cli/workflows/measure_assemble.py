"""From accumulated statistics to a `MeasureResult`: the one place where the metrics come together.

`measure` fills the statistics from files, `GNCMetrics` from batches of a training loop.
"""

import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from gnc_cli import __version__
from gnc_cli.errors import DataError
from gnc_cli.metrics.authors import authors
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.classic import classic
from gnc_cli.metrics.decisions import Decisions
from gnc_cli.metrics.gnc1 import Gnc1, gnc1_from_covariances
from gnc_cli.metrics.gnc2_detail import Gnc2Detail, gnc2_detail
from gnc_cli.metrics.gnc3 import gnc3
from gnc_cli.numerics.softmax_scale import softmax_scale
from gnc_cli.numerics.sphere import angle_from_chord, chord
from gnc_cli.results import (
    ClassCounts,
    Gnc2Reference,
    MeasureMargins,
    MeasureResult,
    SampleMargins,
)
from gnc_cli.workflows.measure_duplicates import measure_duplicates
from gnc_cli.workflows.measure_parts import Effort, Identity, Statistics
from gnc_cli.workflows.measure_rows import class_rows
from gnc_cli.workflows.measure_weights import Weights

__all__ = ["assemble"]

_T = TypeVar("_T")

_LISTED = 10
"""Classes in the summary: the worst, the missing."""


def assemble(
    statistics: Statistics,
    weights: Weights,
    effort: Effort,
    *,
    labels: np.ndarray,
    identity: Identity | None = None,
    names: list[str] | None = None,
    reference: Gnc2Reference | None = None,
    policy: dict[str, Any],
    warnings: tuple[str, ...] = (),
    started: float,
) -> MeasureResult:
    """All metrics of one set of features, weights or both.

    Args:
        statistics: of the samples.
        weights: the classifier, or the class means that stand in for it.
        effort: what is asked beyond the numbers that always come.
        labels: what each of the K classes is called in the file, integers, shape (K,).
        identity: where the numbers are from.
        names: of the classes, by their label in the file.
        reference: what GNC2 is held against.
        policy: what was done.
        warnings: what a person should know.
        started: `time.monotonic()` at the beginning.

    Raises:
        DataError: a metric is undefined, say because all class means are zero.
    """
    moments, decisions = statistics.moments, statistics.decisions
    where = identity or Identity()
    one = _gnc1(statistics)
    detail = gnc2_detail(
        weights.rows, every_class=effort.every_class, seed=effort.seed, deadline=effort.deadline,
        device=effort.device, minimum_only=effort.minimum_only, unit=weights.unit,
    )  # fmt: skip
    rho = detail.bracket
    # Classes measured by their own weights; the class means leave out those without samples.
    labels_of_rows = labels if weights.given else labels[weights.classes]
    rows = class_rows(detail, statistics, weights, labels, names)
    told = list(warnings)
    doubles = _in_time(
        lambda: measure_duplicates(weights, labels_of_rows, names, effort), "--duplicates",
        effort, told,
    )  # fmt: skip
    variants = _variants(statistics, weights, effort, told)
    counted = 0 if decisions is None else int(decisions.counted.sum())
    return MeasureResult(
        seconds=time.monotonic() - started,
        version=__version__,
        file=where.file,
        snapshot=where.snapshot,
        epoch=where.epoch,
        step=where.step,
        layer=where.layer,
        split=where.split,
        N=None if moments is None else int(moments.N),
        d=weights.rows.shape[1],
        K=len(labels),
        gnc1=None if one is None else one.value,
        gnc1_rank=None if one is None else one.rank,
        gnc2=rho,
        gnc2_quantiles=detail.quantiles,
        gnc2_reference=reference,
        gnc2_ratio=rho.lower / reference.value if reference and reference.value > 0.0 else None,
        gnc3=_gnc3(moments, weights),
        ncc_accuracy=_share(None if decisions is None else decisions.ncc_right, counted),
        ncc_leave_one_out=_leave_one_out(decisions),
        accuracy=_share(None if decisions is None else decisions.right, counted),
        ncc_agreement=_share(None if decisions is None else decisions.agree, counted),
        sample_margins=_sample_margins(decisions, counted),
        margins=_margins(detail, len(weights.rows), effort.probability),
        max_cosine=_max_cosine(detail),
        rattlers=detail.rattlers,
        variants=variants,
        bootstrap=statistics.bootstrap,
        classes=_counts(moments, labels),
        worst_classes=tuple(rows.worst[:_LISTED]),
        duplicates=None if doubles is None else doubles[0],
        without_duplicates=None if doubles is None else doubles[1],
        policy=policy,
        warnings=tuple(told),
        attrs=dict(where.attrs or {}),
        per_class=rows.every,
        extras={
            "one_vs_rest_lower": detail.lower, "one_vs_rest_upper": detail.upper,
            "nearest_cosine": detail.nearest_cosine,
        },
    )  # fmt: skip


def _in_time(
    work: Callable[[], _T], option: str, effort: Effort, told: list[str]
) -> _T | None:
    """What `work` gives; None, with a warning, where the deadline comes first."""
    try:
        return work()
    except TimeoutError:
        stopped = effort.deadline is not None and effort.deadline.interrupted
        cause = "interrupted before" if stopped else "time came before"
        told.append(f"{cause} {option} was done: it is left out")
        return None


def _gnc1(statistics: Statistics) -> Gnc1 | None:
    moments = statistics.moments
    if moments is None:
        return None
    between = statistics.train or moments
    return gnc1_from_covariances(
        moments.within_cov(), between.between_cov(), int(between.present.sum()), moments.singles
    )


def _gnc3(moments: ClassMoments | None, weights: Weights) -> float | None:
    if moments is None or not weights.given:
        return None
    present = moments.present
    return gnc3(weights.rows[present], moments.means[present])


def _share(right: np.ndarray | int | None, counted: int) -> float | None:
    if right is None or not counted:
        return None
    return int(np.sum(right)) / counted


def _leave_one_out(decisions: Decisions | None) -> float | None:
    if decisions is None or decisions.loo_right is None or decisions.loo_counted is None:
        return None
    return _share(decisions.loo_right, int(decisions.loo_counted.sum()))


def _sample_margins(decisions: Decisions | None, counted: int) -> SampleMargins | None:
    if decisions is None or decisions.positive is None or not counted:
        return None
    assert decisions.margin_min is not None and decisions.margin_sum is not None
    return SampleMargins(
        positive_share=int(decisions.positive.sum()) / counted,
        min=float(decisions.margin_min.min()),
        mean=float(decisions.margin_sum.sum()) / counted,
    )


def _max_cosine(detail: Gnc2Detail) -> float | None:
    cosines = detail.nearest_cosine
    return None if cosines is None else float(cosines.max())


def _margins(detail: Gnc2Detail, K: int, probability: float) -> MeasureMargins:
    rho, cosine = detail.bracket.lower, _max_cosine(detail)
    angle = None if cosine is None else float(angle_from_chord(chord(cosine)))
    scale = softmax_scale(math.log(K - 1), probability, rho) if rho > 0.0 else None
    return MeasureMargins(rho, angle, scale, probability)


def _variants(
    statistics: Statistics, weights: Weights, effort: Effort, told: list[str]
) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    moments, given = statistics.moments, weights.given
    if moments is None:
        return found
    if effort.variants in ("authors", "all"):
        found["authors"] = authors(
            moments, weights.rows if given else None, means_of=statistics.train
        )
    if effort.variants in ("classic", "all"):
        raw = statistics.raw
        if raw is None:
            raise DataError("the classic variants need the statistics of raw rows")
        numbers = _in_time(
            lambda: classic(
                raw, weights.raw if given else None, means_of=statistics.raw_train,
                seed=effort.seed, deadline=effort.deadline,
            ),
            "--variants classic", effort, told,
        )  # fmt: skip
        if numbers is not None:
            found["classic"] = numbers | {"nc4": statistics.nc4}
    return found


def _counts(moments: ClassMoments | None, labels: np.ndarray) -> ClassCounts:
    if moments is None:
        return ClassCounts(len(labels), 0, None, None, None)
    counts, present = moments.counts, moments.present
    missing = labels[~present]
    return ClassCounts(
        present=int(present.sum()),
        missing=len(missing),
        min_count=int(counts[present].min()),
        max_count=int(counts.max()),
        single_sample=moments.singles,
        missing_labels=tuple(int(k) for k in missing[:_LISTED]),
    )
