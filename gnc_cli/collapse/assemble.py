"""Assembly of a `MeasureResult` from statistics, one group of metrics after the other.

`measure` fills the statistics from files, `GNCMetrics` from batches of a training loop.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from typing import Any

import numpy as np

from gnc_cli import __version__
from gnc_cli.collapse.class_rows import ClassRows
from gnc_cli.collapse.conventions import OWN_MEANS, Conventions
from gnc_cli.collapse.metric_groups import (
    MetricGroup,
    Subject,
    Weights,
    classic_group,
    coherence_group,
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
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.gnc2 import gnc2_detail
from gnc_cli.metrics.spectrum import FeatureSpectrum
from gnc_cli.parameters import Lines
from gnc_cli.records import marked
from gnc_cli.runtime.deadline import Deadline

_MAX_MISSING_LABELS = 10
"""Number of missing classes that are listed: as many as fit into a line."""
_NULL_FIELDS: dict[str, Any] = {f.name: None for f in fields(MeasureResult) if f.default is MISSING}
"""The fields of a result without a default, each with the value None."""
_MAX_SIMPLEX_DEVIATION = 0.05
"""Largest deviation of a cosine from that of orthogonal simplices at which a note names them:
trained heads come this close, and random rows do not."""


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
        conventions: the conventions by which the metrics are computed.
        statistics: moments, decisions and spectrum of the samples; empty for weights without
            samples.
        weights: the rows (m, d) that GNC2 is about.
        subject: names and labels (K,) of the set, and its fields of the result.
        reference: the distance that GNC2 is compared with.
        detail: also quantiles and the rattlers of all classes.
        device: the device that computes GNC2, such as `cpu` or `cuda`.
        deadline: end of the time for GNC2 and other metrics of the weights; their brackets are then
            wider, or they are left out.

    Raises:
        DataError: a metric is undefined, say because all class means are zero.
    """
    decisions, moments = statistics.decisions, statistics.moments
    gnc = None if moments is None else moments.gnc
    if decisions is not None and decisions.loo_counted is not None:
        # A sample alone in its class is its class mean, so its NCC decision has no information.
        ncc_right = decisions.ncc_right if decisions.loo_counted.any() else None
        decisions = replace(decisions, ncc_right=ncc_right)
    # Duplicates before the quantiles: the user asked for them by name.
    duplicates = duplicate_group(conventions.duplicates, weights, subject, gnc, deadline)
    distances = gnc2_detail(
        weights.rows,
        every_class=conventions.every_class or None,
        seed=conventions.seed,
        deadline=deadline,
        device=device,
        minimum_only=not detail,
        unit=weights.unit,
    )
    # A series keeps the class rows of every snapshot, so they drop the (K, d) directions.
    row_distances = replace(distances, directions=None)
    rows = ClassRows(row_distances, weights.classes, gnc, decisions, subject.labels, subject.names)
    thorough = conventions.classic or conventions.every_class
    groups = (
        mean_group(statistics, weights, conventions.unit),  # gnc1 and gnc3 in both forms
        distance_group(conventions, distances, rows, weights, subject),  # gnc2, worst_classes
        decision_group(decisions),  # accuracy, ncc_accuracy, sample_margins
        duplicates,  # duplicates, without_duplicates
        coherence_group(weights, thorough, deadline) if detail else MetricGroup(),
        classic_group(conventions, statistics, weights, deadline),  # nc1 to nc4, variants
        reference_group(reference, weights, distances, detail),  # gnc2_reference, gnc2_ratio
        pair_group(weights, distances),  # max_cosine, margins, rattlers
    )
    warnings = [text for group in groups for text in group.warnings if text is not None]
    return _result(
        subject,
        {name: value for group in groups for name, value in group.fields.items()},
        N=None if gnc is None else gnc.N,
        d=weights.rows.shape[1],
        K=len(subject.labels),
        classes=_counts(gnc, subject.labels),
        policy=_policy(conventions, statistics, weights, subject),
        warnings=tuple(warnings),
        undecided=tuple(key for group in groups for key in group.undecided),
        features=statistics.features,
        notes=_arrangement(weights) if conventions.unit else (),
    )


def _arrangement(weights: Weights) -> tuple[str, ...]:
    """Name the simplices that weights nearly form where K <= 2 d."""
    from gnc_cli.known_codes.recognition import join_of_simplices  # loads the constructions

    join = join_of_simplices(weights.rows, _MAX_SIMPLEX_DEVIATION)
    return (
        (f"every cosine of the rows is within {_MAX_SIMPLEX_DEVIATION} of {join}",) if join else ()
    )


def feature_result(
    spectrum: FeatureSpectrum, N: int, samples: Prepared, subject: Subject
) -> MeasureResult:
    """Return the result of features without labels, of which N rows are not zero."""
    result, zeros = null_result(samples, N, subject), spectrum.zero_rows
    note = f"{samples.locations['features']}: {zeros} of {N + zeros} rows are zero, left out"
    notes = (*result.notes, note) if zeros else result.notes
    return replace(result, K=None, notes=notes, features=spectrum)


def null_result(samples: Prepared, N: int | None, subject: Subject) -> MeasureResult:
    """Return a result of N samples, or of weights only (N is None), in which metrics are null."""
    storage = None if samples.features is None else str(samples.features.dtype)
    values = {
        "variants": VariantMetrics(),
        "worst_classes": (),
        "warnings": (),
        "notes": samples.notes,
        "policy": Policy(
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
        ),
    }
    return _result(subject, values, N=N, d=samples.d, K=samples.K)


def prefix_result(
    result: MeasureResult, full_d: int, K: int, conventions: Conventions
) -> MeasureResult:
    """Return the result of the first `result.d` of `full_d` dimensions, with the possible GNC2.

    Metrics that compare with an ETF of K rows are None where there is none.
    """
    masked: dict[str, Any] = {}
    warnings = result.warnings
    if K > result.d + 1:
        masked = dict.fromkeys(marked(MeasureResult, "etf"))
        warnings += (f"{NO_ETF} K = {K} classes in fewer than K - 1 dimensions",)
    possible = possible_gnc2(result.d, K, conventions.table) if conventions.unit else None
    return replace(result, prefix_of=full_d, gnc2_possible=possible, warnings=warnings, **masked)


def _result(subject: Subject, values: Mapping[str, Any], **sizes: Any) -> MeasureResult:
    """Return the result of these fields; others are null."""
    origin = {"seconds": time.monotonic() - subject.started, "version": __version__}
    return MeasureResult(
        **{**_NULL_FIELDS, "attrs": {}, **values, **subject.place, **origin, **sizes}
    )


def _counts(moments: ClassMoments | None, labels: np.ndarray) -> ClassCounts:
    counts = np.zeros(len(labels), dtype=np.int64) if moments is None else moments.counts
    present, missing = counts[counts > 0], labels[counts == 0]
    return ClassCounts(
        present=len(present),
        missing=len(missing),
        min_count=None if moments is None else int(present.min()),
        max_count=None if moments is None else int(present.max()),
        single_sample=None if moments is None else int((present == 1).sum()),
        missing_labels=tuple(int(k) for k in missing[:_MAX_MISSING_LABELS]),
    )


def _policy(
    conventions: Conventions, statistics: Statistics, weights: Weights, subject: Subject
) -> Policy:
    """Return the rows, means and classes that the metrics were computed from."""
    rows, means = "unit rows" if conventions.unit else "raw rows", None
    if statistics.moments is not None:
        source = statistics.moments.means_of
        means = {"gnc1": source, "ncc": statistics.judged_by, "classic": source, "gnc3": OWN_MEANS}
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
        weights="given" if weights.is_classifier else STAND_IN,
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
