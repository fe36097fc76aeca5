"""Results of `gnc measure`: collapse metrics of one set of features, or of many."""

from dataclasses import dataclass, field
from typing import Any

from gnc_cli.results.core import Bracket, Rattlers, Result, plain

__all__ = [
    "BootstrapIntervals", "ClassCounts", "ClassRow", "DuplicatePair", "Gnc2Quantiles",
    "Gnc2Reference", "MeasureGroup", "MeasureMargins", "MeasureResult", "MeasureSeries",
    "SampleMargins", "WithoutDuplicates",
]  # fmt: skip


@dataclass(frozen=True)
class Gnc2Quantiles:
    """Quantiles of the classes' one-vs-rest distances; each end is the quantile of those ends."""

    q0: Bracket
    """The minimum, always over all classes: GNC2 itself."""
    q0_001: Bracket
    q0_01: Bracket
    q0_1: Bracket
    q0_5: Bracket
    classes: int
    """How many classes the quantiles above 0 are over."""
    seed: int | None
    """Of the sample of classes; None where all classes were looked at."""


@dataclass(frozen=True)
class Gnc2Reference:
    """What GNC2 is held against: a one-vs-rest distance that is known to be within reach."""

    value: float
    """A one-vs-rest distance."""
    kind: str
    """`theorem`, `table`, `solved`, `construction`, `file` or `pinned`."""
    id: str
    """The theorem, the entry, the construction, the file."""
    source: str
    """What the entry says of itself; `1 - max_cosine` where the code behind it is a Tammes code."""
    data_version: str | None
    """Date and sha256 of the table, or the version of gnc that built the code."""
    proven: bool
    """The value is rho*(d, K) itself: no classifier has a larger distance."""


@dataclass(frozen=True)
class MeasureMargins:
    """The largest margins that losses on the sphere could still ask of this classifier."""

    cosface: float
    """Additive cosine margin, features at their best: the certified lower end of GNC2."""
    arcface_rad: float | None
    """Additive angle with each feature on its class weight: the minimum angle, radians; None where
    a weight is zero."""
    scale: float | None
    """The scale s = 1/tau from which softmax can reach `probability` on every class; None where
    no margin is left."""
    probability: float


@dataclass(frozen=True)
class SampleMargins:
    """One-vs-rest margins `min_j <w_y - w_j, h>` of the samples, unit features and unit weights."""

    positive_share: float
    """Share of samples whose margin is above 0."""
    min: float
    mean: float


@dataclass(frozen=True)
class ClassCounts:
    """How the samples fall on the classes."""

    present: int
    missing: int
    """Classes without a sample; they enter no mean."""
    min_count: int | None
    """Samples of the smallest class present; None without features."""
    max_count: int | None
    single_sample: int | None
    """Classes with one sample: they add nothing to the within-class covariance."""
    missing_labels: tuple[int, ...] = ()
    """The first ten of the missing."""


@dataclass(frozen=True)
class ClassRow:
    """One class, as `--per-class` lists it."""

    label: int
    name: str | None
    count: int | None
    mean_norm: float | None
    """Norm of the mean of its unit features, at most 1."""
    spread: float | None
    """Mean squared distance of its unit features to their mean."""
    one_vs_rest: Bracket | None
    """Distance of its weight to the hull of the others; None outside the sample."""
    nearest: int | None
    """The class whose weight makes the largest cosine with its own."""
    nearest_name: str | None
    nearest_cosine: float | None
    rattler: bool | None
    """One-vs-rest: proved to lie farther out than the minimum by more than the tolerance."""
    accuracy: float | None = None
    """Share of its samples that the classifier gets right."""
    min_margin: float | None = None
    """Smallest one-vs-rest margin of its samples."""


@dataclass(frozen=True)
class DuplicatePair:
    """Two classes whose weights nearly coincide."""

    a: int
    b: int
    cosine: float
    a_name: str | None = None
    b_name: str | None = None


@dataclass(frozen=True)
class WithoutDuplicates:
    """What is left when one class is kept of each group of duplicates."""

    cosine: float
    """Two classes above it are duplicates."""
    pairs: int
    """How many pairs there are in all."""
    classes: int
    """Classes kept."""
    gnc2: Bracket | None
    """GNC2 of these; None where fewer than two are left."""


@dataclass(frozen=True)
class BootstrapIntervals:
    """Percentile intervals over samples drawn again, class by class, with replacement."""

    replicates: int
    level: float
    gnc1: Bracket | None
    gnc3: Bracket | None
    ncc_accuracy: Bracket | None
    """The class means being held fixed."""
    accuracy: Bracket | None


@dataclass(frozen=True)
class MeasureResult(Result):
    """Collapse metrics of one set of features, weights or both: the result of `gnc measure`."""

    file: str | None
    """As the user named it; several shards joined by a comma; None for arrays."""
    snapshot: str | None
    epoch: float | None
    step: float | None
    layer: str | None
    split: str | None
    N: int | None
    d: int
    K: int
    gnc1: float | None
    gnc1_rank: int | None
    """Rank of the between-class covariance that the pseudo-inverse kept."""
    gnc2: Bracket
    gnc2_quantiles: Gnc2Quantiles | None
    gnc2_reference: Gnc2Reference | None
    gnc2_ratio: float | None
    """gnc2.lower / gnc2_reference.value."""
    gnc3: float | None
    ncc_accuracy: float | None
    ncc_leave_one_out: float | None
    """NCC accuracy with each sample taken out of its own class's mean; None on other means."""
    accuracy: float | None
    ncc_agreement: float | None
    """Share of samples on which the classifier and the nearest class mean agree."""
    sample_margins: SampleMargins | None
    margins: MeasureMargins
    max_cosine: float | None
    """Of two class weights; None where a weight is zero."""
    rattlers: Rattlers | None
    variants: dict[str, dict[str, Any]]
    bootstrap: BootstrapIntervals | None
    classes: ClassCounts
    worst_classes: tuple[ClassRow, ...]
    """The ten classes nearest to the hull of the others, the nearest first."""
    duplicates: tuple[DuplicatePair, ...] | None
    """Pairs of classes above the cosine of `--duplicates`, the closest first, at most 1000."""
    without_duplicates: WithoutDuplicates | None
    policy: dict[str, Any]
    """What was done: spaces, normalisation, means, missing classes, precision, variants, chunks."""
    warnings: tuple[str, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    """What the file says of the row, for `--group`: seed and the like."""
    out: str | None = None
    per_class: Any = field(default=None, metadata={"json": False}, repr=False, compare=False)
    """Every `ClassRow`, where asked for or where all classes were looked at."""
    extras: dict[str, Any] = field(
        default_factory=dict, metadata={"json": False}, repr=False, compare=False
    )
    """Arrays for plots: `one_vs_rest_lower`, `one_vs_rest_upper`; never printed."""

    command = "measure"


@dataclass(frozen=True)
class MeasureGroup:
    """Rows that differ in one key alone (`--group seed`): mean and standard deviation."""

    epoch: float | None
    """Shared by the rows of the group; likewise the next ones."""
    step: float | None
    layer: str | None
    split: str | None
    snapshot: str | None
    attrs: dict[str, Any]
    """What else the files say and the rows share: a temperature, the name of a network."""
    count: int
    mean: dict[str, float | None]
    """Of each number of the rows: gnc1, gnc2.lower, gnc3, accuracy, ..."""
    deviation: dict[str, float | None]
    """Sample standard deviation (count - 1); None for a single row."""


@dataclass(frozen=True)
class MeasureSeries(Result):
    """Several snapshots or files, in order of epoch."""

    rows: tuple[MeasureResult, ...]
    groups: tuple[MeasureGroup, ...]
    group: str | None
    """The key that the rows of a group differ in."""
    skipped: int
    """Sets that `--append FILE` had already; its rows are shown among the others."""
    earlier: tuple[dict[str, Any], ...] = field(default=(), metadata={"json": False}, repr=False)
    """The rows of that file, as JSON."""
    out: str | None = None
    interrupted: bool = field(default=False, metadata={"json": False})
    """Stopped before all sets were measured."""

    command = "measure"

    def _body(self) -> dict[str, Any]:
        fresh = [r._body() | {"seconds": plain(r.seconds)} for r in self.rows]
        rows = sorted([*self.earlier, *fresh], key=_order)
        body = {"rows": rows, "groups": plain(self.groups), "group": self.group}
        return body | {"skipped": self.skipped, "out": self.out}


def _order(row: dict[str, Any]) -> tuple[float, float]:
    """By epoch, then step; a stable sort keeps the order of files for the rest."""
    epoch, step = row.get("epoch"), row.get("step")
    return (float("inf") if epoch is None else epoch, float("inf") if step is None else step)
