"""What a search has found so far: candidates, the pool, and how one of them is polished."""

from dataclasses import dataclass, field

import numpy as np

from gnc_cli.codes.effort import Effort
from gnc_cli.codes.problem import Problem
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.polish import Polished, polish

__all__ = ["POOL", "Candidate", "SearchState", "distinct", "polished"]

POOL = 10
"""Candidates that a pool keeps."""
_FAIR_CHANCE = 40
"""Newton steps before a polish may be left for being predicted to end above the bar."""


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


def distinct(pool: list[Candidate]) -> list[Candidate]:
    """Sorted; of equal values (polished ones agree to rounding) the one that was found first."""
    kept: list[int] = []
    for i in sorted(range(len(pool)), key=lambda i: (pool[i].value, not pool[i].polished)):
        if not kept or pool[i].value - pool[kept[-1]].value > 1e-11:
            kept.append(i)
        elif i < kept[-1] and pool[i].polished >= pool[kept[-1]].polished:
            kept[-1] = i
    return [pool[i] for i in kept]
