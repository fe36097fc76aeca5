"""The options of `gnc solve`."""

from enum import StrEnum
from typing import Annotated

from gnc_cli import parsing
from gnc_cli.options.declare import OUTPUT, Floats, door, floats, integer, option, positive

__all__ = [
    "Construction", "Dim", "Fixed", "Init", "ListConstructions", "Method",
    "MethodChoice", "NumPoints", "NumSamples", "Out", "Problem", "ProblemChoice", "Restarts",
    "Resume", "Steps", "Symmetry", "Target", "Tau", "WeightDecay",
]  # fmt: skip


class Problem(StrEnum):
    """What `gnc solve` optimises."""

    SOFTMAX = "softmax"
    TAMMES = "tammes"
    UFM = "ufm"


class Method(StrEnum):
    """How `gnc solve` gets there."""

    AUTO = "auto"
    DESCENT = "descent"
    PAPER = "paper"


_PROBLEM = "Problem"
_SEARCH = "Search"

Dim = Annotated[
    int | None,
    option("--d", "-d", panel=_PROBLEM, metavar="INT", parser=integer(2),
           help="Dimension of the space, at least 2."),
]  # fmt: skip
NumPoints = Annotated[
    int | None,
    option("--K", "-K", panel=_PROBLEM, metavar="INT", parser=integer(2),
           help="Number of points or classes, at least 2."),
]  # fmt: skip
ProblemChoice = Annotated[
    Problem,
    option("--problem", panel=_PROBLEM,
           help="softmax: largest one-vs-rest distance; tammes: smallest largest cosine; "
           "ufm: cross-entropy optimum (needs --tau or --weight-decay). Default softmax."),
]  # fmt: skip
Tau = Annotated[
    Floats | None,
    option("--tau", panel=_PROBLEM, metavar="FLOATS", parser=door(floats),
           help="ufm: temperature, logits are cosines / tau. Several make a sweep: 1,0.5,0.1 or "
           "1..0.001/13 (13 geometric points)."),
]  # fmt: skip
WeightDecay = Annotated[
    float | None,
    option("--weight-decay", panel=_PROBLEM, metavar="LAMBDA", parser=positive,
           help="ufm: free lengths, penalised by LAMBDA, in place of the sphere."),
]  # fmt: skip
NumSamples = Annotated[
    int,
    option("--n", panel=_PROBLEM, metavar="INT", parser=integer(1),
           help="ufm: samples per class. Default 1."),
]  # fmt: skip
Fixed = Annotated[
    str | None,
    option("--fixed", panel=_PROBLEM, metavar="FILE",
           help="Keep the rows of FILE and place only the others ('-': HDF5 on stdin)."),
]  # fmt: skip
Symmetry = Annotated[
    str | None,
    option("--symmetry", panel=_PROBLEM, metavar="GROUP", parser=door(parsing.symmetry),
           help="Search codes with a symmetry: antipodal or cyclic:n."),
]  # fmt: skip
MethodChoice = Annotated[
    Method,
    option("--method", panel=_SEARCH,
           help="auto: theorems and constructions first, then search; descent: search always; "
           "paper: the paper's own recipe, as a baseline. Default auto."),
]  # fmt: skip
Construction = Annotated[
    str | None,
    option("--construction", panel=_SEARCH, metavar="NAME",
           help="Build this known code (leech, gold-9), or its first --K rows, without a search."),
]  # fmt: skip
ListConstructions = Annotated[
    bool,
    option("--list-constructions", panel=_SEARCH,
           help="List the constructions with size, cosine and source, and stop."),
]  # fmt: skip
Init = Annotated[
    str | None,
    option("--init", panel=_SEARCH, metavar="FILE",
           help="Start from the rows of FILE ('-': HDF5 on stdin)."),
]  # fmt: skip
Restarts = Annotated[
    int | None,
    option("--restarts", panel=_SEARCH, metavar="INT", parser=integer(0),
           help="Number of starts; 0 only polishes --init. Default adapts to d and K."),
]  # fmt: skip
Steps = Annotated[
    int | None,
    option("--steps", panel=_SEARCH, metavar="INT", parser=integer(1),
           help="Descent steps per start. Default adapts to d and K."),
]  # fmt: skip
Target = Annotated[
    float | None,
    option("--target", panel=_SEARCH, metavar="FLOAT", parser=door(parsing.number),
           help="Stop there: at least this one-vs-rest distance (softmax), at most this cosine "
           "(tammes). Exit 4 if missed."),
]  # fmt: skip
Resume = Annotated[
    bool,
    option("--resume", panel=_SEARCH, help="Go on from the state in the --out file."),
]  # fmt: skip

Out = Annotated[
    str | None,
    option("--out", panel=OUTPUT, metavar="FILE",
           help="Write the code: .h5, .npz, .npy, .safetensors, .pt or .txt; '-' writes HDF5 to "
           "stdout and the table to stderr."),
]  # fmt: skip
