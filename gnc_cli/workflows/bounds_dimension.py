"""The dimensions that a margin needs: from which d each bound speaks, and what follows together."""

import math
from collections.abc import Callable, Sequence

from gnc_cli.limits.limit import LARGEST_D, Ending, loosened
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.results import DimensionAnswer, DimensionBest, DimensionRow
from gnc_cli.workflows.bounds_request import Request
from gnc_cli.workflows.bounds_rows import Statement, command

__all__ = ["dimension_answer"]


def dimension_answer(
    request: Request, uses: Sequence[Statement], deadline: Deadline, tell: Callable[[], None]
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
        of_K = [_row(K, use, request) for use in uses]
        rows += of_K
        best.append(_best(K, of_K))
        tell()
    whole = len(best) == len(request.K)
    enough = [b.sufficient for b in best if b.sufficient is not None]
    needed = [b.necessary for b in best if b.necessary is not None]
    guesses = [b.conjectured for b in best if b.conjectured is not None]
    return DimensionAnswer(
        rows=tuple(rows),
        best=tuple(best),
        sufficient=max(enough) if whole and len(enough) == len(best) else None,
        necessary=max(needed) if whole and len(needed) == len(best) else None,
        conjectured=max(guesses) if whole and guesses and max(guesses) > max(needed) else None,
        scale=request.scale(math.log(max(request.K) - 1), request.margin),
    )


def _row(K: int, use: Statement, request: Request) -> DimensionRow:
    assert request.target is not None
    limit = use.limit
    reach = limit.dimension(K, use.target(loosened(request.target)))
    d = LARGEST_D + 1 if reach.ending is Ending.BEYOND and not limit.exists else reach.d
    found = None if d is None or not 2 <= d <= LARGEST_D else limit.at(d, K)
    return DimensionRow(
        K=K, name=use.name, side=use.side, d=d, ending=reach.ending.value, proven=use.proven,
        exists=limit.exists, constructive=limit.constructive, source=use.source(found),
        how=None if found is None or d is None else command(d, K, found.how),
    )  # fmt: skip


def _best(K: int, rows: Sequence[DimensionRow]) -> DimensionBest:
    enough = [row.d for row in rows if row.exists and row.d is not None]
    excluding = [row for row in rows if not row.exists and row.proven]
    needed = [row.d for row in excluding if row.d is not None]
    if len(needed) < len(excluding):
        return DimensionBest(K, None, None)
    necessary = max(needed, default=2)
    guess = max((row.d for row in rows if not row.proven and row.d is not None), default=2)
    return DimensionBest(
        K=K, sufficient=min(enough, default=None), necessary=necessary,
        conjectured=guess if guess > necessary else None,
    )  # fmt: skip
