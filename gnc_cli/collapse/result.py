"""Results of `gnc measure`: collapse metrics of one set of features, or of many."""

import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from gnc_cli.brackets import Bracket, Number
from gnc_cli.metrics.gnc2 import Gnc2Quantiles, Rattlers
from gnc_cli.metrics.spectrum import FeatureSpectrum
from gnc_cli.metrics.variants import Evenness, Neco
from gnc_cli.records import HIGHER, LABEL, LOWER, NOT_IN_JSON, OFF_DASHBOARD, QUESTION, Result

FILE_ATTRIBUTES = ("created", "gnc_version")
"""Attributes that differ between files of one run."""
NAMES = {
    "gnc1": "GNC1",
    "gnc1_centred": "GNC1 centred",
    "gnc3": "GNC3",
    "gnc3_centred": "GNC3 centred",
}
"""Names of the two forms of GNC1 and GNC3 in tables."""
FORMS = {"gnc1": "gnc1", "gnc3": "gnc3"}
"""The paper's forms."""
NOISE_TO_COME = "gnc1 is dominated by noise once"
"""Start of a warning for gates and programs; tables show the centred form in place of GNC1."""
NO_ETF = "the NC2 angles and the ETF errors are left out: no simplex ETF of"
"""Start of the warning of a prefix without an ETF, which tables do not show either."""
NO_SPREAD = (
    "gnc1, gnc1_centred, nc1, nc1_trace_quotient, cdnv and ncc_accuracy are null, as no class has "
    "two samples: the spread within classes is not known"
)
"""The warning if each class has at most one sample, for gates too."""
STAND_IN = "class means stand in"
"""Value of `Policy.weights` if GNC2 is that of the class means."""
_MAX_MEAN_SQUARED = 0.01
"""Squared length up to which the mean of the class means counts as 0, so that GNC3 can reach 0."""


_ETF: dict[str, Any] = {"etf": True}
"""Metadata of a value that needs a simplex ETF, K <= d + 1: None for a prefix without one."""


@dataclass(frozen=True)
class Gnc2Reference:
    """The reference of GNC2: a one-vs-rest distance that is known to be attainable."""

    value: float
    """The one-vs-rest distance that GNC2 is compared with."""
    kind: str
    """`theorem`, `table`, `solved`, `construction`, `file` or `pinned`."""
    id: str
    """The theorem, the entry, the construction, the file."""
    source: str
    """Source of the entry; `1 - max_cosine` if it is a Tammes code."""
    data_version: str | None
    """Date and sha256 of the table, or the version of gnc that built the code."""
    proven: bool
    """True if the value is rho*(d, K): no classifier has a larger distance."""
    how: str | None = None
    """The command that found the code behind it, or writes the stored one, where this project
    found it."""


@dataclass(frozen=True)
class MeasureMargins:
    """The largest margins that losses on the sphere can satisfy with this classifier."""

    cosface: float
    """Additive cosine margin for the best features: the certified lower end of GNC2."""
    arcface_rad: float | None
    """Additive angle: the minimal angle between two weights, radians. Features on their weights
    attain it. None where a weight is zero."""
    scale: float | None = field(metadata=LOWER)
    """The scale s = 1/tau from which softmax can reach `probability` on every class; None where
    no margin is left."""
    probability: float
    """Softmax probability of `scale`: 0.9. `gnc bounds --margin` has the scale for any
    probability."""


@dataclass(frozen=True)
class Coherence:
    """Cosines of the class weights without their signs: deviations from orthogonal lines."""

    largest: float | None = field(metadata=LOWER)
    """Coherence: the largest absolute cosine of two weights; None if K^2 d is above 1e11 without
    `--variants classic` or `--per-class`, or if time ran out."""
    possible: Bracket | None
    """The least coherence of K lines in d dimensions (2 K antipodal points); None with
    `largest`."""
    mean_square: float = field(metadata=LOWER)
    """Mean of the squared cosines of two weights."""
    welch: float
    """Least possible mean square, max(0, (K - d) / (d (K - 1))) by Welch; tight frames attain
    it."""


@dataclass(frozen=True)
class HeadAccuracies:
    """Accuracy of the stored weights by each form of a head.

    They are equal if all rows have the same norm and there is no bias.
    """

    linear: float
    """Accuracy by the largest logit `<w, h> + b`, as `accuracy`."""
    cosine: float
    """Accuracy by the largest cosine of w and h."""
    euclidean: float
    """Accuracy by the nearest w."""


@dataclass(frozen=True)
class SampleMargins:
    """One-vs-rest margins `min_j <w_y - w_j, h>` of the samples.

    Features and weights are unit; with `--head linear` or `euclidean` they are raw, with the biases
    of that head.
    """

    positive_share: float
    """Share of samples whose one-vs-rest margin is above 0."""
    min: float
    """Smallest one-vs-rest margin of a sample."""
    mean: float
    """Mean one-vs-rest margin of the samples."""


@dataclass(frozen=True)
class ClassCounts:
    """Numbers of samples per class."""

    present: int
    """Number of classes with at least one sample."""
    missing: int = field(metadata=LOWER)
    """Number of classes without a sample, which are in no mean."""
    min_count: int | None
    """Samples of the smallest class present; None without samples."""
    max_count: int | None
    """Samples of the largest class; None without samples."""
    single_sample: int | None
    """Number of classes with one sample, which adds nothing to the spread within classes. If all
    are such, `gnc1`, `nc1`, `cdnv` and the like are None."""
    missing_labels: tuple[int, ...] = ()
    """Labels of the first ten classes without a sample."""


@dataclass(frozen=True)
class ClassRow:
    """One class, as `--per-class` lists it."""

    label: int
    """Label of the class, from 0, as the file has it."""
    name: str | None
    """Name of the class by `--class-names`; None without names."""
    count: int | None
    """Number of samples of the class; None without features."""
    mean_norm: float | None
    """Norm of the mean of its unit features, at most 1."""
    spread: float | None
    """Mean squared distance of its unit features to their mean; None for one sample."""
    one_vs_rest: Bracket | None
    """Distance of its weight to the hull of the others; None outside the sample."""
    nearest: int | None
    """The class whose weight makes the largest cosine with its own."""
    nearest_name: str | None
    """Name of that class; None without names."""
    nearest_cosine: float | None
    """Cosine of the two weights; None where rows are not unit or there was no time."""
    rattler: bool | None
    """True if its one-vs-rest distance provably exceeds the minimum by more than the tolerance."""
    accuracy: float | None = None
    """Share of its samples that the classifier gets right."""
    min_margin: float | None = None
    """Smallest one-vs-rest margin of its samples."""


@dataclass(frozen=True)
class DuplicatePair:
    """Pair of classes whose weights nearly coincide."""

    a: int
    """Label of one class."""
    b: int
    """Label of the other."""
    cosine: float
    """Cosine of their weights."""
    a_name: str | None = None
    """Name of `a`; None without names."""
    b_name: str | None = None
    """Name of `b`; None without names."""


@dataclass(frozen=True)
class ClassMerge:
    """A class to merge into another, as `--merge-list` lists it.

    One pair of duplicates, or a chain of them, connects the two classes.
    """

    keep: int
    """Label of the class kept: that with most samples of its group, else the lowest label."""
    merge: int
    """Label of the class to merge into it."""
    angle_deg: float
    """Angle between their weights, degrees."""
    keep_count: int | None
    """Samples of the class kept; None without features."""
    merge_count: int | None
    """Samples of the class to merge; None without features."""
    keep_name: str | None
    """Name of the class kept; None without names."""
    merge_name: str | None
    """Name of the class to merge; None without names."""


@dataclass(frozen=True)
class WithoutDuplicates:
    """GNC2 with one class kept of each group of duplicates."""

    cosine: float
    """Cosine above which two classes are duplicates."""
    pairs: int
    """Number of all pairs of duplicates."""
    classes: int
    """Number of classes kept."""
    gnc2: Bracket | None
    """GNC2 of the classes kept; None if fewer than two are left."""


@dataclass(frozen=True)
class Precision:
    """Arithmetic in which the values were computed."""

    storage: str | None
    """Dtype of the features; None without samples."""
    sums: str = "float64"
    """Dtype in which sums over samples were taken."""
    decisions: str = "float32 products, near ties again in float64"
    """Arithmetic of the decisions on nearest class means and classes."""


@dataclass(frozen=True)
class Policy:
    """Conventions of a result; results of equal policy can be compared."""

    normalize: str
    """`auto` or `off`."""
    spaces: dict[str, str]
    """Kind of rows of each metric: `unit rows`, `raw rows`, `logits` or `none`; with `--head` the
    form of the head."""
    weights: str
    """`given`, or `class means stand in`; `none` for features without labels."""
    head: str | None
    """Dataset of the weights and the reason for its choice: a model's config.json, or that no other
    can be a classifier; of a model of the hub also its commit. None if the user named it."""
    class_means: dict[str, str] | None
    """Set of the class means of each metric: `own`, the file of `--means-from`, or `split train` of
    the same epoch of a run; None without samples."""
    classes: str | None
    """The file of `--classes`."""
    min_count: int | None
    """The least number of samples of `--min-count`; None without this option."""
    classes_left_out: int
    """Number of classes left out by `classes` and `min_count`."""
    precision: Precision
    """Dtypes of the features, the sums and the decisions."""
    variants: str
    """`none` or `classic`."""
    ood: str | None
    """The files of `--ood`, as the user named them; `array` for an array, None without `--ood`."""


@dataclass(frozen=True)
class VariantMetrics:
    """Metrics of other authors, on request."""

    classic: Evenness | None = None
    """Energies and effective ranks; None without `--variants classic`."""
    neco: Neco | None = None
    """NECO of out-of-distribution features; None without `--ood`."""


@dataclass(frozen=True)
class ReachRow:
    """A class, or a set of classes that are to win together."""

    labels: tuple[int, ...]
    """Labels of the classes in the file."""
    names: tuple[str, ...] | None
    """Names of the classes, by `--class-names` or the model's tokens; None without names."""
    margin: Bracket
    """The largest margin over all other classes that a feature in the ball gives."""
    twin: int | None = None
    """Another class with the same row and no smaller bias, so that this one can only tie."""
    twin_name: str | None = None
    """Name of that class; None without names."""


@dataclass(frozen=True)
class ReachSummary:
    """Classes, or sets of them, that can be the largest logits, proved for features in a ball."""

    feature_norm: Number
    """Radius R of the ball: `--feature-norm`, else the largest norm among the features, else
    infinite (null). Margins are then per unit of the norm."""
    biased: bool
    """True if biases differ; equal biases have no effect."""
    subjects: int
    """Number of classes, or of sets of classes, that the verdicts are about."""
    rivals: int
    """Number of classes of the head, which the subjects must win against."""
    can_win: int
    """Number of subjects proved to win: a feature in the ball makes them the largest logits."""
    unreachable: Bracket = field(metadata=LOWER)
    """Number of subjects that cannot win: those proved, and at most the undecided ones as well."""
    ties: Bracket = field(metadata=LOWER)
    """Number of subjects that can only tie, as another class has the same row and bias:
    those proved, and at most the undecided ones as well."""
    undecided: int = field(metadata=LOWER)
    """Number of undecided subjects, whose margin has a bracket that contains 0."""
    unreachable_rows: tuple[ReachRow, ...]
    """Subjects that cannot win."""
    tied_rows: tuple[ReachRow, ...]
    """Subjects that can only tie."""
    undecided_rows: tuple[ReachRow, ...]
    """Undecided subjects."""
    hardest_rows: tuple[ReachRow, ...]
    """The ten subjects that win by the smallest margin; empty if biases differ and R is
    infinite."""
    best_possible: float | None
    """Largest margin that the hardest set of k classes can have among m unit rows without bias. It
    is R m / sqrt(k (m - 1)(m - k)), m = `rivals` (arXiv 2601.20844). None for other rows, or sets
    of several sizes."""


class _Centred(ABC):
    """Choice between the GNC1 and GNC3 of the paper and the centred ones."""

    @property
    def forms(self) -> dict[str, str]:
        """Keys of the informative GNC1 and GNC3: the paper's, or the centred ones.

        The centred form is used if the paper's does not tend to 0 at collapse.
        """
        return {key: f"{key}_centred" if reason else key for key, reason in self._reasons().items()}

    @property
    def centring_reason(self) -> str:
        """Reason for the centred forms in `forms`; empty if there are none."""
        reasons = self._reasons().items()
        return "; ".join(f"{key.upper()}, as {reason}" for key, reason in reasons if reason)

    @abstractmethod
    def _reasons(self) -> dict[str, str]:
        """Return the reason for the centred form of each key; empty for that of the paper."""


@dataclass(frozen=True)
class MeasureResult(_Centred, Result):
    """Collapse metrics of one set of features, weights or both: the result of `gnc measure`.

    For features without labels all metrics but `features` are None.
    """

    file: str | None = field(metadata=LABEL)
    """Name of the file as the user gave it; several shards joined by a comma; the folder of a run's
    snapshots; None for arrays."""
    snapshot: str | None = field(metadata=LABEL)
    """The group of `/snapshots` in the file, or the name of the file in that folder."""
    epoch: int | float | None = field(metadata=LABEL)
    """Epoch that the file or the snapshot names; None where it names none."""
    step: int | float | None = field(metadata=LABEL)
    """Step that the file or the snapshot names; None where it names none."""
    layer: str | None = field(metadata=LABEL | QUESTION)
    """Layer that the file or the snapshot names; None where it names none."""
    split: str | None = field(metadata=LABEL | QUESTION)
    """Set of samples (`train`, `test`) that the file or the snapshot names, or None."""
    N: int | None
    """Number of samples; of nonzero rows if there are no labels. None for weights only."""
    d: int = field(metadata=LABEL | QUESTION)
    """Dimension of the features and weights."""
    K: int | None = field(metadata=LABEL | QUESTION)
    """Number of classes measured; None for features without labels."""
    prefix_of: int | None = field(metadata=LABEL | QUESTION)
    """Dimension of the whole rows, of which `--prefix-dims` measures the first d; None without."""
    gnc1: float | None = field(metadata=LOWER)
    """Variability within classes, tr(Sigma_W pinv(Sigma_B)) / K of unit features, Sigma_B not
    centred, as in the paper. At collapse it is 0 where K = d + 1 or K >= 2d - 1; it is noise where
    K <= d."""
    gnc1_rank: int | None
    """Rank of Sigma_B that the pseudo-inverse kept."""
    gnc1_centred: float | None = field(metadata=LOWER)
    """GNC1 with Sigma_B centred at the mean of the class means, as in the paper's code. At collapse
    it is 0 also where K <= d. None where all class means are equal."""
    gnc1_centred_rank: int | None
    """Rank of the centred Sigma_B that the pseudo-inverse kept."""
    gnc2: Bracket | None = field(metadata=HIGHER)
    """Smallest one-vs-rest distance of the unit weights, certified; of the class means without
    weights."""
    gnc2_quantiles: Gnc2Quantiles | None = field(metadata=HIGHER)
    """Quantiles of the classes' one-vs-rest distances; None in `gnc train` and from
    `GNCMetrics` without `detail`."""
    gnc2_reference: Gnc2Reference | None
    """The distance that GNC2 is compared with; None if no code is known, or with raw rows."""
    gnc2_possible: Bracket | None
    """rho*(d, K), the largest GNC2 of any K unit rows, as `gnc bounds` brackets it; None without
    `--prefix-dims`."""
    gnc2_ratio: float | None = field(metadata=HIGHER)
    """gnc2.lower / gnc2_reference.value: 1 if the weights attain the best value gnc knows. It is
    above 1 only where that value is not proved optimal."""
    gnc2_ratio_random: float | None = field(default=None, kw_only=True)
    """The ratio that K random unit rows of the same dimension have on average; None without
    `gnc2_ratio`, where it is not known (d below 32 with many classes), in `gnc train` and from
    `GNCMetrics` without `detail`."""
    gnc3: float | None = field(metadata=LOWER)
    """Distance from self-duality, mean (1 - <w_k, class_mean_k>), as in the paper. At collapse it
    is 0 where the class means have mean 0."""
    gnc3_centred: float | None = field(metadata=LOWER)
    """GNC3 of the centred class means M_k, mean (1 - cos(w_k, M_k)), as in the paper's code. At
    collapse it is 0. None where a w_k or M_k is zero."""
    global_mean_squared: float | None
    """Squared length of the mean of the class means. Where it is above 0.01 the paper's GNC3 need
    not reach 0."""
    ncc_accuracy: float | None = field(metadata=HIGHER)
    """Share of samples whose nearest class mean is their own."""
    ncc_leave_one_out: float | None = field(metadata=HIGHER)
    """NCC accuracy with each sample taken out of its own class's mean; None on other means."""
    accuracy: float | None = field(metadata=HIGHER)
    """Share of samples that the classifier gets right."""
    head_accuracies: HeadAccuracies | None = field(default=None, kw_only=True, metadata=HIGHER)
    """Accuracy by each form of the head; None with `--head` or logits, without weights or samples,
    and from `GNCMetrics`."""
    ncc_agreement: float | None = field(metadata=HIGHER)
    """Share of samples on which the classifier and the nearest class mean agree."""
    nc1: float | None = field(metadata=LOWER | {"classic": "NC1"})
    """tr(Sigma_W pinv(Sigma_B)) / K of raw features, Sigma_B centred. This and the classic metrics
    below are None without samples, and beyond 5000 classes or dimensions without `--variants
    classic`."""
    nc1_trace_quotient: float | None = field(metadata=LOWER | {"further": "NC1 traces"})
    """tr Sigma_W / tr Sigma_B, Sigma_B centred."""
    cdnv: float | None = field(metadata=LOWER | {"classic": "CDNV"})
    """Class-distance normalised variance, mean over k != j of (var_k + var_j) / (2 |m_k -
    m_j|^2)."""
    nc2_equinorm_means: float | None = field(metadata=LOWER | {"classic": "NC2 norms"})
    """Standard deviation of the norms of the centred class means, divided by their mean."""
    nc2_equinorm_weights: float | None = field(metadata=LOWER | {"further": "NC2 norms of W"})
    """Standard deviation of the norms of the weights, divided by their mean."""
    nc2_equiangularity: float | None = field(metadata=LOWER | _ETF | {"classic": "NC2 angles"})
    """Standard deviation of the cosines of two centred class means."""
    nc2_max_angle: float | None = field(metadata=LOWER | _ETF | {"further": "NC2 max angle"})
    """Mean |cosine + 1 / (K - 1)| of two centred class means."""
    nc2_etf_error: float | None = field(metadata=LOWER | _ETF | {"classic": "NC2 ETF"})
    """Distance of M M^T from that of a simplex ETF, each divided by its norm; M are the centred
    class means."""
    nc2_etf_error_weights: float | None = field(metadata=LOWER | _ETF | {"further": "NC2 ETF of W"})
    """Distance of W W^T from that of a simplex ETF, each divided by its norm; W is not centred."""
    nc3: float | None = field(metadata=LOWER | {"classic": "NC3"})
    """|W / |W| - M / |M||, Frobenius norms, M the centred class means."""
    nc3_dual_etf_error: float | None = field(metadata=LOWER | _ETF | {"further": "NC3 dual"})
    """Distance of W M^T from that of a simplex ETF, each divided by its norm."""
    nc4: float | None = field(metadata=HIGHER | {"classic": "NC4"})
    """Share of samples on which the classifier and the nearest class mean of raw rows agree."""
    sample_margins: SampleMargins | None = field(metadata=HIGHER)
    """One-vs-rest margins of the samples; None without both features and weights."""
    margins: MeasureMargins | None = field(metadata=HIGHER)
    """The largest margins that CosFace and ArcFace can satisfy with this classifier."""
    max_cosine: float | None = field(metadata=LOWER)
    """Largest cosine of two class weights; None where a weight is zero."""
    coherence: Coherence | None
    """Cosines of the class weights without their signs; None where rows are not unit, and from
    `GNCMetrics` without `detail`."""
    rattlers: Rattlers | None = field(metadata=LOWER)
    """Number of class weights that are free to move, by either distance."""
    variants: VariantMetrics
    """Metrics of `--variants` and `--ood`."""
    classes: ClassCounts | None
    """Numbers of samples per class; None for features without labels."""
    worst_classes: tuple[ClassRow, ...]
    """The ten classes nearest to the hull of the others, the nearest first."""
    duplicates: tuple[DuplicatePair, ...] | None = field(metadata=LOWER)
    """Pairs of classes above the cosine of `--duplicates`, the closest first, at most 1000."""
    without_duplicates: WithoutDuplicates | None
    """GNC2 without duplicates; None without `--duplicates`, or if time ran out."""
    policy: Policy = field(metadata=OFF_DASHBOARD | QUESTION)
    """Conventions of the metrics: rows, weights, class means and classes."""
    warnings: tuple[str, ...]
    """Warnings about values that may mislead."""
    notes: tuple[str, ...] = ()
    """Notes on the reading of the files (data left out, ignored, joined or assumed), and the
    simplices that the weights nearly form if d + 2 <= K <= 2 d."""
    features: FeatureSpectrum | None = None
    """Spectrum of the features, with the number of dimensions that they use. None without features,
    in `gnc train` and from `GNCMetrics`."""
    reach: ReachSummary | None = None
    """Classes that can win; None without `--reach`."""
    reach_sets: ReachSummary | None = None
    """Sets of classes that can win together; None without `--sets`."""
    undecided: tuple[str, ...] = ()
    """Keys of values that the time limit left undecided: gates on them end with exit code 4."""
    attrs: dict[str, Any] = field(default_factory=dict, metadata=OFF_DASHBOARD)
    """Further attributes of the row in the file: seed and the like."""
    out: str | None = None
    """The file that the result was written to; None without `--out`."""
    per_class: Any = field(default=None, metadata=NOT_IN_JSON, repr=False, compare=False)
    """Every `ClassRow`, by label."""
    merges: Any = field(default=None, metadata=NOT_IN_JSON, repr=False, compare=False)
    """Every `ClassMerge`, group by group; None without `--duplicates`, or if time ran out."""
    one_vs_rest: Any = field(default=None, metadata=NOT_IN_JSON, repr=False, compare=False)
    """Lower and upper ends of the distances of the m measured classes, two arrays (m,)."""
    witnesses: Any = field(default=None, metadata=NOT_IN_JSON, repr=False, compare=False)
    """The proofs of `reach` and `reach_sets`: arrays by name, as `--out` writes them."""
    cut_short: bool = field(default=False, metadata=NOT_IN_JSON)
    """True if the time limit came before the result was complete."""
    interrupted: bool = field(default=False, metadata=NOT_IN_JSON)
    """True if a signal came before the bracket of GNC2 closed."""

    command = "measure"

    @property
    def title(self) -> str:
        """The heading of a report."""
        name = self.file or "arrays"
        samples = "" if self.N is None else f"N = {self.N}, "
        return f"{name}{f': {self.snapshot}' if self.snapshot else ''}, {samples}{super().title}"

    @property
    def messages(self) -> tuple[str, ...]:
        """Warnings for a person."""
        hidden = (NOISE_TO_COME, NO_ETF)
        return tuple(f"warning: {text}" for text in self.warnings if not text.startswith(hidden))

    def _reasons(self) -> dict[str, str]:
        present = math.inf if self.classes is None else self.classes.present
        squared = self.global_mean_squared or 0.0
        centre_gnc1 = self.gnc1_centred is not None and present <= self.d
        centre_gnc3 = self.gnc3_centred is not None and squared > _MAX_MEAN_SQUARED
        return {
            "gnc1": f"K = {present} <= d" if centre_gnc1 else "",
            "gnc3": f"the mean of the class means has squared length {squared:.2g}"
            if centre_gnc3
            else "",
        }

    @property
    def key(self) -> tuple[str | None, str | None, int | None]:
        """File, snapshot and prefix, which distinguish the rows of a series."""
        return self.file, self.snapshot, None if self.prefix_of is None else self.d

    def order(self) -> tuple[float, float]:
        """Return the sort key: epoch, then step; rows without them come last."""
        epoch, step = self.epoch, self.step
        return math.inf if epoch is None else epoch, math.inf if step is None else step


@dataclass(frozen=True)
class MeasureSeries(_Centred, Result):
    """Several snapshots or files, in order of epoch."""

    rows: tuple[MeasureResult, ...]
    """One per file and snapshot; with `--resume` also those that the file had already."""
    skipped: int
    """Number of sets that were not measured again, since `--resume` found them in the file."""
    out: str | None = None
    """The file that the rows were written to; None without `--out`."""
    interrupted: bool = field(default=False, metadata=NOT_IN_JSON)
    """True if a signal came before all sets were measured."""
    single: bool = field(default=False, metadata=NOT_IN_JSON)
    """True if there was one set to measure, whose row the command prints."""

    command = "measure"

    def _reasons(self) -> dict[str, str]:
        """Return the reason of the last row that needs a centred form, with the number of them."""
        rows = [row._reasons() for row in self.rows if row.N is not None]
        needs = {key: [row[key] for row in rows if row[key]] for key in FORMS}
        shares = {
            key: f" ({len(texts)} of {len(rows)} rows)" if 0 < len(texts) < len(rows) else ""
            for key, texts in needs.items()
        }
        return {key: "".join(texts[-1:]) + shares[key] for key, texts in needs.items()}

    def lines(self) -> list[dict[str, Any]]:
        """Return each row as a single result, as `on_row` gets it."""
        return [row.to_json() for row in self.rows]

    judged_rows = lines

    @classmethod
    def judged_kinds(cls) -> tuple[type, ...]:
        """Return the types of the records behind `judged_rows`."""
        return (MeasureResult,)

    @property
    def title(self) -> str:
        """The heading of a report."""
        return f"{len(self.rows)} rows"

    @property
    def messages(self) -> tuple[str, ...]:
        """Each warning once with its number of rows, and the state of an interrupted series.

        The shares in a warning are those of the row with the lowest accuracy.
        """
        variants: dict[str, list[str]] = {}
        for row in sorted(self.rows, key=lambda r: math.inf if r.accuracy is None else r.accuracy):
            for warning in row.messages:
                variants.setdefault(re.sub(r"[\d.]+%", "%", warning), []).append(warning)
        total, lines = len(self.rows), []
        for texts in variants.values():
            worst = ", this is the worst" if len({*texts}) > 1 else ""
            lines.append(texts[0] + f" ({len(texts)} of {total} rows{worst})" * (total > 1))
        if self.interrupted and self.rows:
            rest = "; continue with --resume" if str(self.out).endswith(".jsonl") else ""
            lines.append(f"interrupted: {total} row{'' if total == 1 else 's'} measured{rest}")
        return tuple(lines)


MAIN_CLASSIC = {
    f.name: f.metadata["classic"] for f in fields(MeasureResult) if "classic" in f.metadata
}
"""Names, by key, of the classic metrics that tables and plots of several sets show."""
CLASSIC = {
    f.name: f.metadata.get("further", MAIN_CLASSIC.get(f.name))
    for f in fields(MeasureResult)
    if f.metadata.keys() & {"classic", "further"}
}
"""Names, by key, of all classic metrics."""


def value_under(row: Any, key: str) -> Any:
    """Return the value under a dotted key of a record; None if a record on the path is None."""
    for part in key.split("."):
        row = getattr(row, part, None)
    return row


def distinct_names(paths: Iterable[str]) -> dict[str, str]:
    """Return short distinct names of paths: without the folders and ends that all share.

    A name is at least that of the file.

    Example:
        >>> list(distinct_names(["runs/a/snapshots.h5", "runs/b/snapshots.h5"]).values())
        ['a', 'b']
        >>> list(distinct_names(["runs/a.h5", "runs/b.h5"]).values())
        ['a.h5', 'b.h5']
    """
    parts = {path: path.replace(os.sep, "/").split("/") for path in paths}
    shared = len(os.path.commonprefix([*parts.values()]))
    ends = len(os.path.commonprefix([p[shared:][::-1] for p in parts.values()]))
    return {path: "/".join(p[shared : len(p) - ends]) or p[-1] for path, p in parts.items()}
