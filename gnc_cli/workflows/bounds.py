"""`bounds`: what is possible for K classes in d dimensions. The function behind `gnc bounds`."""

import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from gnc_cli import __version__
from gnc_cli.limits.limit import Limit
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.results import BestBounds, BoundRow, BoundsResult
from gnc_cli.workflows.bounds_best import best_of
from gnc_cli.workflows.bounds_catalogue import catalogue
from gnc_cli.workflows.bounds_classes import classes_answer
from gnc_cli.workflows.bounds_dimension import dimension_answer
from gnc_cli.workflows.bounds_files import prepare_files, write_files
from gnc_cli.workflows.bounds_request import ONE_VS_REST, Question, Request, read_request
from gnc_cli.workflows.bounds_rows import rows_of
from gnc_cli.workflows.known import best as best_code
from gnc_cli.workflows.known import read_table

if TYPE_CHECKING:
    from gnc_cli.io.known_codes import KnownCodes

__all__ = ["bounds"]

Progress = Callable[[str, int, int, float], None]
_Path = str | os.PathLike[str]


def bounds(
    d: int | Iterable[int] | None = None,
    K: int | Iterable[int] | None = None,
    *,
    margin: float | None = None,
    cosface_m: float | None = None,
    arcface_m: float | None = None,
    max_cosine: float | None = None,
    quantity: str | None = None,
    probability: float | None = None,
    lp: bool = False,
    time_limit: float | None = None,
    table: "KnownCodes | _Path | None" = None,
    best: bool = False,
    out: _Path | None = None,
    force: bool = False,
    plot: _Path | None = None,
    interrupt: threading.Event | None = None,
    progress: Progress | None = None,
) -> BoundsResult:
    """Bounds on the best codes: two of d, K and a margin are given, the third is answered.

    With d and K: every bound that applies to the largest one-vs-rest distance rho*(d, K), lower
    and upper, and the best interval. With K and a margin: the smallest d known to have a
    code with it, and the smallest not excluded. With d and a margin: the largest K known to have
    one, and the smallest excluded. With all three: whether such a code exists.

    Args:
        d, K: one or several; 2 to 10^6, 2 to 10^300.
        margin: one-vs-rest distance, above 0, up to 2.
        cosface_m: the same number.
        arcface_m: ArcFace's angle in radians: the angles of the code are to be at least this.
        max_cosine: the same as a cosine, in [-1, 1).
        quantity: `one-vs-rest` or `one-vs-one` (cosine and angle); follows from the target.
        probability: also give the softmax scale that reaches it.
        lp: add Delsarte's linear programme, verified in exact arithmetic.
        time_limit: seconds for the linear programmes.
        table: known codes, `d,N,cosine` a line, held beside our copy.
        best: `out` holds one row a pair, K or d, with what is known of it, not one a bound.
        out: file for the rows: .csv, .json, .h5.
        force: overwrite files.
        plot: PNG, SVG or PDF.
        interrupt: set it to stop early with the pairs so far.
        progress: told `(stage, done, total, worst)`.

    Returns:
        Values are good to a relative 1e-13; counts are exact up to fifteen digits.

    Raises:
        UsageError, DataError, OutputError: see `gnc_cli.errors`.

    Example:
        >>> found = bounds(d=8, max_cosine=0.5).classes
        >>> found.guaranteed, found.excluded
        (240, 241)
    """
    started = time.monotonic()
    request = read_request(
        d=d, K=K, margin=margin, cosface_m=cosface_m, arcface_m=arcface_m, max_cosine=max_cosine,
        quantity=quantity, probability=probability, lp=lp, time_limit=time_limit,
    )  # fmt: skip
    prepare_files(out=out, plot=plot, force=force, table=table)
    deadline = Deadline(time_limit, interrupt)
    limits = catalogue(request.quantity, table, lp=lp, deadline=deadline)
    result = _answer(request, limits, read_table(table), deadline, progress, started)
    asked = {
        "d": request.d, "K": [float(n) for n in request.K], "quantity": request.quantity,
        "margin": result.margin, "max_cosine": max_cosine, "arcface_m": arcface_m,
        "probability": probability, "lp": lp,
        "table": None if table is None else str(getattr(table, "stamp", table)), "best": best,
    }  # fmt: skip
    write_files(result, asked, out=out, plot=plot, best=best, force=force)
    return result


def _answer(
    request: Request,
    limits: list[Limit],
    codes: "KnownCodes",
    deadline: Deadline,
    progress: Progress | None,
    started: float,
) -> BoundsResult:
    rows: list[BoundRow] = []
    best: list[BestBounds] = []
    dimension = classes = None
    total = max(1, len(request.d)) * max(1, len(request.K))
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        if progress is not None and total > 1:
            progress("bounds", done, total, float("nan"))

    match request.question:
        case Question.PAIRS:
            for pair in ((d, K) for K in request.K for d in request.d):
                if deadline.interrupted:
                    break
                some = list(rows_of(*pair, limits, request.quantity))
                rows += some
                known = best_code(*pair, codes)
                best.append(best_of(some, request, known.record() if known else None))
                tell()
        case Question.DIMENSION:
            dimension = dimension_answer(request, limits, deadline, tell)
        case Question.CLASSES:
            classes = classes_answer(request, limits, deadline, tell)
    declined = any(limit.declined for limit in limits)
    stopped = done < total or (declined and deadline.interrupted)
    outcome = "interrupted" if stopped else "time_limit" if declined else "complete"
    return BoundsResult(
        seconds=time.monotonic() - started, version=__version__, quantity=request.quantity,
        margin=request.margin if request.quantity == ONE_VS_REST else None,
        max_cosine=request.max_cosine, arcface_m=request.arcface_m,
        probability=request.probability, outcome=outcome, rows=tuple(rows), best=tuple(best),
        dimension=dimension, classes=classes,
    )  # fmt: skip
