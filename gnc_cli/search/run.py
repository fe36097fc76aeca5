"""One call of `solve`: choose the route to a code, check it and take it, and write the result.

Modules that only some routes need are imported there: a theorem loads no search, and a call without
files loads nothing that reads or writes them.
"""

from dataclasses import replace

import numpy as np

from gnc_cli import __version__
from gnc_cli.constructions.construction import MAX_NUMBERS
from gnc_cli.constructions.families.theorem_3_3 import closed_form
from gnc_cli.constructions.registry import named_construction
from gnc_cli.errors import UsageError
from gnc_cli.known_codes.best import TIE_TOLERANCE, constructed
from gnc_cli.known_codes.stored import best_stored, stored_entry
from gnc_cli.limits.registry import possible_table
from gnc_cli.parameters import check_current_folder, spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.threads import resolve_device
from gnc_cli.search.effort import MAX_DENSE
from gnc_cli.search.instance import Instance, Machine, Plan, fixed_rows, start_rows, target_distance
from gnc_cli.search.request import STORED_CODE, Solve
from gnc_cli.search.result import Outcome, SolveResult, SolveSweep
from gnc_cli.search.routes.construction import (
    Algebra,
    ImprovementSearch,
    StoredCode,
    Theorem,
    worth_a_search,
)
from gnc_cli.search.routes.route import Route
from gnc_cli.search.verdict import check_target


def run(call: Solve) -> SolveResult:
    """Find a code; see `api.solve`."""
    if call.tau is not None and len(call.tau) > 1:
        raise UsageError(
            f"solve() returns one result, and {spelled('tau')} has {len(call.tau)} values; call "
            "solve_sweep()"
        )
    return run_sweep(call).rows[0]


def run_sweep(call: Solve) -> SolveSweep:
    """Find the code of each temperature, else one; see `api.solve_sweep`."""
    deadline = Deadline.begin_call(call.time_limit, call.interrupt)
    if call.device not in ("auto", "cpu"):
        resolve_device(call.device)  # missing hardware is reported whether needed or not
    instance, file = instance_of(call), None
    start = start_rows(call.init, instance.d, instance.K, call.seed)
    if call.target is not None:
        check_target(instance, call.target)
    if call.out is not None:
        from gnc_cli.search.files import OutFile

        provenance = {"method": call.method, "command": call.command_line}
        replaces = call.force or call.resume
        file = OutFile(call.out, instance, call.seed, provenance, force=replaces)
    numbers: dict[str, int] = {}
    if file is not None and call.resume:
        earlier, numbers = file.read_start()
        start = start if earlier is None else earlier
    route = choose_route(call, instance, start, numbers)
    route.check()
    result = route.solve(deadline, None if file is None else file.save)
    if call.target is not None and result.outcome is not Outcome.INTERRUPTED:
        reached = result.distance >= route.plan.target_distance
        outcome = Outcome.TARGET_REACHED if reached else Outcome.TARGET_MISSED
        result = replace(result, outcome=outcome, ending=result.outcome)
    rows = [result]
    for tau in instance.tau[1:]:
        if deadline.expired:
            break
        route = replace(route.start_from(rows[-1]), instance=replace(instance, tau=(tau,)))
        rows.append(route.solve(deadline, None))
    sweep = SolveSweep(
        seconds=deadline.elapsed,
        version=__version__,
        problem=instance.problem,
        d=instance.d,
        K=instance.K,
        rows=tuple(rows),
        out=None,
        single=len(instance.tau) < 2,
    )
    if file is not None:
        sweep = file.write(sweep)
    if call.plot is not None:
        (sweep.rows[0] if sweep.single else sweep).plot(call.plot)
    return sweep


def instance_of(call: Solve) -> Instance:
    """Return the requested code; a named construction gives a missing size."""
    d, K = call.d, call.K
    if call.construction not in (None, STORED_CODE):
        built = named_construction(call.construction, d or 0, K or 0)
        d, K = built.d, built.K
    return Instance(
        d=d,
        K=K,
        problem=call.problem,
        fixed=fixed_rows(call.fixed, d, K),
        symmetry=call.symmetry,
        tau=call.tau or (),
        weight_decay=call.weight_decay,
        n=call.n,
        table=possible_table(call.table),  # a wrong line is reported whether needed or not
    )


def choose_route(
    call: Solve, instance: Instance, start: np.ndarray | None, numbers: dict[str, int]
) -> Route:
    """Choose the route to the code.

    It is a named construction or stored code, theorem 3.3, the feature model, the best code that
    gnc has where no search is likely to do better, that code with a search for a better one, or a
    search alone.

    Args:
        call: arguments of `solve`.
        instance: requested code.
        start: the user's start, or the code of an earlier call, shape (K, d).
        numbers: numbers of starts and tasks of the search of the earlier call.

    Raises:
        UsageError: no such construction, or no stored code or lines of this size.
    """
    d, K = instance.d, instance.K
    plan = Plan(
        seed=call.seed,
        earlier=numbers,
        restarts=call.restarts,
        steps=call.steps,
        target_distance=target_distance(instance.problem, call.target),
        progress=call.progress,
    )
    machine = Machine(
        device=call.device, threads=call.threads, workers=call.workers, cluster=call.cluster
    )
    values = instance, plan, machine
    if call.construction == STORED_CODE:
        stored = stored_entry(d, K)
        if stored is None:
            raise UsageError(
                f"no coordinates of exactly d = {d:,}, K = {K:,} are stored; drop "
                f"{spelled('construction', STORED_CODE)} to build or find a code"
            )
        return StoredCode(*values, stored)
    if instance.problem == "ufm":
        from gnc_cli.search.routes.ufm import FeatureModel

        return FeatureModel(*values, start)
    if instance.is_lines:
        return _choose_lines(call, values, start)
    if call.construction is not None:
        return Algebra(
            *values, named_construction(call.construction, d, K), call.out, call.plot is not None
        )
    if call.method != "auto" or call.init is not None or instance.restriction is not None:
        return _search(values, start)  # only a descent handles these
    form = closed_form(d, K)
    if form is not None:
        return Theorem(*values, form)
    search = _search(values, start)
    built, stored = constructed(d, K), best_stored(d, K)
    # A code of an earlier call may be better than the known one.
    if stored is not None and (
        built is None or stored.max_cosine < built.cosine.value - TIE_TOLERANCE
    ):
        stored_code = StoredCode(*values, stored)
        if stored.proven and start is None:
            return stored_code
        return ImprovementSearch(*values, stored_code, search, call.resume)
    if built is None:
        return search
    algebra = Algebra(*values, built, call.out, call.plot is not None)
    invited = call.time_limit is not None or call.target is not None
    if worth_a_search(instance, built, invited=invited) or (
        start is not None and not built.is_streamed
    ):
        return ImprovementSearch(*values, algebra, search, call.resume)
    return algebra


def _choose_lines(
    call: Solve, values: tuple[Instance, Plan, Machine], start: np.ndarray | None
) -> Route:
    """Choose the route to lines: a theorem, an antipodal construction, a search, or both."""
    from gnc_cli.search.routes.lines import known_lines_route

    d, K, search_only = values[0].d, values[0].K, call.method != "auto" or call.init is not None
    known_lines = None if search_only else known_lines_route(*values)
    if known_lines is None and values[0].is_large:
        raise UsageError(
            f"{spelled('problem', 'lines')} requires K up to {MAX_DENSE}, as no construction of "
            f"{K:,} lines in {d:,} dimensions fits into memory; lower {spelled('K')}"
        )
    if known_lines is None:
        return _search(values, start)
    if values[0].is_large or 2 * K * d * d > MAX_NUMBERS:
        return known_lines  # a search has a matrix for each point
    return ImprovementSearch(*values, known_lines, _search(values, start), call.resume)


def _search(values: tuple[Instance, Plan, Machine], start: np.ndarray | None) -> Route:
    check_current_folder()  # torch ends the process where there is none
    if values[0].is_large:
        from gnc_cli.search.routes.search import LargeSearch

        return LargeSearch(*values, start)
    from gnc_cli.search.routes.search import Search

    return Search(*values, start)
