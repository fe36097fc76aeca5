"""A call of `measure`: the declaration of its arguments, and the pairs that exclude each other."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any

from gnc_cli import parsing
from gnc_cli.collapse.conventions import HeadForm, LabelForm, Normalize, Variants
from gnc_cli.errors import UsageError
from gnc_cli.io.arguments import Call
from gnc_cli.parameters import (
    DURATION,
    LINES,
    MOST_CLASSES,
    PATH_TEXT,
    PATHS,
    Device,
    Force,
    Kind,
    Lines,
    Parameter,
    Path,
    PlotOrPage,
    PublicTable,
    Read,
    Subjects,
    Threads,
    excludes,
    is_page,
    one_of,
    real,
    requires,
    spelled,
    whole,
)

if TYPE_CHECKING:
    from gnc_cli.collapse.result import MeasureResult


def _selection(value: Any) -> list[tuple[str, Any]]:
    """Return pairs of a key and its values, from a dictionary, pairs, or texts of `KEY=VALUE`."""
    items = value.items() if isinstance(value, Mapping) else value
    pairs = [parsing.pair(item) if isinstance(item, str) else item for item in items]
    return [(key, _values(text)) for key, text in pairs]


def _values(value: Any) -> Any:
    """Return a list for `1,5` or `train,test`, a set for a range, else the value.

    Some row must have each value of a list; a range may hold values that no row has.
    """
    if not isinstance(value, str):
        return value
    try:
        return (
            {*parsing.integers(value)} if ".." in value else [w.strip() for w in value.split(",")]
        )
    except UsageError:
        return value


def _reference(value: Any) -> float | str:
    """Return a distance, or the path of a file (`./0.66` for a file named `0.66`)."""
    try:
        distance = parsing.number(value)
    except UsageError:
        return str(os.fspath(value))
    if not 0.0 < distance <= 2.0:
        raise UsageError(f"{distance:g} is not a one-vs-rest distance; give one above 0, up to 2")
    return distance


def _dims(value: Any) -> tuple[int, ...]:
    """Return numbers of dimensions, ascending."""
    items = value.split(",") if isinstance(value, str) else list(value)
    dims = sorted(d for item in items for d in parsing.integers(item, minimum=2))
    if not dims or len({*dims}) < len(dims):
        raise UsageError(f"{parsing.quote(value)}: give each prefix once, such as 8,16,32")
    return tuple(dims)


def _sets(value: Any) -> Any:
    """Return the path of a file or `random:K:N`; for sets given in Python the lines of a file."""
    if isinstance(value, (str, os.PathLike)):
        return str(os.fspath(value))
    return Lines(tuple(", ".join(map(str, classes)) for classes in value))


def _marks(value: Any) -> tuple[str, ...]:
    """Return labels as texts, from one or several numbers or words."""
    items = value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    marks = tuple(str(item).strip() for item in items)
    if not all(marks):
        raise UsageError("'' is empty; give a label, such as 255")
    return marks


_INPUT = "What to measure"
_CONVENTIONS = "Conventions"
_GNC2 = "Classifier and margin"
_REACH = "Which classes can win"
_OUTPUT = "Output"
"""Headings of the options in the help."""


@dataclass(frozen=True, eq=False)
class Measure(Call):
    """A call of `measure`.

    Raises:
        UsageError: an argument contradicts another.
    """

    files: Annotated[
        Read[Path | Sequence[Path], tuple[str, ...]],
        Parameter(
            "Features, labels and weights, or a code, in one file each: .h5, .hdf5, .npz, .npy, "
            ".safetensors (or its .index.json), .pt, .pth, .ckpt, .mat, .csv, .txt, .jsonl, "
            ".parquet, .arrow. Or the folder of a run of gnc train, or of a Hugging Face model "
            "(hf:org/name@revision from its hub). One row of the result per file and snapshot; "
            "'-' is HDF5 on stdin.",
            PATHS,
            _INPUT,
            argument=True,
            repeatable=True,
            reads=True,
        ),
    ] = Read(())
    _: KW_ONLY
    features: Annotated[
        Any,
        Parameter(
            "Features (N, d): a file, or its dataset KEY; with one FILES a dataset of it. "
            "Repeatable; several files and globs are shards of one set.",
            group=_INPUT,
            metavar="F[:KEY]",
            repeatable=True,
            reads=True,
        ),
    ] = None
    labels: Annotated[
        Any,
        Parameter(
            "Labels (N,), whole numbers 0..K-1, booleans or words. As --features.",
            group=_INPUT,
            metavar="F[:KEY]",
            repeatable=True,
            reads=True,
        ),
    ] = None
    weights: Annotated[
        Any,
        Parameter(
            "Classifier (K, d), one row per class. Repeatable; globs such as 'rank_*.pt' "
            "are joined.",
            group=_INPUT,
            metavar="F[:KEY]",
            repeatable=True,
            reads=True,
        ),
    ] = None
    bias: Annotated[
        Any,
        Parameter(
            "Bias (K,) of the classifier, for accuracy. Repeatable.",
            group=_INPUT,
            metavar="F[:KEY]",
            repeatable=True,
            reads=True,
        ),
        Subjects("labels"),
    ] = None
    logits: Annotated[
        Any,
        Parameter(
            "Logits (N, K) for accuracy, in place of weights and bias. Repeatable.",
            group=_INPUT,
            metavar="F[:KEY]",
            repeatable=True,
            reads=True,
        ),
    ] = None
    transpose_weights: Annotated[
        bool, Parameter("The classifier is stored as (d, K).", group=_INPUT)
    ] = False
    transpose_features: Annotated[
        bool,
        Parameter("Features are stored as (d, N), and so are those of other files.", group=_INPUT),
    ] = False
    labels_are: Annotated[
        str,
        Parameter(
            "zero-based: 0 to K - 1; one-based: 1 to K; one-hot: (N, K), one 1 in each row. "
            "Default zero-based.",
            one_of(LabelForm),
            _INPUT,
        ),
        Subjects("row", "samples", "labels"),
    ] = LabelForm.ZERO_BASED
    ignore_label: Annotated[
        Read[Any, tuple[str, ...]],
        Parameter(
            "Leave out the samples of this label, a number or a word as stored, such as 255. "
            "Repeatable; -1 and -100 are always left out.",
            Kind("LABEL", _marks, noun="a label or a list of labels"),
            _INPUT,
            repeatable=True,
        ),
        Subjects("row", "samples", "labels"),
    ] = Read(())
    head: Annotated[
        str | None,
        Parameter(
            "linear: W h + b; cosine: the largest cosine; euclidean: the nearest row of W. Decides "
            "accuracy, agreement, NC4, sample margins and --reach. Default: linear, and margins of "
            "unit rows.",
            one_of(HeadForm),
            _INPUT,
        ),
        Subjects("row", "labels"),
    ] = None
    K: Annotated[
        int | None,
        Parameter(
            "Number of classes; an error if the files have another. Default: that of the files.",
            whole(2, MOST_CLASSES),
            _INPUT,
            short="-K",
        ),
        Subjects("row", "labels"),
    ] = None
    select: Annotated[
        Read[Mapping[str, Any] | Iterable[Any] | None, list[tuple[str, Any]] | None],
        Parameter(
            "Only snapshots whose attribute KEY has this value, one of these values or lies "
            "in this range: split=test, epoch=10,20, epoch=0..100..10. Repeatable.",
            Kind("KEY=VALUE", _selection, noun="a dictionary or pairs of a key and values"),
            _INPUT,
            repeatable=True,
        ),
    ] = Read(None)
    normalize: Annotated[
        str,
        Parameter(
            "auto: unit rows where the metric needs them; off: use rows as stored (sample margins "
            "still use unit rows; there is no reference or ratio). Default auto.",
            one_of(Normalize),
            _CONVENTIONS,
        ),
        Subjects("row", "labels"),
    ] = Normalize.AUTO
    means_from: Annotated[
        Read[Path | None, str | None],
        Parameter(
            "Take the class means of this set (train.h5) for GNC1, NCC, agreement and NC1 to NC4 "
            "of test data; own: those of the set itself. Default: own, but in a run all splits "
            "take those of split train.",
            PATH_TEXT,
            _CONVENTIONS,
            metavar="FILE",
            reads=True,
        ),
        Subjects("row", "samples", "labels"),
    ] = Read(None)
    prefix_dims: Annotated[
        Read[Sequence[int] | None, tuple[int, ...] | None],
        Parameter(
            "Measure the first 8, 16, 32, ... dimensions of the rows, scaled to norm 1 again, "
            "one row of the result per prefix.",
            Kind("P,P,...", _dims, noun="whole numbers"),
            _CONVENTIONS,
        ),
        Subjects("row"),
    ] = Read(None)
    variants: Annotated[
        str,
        Parameter(
            "classic: show NC1 to NC4 and CDNV, compute them for more than 5000 classes too, "
            "and add energies and effective ranks. Default none.",
            one_of(Variants),
            _CONVENTIONS,
        ),
        Subjects("row", "samples", "labels"),
    ] = Variants.NONE
    ood: Annotated[
        Any,
        Parameter(
            "Features of other data (out of distribution), for NECO's orthogonality "
            "deviation. Repeatable, as --features.",
            group=_CONVENTIONS,
            metavar="F[:KEY]",
            repeatable=True,
            reads=True,
        ),
        Subjects("samples", "labels"),
    ] = None
    reference: Annotated[
        Read[float | Path | None, float | str | None],
        Parameter(
            "Compare GNC2 with this code, or this distance. Default: the best known for d and K.",
            Kind("FILE|NUMBER", _reference, noun="a number or the path of a file"),
            _GNC2,
            reads=True,
        ),
        Subjects("row", "labels"),
    ] = Read(None)
    table: Annotated[PublicTable, Subjects("row")] = None
    duplicates: Annotated[
        float | None,
        Parameter(
            "List pairs of classes above this cosine, and GNC2 without them.",
            real(-1.0, 1.0),
            _GNC2,
            metavar="COS",
        ),
        Subjects("row", "labels"),
    ] = None
    classes: Annotated[
        Read[Path | Sequence[int | str] | None, str | Lines | None],
        Parameter(
            "Only these classes: one label, or one name of --class-names, per line; nonzero: "
            "those whose weight is not zero.",
            LINES,
            group=_GNC2,
            metavar="FILE",
            reads=True,
        ),
        Subjects("row", "labels"),
    ] = Read(None)
    min_count: Annotated[
        int | None,
        Parameter("Only classes with at least this many samples. Default none.", whole(1), _GNC2),
        Subjects("row", "labels"),
    ] = None
    class_names: Annotated[
        Read[Path | Sequence[str] | None, str | Lines | None],
        Parameter(
            "Names for tables and plots, one per line in the order of the labels.",
            LINES,
            group=_GNC2,
            metavar="FILE",
            reads=True,
        ),
        Subjects("row", "labels"),
    ] = Read(None)
    reach: Annotated[
        bool,
        Parameter(
            "Prove which classes can win, with the strictly largest logit for some feature, and "
            "which cannot; --classes FILE chooses some. --out rows.h5 has the proofs.",
            group=_REACH,
        ),
        Subjects("row", "labels"),
    ] = False
    feature_norm: Annotated[
        float | None,
        Parameter(
            "The largest norm of a feature for --reach and --sets. Default: the largest among the "
            "features; infinite without features.",
            real(greater_than=0.0),
            _REACH,
        ),
        Subjects("row", "labels"),
    ] = None
    sets: Annotated[
        Read[Path | Sequence[Sequence[int | str]] | None, str | Lines | None],
        Parameter(
            "Which sets of classes can win together: labels or names, one set per line, or "
            "random:K:N, N sets of K classes.",
            Kind("FILE|random:K:N", _sets, noun="a list of sets, or the path of a file"),
            _REACH,
            reads=True,
        ),
        Subjects("row", "labels"),
    ] = Read(None)
    seed: Annotated[
        int,
        Parameter(
            "Seed of random sets and, for large K, of the sample of classes for quantiles of "
            "GNC2. Default 0.",
            whole(0),
            "Effort and machine",
        ),
        Subjects("row"),
    ] = 0
    time_limit: Annotated[
        float | None,
        Parameter(
            "Wall time after which GNC2 of a row, and --reach, stop with wider brackets; all "
            "samples are read. Default none.",
            DURATION,
            "Effort and machine",
        ),
    ] = None
    device: Device = "auto"
    threads: Threads = None
    out: Annotated[
        Path | None,
        Parameter(
            "Write the rows: .csv, .json (as --json prints it), .h5 or .parquet; .jsonl gets each "
            "row as soon as it is ready.",
            group=_OUTPUT,
            metavar="FILE",
            writes=(".csv", ".json", ".h5", ".parquet", ".jsonl"),
        ),
    ] = None
    resume: Annotated[
        bool,
        Parameter(
            "Continue --out rows.jsonl: rows that it has already are not measured again.",
            group=_OUTPUT,
        ),
    ] = False
    per_class: Annotated[
        Path | None,
        Parameter(
            "Write one row per class: .csv, .h5 or .parquet. Count, mean norm, spread, one-vs-rest "
            "bracket, nearest class, rattler, accuracy, margin.",
            group=_OUTPUT,
            metavar="FILE",
            writes=(".csv", ".h5", ".parquet"),
        ),
        Subjects("labels", "one set"),
    ] = None
    merge_list: Annotated[
        Path | None,
        Parameter(
            "With --duplicates: write one row per class to merge, .csv. In each group joined by "
            "such pairs the class with most samples is kept, else the lowest label.",
            group=_OUTPUT,
            metavar="FILE",
            writes=(".csv",),
        ),
        Subjects("labels", "one set"),
    ] = None
    force: Force = False
    plot: PlotOrPage = None
    on_row: "Callable[[MeasureResult], None] | None" = None

    def __post_init__(self) -> None:
        contradictions = [
            (
                spelled("normalize", "off"),
                self.normalize == Normalize.OFF,
                ("duplicates", "reference"),
            ),
            (spelled("out", self.out), self.keeps_rows, self.changed_arguments("one set")),
            (
                spelled("prefix_dims"),
                self.prefix_dims is not None,
                (*self.changed_arguments("one set"), "reach", "sets"),
            ),
            (spelled("logits"), self.logits is not None, ("head",)),
        ]
        for other, applies, names in contradictions:
            for name in filter(self.is_set, names if applies else ()):
                raise excludes(name, other)
        if is_page(self.plot) and self.prefix_dims is not None:
            raise excludes("prefix_dims", "pages (.html)", "draw a .png, .svg or .pdf")
        requirements = [
            ("merge_list", self.duplicates is not None, spelled("duplicates", 0.99)),
            ("feature_norm", self.proves, spelled("reach")),
            ("resume", self.keeps_rows, spelled("out", "rows.jsonl")),
        ]
        for name, fulfilled, condition in requirements:
            if self.is_set(name) and not fulfilled:
                raise requires(name, condition)

    @property
    def proves(self) -> bool:
        """True if `--reach` or `--sets` asks for proofs of the classes that can win."""
        return self.reach or self.sets is not None

    @property
    def keeps_rows(self) -> bool:
        """True if `out` keeps rows as JSON lines, each written as soon as it is measured."""
        return self.out is not None and PurePath(self.out).suffix.lower() == ".jsonl"
