"""Polish a minimax configuration on spheres to machine precision: a primal-dual interior point.

Minimise t over unit rows z_a subject to c_p(z) + s_p = t, s_p >= 0, for the values

    c_p = <z_a, z_b>           (Tammes: pairs of code rows), or
    c_p = <z_a, z_b - z_e>     (HardMax: feature a, class b against its own class e).

Newton steps on the perturbed first-order equations (stationarity of sum lambda_p c_p in tangent
coordinates, sum lambda = 1, lambda_p s_p = mu), with the sphere's curvature in the Hessian and a
Levenberg shift that keeps it positive definite and shrinks where full steps are accepted. Neither a
guess of the active set nor unique multipliers are needed: vertices (d = 3, 60 contacts at K = 24),
curved optima (10, 100: fewer contacts than degrees of freedom) and degenerate ones (E8: 6720
contacts) end alike, at 1e-16.

References: Nocedal and Wright, Numerical Optimization, chapter 19; the step control differs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from gnc_cli.geometry.active_pairs import ActivePairs, Linearisation, linearise, retracted
from gnc_cli.runtime.deadline import Deadline

_MAX_STATIONARITY = 1e-13
"""Largest stationarity at which the polish ends: some hundred roundings."""
_FORESIGHT = 200.0
"""Factor of reach times stationarity: a polish is aborted once `level - gap - factor * reach *
stationarity` exceeds the bar. With its final value as the bar, 1 to 12 of 100 polishes are aborted
wrongly, from (3, 116) to (4, 60); with a bar at the best tenth of the final values, 22 to 34 % of
the steps are saved. By the level minus the gap alone, from step 40 on, 54 to 87 were aborted
wrongly."""
_MAX_SHIFTS = 30
"""Largest number of Levenberg shifts in one step, each four times the last: sixteen orders of
magnitude."""
FIRST_GAP, WARM_FIRST_GAP = 1e-2, 1e-6
"""First complementarity gaps, as shares of the scale. From `FIRST_GAP` a polish converges from any
point, but may leave the basin of a nearly optimal start; from `WARM_FIRST_GAP` it stays in it."""
_PATIENCE = 3
"""Number of steps without better stationarity after which the polish ends, once complementarity
holds: the remaining residual is rounding."""


@dataclass(frozen=True)
class Polished:
    """A polished configuration with its multipliers."""

    points: np.ndarray
    """Unit rows, shape (P, d)."""
    value: float
    """Largest value."""
    pairs: ActivePairs
    """Pairs whose values are near the largest, m of them."""
    multipliers: np.ndarray
    """Convex weights of the pairs, shape (m,)."""
    stationarity: float
    """Largest absolute component of sum lambda grad c, in tangent coordinates."""
    gap: float
    """Complementarity gap, sum lambda (t - c)."""
    steps: int


def polish(
    points: np.ndarray,
    active_pairs: Callable[[np.ndarray, float], ActivePairs],
    free: np.ndarray,
    *,
    scale: float,
    deadline: Deadline,
    max_steps: int = 150,
    bar: float = np.inf,
    first_gap: float = FIRST_GAP,
) -> Polished:
    """Descend to a near first-order point of the minimax problem by Newton steps.

    Args:
        points: unit rows, shape (P, d).
        active_pairs: `(points, threshold)` -> the pairs whose value is at least the threshold.
        free: mask of the rows that may move, shape (P,), bool.
        scale: distance of the value from its trivial end (1 - max_cosine): sets windows and steps.
        deadline: polled at each step and at each factorisation.
        max_steps: Newton steps at most.
        bar: value below which the polish should end; it is aborted once that is unlikely.
        first_gap: complementarity gap of the first step, as a share of the scale.

    Returns:
        The best iterate.

    Cost: one Cholesky factorisation of order `free.sum() * (d - 1)` per step, 10 steps for rigid
    codes, 30 to 100 for curved ones.
    """
    reach = 0.2 * np.sqrt(2.0 * scale)  # radians a step may move: a fifth of the spacing
    state = _State(points, active_pairs, free, scale, first_gap)
    best = state.snapshot(0)
    shift, step, idle = 0.0, 0, 0
    for step in range(1, max_steps + 1):
        state.refresh()
        linear = linearise(state.pairs, state.points, free)
        gradient = linear.adjoint(state.multipliers)
        residual = float(np.abs(gradient).max(initial=0.0))
        if (residual <= _MAX_STATIONARITY and state.gap <= 1e-15) or deadline.expired:
            break
        if state.t - state.gap - _FORESIGHT * reach * residual > bar:
            break
        moved, shift = state.advance(linear, gradient, shift, reach, deadline)
        if not moved:
            break
        if state.gap <= 1e-14:
            current = state.snapshot(step)
            idle = (
                0
                if current.stationarity < 0.5 * best.stationarity or best.gap > 1e-14
                else idle + 1
            )
            best = current if idle == 0 else best
            if idle >= _PATIENCE:
                return best
    final = state.snapshot(step)
    better = best.value < final.value or (
        best.value <= final.value + 1e-15 and best.stationarity < 0.5 * final.stationarity
    )
    return best if better and best.gap <= max(final.gap, 1e-14) else final


class _State:
    """Points, slacks and multipliers of one polish."""

    def __init__(
        self,
        points: np.ndarray,
        active_pairs: Callable[[np.ndarray, float], ActivePairs],
        free: np.ndarray,
        scale: float,
        first_gap: float,
    ) -> None:
        self._active_pairs, self._free, self._scale = active_pairs, free, scale
        self._normal: np.ndarray | None = None
        """Last normal matrix, kept until the next one is made so that its memory is reused."""
        self.points = retracted(points, free)
        self.width = 0.3 * scale
        top = active_pairs(self.points, -np.inf).largest(self.points)
        self.pairs = active_pairs(self.points, top - self.width)
        c = self.pairs.values(self.points)
        self.mu = first_gap * scale / len(c)
        self.t = _balanced_level(c, self.mu)
        self.slack = self.t - c
        self.multipliers = self.mu / self.slack

    @property
    def gap(self) -> float:
        """Complementarity gap."""
        return float(self.multipliers @ self.slack)

    def refresh(self) -> None:
        """Add the pairs that came near; keep slacks and multipliers of the others."""
        close_pairs = self._active_pairs(self.points, self.t - 0.5 * self.width)
        new = close_pairs.missing_in(self.pairs)
        if not len(new):
            return
        c = new.values(self.points)
        slack = np.maximum(self.t - c, 1e-3 * self.width)
        self.pairs = self.pairs.joined(new)
        self.slack = np.concatenate([self.slack, slack])
        self.multipliers = np.concatenate([self.multipliers, self.mu / slack])

    def advance(
        self,
        linear: Linearisation,
        gradient: np.ndarray,
        shift: float,
        reach: float,
        deadline: Deadline,
    ) -> tuple[bool, float]:
        """Take a damped Newton step; return True if points moved, and the next Levenberg shift."""
        lam, s, m = self.multipliers, self.slack, len(self.slack)
        D = lam / s
        normal = self._normal = linear.normal(lam, D)
        # Coincident or orthogonal rows leave the diagonal 0, but not the blocks next to it.
        block_scale = 1e-3 * float(lam.sum()) / len(self.points)
        curvature = max(float(np.abs(linear.curvature(lam)).mean()), block_scale)
        defect = self.t - self.pairs.values(self.points) - s
        push = self.mu / s - lam - D * defect
        u = linear.adjoint(D)
        r1 = -(gradient + linear.adjoint(push))
        r2 = 1.0 - lam.sum() - push.sum()
        total = D.sum()
        floor = 1e-12 * max(1.0, float(np.abs(np.diag(normal)).mean()))
        # In place: new large matrices cost more in memory pages than in arithmetic.
        rank_one = np.outer(u, u)
        rank_one /= total
        normal -= rank_one
        for _ in range(_MAX_SHIFTS):
            if deadline.expired:
                return False, shift
            trial = rank_one  # its memory is reused
            trial[:] = normal
            trial[np.diag_indices_from(trial)] += floor + shift
            try:
                factor = cho_factor(trial, check_finite=False, overwrite_a=True)
                break
            except LinAlgError:
                shift = max(4.0 * shift, 1e-3 * curvature)
        else:
            return False, shift
        dx = cho_solve(factor, r1 - u * (r2 / total), check_finite=False)
        if not np.isfinite(dx).all():
            return False, shift
        dt = float((u @ dx - r2) / total)
        slope = linear.forward(dx)
        dlam = push - D * (dt - slope)
        ds = dt - slope + defect
        dual = _to_boundary(lam, dlam)
        move = linear.moves(dx)
        longest = float(np.linalg.norm(move, axis=1).max(initial=0.0))
        primal = min(_to_boundary(s, ds), reach / longest if longest > 0.0 else 1.0)
        allowed = max(float(np.abs(defect).max()), float(s.mean()))
        for _ in range(30):
            points = retracted(self.points + primal * move, self._free)
            t, slack = self.t + primal * dt, s + primal * ds
            if np.abs(t - self.pairs.values(points) - slack).max() <= allowed:
                break
            primal *= 0.6
        else:
            return False, shift
        self.points, self.t, self.slack = points, t, slack
        self.multipliers = lam + dual * dlam
        self._lower_barrier(min(primal, dual), float(np.linalg.norm(gradient)), m)
        min_shift = 1e-4 * curvature
        if primal < 0.2:
            return True, max(4.0 * shift, min_shift)
        if primal > 0.6:
            return True, shift / 6.0 if shift > 1e-2 * min_shift else 0.0
        return True, shift

    def _lower_barrier(self, progress: float, residual: float, m: int) -> None:
        """Choose the next mu: much lower after full steps, but not far below the residual."""
        mean = self.gap / m
        if progress > 0.9:
            mu = min(0.1 * mean, mean**1.5 / np.sqrt(self._scale))
        else:
            mu = mean * (0.2 if progress > 0.8 else 0.5 if progress > 0.4 else 1.0)
            if self.gap > 1e-12:
                lag = 0.5 * residual * np.sqrt(2.0 * self._scale) / m
                mu = max(mu, lag * (1.0 - progress))
        self.mu = max(min(mu, 2.0 * mean), 1e-19)

    def snapshot(self, steps: int) -> Polished:
        """Return the current configuration with normalised multipliers."""
        c = self.pairs.values(self.points)
        lam = self.multipliers / self.multipliers.sum()
        gradient = linearise(self.pairs, self.points, self._free).adjoint(lam)
        residual = float(np.abs(gradient).max(initial=0.0))
        value = float(c.max())
        gap = float(lam @ (value - c))
        return Polished(self.points.copy(), value, self.pairs, lam, residual, gap, steps)


def _balanced_level(c: np.ndarray, mu: float) -> float:
    """Solve `sum mu / (t - c) = 1` for t above max(c), by bracketed Newton steps."""
    low, high = float(c.max()), float(c.max()) + mu * len(c)
    t = low + mu
    for _ in range(100):
        excess = float((mu / (t - c)).sum()) - 1.0
        low, high = (t, high) if excess > 0.0 else (low, t)
        step = excess / float((mu / (t - c) ** 2).sum())
        t = t + step if low < t + step < high else 0.5 * (low + high)
        if abs(excess) < 1e-12:
            break
    return t


def _to_boundary(x: np.ndarray, dx: np.ndarray) -> float:
    """Return the largest step in (0, 1] that keeps 1% of each positive entry."""
    falling = dx < 0.0
    return min(1.0, float((-0.99 * x[falling] / dx[falling]).min(initial=1.0)))
