"""Polish and refinement of a candidate, and the stationarity of the code.

A candidate has Newton's polish (`geometry.polish`) where its matrix can be factorised, or else
L-BFGS on the smoothed maximum. Its first-order optimality is the optimum of a linear program: over
tangent moves u of the free rows, every coordinate at most 1 radian, minimise the largest of
`c_p + <grad c_p, u>`. The first-order gain is the present value less this optimum, and 0 at a
first-order (KKT) point. By duality convex multipliers bound it:
`gain <= sum lambda (max c - c) + |J^T lambda|_1`, and polished multipliers make that bound tight to
rounding. Where the bound is not small the program itself is solved (HiGHS).

A first-order point may be a saddle. `settle` applies the second-order test
(`geometry.second_order`) and continues from a saddle along its direction of descent.
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
_REFINED_SHARPNESS = (1e4, 1e5, 1e6)
"""Sharpness of the stages of L-BFGS, times the scale."""
_MAX_EXACT_BOUND = 1e-9
"""Largest dual bound that stands for the gain, whose linear program is not solved then."""
_MAX_ENTRIES = 2_000_000
"""Largest number of entries of a linear program: larger ones take too long."""
_MAX_SADDLES = 5
"""Largest number of saddles to leave, one after the other: each takes a polish."""


@dataclass(frozen=True)
class FirstOrder:
    """First-order optimality of one configuration."""

    stationarity: float
    """Largest absolute component of sum lambda grad c."""
    gain: float
    """Optimum of the linear program, or its dual bound where that is below 1e-9; NaN where the
    program was not solved."""
    bound: float = np.inf
    """Dual bound of the gain: no first-order move gains more."""


def polish_candidate(
    problem: Problem,
    candidate: Candidate,
    deadline: Deadline,
    *,
    bar: float = np.inf,
    first_gap: float = FIRST_GAP,
) -> Candidate:
    """Polish a candidate, or return it unpolished where that breaks a symmetry that it must keep.

    Args:
        problem: with the pairs and the scale.
        candidate: its rows, and the problem over its symmetry.
        deadline: polled at each step.
        bar: the polish stops early in a basin with a higher predicted end.
        first_gap: first gap of the interior point.
    """
    end = polish(
        candidate.whole,
        problem.active_pairs,
        problem.movable(),
        scale=problem.scale(candidate.value),
        deadline=deadline,
        bar=bar,
        first_gap=first_gap,
    )
    whole, value = end.points, end.value
    if candidate.restricted is not None:
        whole = candidate.restricted.symmetric(whole)
        value = problem.value(whole)
        if value > end.value + 1e-9:
            return candidate
    active = end.pairs, end.multipliers
    return replace(
        candidate, value=value, whole=whole, stationarity=end.stationarity, active=active
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
    """Minimise the smoothed maximum by L-BFGS at sharpness 1e4, 1e5, 1e6 / scale.

    It serves where the matrix of Newton's polish is too large. The softmax weights at the last
    sharpness estimate the multipliers, so that the size of the gradient there is a stationarity.

    Args:
        problem: with the objective.
        whole: all rows, shape (K, d) or (2 K, d).
        scale: of the problem at the value of these rows.
        steps: largest number of steps at each sharpness.
        deadline: polled at each step; the best point so far is returned when it expires.
        sharp: True for the end of a descent to the last sharpness, whose rows stay as they are.

    Returns:
        All rows, shaped like `whole`, and their stationarity.
    """
    points = problem.unknowns(whole)
    for sharpness in () if sharp else _REFINED_SHARPNESS:
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
    _, gradient = _smoothed(problem, _REFINED_SHARPNESS[-1] / scale)(points)
    tangent = gradient - (gradient * points).sum(1, keepdims=True) * points
    return problem.whole(points), FirstOrder(float(np.abs(tangent).max()), np.nan)


def _smoothed(problem: Problem, sharpness: float) -> _Smoothed:
    """Return the smoothed maximum of unit rows (P, d) with its gradient in the parametrisation."""
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
    """Compute the stationarity and the first-order gain of unit rows.

    Args:
        points: unit rows, shape (P, d).
        pairs: m pairs near the largest value.
        multipliers: convex weights of the pairs, shape (m,).
        free: mask of the rows that may move, shape (P,).
        deadline: of the linear program.
    """
    values = pairs.values(points)
    linear = linearise(pairs, points, free)
    gradient = linear.adjoint(multipliers)
    gap = float(multipliers @ (values.max() - values))
    stationarity = float(np.abs(gradient).max(initial=0.0))
    bound = gap + float(np.abs(gradient).sum())
    if bound <= _MAX_EXACT_BOUND:
        return FirstOrder(stationarity, bound, bound)
    if deadline.expired or sum(g.size for g in linear.gradients) > _MAX_ENTRIES:
        return FirstOrder(stationarity, np.nan, bound)
    move = linear.best_move(values, 1.0, deadline)
    if move is None:
        return FirstOrder(stationarity, np.nan, bound)
    gain = float(values.max() - (values + linear.forward(move)).max())
    return FirstOrder(stationarity, max(0.0, gain), bound)


def settle(
    problem: Problem, candidate: Candidate, deadline: Deadline
) -> tuple[Candidate, SecondOrder | None]:
    """Descend from a polished candidate while it is a saddle.

    A candidate that must keep a symmetry stays: the direction of descent may break it.

    Returns:
        The candidate, or a better one; the result of the last test, None without a test.
    """
    verdict = None
    for _ in range(_MAX_SADDLES):
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
        lower = Candidate(problem.value(verdict.lower), verdict.lower)
        lower = polish_candidate(problem, lower, deadline)
        if not lower.value < candidate.value - 1e-12:
            break
        candidate, verdict = lower, None
    return candidate, verdict


def examine(weights: np.ndarray, deadline: Deadline) -> SecondOrder:
    """Apply the second-order test to a code (K, d), with the multipliers of its polish."""
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
