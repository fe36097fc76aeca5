"""One call of `bounds`: every bound is asked, the best taken; then files and the picture."""

import os
import time
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product
from math import nan
from typing import TypeVar

from gnc_cli import __version__
from gnc_cli.known_codes.best import best as best_code
from gnc_cli.limits.answers import classes_answer, dimension_answer, pair_answer
from gnc_cli.limits.delsarte import DelsarteLP
from gnc_cli.limits.registry import all_limits, possible_table, unproved_limits
from gnc_cli.limits.request import Request
from gnc_cli.limits.result import BestBounds, BoundRow, BoundsResult
from gnc_cli.parameters import Path
from gnc_cli.runtime.deadline import Deadline

T = TypeVar("T")


def run(request: Request) -> BoundsResult:
    """Answer a call; see `api.bounds`."""
    started = time.monotonic()
    deadline = Deadline.of_call(request.time_limit, request.interrupt)
    if request.verify is not None:
        return _check_certificate(request.verify, request, deadline, started)
    codes = possible_table(request.table)
    progress = None if request.progress is None else partial(request.progress, "three-point bound")
    quick = all_limits(
        request.subject, codes, sdp=request.sdp, deadline=deadline, progress=progress
    )
    unproved = unproved_limits(codes)
    limits = quick + unproved
    lp = request.lp or request.export is not None
    if lp or request.is_small:
        limits = [*quick, DelsarteLP(deadline=deadline, only_open=not lp), *unproved]
    total = max(1, len(request.d)) * max(1, len(request.K))
    done = 0

    def each(values: Iterable[T]) -> Iterator[T]:
        """The values until an interruption; progress after each."""
        nonlocal done
        for value in values:
            if deadline.interrupted:
                return
            yield value
            done += 1
            if request.progress is not None and total > 1:
                request.progress("bounds", done, total, nan)

    rows: list[BoundRow] = []
    pairs: list[BestBounds] = []
    dimension = classes = None
    if not request.d:
        dimension = dimension_answer(request, limits, each(request.K))
    elif not request.K:
        classes = classes_answer(request, limits, each(request.d))
    least = None
    if len(request.d) == len(request.K) == 1 and request.target is not None:
        # A programme takes a second or more for each dimension that is tried.
        (least,) = dimension_answer(request, quick + unproved, request.K).best
    for K, d in each(product(request.K, request.d)):
        known = best_code(d, K, codes)
        at_pair, best = pair_answer(d, K, limits, request, known.record() if known else None, least)
        rows += at_pair
        pairs.append(best)
    declined = any(limit.declined for limit in limits)
    stopped = done < total or (declined and deadline.interrupted)
    exported = None
    if request.export is not None and rows:
        from gnc_cli.limits.certificate import export

        exported = export(request.export, limits, rows, deadline, force=request.force)
    result = BoundsResult(
        seconds=time.monotonic() - started,
        version=__version__,
        quantity=request.subject,
        margin=request.margin,
        max_cosine=request.largest_cosine,
        arcface_m=request.arcface_m,
        probability=request.scale_probability,
        outcome="interrupted" if stopped else "time_limit" if declined else "complete",
        rows=tuple(rows),
        best=tuple(pairs),
        dimension=dimension,
        classes=classes,
        exported=exported,
        best_rows=request.best,
        lp=request.lp,
        silent=sum(limit.silent for limit in limits),
    )
    if request.out is not None:
        from gnc_cli.io.row_files import write_rows

        names = ("d", "K", "lp", "best", "margin", "arcface_m", "max_cosine", "probability")
        options = {name: getattr(request, name) for name in names}
        options |= {"quantity": request.subject, "table": codes.stamp.title}
        write_rows(request.out, result, options=options, force=request.force)
    if request.plot is not None and result.answer.best:
        from gnc_cli.limits.plot import plot_bounds

        plot_bounds(result, request.plot)
    return result


def _check_certificate(
    path: Path, request: Request, deadline: Deadline, started: float
) -> BoundsResult:
    """What the certificate in a file proves."""
    from gnc_cli.limits.certificate import verify

    certificate = verify(os.fspath(path), deadline)
    return BoundsResult(
        seconds=time.monotonic() - started,
        version=__version__,
        quantity=request.subject,
        margin=None,
        max_cosine=None,
        arcface_m=None,
        probability=None,
        outcome="interrupted" if deadline.interrupted else "complete",
        rows=(),
        best=(),
        certificate=certificate,
    )
