"""`solve`: find K points in d dimensions that are as far apart as possible, with a certificate."""

import threading
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, cast

from gnc_cli import parsing
from gnc_cli.io.arguments import validated
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
    Seed,
    Threads,
    TimeLimit,
    Workers,
    one_of,
    real,
    reals,
    whole,
)
from gnc_cli.runtime.deadline import Progress
from gnc_cli.search.effort import LARGE

if TYPE_CHECKING:
    from gnc_cli.search.result import ConstructionList, SolveResult, SolveSweep


class ProblemName(StrEnum):
    """What is optimised."""

    SOFTMAX = "softmax"
    TAMMES = "tammes"
    UFM = "ufm"


class Method(StrEnum):
    """How a code is found."""

    AUTO = "auto"
    DESCENT = "descent"


_PROBLEM = "Problem"
_SEARCH = "Search"


@validated
def solve(
    d: Annotated[
        int | None,
        Parameter(
            "Dimension of the space, at least 2. Needed unless --construction is given.",
            whole(2, MOST_DIMENSIONS),
            _PROBLEM,
            short="-d",
        ),
    ] = None,
    K: Annotated[
        int | None,
        Parameter(
            "Number of points or classes, at least 2. Needed unless --construction is given.",
            whole(2, MOST_POINTS),
            _PROBLEM,
            short="-K",
        ),
    ] = None,
    *,
    problem: Annotated[
        str,
        Parameter(
            "softmax: maximise the one-vs-rest distance; tammes: maximise the minimal angle; "
            "ufm: minimise the cross-entropy (needs --tau or --weight-decay). Default softmax.",
            one_of(ProblemName),
            _PROBLEM,
        ),
    ] = ProblemName.SOFTMAX,
    tau: Annotated[
        float | list[float] | str | None,
        Parameter(
            "ufm: temperature, logits are cosines / tau. Several make a sweep: 1,0.5,0.1 or "
            "1..0.001/13 (13 geometric points).",
            reals(above=0.0, longest=1000),
            _PROBLEM,
        ),
    ] = None,
    weight_decay: Annotated[
        float | None,
        Parameter(
            "ufm: free lengths in place of unit lengths: mean cross-entropy + LAMBDA/2 times "
            "the squared lengths.",
            real(above=0.0),
            _PROBLEM,
            metavar="LAMBDA",
        ),
    ] = None,
    n: Annotated[
        int, Parameter("ufm: samples per class. Default 1.", whole(1, MOST_SAMPLES), _PROBLEM)
    ] = 1,
    fixed: Annotated[
        Any,
        Parameter(
            "Keep the rows of FILE, scaled to norm 1, as the first of the --K rows, and place only "
            "the others; a bias is ignored ('-': HDF5 on stdin).",
            group=_PROBLEM,
            metavar="FILE",
            reads=True,
        ),
    ] = None,
    symmetry: Annotated[
        str | None,
        Parameter(
            "antipodal: codes with -w for every w. cyclic:n: codes invariant under an "
            "orthogonal map g with g^n = 1; n at most K.",
            Kind("GROUP", parsing.symmetry),
            _PROBLEM,
        ),
    ] = None,
    method: Annotated[
        str,
        Parameter(
            "auto: begin with the best code that gnc has (theorem, construction, stored "
            "code); descent: search at once, constructions only as starts. Default auto.",
            one_of(Method),
            _SEARCH,
        ),
    ] = Method.AUTO,
    construction: Annotated[
        str | None,
        Parameter(
            "Build this known code (leech, gold-9), or its first --K rows, without a "
            "search; see --list-constructions. known: the stored code of --d and --K.",
            group=_SEARCH,
            metavar="NAME",
        ),
    ] = None,
    list_constructions: Annotated[
        bool,
        Parameter("List the constructions with size, cosine and source, and stop.", group=_SEARCH),
    ] = False,
    init: Annotated[
        Any,
        Parameter(
            "Start from the rows of FILE ('-': HDF5 on stdin); rows that coincide start at "
            "random points.",
            group=_SEARCH,
            metavar="FILE",
            reads=True,
        ),
    ] = None,
    restarts: Annotated[
        int | None,
        Parameter(
            f"Number of starts, for K up to {LARGE}; 0 only polishes --init. Default "
            "adapts to d and K.",
            whole(0, MOST_SAMPLES),
            _SEARCH,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        Parameter(
            f"Descent steps, for K beyond {LARGE} and ufm; others have --restarts. Default "
            "adapts to d and K.",
            whole(1, MOST_SAMPLES),
            _SEARCH,
        ),
    ] = None,
    target: Annotated[
        float | None,
        Parameter(
            "Stop at a one-vs-rest distance of at least this (softmax), or at most this "
            "largest cosine (tammes). Exit 4 if it is missed.",
            real(),
            _SEARCH,
        ),
    ] = None,
    resume: Annotated[
        bool,
        Parameter(
            "Go on from the code in the --out file (.h5), with the next start.", group=_SEARCH
        ),
    ] = False,
    table: PublicTable = None,
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    device: Device = "auto",
    threads: Threads = None,
    workers: Workers = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None,
        Parameter(
            "Write the code: .h5 (or .hdf5), .npz, .npy, .safetensors, .pt, .txt or .off; "
            "'-' writes HDF5 to stdout and the table to stderr.",
            group="Output",
            metavar="FILE",
            writes=CODE_SUFFIXES,
        ),
    ] = None,
    force: Force = False,
    plot: PlotOrPage = None,
    interrupt: threading.Event | None = None,
    progress: Progress | None = None,
    command_line: str | None = None,
) -> "SolveResult | SolveSweep | ConstructionList":
    """Place K points in d dimensions as far apart as possible, and certify the code.

    The one-vs-rest distance of a point is its distance from the convex hull of all others; a code
    with the largest minimum of these distances is a Softmax Code. In Python `fixed` and `init` may
    be arrays.

    Args:
        interrupt: set it to stop early with the best so far.
        progress: called with `(stage, done, total, best)`.
        command_line: for the provenance in the file.

    Returns:
        The code with its certificate; a sweep where `tau` holds several.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: see `gnc_cli.errors`.

    Example:
        >>> result = solve(3, 6)
        >>> result.origin, result.rho_one_vs_rest.lower > 1 - 1e-12
        ('closed form: orthoplex', True)
    """
    from gnc_cli.search.request import Request
    from gnc_cli.search.run import run

    return run(
        Request(
            d=d or 0,
            K=K or 0,
            problem=problem,
            tau=cast("tuple[float, ...]", tau or ()),
            weight_decay=weight_decay,
            n=n,
            fixed=fixed,
            symmetry=symmetry,
            method=method,
            construction=construction,
            list_constructions=list_constructions,
            init=init,
            restarts=restarts,
            steps=steps,
            target=target,
            resume=resume,
            table=table,
            seed=seed,
            time_limit=time_limit,
            device=device,
            threads=threads,
            workers=workers,
            cluster=cluster,
            out=out,
            force=force,
            plot=plot,
            interrupt=interrupt,
            progress=progress,
            command_line=command_line,
        )
    )
