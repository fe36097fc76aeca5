"""Every shared option once, as an Annotated alias: name, help, unit and range live here.

Commands borrow these; an option that one command alone has is declared here too, so that all help
texts can be read in one place.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

from gnc_cli import parsing
from gnc_cli.errors import UsageError

__all__ = [
    "Allow",
    "Baseline",
    "Budget",
    "Check",
    "Codes",
    "ConjectureMode",
    "Construction",
    "CrossStart",
    "Csv",
    "Device",
    "Digits",
    "Dim",
    "Dims",
    "Export",
    "Fixed",
    "Floats",
    "Force",
    "Init",
    "Ints",
    "Json",
    "Jsonl",
    "ListConstructions",
    "ListMode",
    "Max",
    "Method",
    "MethodChoice",
    "Min",
    "Named",
    "NumPoints",
    "NumSamples",
    "Out",
    "Plot",
    "Problem",
    "ProblemChoice",
    "Proven",
    "Quiet",
    "Report",
    "RequireEntry",
    "Restarts",
    "Resume",
    "Rows",
    "RowsChoice",
    "RowsOut",
    "Seed",
    "Sizes",
    "SolveMode",
    "Steps",
    "Symmetry",
    "Table",
    "Target",
    "Tau",
    "Threads",
    "TimeLimit",
    "Tolerance",
    "Verbose",
    "WeightDecay",
    "Workers",
]


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


class Rows(StrEnum):
    """Which rows of a result must pass a gate."""

    ALL = "all"
    ANY = "any"
    LAST = "last"


class Floats(list[float]):
    """Several numbers from one option; Typer would take a plain list for a repeatable one."""


class Ints(list[int]):
    """Several whole numbers from one option."""


def _ints(text: str) -> Ints:
    return Ints(parsing.integers(text, least=2))


def _floats(text: str) -> Floats:
    return Floats(parsing.numbers(text, above=0.0))


def _door(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """`parse` as Typer wants it: its UsageError becomes a message that names the option."""

    def parser(text: Any) -> Any:
        try:
            # Typer hands defaults through as well, which are values already.
            return parse(text) if isinstance(text, str) else text
        except UsageError as error:
            raise typer.BadParameter(str(error)) from None

    return parser


def _option(*names: str, panel: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, help=help, show_default=False, **more)


def _integer(least: int) -> Callable[[str], Any]:
    return _door(partial(parsing.integer, least=least))


_positive = _door(partial(parsing.number, above=0.0))

_PROBLEM = "Problem"
_SEARCH = "Search"
_RUN = "Effort and machine"
_OUTPUT = "Output"
_GATES = "Gates for CI"

Dim = Annotated[
    int | None,
    _option("--d", "-d", panel=_PROBLEM, metavar="INT", parser=_integer(2),
            help="Dimension of the space, at least 2."),
]  # fmt: skip
NumPoints = Annotated[
    int | None,
    _option("--K", "-K", panel=_PROBLEM, metavar="INT", parser=_integer(2),
            help="Number of points or classes, at least 2."),
]  # fmt: skip
ProblemChoice = Annotated[
    Problem,
    _option("--problem", panel=_PROBLEM,
            help="softmax: largest one-vs-rest distance; tammes: smallest largest cosine; "
            "ufm: cross-entropy optimum (needs --tau or --weight-decay). Default softmax."),
]  # fmt: skip
Tau = Annotated[
    Floats | None,
    _option("--tau", panel=_PROBLEM, metavar="FLOATS", parser=_door(_floats),
            help="ufm: temperature, logits are cosines / tau. Several make a sweep: 1,0.5,0.1 or "
            "1..0.001/13 (13 geometric points)."),
]  # fmt: skip
WeightDecay = Annotated[
    float | None,
    _option("--weight-decay", panel=_PROBLEM, metavar="LAMBDA", parser=_positive,
            help="ufm: free lengths, penalised by LAMBDA, in place of the sphere."),
]  # fmt: skip
NumSamples = Annotated[
    int,
    _option("--n", panel=_PROBLEM, metavar="INT", parser=_integer(1),
            help="ufm: samples per class. Default 1."),
]  # fmt: skip
Fixed = Annotated[
    str | None,
    _option("--fixed", panel=_PROBLEM, metavar="FILE",
            help="Keep the rows of FILE and place only the others ('-': HDF5 on stdin)."),
]  # fmt: skip
Symmetry = Annotated[
    str | None,
    _option("--symmetry", panel=_PROBLEM, metavar="GROUP", parser=_door(parsing.symmetry),
            help="Search codes with a symmetry: antipodal or cyclic:n."),
]  # fmt: skip
MethodChoice = Annotated[
    Method,
    _option("--method", panel=_SEARCH,
            help="auto: theorems and constructions first, then search; descent: search always; "
            "paper: the paper's own recipe, as a baseline. Default auto."),
]  # fmt: skip
Construction = Annotated[
    str | None,
    _option("--construction", panel=_SEARCH, metavar="NAME",
            help="Build this known code (leech, gold-9), or its first --K rows, without a search."),
]  # fmt: skip
ListConstructions = Annotated[
    bool,
    _option("--list-constructions", panel=_SEARCH,
            help="List the constructions with size, cosine and source, and stop."),
]  # fmt: skip
Init = Annotated[
    str | None,
    _option("--init", panel=_SEARCH, metavar="FILE",
            help="Start from the rows of FILE ('-': HDF5 on stdin)."),
]  # fmt: skip
Restarts = Annotated[
    int | None,
    _option("--restarts", panel=_SEARCH, metavar="INT", parser=_integer(0),
            help="Number of starts; 0 only polishes --init. Default adapts to d and K."),
]  # fmt: skip
Steps = Annotated[
    int | None,
    _option("--steps", panel=_SEARCH, metavar="INT", parser=_integer(1),
            help="Descent steps per start. Default adapts to d and K."),
]  # fmt: skip
Target = Annotated[
    float | None,
    _option("--target", panel=_SEARCH, metavar="FLOAT", parser=_door(parsing.number),
            help="Stop there: at least this one-vs-rest distance (softmax), at most this cosine "
            "(tammes). Exit 4 if missed."),
]  # fmt: skip
CrossStart = Annotated[
    bool,
    _option("--cross-start/--no-cross-start", panel=_SEARCH,
            help="softmax and tammes may start from each other's best (default), or stay "
            "independent."),
]  # fmt: skip
Resume = Annotated[
    bool,
    _option("--resume", panel=_SEARCH, help="Go on from the state in the --out file."),
]  # fmt: skip

Seed = Annotated[
    int,
    _option("--seed", panel=_RUN, metavar="INT", parser=_integer(0),
            help="Same seed, same machine: same result. Default 0."),
]  # fmt: skip
TimeLimit = Annotated[
    float | None,
    _option("--time-limit", panel=_RUN, metavar="SECONDS", parser=_positive,
            help="Wall time; the best so far is written when it ends. Default none."),
]  # fmt: skip
Device = Annotated[
    str,
    _option("--device", panel=_RUN, metavar="DEVICE", parser=_door(parsing.device),
            help="auto, cpu, cuda or cuda:1. Default auto."),
]  # fmt: skip
Threads = Annotated[
    int | None,
    _option("--threads", panel=_RUN, metavar="INT", parser=_integer(1),
            help="Processor threads. Default adapts to the size of the problem."),
]  # fmt: skip

Json = Annotated[
    bool, _option("--json", panel=_OUTPUT, help="Print one JSON object in place of the table.")
]
Csv = Annotated[bool, _option("--csv", panel=_OUTPUT, help="Print CSV: a header, then rows.")]
Jsonl = Annotated[bool, _option("--jsonl", panel=_OUTPUT, help="Print one JSON object a row.")]
Out = Annotated[
    str | None,
    _option("--out", panel=_OUTPUT, metavar="FILE",
            help="Write the code: .h5, .npz, .npy, .safetensors, .pt or .txt; '-' writes HDF5 to "
            "stdout and the table to stderr."),
]  # fmt: skip
Report = Annotated[
    str | None,
    _option("--report", panel=_OUTPUT, metavar="FILE",
            help="Write a report: .md (pull request), .xml (JUnit) or .prom (Prometheus)."),
]  # fmt: skip
Plot = Annotated[
    str | None,
    _option("--plot", panel=_OUTPUT, metavar="FILE", help="Draw the result: .png, .svg or .pdf."),
]
Force = Annotated[bool, _option("--force", panel=_OUTPUT, help="Overwrite existing files.")]
Quiet = Annotated[bool, _option("--quiet", "-q", panel=_OUTPUT, help="No progress, no notes.")]
Verbose = Annotated[
    bool, _option("--verbose", "-v", panel=_OUTPUT, help="Show JSON keys in the table, and logs.")
]

Min = Annotated[
    list[str] | None,
    _option("--min", panel=_GATES, metavar="KEY=VALUE",
            help="Exit 5 if a number of the result is below VALUE, 4 if its bracket straddles it. "
            "Repeatable; keys are those of --json, dotted."),
]  # fmt: skip
Max = Annotated[
    list[str] | None,
    _option("--max", panel=_GATES, metavar="KEY=VALUE", help="The same from above. Repeatable."),
]  # fmt: skip
Check = Annotated[
    list[str] | None,
    _option("--check", panel=_GATES, metavar="EXPR",
            help="Any comparison: 'max_cosine<0.34 and contacts>=10'. Repeatable."),
]  # fmt: skip
RowsChoice = Annotated[
    Rows,
    _option("--rows", panel=_GATES,
            help="Where there are several rows, which must pass. Default last."),
]  # fmt: skip
Baseline = Annotated[
    str | None,
    _option("--baseline", panel=_GATES, metavar="FILE",
            help="Earlier --json output of the same problem, to compare with by --allow."),
]  # fmt: skip
Allow = Annotated[
    list[str] | None,
    _option("--allow", panel=_GATES, metavar="KEY=CHANGE",
            help="How much worse than the baseline a number may be: 10% or 0.01. Repeatable."),
]  # fmt: skip

_COMPARE = "What to compare"
_FRESH = "Fresh solves"

Codes = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILES]...", rich_help_panel=_COMPARE, show_default=False,
                   help="Codes: .h5, .npz, .npy, .safetensors, .pt, .csv, .txt (one point a line, "
                   "or Sloane's); FILE:KEY picks a dataset; '-' is HDF5 on stdin."),
]  # fmt: skip
ListMode = Annotated[
    bool, _option("--list", panel=_COMPARE, help="List the table, or what --d and --K leave of it.")
]
SolveMode = Annotated[
    bool,
    _option("--solve", panel=_COMPARE, help="Solve every pair of --d and --K and compare that."),
]
ConjectureMode = Annotated[
    bool,
    _option("--conjecture", panel=_COMPARE,
            help="Search Softmax Codes without Tammes codes for every pair: does one end above "
            "1 - t? Exit 5 on a counterexample."),
]  # fmt: skip
Dims = Annotated[
    Ints | None,
    _option("--d", "-d", panel=_COMPARE, metavar="INTS", parser=_door(_ints),
            help="Dimensions: 3, 3,5 or 3..8; of a file with one number a line, its dimension."),
]  # fmt: skip
Sizes = Annotated[
    Ints | None,
    _option("--K", "-K", panel=_COMPARE, metavar="INTS", parser=_door(_ints),
            help="Numbers of points: 24, 2..100 or 10..100..10."),
]  # fmt: skip
Proven = Annotated[
    bool, _option("--proven", panel=_COMPARE, help="List proved optima alone.")
]
Named = Annotated[
    bool,
    _option("--named", panel=_COMPARE, help="Test the conjecture on the named codes, d <= 100."),
]
Table = Annotated[
    str | None,
    _option("--table", panel=_COMPARE, metavar="FILE",
            help="A current table of known codes, d,N,cosine a line. Default: our copy."),
]  # fmt: skip
Digits = Annotated[
    int | None,
    _option("--digits", panel=_COMPARE, metavar="INT", parser=_integer(1),
            help="Polish each file's code to so many digits of its cosine, and propose its minimal "
            "polynomial."),
]  # fmt: skip
Tolerance = Annotated[
    float,
    _option("--tolerance", panel=_GATES, metavar="FLOAT",
            parser=_door(partial(parsing.number, least=0.0)),
            help="Exit 5 where a cosine is worse than the best known by more. Default 1e-9."),
]  # fmt: skip
RequireEntry = Annotated[
    bool,
    _option("--require-entry", panel=_GATES,
            help="Exit 5 on no_entry as well: nothing as good to compare with."),
]  # fmt: skip
Export = Annotated[
    str | None,
    _option("--export", panel=_OUTPUT, metavar="DIR",
            help="Write coordinates, Gram matrix, contact graph (graph6) and inner products of "
            "each file's code there."),
]  # fmt: skip
Budget = Annotated[
    float | None,
    _option("--budget", panel=_FRESH, metavar="SECONDS", parser=_positive,
            help="Time of each solve. Default 10."),
]  # fmt: skip
Workers = Annotated[
    int | None,
    _option("--workers", panel=_FRESH, metavar="INT", parser=_integer(1),
            help="Solves side by side, a process each. Default 1."),
]  # fmt: skip
RowsOut = Annotated[
    str | None,
    _option("--out", panel=_FRESH, metavar="FILE",
            help="Keep the rows of --solve or --conjecture, each as it is ready: .jsonl."),
]  # fmt: skip
