"""One round of a search: what it descends from, or disturbs, and what it lets into the pool.

- fresh: random starts, sharpness 1 to 20 over the scale of the problem;
- symmetric: random cyclic groups acting on the code, one representative an orbit unknown. Most
  best known codes have a symmetry, and free descent prefers other basins (d = 3: K = 110, 120);
- hop: good codes perturbed (`perturbations`) and annealed from a higher sharpness;
- shake: the best codes disturbed a little and polished at once. Near-optimal basins crowd within
  1e-6 of each other, by one contact more or less, where no smoothed objective tells them apart.

The start sharpness decides which basins are found, so it varies within every batch.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from gnc_cli.codes.candidates import POOL, Candidate, SearchState, distinct, polished
from gnc_cli.codes.effort import MAX_UNKNOWNS, Effort
from gnc_cli.codes.layout import orbits, random_generator
from gnc_cli.codes.perturbations import perturb, shake
from gnc_cli.codes.problem import Problem, typical_scale
from gnc_cli.errors import UsageError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.riemannian import Annealing, Descent, anneal

__all__ = ["Symmetry", "play_round"]

_SAME = 3e-5
"""Estimates this close, relative to the scale, count as one basin in the pool."""
_NEAR = 1e-3
"""Estimates this far above the best value, relative to the scale, are still worth a polish."""
_SHARP = 1e4
"""Final sharpness times scale: the estimate is then good to 1e-5 of the scale."""
_GROUPS = 6
"""Random groups in a symmetric round."""
_ORDERS = (2, 2, 2, 3, 3, 4, 5, 6, 7, 8, 10, 12)

Symmetry = Callable[[np.random.Generator], Problem]
"""Draws a problem over a symmetric layout."""


def play_round(
    problem: Problem,
    effort: Effort,
    rng: np.random.Generator,
    state: SearchState,
    *,
    symmetry: Symmetry | None,
    deadline: Deadline,
    device: torch.device | str,
) -> None:
    """Play the round that `state.round` numbers; its finds and counts go into `state`."""
    if _kind(problem, effort, state) == "shake":
        _shake(problem, effort, rng, state, deadline)
        return
    results = _descents(problem, effort, rng, state, symmetry, deadline, device)
    state.restarts += sum(len(descent.estimates) for descent, _ in results)
    state.steps += sum(descent.steps for descent, _ in results)
    found = _candidates(results, symmetry is not None)
    _admit(problem, effort, state, found, deadline)


def _descents(
    problem: Problem,
    effort: Effort,
    rng: np.random.Generator,
    state: SearchState,
    symmetry: Symmetry | None,
    deadline: Deadline,
    device: torch.device | str,
) -> list[tuple[Descent, Problem]]:
    """The batches of this round, each with the problem it ran over."""
    kind = _kind(problem, effort, state)
    leader = state.leader
    scale = problem.scale(leader.value) if leader else typical_scale(problem.d, problem.K)
    batches: list[tuple[Problem, np.ndarray, tuple[float, float], int]] = []
    hop = (0.6, 1.8), 2 * effort.steps // 3
    if kind == "hop":
        batches.append((problem, _children(problem, rng, state, effort.restarts), *hop))
    elif kind == "symmetric" or symmetry is not None:
        for _ in range(_GROUPS if symmetry is None else 1):
            over = symmetry(rng) if symmetry else _random_symmetry(problem, rng)
            if over is None:
                continue
            some = max(4, effort.restarts // 4) if symmetry is None else effort.restarts
            steps = effort.steps if symmetry else 2 * effort.steps // 3
            batches.append((over, over.starts(rng, some), (0.0, 1.3), steps))
    if not batches:
        fresh = problem.starts(rng, effort.restarts)
        batches.append((problem, fresh, (0.0, 1.3), effort.steps))
    results = []
    for over, starts, (low, high), steps in batches:
        sharpness = 10 ** rng.uniform(low, high, len(starts)) / scale
        # A step turns a term's exponent by a few units: spacing * step * sharpness ~ 4.
        plan = Annealing(sharpness, _SHARP / scale, 4.0 / np.sqrt(2.0 * scale), steps)
        results.append(
            (
                anneal(
                    over.objective, over.estimate, starts, plan,
                    project=over.layout.project if over.layout.projections is not None else None,
                    deadline=deadline, device=device,
                ),
                over,
            )
        )  # fmt: skip
        if deadline.expired:
            break
    return results


def _kind(problem: Problem, effort: Effort, state: SearchState) -> str:
    """What this round does; it follows from the round's number alone once there is a pool."""
    turns: tuple[str, ...]
    if problem.layout.is_free:
        turns = effort.turns
    elif problem.layout.fixed is not None:
        turns = ("fresh", "hop", "shake")
    else:
        turns = ("fresh",)
    kind = turns[state.round % len(turns)]
    if kind == "shake" and not (effort.shakes and state.leader and state.leader.polished):
        kind = "hop"
    return "fresh" if kind == "hop" and not state.pool else kind


def _shake(
    problem: Problem,
    effort: Effort,
    rng: np.random.Generator,
    state: SearchState,
    deadline: Deadline,
) -> None:
    """Disturb one of the best three a little and polish, without descent between.

    Each find takes its place among the three at once: a walk downhill through crowded basins.
    """
    movable = problem.movable()
    for turn in range(effort.shakes):
        leaders = [c for c in state.pool if c.polished][:3]
        parent = leaders[turn // 2 % len(leaders) if turn % 2 else 0]  # half from the best
        spacing = np.sqrt(2.0 * problem.scale(parent.value))
        whole = shake(rng, parent.whole, problem.K, movable, spacing)
        shaken = replace(parent, whole=whole, proof=None)
        state.pool.append(polished(problem, shaken, deadline, bar=leaders[-1].value))
        state.pool = distinct(state.pool)[:POOL]
        if deadline.expired:
            break


def _random_symmetry(problem: Problem, rng: np.random.Generator) -> Problem | None:
    """The problem over orbits of a random cyclic group, or None where no draw fits K."""
    for _ in range(8):
        order = int(rng.choice(_ORDERS))
        if problem.d > 4 and problem.K % 2 == 0 and rng.random() < 0.3:
            order, generator = 2, -np.eye(problem.d)
        else:
            generator = random_generator(rng, problem.d, order)
        try:
            layout = orbits(generator, order, problem.K)
        except UsageError:
            continue
        if layout.unknown <= 0.75 * problem.K:
            return problem.with_layout(layout)
    return None


def _children(
    problem: Problem, rng: np.random.Generator, state: SearchState, restarts: int
) -> np.ndarray:
    """Perturbed members of the pool, the better the more often; features on their weights."""
    pool = sorted(state.pool, key=lambda c: c.value)
    K = problem.K
    children = []
    for _ in range(restarts):
        parent = pool[min(int(rng.exponential(len(pool) / 3)), len(pool) - 1)]
        mate = pool[rng.integers(len(pool))]
        code = perturb(rng, parent.whole[:K], mate.whole[:K])
        children.append(problem.from_code(code))
    return np.array(children)


def _candidates(results: list[tuple[Descent, Problem]], keep: bool) -> list[Candidate]:
    """The finite ends of a round's descents, best estimate first."""
    return sorted(
        (
            Candidate(float(estimate), over.whole(points), over=over if keep else None)
            for descent, over in results
            for estimate, points in zip(descent.estimates, descent.points, strict=True)
            if np.isfinite(estimate)
        ),
        key=lambda c: c.value,
    )


def _admit(
    problem: Problem,
    effort: Effort,
    state: SearchState,
    found: list[Candidate],
    deadline: Deadline,
) -> None:
    """Polish the most promising finds; let the best distinct ones of the rest into the pool.

    Finds that look like the best one are polished too: near-optimal basins crowd within 1e-6 of
    each other (d = 3, K = 73), closer than estimates can tell.
    """
    polishable = problem.coordinates <= MAX_UNKNOWNS
    for rank, candidate in enumerate(found):
        best = min((c.value for c in state.pool if c.polished), default=np.inf)
        scale = problem.scale(candidate.value)
        if polishable and rank < effort.polishes and candidate.value < best + _NEAR * scale:
            state.pool.append(polished(problem, candidate, deadline, bar=best))
            if deadline.expired:
                break
        elif rank >= 4 * POOL:
            break
        elif all(abs(candidate.value - c.value) > _SAME * scale for c in state.pool):
            state.pool.append(candidate)
    state.pool = distinct(state.pool)[:POOL]
