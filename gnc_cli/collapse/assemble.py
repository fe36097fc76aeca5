"""From statistics to a `MeasureResult`: the groups of metrics of `measure` come together.

`measure` fills the statistics from files, `GNCMetrics` from batches of a training loop.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any

import numpy as np

from gnc_cli import __version__
from gnc_cli.collapse.class_rows import ClassRows
from gnc_cli.collapse.conventions import OWN, Conventions
from gnc_cli.collapse.groups import (
    NOTHING_DECIDED,
    Group,
    Weights,
    classic_group,
    coherence_group,
    coincident_classes,
    decision_group,
    distance_group,
    duplicate_group,
    mean_group,
    pair_group,
    reference_group,
)
from gnc_cli.collapse.prepared import Prepared
from gnc_cli.collapse.reference import possible_gnc2
from gnc_cli.collapse.result import (
    NO_ETF,
    STAND_IN,
    ClassCounts,
    Gnc2Reference,
    MeasureResult,
    Policy,
    Precision,
    VariantMetrics,
)
from gnc_cli.collapse.statistics import Statistics
from gnc_cli.collapse.warnings import digits_warning
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.gnc2 import gnc2_detail
from gnc_cli.metrics.spectrum import FeatureSpectrum
from gnc_cli.parameters import Lines
from gnc_cli.records import marked
from gnc_cli.runtime.deadline import Deadline

_LISTED = 10
"""Number of missing classes that are listed."""
_NULL: dict[str, Any] = {f.name: None for f in fields(MeasureResult) if f.default is MISSING}
"""The fields of a result that must be given, all without a value."""


@dataclass(frozen=True, eq=False)
class Subject:
    """What is measured, as its files call it."""

    labels: np.ndarray
    """Of the K classes in the file, integers, shape (K,)."""
    names: list[str] | None = None
    """Of the classes, by their label in the file."""
    classes_left_out: int = 0
    """Classes of the file that are not measured."""
    place: Mapping[str, Any] = field(default_factory=dict)
    """File, snapshot, epoch and the like, as fields of the result."""
    head: str | None = None
    """Dataset of the classifier and why it was taken, where nobody named it."""
    started: float = field(default_factory=time.monotonic)
    """`time.monotonic()` at the beginning."""


def assemble(
    conventions: Conventions,
    statistics: Statistics,
    weights: Weights,
    subject: Subject,
    *,
    reference: Gnc2Reference | None = None,
    detail: bool = True,
    device: str = "cpu",
    deadline: Deadline | None = None,
) -> MeasureResult:
    """Return all metrics of one set of features, weights or both.

    Args:
        reference: what GNC2 is compared with.
        detail: also quantiles and the rattlers of all classes.

    Raises:
        DataError: a metric is undefined, say because all class means are zero.
    """
    moments, decisions, unit = statistics.moments, statistics.decisions, weights.unit
    labels, names, own = subject.labels, subject.names, None if moments is None else moments.gnc
    if decisions is not None and decisions.loo_counted is not None:
        # Every sample that is the mean of its class is nearest to it: that says nothing.
        known = decisions.ncc_right if decisions.loo_counted.any() else None
        decisions = replace(decisions, ncc_right=known)
    W, counts = weights.rows, None if own is None else own.counts[weights.classes]
    nothing = Group({})
    duplicates = coherence = means = nothing
    digits = digits_warning(weights.raw) if weights.of_classifier else None
    if moments is not None:
        means = mean_group(moments, weights, str(statistics.storage), conventions.unit)
    if conventions.duplicates is not None and unit:  # asked for by name: before the quantiles
        duplicates = duplicate_group(
            conventions.duplicates, W, labels[weights.classes], counts, names, deadline
        )
    distances = gnc2_detail(
        W,
        every_class=conventions.every_class or None,
        seed=conventions.seed,
        deadline=deadline,
        device=device,
        minimum_only=not detail,
        unit=unit,
    )
    coincident = None
    if conventions.duplicates is None:
        coincident = coincident_classes(distances, weights, labels, names)
    # A series keeps the rows of every snapshot: without the directions, K x d numbers each.
    bare = replace(distances, directions=None)
    rows = ClassRows(bare, weights.classes, own, decisions, labels, names)
    if detail and unit:
        thorough = conventions.classic or conventions.every_class
        coherence = coherence_group(W, thorough, deadline)
    groups = (
        means,
        distance_group(distances, rows, coincident),
        decision_group(decisions or NOTHING_DECIDED),
        duplicates,
        coherence,
        classic_group(conventions, statistics, weights, deadline),
        reference_group(reference, distances.bracket.lower, W.shape, detail),
        pair_group(distances, len(W), unit),
    )
    warnings = (digits, *(warning for group in groups for warning in group.warnings))
    return _result(
        subject,
        {name: value for group in groups for name, value in group.fields.items()},
        N=None if own is None else own.N,
        d=W.shape[1],
        K=len(labels),
        classes=_counts(own, labels),
        policy=_policy(conventions, statistics, weights, subject),
        warnings=tuple(warning for warning in warnings if warning),
        undecided=tuple(key for group in groups for key in group.undecided),
        features=statistics.features,
    )


def feature_result(
    spectrum: FeatureSpectrum, N: int, samples: Prepared, subject: Subject
) -> MeasureResult:
    """Return the result of features without labels, N of whose rows are not zero."""
    notes, zero = samples.notes, spectrum.zero_rows
    if zero:
        notes += (f"{samples.where['features']}: {zero} of {N + zero} rows are zero, left out",)
    return replace(null_result(samples, N, subject), K=None, notes=notes, features=spectrum)


def null_result(samples: Prepared, N: int | None, subject: Subject) -> MeasureResult:
    """Return a result in which every metric is null: of N samples, or of weights alone."""
    storage = None if samples.features is None else str(samples.features.dtype)
    policy = Policy(
        normalize="auto",
        spaces={"features": "raw rows, directions of unit rows"},
        weights="none",
        head=None,
        class_means=None,
        classes=None,
        min_count=None,
        classes_left_out=0,
        precision=Precision(storage, decisions="none"),
        ood=None,
        variants="none",
    )
    values = {"variants": VariantMetrics(), "worst_classes": (), "warnings": ()}
    return _result(subject, values, N=N, d=samples.d, K=samples.K, policy=policy)


def prefix_result(
    result: MeasureResult, whole: int, K: int, conventions: Conventions
) -> MeasureResult:
    """Return the result of the first `result.d` of `whole` dimensions: without the figures of an
    ETF of the K rows where there is none, and with the GNC2 that is possible."""
    masked: dict[str, Any] = {}
    warnings = result.warnings
    if K > result.d + 1:
        masked = dict.fromkeys(marked(MeasureResult, "etf"))
        warnings += (f"{NO_ETF} K = {K} classes in fewer than K - 1 dimensions",)
    possible = possible_gnc2(result.d, K, conventions.table) if conventions.unit else None
    return replace(result, prefix_of=whole, gnc2_possible=possible, warnings=warnings, **masked)


def _result(subject: Subject, values: Mapping[str, Any], **more: Any) -> MeasureResult:
    """Return the result of these fields; others are null."""
    about = {"seconds": time.monotonic() - subject.started, "version": __version__}
    return MeasureResult(**{**_NULL, "attrs": {}, **values, **subject.place, **about, **more})


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


def _policy(
    conventions: Conventions, statistics: Statistics, weights: Weights, subject: Subject
) -> Policy:
    """Return what was done."""
    rows, means = "unit rows" if conventions.unit else "raw rows", None
    if statistics.moments is not None:
        source = statistics.moments.means_of
        means = {"gnc1": source, "ncc": statistics.judged_by, "classic": source, "gnc3": OWN}
    decided_by = statistics.decided_by
    return Policy(
        normalize="auto" if conventions.unit else "off",
        spaces={
            "gnc1": rows,
            "gnc2": rows,
            "gnc3": rows,
            "ncc": rows,
            "sample_margins": decided_by if conventions.head else "unit rows",
            "accuracy": decided_by,
            "classic": "raw rows",
            "energies": "unit rows",
        },
        weights="given" if weights.of_classifier else STAND_IN,
        head=subject.head,
        class_means=means,
        classes=(
            "list"
            if isinstance(conventions.classes, Lines)
            else conventions.classes and os.path.basename(conventions.classes)
        ),
        min_count=conventions.min_count,
        classes_left_out=subject.classes_left_out,
        precision=Precision(statistics.storage),
        ood=statistics.ood_name,
        variants="classic" if conventions.classic else "none",
    )
