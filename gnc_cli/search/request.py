"""A call of `solve`: the declaration of its arguments, and which of them go together."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import Annotated, Any

from gnc_cli import parsing
from gnc_cli.errors import UsageError
from gnc_cli.io.arguments import Call
from gnc_cli.parameters import (
    CODE_SUFFIXES,
    MOST_DIMENSIONS,
    MOST_POINTS,
    MOST_SAMPLES,
    Cluster,
    Device,
    Force,
    Kind,
    Parameter,
    Path,
    PlotOrPage,
    PublicTable,
    Read,
    Seed,
    Subjects,
    Threads,
    TimeLimit,
    Workers,
    excludes,
    one_of,
    real,
    reals,
    requires,
    spelled,
    whole,
)
from gnc_cli.search.effort import MAX_DENSE


class ProblemName(StrEnum):
    """Optimisation problem."""

    SOFTMAX = "softmax"
    TAMMES = "tammes"
    UFM = "ufm"
    LINES = "lines"


class Method(StrEnum):
    """Method that finds a code."""

    AUTO = "auto"
    DESCENT = "descent"


STORED_CODE = "known"
"""Name of the construction that reads coordinates shipped with gnc."""
_PROBLEM = "Problem"
_SEARCH = "Search"
"""Headings of the options in the help."""


@dataclass(frozen=True, eq=False)
class Solve(Call):
    """A call of `solve`.

    Raises:
        UsageError: an argument is missing or contradicts another.
    """

    d: Annotated[
        Read[int | None, int],
        Parameter(
            "Dimension of the space, at least 2. Needed unless --construction is given.",
            whole(2, MOST_DIMENSIONS),
            _PROBLEM,
            short="-d",
        ),
    ] = Read(None)
    K: Annotated[
        Read[int | None, int],
        Parameter(
            "Number of points or classes, at least 2. Needed unless --construction is given.",
            whole(2, MOST_POINTS),
            _PROBLEM,
            short="-K",
        ),
    ] = Read(None)
    _: KW_ONLY
    problem: Annotated[
        str,
        Parameter(
            "softmax: maximise the one-vs-rest distance; tammes: maximise the minimal angle; "
            "ufm: minimise the cross-entropy (requires --tau or --weight-decay); lines: minimise "
            "the coherence of K lines, one row each. Default softmax.",
            one_of(ProblemName),
            _PROBLEM,
        ),
    ] = ProblemName.SOFTMAX
    tau: Annotated[
        Read[float | list[float] | str | None, tuple[float, ...] | None],
        Parameter(
            "ufm: temperature, logits are cosines / tau. Several make a sweep: 1,0.5,0.1 or "
            "1..0.001/13 (13 geometric points).",
            reals(greater_than=0.0, max_count=1000),
            _PROBLEM,
        ),
        Subjects("search", "ufm"),
    ] = Read(None)
    weight_decay: Annotated[
        float | None,
        Parameter(
            "ufm: free lengths in place of unit lengths: mean cross-entropy + LAMBDA/2 times "
            "the squared lengths.",
            real(greater_than=0.0),
            _PROBLEM,
            metavar="LAMBDA",
        ),
        Subjects("search", "ufm"),
    ] = None
    n: Annotated[
        int,
        Parameter(
            "ufm: samples per class. Default 1.",
            whole(1, MOST_SAMPLES),
            _PROBLEM,
        ),
        Subjects("search", "ufm"),
    ] = 1
    fixed: Annotated[
        Any,
        Parameter(
            "Keep the rows of FILE, scaled to norm 1, as the first of the --K rows, and place only "
            "the others; a bias is ignored ('-': HDF5 on stdin).",
            group=_PROBLEM,
            metavar="FILE",
            reads=True,
        ),
        Subjects("search"),
    ] = None
    symmetry: Annotated[
        Read[str | None, tuple[str, int] | None],
        Parameter(
            "antipodal: codes with -w for every w. cyclic:n: codes invariant under an "
            "orthogonal map g with g^n = 1; n at most K.",
            Kind("GROUP", parsing.prescribed_symmetry),
            _PROBLEM,
        ),
        Subjects("search"),
    ] = Read(None)
    method: Annotated[
        str,
        Parameter(
            "auto: begin with the best code that gnc has (theorem, construction, stored "
            "code); descent: search at once, constructions only as starts. Default auto.",
            one_of(Method),
            _SEARCH,
        ),
        Subjects("search"),
    ] = Method.AUTO
    construction: Annotated[
        str | None,
        Parameter(
            "Build this known code (leech, gold-9), or its first --K rows, without a "
            "search; see --list-constructions. known: the stored code of --d and --K.",
            group=_SEARCH,
            metavar="NAME",
        ),
    ] = None
    init: Annotated[
        Any,
        Parameter(
            "Start from the rows of FILE ('-': HDF5 on stdin); rows that coincide start at "
            "random points.",
            group=_SEARCH,
            metavar="FILE",
            reads=True,
        ),
        Subjects("search"),
    ] = None
    restarts: Annotated[
        int | None,
        Parameter(
            f"Number of starts, for K up to {MAX_DENSE}; 0 only polishes --init. Default "
            "adapts to d and K.",
            whole(0, MOST_SAMPLES),
            _SEARCH,
        ),
        Subjects("search"),
    ] = None
    steps: Annotated[
        int | None,
        Parameter(
            f"Descent steps, for K beyond {MAX_DENSE} and ufm; others have --restarts. Default "
            "adapts to d and K.",
            whole(1, MOST_SAMPLES),
            _SEARCH,
        ),
        Subjects("search"),
    ] = None
    target: Annotated[
        float | None,
        Parameter(
            "Stop at a one-vs-rest distance of at least this (softmax), or at most this "
            "largest cosine (tammes) or coherence (lines). Exit 4 if it is missed.",
            real(),
            _SEARCH,
        ),
    ] = None
    resume: Annotated[
        bool,
        Parameter(
            "Continue from the code in the --out file (.h5), with the next start.",
            group=_SEARCH,
        ),
        Subjects("search"),
    ] = False
    table: PublicTable = None
    seed: Seed = 0
    time_limit: Annotated[TimeLimit, Subjects("search")] = None
    device: Device = "auto"
    threads: Threads = None
    workers: Annotated[Workers, Subjects("search")] = None
    cluster: Annotated[Cluster, Subjects("search")] = None
    out: Annotated[
        Path | None,
        Parameter(
            "Write the code: .h5 (or .hdf5), .npz, .npy, .safetensors, .pt, .txt or .off; "
            "'-' writes HDF5 to stdout and the table to stderr.",
            group="Output",
            metavar="FILE",
            writes=CODE_SUFFIXES,
        ),
    ] = None
    force: Force = False
    plot: PlotOrPage = None
    command_line: str | None = None

    def __post_init__(self) -> None:
        for contradiction in _contradictions(self):
            raise contradiction


@dataclass(frozen=True, kw_only=True, eq=False)
class SolveCommand(Solve):
    """A call of `gnc solve`, which lists the constructions too."""

    list_constructions: Annotated[
        bool,
        Parameter("List the constructions with size, cosine and source, and stop.", group=_SEARCH),
    ] = False

    def __post_init__(self) -> None:
        if not self.list_constructions:
            super().__post_init__()


def _contradictions(call: Solve) -> Iterator[UsageError]:
    """Yield the error of each pair of arguments that contradict each other, with the next step."""
    ufm, size = call.problem == "ufm", (call.d, call.K)
    lines = call.problem == "lines"
    if call.construction is not None and (
        unused := ", ".join(
            [
                *[spelled("problem", call.problem)] * (ufm or lines),
                *map(spelled, call.changed_arguments("search")),
            ]
        )
    ):
        yield excludes("construction", unused, f"drop {unused}")
    if call.construction in (None, STORED_CODE) and None in size:
        missing = [spelled(name) for name in ("d", "K") if getattr(call, name) is None]
        example = f"{spelled('d', 3)} and {spelled('K', 24)}"
        yield UsageError(f"missing {' and '.join(missing)}; give both, such as {example}")
    if call.resume and PurePath(call.out or "").suffix.lower() not in (".h5", ".hdf5"):
        yield requires("resume", spelled("out", "code.h5"))
    if ufm and not call.tau and call.weight_decay is None:
        advice = f"add {spelled('tau', 0.1)} (or {spelled('weight_decay')})"
        yield UsageError(f"{spelled('problem', 'ufm')} requires a temperature; {advice}")
    for name in () if ufm else call.changed_arguments("ufm"):
        yield requires(name, spelled("problem", "ufm"))
    excluded = {
        spelled("problem", "ufm"): ("fixed", "symmetry", "target") if ufm else (),
        spelled("problem", "lines"): ("fixed", "symmetry", "table") if lines else (),
        spelled("symmetry"): () if call.symmetry is None else ("fixed", "init"),
    }
    for other, names in excluded.items():
        for name in filter(call.is_set, names):
            yield excludes(name, other)
    if call.symmetry is not None and call.symmetry[1] > call.K:
        symmetry = spelled("symmetry", ":".join(map(str, call.symmetry)))
        yield UsageError(f"{symmetry} has orbits longer than {spelled('K', call.K)}; lower it")
    is_large = call.construction is None and call.K > MAX_DENSE
    if call.steps is not None and not (ufm or is_large):
        condition = f"K > {MAX_DENSE} or {spelled('problem', 'ufm')}"
        yield requires("steps", condition, f"set the effort with {spelled('restarts')}")
    if call.restarts == 0 and call.init is None:
        init = spelled("init")
        yield UsageError(f"{spelled('restarts', 0)} requires {init}; add {init}")
    plain_descent = {"symmetry": call.symmetry, "problem": ufm, "restarts": call.restarts}
    for name, value in plain_descent.items():
        if is_large and value not in (None, False):
            option = spelled(name, call.problem if name == "problem" else None)
            reason = f"K up to {MAX_DENSE}, as K = {call.K} is one plain descent"
            yield UsageError(f"{option} requires {reason}; drop {option}")
