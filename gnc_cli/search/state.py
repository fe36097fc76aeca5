"""What a search knows so far: its best candidates and its counts."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from gnc_cli.geometry.active_pairs import ActivePairs
from gnc_cli.search.effort import Effort
from gnc_cli.search.problem import Problem

POOL = 10
"""Candidates that a pool keeps."""


@dataclass(frozen=True)
class Candidate:
    """A configuration and what is known of it."""

    value: float
    """Polished value, or the estimate of where its basin leads."""
    whole: np.ndarray
    """All rows, [W] or [W; H]."""
    stationarity: float = np.inf
    restricted: Problem | None = None
    """The problem over the user's symmetry, which the candidate must keep; None where free."""
    active: tuple[ActivePairs, np.ndarray] | None = None
    """Active pairs of the polish and their multipliers."""
    origin: str = ""
    """The group or construction that its first start was made with; empty for a random one."""

    @property
    def polished(self) -> bool:
        """The value is exact and first-order conditions were met or nearly so."""
        return bool(np.isfinite(self.stationarity))


@dataclass(frozen=True)
class TaskResult:
    """What a task ended with."""

    source: str
    candidates: list[Candidate]
    restarts: int = 0
    steps: int = 0
    independent: bool = False
    """Its starts knew nothing of earlier results."""
    used: tuple[float, ...] = ()
    """Values of unpolished candidates of the pool that were polished."""


@dataclass
class SearchState:
    """What the tasks so far have found."""

    tasks: int = 0
    """Number of the next task: those of earlier calls with the same seed are counted."""
    restarts: int = 0
    steps: int = 0
    idle: int = 0
    """Tasks since the best value last fell."""
    batches: int = 0
    """Independent tasks: their starts knew nothing of earlier results."""
    hits: int = 0
    """Of these, how many ended in the best value, polished."""
    torch: bool = False
    """A task that needs torch has been begun."""
    best: Candidate | None = None
    """The best of all: polished ones first."""
    credit: dict[str, float] = field(default_factory=dict)
    """Per source of starts: improvements of late."""
    pool: list[Candidate] = field(default_factory=list)
    """The candidates that later tasks start from."""
    history: list[tuple[int, float]] = field(default_factory=list)
    """Gradient steps so far and the best value, after each round."""

    def done(self, effort: Effort, target: float | None) -> bool:
        """All tasks are over, the target is met, the best value has not fallen for long, or it was
        found again and again."""
        if self.best is not None and self.best.polished:
            met = target is not None and self.best.value <= target
            if met or self.idle >= effort.patience or self.hits >= effort.hits:
                return True
        return self.tasks >= effort.tasks


def best_of(candidates: Iterable[Candidate | None]) -> Candidate | None:
    """The one of least value: polished ones first; None where there is none."""
    there = [c for c in candidates if c is not None]
    return min(there, key=lambda c: (not c.polished, c.value), default=None)


def best_distinct(pool: list[Candidate]) -> list[Candidate]:
    """The best `POOL`, sorted; of equal values (polished ones agree to rounding) the one that was
    found first."""
    kept: list[int] = []
    for i in sorted(range(len(pool)), key=lambda i: (pool[i].value, not pool[i].polished)):
        if not kept or pool[i].value - pool[kept[-1]].value > 1e-11:
            kept.append(i)
        elif i < kept[-1] and pool[i].polished >= pool[kept[-1]].polished:
            kept[-1] = i
    return [pool[i] for i in kept[:POOL]]
