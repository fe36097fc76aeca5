"""`solve`: find a code, certify it, write it. The function behind `gnc solve`."""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gnc_cli.codes.certify import certify_code
from gnc_cli.codes.closed_forms import closed_form
from gnc_cli.errors import UsageError
from gnc_cli.numerics.backend import resolve_device
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.results import Outcome, SolveResult, SolveSweep
from gnc_cli.workflows.outputs import check_apart
from gnc_cli.workflows.solve_construction import (
    Choice,
    better,
    check_streamed,
    choose,
    constructed_run,
    named_construction,
    with_start,
)
from gnc_cli.workflows.solve_files import prepare, read_state, write_solution
from gnc_cli.workflows.solve_request import Request, read_request
from gnc_cli.workflows.solve_runs import TOLERANCE, assemble, large_run, paper_run, search_run
from gnc_cli.workflows.solve_verdict import check_target

__all__ = ["solve"]

Progress = Callable[[str, int, int, float], None]


def solve(
    d: int | None = None,
    K: int | None = None,
    *,
    problem: str = "softmax",
    method: str = "auto",
    construction: str | None = None,
    seed: int = 0,
    restarts: int | None = None,
    steps: int | None = None,
    init: Any = None,
    fixed: Any = None,
    symmetry: str | None = None,
    target: float | None = None,
    time_limit: float | None = None,
    tau: float | list[float] | None = None,
    weight_decay: float | None = None,
    n: int = 1,
    device: str = "auto",
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    resume: bool = False,
    plot: str | os.PathLike[str] | None = None,
    interrupt: threading.Event | None = None,
    progress: Progress | None = None,
    command_line: str | None = None,
) -> SolveResult | SolveSweep:
    """Find K unit vectors in R^d that are as far apart as possible.

    Args:
        d: dimension, at least 2; a named construction brings its own.
        K: number of points, at least 2; likewise.
        problem: `softmax` maximises the smallest distance of a point from the hull of the others,
            `tammes` minimises the largest cosine. Every code that is best for `tammes` is best for
            `softmax`, so that both run one search and differ in what counts where several codes
            are at hand. `ufm` minimises the cross-entropy of the unconstrained feature model.
        method: `auto` takes closed forms where theorem 3.3 has them and asks the constructions
            before it searches; `descent` does neither; `paper` is the paper's plain recipe.
        construction: build this one, or its first K rows; no search.
        seed: decides every random choice; the same seed gives the same code.
        restarts: descents in all; by default adapted to d and K.
        steps: gradient steps of a descent.
        init: a start (K, d), array or file; `-` reads HDF5 from stdin.
        fixed: rows (F, d) that stay, array or file; they come first in the code, and K counts them.
        symmetry: `antipodal` or `cyclic:n`.
        target: stop at this rho (softmax) or cosine (tammes).
        time_limit: seconds; a normal end.
        tau, weight_decay, n: of the unconstrained feature model; a list of taus gives a sweep.
        device: `auto`, `cpu`, `cuda`, `cuda:1`.
        threads: by default chosen from the size of the problem.
        out: file for the code; its suffix chooses the format; `-` is HDF5 on stdout.
        force: overwrite files.
        resume: go on from the state in `out`.
        plot: PNG, SVG or PDF.
        interrupt: set it to stop early with the best so far.
        progress: told `(stage, done, total, best)`.
        command_line: for the provenance in the file.

    Returns:
        The code with its certificate; a sweep where `tau` is a list of several.

    Raises:
        UsageError, DataError, OutputError, UnavailableError: see `gnc_cli.errors`.

    Example:
        >>> result = solve(3, 6)
        >>> result.origin, result.rho_one_vs_rest.lower > 1 - 1e-12
        ('closed form: orthoplex', True)
    """
    started = time.monotonic()
    if time_limit is not None and not time_limit > 0.0:
        raise UsageError(f"--time-limit {time_limit:g} must be positive")
    check_apart({"--out": out, "--plot": plot}, {"--init": init, "--fixed": fixed})
    deadline = Deadline(time_limit, interrupt)
    if device not in ("auto", "cpu"):
        resolve_device(device)  # missing hardware is said at once, needed or not
    named = None
    if construction is not None:
        named = named_construction(
            construction, d, K,
            {"--init": init is not None, "--fixed": fixed is not None, "--symmetry": symmetry,
             "--method": method != "auto", "--problem ufm": problem == "ufm", "--resume": resume,
             "--restarts": restarts is not None, "--steps": steps is not None,
             "--time-limit": time_limit is not None},
        )  # fmt: skip
        d, K = named.d, named.K
    request = read_request(
        d, K, problem=problem, method=method, seed=seed, restarts=restarts, steps=steps,
        init=init, fixed=fixed, symmetry=symmetry, target=target, tau=tau,
        weight_decay=weight_decay, n=n,
    )  # fmt: skip
    if request.target is not None:
        check_target(request.problem, request.d, request.K, request.target)
    prepare(out, plot, force=force, resume=resume)
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
    if resume and exact is None and not (choice is not None and choice.alone):
        state, request = read_state(out, request)

    def finish(result: SolveResult | SolveSweep, state: dict[str, Any] | None = None) -> Any:
        options = {"method": method, "seed": seed, "command": command_line}
        return write_solution(
            result, state, request, options, out, plot, force=force or resume
        )

    if request.problem == "ufm":
        from gnc_cli.workflows.solve_ufm import run_ufm

        return finish(run_ufm(request, deadline, device, threads, progress, started))
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
