"""One call of `bounds`: all bounds are evaluated, the best taken; then files and the plot."""

import os
import time
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product
from math import nan
from typing import TypeVar

from gnc_cli import __version__
from gnc_cli.known_codes.best import best as best_code
from gnc_cli.limits.answers import classes_answer, dimension_answer, limits_of, pair_answer
from gnc_cli.limits.delsarte import DelsarteLP
from gnc_cli.limits.limit import Quantity, Question, Target
from gnc_cli.limits.lines import best_lines
from gnc_cli.limits.registry import possible_table
from gnc_cli.limits.request import Bounds
from gnc_cli.limits.result import BestBounds, BoundRow, BoundsResult
from gnc_cli.parameters import Path
from gnc_cli.runtime.deadline import Deadline

T = TypeVar("T")


def run(call: Bounds) -> BoundsResult:
    """Answer a call; see `api.bounds`."""
    started = time.monotonic()
    deadline = Deadline.begin_call(call.time_limit, call.interrupt)
    if call.verify is not None:
        return _check_certificate(call.verify, deadline, started)
    target, question = question_of(call)
    codes = possible_table(call.table)
    limits = limits_of(
        question,
        codes,
        lp=call.lp or call.export is not None,
        sdp=call.sdp,
        deadline=deadline,
        progress=None if call.progress is None else partial(call.progress, "three-point bound"),
    )
    total = max(1, len(question.d)) * max(1, len(question.K))
    finished = 0

    def track(values: Iterable[T]) -> Iterator[T]:
        """Yield values until an interruption, and report progress after each."""
        nonlocal finished
        for value in values:
            if deadline.interrupted:
                return
            yield value
            finished += 1
            if call.progress is not None and total > 1:
                call.progress("bounds", finished, total, nan)

    rows: list[BoundRow] = []
    pairs: list[BestBounds] = []
    dimension = classes = None
    if not question.d:
        dimension = dimension_answer(question, limits, track(question.K))
    elif not question.K:
        classes = classes_answer(question, limits, track(question.d))
    dimensions = None
    if len(question.d) == len(question.K) == 1 and question.target is not None:
        # A program takes a second or more for each dimension that is tried.
        quick = [limit for limit in limits if not isinstance(limit, DelsarteLP)]
        (dimensions,) = dimension_answer(question, quick, question.K).best
    for K, d in track(product(question.K, question.d)):
        lines = question.subject is Quantity.LINES
        best_known = best_lines(d, K) if lines else best_code(d, K, codes)
        pair_rows, best = pair_answer(d, K, limits, question, best_known, dimensions)
        rows += pair_rows
        pairs.append(best)
    declined = any(limit.declined for limit in limits)
    stopped = finished < total or (declined and deadline.interrupted)
    exported = None
    if call.export is not None and rows:
        from gnc_cli.limits.certificate import export

        exported = export(call.export, limits, rows, deadline, force=call.force)
    result = BoundsResult(
        seconds=time.monotonic() - started,
        version=__version__,
        quantity=question.subject,
        margin=target.margin,
        max_cosine=target.cosine,
        arcface_m=target.arcface_m,
        probability=question.scale_probability,
        outcome="interrupted" if stopped else "time_limit" if declined else "complete",
        rows=tuple(rows),
        best=tuple(pairs),
        dimension=dimension,
        classes=classes,
        exported=exported,
        best_rows=call.best,
        lp=call.lp,
        silent=sum(limit.silent for limit in limits),
    )
    if call.out is not None:
        from gnc_cli.io.row_files import write_rows

        names = ("d", "K", "lp", "best", "margin", "arcface_m", "max_cosine", "probability")
        options = {name: getattr(call, name) for name in names} | {
            "d": question.d,
            "K": question.K,
            "quantity": question.subject,
            "table": codes.stamp.title,
        }
        write_rows(call.out, result, options=options, force=call.force)
    if call.plot is not None and result.answer.best:
        result.plot(call.plot)
    return result


def question_of(call: Bounds) -> tuple[Target, Question]:
    """Return the target as the user gave it, and the question to the bounds."""
    target = Target(margin=call.margin, arcface_m=call.arcface_m, max_cosine=call.max_cosine)
    implied = Quantity.ONE_VS_REST if target.cosine is None else Quantity.ONE_VS_ONE
    return target, Question(
        d=call.d or (),
        K=call.K or (),
        subject=call.quantity or implied,
        target=target.distance,
        arcface_m=call.arcface_m,
        probability=call.probability,
    )


def _check_certificate(path: Path, deadline: Deadline, started: float) -> BoundsResult:
    """Check the certificate in a file, or those in a folder, and return what they prove."""
    from gnc_cli.limits.certificate import verify

    certificate = verify(os.fspath(path), deadline)
    local = os.path.join(path, "local-optimum.json")
    return BoundsResult(
        seconds=time.monotonic() - started,
        version=__version__,
        quantity=Quantity.ONE_VS_REST,
        margin=None,
        max_cosine=None,
        arcface_m=None,
        probability=None,
        outcome="interrupted" if deadline.interrupted else "complete",
        rows=(),
        best=(),
        certificate=certificate,
        local_optimum=verify(local, deadline) if os.path.exists(local) else None,
    )
