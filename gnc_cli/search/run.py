"""One call of `solve`: which way to a code is taken, its certificate, its verdict, its files."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from gnc_cli.codes.certify import certify_code
from gnc_cli.constructions.families.theorem_3_3 import closed_form
from gnc_cli.errors import UsageError
from gnc_cli.parameters import Path, spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.devices import resolve_device
from gnc_cli.search.construction import (
    Choice,
    better,
    check_streamed,
    choose,
    constructed_run,
    named_construction,
    with_start,
)
from gnc_cli.search.files import check_same_code, read_state, write_solution
from gnc_cli.search.methods import (
    TOLERANCE,
    assemble,
    large_run,
    paper_run,
    search_run,
    ufm_run,
)
from gnc_cli.search.request import Request, read_request
from gnc_cli.search.result import Outcome, SolveResult, SolveSweep
from gnc_cli.search.verdict import check_target


def run(
    d: int | None,
    K: int | None,
    *,
    problem: str,
    method: str,
    construction: str | None,
    seed: int,
    restarts: int | None,
    steps: int | None,
    init: Any,
    fixed: Any,
    symmetry: str | None,
    target: float | None,
    time_limit: float | None,
    tau: tuple[float, ...] | None,
    weight_decay: float | None,
    n: int,
    device: str,
    threads: int | None,
    out: Path | None,
    force: bool,
    resume: bool,
    plot: Path | None,
    interrupt: threading.Event | None,
    progress: Callable[[str, int, int, float], None] | None,
    command_line: str | None,
) -> SolveResult | SolveSweep:
    """Solve with checked arguments; see `api.solve`."""
    if resume and (out is None or PurePath(out).suffix.lower() != ".h5"):
        raise UsageError(
            f"{spelled('resume')} goes on from the state in a file; add {spelled('out', 'code.h5')}"
        )
    started = time.monotonic()
    deadline = Deadline(time_limit, interrupt)
    if device not in ("auto", "cpu"):
        resolve_device(device)  # missing hardware is said at once, needed or not
    named = None
    if construction is not None:
        named = named_construction(
            construction, d, K,
            {"init": init is not None, "fixed": fixed is not None, "symmetry": symmetry,
             "method": method != "auto", "problem": problem == "ufm", "resume": resume,
             "restarts": restarts is not None, "steps": steps is not None,
             "time_limit": time_limit is not None},
        )  # fmt: skip
        d, K = named.d, named.K
    request = read_request(
        d, K, problem=problem, method=method, seed=seed, restarts=restarts, steps=steps,
        init=init, fixed=fixed, symmetry=symmetry, target=target, taus=tau or (),
        weight_decay=weight_decay, n=n,
    )  # fmt: skip
    if request.target is not None:
        check_target(request.problem, request.d, request.K, request.target)
    state: Any = None
    may_be_exact = request.may_use_closed_form and named is None
    exact = closed_form(request.d, request.K) if may_be_exact else None
    choice = None
    if named is not None:
        choice = Choice(named, alone=True)
    elif exact is None:
        choice = choose(request, limited=time_limit is not None or target is not None)
    if choice is not None and choice.streamed:
        check_streamed(choice, out, plot)
    if resume and (exact is not None or (choice is not None and choice.alone)):
        check_same_code(out, request)  # nothing to go on with, but the file must be ours
    elif resume:
        state, request = read_state(out, request)

    def finish(result: SolveResult | SolveSweep, state: dict[str, Any] | None = None) -> Any:
        options = {"method": method, "seed": seed, "command": command_line}
        return write_solution(
            result, state, request, options, out, plot, force=force or resume
        )

    if request.problem == "ufm":
        return finish(ufm_run(request, deadline, device, threads, progress, started))
    if exact is not None:
        certified = certify_code(
            exact.weights, tolerance=TOLERANCE, deadline=deadline, every_class=request.K <= 200
        )
        result = assemble(
            request, exact.weights, certified, started, outcome=Outcome.CLOSED_FORM,
            origin=f"closed form: {exact.name}", stationarity=0.0, gain=0.0,
        )  # fmt: skip
        return finish(_judged(result, request))
    if request.method == "paper":
        result = paper_run(request, deadline, threads, progress, started)
        return finish(_judged(result, request))
    constructed = None
    if choice is not None:
        constructed = constructed_run(request, choice, threads, started)
        judged = _judged(constructed, request)
        if choice.alone or judged.outcome is Outcome.TARGET_REACHED:
            return finish(judged)
        request = with_start(request, choice, constructed)
    new_state = None
    if request.large:
        result = large_run(request, deadline, device, threads, progress, started)
    else:
        result, new_state = search_run(
            request, deadline, device, threads, progress, started, state
        )
    if constructed is not None:
        result = better(constructed, result)
    return finish(_judged(result, request), new_state)


def _judged(result: SolveResult, request: Request) -> SolveResult:
    """The outcome in the light of the user's target, by what is certified."""
    target = request.reachable_target
    if target is None or result.outcome is Outcome.INTERRUPTED:
        return result
    if request.problem == "softmax":
        reached = result.rho_one_vs_rest.lower >= target
    else:
        reached = result.max_cosine <= target
    return replace(
        result, outcome=Outcome.TARGET_REACHED if reached else Outcome.TARGET_MISSED
    )
