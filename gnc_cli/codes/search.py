"""Search over basins, shared by the problems: restarts that differ, hops, polish.

A search is a sequence of rounds. Round r draws everything from the seed and r, so that a search
that stopped after any round goes on exactly as if it had not. Rounds take turns:

- fresh: random starts, sharpness 1 to 20 over the scale of the problem;
- symmetric: random cyclic groups acting on the code, one representative an orbit unknown. Most
  best known codes have a symmetry, and free descent prefers other basins (d = 3: K = 110, 120);
- hop: good codes perturbed (`perturbations`) and annealed from a higher sharpness;
- shake: the best codes jittered and polished at once. Near-optimal basins crowd within 1e-6 of
  each other, by one contact more or less, where no smoothed objective tells them apart.

The best candidates of a round are polished to machine precision; the pool keeps the best distinct
ones. The start sharpness decides which basins are found, so it varies within every batch.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from gnc_cli.codes.effort import Effort
from gnc_cli.codes.layout import orbits, random_generator
from gnc_cli.codes.perturbations import perturb, shake
from gnc_cli.codes.problem import Problem, typical_scale
from gnc_cli.errors import UsageError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.polish import MAX_UNKNOWNS, Polished, polish
from gnc_cli.numerics.riemannian import Annealing, Descent, anneal

__all__ = ["Candidate", "Note", "SearchState", "Symmetry", "polished", "search"]

_POOL = 10
_SAME = 3e-5
"""Estimates this close, relative to the scale, count as one basin in the pool."""
_NEAR = 1e-3
"""Estimates this far above the best value, relative to the scale, are still worth a polish."""
_SHARP = 1e4
"""Final sharpness times scale: the estimate is then good to 1e-5 of the scale."""
_FAIR_CHANCE = 40
"""Newton steps before a polish may be left for being predicted to end above the bar."""
_GROUPS = 6
"""Random groups in a symmetric round."""
_ORDERS = (2, 2, 2, 3, 3, 4, 5, 6, 7, 8, 10, 12)

Note = Callable[[str, int, int, float], None]
Symmetry = Callable[[np.random.Generator], Problem]
"""Draws a problem over a symmetric layout."""


@dataclass(frozen=True)
class Candidate:
    """A configuration and what is known of it."""

    value: float
    """Polished value, or the estimate of where its basin leads."""
    whole: np.ndarray
    """All rows, [W] or [W; H]."""
    stationarity: float = np.inf
    gap: float = np.inf
    over: Problem | None = None
    """The problem over the symmetric layout it must keep, where the user asked for one."""
    proof: Polished | None = None
    """Terms and multipliers of the polish."""

    @property
    def polished(self) -> bool:
        """The value is exact and first-order conditions were met or nearly so."""
        return bool(np.isfinite(self.stationarity))


@dataclass
class SearchState:
    """All that a search needs to go on."""

    round: int = 0
    restarts: int = 0
    steps: int = 0
    idle: int = 0
    """Rounds since the best value last fell."""
    pool: list[Candidate] = field(default_factory=list)
    history: list[tuple[int, float]] = field(default_factory=list)
    finds: list[Candidate] = field(default_factory=list)
    """What rounds cut short left: counts for `best`, never for going on."""
    cut_restarts: int = 0
    """Descents of rounds cut short."""
    cut_steps: int = 0

    @property
    def leader(self) -> Candidate | None:
        """The best of the pool: polished ones first."""
        return _best_of(self.pool)

    @property
    def best(self) -> Candidate | None:
        """The best of all that was found."""
        return _best_of(self.pool + self.finds)

    def done(self, effort: Effort, target: float | None) -> bool:
        """The rounds are spent, the target is met, or nothing better has come for long."""
        best = self.leader
        settled = best is not None and best.polished
        met = settled and target is not None and best.value <= target  # type: ignore[union-attr]
        return self.round >= effort.rounds or met or (settled and self.idle >= effort.patience)


def search(
    problem: Problem,
    effort: Effort,
    seed: int,
    state: SearchState,
    *,
    deadline: Deadline,
    target: float | None = None,
    symmetry: Symmetry | None = None,
    device: torch.device | str = "cpu",
    note: Note | None = None,
) -> SearchState:
    """Run the remaining rounds of a search.

    Args:
        problem: over the layout that the user asked for.
        effort: the plan.
        seed: with the round's number it decides every random choice.
        state: where to go on; `SearchState()` at first.
        deadline: polled at each step; a round it cuts short leaves its `finds` and nothing else,
            so that a resumed search repeats it from its beginning.
        target: stop once the best polished value is at most this.
        symmetry: every round draws its layout here (the user's `--symmetry`); None for the mixture.
        note: told of progress.

    Returns:
        The state after the last complete round.
    """
    while not state.done(effort, target):
        rng = np.random.default_rng([seed, state.round])
        before = state.leader.value if state.leader else np.inf
        nxt = replace(state, pool=list(state.pool), history=list(state.history))
        if _kind(problem, effort, nxt) == "shake":
            results = []
            _shake(problem, effort, rng, nxt, deadline)
        else:
            results = _descents(problem, effort, rng, nxt, symmetry, deadline, device)
        nxt.restarts += sum(len(descent.estimates) for descent, _ in results)
        nxt.steps += sum(descent.steps for descent, _ in results)
        _admit(problem, effort, nxt, _candidates(results, symmetry is not None), deadline)
        best = nxt.leader
        if best is not None:
            nxt.history.append((nxt.steps, best.value))
        if deadline.expired:
            return replace(
                state,
                finds=_distinct(state.finds + nxt.pool)[:_POOL],
                cut_restarts=state.cut_restarts + nxt.restarts - state.restarts,
                cut_steps=state.cut_steps + nxt.steps - state.steps,
            )
        nxt.round += 1
        after = best.value if best else np.inf
        nxt.idle = 0 if after < before - 1e-12 else nxt.idle + 1
        state = nxt
        if note is not None:
            note("search", state.round, effort.rounds, after)
    return state


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
    if problem.layout.is_free:
        turns: tuple[str, ...] = (
            "fresh", "symmetric", "shake", "hop", "symmetric", "shake", "hop", "shake",
        )  # fmt: skip
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
        state.pool = _distinct(state.pool)[:_POOL]
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
        elif rank >= 4 * _POOL:
            break
        elif all(abs(candidate.value - c.value) > _SAME * scale for c in state.pool):
            state.pool.append(candidate)
    state.pool = _distinct(state.pool)[:_POOL]


def polished(
    problem: Problem,
    candidate: Candidate,
    deadline: Deadline,
    *,
    bar: float = np.inf,
) -> Candidate:
    """The candidate polished; unpolished where that broke a symmetry it must keep.

    Args:
        bar: a basin that is predicted to end above this value is left early.
    """
    done = polish(
        candidate.whole,
        problem.select,
        problem.movable(),
        scale=problem.scale(candidate.value),
        give_up=lambda step, predicted: step >= _FAIR_CHANCE and predicted > bar,
        deadline=deadline,
    )
    whole, value = done.points, done.value
    if candidate.over is not None:
        whole = candidate.over.symmetric(whole)
        value = problem.select(whole, -np.inf).largest(whole)
        if value > done.value + 1e-9:
            return candidate
    return Candidate(value, whole, done.stationarity, done.gap, candidate.over, done)


def _best_of(pool: list[Candidate]) -> Candidate | None:
    settled = [c for c in pool if c.polished]
    return min(settled or pool, key=lambda c: c.value, default=None)


def _distinct(pool: list[Candidate]) -> list[Candidate]:
    """Sorted, equal values once (polished ones agree to rounding)."""
    kept: list[Candidate] = []
    for candidate in sorted(pool, key=lambda c: (c.value, not c.polished)):
        if not kept or candidate.value - kept[-1].value > 1e-11:
            kept.append(candidate)
    return kept
