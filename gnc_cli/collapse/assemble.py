"""From accumulated statistics to a `MeasureResult`: where the metrics of `measure` come together.

`measure` fills the statistics from files, `GNCMetrics` from batches of a training loop.
"""

import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from gnc_cli import __version__
from gnc_cli.collapse.class_rows import ClassRows
from gnc_cli.collapse.conventions import NONZERO, OWN, Conventions
from gnc_cli.collapse.reference import possible_gnc2, random_gnc2
from gnc_cli.collapse.result import (
    CLASSIC,
    NO_ETF,
    NO_SPREAD,
    NOISE_TO_COME,
    STAND_IN,
    ClassCounts,
    ClassMerge,
    Coherence,
    DuplicatePair,
    Gnc2Reference,
    HeadAccuracies,
    MeasureMargins,
    MeasureResult,
    Policy,
    Precision,
    SampleMargins,
    VariantMetrics,
    WithoutDuplicates,
)
from gnc_cli.collapse.samples import Prepared
from gnc_cli.collapse.statistics import Statistics
from gnc_cli.errors import DataError
from gnc_cli.geometry.gram import max_abs_cosine, mean_square_cosine
from gnc_cli.geometry.rounding import spacing, stored_digits
from gnc_cli.geometry.sphere import angle_from_chord, chord, normalise, row_norms
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.decisions import Decisions
from gnc_cli.metrics.gnc1 import Gnc1, gnc1_forms
from gnc_cli.metrics.gnc2 import Gnc2Detail, gnc2, gnc2_detail
from gnc_cli.metrics.gnc3 import gnc3_forms
from gnc_cli.metrics.rows import ZeroRowsError
from gnc_cli.metrics.scale import softmax_scale
from gnc_cli.metrics.spectrum import FeatureSpectrum
from gnc_cli.metrics.variants import classic, evenness, neco
from gnc_cli.parameters import Lines, spelled
from gnc_cli.records import marked
from gnc_cli.runtime.deadline import Deadline

_T = TypeVar("_T")

_LISTED = 10
"""Classes in the summary: the worst, the missing."""
_PROBABILITY = 0.9
"""That softmax is to reach on every class at the scale `margins.scale`."""
_APART = 0.5
"""Share of samples next to their own class mean, from which on a classifier should do as well."""
_CLEARLY = 0.02
"""Accuracies of two forms of a head that differ by more are of different classifiers."""
_NOISE = 5.0
"""Eigenvalues of Sigma_B up to this many times the noise of the class means may be noise."""
_OF_MEANS = (
    "gnc1",
    "gnc1_rank",
    "gnc1_centred",
    "gnc1_centred_rank",
    "gnc3",
    "gnc3_centred",
    "global_mean_squared",
)
_OF_ALL_PAIRS = ["rattlers.one_vs_one", "max_cosine", "margins.arcface_rad"]
_NEAR_SIMPLICES = 0.05
"""Cosines of a trained head this near to those of orthogonal simplices are said to be so."""
_PRODUCTS_OF_PAIRS = 1e11
"""Products for the cosines of all pairs of weights, up to which they cost some seconds."""
_COINCIDE = 1e-6
"""Up to this GNC2 two unit weights stand in one place: a vertex of the hull is in no other's."""
_NOWHERE = dict.fromkeys(("file", "snapshot", "epoch", "step", "layer", "split"))


@dataclass(frozen=True, eq=False)
class Weights:
    """The rows that GNC2 is about: the classifier's, or class means in their place, (m, d)."""

    rows: np.ndarray
    """Float64, in the space of the GNC metrics: unit, or as they are with normalize=off."""
    raw: np.ndarray
    """As they were stored."""
    of_classifier: bool
    """False where the class means stand in."""
    classes: np.ndarray
    """Which of the K classes the rows are, increasing, shape (m,); all of them of a classifier."""

    @property
    def unit(self) -> bool:
        """Whether `rows` are of norm 1."""
        squares = np.einsum("kd,kd->k", self.rows, self.rows)
        return bool(np.abs(squares - 1.0).max() < 2e-8)


def classifier_weights(raw: np.ndarray, *, unit: bool, labels: np.ndarray, where: str) -> Weights:
    """A classifier's weights, raw (K, d); scaled where `unit`, which a zero row refuses.

    `labels` of the rows in the file, and where they are from, are for messages.
    """
    zero = np.flatnonzero(~raw.any(axis=1))
    if unit and zero.size:
        raise ZeroRowsError(
            f"{where} has {zero.size} zero row(s), the first is row {labels[zero[0]]}: a weight "
            f"needs a direction; leave these classes out with {spelled('classes', NONZERO)}, or, "
            f"if these are features, name them with {spelled('features')}"
        )
    rows = raw / row_norms(raw)[:, None] if unit else np.ascontiguousarray(raw, dtype=np.float64)
    return Weights(rows, raw, True, np.arange(len(raw)))


def mean_weights(moments: ClassMoments, *, unit: bool) -> Weights:
    """The means of the classes present in place of weights; two at least, none zero."""
    classes = np.flatnonzero(moments.present)
    if len(classes) < 2:
        raise DataError(f"{len(classes)} class has samples; without weights at least two must")
    means = moments.means[classes]
    if unit and not means.any(axis=1).all():
        raise DataError("a class mean is zero and has no direction; give the classifier's weights")
    return Weights(normalise(means) if unit else means, means, False, classes)


def assemble(
    conventions: Conventions,
    statistics: Statistics,
    weights: Weights,
    *,
    labels: np.ndarray,
    left_out: int = 0,
    names: list[str] | None = None,
    reference: Gnc2Reference | None = None,
    place: Mapping[str, Any] = _NOWHERE,
    head: str | None = None,
    detail: bool = True,
    device: str = "cpu",
    deadline: Deadline | None = None,
    started: float,
) -> MeasureResult:
    """All metrics of one set of features, weights or both.

    Args:
        labels: what each of the K classes is called in the file, integers, shape (K,).
        left_out: how many more classes the file has.
        names: of the classes, by their label in the file.
        reference: what GNC2 is held against.
        place: where the numbers are from: file, snapshot, epoch and the like.
        head: the classifier's dataset and why it was taken, where nobody named it.
        detail: also quantiles and the rattlers of all classes.
        started: `time.monotonic()` at the beginning.

    Raises:
        DataError: a metric is undefined, say because all class means are zero.
    """
    moments, decisions = statistics.moments, statistics.decisions
    if decisions is not None and decisions.loo_counted is not None:
        # Every sample that is the mean of its class is nearest to it: that says nothing.
        known = decisions.ncc_right if decisions.loo_counted.any() else None
        decisions = replace(decisions, ncc_right=known)
    figures: dict[str, Any] = dict.fromkeys(_OF_MEANS)
    warnings: list[str | None] = [_digits_warning(weights.raw) if weights.of_classifier else None]
    if moments is not None:
        between, means = statistics.train or moments, moments.means[moments.present]
        centres = between.means[between.present]
        ones = gnc1_forms(moments.within_cov(), centres) if moments.has_spread else {}
        for key, one in ones.items():
            if one is not None:
                figures |= {key: one.value, f"{key}_rank": one.rank}
        figures["global_mean_squared"] = float((means.mean(axis=0) ** 2).sum())
        if weights.of_classifier:
            figures |= gnc3_forms(weights.rows[moments.present], means)
        warnings += [
            _floor_warning(moments, str(statistics.storage), conventions.unit),
            _noise_warning(
                ones if between is moments else gnc1_forms(between.within_cov(), centres), between
            )
            if moments.has_spread
            else NO_SPREAD,
        ]
    unit = weights.unit
    left: dict[str, tuple[str, ...]] = {}
    pairs, without, merge_list = None, None, None
    if conventions.duplicates is not None and unit:  # asked for by name: before the quantiles
        of_rows = labels[weights.classes]  # class means leave out the classes without samples
        counts = None if moments is None else moments.counts[weights.classes]
        pairs, without, merge_list = _in_time(
            lambda: _duplicates(
                conventions.duplicates or 0.0, weights.rows, of_rows, counts, names, deadline
            ),
            spelled("duplicates"),
            ("duplicates", "without_duplicates"),
            deadline,
            left,
        ) or (None, None, None)
    distances = gnc2_detail(
        weights.rows,
        every_class=conventions.every_class or None,
        seed=conventions.seed,
        deadline=deadline,
        device=device,
        minimum_only=not detail,
        unit=unit,
    )
    rho, cosines = distances.bracket, distances.nearest_cosine
    nearest = (
        distances.nearest if conventions.duplicates is None and rho.upper <= _COINCIDE else None
    )
    if nearest is not None and cosines is not None:
        k = int(cosines.argmax())
        both = labels[weights.classes[[k, nearest[k]]]]
        warnings.append(_coincidence_warning(weights.of_classifier, sorted(both.tolist()), names))
    coherence = _coherence(conventions, weights.rows, deadline, left) if detail and unit else None
    others = _of_others(conventions, statistics, weights, deadline, left)
    undecided = [
        *(key for keys in left.values() for key in keys),
        *["rattlers.one_vs_rest"] * distances.undecided,
        *_OF_ALL_PAIRS * (unit and cosines is None),
    ]
    rows = ClassRows(
        # A series keeps the rows of every snapshot: without the directions, K x d numbers each.
        replace(distances, directions=None),
        weights.classes,
        moments,
        decisions,
        labels,
        names,
    )
    best = reference.value if reference is not None and reference.value > 0.0 else None
    random = random_gnc2(*weights.rows.shape[::-1]) if detail and best else None
    return MeasureResult(
        seconds=time.monotonic() - started,
        version=__version__,
        **place,
        N=None if moments is None else int(moments.N),
        d=weights.rows.shape[1],
        K=len(labels),
        prefix_of=None,
        gnc2=rho,
        gnc2_quantiles=distances.quantiles,
        gnc2_reference=reference,
        gnc2_possible=None,
        gnc2_ratio=rho.lower / best if best else None,
        gnc2_ratio_random=random / best if random and best else None,
        ncc_accuracy=_share(decisions, "ncc_right"),
        ncc_leave_one_out=_share(decisions, "loo_right", "loo_counted"),
        accuracy=_share(decisions, "right"),
        head_accuracies=_head_accuracies(decisions),
        ncc_agreement=_share(decisions, "agree"),
        **figures,
        **others,
        sample_margins=_sample_margins(decisions),
        margins=_margins(distances, len(weights.rows)),
        max_cosine=None if cosines is None else float(cosines.max()),
        coherence=coherence,
        rattlers=distances.rattlers,
        classes=_counts(moments, labels),
        worst_classes=rows.worst(_LISTED),
        duplicates=pairs,
        without_duplicates=without,
        policy=_policy(conventions, statistics, weights, left_out, head),
        warnings=(
            *(each for each in warnings if each),
            *_form_warning(decisions),
            *_order_warning(decisions),
            *left,
        ),
        per_class=rows,
        merges=merge_list,
        one_vs_rest=(distances.lower, distances.upper),
        undecided=tuple(undecided),
        features=statistics.features,
        notes=_arrangement(weights)
        if unit and len(weights.rows) <= 2 * weights.rows.shape[1]
        else (),
    )


def _arrangement(weights: Weights) -> tuple[str, ...]:
    """Name the simplices that weights nearly form where K <= 2 d."""
    from gnc_cli.known_codes.recognition import join_of_simplices  # with the constructions

    join = join_of_simplices(weights.rows, _NEAR_SIMPLICES)
    return (f"every cosine of the rows is within {_NEAR_SIMPLICES} of {join}",) if join else ()


def assemble_features(
    spectrum: FeatureSpectrum, N: int, samples: Prepared, place: Mapping[str, Any], started: float
) -> MeasureResult:
    """Return the result of features without labels, N of whose rows are not zero."""
    notes, zero = samples.notes, spectrum.zero_rows
    if zero:
        notes += (f"{samples.where['features']}: {zero} of {N + zero} rows are zero, left out",)
    row = assemble_null(samples, N, place, started)
    return replace(row, K=None, notes=notes, features=spectrum)


def assemble_null(
    samples: Prepared, N: int | None, place: Mapping[str, Any], started: float
) -> MeasureResult:
    """Return a result in which every metric is null: of N samples, or of weights alone."""
    required = [each.name for each in fields(MeasureResult) if each.default is MISSING]
    values: dict[str, Any] = dict.fromkeys(required)
    storage = None if samples.features is None else str(samples.features.dtype)
    values |= {
        "seconds": time.monotonic() - started,
        "version": __version__,
        "attrs": {},
        "N": N,
        "d": samples.d,
        "K": samples.K,
        "variants": VariantMetrics(),
        "worst_classes": (),
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
        "warnings": (),
    }
    return MeasureResult(**(values | dict(place)))


def of_prefix(result: MeasureResult, whole: int, K: int, conventions: Conventions) -> MeasureResult:
    """The result of the first `result.d` of `whole` dimensions: without the figures of an ETF of
    the K rows where there is none, and beside GNC2 what is possible."""
    masked: dict[str, Any] = {}
    warnings = result.warnings
    if K > result.d + 1:
        masked = dict.fromkeys(marked(MeasureResult, "etf"))
        warnings += (f"{NO_ETF} K = {K} classes in fewer than K - 1 dimensions",)
    possible = possible_gnc2(result.d, K, conventions.table) if conventions.unit else None
    return replace(result, prefix_of=whole, gnc2_possible=possible, warnings=warnings, **masked)


def _share(decisions: Decisions | None, name: str, of: str = "counted") -> float | None:
    """The samples of which `name` holds, among those that could be decided."""
    right, counted = getattr(decisions, name, None), getattr(decisions, of, None)
    if right is None or counted is None or not counted.any():
        return None
    return int(np.sum(right)) / int(counted.sum())


def _head_accuracies(decisions: Decisions | None) -> HeadAccuracies | None:
    if decisions is None or decisions.forms is None or not (total := decisions.counted.sum()):
        return None
    return HeadAccuracies(*(decisions.forms / total).tolist())


def _sample_margins(decisions: Decisions | None) -> SampleMargins | None:
    positive = _share(decisions, "positive")
    if decisions is None or positive is None:
        return None
    assert decisions.margin_min is not None and decisions.margin_sum is not None
    mean = float(decisions.margin_sum.sum()) / int(decisions.counted.sum())
    return SampleMargins(positive, float(decisions.margin_min.min()), mean)


def _margins(detail: Gnc2Detail, K: int) -> MeasureMargins:
    rho, cosines = detail.bracket.lower, detail.nearest_cosine
    angle = None if cosines is None else float(angle_from_chord(chord(float(cosines.max()))))
    scale = softmax_scale(math.log(K - 1), _PROBABILITY, rho) if rho > 0.0 else None
    return MeasureMargins(rho, angle, scale, _PROBABILITY)


def _duplicates(
    cosine: float,
    W: np.ndarray,
    labels: np.ndarray,
    counts: np.ndarray | None,
    names: list[str] | None,
    deadline: Deadline | None,
) -> tuple[tuple[DuplicatePair, ...], WithoutDuplicates, tuple[ClassMerge, ...]]:
    """Classes whose weights nearly coincide; GNC2 with the first class kept of each group, which
    leaves half of the time for GNC2 of all; and the classes to merge."""
    from gnc_cli.metrics.duplicates import find_duplicates, merges

    pairs, cosines, count, first = find_duplicates(W, cosine, deadline=deadline)
    named = [
        DuplicatePair(a, b, float(c), *(None if names is None else names[k] for k in (a, b)))
        for (a, b), c in zip(labels[pairs].tolist(), cosines, strict=True)
    ]
    rows, keepers, angles = merges(W, first, counts)
    merge_list = []
    for row, keeper, angle in zip(rows, keepers, np.degrees(angles), strict=True):
        both = [keeper, row]
        keep, merge = (int(label) for label in labels[both])
        samples = [None, None] if counts is None else counts[both].tolist()
        of_both = [None, None] if names is None else [names[keep], names[merge]]
        merge_list.append(ClassMerge(keep, merge, float(angle), *samples, *of_both))
    kept = np.flatnonzero(first == np.arange(len(W)))
    half = None if deadline is None else deadline.within(deadline.remaining / 2)
    rho = gnc2(W[kept], deadline=half) if len(kept) > 1 else None
    return tuple(named), WithoutDuplicates(cosine, count, len(kept), rho), tuple(merge_list)


def _coherence(
    conventions: Conventions,
    W: np.ndarray,
    deadline: Deadline | None,
    left: dict[str, tuple[str, ...]],
) -> Coherence:
    """Cosines of unit rows without their signs, and how small they can be."""
    from gnc_cli.limits.lines import least_coherence, least_mean_square  # not for a training

    (K, d), largest = W.shape, None
    thorough = conventions.classic or conventions.every_class
    if thorough or float(K) * K * d <= _PRODUCTS_OF_PAIRS:
        largest = _in_time(
            lambda: max_abs_cosine(W, deadline=deadline),
            "coherence",
            ("coherence.largest", "coherence.possible"),
            deadline,
            left,
        )
    possible = None if largest is None else least_coherence(d, K, largest)
    return Coherence(largest, possible, mean_square_cosine(W), least_mean_square(d, K))


def _of_others(
    conventions: Conventions,
    statistics: Statistics,
    weights: Weights,
    deadline: Deadline | None,
    left: dict[str, tuple[str, ...]],
) -> dict[str, Any]:
    """The classic metrics and what `--variants` and `--ood` add, as fields of the result."""
    figures: dict[str, Any] = dict.fromkeys(CLASSIC) | {"variants": VariantMetrics()}
    if (raw := statistics.raw) is None:
        return figures
    W, by = weights.raw if weights.of_classifier else None, statistics.raw_train or raw
    even, ood = None, statistics.ood
    how: dict[str, Any] = {"seed": conventions.seed, "deadline": deadline}
    if conventions.wants_classic(raw.d, raw.K):
        figures |= (
            _in_time(
                lambda: classic(raw, W, means_of=statistics.raw_train, **how),
                "NC1 to NC3",
                tuple(key for key in CLASSIC if key != "nc4"),
                deadline,
                left,
            )
            or {}
        )
        right = "agree_raw" if conventions.unit else "agree"
        figures["nc4"] = _share(statistics.decisions, right)
    if conventions.classic:
        even = _in_time(
            lambda: evenness(by.means[by.present], W, **how),
            spelled("variants", "classic"),
            ("variants.classic",),
            deadline,
            left,
        )
    return figures | {"variants": VariantMetrics(even, None if ood is None else neco(by, ood))}


def _in_time(
    work: Callable[[], _T],
    option: str,
    keys: tuple[str, ...],
    deadline: Deadline | None,
    left: dict[str, tuple[str, ...]],
) -> _T | None:
    """What `work` gives; None where the deadline comes first, and in `left` a warning with the keys
    that it is about."""
    try:
        return work()
    except TimeoutError:
        stopped = deadline is not None and deadline.interrupted
        cause = "interrupted before" if stopped else "time came before"
        left[f"{cause} {option} could be computed: left out"] = keys
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


def _policy(
    conventions: Conventions,
    statistics: Statistics,
    weights: Weights,
    left_out: int,
    head: str | None,
) -> Policy:
    """What was done."""
    own, means = "unit rows" if conventions.unit else "raw rows", None
    if statistics.moments is not None:
        source = statistics.means_of
        judge = statistics.judge or source
        means = {"gnc1": source, "ncc": judge, "classic": source, "gnc3": OWN}
    return Policy(
        normalize="auto" if conventions.unit else "off",
        spaces={
            "gnc1": own,
            "gnc2": own,
            "gnc3": own,
            "ncc": own,
            "sample_margins": statistics.accuracy if conventions.head else "unit rows",
            "accuracy": statistics.accuracy,
            "classic": "raw rows",
            "energies": "unit rows",
        },
        weights="given" if weights.of_classifier else STAND_IN,
        head=head,
        class_means=means,
        classes=(
            "list"
            if isinstance(conventions.classes, Lines)
            else conventions.classes and os.path.basename(conventions.classes)
        ),
        min_count=conventions.min_count,
        classes_left_out=left_out,
        precision=Precision(statistics.storage),
        ood=statistics.ood_name,
        variants="classic" if conventions.classic else "none",
    )


def _floor_warning(moments: ClassMoments, storage: str, unit: bool) -> str | None:
    """A warning where the spread within classes is what rounding on storage alone would leave.

    A rounded coordinate x is off by about `eps |x| / sqrt(12)`, so unit rows of one point have a
    mean squared distance of `eps**2 / 12` from their mean; up to four times that says nothing.
    """
    eps = spacing(storage)
    trace = float(np.trace(moments.within_cov()))
    size = 1.0 if unit else float((moments.means**2).sum() / int(moments.present.sum()))
    if not eps or moments.N <= len(moments.counts) or trace > eps**2 / 3.0 * size:
        return None
    if trace == 0.0:
        return "the features have no spread at all within classes: GNC1 is 0, or below rounding"
    further = "; save float64 features to see further" if storage != "float64" else ""
    return (
        f"the spread within classes, {trace**0.5:.1e} of the feature's length, is at the floor of "
        f"{storage} storage: GNC1 is rounding{further}"
    )


def _order_warning(decisions: Decisions | None) -> list[str]:
    """A warning where the features tell the classes apart, and the classifier does not."""
    right, near, shares = (
        _share(decisions, "right"),
        _share(decisions, "ncc_right"),
        _head_accuracies(decisions),
    )
    if (
        right is None
        or near is None
        or near < _APART
        or max([right, *(vars(shares).values() if shares else ())]) >= near / 2.0
    ):
        return []
    return [
        f"the nearest class mean names the class of {near:.1%} of the samples, the classifier that "
        f"of {right:.1%}: are the rows of the weights, or the columns of the logits, in the order "
        "of the labels, and of this network? (So does a classifier look that is not trained.)"
    ]


def _form_warning(decisions: Decisions | None) -> list[str]:
    """Return a warning where another form of the head names clearly more samples right than the
    linear one, by which the accuracy goes."""
    shares = _head_accuracies(decisions)
    if shares is None or max(shares.cosine, shares.euclidean) <= shares.linear + _CLEARLY:
        return []
    best = "cosine" if shares.cosine >= shares.euclidean else "euclidean"
    return [
        f"the accuracy, {shares.linear:.2%}, is that of a linear head; a cosine head has "
        f"{shares.cosine:.2%}, a euclidean head {shares.euclidean:.2%}: name the form that the "
        f"network has, such as {spelled('head', best)}"
    ]


def _noise_warning(ones: Mapping[str, Gnc1 | None], between: ClassMoments) -> str | None:
    """A warning where GNC1 divides by the noise of the class means, or would at collapse.

    Along a unit vector v the mean of n samples is off by `v^T Sigma_W v / n` squared on average;
    that is the eigenvalue along v where the true class means have no component, and K GNC1 then
    has n from v. K true class means that sum to 0 leave d - K + 1 dimensions; the noise of all of
    these is in the one eigenvalue that is added, a mean over K: `n K / (d - K + 1)` from v.
    """
    counts = between.counts[between.present]
    dimensions = max(1.0, (between.d - len(counts) + 1) / len(counts))
    noise = 1.0 / float((1.0 / counts).mean() * dimensions)
    names = [key for key, one in ones.items() if one and one.largest >= noise / _NOISE]
    if names:
        verb = "measures" if len(names) == 1 else "measure"
        return (
            f"{' and '.join(names)} {verb} noise: an eigenvalue of Sigma_B that is kept is of the "
            "size of the noise of the class means"
        )
    if ones["gnc1_centred"] is None or len(counts) > between.d or not ones["gnc1_centred"].value:
        return None
    return (
        f"{NOISE_TO_COME} the class means have mean 0, as at the optimum for K = {len(counts)} <= "
        f"d = {between.d}: gnc1_centred tends to 0"
    )


def _coincidence_warning(weights: bool, pair: list[int], names: list[str] | None) -> str:
    """Which two classes make GNC2 zero, by their labels."""
    a, b = (f"{k} ({names[k]})" if names else str(k) for k in pair)
    return (
        f"GNC2 is 0 as the {'weights' if weights else 'means'} of classes {a} and {b} coincide; "
        f"{spelled('duplicates', 0.999)} lists all such pairs, and GNC2 without them"
    )


def _digits_warning(raw: np.ndarray) -> str | None:
    """A warning where weights have the digits of a 16-bit float."""
    dtype = stored_digits(raw)
    if dtype not in ("bfloat16", "float16"):
        return None
    size = spacing(dtype)
    return (
        f"the weights have {dtype} digits: distances below 2^{math.log2(size):.0f} ({size:.1g}) "
        "are rounding"
    )
