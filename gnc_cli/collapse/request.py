"""One call of `measure`: its arguments, held against each other before any work."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from gnc_cli.parameters import Lines, Path, excludes, is_page, requires, spelled
from gnc_cli.runtime.deadline import Call, Deadline

if TYPE_CHECKING:
    from gnc_cli.collapse.result import MeasureResult

OWN = "own"
"""In place of a file in `--means-from`: the class means of the set itself."""
MOST_CLASSIC = 5000
"""Classes and dimensions up to which NC1 to NC4 cost little beside the rest; beyond, they are
computed with `--variants classic`."""
NONZERO = "nonzero"
"""In place of a file in `--classes`: those whose weight is not zero."""
ROLES = ("features", "labels", "weights", "bias", "logits")
"""What a set may have, by the names of the parameters that give each alone."""
OF_ONE_SET = ("per_class", "merge_list")
"""Files of one set."""
ROW_PARAMETERS = (
    "K",
    "labels_are",
    "ignore_label",
    "head",
    "normalize",
    "means_from",
    "prefix_dims",
    "variants",
    "reference",
    "table",
    "duplicates",
    "classes",
    "min_count",
    "class_names",
    "reach",
    "feature_norm",
    "sets",
    "seed",
)
"""Parameters that decide the numbers of a row."""


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


@dataclass(frozen=True, eq=False)
class Request(Call):
    """The arguments of `measure`, each in range; see there.

    Raises:
        UsageError: an argument contradicts another.
    """

    files: Sequence[Path] = ()
    features: Any = None
    labels: Any = None
    weights: Any = None
    bias: Any = None
    logits: Any = None
    shards: bool = False
    transpose_weights: bool = False
    transpose_features: bool = False
    labels_are: str = "zero-based"
    ignore_label: tuple[str, ...] = ()
    K: int | None = None
    head: str | None = None
    select: Sequence[tuple[str, Any]] | None = None
    normalize: str = "auto"
    means_from: str | None = None
    prefix_dims: tuple[int, ...] | None = None
    variants: str = "none"
    ood: Any = None
    reference: float | str | None = None
    table: str | None = None
    duplicates: float | None = None
    classes: str | Lines | None = None
    min_count: int | None = None
    class_names: str | Lines | None = None
    reach: bool = False
    feature_norm: float | None = None
    sets: str | Lines | None = None
    seed: int = 0
    time_limit: float | None = None
    device: str = "cpu"
    threads: int | None = None
    out: Path | None = None
    resume: bool = False
    per_class: Path | None = None
    merge_list: Path | None = None
    plot: Path | None = None
    on_row: "Callable[[MeasureResult], None] | None" = None

    def __post_init__(self) -> None:
        contradictions = [
            (spelled("normalize", "off"), not self.unit, ("duplicates", "reference")),
            (spelled("out", self.out), self.keeps_rows, OF_ONE_SET),
            (spelled("prefix_dims"), self.prefix_dims is not None, (*OF_ONE_SET, "reach", "sets")),
            (spelled("logits"), self.logits is not None, ("head",)),
        ]
        for other, applies, names in contradictions:
            for name in filter(self.is_set, names if applies else ()):
                raise excludes(name, other)
        if is_page(self.plot) and self.prefix_dims is not None:
            raise excludes("prefix_dims", "pages (.html)", "draw a .png, .svg or .pdf")
        requirements = [
            ("merge_list", self.duplicates is not None, spelled("duplicates", 0.99)),
            ("feature_norm", self.reach or self.sets is not None, spelled("reach")),
            ("resume", self.keeps_rows, spelled("out", "rows.jsonl")),
        ]
        for name, fulfilled, condition in requirements:
            if self.is_set(name) and not fulfilled:
                raise requires(name, condition)

    @property
    def unit(self) -> bool:
        """Whether the GNC metrics are of unit rows."""
        return self.normalize != "off"

    @property
    def classic(self) -> bool:
        """Whether the classic metrics are asked for by name."""
        return self.variants == "classic"

    @property
    def keeps_rows(self) -> bool:
        """Whether `out` keeps rows as JSON lines, each as soon as it is there."""
        return self.out is not None and PurePath(self.out).suffix.lower() == ".jsonl"

    def wants_classic(self, d: int, K: int) -> bool:
        """Whether NC1 to NC4 are computed."""
        return self.classic or max(d, K) <= MOST_CLASSIC

    def spaces(self, d: int, K: int) -> tuple[str, ...]:
        """In which rows the moments are needed, that of the GNC metrics first."""
        if not self.unit:
            return ("raw",)
        both = self.ood is not None or self.wants_classic(d, K)
        return ("unit", "raw") if both else ("unit",)

    def deadline(self) -> Deadline:
        """For GNC2 of a row, from now on."""
        return Deadline(self.time_limit, self.interrupt)

    def identity(self, ood: str | None) -> dict[str, Any]:
        """What must be equal for two rows to stand in one file; `ood` names the features of
        `--ood`."""
        values = ((name, getattr(self, name)) for name in ROW_PARAMETERS)
        options = {name: asdict(v) if isinstance(v, Lines) else v for name, v in values}
        return options | {"ood": ood, "every_class": self.per_class is not None}
