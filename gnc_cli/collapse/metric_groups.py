"""The metrics of a result, group by group.

Each function returns the fields of one group, with warnings about them and the keys that the time
limit left undecided.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from gnc_cli.collapse.class_rows import ClassRows
from gnc_cli.collapse.conventions import NONZERO, Conventions
from gnc_cli.collapse.reference import random_gnc2
from gnc_cli.collapse.result import (
    CLASSIC,
    NO_SPREAD,
    ClassMerge,
    Coherence,
    DuplicatePair,
    Gnc2Reference,
    HeadAccuracies,
    MeasureMargins,
    SampleMargins,
    VariantMetrics,
    WithoutDuplicates,
)
from gnc_cli.collapse.statistics import Statistics
from gnc_cli.collapse.warnings import (
    coincidence_warning,
    digits_warning,
    floor_warning,
    form_warning,
    noise_warning,
    order_warning,
)
from gnc_cli.errors import DataError
from gnc_cli.geometry.gram import max_abs_cosine, mean_square_cosine
from gnc_cli.geometry.sphere import angle_from_chord, chord, normalise, row_norms
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.decisions import Decisions
from gnc_cli.metrics.gnc1 import gnc1_forms
from gnc_cli.metrics.gnc2 import Gnc2Detail, gnc2
from gnc_cli.metrics.gnc3 import gnc3_forms
from gnc_cli.metrics.rows import ZeroRowsError
from gnc_cli.metrics.scale import softmax_scale
from gnc_cli.metrics.variants import classic, evenness, neco
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline

_T = TypeVar("_T")

_MAX_WORST_CLASSES = 10
"""Number of classes in `worst_classes`: as many as a table or plot shows."""
_SOFTMAX_PROBABILITY = 0.9
"""Probability that softmax is to reach on every class at the scale `margins.scale`."""
_MAX_PAIR_PRODUCTS = 1e11
"""Largest K^2 d for the cosines of all pairs of weights, which then take some seconds."""
_MAX_COINCIDENCE_DISTANCE = 1e-6
"""GNC2 up to which two unit weights coincide: distinct unit vectors are vertices of their hull, so
only a repeated one has the distance 0 in exact arithmetic."""
_PAIR_KEYS = ("rattlers.one_vs_one", "max_cosine", "margins.arcface_rad")
"""Keys of values that need the cosines of all pairs of weights."""


@dataclass(frozen=True, eq=False)
class MetricGroup:
    """Fields of a `MeasureResult` that belong together."""

    fields: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str | None, ...] = ()
    undecided: tuple[str, ...] = ()
    """Keys that the time limit left undecided."""


@dataclass(frozen=True, eq=False)
class Subject:
    """Names and labels of a measured set, from its files."""

    labels: np.ndarray
    """Labels of the K classes in the file, integers, shape (K,)."""
    names: list[str] | None = None
    """Names of the classes, by their label in the file."""
    classes_left_out: int = 0
    """Number of classes of the file that are not measured."""
    place: Mapping[str, Any] = field(default_factory=dict)
    """File, snapshot, epoch and the like, as fields of the result."""
    head: str | None = None
    """Dataset of the classifier and the reason for its choice; None if the user named it."""
    started: float = field(default_factory=time.monotonic)
    """`time.monotonic()` at the start of the measurement, in seconds."""


@dataclass(frozen=True, eq=False)
class Weights:
    """The rows that GNC2 is about: those of the classifier, or class means in their place."""

    rows: np.ndarray
    """Shape (m, d), float64: unit rows, or raw rows with normalize=off."""
    raw: np.ndarray
    """The same rows as stored, shape (m, d)."""
    is_classifier: bool
    """False if the class means stand in."""
    classes: np.ndarray
    """Classes of the rows among the K, increasing, shape (m,); all K for a classifier."""

    @cached_property
    def unit(self) -> bool:
        """True if `rows` are of norm 1."""
        squares = np.einsum("kd,kd->k", self.rows, self.rows)
        return bool(np.abs(squares - 1.0).max() < 2e-8)


def classifier_weights(raw: np.ndarray, *, unit: bool, labels: np.ndarray, name: str) -> Weights:
    """Return the rows of a classifier.

    Args:
        raw: the rows as stored, shape (K, d).
        unit: scale the rows to norm 1.
        labels: labels of the rows in the file, for messages, shape (K,).
        name: name of the weights, for messages.

    Raises:
        ZeroRowsError: a row that must be scaled is zero.
    """
    zero = np.flatnonzero(~raw.any(axis=1))
    if unit and zero.size:
        raise ZeroRowsError(
            f"{name} has {zero.size} zero row(s), the first is row {labels[zero[0]]}: a zero "
            f"weight has no direction; leave these classes out with {spelled('classes', NONZERO)}, "
            f"or, if these are features, name them with {spelled('features')}"
        )
    rows = raw / row_norms(raw)[:, None] if unit else np.ascontiguousarray(raw, dtype=np.float64)
    return Weights(rows, raw, True, np.arange(len(raw)))


def mean_weights(moments: ClassMoments, *, unit: bool) -> Weights:
    """Return the means of the classes with samples in place of weights.

    Raises:
        DataError: fewer than two classes have samples, or a mean that must be scaled is zero.
    """
    classes = np.flatnonzero(moments.present)
    if len(classes) < 2:
        raise DataError(
            f"{len(classes)} class has samples; without weights at least two are needed: give the "
            "classifier's weights"
        )
    means = moments.means[classes]
    if unit and not means.any(axis=1).all():
        raise DataError("a class mean is zero and has no direction; give the classifier's weights")
    return Weights(normalise(means) if unit else means, means, False, classes)


def mean_group(statistics: Statistics, weights: Weights, unit: bool) -> MetricGroup:
    """Return GNC1 and GNC3 in both forms, from the class means; with `unit` those of unit rows."""
    digits = digits_warning(weights.raw) if weights.is_classifier else None
    if (moments := statistics.moments) is None:
        return MetricGroup({}, (digits,))
    gnc, source = moments.gnc, next(iter(moments.centres.values()))
    means, centres = gnc.means[gnc.present], source.means[source.present]
    fields: dict[str, Any] = {"global_mean_squared": float((means.mean(axis=0) ** 2).sum())}
    if weights.is_classifier:
        fields |= gnc3_forms(weights.rows[gnc.present], means)
    floor = floor_warning(gnc, str(statistics.storage), unit)
    if not gnc.has_spread:
        return MetricGroup(fields, (digits, floor, NO_SPREAD))
    forms = gnc1_forms(gnc.within_cov(), centres)
    for key, form in forms.items():
        if form is not None:
            fields |= {key: form.value, f"{key}_rank": form.rank}
    if source is not gnc:  # the noise is that of the class means that count
        forms = gnc1_forms(source.within_cov(), centres)
    return MetricGroup(fields, (digits, floor, noise_warning(forms, source)))


def decision_group(decisions: Decisions | None) -> MetricGroup:
    """Return the accuracies of the classifier and of the nearest class mean."""
    if decisions is None:
        return MetricGroup()
    counts, margins, forms = decisions.samples, None, None
    total = int(counts.sum())
    if total and decisions.forms is not None:
        forms = HeadAccuracies(*(decisions.forms / total).tolist())
    if total and (lowest := decisions.margin_min) is not None:
        assert decisions.positive is not None and decisions.margin_sum is not None
        positive, sums = int(decisions.positive.sum()), float(decisions.margin_sum.sum())
        margins = SampleMargins(positive / total, float(lowest.min()), sums / total)
    accuracy, nearest = _share(decisions.right, counts), _share(decisions.ncc_right, counts)
    fields = {
        "ncc_accuracy": nearest,
        "ncc_leave_one_out": _share(decisions.loo_right, decisions.loo_counted),
        "accuracy": accuracy,
        "head_accuracies": forms,
        "ncc_agreement": _share(decisions.agree, counts),
        "sample_margins": margins,
    }
    return MetricGroup(fields, (form_warning(forms), order_warning(accuracy, nearest, forms)))


def _share(right: np.ndarray | int | None, counts: np.ndarray | None) -> float | None:
    """Return the share of right samples among all `counts`, shape (K,); None without samples."""
    if right is None or counts is None or not counts.any():
        return None
    return int(np.sum(right)) / int(counts.sum())


def distance_group(
    conventions: Conventions,
    distances: Gnc2Detail,
    rows: ClassRows,
    weights: Weights,
    subject: Subject,
) -> MetricGroup:
    """Return GNC2 and the distances of single classes.

    A warning names two classes that coincide, unless duplicates are listed.
    """
    fields = {
        "gnc2": distances.bracket,
        "gnc2_quantiles": distances.quantiles,
        "worst_classes": rows.worst(_MAX_WORST_CLASSES),
        "per_class": rows,
        "one_vs_rest": (distances.lower, distances.upper),
    }
    nearest, cosines = distances.nearest, distances.nearest_cosine
    distinct = distances.bracket.upper > _MAX_COINCIDENCE_DISTANCE
    if conventions.duplicates is not None or distinct or nearest is None or cosines is None:
        return MetricGroup(fields)
    k = int(cosines.argmax())
    pair = subject.labels[weights.classes[[k, nearest[k]]]].tolist()
    warning = coincidence_warning(weights.is_classifier, sorted(pair), subject.names)
    return MetricGroup(fields, (warning,))


def pair_group(weights: Weights, distances: Gnc2Detail) -> MetricGroup:
    """Return the margins that losses can still ask for, the rattlers, and the largest cosine.

    Values from the cosines of all pairs are None if the time limit came before these.
    """
    rho, cosines, angle = distances.bracket.lower, distances.nearest_cosine, None
    if cosines is not None:
        angle = float(angle_from_chord(chord(float(cosines.max()))))
    logits = math.log(len(weights.rows) - 1)
    scale = softmax_scale(logits, _SOFTMAX_PROBABILITY, rho) if rho > 0.0 else None
    fields = {
        "margins": MeasureMargins(rho, angle, scale, _SOFTMAX_PROBABILITY),
        "max_cosine": None if cosines is None else float(cosines.max()),
        "rattlers": distances.rattlers,
    }
    one_vs_rest = ("rattlers.one_vs_rest",) if distances.undecided else ()
    pair_keys = _PAIR_KEYS if weights.unit and cosines is None else ()
    return MetricGroup(fields, undecided=one_vs_rest + pair_keys)


def reference_group(
    reference: Gnc2Reference | None, weights: Weights, distances: Gnc2Detail, detail: bool
) -> MetricGroup:
    """Return the reference of GNC2 and the ratio to it; with `detail` also that of random rows."""
    fields: dict[str, Any] = {"gnc2_reference": reference}
    if reference is not None and reference.value > 0.0:
        fields["gnc2_ratio"] = distances.bracket.lower / reference.value
        random = random_gnc2(*weights.rows.shape[::-1]) if detail else None
        fields["gnc2_ratio_random"] = random / reference.value if random else None
    return MetricGroup(fields)


def duplicate_group(
    cosine: float | None,
    weights: Weights,
    subject: Subject,
    moments: ClassMoments | None,
    deadline: Deadline | None,
) -> MetricGroup:
    """Return classes whose unit weights nearly coincide, GNC2 without them, and merges.

    Args:
        cosine: cosine above which two classes are duplicates; None: they are not listed.
        weights: the rows of the classifier.
        subject: labels and names of the classes.
        moments: class moments, whose counts decide which class of a group is kept.
        deadline: half of the remaining time is for GNC2 of the first class of each group.
    """
    if cosine is None or not weights.unit:
        return MetricGroup()
    from gnc_cli.metrics.pairs import find_duplicates, merges

    W = weights.rows
    keys = ("duplicates", "without_duplicates")
    search, omission = _within_time(
        lambda: find_duplicates(W, cosine, deadline=deadline), spelled("duplicates"), keys, deadline
    )
    if search is None:
        return omission
    pairs, cosines, count, first = search
    labels, names = subject.labels[weights.classes], subject.names
    counts = None if moments is None else moments.counts[weights.classes]

    def row_names(*rows: int) -> list[str | None]:
        return [None if names is None else names[labels[row]] for row in rows]

    duplicates = tuple(
        DuplicatePair(int(labels[a]), int(labels[b]), float(c), *row_names(a, b))
        for (a, b), c in zip(pairs, cosines, strict=True)
    )
    merge_list = []
    for row, keeper, angle in zip(*merges(W, first, counts), strict=True):
        degrees = float(np.degrees(angle))
        samples = [None, None] if counts is None else counts[[keeper, row]].tolist()
        pair = int(labels[keeper]), int(labels[row])
        merge_list.append(ClassMerge(*pair, degrees, *samples, *row_names(keeper, row)))
    keepers = np.flatnonzero(first == np.arange(len(W)))
    half = None if deadline is None else deadline.limited(deadline.remaining / 2)
    rho = gnc2(W[keepers], deadline=half) if len(keepers) > 1 else None
    rest = WithoutDuplicates(cosine, count, len(keepers), rho)
    fields = {"duplicates": duplicates, "without_duplicates": rest, "merges": tuple(merge_list)}
    return MetricGroup(fields)


def coherence_group(weights: Weights, thorough: bool, deadline: Deadline | None) -> MetricGroup:
    """Return the absolute cosines of unit rows and their lower bounds.

    With `thorough` those of all pairs are computed even if it takes long.
    """
    if not weights.unit:
        return MetricGroup()
    from gnc_cli.limits.lines import least_coherence, least_mean_square  # slow to load, rarely used

    W, largest, omission = weights.rows, None, MetricGroup()
    K, d = W.shape
    if thorough or float(K) * K * d <= _MAX_PAIR_PRODUCTS:
        keys = ("coherence.largest", "coherence.possible")
        largest, omission = _within_time(
            lambda: max_abs_cosine(W, deadline=deadline), "coherence", keys, deadline
        )
    possible = None if largest is None else least_coherence(d, K, largest)
    coherence = Coherence(largest, possible, mean_square_cosine(W), least_mean_square(d, K))
    return replace(omission, fields={"coherence": coherence})


def classic_group(
    conventions: Conventions, statistics: Statistics, weights: Weights, deadline: Deadline | None
) -> MetricGroup:
    """Return the classic metrics, and the metrics of `--variants` and `--ood`."""
    metrics: dict[str, Any] = {}
    moments = statistics.moments
    if moments is None or (raw := moments.raw) is None:
        return MetricGroup({"variants": VariantMetrics()})
    W, centres = weights.raw if weights.is_classifier else None, moments.centres["raw"]
    effort: dict[str, Any] = {"seed": conventions.seed, "deadline": deadline}
    omission, energies, evenness_omission = MetricGroup(), None, MetricGroup()
    if conventions.wants_classic(raw.d, raw.K):
        keys = tuple(key for key in CLASSIC if key != "nc4")
        values, omission = _within_time(
            lambda: classic(raw, W, centres=centres, **effort), "NC1 to NC3", keys, deadline
        )
        metrics |= values or {}
        if (decisions := statistics.decisions) is not None:
            agree = decisions.agree_raw if conventions.unit else decisions.agree
            metrics["nc4"] = _share(agree, decisions.samples)
    if conventions.classic:
        energies, evenness_omission = _within_time(
            lambda: evenness(centres.means[centres.present], W, **effort),
            spelled("variants", "classic"),
            ("variants.classic",),
            deadline,
        )
    ood = None if statistics.ood is None else neco(centres, statistics.ood)
    return MetricGroup(
        metrics | {"variants": VariantMetrics(energies, ood)},
        omission.warnings + evenness_omission.warnings,
        omission.undecided + evenness_omission.undecided,
    )


def _within_time(
    work: Callable[[], _T], name: str, keys: tuple[str, ...], deadline: Deadline | None
) -> tuple[_T | None, MetricGroup]:
    """Return the result of `work` and an empty group.

    If the deadline comes first, the result is None, and the group has a warning and the `keys`.
    """
    try:
        return work(), MetricGroup()
    except TimeoutError:
        stopped = deadline is not None and deadline.interrupted
        cause = "interrupted before" if stopped else "time came before"
        return None, MetricGroup({}, (f"{cause} {name} could be computed: left out",), keys)
