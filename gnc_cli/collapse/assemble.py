"""From accumulated statistics to a `MeasureResult`: where the metrics of `measure` come together.

`measure` fills the statistics from files, `GNCMetrics` from batches of a training loop.
"""

import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from gnc_cli import __version__
from gnc_cli.collapse.class_rows import ClassRows
from gnc_cli.collapse.parts import Effort, Identity, Statistics, Weights
from gnc_cli.collapse.result import (
    ClassCounts,
    DuplicatePair,
    Gnc2Reference,
    MeasureMargins,
    MeasureResult,
    Policy,
    SampleMargins,
    WithoutDuplicates,
)
from gnc_cli.geometry.sphere import angle_from_chord, chord
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.decisions import Decisions
from gnc_cli.metrics.duplicates import find_duplicates
from gnc_cli.metrics.gnc1 import gnc1_from_covariances
from gnc_cli.metrics.gnc2 import Gnc2Detail, gnc2, gnc2_detail
from gnc_cli.metrics.gnc3 import gnc3
from gnc_cli.metrics.softmax_scale import softmax_scale
from gnc_cli.metrics.variants import authors, classic

_T = TypeVar("_T")

_LISTED = 10
"""Classes in the summary: the worst, the missing."""
_PROBABILITY = 0.9
"""That softmax is to reach on every class at the scale `margins.scale`."""


def assemble(
    statistics: Statistics,
    weights: Weights,
    effort: Effort,
    *,
    labels: np.ndarray,
    identity: Identity | None = None,
    names: list[str] | None = None,
    reference: Gnc2Reference | None = None,
    policy: Policy,
    warnings: tuple[str, ...] = (),
    started: float,
) -> MeasureResult:
    """All metrics of one set of features, weights or both.

    Args:
        labels: what each of the K classes is called in the file, integers, shape (K,).
        names: of the classes, by their label in the file.
        reference: what GNC2 is held against.
        started: `time.monotonic()` at the beginning.

    Raises:
        DataError: a metric is undefined, say because all class means are zero.
    """
    moments, decisions, train = statistics.moments, statistics.decisions, statistics.train
    one = self_dual = None
    if moments is not None:
        between = train or moments
        one = gnc1_from_covariances(
            moments.within_cov(), between.between_cov(), int(between.present.sum())
        )
        if weights.given:
            self_dual = gnc3(weights.rows[moments.present], moments.means[moments.present])
    detail = gnc2_detail(
        weights.rows, every_class=effort.every_class, seed=effort.seed, deadline=effort.deadline,
        device=effort.device, minimum_only=effort.minimum_only, unit=weights.unit,
    )  # fmt: skip
    rho = detail.bracket
    rows = ClassRows(detail, statistics, weights, labels, names)
    all_warnings = list(warnings)
    pairs, without = _duplicates(weights, labels, names, effort, all_warnings)
    cosines = detail.nearest_cosine
    return MeasureResult(
        seconds=time.monotonic() - started,
        version=__version__,
        **vars(identity or Identity()),
        N=None if moments is None else int(moments.N),
        d=weights.rows.shape[1],
        K=len(labels),
        gnc1=None if one is None else one.value,
        gnc1_rank=None if one is None else one.rank,
        gnc2=rho,
        gnc2_quantiles=detail.quantiles,
        gnc2_reference=reference,
        gnc2_ratio=rho.lower / reference.value if reference and reference.value > 0.0 else None,
        gnc3=self_dual,
        ncc_accuracy=_share(decisions, "ncc_right"),
        ncc_leave_one_out=_share(decisions, "loo_right", "loo_counted"),
        accuracy=_share(decisions, "right"),
        ncc_agreement=_share(decisions, "agree"),
        sample_margins=_sample_margins(decisions),
        margins=_margins(detail, len(weights.rows)),
        max_cosine=None if cosines is None else float(cosines.max()),
        rattlers=detail.rattlers,
        variants=_variants(statistics, weights, effort, all_warnings),
        bootstrap=statistics.bootstrap,
        classes=_counts(moments, labels),
        worst_classes=rows.worst(_LISTED),
        duplicates=pairs,
        without_duplicates=without,
        policy=policy,
        warnings=tuple(all_warnings),
        per_class=rows,
        one_vs_rest=(detail.lower, detail.upper),
    )  # fmt: skip


def _share(decisions: Decisions | None, name: str, of: str = "counted") -> float | None:
    """The samples of which `name` holds, among those that could be decided."""
    if decisions is None:
        return None
    right, counted = getattr(decisions, name), getattr(decisions, of)
    if right is None or counted is None or not counted.any():
        return None
    return int(np.sum(right)) / int(counted.sum())


def _sample_margins(decisions: Decisions | None) -> SampleMargins | None:
    if decisions is None or decisions.positive is None or not decisions.counted.any():
        return None
    assert decisions.margin_min is not None and decisions.margin_sum is not None
    counted = int(decisions.counted.sum())
    return SampleMargins(
        positive_share=int(decisions.positive.sum()) / counted,
        min=float(decisions.margin_min.min()),
        mean=float(decisions.margin_sum.sum()) / counted,
    )


def _margins(detail: Gnc2Detail, K: int) -> MeasureMargins:
    rho, cosines = detail.bracket.lower, detail.nearest_cosine
    angle = None if cosines is None else float(angle_from_chord(chord(float(cosines.max()))))
    scale = softmax_scale(math.log(K - 1), _PROBABILITY, rho) if rho > 0.0 else None
    return MeasureMargins(rho, angle, scale, _PROBABILITY)


def _duplicates(
    weights: Weights,
    labels: np.ndarray,
    names: list[str] | None,
    effort: Effort,
    warnings: list[str],
) -> tuple[tuple[DuplicatePair, ...] | None, WithoutDuplicates | None]:
    """Classes whose weights nearly coincide, and GNC2 with one class kept of each group."""
    cosine = effort.duplicates
    if cosine is None or not weights.unit:
        return None, None
    # Class means leave out the classes without samples.
    of_rows = labels[weights.classes]

    def search() -> tuple[tuple[DuplicatePair, ...], WithoutDuplicates]:
        rows, deadline = weights.rows, effort.deadline
        pairs, cosines, count, kept = find_duplicates(rows, cosine, deadline=deadline)
        named = [
            DuplicatePair(a, b, float(c), *(None if names is None else names[k] for k in (a, b)))
            for (a, b), c in zip(of_rows[pairs].tolist(), cosines, strict=True)
        ]
        rho = gnc2(rows[kept], deadline=deadline) if len(kept) > 1 else None
        return tuple(named), WithoutDuplicates(cosine, count, len(kept), rho)

    return _in_time(search, "--duplicates", effort, warnings) or (None, None)


def _variants(
    statistics: Statistics, weights: Weights, effort: Effort, warnings: list[str]
) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    moments, raw = statistics.moments, statistics.raw
    if moments is None:
        return found
    if effort.variants in ("authors", "all"):
        rows = weights.rows if weights.given else None
        found["authors"] = authors(moments, rows, means_of=statistics.train)
    if effort.variants in ("classic", "all"):
        assert raw is not None
        numbers = _in_time(
            lambda: classic(
                raw, weights.raw if weights.given else None, means_of=statistics.raw_train,
                seed=effort.seed, deadline=effort.deadline,
            ),
            "--variants classic", effort, warnings,
        )  # fmt: skip
        if numbers is not None:
            found["classic"] = numbers | {"nc4": statistics.nc4}
    return found


def _in_time(
    work: Callable[[], _T], option: str, effort: Effort, warnings: list[str]
) -> _T | None:
    """What `work` gives; None, with a warning, where the deadline comes first."""
    try:
        return work()
    except TimeoutError:
        stopped = effort.deadline is not None and effort.deadline.interrupted
        cause = "interrupted before" if stopped else "time came before"
        warnings.append(f"{cause} {option} was done: it is left out")
        return None


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
        single_sample=int((counts == 1).sum()),
        missing_labels=tuple(int(k) for k in missing[:_LISTED]),
    )
