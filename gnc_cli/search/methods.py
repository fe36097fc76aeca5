"""The ways to a code behind `solve`, each from a checked request to a certified record."""

from dataclasses import fields, replace
from typing import Any

import numpy as np

from gnc_cli import __version__
from gnc_cli.codes.certify import Certified, certify_code
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.second_order import NO, UNDECIDED, YES, SecondOrder
from gnc_cli.geometry.sphere import normalise
from gnc_cli.known_codes.best import best
from gnc_cli.metrics.gnc1 import gnc1
from gnc_cli.metrics.gnc3 import gnc3
from gnc_cli.search.request import Request, RuntimeOptions
from gnc_cli.search.result import Margins, Outcome, SolveResult, SolveSweep, UfmMeasures
from gnc_cli.search.verdict import Judgement, judge, proved_interval, proved_upper_end

TOLERANCE = 1e-7
"""Default of rattlers and contacts, on distances, where the polish reached far below it."""
_TOLERANCE_ROUGH = 1e-4
"""Where nothing was polished."""
_TOLERANCE_UFM = 1e-6
_OF_A_POLISH = ("stationarity", "first_order_gain", "local_minimum")
_QUICK = 500
"""Up to this K the certificate takes a moment and is made whole, whatever the time limit."""
_PROVED_DIGITS = 1e-11
"""What proved figures and the values of a search agree to."""
_LARGE_RESERVE = 4.0
"""Seconds kept for writing a large code, a fifth of the limit at most."""


def closed_form_run(request: Request, runtime: RuntimeOptions, exact: Any) -> SolveResult:
    """The optimum by theorem 3.3, certified."""
    # All classes are alike: one gives the upper end, and the closest pair the lower.
    one = None if request.K <= 200 else one_vs_rest(exact.weights, np.array([0])).upper[0]
    certified = certify_code(
        exact.weights, tolerance=TOLERANCE, deadline=runtime.deadline, upper_end=one
    )
    return assemble(
        request,
        runtime,
        exact.weights,
        certified,
        outcome=Outcome.CLOSED_FORM,
        origin=f"closed form: {exact.name}",
        stationarity=0.0,
        gain=0.0,
    )


def stored_run(
    request: Request, runtime: RuntimeOptions, name: str, rows: np.ndarray
) -> SolveResult:
    """A code that this project ships, certified from its coordinates."""
    weights = normalise(rows)
    with runtime.limited_threads(2.0 * request.K**2 * request.d):
        certified = certify_code(weights, tolerance=TOLERANCE, deadline=runtime.deadline)
    return assemble(
        request,
        runtime,
        weights,
        certified,
        outcome=Outcome.STORED,
        origin=f"stored code: {name.partition(' for d =')[0]}",
    )


def search_run(
    request: Request, runtime: RuntimeOptions, state: Any
) -> tuple[SolveResult, dict[str, Any]]:
    """Search over basins, then certify; the state goes into the file for `--resume`."""
    from gnc_cli.runtime.devices import accelerator
    from gnc_cli.search.solver import solve_code
    from gnc_cli.search.state import SearchState, to_plain

    deadline, device = runtime.deadline, str(accelerator(runtime.device) or "cpu")

    def save(state: SearchState) -> None:
        if runtime.save is not None and (candidate := state.best) is not None:
            runtime.save(lambda: (candidate.whole[: request.K], to_plain(state)))

    known = best(request.d, request.K, request.table)
    with runtime.limited_threads(request.K**2 * request.d), runtime.pool(device) as pool:
        found = solve_code(
            request,
            deadline,
            pool,
            target=_end_of_search(request),
            device=device,
            known=None if known is None else known.max_cosine,
            progress=runtime.progress,
            state=state,
            save=save,
        )
        order = found.order
        polished = order is not None and (
            order.gain <= 1e-9 or (order.stationarity <= 1e-9 and order.bound <= 1e-7)
        )
        certified = certify_code(
            found.weights,
            tolerance=TOLERANCE if polished else _TOLERANCE_ROUGH,
            deadline=deadline if request.K > _QUICK else None,
        )
    if deadline.interrupted:
        outcome = Outcome.INTERRUPTED
    elif not found.finished:
        outcome = Outcome.TIME_LIMIT
    elif polished:
        # A search that must keep a symmetry has converged within it.
        falls = found.second is not None and found.second.local_minimum == NO
        saddle = falls and request.symmetry is None
        outcome = Outcome.SADDLE if saddle else Outcome.CONVERGED
    else:
        outcome = Outcome.STALLED
    result = assemble(
        request,
        runtime,
        found.weights,
        certified,
        outcome=outcome,
        origin=f"descent from {found.origin}" if found.origin else "descent",
        stationarity=None if order is None else order.stationarity,
        gain=None if order is None else order.gain,
        second=found.second,
        restarts=found.restarts,
        batches=found.batches,
        hits=found.hits or None,
        steps=found.steps,
        history=found.history,
    )
    if outcome in (Outcome.TIME_LIMIT, Outcome.INTERRUPTED):
        open_ = [name for name in _OF_A_POLISH if getattr(result, name) in (None, UNDECIDED)]
        result = replace(result, undecided=(*result.undecided, *open_))
    return result, to_plain(found.state)


def _end_of_search(request: Request) -> float | None:
    """The user's target, else what is proved to be the most: nothing is left to search for."""
    if request.target is not None or request.restriction is not None:
        return request.reachable_target
    rho = proved_upper_end(request.d, request.K) - _PROVED_DIGITS
    return rho if request.problem == "softmax" else 1.0 - rho


def large_run(request: Request, runtime: RuntimeOptions) -> SolveResult:
    """One blocked descent for K beyond K x K matrices, certified by its own largest cosine."""
    from gnc_cli.runtime.devices import resolve_device
    from gnc_cli.search.large_scale import solve_large

    limit = runtime.deadline.seconds
    deadline = runtime.deadline.reserving(min(_LARGE_RESERVE, 0.2 * (limit or 0.0)))
    found = solve_large(
        request.d,
        request.K,
        seed=request.seed,
        init=request.init,
        steps=request.steps,
        deadline=deadline,
        device=str(resolve_device(runtime.device)),
        threads=runtime.threads,
        progress=runtime.stage("large scale: max_cosine"),
        fixed=request.fixed,
        save=runtime.save,
    )
    certified = certify_code(
        found.weights, tolerance=_TOLERANCE_ROUGH, row_max=found.row_maxima, deadline=deadline
    )
    return assemble(
        request,
        runtime,
        found.weights,
        certified,
        outcome=found.outcome,
        origin="large-scale descent",
        restarts=1,
        steps=found.steps,
        history=found.history,
    )


def ufm_run(request: Request, runtime: RuntimeOptions) -> SolveResult | SolveSweep:
    """Solve at each temperature, each with the last optimum among its starts."""
    taus = request.tau or (1.0,)
    rows: list[SolveResult] = []
    for tau in taus:
        previous = (rows[-1].weights, rows[-1].features) if rows else request.init
        rows.append(_ufm_row(request, runtime, tau, previous))
        if runtime.deadline.expired:
            break
    if len(taus) == 1:
        return rows[0]
    seconds = runtime.deadline.elapsed
    return SolveSweep(seconds, __version__, "ufm", request.d, request.K, tuple(rows), None)


def _ufm_row(request: Request, runtime: RuntimeOptions, tau: float, start: Any) -> SolveResult:
    """One temperature's record; rho's are of unit rows, `weights` and `features` as they are."""
    from gnc_cli.search.ufm.solver import hardmax_gap, solve_ufm

    began = runtime.deadline.elapsed
    found = solve_ufm(
        request.d,
        request.K,
        tau=tau,
        weight_decay=request.weight_decay,
        n=request.n,
        seed=request.seed,
        restarts=request.restarts,
        steps=request.steps,
        init=start,
        deadline=runtime.deadline,
        progress=runtime.stage(f"tau = {tau:.4g}"),
        device=runtime.device,
        threads=runtime.threads,
    )
    W = found.weights / np.linalg.norm(found.weights, axis=1, keepdims=True)
    H = found.features / np.linalg.norm(found.features, axis=1, keepdims=True)
    with runtime.limited_threads(request.K**2 * request.d):
        certified = certify_code(W, tolerance=_TOLERANCE_UFM)
        means = H.reshape(request.K, -1, request.d).mean(axis=1)
        collapse = gnc1(H, found.labels, request.K).value if request.n > 1 else None
    gap = None
    if request.weight_decay is None:
        rho = proved_interval(request.d, request.K)
        gap = hardmax_gap(request.d, request.K, tau, found.log_total_loss, found.hardmax, rho)
    result = assemble(
        request,
        runtime,
        found.weights,
        certified,
        outcome=found.outcome,
        origin="descent",
        stationarity=found.stationarity,
        restarts=found.restarts,
        steps=found.steps,
        history=found.history,
    )
    measures = UfmMeasures(
        tau=tau,
        weight_decay=request.weight_decay,
        n=request.n,
        gnc1=collapse,
        gnc2=certified.rho_one_vs_rest,
        gnc3=gnc3(W, means),
        hardmax_gap=gap,
    )
    seconds = runtime.deadline.elapsed - began
    return replace(result, seconds=seconds, features=found.features, ufm=measures)


def assemble(
    request: Request,
    runtime: RuntimeOptions,
    weights: Any,
    certified: Certified,
    *,
    outcome: Outcome,
    origin: str,
    stationarity: float | None = None,
    gain: float | None = None,
    second: SecondOrder | None = None,
    restarts: int = 0,
    batches: int = 0,
    hits: int | None = 0,
    steps: int = 0,
    history: np.ndarray | None = None,
) -> SolveResult:
    """Put the record together, with what there is to say of the code."""
    pairs = certified.contact_pairs
    judged: dict[str, Any] = dict.fromkeys(field.name for field in fields(Judgement))
    if request.problem != "ufm":  # whose optimum is no code of largest distance
        judgement = judge(
            request.problem,
            request.d,
            request.K,
            weights,
            certified.max_cosine,
            certified.rho_one_vs_rest,
            request.restriction,
            request.table,
        )
        judged = vars(judgement)
        if judgement.misses_known_optimum and not request.restriction:
            outcome = Outcome.LOCAL_OPTIMUM if outcome is Outcome.CONVERGED else outcome
        proved = judgement.optimum is not None and judgement.optimum.proved
        if proved and (second is None or second.local_minimum != YES):
            second = SecondOrder(YES, "its value is proved optimal")
    classes = certified.classes
    extras = {
        "history": history,
        "one_vs_rest_lower": None if classes is None else classes.lower,
        "one_vs_rest_upper": None if classes is None else classes.upper,
        "contact_pairs": pairs,
        "rattlers_one_vs_one": certified.rattles_one_vs_one,
        "rattlers_one_vs_rest": None if classes is None else classes.rattles,
    }
    return SolveResult(
        seconds=runtime.deadline.elapsed,
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
        first_order_gain=None if gain is None or np.isnan(gain) else gain,
        local_minimum=None if second is None else second.local_minimum,
        local_minimum_reason=None if second is None else second.reason,
        margins=Margins(certified.rho_one_vs_rest.lower, certified.min_angle),
        **judged,
        seed=request.seed,
        restarts=restarts,
        batches=batches,
        hits=hits,
        steps=steps,
        out=None,
        weights=weights,
        features=certified.features,
        undecided=("rattlers.one_vs_rest",) if certified.undecided else (),
        extras={k: v for k, v in extras.items() if v is not None},
    )
