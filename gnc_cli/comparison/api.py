"""`compare`: codes beside the best known ones. The function behind `gnc compare`."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from gnc_cli.io.arguments import validated
from gnc_cli.known_codes.verdict import TOLERANCE
from gnc_cli.parameters import (
    DURATION,
    MOST_DIMENSIONS,
    MOST_POINTS,
    Cluster,
    Force,
    Parameter,
    Path,
    PlotOrPage,
    PublicTable,
    Seed,
    Threads,
    Workers,
    real,
    whole,
    wholes,
)

if TYPE_CHECKING:
    from gnc_cli.comparison.result import CompareResult, CompareRow

_COMPARE = "What to compare"
_SOLVES = "Fresh solves"
_GATES = "Gates for CI"


@validated
def compare(
    *files: Annotated[
        Any,
        Parameter(
            "Codes: .h5, .npz, .npy, .safetensors, .pt, .off, .csv, .txt (one point per line, "
            "or one coordinate per line, as in Sloane's tables; numbers may be 1/3 or "
            "sqrt(5)/5); :KEY after a file's name picks a dataset; '-' is HDF5 on stdin.",
            group=_COMPARE,
            metavar="FILES",
            argument=True,
            repeatable=True,
            reads=True,
        ),
    ],
    list: Annotated[
        bool, Parameter("List the table; --d and --K restrict it.", group=_COMPARE)
    ] = False,
    solve: Annotated[
        bool, Parameter("Solve every pair of --d and --K, and compare the codes.", group=_COMPARE)
    ] = False,
    d: Annotated[
        Any,
        Parameter(
            "Dimensions: 3, 3,5 or 3..8; also the dimension of a file that lists one "
            "coordinate per line.",
            wholes(2, MOST_DIMENSIONS),
            _COMPARE,
            short="-d",
        ),
    ] = None,
    K: Annotated[
        Any,
        Parameter(
            "Numbers of points: 24, 2..100 or 10..100..10.",
            wholes(2, MOST_POINTS),
            _COMPARE,
            short="-K",
        ),
    ] = None,
    proven: Annotated[bool, Parameter("List only proved optima.", group=_COMPARE)] = False,
    table: PublicTable = None,
    digits: Annotated[
        int | None,
        Parameter(
            "Polish each file's code until its cosine has this many decimals, and find its "
            "minimal polynomial: proved where the exact code is found, else proposed.",
            whole(1, 1000),
            _COMPARE,
        ),
    ] = None,
    describe: Annotated[
        bool,
        Parameter(
            "Describe each file's code: symmetry group, strength as a design, covering radius, "
            "energies, and whether its contacts hold it in place.",
            group=_COMPARE,
        ),
    ] = False,
    export: Annotated[
        Path | None,
        Parameter(
            "Write coordinates (text and OFF), Gram matrix, contact graph (graph6) and inner "
            "products of each file's code there.",
            group="Output",
            metavar="DIR",
        ),
    ] = None,
    budget: Annotated[
        float | None,
        Parameter(
            "Time limit of each solve, 90 (seconds) or 2m. Default 10.",
            DURATION,
            _SOLVES,
        ),
    ] = None,
    seed: Seed = 0,
    time_limit: Annotated[
        float | None,
        Parameter(
            "Time limit of the whole run, 90 (seconds), 15m or 2h; the rows so far are kept. "
            "Default none.",
            DURATION,
            "Effort and machine",
        ),
    ] = None,
    threads: Threads = None,
    workers: Workers = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None,
        Parameter(
            "With --solve: keep the rows, each as it is ready: .jsonl.",
            group=_SOLVES,
            metavar="FILE",
            writes=(".jsonl",),
        ),
    ] = None,
    resume: Annotated[
        bool,
        Parameter(
            "With --solve: go on from the rows in the --out file.",
            group=_SOLVES,
        ),
    ] = False,
    force: Force = False,
    plot: PlotOrPage = None,
    tolerance: Annotated[
        float,
        Parameter(
            "Exit 5 if the largest cosine exceeds the best known by more than this. "
            "Default 1e-9, or the precision of the file.",
            real(0.0),
            _GATES,
        ),
    ] = TOLERANCE,
    require_entry: Annotated[
        bool,
        Parameter("Exit 5 also where (d, K) is not on record (status no_entry).", group=_GATES),
    ] = False,
    interrupt: threading.Event | None = None,
    progress: Callable[[str, int, int, float], None] | None = None,
    on_row: "Callable[[CompareRow], None] | None" = None,
) -> "CompareResult":
    """Compare codes with the best known ones, and name those that are known.

    Give files, or --list the table, or --solve pairs.

    Args:
        interrupt: set it to stop early with the rows so far.
        progress: called with `(stage, done, total, largest gap)`.
        on_row: called with each row as it is ready.

    Returns:
        One row per code, entry or pair; `passed` in a row says whether its gap is within the
        tolerance.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: see `gnc_cli.errors`.

    Example:
        >>> row = compare([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]).rows[0]
        >>> row.status.value, row.max_cosine, row.source
        ('matches', 0.0, 'theorem 3.3: regular polygon')
    """
    from gnc_cli.comparison.request import Request
    from gnc_cli.comparison.run import run

    return run(
        Request(
            files=files,
            list=list,
            solve=solve,
            d=d,
            K=K,
            proven=proven,
            table=table,
            digits=digits,
            describe=describe,
            export=export,
            budget=budget,
            seed=seed,
            time_limit=time_limit,
            threads=threads,
            workers=workers,
            cluster=cluster,
            out=out,
            resume=resume,
            force=force,
            plot=plot,
            tolerance=tolerance,
            require_entry=require_entry,
            interrupt=interrupt,
            progress=progress,
            on_row=on_row,
        )
    )
