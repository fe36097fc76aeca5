"""`solve`: find a code, certify it, write it. The function behind `gnc solve`."""

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gnc_cli import __version__
from gnc_cli.codes.certify import Certified, certify_code
from gnc_cli.codes.closed_forms import closed_form
from gnc_cli.errors import UsageError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.results import Margins, Outcome, SolveResult, SolveSweep
from gnc_cli.workflows.solve_files import prepare, read_state, write_solution
from gnc_cli.workflows.solve_request import Request, read_request

__all__ = ["solve"]

Progress = Callable[[str, int, int, float], None]

_TOLERANCE = 1e-7
"""Default of rattlers and contacts, on distances, where the polish reached far below it."""
_TOLERANCE_ROUGH = 1e-4
"""Where nothing was polished."""
_ROUNDING = 1e-12
"""A target within this of a certified value is met: 0.2 by 0.20000000000000018."""
_LARGE_RESERVE = 4.0
"""Seconds kept for writing a large code."""


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
    if resume:
        states, request = read_state(out, request)

    def finish(result: SolveResult | SolveSweep, plain_states: dict[str, Any]) -> Any:
        options = {"method": method, "seed": seed, "command": command_line}
        return write_solution(
            result, plain_states, request, options, out, plot, force=force or resume
        )

    if request.problem == "ufm":
        from gnc_cli.workflows.solve_ufm import run_ufm

        return finish(run_ufm(request, deadline, device, threads, progress, started), {})
    exact = closed_form(request.d, request.K) if request.may_use_closed_form else None
    if exact is not None:
        certified = certify_code(
            exact.weights, tolerance=_TOLERANCE, deadline=deadline, every_class=request.K <= 200
        )
        result = _result(
            request, exact.weights, certified, started, outcome=Outcome.CLOSED_FORM,
            origin=f"closed form: {exact.name}", stationarity=0.0, gain=0.0,
        )  # fmt: skip
        return finish(_judged(result, request), {})
    if request.method == "paper":
        result = _paper(request, deadline, progress, started)
        return finish(_judged(result, request), {})
    if request.large:
        result = _large(request, deadline, device, threads, progress, started)
        return finish(_judged(result, request), {})
    result, plain_states = _search(request, deadline, device, threads, progress, started, states)
    return finish(_judged(result, request), plain_states)


def _search(
    request: Request,
    deadline: Deadline,
    device: str,
    threads: int | None,
    progress: Progress | None,
    started: float,
    states: dict[str, Any],
) -> tuple[SolveResult, dict[str, Any]]:
    import torch

    from gnc_cli.codes.resume import to_plain
    from gnc_cli.codes.solver import Plan, solve_code
    from gnc_cli.numerics.backend import resolve_device
    from gnc_cli.numerics.threads import limit_threads, threads_for

    del torch  # loaded before `limit_threads`, which then holds its threads as well
    plan = Plan(
        request.problem, request.d, request.K, request.seed, request.restarts, request.steps,
        _less_rounding(request), request.init, request.fixed, request.symmetry, request.cross_start,
        str(resolve_device(device)),
    )  # fmt: skip
    with limit_threads(threads_for(request.K**2 * request.d, threads)):
        found = solve_code(plan, deadline, progress, states)
        order = found.order
        polished = order is not None and (order.stationarity <= 1e-9 or order.gain <= 1e-9)
        certified = certify_code(
            found.weights, tolerance=_TOLERANCE if polished else _TOLERANCE_ROUGH
        )
    if deadline.interrupted:
        outcome = Outcome.INTERRUPTED
    elif not found.finished:
        outcome = Outcome.TIME_LIMIT
    elif polished:
        outcome = Outcome.CONVERGED
    elif order is None or np.isnan(order.gain):
        outcome = Outcome.MAX_STEPS_REACHED
    else:
        outcome = Outcome.STALLED
    result = _result(
        request, found.weights, certified, started, outcome=outcome, origin="descent",
        stationarity=None if order is None else order.stationarity,
        gain=None if order is None else order.gain,
        restarts=found.restarts, steps=found.steps, history=found.history,
    )  # fmt: skip
    return result, to_plain(found.states)


def _paper(
    request: Request, deadline: Deadline, progress: Progress | None, started: float
) -> SolveResult:
    from gnc_cli.codes.paper_recipe import PAPER_STEPS, paper_recipe
    from gnc_cli.numerics.threads import limit_threads, threads_for

    tell = None
    if progress is not None:
        shown = progress
        tell = lambda done, total, value: shown("paper recipe: margin", done, total, value)  # noqa: E731
    steps = request.steps or PAPER_STEPS
    with limit_threads(threads_for(2.0 * request.K**2 * request.d)):
        weights, _, made = paper_recipe(
            request.d, request.K, seed=request.seed, steps=steps, deadline=deadline, progress=tell
        )
        certified = certify_code(weights, tolerance=_TOLERANCE_ROUGH)
    stopped = Outcome.INTERRUPTED if deadline.interrupted else Outcome.TIME_LIMIT
    return _result(
        request, weights, certified, started, origin="paper recipe", restarts=1, steps=made,
        outcome=stopped if made < steps else Outcome.MAX_STEPS_REACHED,
    )  # fmt: skip


def _large(
    request: Request,
    deadline: Deadline,
    device: str,
    threads: int | None,
    progress: Progress | None,
    started: float,
) -> SolveResult:
    from gnc_cli.codes.large_scale import solve_large
    from gnc_cli.numerics.backend import resolve_device

    tell = None
    if progress is not None:
        shown = progress
        tell = lambda share, value: shown("large scale: max_cosine", int(100 * share), 100, value)  # noqa: E731
    found = solve_large(
        request.d, request.K, seed=request.seed, init=request.init, steps=request.steps,
        deadline=deadline.reserving(_LARGE_RESERVE), device=str(resolve_device(device)),
        threads=threads, progress=tell, fixed=request.fixed,
    )  # fmt: skip
    certified = certify_code(
        found.weights, tolerance=_TOLERANCE_ROUGH, row_max=found.row_maxima, every_class=False,
        deadline=deadline.reserving(_LARGE_RESERVE),
    )  # fmt: skip
    return _result(
        request, found.weights, certified, started, outcome=found.outcome,
        origin="large-scale descent", restarts=1, steps=found.steps, history=found.history,
    )  # fmt: skip


def _result(
    request: Request,
    weights: np.ndarray,
    certified: Certified,
    started: float,
    *,
    outcome: Outcome,
    origin: str,
    stationarity: float | None = None,
    gain: float | None = None,
    restarts: int = 0,
    steps: int = 0,
    history: np.ndarray | None = None,
) -> SolveResult:
    """Put the record together."""
    pairs = certified.contact_pairs
    extras = {
        "history": history,
        "one_vs_rest_lower": certified.one_vs_rest_lower,
        "one_vs_rest_upper": certified.one_vs_rest_upper,
        "contact_pairs": pairs,
        "rattlers_one_vs_one": certified.rattles_one_vs_one,
        "rattlers_one_vs_rest": certified.rattles_one_vs_rest,
    }
    return SolveResult(
        seconds=time.monotonic() - started,
        version=__version__,
        problem=request.problem,
        d=request.d,
        K=request.K,
        origin=origin,
        outcome=outcome,
        max_cosine=certified.max_cosine,
        min_angle_deg=float(np.degrees(certified.min_angle)),
        rho_one_vs_one=certified.rho_one_vs_one,
        rho_one_vs_rest=certified.rho_one_vs_rest,
        rattlers=certified.rattlers,
        contacts=None if pairs is None else len(pairs),
        stationarity=stationarity,
        first_order_gain=gain,
        margins=Margins(certified.rho_one_vs_rest.lower, certified.min_angle),
        best_known=None,
        seed=request.seed,
        restarts=restarts,
        steps=steps,
        out=None,
        weights=weights,
        features=certified.features,
        extras={k: v for k, v in extras.items() if v is not None},
    )


def _judged(result: SolveResult, request: Request) -> SolveResult:
    """The outcome in the light of the user's target, by what is certified."""
    from dataclasses import replace

    target = _less_rounding(request)
    if target is None or result.outcome is Outcome.INTERRUPTED:
        return result
    if request.problem == "softmax":
        reached = result.rho_one_vs_rest.lower >= target
    else:
        reached = result.max_cosine <= target
    return replace(
        result, outcome=Outcome.TARGET_REACHED if reached else Outcome.TARGET_MISSED
    )


def _less_rounding(request: Request) -> float | None:
    """The target, easier by what rounding may take away."""
    if request.target is None:
        return None
    return request.target + (-_ROUNDING if request.problem == "softmax" else _ROUNDING)
