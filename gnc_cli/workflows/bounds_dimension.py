"""The dimensions that a margin needs: from which d each bound speaks, and what follows together."""

import math
from collections.abc import Callable, Sequence

from gnc_cli.limits.limit import LARGEST_D, Ending, Limit, loosened
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.results import DimensionAnswer, DimensionBest, DimensionRow
from gnc_cli.workflows.bounds_request import Request
from gnc_cli.workflows.bounds_rows import cited, command, side_of

__all__ = ["dimension_answer"]


def dimension_answer(
    request: Request, limits: Sequence[Limit], deadline: Deadline, tell: Callable[[], None]
) -> DimensionAnswer:
    """For every K of the request: a row a bound, and the interval of dimensions.

    A code in d dimensions lies in all higher ones, so one bound that says "exists from d on" is
    enough, and one that excludes d excludes all smaller ones.

    Args:
        deadline: an interruption leaves out the K that follow.
        tell: called when a K is done.
    """
    rows: list[DimensionRow] = []
    best: list[DimensionBest] = []
    for K in request.K:
        if deadline.interrupted:
            break
        of_K = [_row(K, limit, request) for limit in limits]
        rows += of_K
        best.append(_best(K, of_K))
        tell()
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


def _row(K: int, limit: Limit, request: Request) -> DimensionRow:
    assert request.target is not None
    reach = limit.dimension(K, loosened(request.target))
    d = LARGEST_D + 1 if reach.ending is Ending.BEYOND and not limit.exists else reach.d
    found = None if d is None or not 2 <= d <= LARGEST_D else limit.at(d, K)
    return DimensionRow(
        K=K, name=limit.name, side=side_of(limit, request.quantity), d=d,
        ending=reach.ending.value, proven=True, exists=limit.exists,
        constructive=limit.constructive, source=cited(limit, request.quantity, found),
        how=None if found is None or d is None else command(d, K, found.how),
    )  # fmt: skip


def _best(K: int, rows: Sequence[DimensionRow]) -> DimensionBest:
    enough = [row.d for row in rows if row.exists and row.d is not None]
    excluding = [row for row in rows if not row.exists]
    needed = [row.d for row in excluding if row.d is not None]
    if len(needed) < len(excluding):
        return DimensionBest(K, None, None)
    return DimensionBest(K, min(enough, default=None), max(needed, default=2))
