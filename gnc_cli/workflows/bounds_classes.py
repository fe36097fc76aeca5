"""How many points a margin leaves room for: up to which K each bound speaks, and what follows."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from gnc_cli.limits.limit import Count, loosened
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.softmax_scale import softmax_scale
from gnc_cli.results import ClassesAnswer, ClassesBest, ClassesRow
from gnc_cli.workflows.bounds_request import Request
from gnc_cli.workflows.bounds_rows import Statement

__all__ = ["classes_answer"]

_FEW = 10**6


def classes_answer(
    request: Request, uses: Sequence[Statement], deadline: Deadline, tell: Callable[[int], None]
) -> ClassesAnswer:
    """For every d of the request: a row a bound, and the interval of numbers of points.

    Rows may be dropped from a code, so one bound that guarantees K guarantees all smaller ones.

    Args:
        deadline: an interruption leaves out the d that follow.
        tell: told each d when it is done.
    """
    rows: list[ClassesRow] = []
    best: list[ClassesBest] = []
    for d in request.d:
        if deadline.interrupted:
            break
        of_d = [_row(d, use, request) for use in uses]
        rows += of_d
        best.append(_best(d, of_d))
        tell(d)
    sure = [b for b in best if b.log10_guaranteed is not None]
    out = [b for b in best if b.log10_excluded is not None]
    least = min(sure, key=_guaranteed) if sure and len(sure) == len(best) else None
    first = min(out, key=_excluded, default=None)
    guesses = [b for b in best if b.log10_conjectured is not None]
    guess = min(guesses, key=_conjectured, default=None)
    if guess and first and _conjectured(guess) >= _excluded(first):
        guess = None
    return ClassesAnswer(
        rows=tuple(rows),
        best=tuple(best),
        guaranteed=None if least is None else least.guaranteed,
        log10_guaranteed=None if least is None else least.log10_guaranteed,
        excluded=None if first is None else first.excluded,
        log10_excluded=None if first is None else first.log10_excluded,
        conjectured=None if guess is None else guess.conjectured,
        log10_conjectured=None if guess is None else guess.log10_conjectured,
        scale=_scale(least, request),
    )


def _row(d: int, use: Statement, request: Request) -> ClassesRow:
    assert request.target is not None
    limit = use.limit
    count = _points(d, use, request.target)
    if count is not None and not limit.exists:
        count = _next(count)
    return ClassesRow(
        d=d, name=use.name, side=use.side, K=None if count is None else count.exact,
        log10_K=None if count is None else count.log10, proven=use.proven, exists=limit.exists,
        constructive=limit.constructive, source=use.source(count),
        how=None if count is None else count.how,
    )  # fmt: skip


def _points(d: int, use: Statement, wanted: Fraction) -> Count | None:
    """The largest K that reaches the target.

    A value that is printed in full and given back counts as reached, which the loosened target
    sees to. Above a million points neighbouring K are nearer to each other than that.
    """
    count = use.limit.points(d, use.target(loosened(wanted)))
    if count is not None and (count.exact is None or count.exact > _FEW):
        count = use.limit.points(d, use.target(wanted))
    return count


def _next(count: Count) -> Count:
    """The smallest number that is excluded, from the largest that is not."""
    if count.exact is None:
        return count
    return Count(math.log10(count.exact + 1), count.exact + 1, count.source, count.how)


def _best(d: int, rows: Sequence[ClassesRow]) -> ClassesBest:
    sure = [row for row in rows if row.exists and row.log10_K is not None]
    out = [row for row in rows if not row.exists and row.proven and row.log10_K is not None]
    most = max(sure, key=_size, default=None)
    first = min(out, key=_size, default=None)
    guesses = [row for row in rows if not row.proven and row.log10_K is not None]
    guess = min(guesses, key=_size, default=None)
    if guess and first and _size(guess) >= _size(first):
        guess = None
    return ClassesBest(
        d=d,
        guaranteed=None if most is None else most.K,
        log10_guaranteed=None if most is None else most.log10_K,
        excluded=None if first is None else first.K,
        log10_excluded=None if first is None else first.log10_K,
        conjectured=None if guess is None else guess.K,
        log10_conjectured=None if guess is None else guess.log10_K,
    )


def _size(row: ClassesRow) -> tuple[float, int]:
    """By the exact number where both have one: equal logarithms may hide a difference."""
    return _order(row.log10_K, row.K)


def _guaranteed(best: ClassesBest) -> tuple[float, int]:
    return _order(best.log10_guaranteed, best.guaranteed)


def _excluded(best: ClassesBest) -> tuple[float, int]:
    return _order(best.log10_excluded, best.excluded)


def _conjectured(best: ClassesBest) -> tuple[float, int]:
    return _order(best.log10_conjectured, best.conjectured)


def _order(log10: float | None, exact: int | None) -> tuple[float, int]:
    assert log10 is not None
    return round(log10, 12), exact or 0


def _scale(least: ClassesBest | None, request: Request) -> float | None:
    """For as many points as are guaranteed."""
    if least is None or request.probability is None or not request.margin:
        return None
    assert least.log10_guaranteed is not None
    if least.guaranteed is not None:
        log_others = math.log(least.guaranteed - 1)
    else:
        log_others = least.log10_guaranteed * math.log(10.0)
    return softmax_scale(log_others, request.probability, request.margin)
