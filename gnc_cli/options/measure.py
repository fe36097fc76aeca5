"""The options of `gnc measure`."""

from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

from gnc_cli import parsing
from gnc_cli.errors import UsageError
from gnc_cli.options.declare import OUTPUT, RUN, door, integer, option, positive

__all__ = [
    "Append", "BiasFiles", "Bootstrap", "ChunkRows", "ClassNames", "ClassesFile", "Duplicates",
    "FeatureFiles", "Group", "LabelFiles", "LogitFiles", "MeansFrom", "MeasureOut",
    "MeasureTimeLimit", "MinCount", "Missing", "MissingChoice", "Normalize", "NormalizeChoice",
    "NumClasses", "PerClass", "Probability", "Reference", "Samples", "Select", "Shards",
    "TransposeWeights", "Variants", "VariantsChoice", "WeightFiles",
]  # fmt: skip


class Normalize(StrEnum):
    """Which rows `gnc measure` makes unit."""

    AUTO = "auto"
    REQUIRE = "require"
    OFF = "off"


class Missing(StrEnum):
    """What `gnc measure` does about a class without samples."""

    SKIP = "skip"
    ERROR = "error"


class Variants(StrEnum):
    """Which metrics of others `gnc measure` adds to the paper's."""

    NONE = "none"
    AUTHORS = "authors"
    CLASSIC = "classic"
    ALL = "all"


class Pair(tuple[str, Any]):
    """Key and wanted values from one option; Typer would take a plain tuple for two words."""


def _pair(text: str) -> Pair:
    """`epoch=0..100..10`, `epoch=1,5`, `split=train,test`: a text, or a list of values."""
    key, value = parsing.pair(text)
    words = [word.strip() for word in value.split(",")]
    try:
        return Pair((key, parsing.integers(value) if ".." in value else words))
    except UsageError:
        return Pair((key, value))


_WHAT = "What to measure"
_HOW = "Conventions"
_GNC2 = "Classifier and margin"

Samples = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILES]...", rich_help_panel=_WHAT, show_default=False,
                   help="Features, labels, weights in one file each: .h5, .npz, .pt, .safetensors; "
                   "codes too. A row of the result a file and snapshot; '-' is HDF5 on stdin."),
]  # fmt: skip
FeatureFiles = Annotated[
    list[str] | None,
    option("--features", panel=_WHAT, metavar="F[:KEY]",
           help="Features (N, d) from this file, of this dataset. Repeatable; several files and "
           "globs are shards of one set."),
]  # fmt: skip
LabelFiles = Annotated[
    list[str] | None,
    option("--labels", panel=_WHAT, metavar="F[:KEY]",
           help="Labels (N,), whole numbers 0..K-1. Repeatable, as --features."),
]  # fmt: skip
WeightFiles = Annotated[
    list[str] | None,
    option("--weights", panel=_WHAT, metavar="F[:KEY]",
           help="Classifier (K, d), one row a class. Repeatable; globs such as 'rank_*.pt' are "
           "joined."),
]  # fmt: skip
BiasFiles = Annotated[
    list[str] | None,
    option("--bias", panel=_WHAT, metavar="F[:KEY]",
           help="Bias (K,) of the classifier, for accuracy. Repeatable."),
]  # fmt: skip
LogitFiles = Annotated[
    list[str] | None,
    option("--logits", panel=_WHAT, metavar="F[:KEY]",
           help="Logits (N, K) for accuracy, in place of weights and bias. Repeatable."),
]  # fmt: skip
Shards = Annotated[
    bool, option("--shards", panel=_WHAT, help="All FILES are parts of one set of features.")
]
TransposeWeights = Annotated[
    bool,
    option("--transpose-weights", panel=_WHAT, help="The classifier is stored as (d, K)."),
]
NumClasses = Annotated[
    int | None,
    option("--K", "-K", panel=_WHAT, metavar="INT", parser=integer(2),
           help="Number of classes; refused where the files have another. Default: what they say."),
]  # fmt: skip
Select = Annotated[
    list[Any] | None,
    option("--select", panel=_WHAT, metavar="KEY=VALUE", parser=door(_pair),
           help="Only rows of this kind: epoch=0..100..10, split=test, snapshot=final. "
           "Repeatable."),
]  # fmt: skip

NormalizeChoice = Annotated[
    Normalize,
    option("--normalize", panel=_HOW,
           help="auto: unit rows where the metric asks; require: they must be unit already; off: "
           "as stored, but for sample margins. Default auto."),
]  # fmt: skip
MissingChoice = Annotated[
    Missing,
    option("--missing", panel=_HOW,
           help="Classes without a sample: skip leaves them out of every mean, error refuses "
           "(exit 3). Default skip."),
]  # fmt: skip
MeansFrom = Annotated[
    str | None,
    option("--means-from", panel=_HOW, metavar="FILE",
           help="Take the class means of this set (train.h5) for GNC1, NCC, agreement and the "
           "variants, as is right for test data."),
]  # fmt: skip
VariantsChoice = Annotated[
    Variants,
    option("--variants", panel=_HOW,
           help="Further metrics by name: authors (as the paper's code has them), classic (NC1 to "
           "NC4, CDNV, energies, rank), all. Default none."),
]  # fmt: skip
Bootstrap = Annotated[
    int | None,
    option("--bootstrap", panel=_HOW, metavar="INT", parser=integer(2),
           help="95 % intervals from so many resamples, class by class. Default none."),
]  # fmt: skip

Reference = Annotated[
    str | None,
    option("--reference", panel=_GNC2, metavar="FILE|NUMBER",
           help="Hold GNC2 against this code, or this distance. Default: theorem, table or "
           "construction for d and K."),
]  # fmt: skip
Duplicates = Annotated[
    float | None,
    option("--duplicates", panel=_GNC2, metavar="COS",
           parser=door(partial(parsing.number, least=-1.0)),
           help="List pairs of classes above this cosine, and GNC2 without them."),
]  # fmt: skip
ClassesFile = Annotated[
    str | None,
    option("--classes", panel=_GNC2, metavar="FILE",
           help="Only these classes: a label a line, or a name where --class-names has it."),
]  # fmt: skip
MinCount = Annotated[
    int | None,
    option("--min-count", panel=_GNC2, metavar="INT", parser=integer(1),
           help="Only classes with so many samples."),
]  # fmt: skip
ClassNames = Annotated[
    str | None,
    option("--class-names", panel=_GNC2, metavar="FILE",
           help="Names for tables and pictures, one a line in the order of the labels."),
]  # fmt: skip
Probability = Annotated[
    float,
    option("--probability", panel=_GNC2, metavar="P",
           parser=door(partial(parsing.number, above=0.0, below=1.0)),
           help="Say the scale 1/tau from which softmax can reach it on every class. Default 0.9."),
]  # fmt: skip

MeasureTimeLimit = Annotated[
    float | None,
    option("--time-limit", panel=RUN, metavar="SECONDS", parser=positive,
           help="Wall time after which GNC2 is cut short, its bracket certified but wider; samples "
           "are read to their end. Default none."),
]  # fmt: skip
ChunkRows = Annotated[
    int | None,
    option("--chunk-rows", panel=RUN, metavar="INT", parser=integer(1),
           help="Rows of features read at once. Default adapts to their size."),
]  # fmt: skip
MeasureOut = Annotated[
    str | None,
    option("--out", panel=OUTPUT, metavar="FILE",
           help="Write the rows: .csv, .json (as --json prints it) or .h5."),
]  # fmt: skip
PerClass = Annotated[
    str | None,
    option("--per-class", panel=OUTPUT, metavar="FILE",
           help="Write a row a class: .csv or .h5. Count, mean norm, spread, one-vs-rest bracket, "
           "nearest class, rattler, accuracy, margin."),
]  # fmt: skip
Append = Annotated[
    str | None,
    option("--append", panel=OUTPUT, metavar="FILE",
           help="Add each row to this .jsonl file as it is ready; rows it has already are not "
           "measured again."),
]  # fmt: skip
Group = Annotated[
    str | None,
    option("--group", panel=OUTPUT, metavar="KEY",
           help="Mean and deviation over rows that differ in this key alone, such as seed."),
]  # fmt: skip
