"""The unconstrained feature model: classifier and features free, cross-entropy alone decides.

Eq. 2 minimises the mean cross-entropy of unit rows W (K, d) and H (n K, d) at temperature tau;
eq. B.1 frees the lengths and adds weight decay. Batched restarts descend while tau is annealed to
the asked value (`ufm_descent`), the best are polished to stationarity (`ufm_polish`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gnc_cli.codes.ufm_descent import descend, random_starts
from gnc_cli.codes.ufm_hardmax import hardmax_gap
from gnc_cli.codes.ufm_objective import UfmObjective
from gnc_cli.codes.ufm_polish import polish
from gnc_cli.errors import DataError, UsageError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.threads import limit_threads, threads_for
from gnc_cli.results import Bracket, Outcome

__all__ = ["UfmSolution", "solve_ufm"]

Init = np.ndarray | tuple[np.ndarray, np.ndarray]
_FINALISTS = 4
_FINALISTS_FREE = 8  # weight decay: many optima within 1e-6 of each other, hard to rank early


@dataclass(frozen=True)
class UfmSolution:
    """A solved unconstrained feature model."""

    weights: np.ndarray = field(repr=False)
    """Classifier W, (K, d); unit rows unless weight decay was asked for."""
    features: np.ndarray = field(repr=False)
    """Features H, (n K, d), sorted by class."""
    labels: np.ndarray = field(repr=False)
    """(n K,): `repeat(arange(K), n)`."""
    tau: float
    weight_decay: float | None
    n: int
    objective: float
    """Mean cross-entropy, without the decay term; may underflow to 0 at tiny tau."""
    log_total_loss: float
    """log of the sum of the losses; `tau * log_total_loss` tends to `hardmax`."""
    hardmax: float
    """HardMax value of this W and H (eq. 5): -(smallest margin)."""
    hardmax_gap: Bracket | None
    """Certified interval for `tau * log_total_loss + rho`, the scaled loss's distance from the
    HardMax optimum -rho (see `hardmax_gap`); None with weight decay."""
    stationarity: float
    """Largest absolute component of the Riemannian gradient of `tau * log_total_loss` (eq. 2) or
    of the gradient of eq. B.1."""
    steps: int
    """Steps of descent and polish together."""
    restarts: int
    outcome: Outcome
    history: np.ndarray = field(repr=False)
    """(T, 2): step, best value so far of the objective being minimised at that step's tau."""


def solve_ufm(
    d: int,
    K: int,
    *,
    tau: float,
    weight_decay: float | None = None,
    n: int = 1,
    rng_seed: int = 0,
    restarts: int | None = None,
    steps: int | None = None,
    init: Init | None = None,
    deadline: Deadline | None = None,
    progress: Callable[[int, int, float], None] | None = None,
    device: str = "cpu",
    threads: int | None = None,
) -> UfmSolution:
    """Minimise the cross-entropy over classifier and features.

    Args:
        d: dimension, at least 2.
        K: number of classes, at least 2.
        tau: positive temperature.
        weight_decay: positive lambda of eq. B.1; None for the unit sphere, eq. 2.
        n: samples a class; all n K features are unknowns of their own.
        rng_seed: seeds every restart through `SeedSequence.spawn`; the same seed gives the same
            result where no deadline binds.
        restarts: random starts; by default 32, fewer where n K^2 d is large. 0 needs `init`.
        steps: descent steps of each restart, by default 800; L-BFGS may take five times as many.
        init: a code (K, d), or weights with features (K, d) or (n K, d), polished as it is as one
            more start: continuation along a list of temperatures.
        deadline: polled at each step; when it expires the best point so far is returned.
        progress: called as progress(step, steps, value) at each step; the polish stays at `steps`.
        device: where torch descends: "auto", "cpu", "cuda", "cuda:1"; the polish runs in NumPy.
        threads: for BLAS and torch; by default chosen from the size of the problem.

    Raises:
        UsageError: an option out of range, or a weight decay so large that zero is the optimum.
        DataError: `init` has the wrong shape, NaN or zero rows.
        UnavailableError: no such device.

    Example:
        >>> from gnc_cli.codes.ufm import solve_ufm
        >>> triangle = solve_ufm(2, 3, tau=0.1, restarts=2, steps=50)
        >>> triangle.outcome.value, round(triangle.hardmax, 12)
        ('converged', -1.5)
    """
    deadline = deadline if deadline is not None else Deadline()
    _check(d, K, tau, weight_decay, n, restarts, steps, init)
    labels = np.repeat(np.arange(K), n)
    objective = UfmObjective(K, labels, float(tau), weight_decay)
    count = max(1, min(32, 2**24 // (n * K * K * d))) if restarts is None else restarts
    budget = 800 if steps is None else steps
    given = [] if init is None else [_stacked(init, d, K, labels, objective)]
    history: list[tuple[int, float]] = []

    def note(step: int, value: float) -> None:
        history.append((step, value))
        if progress is not None:
            progress(min(step, budget), budget, value)

    points, used = list(given), 0
    if count:
        starts = random_starts(d, K, labels, count, rng_seed)
        cores = threads_for(2.0 * starts[0].size * K, threads)
        found, used = descend(objective, starts, budget, deadline, note, device, cores)
        found.sort(key=lambda x: objective.value_and_gradient(x)[0])
        # A continued start is always polished, and the best of the others.
        points += found[: _FINALISTS if objective.on_sphere else _FINALISTS_FREE]
    if not points:
        return _solution(objective, starts[0][0], n, used, count, history, Outcome.NONFINITE)
    limit, capped = 5 * budget + 1000, False

    def improve(x: np.ndarray, finish: bool) -> np.ndarray:
        nonlocal used, capped
        begun = used
        with limit_threads(threads_for(2.0 * x.size * K, threads)):
            x, taken = polish(
                objective,
                x,
                tolerance=_floor(tau),
                max_steps=limit,
                deadline=deadline,
                report=lambda step, value: note(begun + step, value),
                finish=finish,
            )
        used, capped = used + taken, capped or taken >= limit
        return x

    for i, x in enumerate(points):
        if not deadline.expired:
            points[i] = improve(x, finish=False)
    best = _best(objective, points)
    if objective.stationarity(best) > _floor(tau) and not deadline.expired:
        best = _best(objective, [improve(best, finish=True), best])
    ending = Outcome.MAX_STEPS_REACHED if capped else Outcome.STALLED
    if deadline.expired:
        ending = Outcome.INTERRUPTED if deadline.interrupted else Outcome.TIME_LIMIT
    return _solution(objective, best, n, used, count, history, ending)


def _best(objective: UfmObjective, points: list[np.ndarray]) -> np.ndarray:
    """The lowest point; of those equal up to rounding, the most stationary."""
    values = np.array([objective.value_and_gradient(x)[0] for x in points])
    tied = np.flatnonzero(values <= values.min() + 1e-14 * (1 + abs(values.min())))
    return min((points[i] for i in tied), key=objective.stationarity)


def _solution(
    objective: UfmObjective,
    x: np.ndarray,
    n: int,
    steps: int,
    restarts: int,
    history: list[tuple[int, float]],
    ending: Outcome,
) -> UfmSolution:
    """The stacked point x as a record; `ending` says why the search stopped if not stationary."""
    ce, K, tau = objective.cross_entropy(x), objective.K, objective.tau
    log_total, hardmax = float(ce.log_total), float(ce.hardmax)
    gap = hardmax_gap(x.shape[1], K, tau, log_total, hardmax) if objective.on_sphere else None
    stationarity = objective.stationarity(x)
    early = ending in (Outcome.TIME_LIMIT, Outcome.INTERRUPTED, Outcome.NONFINITE)
    return UfmSolution(
        weights=x[:K].copy(),
        features=x[K:].copy(),
        labels=objective.labels,
        tau=tau,
        weight_decay=objective.weight_decay,
        n=n,
        objective=float(np.exp(log_total)) / len(objective.labels),
        log_total_loss=log_total,
        hardmax=hardmax,
        hardmax_gap=gap,
        stationarity=stationarity,
        steps=steps,
        restarts=restarts,
        outcome=ending if early or stationarity > _floor(tau) else Outcome.CONVERGED,
        history=np.array(history, dtype=np.float64).reshape(-1, 2),
    )


def _floor(tau: float) -> float:
    """Gradient that counts as stationary: 1e-10, or what rounding of the logits allows."""
    return max(1e-10, 64 * float(np.finfo(np.float64).eps) / tau)


def _stacked(init: Init, d: int, K: int, labels: np.ndarray, objective: UfmObjective) -> np.ndarray:
    """`init` as a feasible stacked point (K + N, d)."""
    weights, features = init if isinstance(init, tuple) else (init, init)
    w, h = np.asarray(weights, dtype=np.float64), np.asarray(features, dtype=np.float64)
    if w.shape != (K, d) or h.shape not in ((K, d), (len(labels), d)):
        raise DataError(
            f"init has weights {w.shape} and features {h.shape}; "
            f"expected ({K}, {d}) and ({K}, {d}) or ({len(labels)}, {d})"
        )
    x = np.concatenate([w, h if len(h) == len(labels) else h[labels]])
    if not np.isfinite(x).all() or (objective.on_sphere and not np.any(x, axis=1).all()):
        raise DataError("init has rows that are zero or not finite; remove or replace them")
    return objective.retract(x)


def _check(
    d: int,
    K: int,
    tau: float,
    weight_decay: float | None,
    n: int,
    restarts: int | None,
    steps: int | None,
    init: Init | None,
) -> None:
    for name, value, least in (("d", d, 2), ("K", K, 2), ("n", n, 1), ("steps", steps, 1)):
        if value is not None and value < least:
            raise UsageError(f"{name} is {value}; it must be at least {least}")
    for name, number in (("tau", tau), ("weight_decay", weight_decay)):
        if number is not None and not (np.isfinite(number) and number > 0):
            raise UsageError(f"{name} is {number}; it must be a positive number")
    if restarts is not None and (restarts < 0 or (restarts == 0 and init is None)):
        raise UsageError(f"restarts is {restarts}; without init at least 1 is needed")
    # W H^T trades loss against its nuclear norm, a convex problem in which 0 is optimal as soon as
    # lambda reaches the spectral norm of the loss gradient at 0.
    collapse = 1 / (K * tau * n**0.5)
    if weight_decay is not None and weight_decay >= collapse:
        raise UsageError(
            f"weight_decay is {weight_decay}: from 1 / (K tau sqrt(n)) = {collapse:.6g} on the "
            "optimum is W = H = 0; choose a smaller one"
        )
