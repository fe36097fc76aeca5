"""One call of `bounds`: its bounds are asked, the best taken, the files written."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from math import nan
from typing import Any, TypeVar

from gnc_cli import __version__
from gnc_cli.errors import UsageError
from gnc_cli.known_codes.best import best as best_code
from gnc_cli.known_codes.table import KnownCodes
from gnc_cli.limits.answers import classes_answer, dimension_answer, pair_best, pair_rows
from gnc_cli.limits.limit import Quantity
from gnc_cli.limits.registry import all_limits, possible_table, unproved_limits
from gnc_cli.limits.request import Question, read_request
from gnc_cli.limits.result import BestBounds, BoundRow, BoundsResult
from gnc_cli.parameters import Path, spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.predictions import Prediction

T = TypeVar("T")
_BYTES, _SECONDS, _LP_SECONDS = 4000.0, 1e-3, 1.0
"""What the answer to a question takes; with a linear programme."""


def run(
    d: tuple[int, ...] | None,
    K: tuple[int, ...] | None,
    *,
    lp: bool,
    table: KnownCodes | Path | None,
    time_limit: float | None,
    best: bool,
    out: Path | None,
    force: bool,
    plot: Path | None,
    interrupt: threading.Event | None,
    progress: Callable[[str, int, int, float], None] | None,
    **asked: Any,
) -> BoundsResult:
    """Answer with checked arguments; see `api.bounds`."""
    started = time.monotonic()
    if out == "-":
        raise UsageError(f"{spelled('out')} writes a file; for rows on stdout give --csv or --json")
    request = read_request(d, K, lp=lp, time_limit=time_limit, **asked)
    deadline = Deadline.of_call(time_limit, interrupt)
    codes = possible_table(table)
    limits = all_limits(request.quantity, codes, lp=lp, deadline=deadline)
    limits += unproved_limits(codes)
    total = max(1, len(request.d)) * max(1, len(request.K))
    done = 0
    seconds = total * (_SECONDS + (_LP_SECONDS if lp else 0.0))
    Prediction(_BYTES * total, seconds=seconds).within(time_limit).require(
        f"bounding {total:,} questions", f"ask about fewer {spelled('d')} or {spelled('K')}"
    )

    def each(values: Iterable[T]) -> Iterator[T]:
        """The values until an interruption; progress after each."""
        nonlocal done
        for value in values:
            if deadline.interrupted:
                return
            yield value
            done += 1
            if progress is not None and total > 1:
                progress("bounds", done, total, nan)

    rows: list[BoundRow] = []
    pairs: list[BestBounds] = []
    dimension = classes = None
    match request.question:
        case Question.PAIRS:
            for K_, d_ in each(product(request.K, request.d)):
                some = pair_rows(d_, K_, limits, request.quantity)
                known = best_code(d_, K_, codes)
                rows += some
                pairs.append(pair_best(some, request, known.record() if known else None))
        case Question.DIMENSION:
            dimension = dimension_answer(request, limits, each(request.K))
        case Question.CLASSES:
            classes = classes_answer(request, limits, each(request.d))
    declined = any(limit.declined for limit in limits)
    stopped = done < total or (declined and deadline.interrupted)
    result = BoundsResult(
        seconds=time.monotonic() - started,
        version=__version__,
        quantity=request.quantity,
        margin=request.margin if request.quantity is Quantity.ONE_VS_REST else None,
        max_cosine=request.max_cosine,
        arcface_m=request.arcface_m,
        probability=request.probability,
        outcome="interrupted" if stopped else "time_limit" if declined else "complete",
        rows=tuple(rows),
        best=tuple(pairs),
        dimension=dimension,
        classes=classes,
        best_rows=best,
        lp=lp,
    )
    if out is not None:
        from gnc_cli.io.row_files import write_rows

        options = {"d": request.d, "K": [float(n) for n in request.K], "lp": lp, "best": best}
        options |= asked | {"quantity": request.quantity}
        options["table"] = codes.stamp.title
        write_rows(out, result, options=options, force=force)
    if plot is not None and result.answer.best:
        from gnc_cli.limits.plot import plot_bounds

        plot_bounds(result, plot)
    return result
