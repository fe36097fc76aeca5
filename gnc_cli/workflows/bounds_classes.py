"""How many points a margin leaves room for: up to which K each bound speaks, and what follows."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gnc_cli.limits.limit import Count, Limit, loosened
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.results import ClassesAnswer, ClassesBest, ClassesRow
from gnc_cli.workflows.bounds_request import Request
from gnc_cli.workflows.bounds_rows import cited, command, side_of

__all__ = ["classes_answer"]

_FEW = 10**6


def classes_answer(
    request: Request, limits: Sequence[Limit], deadline: Deadline, tell: Callable[[], None]
) -> ClassesAnswer:
    """For every d of the request: a row a bound, and the interval of numbers of points.

    Rows may be dropped from a code, so one bound that guarantees K guarantees all smaller ones.

    Args:
        deadline: an interruption leaves out the d that follow.
        tell: called when a d is done.
    """
    rows: list[ClassesRow] = []
    best: list[ClassesBest] = []
    for d in request.d:
        if deadline.interrupted:
            break
        of_d = [_row(d, limit, request) for limit in limits]
        rows += of_d
        best.append(_best(d, of_d))
        tell()
    # In every d asked; in some d asked.
    sure = [_Number(b.log10_guaranteed, b.guaranteed) for b in best]
    whole = len(best) == len(request.d) and _NONE not in sure
    least = min(sure) if whole else _NONE
    first = _first(_Number(b.log10_excluded, b.excluded) for b in best)
    return ClassesAnswer(
        rows=tuple(rows), best=tuple(best), **_answer(least, first),
        scale=None if least == _NONE else request.scale(_log_others(least), request.margin),
    )  # fmt: skip


@dataclass(frozen=True)
class _Number:
    """A number of points, or none; ordered by size."""

    log10: float | None
    exact: int | None

    def __lt__(self, other: "_Number") -> bool:
        assert self.log10 is not None and other.log10 is not None
        if self.exact is not None and other.exact is not None:
            return self.exact < other.exact
        return self.log10 < other.log10


_NONE = _Number(None, None)


def _first(numbers: Iterable[_Number]) -> _Number:
    return min((number for number in numbers if number != _NONE), default=_NONE)


def _answer(most: _Number, first: _Number) -> dict[str, Any]:
    """The keys of an answer."""
    return {
        "guaranteed": most.exact, "log10_guaranteed": most.log10, "excluded": first.exact,
        "log10_excluded": first.log10,
    }  # fmt: skip


def _row(d: int, limit: Limit, request: Request) -> ClassesRow:
    assert request.target is not None
    count = _points(d, limit, request.target)
    if count is not None and not limit.exists:
        count = _next(count)
    return ClassesRow(
        d=d, name=limit.name, side=side_of(limit, request.quantity),
        K=None if count is None else count.exact, log10_K=None if count is None else count.log10,
        proven=True, exists=limit.exists, constructive=limit.constructive,
        source=cited(limit, request.quantity, count),
        how=None if count is None else command(d, count.exact or 0, count.how),
    )  # fmt: skip


def _points(d: int, limit: Limit, wanted: Fraction) -> Count | None:
    """The largest K that reaches the target.

    A value that is printed in full and given back counts as reached, which the loosened target
    sees to. Above a million points the values of a formula at neighbouring K are nearer to each
    other than that; those of codes are not.
    """
    count = limit.points(d, loosened(wanted))
    if count is not None and not limit.listed and (count.exact or math.inf) > _FEW:
        count = limit.points(d, wanted)
    return count


def _next(count: Count) -> Count:
    """The smallest number that is excluded, from the largest that is not."""
    if count.exact is None:
        return count
    return Count(math.log10(count.exact + 1), count.exact + 1, count.source, count.how)


def _best(d: int, rows: Sequence[ClassesRow]) -> ClassesBest:
    told = [(row, _Number(row.log10_K, row.K)) for row in rows if row.log10_K is not None]
    most = max((number for row, number in told if row.exists), default=_NONE)
    return ClassesBest(d, **_answer(most, _first(n for row, n in told if not row.exists)))


def _log_others(points: _Number) -> float:
    """ln(K - 1)."""
    if points.exact is not None:
        return math.log(points.exact - 1)
    return (points.log10 or 0.0) * math.log(10.0)
