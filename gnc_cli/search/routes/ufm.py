"""The unconstrained feature model, at one temperature or along several."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnc_cli import __version__
from gnc_cli.codes.certify import certify_code
from gnc_cli.metrics.gnc1 import gnc1
from gnc_cli.metrics.gnc3 import gnc3
from gnc_cli.parameters import spelled
from gnc_cli.records import Bracket
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.request import apart
from gnc_cli.search.result import SolveResult, SolveSweep, UfmMeasures
from gnc_cli.search.routes.route import Route, Save, record
from gnc_cli.search.ufm.solver import hardmax_gap, number_of_starts, solve_ufm
from gnc_cli.search.verdict import proved_interval

_TOLERANCE = 1e-6
"""Of rattlers and contacts, on distances."""


@dataclass(frozen=True)
class FeatureModel(Route):
    """Free classifier and features, cross-entropy alone decides."""

    start: np.ndarray | None = None
    """The code of an earlier call, in place of the user's start."""

    @property
    def described(self) -> str:
        r = self.request
        sweep = f" at {len(r.tau)} temperatures" if len(r.tau) > 1 else ""
        return f"the feature model of K={r.K}, d={r.d}, n={r.n}{sweep}"

    @property
    def smaller(self) -> str:
        fewer = f", or give fewer {spelled('tau')}" if len(self.request.tau) > 1 else ""
        return f"{super().smaller}, or {spelled('n')}{fewer}"

    @property
    def memory(self) -> float:
        """All starts while they descend, the memory of L-BFGS, the optimum at each temperature."""
        d, K, n = self.request.d, self.request.K, self.request.n
        point, starts = 8.0 * (n + 1) * K * d, self.request.restarts
        starts = number_of_starts(d, K, n) if starts is None else starts
        polish = min(2.0**28, 60.0 * point) + 64e6
        return (9.0 * starts + 16.0 + len(self.request.tau)) * point + polish

    def resumed(self, weights: np.ndarray, state: Mapping[str, int]) -> "FeatureModel":
        """No state is kept: the code is a start."""
        return replace(self, start=apart(weights, self.request.seed))

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult | SolveSweep:
        """At each temperature, each with the last optimum among its starts."""
        request, rows = self.request, list[SolveResult]()
        rho = proved_interval(request.d, request.K)
        start: Any = request.init if self.start is None else self.start
        for tau in request.tau or (1.0,):
            rows.append(self._at(tau, start, rho, deadline))
            start = rows[-1].weights, rows[-1].features
            if deadline.expired:
                break
        if len(request.tau) < 2:
            return rows[0]
        d, K, seconds = request.d, request.K, deadline.elapsed
        return SolveSweep(seconds, __version__, "ufm", d, K, tuple(rows), None)

    def _at(self, tau: float, start: Any, rho: Bracket, deadline: Deadline) -> SolveResult:
        """One temperature's record; rho's are of unit rows, `weights` and `features` as they are.

        Args:
            rho: where the largest one-vs-rest distance of (d, K) lies.
        """
        request, began = self.request, deadline.elapsed
        d, K, n = request.d, request.K, request.n
        solution = solve_ufm(
            d,
            K,
            tau=tau,
            weight_decay=request.weight_decay,
            n=n,
            seed=request.seed,
            restarts=request.restarts,
            steps=request.steps,
            init=start,
            deadline=deadline,
            progress=request.stage(f"tau = {tau:.4g}"),
            device=request.device,
            threads=request.threads,
        )
        W = solution.weights / np.linalg.norm(solution.weights, axis=1, keepdims=True)
        H = solution.features / np.linalg.norm(solution.features, axis=1, keepdims=True)
        gap = None
        if request.weight_decay is None:
            gap = hardmax_gap(d, K, tau, solution.log_total_loss, solution.hardmax, rho)
        with request.limited_threads(K**2 * d):
            certified = certify_code(W, tolerance=_TOLERANCE)
            one = gnc1(H, solution.labels) if n > 1 else None
            measures = UfmMeasures(
                tau=tau,
                weight_decay=request.weight_decay,
                n=n,
                gnc1=None if one is None else one.value,
                gnc2=certified.rho_one_vs_rest,
                gnc3=gnc3(W, H.reshape(K, n, d).mean(axis=1)),
                hardmax_gap=gap,
            )
        return record(
            request,
            solution.weights,
            certified,
            solution,
            deadline.elapsed - began,
            features=solution.features,
            ufm=measures,
        )
