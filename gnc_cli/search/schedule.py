"""Restart schedule: rounds of descents that differ, from a seed to a pool of polished codes.

Round r draws everything from the seed and r, so that a search that stopped after any round goes on
exactly as if it had not. Rounds take turns:

- fresh: random starts, sharpness 1 to 20 over the scale of the problem;
- symmetric: random cyclic groups acting on the code, one unknown representative per orbit. Most
  best known codes have a symmetry, and free descent prefers other basins (d = 3: K = 110, 120);
- hop: good codes perturbed (`perturbations`) and annealed from a higher sharpness;
- shake: the best codes disturbed a little and polished at once. Near-optimal basins crowd within
  1e-6 of each other, by one contact more or less, where no smoothed objective tells them apart.

The start sharpness decides which basins are found, so it varies within every batch. The pool keeps
the best distinct candidates; the most promising ones are polished to machine precision.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from gnc_cli.errors import UsageError
from gnc_cli.runtime.deadline import Deadline, StageProgress
from gnc_cli.search.descent import Annealing, anneal
from gnc_cli.search.effort import MAX_UNKNOWNS, Effort
from gnc_cli.search.parametrisation import cyclic_orbits, random_generator
from gnc_cli.search.perturbations import perturb, shake
from gnc_cli.search.problem import Problem, typical_scale
from gnc_cli.search.refine import polish_candidate
from gnc_cli.search.state import POOL, Candidate, SearchState, best_distinct

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
"""Draws a problem over a symmetric parametrisation."""


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
    progress: StageProgress | None = None,
) -> SearchState:
    """Run the remaining rounds of a search; returns the state after the last complete one.

    Args:
        problem: over the parametrisation that the user asked for.
        seed: with the round's number it decides every random choice.
        deadline: polled at each step. A round that it cuts short leaves its `finds` and nothing
            else, so that a resumed search repeats that round from its beginning.
        target: stop once the best polished value is at most this.
        symmetry: every round draws its problem here; None for the mixture of rounds.
        progress: called as progress(round, rounds, best value) after each round.
    """
    while not state.done(effort, target):
        before = state.leader.value if state.leader else np.inf
        after = replace(state, pool=list(state.pool), history=list(state.history))
        rng = np.random.default_rng([seed, state.round])
        _Round(problem, effort, rng, after, symmetry, deadline, device).run()
        best = after.leader
        if best is not None:
            after.history.append((after.steps, best.value))
        if deadline.expired:
            return replace(
                state,
                finds=best_distinct(state.finds + after.pool),
                cut_restarts=state.cut_restarts + after.restarts - state.restarts,
                cut_steps=state.cut_steps + after.steps - state.steps,
            )
        value = best.value if best else np.inf
        after.round += 1
        after.idle = 0 if value < before - 1e-12 else after.idle + 1
        state = after
        if progress is not None:
            progress(state.round, effort.rounds, value)
    return state


@dataclass(frozen=True)
class _Batch:
    """Descents that run together."""

    problem: Problem
    starts: np.ndarray
    decades: tuple[float, float]
    """Start sharpness times scale is drawn between these powers of ten."""
    steps: int


@dataclass(frozen=True)
class _Round:
    """The round that `state.round` numbers; its results and counts go into `state`."""

    problem: Problem
    effort: Effort
    rng: np.random.Generator
    state: SearchState
    symmetry: Symmetry | None
    deadline: Deadline
    device: torch.device | str

    def run(self) -> None:
        kind = self._kind()
        if kind == "shake":
            self._shake()
        else:
            self._admit(self._descend(self._batches(kind)))
        self.state.pool = best_distinct(self.state.pool)

    def _kind(self) -> str:
        """What this round does; it follows from its number alone once there is a pool."""
        parametrisation = self.problem.parametrisation
        kinds: tuple[str, ...] = ("fresh",)
        if parametrisation.is_free:
            kinds = self.effort.kinds
        elif parametrisation.fixed is not None:
            kinds = ("fresh", "hop", "shake")
        kind, leader = kinds[self.state.round % len(kinds)], self.state.leader
        if kind == "shake" and not (self.effort.shakes and leader and leader.polished):
            kind = "hop"
        return "fresh" if kind == "hop" and not self.state.pool else kind

    def _batches(self, kind: str) -> list[_Batch]:
        count, steps = self.effort.batch, self.effort.steps
        if self.symmetry is not None:
            restricted = self.symmetry(self.rng)
            return [_Batch(restricted, restricted.starts(self.rng, count), (0.0, 1.3), steps)]
        if kind == "hop":
            return [_Batch(self.problem, self._hops(count), (0.6, 1.8), 2 * steps // 3)]
        batches = []
        for _ in range(_GROUPS if kind == "symmetric" else 0):
            drawn = self._random_symmetry()
            if drawn is not None:
                starts = drawn.starts(self.rng, max(4, count // 4))
                batches.append(_Batch(drawn, starts, (0.0, 1.3), 2 * steps // 3))
        if batches:
            return batches
        return [_Batch(self.problem, self.problem.starts(self.rng, count), (0.0, 1.3), steps)]

    def _random_symmetry(self) -> Problem | None:
        """The problem over orbits of a random cyclic group, or None where no draw fits K."""
        rng, d, K = self.rng, self.problem.d, self.problem.K
        for _ in range(8):
            order = int(rng.choice(_ORDERS))
            if d > 4 and K % 2 == 0 and rng.random() < 0.3:
                order, generator = 2, -np.eye(d)
            else:
                generator = random_generator(rng, d, order)
            try:
                parametrisation = cyclic_orbits(generator, order, K)
            except UsageError:
                continue
            if parametrisation.unknown <= 0.75 * K:
                return type(self.problem)(parametrisation)
        return None

    def _hops(self, count: int) -> np.ndarray:
        """Perturbed members of the pool, the better the more often; features on their weights."""
        rng, K = self.rng, self.problem.K
        pool = sorted(self.state.pool, key=lambda c: c.value)
        starts = []
        for _ in range(count):
            parent = pool[min(int(rng.exponential(len(pool) / 3)), len(pool) - 1)]
            mate = pool[rng.integers(len(pool))]
            code = perturb(rng, parent.whole[:K], mate.whole[:K])
            starts.append(self.problem.from_code(code))
        return np.array(starts)

    def _descend(self, batches: list[_Batch]) -> list[Candidate]:
        """The finite ends of the descents, best estimate first."""
        leader = self.state.leader
        typical = typical_scale(self.problem.d, self.problem.K)
        scale = self.problem.scale(leader.value) if leader else typical
        found = []
        for batch in batches:
            sharpness = 10 ** self.rng.uniform(*batch.decades, len(batch.starts)) / scale
            # A step changes a pair's exponent by a few units: spacing * step * sharpness ~ 4.
            plan = Annealing(sharpness, _SHARP / scale, 4.0 / np.sqrt(2.0 * scale), batch.steps)
            descent = anneal(
                batch.problem, batch.starts, plan, deadline=self.deadline, device=self.device
            )
            self.state.restarts += len(descent.estimates)
            self.state.steps += descent.steps
            restricted = batch.problem if self.symmetry is not None else None
            found += [
                Candidate(float(estimate), batch.problem.whole(points), restricted=restricted)
                for estimate, points in zip(descent.estimates, descent.points, strict=True)
                if np.isfinite(estimate)
            ]
            if self.deadline.expired:
                break
        return sorted(found, key=lambda c: c.value)

    def _admit(self, found: list[Candidate]) -> None:
        """Polish the most promising results; let the best distinct ones of the rest into the pool.

        Results that look like the best one are polished too: near-optimal basins crowd within 1e-6
        of each other (d = 3, K = 73), closer than estimates can tell.
        """
        pool = self.state.pool
        polishable = self.problem.coordinates <= MAX_UNKNOWNS
        for rank, candidate in enumerate(found):
            best = min((c.value for c in pool if c.polished), default=np.inf)
            scale = self.problem.scale(candidate.value)
            promising = rank < self.effort.polishes and candidate.value < best + _NEAR * scale
            if polishable and promising:
                pool.append(polish_candidate(self.problem, candidate, self.deadline, bar=best))
                if self.deadline.expired:
                    break
            elif rank >= 4 * POOL:
                break
            elif all(abs(candidate.value - c.value) > _SAME * scale for c in pool):
                pool.append(candidate)

    def _shake(self) -> None:
        """Disturb one of the best three a little and polish, without descent between.

        Each result takes its place among the three at once: a walk downhill through crowded basins.
        """
        problem, movable = self.problem, self.problem.movable()
        for turn in range(self.effort.shakes):
            leaders = [c for c in self.state.pool if c.polished][:3]
            parent = leaders[turn // 2 % len(leaders) if turn % 2 else 0]  # half from the best
            spacing = np.sqrt(2.0 * problem.scale(parent.value))
            whole = shake(self.rng, parent.whole, problem.K, movable, spacing)
            shaken = replace(parent, whole=whole, active=None)
            bar = leaders[-1].value
            self.state.pool.append(polish_candidate(problem, shaken, self.deadline, bar=bar))
            self.state.pool = best_distinct(self.state.pool)
            if self.deadline.expired:
                break
