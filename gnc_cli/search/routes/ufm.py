"""Optima of the unconstrained feature model at a temperature.

Eq. 2 minimises the mean cross-entropy of unit rows W (K, d) and H (n K, d) at temperature tau;
eq. B.1 frees the lengths and adds weight decay. Batched restarts descend while tau is annealed to
the requested value (`ufm_descent`), the best are polished to stationarity (`ufm_polish`).
`hardmax_gap` is the distance of the cross-entropy from its tau -> 0 limit, HardMax (lemma 3.1,
eq. C.13).
"""

from dataclasses import dataclass, field, replace

import numpy as np

from gnc_cli.brackets import Bracket
from gnc_cli.codes.certify import certify_code
from gnc_cli.errors import UsageError
from gnc_cli.geometry.rounding import gamma
from gnc_cli.metrics.gnc1 import gnc1
from gnc_cli.metrics.gnc3 import gnc3
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import NO_DEADLINE, Deadline
from gnc_cli.runtime.threads import threads_for
from gnc_cli.search.instance import Instance, Machine, Plan
from gnc_cli.search.result import Course, Outcome, SolveResult, UfmMeasures
from gnc_cli.search.routes.route import Route, Save
from gnc_cli.search.ufm_descent import UfmObjective, descend, random_starts
from gnc_cli.search.ufm_polish import polish_ufm
from gnc_cli.search.verdict import proved_interval

_TOLERANCE = 1e-6
"""Tolerance of rattlers and contacts, on distances: optima at tau > 0 are close to a code only."""


@dataclass(frozen=True)
class FeatureModel(Route):
    """Free classifier and features, which minimise the cross-entropy alone."""

    start: np.ndarray | tuple[np.ndarray, np.ndarray] | None = None
    """The user's start, or the code of an earlier call, shape (K, d); weights with features, shape
    (n K, d), of an earlier temperature."""

    advice = "lower --K, --d or --n, or give fewer --tau"

    @property
    def memory(self) -> float:
        """Largest memory, in bytes: all starts of a descent, L-BFGS, an optimum per temperature."""
        d, K, n = self.instance.d, self.instance.K, self.instance.n
        point, starts = 8.0 * (n + 1) * K * d, self.plan.restarts
        starts = default_restarts(d, K, n) if starts is None else starts
        polish = min(2.0**28, 60.0 * point) + 64e6
        return (9.0 * starts + 16.0 + len(self.instance.tau)) * point + polish

    def start_from(self, code: SolveResult) -> Route:
        """Return the same route with weights and features as its start."""
        return replace(self, start=(code.weights, code.features))

    def solve(self, deadline: Deadline, save: Save | None) -> SolveResult:
        """Solve at the first temperature.

        The measures are of unit rows; `weights` and `features` keep their lengths.
        """
        instance, machine, earlier_seconds = self.instance, self.machine, deadline.elapsed
        d, K, n, tau = instance.d, instance.K, instance.n, (instance.tau or (1.0,))[0]
        solution = solve_ufm(instance, self.plan, machine, init=self.start, deadline=deadline)
        W = solution.weights / np.linalg.norm(solution.weights, axis=1, keepdims=True)
        H = solution.features / np.linalg.norm(solution.features, axis=1, keepdims=True)
        gap = None
        if instance.weight_decay is None:
            gap = hardmax_gap(
                d, K, tau, solution.log_total_loss, solution.hardmax, proved_interval(d, K)
            )
        with machine.limited_threads(K**2 * d):
            certificate = certify_code(W, tolerance=_TOLERANCE)
            collapse = gnc1(H, solution.labels) if n > 1 else None
            measures = UfmMeasures(
                tau=tau,
                weight_decay=instance.weight_decay,
                n=n,
                gnc1=None if collapse is None else collapse.value,
                gnc2=certificate.rho_one_vs_rest,
                gnc3=gnc3(W, H.reshape(K, n, d).mean(axis=1)),
                hardmax_gap=gap,
            )
        return self.record(
            solution.weights,
            certificate,
            solution,
            deadline.elapsed - earlier_seconds,
            features=solution.features,
            ufm=measures,
        )


_STEPS = 800
"""Default number of descent steps of each restart."""
_FINALISTS = 4
"""Restarts on the sphere that are polished: the best of them."""
_FREE_FINALISTS = 8
"""Restarts with weight decay that are polished: many optima lie within 1e-6 of each other, hard to
rank before."""


@dataclass(frozen=True, kw_only=True)
class UfmSolution(Course):
    """Optimum of the unconstrained feature model.

    The history has the best value of the objective at the tau of each step; the steps are those of
    descent and polish together.
    """

    weights: np.ndarray = field(repr=False)
    """Classifier W, shape (K, d); unit rows without weight decay."""
    features: np.ndarray = field(repr=False)
    """Features H, shape (n K, d), sorted by class."""
    labels: np.ndarray = field(repr=False)
    """Class of each feature, shape (n K,): `repeat(arange(K), n)`."""
    log_total_loss: float
    """Log of the sum of the losses; `tau * log_total_loss` tends to `hardmax`."""
    hardmax: float
    """HardMax value of this W and H (eq. 5): -(smallest margin)."""


def solve_ufm(
    instance: Instance,
    plan: Plan,
    machine: Machine,
    *,
    init: np.ndarray | tuple[np.ndarray, np.ndarray] | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> UfmSolution:
    """Minimise the cross-entropy over classifier and features at the first temperature.

    Args:
        instance: its `weight_decay` is the positive lambda of eq. B.1, None for the unit sphere of
            eq. 2; all n K features are separate unknowns.
        plan: `restarts` random starts, by default 32, fewer where n K^2 d is large; 0 requires
            `init`. Each takes `steps` descent steps, by default 800; L-BFGS may take five times as
            many, at which the progress stays at its end.
        machine: device on which torch descends; the polish runs in NumPy.
        init: a code (K, d), or weights with features (n K, d), which is polished as one more start:
            continuation along a list of temperatures.
        deadline: end of the time, a signal included.

    Raises:
        UsageError: a weight decay so large that zero is the optimum.
        UnavailableError: no such device.
    """
    d, K, n, tau = instance.d, instance.K, instance.n, (instance.tau or (1.0,))[0]
    weight_decay, progress = instance.weight_decay, plan.stage(f"tau = {tau:.4g}")
    # W H^T trades loss against its nuclear norm, a convex problem in which 0 is optimal as soon as
    # lambda reaches the spectral norm of the loss gradient at 0.
    collapse = 1 / (K * tau * n**0.5)
    if weight_decay is not None and weight_decay >= collapse:
        raise UsageError(
            f"{spelled('weight_decay')} {weight_decay:g}: from 1 / (K tau sqrt(n)) = "
            f"{collapse:.6g} on the optimum is W = H = 0; choose a smaller one"
        )
    labels = np.repeat(np.arange(K), n)
    objective = UfmObjective(K, labels, tau, weight_decay)
    count = default_restarts(d, K, n) if plan.restarts is None else plan.restarts
    budget = _STEPS if plan.steps is None else plan.steps
    history: list[tuple[int, float]] = []

    def report(step: int, value: float) -> None:
        history.append((step, value))
        if progress is not None:
            progress(min(step, budget), budget, value)

    points, steps, capped = [], 0, False
    if init is not None:
        weights, features = init if isinstance(init, tuple) else (init, init[labels])
        points.append(objective.retract(np.concatenate([weights, features])))
    if count:
        starts = random_starts(d, K, labels, count, plan.seed)
        cores = threads_for(2.0 * starts[0].size * K, machine.threads)
        endpoints, steps = descend(
            objective, starts, budget, deadline, report, machine.device, cores
        )
        endpoints.sort(key=objective.value)
        # `init` is always polished, and the best of the others.
        points += endpoints[: _FINALISTS if objective.on_sphere else _FREE_FINALISTS]
    limit = 5 * budget + 1000

    def improve(x: np.ndarray, finish: bool) -> np.ndarray:
        nonlocal steps, capped
        earlier = steps
        with machine.limited_threads(2.0 * x.size * K):
            x, polish_steps = polish_ufm(
                objective,
                x,
                tolerance=_floor(tau),
                max_steps=limit,
                deadline=deadline,
                report=lambda step, value: report(earlier + step, value),
                finish=finish,
            )
        steps, capped = steps + polish_steps, capped or polish_steps >= limit
        return x

    if points:
        points = [x if deadline.expired else improve(x, finish=False) for x in points]
        best = _best(objective, points)
        if objective.stationarity(best) > _floor(tau) and not deadline.expired:
            best = _best(objective, [improve(best, finish=True), best])
    else:  # every restart overflowed
        best = starts[0][0]
    ce = objective.cross_entropy(best)
    stationarity = objective.stationarity(best)
    if not points:
        outcome = Outcome.NONFINITE
    elif deadline.expired:
        outcome = Outcome.INTERRUPTED if deadline.interrupted else Outcome.TIME_LIMIT
    elif stationarity <= _floor(tau):
        outcome = Outcome.CONVERGED
    else:
        outcome = Outcome.MAX_STEPS_REACHED if capped else Outcome.STALLED
    return UfmSolution(
        origin="descent",
        weights=best[:K].copy(),
        features=best[K:].copy(),
        labels=labels,
        log_total_loss=float(ce.log_total),
        hardmax=float(ce.hardmax),
        stationarity=stationarity,
        steps=steps,
        restarts=count,
        outcome=outcome,
        history=np.array(history, dtype=np.float64).reshape(-1, 2),
    )


def default_restarts(d: int, K: int, n: int) -> int:
    """Return the default number of random starts."""
    return max(1, min(32, 2**24 // (n * K * K * d)))


def _best(objective: UfmObjective, points: list[np.ndarray]) -> np.ndarray:
    """Return the point of the lowest value; of those equal up to rounding, the most stationary."""
    values = np.array([objective.value(x) for x in points])
    tied = np.flatnonzero(values <= values.min() + 1e-14 * (1 + abs(values.min())))
    return min((points[i] for i in tied), key=objective.stationarity)


def _floor(tau: float) -> float:
    """Return the largest gradient of a stationary point: 1e-10, or the rounding of the logits."""
    return max(1e-10, 64 * float(np.finfo(np.float64).eps) / tau)


def hardmax_band(K: int, tau: float, n: int = 1) -> Bracket:
    """Bracket the difference of `tau * log(sum of losses)` and the HardMax value (eq. C.13).

    The band holds for every W and H whose margins are all at least 0, and for the difference of the
    two minima. The upper end is the paper's; its lower end -tau log K is sharpened to tau log log 2
    by log(1 + u) >= u log 2 on [0, 1] for the worst sample.
    """
    return Bracket(tau * float(np.log(np.log(2.0))), tau * float(np.log(n * K * (K - 1))))


def hardmax_gap(
    d: int, K: int, tau: float, log_total: float, hardmax: float, rho: Bracket
) -> Bracket:
    """Certify an interval of `tau * log_total + rho*`, the scaled loss less the HardMax optimum.

    rho* is the largest one-vs-rest distance for (d, K), proved to lie in `rho`, so -rho* is the
    optimum of HardMax (theorem 3.2), the limit of the scaled loss as tau -> 0 (lemma 3.1). Both
    ends hold for every pair of unit W and H, whether or not a search has found the best one: rho*
    is at least the smallest margin of this pair, -hardmax (lemma C.4), and no pair's loss lies
    below the band under the optimum.

    Example:
        >>> hardmax_gap(3, 4, 0.5, -2.0, -4 / 3, Bracket(4 / 3, 4 / 3))  # theorem 3.3
        Bracket(lower=0.33333333333333326, upper=0.33333333333333326)
    """
    # The margin of a pair is computed, as a product with a difference of rows.
    margin = -hardmax - 4.0 * gamma(d + 3)
    scaled = tau * log_total
    lower = max(scaled + max(rho.lower, margin), hardmax_band(K, tau).lower)
    return Bracket(lower, scaled + rho.upper)
