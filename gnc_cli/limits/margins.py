"""What a margin needs: from which d each bound allows it, up to which K, and what follows."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gnc_cli.limits.limit import LARGEST_D, Count, Ending, Limit, loosened
from gnc_cli.limits.pairs import feasible
from gnc_cli.limits.request import Request
from gnc_cli.limits.result import (
    ClassesAnswer,
    ClassesBest,
    ClassesRow,
    DimensionAnswer,
    DimensionBest,
    DimensionRow,
)
from gnc_cli.runtime.deadline import Deadline

_FEW = 10**6


# Which dimension


def dimension_answer(
    request: Request, limits: Sequence[Limit], deadline: Deadline, report: Callable[[], None]
) -> DimensionAnswer:
    """For every K of the request: a row per bound, and the interval of dimensions.

    A code in d dimensions lies in all higher ones, so one bound that says "exists from d on" is
    enough, and one that excludes d excludes all smaller ones.

    Args:
        deadline: an interruption leaves out the K that follow.
        report: called when a K is done.
    """
    rows: list[DimensionRow] = []
    best: list[DimensionBest] = []
    for K in request.K:
        if deadline.interrupted:
            break
        of_K = [_dimension_row(K, limit, request) for limit in limits]
        rows += of_K
        best.append(_dimension_best(K, of_K))
        report()
    whole = len(best) == len(request.K)
    enough = [b.sufficient for b in best if b.sufficient is not None]
    needed = [b.necessary for b in best if b.necessary is not None]
    return DimensionAnswer(
        rows=tuple(rows),
        best=tuple(best),
        sufficient=max(enough) if whole and len(enough) == len(best) else None,
        necessary=max(needed) if whole and len(needed) == len(best) else None,
        scale=request.scale(math.log(max(request.K) - 1), request.margin),
    )


def _dimension_row(K: int, limit: Limit, request: Request) -> DimensionRow:
    assert request.target is not None
    reach = limit.dimension(K, loosened(request.target))
    d = LARGEST_D + 1 if reach.ending is Ending.BEYOND and not limit.exists else reach.d
    found = None if d is None or not 2 <= d <= LARGEST_D else limit.at(d, K)
    return DimensionRow(
        K=K, name=limit.name, side=limit.side(request.quantity), d=d, ending=reach.ending,
        exists=limit.exists, constructive=limit.constructive,
        source=limit.cited(request.quantity, found),
        how=None if found is None or d is None else feasible(d, K, found.how),
    )  # fmt: skip


def _dimension_best(K: int, rows: Sequence[DimensionRow]) -> DimensionBest:
    enough = [row.d for row in rows if row.exists and row.d is not None]
    excluding = [row for row in rows if not row.exists]
    needed = [row.d for row in excluding if row.d is not None]
    if len(needed) < len(excluding):
        return DimensionBest(K, None, None)
    return DimensionBest(K, min(enough, default=None), max(needed, default=2))


# How many points


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

    @property
    def log_others(self) -> float:
        """ln(K - 1)."""
        if self.exact is not None:
            return math.log(self.exact - 1)
        return (self.log10 or 0.0) * math.log(10.0)


_NONE = _Number(None, None)


def classes_answer(
    request: Request, limits: Sequence[Limit], deadline: Deadline, report: Callable[[], None]
) -> ClassesAnswer:
    """For every d of the request: a row per bound, and the interval of numbers of points.

    Rows may be dropped from a code, so one bound that guarantees K guarantees all smaller ones.

    Args:
        deadline: an interruption leaves out the d that follow.
        report: called when a d is done.
    """
    rows: list[ClassesRow] = []
    best: list[ClassesBest] = []
    for d in request.d:
        if deadline.interrupted:
            break
        of_d = [_classes_row(d, limit, request) for limit in limits]
        rows += of_d
        best.append(_classes_best(d, of_d))
        report()
    # Guaranteed in every d asked; excluded in some d asked.
    sure = [_Number(b.log10_guaranteed, b.guaranteed) for b in best]
    whole = len(best) == len(request.d) and _NONE not in sure
    most = min(sure) if whole else _NONE
    first = _smallest(_Number(b.log10_excluded, b.excluded) for b in best)
    return ClassesAnswer(
        rows=tuple(rows), best=tuple(best), **_interval(most, first),
        scale=None if most == _NONE else request.scale(most.log_others, request.margin),
    )  # fmt: skip


def _classes_row(d: int, limit: Limit, request: Request) -> ClassesRow:
    assert request.target is not None
    count = _points(d, limit, request.target)
    if count is not None and count.exact is not None and not limit.exists:
        # The smallest number that is excluded, from the largest that is not.
        first = count.exact + 1
        count = Count(math.log10(first), first, count.source, count.how)
    return ClassesRow(
        d=d, name=limit.name, side=limit.side(request.quantity),
        K=None if count is None else count.exact, log10_K=None if count is None else count.log10,
        exists=limit.exists, constructive=limit.constructive,
        source=limit.cited(request.quantity, count),
        how=None if count is None else feasible(d, count.exact or 0, count.how),
    )  # fmt: skip


def _points(d: int, limit: Limit, target: Fraction) -> Count | None:
    """The largest K that reaches the target.

    A value that is printed in full and given back counts as reached, which the loosened target
    sees to. Above a million points the values of a formula at neighbouring K are nearer to each
    other than that; those of codes are not.
    """
    count = limit.points(d, loosened(target))
    if count is not None and not limit.listed and (count.exact or math.inf) > _FEW:
        count = limit.points(d, target)
    return count


def _classes_best(d: int, rows: Sequence[ClassesRow]) -> ClassesBest:
    found = [(row, _Number(row.log10_K, row.K)) for row in rows if row.log10_K is not None]
    most = max((number for row, number in found if row.exists), default=_NONE)
    first = _smallest(number for row, number in found if not row.exists)
    return ClassesBest(d, **_interval(most, first))


def _smallest(numbers: Iterable[_Number]) -> _Number:
    return min((number for number in numbers if number != _NONE), default=_NONE)


def _interval(most: _Number, first: _Number) -> dict[str, Any]:
    """The fields that `ClassesBest` and `ClassesAnswer` share."""
    return {
        "guaranteed": most.exact, "log10_guaranteed": most.log10, "excluded": first.exact,
        "log10_excluded": first.log10,
    }  # fmt: skip
