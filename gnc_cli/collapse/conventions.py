"""The values that a measurement works with: its datasets, its conventions, its time and machine."""

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

OWN = "own"
"""In place of a file in `--means-from`: the class means of the set itself."""
MOST_CLASSIC = 5000
"""Classes and dimensions up to which NC1 to NC4 cost little beside the rest; beyond, they are
computed with `--variants classic`."""
NONZERO = "nonzero"
"""In place of a file in `--classes`: those whose weight is not zero."""
ROLES = ("features", "labels", "weights", "bias", "logits")
"""What a set may have, by the names of the parameters that give each alone."""


class HeadForm(StrEnum):
    """Functions of a head's stored weights and bias that decide the class."""

    LINEAR = "linear"
    COSINE = "cosine"
    EUCLIDEAN = "euclidean"


class Normalize(StrEnum):
    """Which rows are made unit."""

    AUTO = "auto"
    OFF = "off"


class LabelForm(StrEnum):
    """How classes are numbered."""

    ZERO_BASED = "zero-based"
    ONE_BASED = "one-based"
    ONE_HOT = "one-hot"


class Variants(StrEnum):
    """Which metrics of others are added to the paper's."""

    NONE = "none"
    CLASSIC = "classic"


@dataclass(frozen=True, kw_only=True, eq=False)
class Selection:
    """The datasets that are measured, and how they are read."""

    files: tuple[str, ...] = ()
    """As the user names them; each is a row, or several."""
    roles: Mapping[str, Any] = field(default_factory=dict)
    """By role what is given for it alone: paths, datasets of the files, or an array."""
    transpose_weights: bool = False
    """Whether the classifier is stored as (d, K)."""
    transpose_features: bool = False
    """Whether features are stored as (d, N)."""
    labels_are: str = LabelForm.ZERO_BASED
    ignore_label: tuple[str, ...] = ()
    """Labels of samples that are left out, beside -1 and -100."""
    class_names: str | Lines | None = None
    """Names of the classes in the order of their labels, or a file of them."""
    select: list[tuple[str, Any]] | None = None
    """Attributes of the snapshots that are measured, and their values."""
    proves: bool = False
    """Whether something is proved of the network, so that its head must be known whole."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Conventions:
    """How the numbers of a row are formed."""

    unit: bool = True
    """Whether the GNC metrics are of unit rows."""
    classic: bool = False
    """Whether the classic metrics are asked for by name."""
    head: str | None = None
    """A `HeadForm`; None: linear, and margins of unit rows."""
    K: int | None = None
    """Number of classes; None: what the datasets say."""
    classes: str | Lines | None = None
    """Classes that are measured: a file of them, or `NONZERO`; None for all."""
    min_count: int | None = None
    """Samples that a class has at least."""
    means_from: str | None = None
    """The set whose class means count: a file, or `OWN`; None: as the split says."""
    prefix_dims: tuple[int, ...] | None = None
    """Numbers of leading dimensions, ascending, each measured by itself."""
    ood: Any = None
    """Features of other data: paths, or an array."""
    reference: "float | tuple[str, CodeFile] | None" = None
    """What GNC2 is compared with: a distance, or a code with the path of its file; None: the best
    known."""
    table: "KnownCodes | None" = None
    """Known codes of the user; None for those of gnc."""
    duplicates: float | None = None
    """Cosine above which two classes are listed."""
    every_class: bool = False
    """Whether there is a row for each class."""
    reach: bool = False
    """Whether it is proved which classes can win."""
    feature_norm: float | None = None
    """The largest norm of a feature in these proofs."""
    sets: str | Lines | None = None
    """Sets of classes that may win together: lines, a file of them, or `random:K:N`."""
    seed: int = 0
    files: tuple[str, ...] = ()
    """Files beside the sets that the numbers depend on."""
    given: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Options that the user gives, by what they require: `samples` or `labels`."""

    def wants_classic(self, d: int, K: int) -> bool:
        """Return whether NC1 to NC4 are computed."""
        return self.classic or max(d, K) <= MOST_CLASSIC

    def spaces(self, d: int, K: int) -> tuple[str, ...]:
        """Return in which rows the moments are needed, that of the GNC metrics first."""
        if not self.unit:
            return ("raw",)
        both = self.ood is not None or self.wants_classic(d, K)
        return ("unit", "raw") if both else ("unit",)


@dataclass(frozen=True, kw_only=True, eq=False)
class Budget:
    """The time and the machine of a measurement."""

    time_limit: float | None = None
    """Seconds of GNC2 and proofs of a row."""
    device: str = "cpu"
    threads: int | None = None
    """Threads on the CPU; None: as many as suit the work."""
    interrupt: threading.Event | None = None
    progress: Progress | None = None

    def deadline(self) -> Deadline:
        """Return that of GNC2 of a row, from now on."""
        return Deadline(self.time_limit, self.interrupt)
