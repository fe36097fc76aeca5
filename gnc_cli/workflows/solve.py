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
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.results import Outcome, SolveResult, SolveSweep
from gnc_cli.workflows.solve_files import prepare, read_state, write_solution
from gnc_cli.workflows.solve_request import Request, read_request
from gnc_cli.workflows.solve_runs import TOLERANCE, assemble, large_run, paper_run, search_run

__all__ = ["solve"]

Progress = Callable[[str, int, int, float], None]


def solve(
    d: int,
    K: int,
    *,
    problem: str = "softmax",
    method: str = "auto",
    seed: int = 0,
    restarts: int | None = None,
    steps: int | None = None,
    init: Any = None,
    fixed: Any = None,
    symmetry: str | None = None,
    target: float | None = None,
    time_limit: float | None = None,
    cross_start: bool = True,
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
        d: dimension, at least 2.
        K: number of points, at least 2.
        problem: `softmax` maximises the smallest distance of a point from the hull of the others,
            `tammes` minimises the largest cosine, `ufm` minimises the cross-entropy of the
            unconstrained feature model.
        method: `auto` takes closed forms where theorem 3.3 has them; `descent` never does;
            `paper` is the paper's plain recipe.
        seed: decides every random choice; the same seed gives the same code.
        restarts: descents in all; by default adapted to d and K.
        steps: gradient steps of a descent.
        init: a start (K, d), array or file; `-` reads HDF5 from stdin.
        fixed: rows (F, d) that stay, array or file; they come first in the code, and K counts them.
        symmetry: `antipodal` or `cyclic:n`.
        target: stop at this rho (softmax) or cosine (tammes).
        time_limit: seconds; a normal end.
        cross_start: let the Softmax search start from Tammes codes.
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
    deadline = Deadline(time_limit, interrupt)
    request = read_request(
        d, K, problem=problem, method=method, seed=seed, restarts=restarts, steps=steps,
        init=init, fixed=fixed, symmetry=symmetry, target=target, cross_start=cross_start,
        tau=tau, weight_decay=weight_decay, n=n,
    )  # fmt: skip
    prepare(out, plot, force=force, resume=resume)
    states: dict[str, Any] = {}
    exact = closed_form(request.d, request.K) if request.may_use_closed_form else None
    if resume and exact is None:
        states, request = read_state(out, request)

    def finish(result: SolveResult | SolveSweep, plain_states: dict[str, Any]) -> Any:
        options = {"method": method, "seed": seed, "command": command_line}
        return write_solution(
            result, plain_states, request, options, out, plot, force=force or resume
        )

    if request.problem == "ufm":
        from gnc_cli.workflows.solve_ufm import run_ufm

        return finish(run_ufm(request, deadline, device, threads, progress, started), {})
    if exact is not None:
        certified = certify_code(
            exact.weights, tolerance=TOLERANCE, deadline=deadline, every_class=request.K <= 200
        )
        result = assemble(
            request, exact.weights, certified, started, outcome=Outcome.CLOSED_FORM,
            origin=f"closed form: {exact.name}", stationarity=0.0, gain=0.0,
        )  # fmt: skip
        return finish(_judged(result, request), {})
    if request.method == "paper":
        result = paper_run(request, deadline, threads, progress, started)
        return finish(_judged(result, request), {})
    if request.large:
        result = large_run(request, deadline, device, threads, progress, started)
        return finish(_judged(result, request), {})
    result, plain_states = search_run(request, deadline, device, threads, progress, started, states)
    return finish(_judged(result, request), plain_states)


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
