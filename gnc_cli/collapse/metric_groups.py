"""The metrics of a result, group by group: each function returns the fields of one group, with the
warnings about them and the keys that time left undecided.
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

_WORST = 10
"""Number of classes in `worst_classes`."""
_PROBABILITY = 0.9
"""Probability that softmax is to reach on every class at the scale `margins.scale`."""
_PRODUCTS_OF_PAIRS = 1e11
"""K^2 d up to which the cosines of all pairs of weights cost some seconds."""
_COINCIDE = 1e-6
"""GNC2 up to which two unit weights coincide: a vertex of the hull is in no other's."""
_PAIR_KEYS = ("rattlers.one_vs_one", "max_cosine", "margins.arcface_rad")
"""Keys of figures that need the cosines of all pairs of weights."""


@dataclass(frozen=True, eq=False)
class MetricGroup:
    """Fields of a `MeasureResult` that belong together; none at first."""

    fields: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str | None, ...] = ()
    undecided: tuple[str, ...] = ()
    """Keys that the time limit left undecided."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A set that is measured, in the words of its files."""

    labels: np.ndarray
    """Labels of the K classes in the file, integers, shape (K,)."""
    names: list[str] | None = None
    """Names of the classes, by their label in the file."""
    classes_left_out: int = 0
    """Classes of the file that are not measured."""
    place: Mapping[str, Any] = field(default_factory=dict)
    """File, snapshot, epoch and the like, as fields of the result."""
    head: str | None = None
    """Dataset of the classifier and why it was taken, where nobody named it."""
    started: float = field(default_factory=time.monotonic)
    """`time.monotonic()` at the beginning."""


@dataclass(frozen=True, eq=False)
class Weights:
    """The rows that GNC2 is about: the classifier's, or class means in their place, (m, d)."""

    rows: np.ndarray
    """Float64, in the space of the GNC metrics: unit, or as they are with normalize=off."""
    raw: np.ndarray
    """The same rows as stored."""
    of_classifier: bool
    """False where the class means stand in."""
    classes: np.ndarray
    """Classes of the rows among the K, increasing, shape (m,); all of them of a classifier."""

    @cached_property
    def unit(self) -> bool:
        """True if `rows` are of norm 1."""
        squares = np.einsum("kd,kd->k", self.rows, self.rows)
        return bool(np.abs(squares - 1.0).max() < 2e-8)


def classifier_weights(raw: np.ndarray, *, unit: bool, labels: np.ndarray, name: str) -> Weights:
    """Return the rows of a classifier, raw (K, d), scaled where `unit`.

    Args:
        labels: of the rows in the file, for messages.
        name: of the weights, for messages.

    Raises:
        ZeroRowsError: a row that must be scaled is zero.
    """
    zero = np.flatnonzero(~raw.any(axis=1))
    if unit and zero.size:
        raise ZeroRowsError(
            f"{name} has {zero.size} zero row(s), the first is row {labels[zero[0]]}: a weight "
            f"needs a direction; leave these classes out with {spelled('classes', NONZERO)}, or, "
            f"if these are features, name them with {spelled('features')}"
        )
    rows = raw / row_norms(raw)[:, None] if unit else np.ascontiguousarray(raw, dtype=np.float64)
    return Weights(rows, raw, True, np.arange(len(raw)))


def mean_weights(moments: ClassMoments, *, unit: bool) -> Weights:
    """Return the means of the classes present in place of weights.

    Raises:
        DataError: there are fewer than two, or one that must be scaled is zero.
    """
    classes = np.flatnonzero(moments.present)
    if len(classes) < 2:
        raise DataError(f"{len(classes)} class has samples; without weights at least two must")
    means = moments.means[classes]
    if unit and not means.any(axis=1).all():
        raise DataError("a class mean is zero and has no direction; give the classifier's weights")
    return Weights(normalise(means) if unit else means, means, False, classes)


def mean_group(statistics: Statistics, weights: Weights, unit: bool) -> MetricGroup:
    """Return GNC1 and GNC3, in both forms, from the class means; `unit`: of unit rows."""
    digits = digits_warning(weights.raw) if weights.of_classifier else None
    if (moments := statistics.moments) is None:
        return MetricGroup({}, (digits,))
    own, between = moments.gnc, next(iter(moments.centres.values()))
    means, centres = own.means[own.present], between.means[between.present]
    fields: dict[str, Any] = {"global_mean_squared": float((means.mean(axis=0) ** 2).sum())}
    if weights.of_classifier:
        fields |= gnc3_forms(weights.rows[own.present], means)
    floor = floor_warning(own, str(statistics.storage), unit)
    if not own.has_spread:
        return MetricGroup(fields, (digits, floor, NO_SPREAD))
    forms = gnc1_forms(own.within_cov(), centres)
    for key, form in forms.items():
        if form is not None:
            fields |= {key: form.value, f"{key}_rank": form.rank}
    if between is not own:  # the noise is that of the means that count
        forms = gnc1_forms(between.within_cov(), centres)
    return MetricGroup(fields, (digits, floor, noise_warning(forms, between)))


def decision_group(decisions: Decisions | None) -> MetricGroup:
    """Return the accuracies of the classifier and of the nearest class mean."""
    if decisions is None:
        return MetricGroup()
    counted, margins, forms = decisions.samples, None, None
    total = int(counted.sum())
    if total and decisions.forms is not None:
        forms = HeadAccuracies(*(decisions.forms / total).tolist())
    if total and (lowest := decisions.margin_min) is not None:
        assert decisions.positive is not None and decisions.margin_sum is not None
        positive, sums = int(decisions.positive.sum()), float(decisions.margin_sum.sum())
        margins = SampleMargins(positive / total, float(lowest.min()), sums / total)
    accuracy, nearest = _share(decisions.right, counted), _share(decisions.ncc_right, counted)
    fields = {
        "ncc_accuracy": nearest,
        "ncc_leave_one_out": _share(decisions.loo_right, decisions.loo_counted),
        "accuracy": accuracy,
        "head_accuracies": forms,
        "ncc_agreement": _share(decisions.agree, counted),
        "sample_margins": margins,
    }
    return MetricGroup(fields, (form_warning(forms), order_warning(accuracy, nearest, forms)))


def _share(right: np.ndarray | int | None, counted: np.ndarray | None) -> float | None:
    """Return the share of right samples among those counted; None where there are none."""
    if right is None or counted is None or not counted.any():
        return None
    return int(np.sum(right)) / int(counted.sum())


def distance_group(
    conventions: Conventions,
    distances: Gnc2Detail,
    rows: ClassRows,
    weights: Weights,
    subject: Subject,
) -> MetricGroup:
    """Return GNC2 and what is known of single classes; two that coincide are named, unless
    duplicates are listed.
    """
    fields = {
        "gnc2": distances.bracket,
        "gnc2_quantiles": distances.quantiles,
        "worst_classes": rows.worst(_WORST),
        "per_class": rows,
        "one_vs_rest": (distances.lower, distances.upper),
    }
    nearest, cosines = distances.nearest, distances.nearest_cosine
    apart = distances.bracket.upper > _COINCIDE
    if conventions.duplicates is not None or apart or nearest is None or cosines is None:
        return MetricGroup(fields)
    k = int(cosines.argmax())
    pair = subject.labels[weights.classes[[k, nearest[k]]]].tolist()
    warning = coincidence_warning(weights.of_classifier, sorted(pair), subject.names)
    return MetricGroup(fields, (warning,))


def pair_group(weights: Weights, distances: Gnc2Detail) -> MetricGroup:
    """Return the margins that losses can still ask for, the rattlers, and the largest cosine of two
    rows; time may have come before the cosines of all pairs.
    """
    rho, cosines, angle = distances.bracket.lower, distances.nearest_cosine, None
    if cosines is not None:
        angle = float(angle_from_chord(chord(float(cosines.max()))))
    logits = math.log(len(weights.rows) - 1)
    scale = softmax_scale(logits, _PROBABILITY, rho) if rho > 0.0 else None
    fields = {
        "margins": MeasureMargins(rho, angle, scale, _PROBABILITY),
        "max_cosine": None if cosines is None else float(cosines.max()),
        "rattlers": distances.rattlers,
    }
    one_vs_rest = ("rattlers.one_vs_rest",) if distances.undecided else ()
    of_pairs = _PAIR_KEYS if weights.unit and cosines is None else ()
    return MetricGroup(fields, undecided=one_vs_rest + of_pairs)


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
    """Return classes whose unit weights nearly coincide, GNC2 without them, and the classes to
    merge.

    Args:
        cosine: above which two classes are duplicates; None where nobody asks.
        moments: whose counts say which class of a group is kept.
        deadline: half of the remaining time is for GNC2 of the first class of each group.
    """
    if cosine is None or not weights.unit:
        return MetricGroup()
    from gnc_cli.metrics.pairs import find_duplicates, merges

    W = weights.rows
    keys = ("duplicates", "without_duplicates")
    search, late = _within_time(
        lambda: find_duplicates(W, cosine, deadline=deadline), spelled("duplicates"), keys, deadline
    )
    if search is None:
        return late
    pairs, cosines, count, first = search
    labels, names = subject.labels[weights.classes], subject.names
    counts = None if moments is None else moments.counts[weights.classes]

    def named(*rows: int) -> list[str | None]:
        return [None if names is None else names[labels[row]] for row in rows]

    duplicates = tuple(
        DuplicatePair(int(labels[a]), int(labels[b]), float(c), *named(a, b))
        for (a, b), c in zip(pairs, cosines, strict=True)
    )
    merge_list = []
    for row, keeper, angle in zip(*merges(W, first, counts), strict=True):
        degrees = float(np.degrees(angle))
        samples = [None, None] if counts is None else counts[[keeper, row]].tolist()
        both = int(labels[keeper]), int(labels[row])
        merge_list.append(ClassMerge(*both, degrees, *samples, *named(keeper, row)))
    kept = np.flatnonzero(first == np.arange(len(W)))
    half = None if deadline is None else deadline.within(deadline.remaining / 2)
    rho = gnc2(W[kept], deadline=half) if len(kept) > 1 else None
    without = WithoutDuplicates(cosine, count, len(kept), rho)
    fields = {"duplicates": duplicates, "without_duplicates": without, "merges": tuple(merge_list)}
    return MetricGroup(fields)


def coherence_group(weights: Weights, thorough: bool, deadline: Deadline | None) -> MetricGroup:
    """Return the cosines of unit rows without their signs, and how small they can be; `thorough`
    also where all pairs take long.
    """
    if not weights.unit:
        return MetricGroup()
    from gnc_cli.limits.lines import least_coherence, least_mean_square  # not for a training

    W, largest, late = weights.rows, None, MetricGroup()
    K, d = W.shape
    if thorough or float(K) * K * d <= _PRODUCTS_OF_PAIRS:
        keys = ("coherence.largest", "coherence.possible")
        largest, late = _within_time(
            lambda: max_abs_cosine(W, deadline=deadline), "coherence", keys, deadline
        )
    possible = None if largest is None else least_coherence(d, K, largest)
    coherence = Coherence(largest, possible, mean_square_cosine(W), least_mean_square(d, K))
    return replace(late, fields={"coherence": coherence})


def classic_group(
    conventions: Conventions, statistics: Statistics, weights: Weights, deadline: Deadline | None
) -> MetricGroup:
    """Return the classic metrics, and what `--variants` and `--ood` add."""
    figures: dict[str, Any] = {}
    moments = statistics.moments
    if moments is None or (raw := moments.raw) is None:
        return MetricGroup({"variants": VariantMetrics()})
    W, means_of = weights.raw if weights.of_classifier else None, moments.centres["raw"]
    effort: dict[str, Any] = {"seed": conventions.seed, "deadline": deadline}
    late, energies, late_evenness = MetricGroup(), None, MetricGroup()
    if conventions.wants_classic(raw.d, raw.K):
        keys = tuple(key for key in CLASSIC if key != "nc4")
        values, late = _within_time(
            lambda: classic(raw, W, means_of=means_of, **effort), "NC1 to NC3", keys, deadline
        )
        figures |= values or {}
        if (decisions := statistics.decisions) is not None:
            agree = decisions.agree_raw if conventions.unit else decisions.agree
            figures["nc4"] = _share(agree, decisions.samples)
    if conventions.classic:
        energies, late_evenness = _within_time(
            lambda: evenness(means_of.means[means_of.present], W, **effort),
            spelled("variants", "classic"),
            ("variants.classic",),
            deadline,
        )
    ood = None if statistics.ood is None else neco(means_of, statistics.ood)
    return MetricGroup(
        figures | {"variants": VariantMetrics(energies, ood)},
        late.warnings + late_evenness.warnings,
        late.undecided + late_evenness.undecided,
    )


def _within_time(
    work: Callable[[], _T], name: str, keys: tuple[str, ...], deadline: Deadline | None
) -> tuple[_T | None, MetricGroup]:
    """Return the result of `work`, or None where the deadline comes first, and a group without
    fields that says so of the `keys`.
    """
    try:
        return work(), MetricGroup()
    except TimeoutError:
        stopped = deadline is not None and deadline.interrupted
        cause = "interrupted before" if stopped else "time came before"
        return None, MetricGroup({}, (f"{cause} {name} could be computed: left out",), keys)
