"""Rounds of a search: the tasks of each, what the next round learns from them, and the end.

Tasks are numbered, and the number gives the round. Every random choice of a task is drawn from the
seed, its round, its place there and the results of earlier rounds, and a round learns from its
results in the order of the tasks. So the code depends on the seed and the effort, not on the number
of processes or the order in which they finish. A time limit is the exception: it cuts rounds short.
A resumed search continues with the next number, from the best code. The first rounds are small and
short, so that a first code is available early. Later ones grow, so that many processes rarely wait
for the last task of a round.

Seven sources of starts (`tasks`) share the tasks of a round as the arms of a bandit. `fresh`,
`symmetric`, `neighbour` and `algebra` make new starts; `symmetric hop`, `hop` and `shake` begin
with codes of the archive. Each has a prior weight and a credit for improvements of the best code,
which fades by the round. The two kinds share the tasks by their credits as well, but each has at
least a fifth: steps downhill are many and small, and would crowd out the new starts that lead to
better basins. Where a polish is expensive, the eighth source, `polish`, has an eighth of the tasks.

A known code that the search is to improve (`SearchState.start`) takes no part in this until it is
beaten: it stays out of the archive, where it would be the parent of most hops, and is often rigid,
so that its hops lead nowhere. The search descends from it once, before the first round, and half of
the hops and shakes start from it. These count only where they improve on it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.parallel import Pool
from gnc_cli.search.effort import Effort, is_long
from gnc_cli.search.problem import Candidate, Problem
from gnc_cli.search.tasks import (
    ESTIMATE_ERROR,
    MAX_POLISH_GAP,
    Task,
    TaskResult,
    algebra_seconds,
    best_distinct,
    perform,
)

_FIRST_SIZES = (1, 2, 4)
"""Tasks of the first rounds, few, so that a first code is available early."""
_ROUND_SIZE, _MAX_ROUND_SIZE = 8, 64
"""Tasks of the round after these, and of any. The size doubles every eighth round, so that many
processes rarely wait for the last task."""
_FIRST_SHARES: tuple[float, ...] = (0.1, 0.25, 0.5)
"""Shares of the steps of a descent in the first rounds, so that a first code is available early."""
_NEW_WEIGHTS = {"fresh": 1.0, "symmetric": 4.0, "neighbour": 0.5, "algebra": 0.5}
"""Prior weights of the sources of new starts."""
_MIN_PARTS_DIMENSION = 9
"""Dimension from which most codes are parts of others: algebra has more weight, from round 1 on."""
_ARCHIVE_WEIGHTS = {"hop": 2.0, "symmetric hop": 1.0, "shake": 3.0}
"""Prior weights of the sources that start from the archive."""
_SLOW_SHAKE_WEIGHT = 0.2
"""Prior weight of shakes in more than three dimensions, where a batch of descents takes less time
than their polishes. Where d = 3, shakes find the best known code of (3, 99) in half a minute."""
_MIN_SHAKES = 5
"""Smallest number of shakes in a task with which they have their weight for d = 3: with fewer, a
polish takes longer than a batch of descents there as well."""
_FIRST_MIXED_ROUND = 2
"""Round from which all sources compete: the archive is empty or small before."""
_MAX_START_SHARE = 0.25
"""Largest share of a time limit for the descent from a known code, so that rounds follow."""
_MAX_ALGEBRA_SECONDS = 10.0
"""Largest number of seconds of the first part of algebraic starts with which long searches make
them: a quarter of a long descent."""
_CREDIT_DECAY = 0.7
"""Factor by which credits fade in a round."""
_CREDIT_WEIGHT = 4.0
"""Weight of one improvement, compared with a prior weight of 1."""
_MIN_KIND_SHARE = 0.2
"""Smallest share of the tasks for new starts, and for starts from the archive."""
_MAX_BASIN_GAP = 1.5 * ESTIMATE_ERROR
"""Largest gap of two values that may be those of one code, relative to the scale: estimates err."""
_MIN_ARCHIVE_GAP = 5e-4
"""Smallest gap of two codes of the archive where d = 3, relative to the scale: hops would start
from variants of one code alone, by a contact or a rattler, otherwise."""
_MAX_EVALUATIONS = 3
"""Largest number of unpolished ends of a task whose rows are evaluated: each takes K^2 d steps."""
_VALUE_TOLERANCE = 1e-10
"""Largest difference of two polished values of one code, above the rounding of a polish."""


@dataclass
class SearchState:
    """Results of the tasks so far."""

    tasks: int = 0
    """Number of the next task. It counts those of earlier calls with the same seed."""
    restarts: int = 0
    """Number of starts. It counts those of earlier calls with the same seed."""
    steps: int = 0
    idle: int = 0
    """Number of tasks since the best value last fell."""
    batches: int = 0
    """Number of independent tasks, whose starts use no earlier results."""
    hits: int = 0
    """Number of independent tasks that ended in the best value, polished."""
    best: Candidate | None = None
    """The best code of all, with the value of its rows, polished or not."""
    credit: dict[str, float] = field(default_factory=dict)
    """Recent improvements by each source of starts, fading by the round."""
    archive: list[Candidate] = field(default_factory=list)
    """Candidates that later tasks start from."""
    start: Candidate | None = None
    """A known code, until the search has a better one."""
    history: list[tuple[int, float]] = field(default_factory=list)
    """Number of gradient steps and the best value, after each round."""

    def is_over(self, problem: Problem, effort: Effort, target_distance: float) -> bool:
        """Return whether the search ends.

        It ends once all tasks or starts are over, the target is met, the best value has not fallen
        for long, or several independent tasks have found it.
        """
        if self.best is not None:
            settled = self.idle >= effort.patience or self.hits >= effort.hits
            on_target = problem.distance(self.best.value) >= target_distance
            if on_target or (settled and self.best.polished):
                return True
        return self.tasks >= effort.tasks or self.restarts >= effort.starts


def search(
    problem: Problem,
    effort: Effort,
    seed: int,
    state: SearchState,
    *,
    deadline: Deadline,
    pool: Pool,
    target_distance: float = np.inf,
    symmetry: tuple[str, int] | None = None,
) -> Iterator[None]:
    """Run the remaining tasks of a search on its state. Yields whenever one has ended.

    Args:
        problem: over the user's parametrisation, on the user's device.
        effort: the number of tasks and their length.
        seed: decides every random choice, together with the number of a task.
        state: of earlier tasks; each task updates it.
        deadline: polled at each step; tasks that it cuts short count with their results so far.
        pool: the processes that work; the first task is run in this one.
        target_distance: stop once the best code has this distance.
        symmetry: every task draws its group of this kind; None for the mixture of sources.
    """
    if state.start is not None and not effort.fixed_count and not state.tasks:
        task = Task("hop", (seed,), problem, effort, share=_FIRST_SHARES[0])
        limit = deadline.limited(_MAX_START_SHARE * deadline.remaining)
        first = perform(_from_known(task, state.start), limit)
        state.restarts, state.steps = state.restarts + first.restarts, state.steps + first.steps
        _learn(problem, effort, state, 0, [first])
        yield
    while not (deadline.expired or state.is_over(problem, effort, target_distance)):
        r, best = _round(state.tasks)[0], state.best
        tasks = _tasks(problem, effort, seed, state, symmetry)
        results: dict[int, TaskResult] = {}
        for index, result in (pool if r else Pool()).run(perform, tasks, deadline):
            if deadline.expired:  # it may have been cut short
                result = replace(result, independent=False)
            results[index] = result
            state.tasks += 1
            state.restarts += result.restarts
            state.steps += result.steps
            state.best = _best_of(problem, state.best, result.candidates)
            yield
        state.best = best
        _learn(problem, effort, state, r, [results[index] for index in sorted(results)])


def _tasks(
    problem: Problem,
    effort: Effort,
    seed: int,
    state: SearchState,
    symmetry: tuple[str, int] | None,
) -> list[Task]:
    """Return the remaining tasks of the round of the next task, no more than the starts need.

    The last one has the starts that remain. A task may have fewer than planned, never more.
    """
    r, first, size = _round(state.tasks)
    size = min(size, effort.tasks - first)
    parents = best_distinct([replace(c, active=None) for c in state.archive])
    bar = min((c.value for c in parents if c.polished), default=np.inf)
    rough: list[Candidate] = []
    if r > _FIRST_MIXED_ROUND and effort.shakes and not effort.polishes:
        promising = [c for c in parents if c.value < bar + MAX_POLISH_GAP * problem.scale(c.value)]
        rough = [c for c in promising if not c.polished][: -(-size // 8)]
    shares = _FIRST_SHARES
    if is_long(problem):  # one short descent, from a known code or random rows, then whole ones
        shares = _FIRST_SHARES[: 0 if state.start or state.archive else 1]
    plain = Task(
        "fresh",
        (seed, r, 0),
        problem,
        effort,
        bar=bar,
        symmetry=symmetry,
        share=1.0 if effort.fixed_count or r >= len(shares) else shares[r],
        archive=tuple(parents[:1]),
    )
    tasks = [
        replace(plain, source="polish", seed=(seed, r, i), archive=(candidate,))
        for i, candidate in enumerate(rough)
    ]
    size -= len(rough)
    sources, start, archive_tasks = ["symmetric"], state.start, 0
    if symmetry is None:
        sources = _draw_sources(problem, effort, seed, r, state, size)
    for i in range(size):
        task = replace(plain, source=sources[i % len(sources)], seed=(seed, r, len(rough) + i))
        if task.source in _ARCHIVE_WEIGHTS:
            archive_tasks += 1
            moves = ("hop", "shake" if start and start.polished else "")
            if start is not None and task.source in moves and (archive_tasks % 2 or not parents):
                task = _from_known(task, start)
            else:  # the archive of a resumed search is empty at first
                source = task.source if parents else "fresh"
                task = replace(task, source=source, archive=tuple(parents))
        tasks.append(task)
    remaining = effort.starts - state.restarts
    tasks = tasks[state.tasks - first :][: -(-remaining // effort.batch)]
    last = min(effort.batch, remaining - (len(tasks) - 1) * effort.batch)
    return [*tasks[:-1], replace(tasks[-1], effort=replace(effort, batch=last))]


def _from_known(task: Task, start: Candidate) -> Task:
    """Return the task with a known code as its archive, where only better codes count."""
    return replace(task, archive=(start,), max_value=start.value - _VALUE_TOLERANCE)


def _best_of(
    problem: Problem, best: Candidate | None, candidates: list[Candidate]
) -> Candidate | None:
    """Return the best code so far or the best of the candidates, by the values of their rows.

    An estimate is the value to which a basin leads. Where all polishes come at the end, polished
    codes and estimates of better ones occur together, and the present value of the rows decides.
    """
    rough = sorted((c for c in candidates if not c.polished), key=lambda c: c.value)
    for c in [*(c for c in candidates if c.polished), *rough[:_MAX_EVALUATIONS]]:
        value = c.value if c.polished else problem.value(c.whole)
        if best is None or value < best.value:
            best = replace(c, value=value)
    return best


def _round(task: int) -> tuple[int, int, int]:
    """Return the number of the round that contains a task, its first task, and its size."""
    r = first = 0
    while True:
        size = (
            _FIRST_SIZES[r]
            if r < len(_FIRST_SIZES)
            else min(_MAX_ROUND_SIZE, _ROUND_SIZE << (r - len(_FIRST_SIZES)) // 8)
        )
        if task < first + size:
            return r, first, size
        r, first = r + 1, first + size


def _draw_sources(
    problem: Problem,
    effort: Effort,
    seed: int,
    r: int,
    state: SearchState,
    size: int,
) -> list[str]:
    """Draw the sources of the tasks of round r, by prior weight and credit."""
    if is_long(problem):
        algebra = ["algebra"] * (algebra_seconds(problem.d, problem.K) < _MAX_ALGEBRA_SECONDS)
        return ["fresh", *algebra, "hop"][: 3 if r >= _FIRST_MIXED_ROUND else r + 1]
    if r == 0:
        return ["fresh"]
    new = dict(_NEW_WEIGHTS)
    if problem.d >= _MIN_PARTS_DIMENSION:
        new["algebra"] = min(6.0, problem.d / 3.0)
    archive = dict(_ARCHIVE_WEIGHTS)
    if problem.d != 3 or effort.shakes < _MIN_SHAKES:
        archive["shake"] = _SLOW_SHAKE_WEIGHT
    whole_sphere = problem.parametrisation.is_free and problem.d > 2
    mixed = r >= _FIRST_MIXED_ROUND
    if not mixed or not (whole_sphere or problem.parametrisation.images is not None):
        del new["symmetric"]
    if not mixed or not whole_sphere:
        del new["neighbour"]
    if not whole_sphere or (not mixed and (effort.fixed_count or problem.d < _MIN_PARTS_DIMENSION)):
        del new["algebra"]
    if not effort.shakes or not any(c.polished for c in state.archive):
        del archive["shake"]
    if all(c.draw is None for c in state.archive):
        del archive["symmetric hop"]
    if not mixed or not state.archive:
        archive = {}
    weights: dict[str, float] = {}
    credits = [sum(state.credit.get(name, 0.0) for name in kind) for kind in (new, archive)]
    for credit, kind in zip(credits, (new, archive), strict=True):
        share = min(
            max((1.0 + credit) / (2.0 + sum(credits)), _MIN_KIND_SHARE), 1.0 - _MIN_KIND_SHARE
        )
        for name in kind:
            kind[name] *= 1.0 + _CREDIT_WEIGHT * state.credit.get(name, 0.0)
        total = sum(kind.values())
        weights |= {name: share * weight / total for name, weight in kind.items()}
    shares = np.cumsum(list(weights.values()))
    # One draw for all: a source with a third of the weight gets a third of the tasks, rounded.
    offset = np.random.default_rng([seed, r]).random()
    marks = (np.arange(size) + offset) / size * shares[-1]
    return [list(weights)[i] for i in np.searchsorted(shares, marks)]


def _front(effort: Effort, state: SearchState) -> float:
    """Return the best value so far: polished, or an estimate where a polish is expensive."""
    values = (c.value for c in state.archive if c.polished or not effort.polishes)
    return min(values, default=np.inf)


def _without_variants(candidates: list[Candidate], problem: Problem) -> list[Candidate]:
    """Return the best of candidates with nearly equal values, polished ones first."""
    distinct: list[Candidate] = []
    max_gap = _MIN_ARCHIVE_GAP if problem.d == 3 else _MAX_BASIN_GAP
    for c in sorted(candidates, key=lambda c: (not c.polished, c.value)):
        gaps = [(c.value - other.value) / problem.scale(c.value) for other in distinct]
        is_variant = any(-_MAX_BASIN_GAP <= gap <= max_gap for gap in gaps)
        if not is_variant or (c.polished and problem.d != 3):
            distinct.append(c)
    return distinct


def _learn(
    problem: Problem, effort: Effort, state: SearchState, r: int, results: list[TaskResult]
) -> None:
    """Update the archive, the best code, the credits and the counts with the results of round r."""
    previous = _front(effort, state)
    replaced = {value for result in results for value in result.polished_values}
    candidates = [c for c in state.archive if c.polished or c.value not in replaced]
    candidates += [c for result in results for c in result.candidates]
    state.archive = best_distinct(_without_variants(candidates, problem))
    for result in results:
        state.best = _best_of(problem, state.best, result.candidates)
    state.batches += sum(result.independent for result in results)
    state.credit = {name: _CREDIT_DECAY * value for name, value in state.credit.items()}
    if not state.archive:
        return
    if state.start and state.best and state.best.value < state.start.value:
        state.start = None
    best = _front(effort, state)
    # Where a polish is expensive, most values are estimates.
    error = _VALUE_TOLERANCE if effort.polishes else ESTIMATE_ERROR * problem.scale(best)
    # A search that does not come up to a known code is idle.
    improved = best < previous - error and state.start is None
    state.idle = 0 if improved else state.idle + len(results)
    for result in results if r >= _FIRST_MIXED_ROUND else []:
        if any(c.value < previous - error for c in result.candidates):
            state.credit[result.source] = state.credit.get(result.source, 0.0) + 1.0
    reached = best if state.start is None else min(best, state.start.value)
    new_hits = sum(
        result.independent
        and any(
            c.polished and abs(c.value - reached) <= _VALUE_TOLERANCE for c in result.candidates
        )
        for result in results
    )
    state.hits = new_hits + (0 if best < previous - _VALUE_TOLERANCE else state.hits)
    state.history.append((state.steps, reached))
