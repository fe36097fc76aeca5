"""From a candidate to a stationary code, and how stationary that code is.

Newton's polish (`geometry.polish`) where its matrix can be factorised, L-BFGS on the smoothed
maximum beyond. Then first-order optimality by a linear programme: over tangent moves u of the free
rows, every coordinate at most 1 radian, minimise the largest of `c_p + <grad c_p, u>`. What its
optimum lies below the present value is the first-order gain; at a first-order (KKT) point it is 0.
By duality convex multipliers bound it: `gain <= sum lambda (max c - c) + |J^T lambda|_1`, and
polished multipliers make that bound tight to rounding. Where the bound is not small the programme
itself is solved (HiGHS).

A first-order point may be a saddle. `settle` asks the second-order test (`geometry.second_order`)
and goes on from a saddle by its direction of descent.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gnc_cli.geometry.active_pairs import ActivePairs, linearise
from gnc_cli.geometry.polish import FIRST_GAP, polish
from gnc_cli.geometry.second_order import SecondOrder, second_order
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.descent import lbfgs, smoothed_cosine
from gnc_cli.search.parametrisation import free
from gnc_cli.search.problem import Candidate, Problem, Tammes

_Smoothed = Callable[[np.ndarray], tuple[float, np.ndarray]]
_SHARPNESS = (1e4, 1e5, 1e6)
_SMALL = 1e-9
_MOST_ENTRIES = 2_000_000
_MOST_SADDLES = 5
"""Saddles left one after the other."""


@dataclass(frozen=True)
class FirstOrder:
    """First-order optimality of one configuration."""

    stationarity: float
    """Largest absolute component of sum lambda grad c."""
    gain: float
    """Optimum of the linear programme, or its dual bound where that is below 1e-9; NaN where the
    programme was not solved."""
    bound: float = np.inf
    """The dual bound of the gain: how much at most a first-order move could gain."""


def polish_candidate(
    problem: Problem,
    candidate: Candidate,
    deadline: Deadline,
    *,
    bar: float = np.inf,
    first_gap: float = FIRST_GAP,
) -> Candidate:
    """The candidate polished; unpolished where that broke a symmetry it must keep.

    A basin that is predicted to end above `bar` is left early.
    """
    done = polish(
        candidate.whole,
        problem.active_pairs,
        problem.movable(),
        scale=problem.scale(candidate.value),
        deadline=deadline,
        bar=bar,
        first_gap=first_gap,
    )
    whole, value = done.points, done.value
    if candidate.restricted is not None:
        whole = candidate.restricted.symmetric(whole)
        value = problem.value(whole)
        if value > done.value + 1e-9:
            return candidate
    active = done.pairs, done.multipliers
    return replace(
        candidate, value=value, whole=whole, stationarity=done.stationarity, active=active
    )


def refine(
    problem: Problem,
    whole: np.ndarray,
    *,
    scale: float,
    steps: int,
    deadline: Deadline,
    sharp: bool = False,
) -> tuple[np.ndarray, FirstOrder]:
    """L-BFGS on the smoothed maximum at sharpness 1e4, 1e5, 1e6 / scale, where Newton is too large.

    The softmax weights at the last sharpness estimate the multipliers, so the gradient's size there
    is an honest stationarity. When the deadline expires, the best point so far is returned.

    Args:
        sharp: the rows are the end of a descent to the last sharpness, and stay as they are.
    """
    points = problem.unknowns(whole)
    for sharpness in () if sharp else _SHARPNESS:
        points, _ = lbfgs(
            _smoothed(problem, sharpness / scale),
            points,
            on_sphere=True,
            max_steps=steps,
            memory=20,
            tolerance=1e-12,
            deadline=deadline,
        )
        if deadline.expired:
            break
    _, gradient = _smoothed(problem, _SHARPNESS[-1] / scale)(points)
    tangent = gradient - (gradient * points).sum(1, keepdims=True) * points
    return problem.whole(points), FirstOrder(float(np.abs(tangent).max()), np.nan)


def _smoothed(problem: Problem, sharpness: float) -> _Smoothed:
    """The smoothed maximum of unit rows (P, d) and its gradient along the parametrisation."""
    if isinstance(problem, Tammes) and not problem.parametrisation.num_fixed:
        return smoothed_cosine(problem.parametrisation, sharpness)
    import torch

    beta = torch.full((1, 1, 1), sharpness, dtype=torch.float64)

    def value_and_gradient(points: np.ndarray) -> tuple[float, np.ndarray]:
        tensor = torch.as_tensor(points)[None].requires_grad_()
        value = problem.objective(tensor, beta)
        (gradient,) = torch.autograd.grad(value.sum(), tensor)
        return float(value.detach()), problem.parametrisation.project(gradient)[0].numpy()

    return value_and_gradient


def first_order(
    points: np.ndarray,
    pairs: ActivePairs,
    multipliers: np.ndarray,
    free: np.ndarray,
    deadline: Deadline,
) -> FirstOrder:
    """Stationarity and gain of unit rows (P, d), of which those in `free` (P,) may move.

    Args:
        pairs: those near the largest, m of them; multipliers: convex weights (m,).
        deadline: of the linear programme.
    """
    values = pairs.values(points)
    linear = linearise(pairs, points, free)
    gradient = linear.adjoint(multipliers)
    gap = float(multipliers @ (values.max() - values))
    stationarity = float(np.abs(gradient).max(initial=0.0))
    bound = gap + float(np.abs(gradient).sum())
    if bound <= _SMALL:
        return FirstOrder(stationarity, bound, bound)
    if deadline.expired or sum(g.size for g in linear.gradients) > _MOST_ENTRIES:
        return FirstOrder(stationarity, np.nan, bound)
    move = linear.best_move(values, 1.0, deadline)
    if move is None:
        return FirstOrder(stationarity, np.nan, bound)
    gain = float(values.max() - (values + linear.forward(move)).max())
    return FirstOrder(stationarity, max(0.0, gain), bound)


def settle(
    problem: Problem, candidate: Candidate, deadline: Deadline
) -> tuple[Candidate, SecondOrder | None]:
    """A polished candidate, or the better one below it where it is a saddle; the last verdict.

    A candidate that must keep a symmetry stays: the direction of descent may break it.
    """
    verdict = None
    for _ in range(_MOST_SADDLES):
        if candidate.active is None:
            break
        verdict = second_order(
            candidate.whole,
            *candidate.active,
            problem.movable(),
            problem.active_pairs,
            scale=problem.scale(candidate.value),
            deadline=deadline,
        )
        if verdict.lower is None or candidate.restricted is not None:
            break
        below = Candidate(problem.value(verdict.lower), verdict.lower)
        below = polish_candidate(problem, below, deadline)
        if not below.value < candidate.value - 1e-12:
            break
        candidate, verdict = below, None
    return candidate, verdict


def examine(weights: np.ndarray, deadline: Deadline) -> SecondOrder:
    """The second-order test of a given code (K, d), with the multipliers of its polish."""
    K, d = weights.shape
    problem = Tammes(free(d, K))
    candidate = Candidate(problem.value(weights), weights)
    active = polish_candidate(problem, candidate, deadline).active
    assert active is not None, "a polish gives multipliers"
    return second_order(
        weights,
        *active,
        problem.movable(),
        problem.active_pairs,
        scale=problem.scale(candidate.value),
        deadline=deadline,
    )
