"""The unconstrained feature model: classifier and features free, cross-entropy alone decides.

Eq. 2 minimises the mean cross-entropy of unit rows W (K, d) and H (n K, d) at temperature tau;
eq. B.1 frees the lengths and adds weight decay. Batched restarts descend while tau is annealed to
the asked value (`ufm_descent`), the best are polished to stationarity (`ufm_polish`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gnc_cli.codes.ufm_descent import descend, random_starts
from gnc_cli.codes.ufm_objective import UfmObjective
from gnc_cli.codes.ufm_polish import polish
from gnc_cli.errors import DataError, UsageError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.threads import limit_threads, threads_for
from gnc_cli.results import Bracket, Outcome

__all__ = ["UfmSolution", "hardmax_band", "rho_by_theorem", "solve_ufm"]

Init = np.ndarray | tuple[np.ndarray, np.ndarray]
_FINALISTS = 4


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
    """Certified interval for `tau * log_total_loss + rho`, rho the largest one-vs-rest distance
    for (d, K): how far the scaled loss stands from the HardMax optimum -rho. It needs no
    assumption on the search: -hardmax <= rho (lemma C.4) below, theorem 3.3 above. None with
    weight decay."""
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
        progress: called as progress(step, steps, best value).
        device: where torch descends: "cpu", "cuda", "cuda:1"; the polish runs in NumPy.
        threads: for BLAS and torch; by default chosen from the size of the problem.

    Raises:
        UsageError: an option out of range.
        DataError: `init` has the wrong shape, NaN or zero rows.

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
            progress(step, budget, value)

    points, used = list(given), 0
    if count:
        starts = random_starts(d, K, labels, count, rng_seed)
        cores = threads_for(2.0 * starts[0].size * K, threads)
        found, used = descend(objective, starts, budget, deadline, note, device, cores)
        found.sort(key=lambda x: objective.value_and_gradient(x)[0])
        points += found[:_FINALISTS]  # a continued start is always polished, and the best others
    if not points:
        return _solution(objective, [starts[0][0]], n, used, count, history, Outcome.NONFINITE)
    limit, capped = 5 * budget + 1000, False
    for i, x in enumerate(points):
        if deadline.expired:
            break

        def report(step: int, value: float, begun: int = used) -> None:
            note(begun + step, value)

        with limit_threads(threads_for(2.0 * x.size * K, threads)):
            points[i], taken = polish(
                objective,
                x,
                tolerance=_floor(tau),
                max_steps=limit,
                deadline=deadline,
                report=report,
            )
        used, capped = used + taken, capped or taken >= limit
    ending = Outcome.MAX_STEPS_REACHED if capped else Outcome.STALLED
    if deadline.expired:
        ending = Outcome.INTERRUPTED if deadline.interrupted else Outcome.TIME_LIMIT
    return _solution(objective, points, n, used, count, history, ending)


def rho_by_theorem(d: int, K: int) -> Bracket:
    """What theorem 3.3 says of the largest one-vs-rest distance: exact up to K = 2d and for d = 2.

    Beyond, rho never exceeds 1, and the lower end is 0.

    Example:
        >>> rho_by_theorem(3, 6), rho_by_theorem(3, 7)
        (Bracket(lower=1.0, upper=1.0), Bracket(lower=0.0, upper=1.0))
    """
    if K <= d + 1:
        return Bracket(K / (K - 1), K / (K - 1))
    if K <= 2 * d:
        return Bracket(1.0, 1.0)
    if d == 2:
        exact = 2 * float(np.sin(np.pi / K)) ** 2
        return Bracket(exact, exact)
    return Bracket(0.0, 1.0)


def hardmax_band(K: int, tau: float, n: int = 1) -> Bracket:
    """Where `tau * log(sum of losses)` lies above the HardMax value, on the right side (eq. C.13).

    The band holds for every W and H whose margins are all at least 0, and for the difference of the
    two minima. The upper end is the paper's; its lower end -tau log K is sharpened to tau log log 2
    by log(1 + u) >= u log 2 on [0, 1] for the worst sample.
    """
    return Bracket(tau * float(np.log(np.log(2.0))), tau * float(np.log(n * K * (K - 1))))


def _solution(
    objective: UfmObjective,
    points: list[np.ndarray],
    n: int,
    steps: int,
    restarts: int,
    history: list[tuple[int, float]],
    ending: Outcome,
) -> UfmSolution:
    """The best of `points` as a record; `ending` says why the search stopped if not stationary."""
    values = np.array([objective.value_and_gradient(x)[0] for x in points])
    # Equal up to rounding: the most stationary one.
    tied = np.flatnonzero(values <= values.min() + 1e-14 * (1 + abs(values.min())))
    x = min((points[i] for i in tied), key=objective.stationarity)
    ce, K, tau = objective.cross_entropy(x), objective.K, objective.tau
    log_total, hardmax = float(ce.log_total), float(ce.hardmax)
    gap = None
    if objective.on_sphere:
        rho = rho_by_theorem(x.shape[1], K)
        # The optimum is at most 0, so its loss, and with it ours, is above the band's lower end.
        lower = max(tau * log_total + max(rho.lower, -hardmax), hardmax_band(K, tau).lower)
        gap = Bracket(lower, max(lower, tau * log_total + rho.upper))
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
