"""One call of `solve`: the way to a code is chosen, checked and taken, and the result written.

What only some ways need is imported where they are taken: a theorem loads no search, and nothing
that reads or writes files is loaded where there are none.
"""

from dataclasses import replace

import numpy as np

from gnc_cli.constructions.families.theorem_3_3 import closed_form
from gnc_cli.constructions.registry import named_construction
from gnc_cli.errors import UsageError
from gnc_cli.known_codes.best import SAME, constructed
from gnc_cli.known_codes.stored import best_stored, stored_entry
from gnc_cli.limits.registry import possible_table
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.threads import resolve_device
from gnc_cli.search.request import STORED, Request
from gnc_cli.search.result import ConstructionList, Outcome, SolveResult, SolveSweep
from gnc_cli.search.routes.construction import (
    Algebra,
    SearchBeside,
    StoredCode,
    Theorem,
    list_constructions,
    streamed,
    worth_a_search,
)
from gnc_cli.search.routes.route import Route
from gnc_cli.search.verdict import check_target


def run(request: Request) -> SolveResult | SolveSweep | ConstructionList:
    """Answer a request; see `api.solve`."""
    if request.list_constructions:
        return list_constructions()
    deadline = Deadline.of_call(request.time_limit, request.interrupt)
    if request.device not in ("auto", "cpu"):
        resolve_device(request.device)  # missing hardware is reported whether needed or not
    possible_table(request.table)  # a wrong line is reported whether needed or not
    check_target(request)
    start, tasks, file = None, 0, None
    if request.out is not None:
        from gnc_cli.search.files import OutFile

        file = OutFile(request)
        start, tasks = file.read_start()
    route = choose_route(request, start, tasks)
    route.check()
    result = route.solve(deadline, None if file is None else file.save)
    if (
        request.target is not None
        and isinstance(result, SolveResult)
        and result.outcome is not Outcome.INTERRUPTED
    ):
        reached = result.distance >= request.target_distance
        outcome = Outcome.TARGET_REACHED if reached else Outcome.TARGET_MISSED
        result = replace(result, outcome=outcome, ending=result.outcome)
    if file is not None:
        result = file.write(result)
    if request.plot is not None:
        from gnc_cli.search.plot import plot_solve

        plot_solve(result, request.plot)
    return result


def choose_route(request: Request, start: np.ndarray | None = None, tasks: int = 0) -> Route:
    """The way to the code: a construction or stored code that is named, theorem 3.3, the feature
    model, the best code that gnc has where no search is likely to do better, a search beside it, or
    a search alone.

    Args:
        start: the code of an earlier call, and the number of tasks of a search that it did.
    """
    start = request.init if start is None else start
    d, K = request.d, request.K
    if request.construction == STORED:
        stored = stored_entry(d, K)
        if stored is None:
            raise UsageError(
                f"no coordinates of exactly d = {d:,}, K = {K:,} are stored; drop "
                f"{spelled('construction', STORED)} to build or find a code"
            )
        return StoredCode(request, stored)
    if request.problem == "ufm":
        from gnc_cli.search.routes.ufm import FeatureModel

        return FeatureModel(request, start)
    if request.construction is not None:
        return Algebra(request, named_construction(request.construction, request.d, request.K))
    if request.method != "auto" or request.init is not None or request.restriction is not None:
        return _search(request, start, tasks)  # only a descent gives that
    form = closed_form(d, K)
    if form is not None:
        return Theorem(request, form)
    search = _search(request, start, tasks)
    built, stored = constructed(d, K), best_stored(d, K)
    # A code of an earlier call may be better than the known one.
    if stored is not None and (built is None or stored.max_cosine < built.cosine.value - SAME):
        known = StoredCode(request, stored)
        return known if stored.proven and start is None else SearchBeside(request, known, search)
    if built is None:
        return search
    algebra = Algebra(request, built)
    if worth_a_search(request, built) or (start is not None and not streamed(built)):
        return SearchBeside(request, algebra, search)
    return algebra


def _search(request: Request, start: np.ndarray | None, tasks: int) -> Route:
    from gnc_cli.search.routes.search import LargeSearch, Search

    return LargeSearch(request, start) if request.large else Search(request, start, tasks=tasks)
