"""One call of `solve`: which way to a code is taken, what became of the target, its files."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from gnc_cli.constructions.families.theorem_3_3 import closed_form
from gnc_cli.errors import UsageError
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.devices import resolve_device
from gnc_cli.search.algebra import (
    Choice,
    better,
    check_streamed,
    choose,
    constructed_run,
    named_construction,
    with_start,
)
from gnc_cli.search.files import check_same_code, read_state, write_solution
from gnc_cli.search.methods import closed_form_run, large_run, paper_run, search_run, ufm_run
from gnc_cli.search.request import Request, RuntimeOptions, read_request
from gnc_cli.search.result import Outcome, SolveResult, SolveSweep
from gnc_cli.search.verdict import check_target


def run(asked: Mapping[str, Any]) -> SolveResult | SolveSweep:
    """Solve with checked arguments, by name; see `api.solve`."""
    deadline = Deadline(asked["time_limit"], asked["interrupt"])
    runtime = RuntimeOptions(deadline, asked["device"], asked["threads"], asked["progress"])
    out, resume = asked["out"], asked["resume"]
    if resume and (out is None or PurePath(out).suffix.lower() not in (".h5", ".hdf5")):
        raise UsageError(
            f"{spelled('resume')} goes on from the state in a file; add {spelled('out', 'code.h5')}"
        )
    if runtime.device not in ("auto", "cpu"):
        resolve_device(runtime.device)  # missing hardware is said at once, needed or not
    named = None if asked["construction"] is None else named_construction(asked)
    request = read_request(asked if named is None else {**asked, "d": named.d, "K": named.K})
    if request.target is not None:
        check_target(request.problem, request.d, request.K, request.target)
    exact = choice = None
    if named is not None:
        choice = Choice(named, alone=True)
    elif request.may_use_closed_form:
        exact = closed_form(request.d, request.K)
        limited = asked["time_limit"] is not None or request.target is not None
        choice = choose(request, limited=limited) if exact is None else None
    if choice is not None and choice.streamed:
        check_streamed(out, asked["plot"])
    state = None
    if resume and (exact is not None or (choice is not None and choice.alone)):
        check_same_code(out, request)  # nothing to go on with, but the file must be ours
    elif resume:
        state, request = read_state(out, request)
    result, new_state = _solved(request, runtime, exact, choice, state)
    return write_solution(_judged(result, request), new_state, request, asked)


def _solved(
    request: Request, runtime: RuntimeOptions, exact: Any, choice: Choice | None, state: Any
) -> tuple[Any, dict[str, Any] | None]:
    """The certified result of one of the ways to a code, and the state of a search."""
    if request.problem == "ufm":
        return ufm_run(request, runtime), None
    if exact is not None:
        return closed_form_run(request, runtime, exact), None
    if request.method == "paper":
        return paper_run(request, runtime), None
    constructed = None
    if choice is not None:
        constructed = constructed_run(request, runtime, choice)
        if choice.alone or _reached(constructed, request):
            return constructed, None
        request = with_start(request, choice, constructed)
    new_state = None
    if request.large:
        found = large_run(request, runtime)
    else:
        found, new_state = search_run(request, runtime, state)
    return (found if constructed is None else better(constructed, found)), new_state


def _reached(result: SolveResult, request: Request) -> bool | None:
    """Whether what is certified meets the user's target; None without one."""
    target = request.reachable_target
    if target is None:
        return None
    if request.problem == "softmax":
        return result.rho_one_vs_rest.lower >= target
    return result.max_cosine <= target


def _judged(result: Any, request: Request) -> Any:
    """The outcome in the light of the user's target."""
    reached = _reached(result, request)
    if reached is None or result.outcome is Outcome.INTERRUPTED:
        return result
    outcome = Outcome.TARGET_REACHED if reached else Outcome.TARGET_MISSED
    return replace(result, outcome=outcome, ending=result.outcome)
