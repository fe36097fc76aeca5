"""The unconstrained feature model of `solve`: one temperature, or a sweep with continuation."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from gnc_cli import __version__
from gnc_cli.codes.certify import certify_code
from gnc_cli.codes.ufm import UfmSolution, solve_ufm
from gnc_cli.metrics.gnc1 import gnc1
from gnc_cli.metrics.gnc3 import gnc3
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.threads import limit_threads, threads_for
from gnc_cli.results import Bracket, Margins, SolveResult, SolveSweep, UfmMeasures
from gnc_cli.workflows.solve_request import Request
from gnc_cli.workflows.solve_verdict import proved_interval

__all__ = ["run_ufm"]

_TOLERANCE = 1e-6


def run_ufm(
    request: Request,
    deadline: Deadline,
    device: str,
    threads: int | None,
    progress: Callable[[str, int, int, float], None] | None,
    started: float,
) -> SolveResult | SolveSweep:
    """Solve at each temperature, each with the last optimum among its starts."""
    taus = request.taus or (1.0,)
    rows: list[SolveResult] = []
    previous: tuple[np.ndarray, np.ndarray] | None = None
    for tau in taus:
        begun = time.monotonic()
        tell = None
        if progress is not None:
            tell = partial(progress, f"tau = {tau:.4g}")
        found = solve_ufm(
            request.d, request.K, tau=tau, weight_decay=request.weight_decay, n=request.n,
            rng_seed=request.seed, restarts=request.restarts, steps=request.steps,
            init=request.init if previous is None else previous, deadline=deadline,
            progress=tell, device=device, threads=threads,
        )  # fmt: skip
        previous = found.weights, found.features
        rows.append(_row(request, found, begun))
        if deadline.expired:
            break
    if len(taus) == 1:
        return rows[0]
    seconds = time.monotonic() - started
    return SolveSweep(seconds, __version__, "ufm", request.d, request.K, tuple(rows), None)


def _narrowed(found: UfmSolution, request: Request) -> Bracket | None:
    """The HardMax gap, by all that is proved of rho*(d, K)."""
    if found.hardmax_gap is None:
        return None
    scaled, rho = found.tau * found.log_total_loss, proved_interval(request.d, request.K)
    return found.hardmax_gap.narrowed(Bracket(scaled + rho.lower, scaled + rho.upper))


def _row(request: Request, found: UfmSolution, begun: float) -> SolveResult:
    """One temperature's record; rho's are of unit rows, `weights` and `features` as they are."""
    W = found.weights / np.linalg.norm(found.weights, axis=1, keepdims=True)
    H = found.features / np.linalg.norm(found.features, axis=1, keepdims=True)
    with limit_threads(threads_for(request.K**2 * request.d)):
        certified = certify_code(W, tolerance=_TOLERANCE)
        means = H.reshape(request.K, -1, request.d).mean(axis=1)
        collapse = gnc1(H, found.labels, request.K)
    return SolveResult(
        seconds=time.monotonic() - begun,
        version=__version__,
        problem="ufm",
        d=request.d,
        K=request.K,
        origin="descent",
        outcome=found.outcome,
        max_cosine=certified.max_cosine,
        min_angle_deg=float(np.degrees(certified.min_angle)),
        rho_one_vs_one=certified.rho_one_vs_one,
        rho_one_vs_rest=certified.rho_one_vs_rest,
        rattlers=certified.rattlers,
        contacts=None if certified.contact_pairs is None else len(certified.contact_pairs),
        stationarity=found.stationarity,
        first_order_gain=None,
        margins=Margins(certified.rho_one_vs_rest.lower, certified.min_angle),
        best_known=None,
        status=None,
        gap=None,
        optimum=None,
        verdict=None,
        seed=request.seed,
        restarts=found.restarts,
        steps=found.steps,
        out=None,
        weights=found.weights,
        features=found.features,
        ufm=UfmMeasures(
            tau=found.tau,
            weight_decay=found.weight_decay,
            n=found.n,
            gnc1=collapse.value,
            gnc2=certified.rho_one_vs_rest,
            gnc3=gnc3(W, means),
            hardmax_gap=_narrowed(found, request),
        ),
        extras={
            "history": found.history,
            "one_vs_rest_lower": certified.one_vs_rest_lower,
            "one_vs_rest_upper": certified.one_vs_rest_upper,
            "contact_pairs": certified.contact_pairs,
            "rattlers_one_vs_one": certified.rattles_one_vs_one,
            "rattlers_one_vs_rest": certified.rattles_one_vs_rest,
        },
    )
