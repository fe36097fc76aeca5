"""Settings of a measurement: datasets, conventions, time limit and device."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from gnc_cli.parameters import Lines
from gnc_cli.runtime.deadline import Deadline, Progress

if TYPE_CHECKING:
    from gnc_cli.io.code import CodeFile
    from gnc_cli.known_codes.table import KnownCodes

OWN_MEANS = "own"
"""Value of `--means-from` for the class means of the set itself."""
MOST_CLASSIC = 5000
"""Number of classes and dimensions up to which NC1 to NC4 cost little compared with the other
metrics; beyond, they are computed with `--variants classic`."""
NONZERO = "nonzero"
"""Value of `--classes` for the classes whose weight is not zero."""
ROLES = ("features", "labels", "weights", "bias", "logits")
"""Datasets of a set, by the names of the parameters that give each."""


class HeadForm(StrEnum):
    """Functions of a head's stored weights and bias that decide the class."""

    LINEAR = "linear"
    COSINE = "cosine"
    EUCLIDEAN = "euclidean"


class Normalize(StrEnum):
    """Scaling of rows to norm 1: where the metric needs it, or never."""

    AUTO = "auto"
    OFF = "off"


class LabelForm(StrEnum):
    """Numbering of the classes in the labels."""

    ZERO_BASED = "zero-based"
    ONE_BASED = "one-based"
    ONE_HOT = "one-hot"


class Variants(StrEnum):
    """Metrics of other authors that are added to the paper's."""

    NONE = "none"
    CLASSIC = "classic"


@dataclass(frozen=True, kw_only=True, eq=False)
class Selection:
    """The datasets that are measured, and the options for reading them."""

    files: tuple[str, ...] = ()
    """Names given by the user; each gives one row of the result, or several."""
    roles: Mapping[str, Any] = field(default_factory=dict)
    """Paths, datasets of the files, or an array, by the role that an option names them for."""
    transpose_weights: bool = False
    """True if the classifier is stored as (d, K)."""
    transpose_features: bool = False
    """True if features are stored as (d, N)."""
    labels_are: str = LabelForm.ZERO_BASED
    ignore_label: tuple[str, ...] = ()
    """Labels of samples that are left out, in addition to -1 and -100."""
    class_names: str | Lines | None = None
    """Names of the classes in the order of their labels, or a file of them."""
    select: list[tuple[str, Any]] | None = None
    """Attributes of the snapshots that are measured, and their values."""
    proves: bool = False
    """True if `--reach` or `--sets` asks for proofs, which need the whole head of the network."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Conventions:
    """Conventions by which the metrics of a row are computed."""

    unit: bool = True
    """True if the GNC metrics are of unit rows."""
    classic: bool = False
    """True if `--variants classic` asks for the classic metrics."""
    head: str | None = None
    """Form of the head, a `HeadForm`; None: linear, and margins of unit rows."""
    K: int | None = None
    """Number of classes; None: that of the datasets."""
    classes: str | Lines | None = None
    """Classes that are measured: a file of them, or `NONZERO`; None for all."""
    min_count: int | None = None
    """Least number of samples of a class."""
    means_from: str | None = None
    """The set whose class means count: a file, or `OWN_MEANS`; None: that of split `train`."""
    prefix_dims: tuple[int, ...] | None = None
    """Numbers of leading dimensions, ascending, each measured by itself."""
    ood: Any = None
    """Features of other data: paths, or an array."""
    reference: "float | tuple[str, CodeFile] | None" = None
    """The distance that GNC2 is compared with, or a code with the path of its file; None: the best
    known code."""
    table: "KnownCodes | None" = None
    """Known codes of the user; None for those of gnc."""
    duplicates: float | None = None
    """Cosine above which two classes are duplicates; None: they are not listed."""
    every_class: bool = False
    """True if `--per-class` asks for a row for each class."""
    reach: bool = False
    """True if `--reach` asks for proofs of the classes that can win."""
    feature_norm: float | None = None
    """The largest norm of a feature in these proofs."""
    sets: str | Lines | None = None
    """Sets of classes that may win together: lines, a file of them, or `random:K:N`."""
    seed: int = 0
    files: tuple[str, ...] = ()
    """Further files that the results depend on, such as that of `--classes`."""
    requirements: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Options of the call that require `samples`, and those that require `labels`."""

    def wants_classic(self, d: int, K: int) -> bool:
        """Return True if NC1 to NC4 are computed for this size."""
        return self.classic or max(d, K) <= MOST_CLASSIC

    def spaces(self, d: int, K: int) -> tuple[str, ...]:
        """Return the kinds of rows that moments are needed of, that of the GNC metrics first."""
        if not self.unit:
            return ("raw",)
        needs_raw = self.ood is not None or self.wants_classic(d, K)
        return ("unit", "raw") if needs_raw else ("unit",)


@dataclass(frozen=True, kw_only=True, eq=False)
class Budget:
    """Time limit, device, threads and callbacks of a measurement."""

    time_limit: float | None = None
    """Seconds for GNC2 and the proofs of a row."""
    device: str = "cpu"
    threads: int | None = None
    """Number of threads on the CPU; None: chosen by the size of the work."""
    interrupt: threading.Event | None = None
    progress: Progress | None = None

    def deadline(self) -> Deadline:
        """Return the deadline for GNC2 of a row that starts now."""
        return Deadline(self.time_limit, self.interrupt)
