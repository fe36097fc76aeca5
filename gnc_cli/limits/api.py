"""`bounds`: what is possible for K classes in d dimensions. The function behind `gnc bounds`."""

import threading
from collections.abc import Iterable
from math import pi
from typing import TYPE_CHECKING, Annotated, cast

from gnc_cli.io.arguments import validated
from gnc_cli.limits.limit import Quantity
from gnc_cli.parameters import (
    DURATION,
    Force,
    Parameter,
    Path,
    Plot,
    PublicTable,
    one_of,
    real,
    wholes,
)
from gnc_cli.runtime.deadline import Progress

if TYPE_CHECKING:
    from gnc_cli.limits.result import BoundsResult

_MOST_D, _MOST_K = 10**5, 10**18
_QUESTION = "Problem"
_CERTIFICATES = "Certificates"


@validated
def bounds(
    d: Annotated[
        int | Iterable[int] | str | None,
        Parameter(
            "Dimensions, 2 to 1e5: 512, 128,256,512 or 2..512.",
            wholes(2, _MOST_D),
            _QUESTION,
            short="-d",
        ),
    ] = None,
    K: Annotated[
        int | Iterable[int] | str | None,
        Parameter(
            "Numbers of classes or points, 2 to 1e18: 1e6 or 10572,85742,360232.",
            wholes(2, _MOST_K),
            _QUESTION,
            short="-K",
        ),
    ] = None,
    *,
    margin: Annotated[
        float | None,
        Parameter(
            "One-vs-rest distance wanted (CosFace's margin), above 0, up to 2. With --K: "
            "which d; with --d: how many K; with both: which share of the largest margin it is, "
            "and which scale softmax needs.",
            real(above=0.0, most=2.0),
            _QUESTION,
        ),
    ] = None,
    arcface_m: Annotated[
        float | None,
        Parameter(
            "Minimal angle between two points in radians (ArcFace's margin), in place of --margin.",
            real(above=0.0, most=pi),
            _QUESTION,
            metavar="RADIANS",
        ),
    ] = None,
    max_cosine: Annotated[
        float | None,
        Parameter(
            "Largest cosine allowed between two points, in place of --margin; --d 8 "
            "--max-cosine 0.5 is the kissing problem.",
            real(least=-1.0, below=1.0),
            _QUESTION,
        ),
    ] = None,
    quantity: Annotated[
        str | None,
        Parameter(
            "one-vs-rest (margins), or one-vs-one: cosine and angle of spherical codes. "
            "Default one-vs-rest; one-vs-one with --arcface-m or --max-cosine.",
            one_of(Quantity),
            _QUESTION,
        ),
    ] = None,
    probability: Annotated[
        float | None,
        Parameter(
            "Print the scale s = 1/tau that is enough for probability P on every class. Default "
            "0.9 where d, K and a margin are given, else none.",
            real(above=0.0, below=1.0),
            _QUESTION,
            metavar="P",
        ),
    ] = None,
    lp: Annotated[
        bool,
        Parameter(
            "Add Delsarte's linear programme, verified in exact arithmetic: about a second "
            "per pair, for d up to 1000, K up to 10^9 and polynomials of degree 40. For one pair "
            "with d up to 8 it is added anyway, where it can help.",
            group=_QUESTION,
        ),
    ] = False,
    sdp: Annotated[
        bool,
        Parameter(
            "Compute Bachoc and Vallentin's three-point bound for pairs without a stored one where "
            "the other bounds leave a gap, proved in whole numbers: about ten seconds per pair.",
            group=_QUESTION,
        ),
    ] = False,
    table: PublicTable = None,
    verify: Annotated[
        Path | None,
        Parameter(
            "Check a certificate, .json or .json.gz, in exact arithmetic, and say what it proves; "
            "exit 5 if its claim does not follow from the file, 4 if that is not decided.",
            group=_CERTIFICATES,
            metavar="FILE",
            reads=True,
        ),
    ] = None,
    export: Annotated[
        Path | None,
        Parameter(
            "Write the certificate of the best bound from above that has one: .json or .gz.",
            group=_CERTIFICATES,
            metavar="FILE",
            writes=(".json", ".gz"),
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        Parameter(
            "Wall time for linear and semidefinite programmes, --export and --verify; bounds that "
            "are not ready by then are left out. Default none, of a check 5 minutes.",
            DURATION,
            "Effort and machine",
        ),
    ] = None,
    best: Annotated[
        bool,
        Parameter(
            "In --csv, --jsonl and --out write one row per (d, K), d or K with the best "
            "bounds, not one per bound.",
            group="Output",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        Parameter(
            "Write the rows: .csv, .json, .h5 or .parquet.",
            group="Output",
            metavar="FILE",
            writes=(".csv", ".json", ".h5", ".parquet"),
        ),
    ] = None,
    force: Force = False,
    plot: Plot = None,
    interrupt: threading.Event | None = None,
    progress: Progress | None = None,
) -> "BoundsResult":
    """Bounds on how far apart K classes can be in d dimensions, proved from both sides.

    Give two of d, K and a margin to get the third; give all three to learn whether such a code
    exists, and which scale softmax needs.

    Args:
        interrupt: set it to stop early with the pairs so far.
        progress: called with `(stage, done, total, worst)`.

    Returns:
        With d and K: every bound that applies to the largest one-vs-rest distance rho*(d, K), lower
        and upper, and the best interval. With K and a margin: the smallest d where gnc knows
        a code with it to exist, and the smallest not excluded. With d and a margin: the largest K
        for which it knows one, and the smallest excluded. With all three: whether such a code
        exists, and `best[0].margins`: its share of the largest margin, the largest CosFace margin
        and ArcFace angle, the smallest softmax scale, the least dimension. Values are good to a
        relative 1e-13; counts are exact up to fifteen digits.

    Raises:
        UsageError, DataError, OutputError: see `gnc_cli.errors`.

    Example:
        >>> kissing = bounds(d=8, max_cosine=0.5).classes
        >>> kissing.guaranteed, kissing.excluded
        (240, 241)
    """
    from gnc_cli.limits.request import Request
    from gnc_cli.limits.run import run

    return run(
        Request(
            d=cast("tuple[int, ...]", d or ()),
            K=cast("tuple[int, ...]", K or ()),
            margin=margin,
            arcface_m=arcface_m,
            max_cosine=max_cosine,
            quantity=cast("Quantity | None", quantity),
            probability=probability,
            lp=lp,
            sdp=sdp,
            table=table,
            verify=verify,
            export=export,
            time_limit=time_limit,
            best=best,
            out=out,
            force=force,
            plot=plot,
            interrupt=interrupt,
            progress=progress,
        )
    )
