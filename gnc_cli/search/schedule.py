"""The rounds of a search: which tasks each has, what the next learn from them, and when it ends.

Tasks are numbered, and the number gives the round. Everything of a task is drawn from the seed, its
round, its place there and what earlier rounds found, and a round learns of its results in the order
of the tasks. So the code depends on the seed and the effort, not on how many processes work or in
which order they finish. A time limit is the exception: it cuts rounds short. A search that is
resumed goes on with the next number, from the best code. The first rounds are small and short, that
there be something early; later ones grow, so that many processes rarely wait for the last one.

Sources that improved the best code lately get more of the tasks (a bandit): each has a prior weight
and a credit that fades by the round. Those that start anew and those that go on from what was found
share the tasks by their credits as well, but neither has less than a fifth: steps downhill are many
and small, and would else crowd out the starts that lead to better basins.

A known code beside the search (`SearchState.start`) takes no part in this until it is beaten: it
stays out of the archive, where it would be the parent of most hops, often a rigid code that leads
nowhere. The search descends from it once, before the first round, and half of the hops and shakes
start from it; they count where they improve on it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.parallel import Pool
from gnc_cli.search.effort import Effort, is_long
from gnc_cli.search.problem import Candidate, Problem
from gnc_cli.search.tasks import (
    ESTIMATE,
    NEAR,
    Task,
    TaskResult,
    best_distinct,
    looks_seconds,
    perform,
)

_FIRST = (1, 2, 4)
"""Tasks of the first rounds; then `_ROUND` of them, twice as many every eighth round."""
_ROUND, _MOST = 8, 64
_SHARES: tuple[float, ...] = (0.1, 0.25, 0.5)
"""Share of the steps of a descent in the first rounds, so that a first code is found soon."""
_NEW = {"fresh": 1.0, "symmetric": 4.0, "neighbour": 0.5, "algebra": 0.5}
_MANY_PARTS = 9
"""From this dimension on, most codes are parts of others, and algebra has more weight, at once."""
_LEARNING = {"hop": 2.0, "symmetric hop": 1.0, "shake": 3.0}
_SHAKE_DEAR = 0.2
"""Weight of shakes in more than three dimensions, where a batch of descents takes less than their
polishes. Where d = 3 shakes find the best known code of (3, 99) in half a minute."""
_FEW_SHAKES = 5
"""With fewer shakes in a task a polish is dear for d = 3 too."""
_ALL_SOURCES = 2
"""The round from which all sources compete; before, there is nothing to start from."""
_KNOWN_SHARE = 0.25
"""Largest share of a time limit for the descent from a known code before the rounds."""
_LOOKING = 10.0
"""Long searches have starts from algebra where these are looked at in fewer seconds."""
_FADING = 0.7
_REWARD = 4.0
"""Weight of one improvement beside a prior of 1."""
_LEAST_SHARE = 0.2
"""Each of the two kinds of sources, new starts and known codes, gets this share of the tasks."""
_NEAR = 1.5 * ESTIMATE
"""An estimate this near to another value, relative to the scale, may be the same code."""
_APART = 5e-4
"""Where d = 3, codes of the archive differ by this, relative to the scale: else variants of one
code, by a contact or a rattler, would be all that hops start from."""
_REALISED = 3
"""Estimates of a task whose rows are looked at: their own value may be the best."""
_SAME = 1e-10
"""Polished values this near are one."""


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
    best: Candidate | None = None
    """The best code of all, with the value that its rows have, polished or not."""
    credit: dict[str, float] = field(default_factory=dict)
    """Per source of starts: improvements of late."""
    archive: list[Candidate] = field(default_factory=list)
    """The candidates that later tasks start from."""
    start: Candidate | None = None
    """A known code, until the search has a better one."""
    history: list[tuple[int, float]] = field(default_factory=list)
    """Gradient steps so far and the best value, after each round."""

    def is_over(self, problem: Problem, effort: Effort, target_distance: float) -> bool:
        """All tasks are over, the target is met, the best value has not fallen for long, or it was
        found several times.
        """
        if self.best is not None:
            settled = self.idle >= effort.patience or self.hits >= effort.hits
            met = problem.distance(self.best.value) >= target_distance
            if met or (settled and self.best.polished):
                return True
        return self.tasks >= effort.tasks


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
    device: str = "cpu",
) -> Iterator[None]:
    """Run the remaining tasks of a search on its state; yields whenever one has ended.

    Args:
        problem: over the parametrisation that the user asked for.
        seed: with the number of a task it decides every random choice.
        deadline: polled at each step; tasks that it cuts short count with what they have.
        pool: the processes that work; the first task is done here.
        target_distance: stop once the best code has this distance.
        symmetry: every task draws its group of this kind; None for the mixture of sources.
    """
    if state.start is not None and not effort.counted and not state.tasks:
        task = Task("hop", (seed,), problem, effort, share=_SHARES[0], device=device)
        some = deadline.limited(_KNOWN_SHARE * deadline.remaining)
        first = perform(_from_known(task, state.start), some)
        state.restarts, state.steps = state.restarts + first.restarts, state.steps + first.steps
        _learn(problem, effort, state, 0, [first])
        yield
    while not (deadline.expired or state.is_over(problem, effort, target_distance)):
        r, best = _round(state.tasks)[0], state.best
        tasks = _tasks(problem, effort, seed, state, symmetry, device, deadline)
        results: dict[int, TaskResult] = {}
        for at, result in (pool if r else Pool()).run(perform, tasks, deadline):
            if deadline.expired:  # it may have been cut short
                result = replace(result, independent=False)
            results[at] = result
            state.tasks += 1
            state.restarts += result.restarts
            state.steps += result.steps
            state.best = _best_of(problem, state.best, result.candidates)
            yield
        state.best = best
        _learn(problem, effort, state, r, [results[at] for at in sorted(results)])


def _tasks(
    problem: Problem,
    effort: Effort,
    seed: int,
    state: SearchState,
    symmetry: tuple[str, int] | None,
    device: str,
    deadline: Deadline,
) -> list[Task]:
    """The tasks that are left of the round of the next task."""
    r, first, size = _round(state.tasks)
    size = min(size, effort.tasks - first)
    good = best_distinct([replace(c, active=None) for c in state.archive])
    bar = min((c.value for c in good if c.polished), default=np.inf)
    rough: list[Candidate] = []
    if r > _ALL_SOURCES and effort.shakes and not effort.polishes:
        near = [c for c in good if c.value < bar + NEAR * problem.scale(c.value)]
        rough = [c for c in near if not c.polished][: -(-size // 8)]
    shares = _SHARES
    if is_long(problem):  # one short descent, from a known code or random rows, then whole ones
        shares = _SHARES[: 0 if state.start or state.archive else 1]
    plain = Task(
        "fresh",
        (seed, r, 0),
        problem,
        effort,
        bar=bar,
        symmetry=symmetry,
        device=device,
        share=1.0 if effort.counted or r >= len(shares) else shares[r],
        archive=tuple(good[:1]),
    )
    tasks = [
        replace(plain, source="polish", seed=(seed, r, i), archive=(candidate,))
        for i, candidate in enumerate(rough)
    ]
    size -= len(rough)
    sources, start, learning = ["symmetric"], state.start, 0
    if symmetry is None:
        sources = _drawn(problem, effort, seed, r, state, size, deadline)
    for i in range(size):
        task = replace(plain, source=sources[i % len(sources)], seed=(seed, r, len(rough) + i))
        if task.source in _LEARNING:
            learning += 1
            moves = ("hop", "shake" if start and start.polished else "")
            if start is not None and task.source in moves and (learning % 2 or not good):
                task = _from_known(task, start)
            else:  # a resumed search has nothing to go on from at first
                source = task.source if good else "fresh"
                task = replace(task, source=source, archive=tuple(good))
        tasks.append(task)
    return tasks[state.tasks - first :]


def _from_known(task: Task, start: Candidate) -> Task:
    """The task from a known code; only what is better counts."""
    return replace(task, archive=(start,), below=start.value - _SAME)


def _best_of(
    problem: Problem, best: Candidate | None, candidates: list[Candidate]
) -> Candidate | None:
    """Return the best code so far or the best of these, by the values that the rows have.

    An estimate says where a basin leads. Where all polishes are left to the end, a polished code
    and the estimates of better ones stand side by side: what counts is what each code has now.
    """
    rough = sorted((c for c in candidates if not c.polished), key=lambda c: c.value)
    for c in [*(c for c in candidates if c.polished), *rough[:_REALISED]]:
        value = c.value if c.polished else problem.value(c.whole)
        if best is None or value < best.value:
            best = replace(c, value=value)
    return best


def _round(task: int) -> tuple[int, int, int]:
    """The number of the round that a task belongs to, its first task, and its size."""
    r = first = 0
    while True:
        size = _FIRST[r] if r < len(_FIRST) else min(_MOST, _ROUND << (r - len(_FIRST)) // 8)
        if task < first + size:
            return r, first, size
        r, first = r + 1, first + size


def _drawn(
    problem: Problem,
    effort: Effort,
    seed: int,
    r: int,
    state: SearchState,
    size: int,
    deadline: Deadline,
) -> list[str]:
    """Sources of the tasks of round r, by prior and credit."""
    if is_long(problem):
        algebra = ["algebra"] * (looks_seconds(problem.d, problem.K) < _LOOKING)
        return ["fresh", *algebra, "hop"][: 3 if r >= _ALL_SOURCES else r + 1]
    if r == 0:
        return ["fresh"]
    new = dict(_NEW)
    if problem.d >= _MANY_PARTS:
        new["algebra"] = min(6.0, problem.d / 3.0)
    learning = dict(_LEARNING)
    if problem.d != 3 or effort.shakes < _FEW_SHAKES:
        learning["shake"] = _SHAKE_DEAR
    whole_sphere = problem.parametrisation.is_free and problem.d > 2
    lines = problem.parametrisation.images is not None
    if r < _ALL_SOURCES or not (whole_sphere or lines):
        del new["symmetric"]
    if r < _ALL_SOURCES or not whole_sphere:
        del new["neighbour"]
    if not whole_sphere or (r < _ALL_SOURCES and (effort.counted or problem.d < _MANY_PARTS)):
        del new["algebra"]
    if not effort.shakes or not any(c.polished for c in state.archive):
        del learning["shake"]
    if all(c.draw is None for c in state.archive):
        del learning["symmetric hop"]
    if r < _ALL_SOURCES or not state.archive:
        learning = {}
    weights: dict[str, float] = {}
    credits = [sum(state.credit.get(name, 0.0) for name in part) for part in (new, learning)]
    for credit, part in zip(credits, (new, learning), strict=True):
        share = min(max((1.0 + credit) / (2.0 + sum(credits)), _LEAST_SHARE), 1.0 - _LEAST_SHARE)
        for name in part:
            part[name] *= 1.0 + _REWARD * state.credit.get(name, 0.0)
        whole = sum(part.values())
        weights |= {name: share * weight / whole for name, weight in part.items()}
    shares = np.cumsum(list(weights.values()))
    # One draw for all: a source with a third of the weight gets a third of the tasks, rounded.
    offset = np.random.default_rng([seed, r]).random()
    marks = (np.arange(size) + offset) / size * shares[-1]
    return [list(weights)[i] for i in np.searchsorted(shares, marks)]


def _front(effort: Effort, state: SearchState) -> float:
    """The best value so far: polished, or an estimate where a polish is dear."""
    values = (c.value for c in state.archive if c.polished or not effort.polishes)
    return min(values, default=np.inf)


def _once(candidates: list[Candidate], problem: Problem) -> list[Candidate]:
    """Of candidates with nearly equal values the best, polished ones first."""
    kept: list[Candidate] = []
    above = _APART if problem.d == 3 else _NEAR
    for c in sorted(candidates, key=lambda c: (not c.polished, c.value)):
        scale = problem.scale(c.value)
        near = any(-_NEAR <= (c.value - other.value) / scale <= above for other in kept)
        if not near or (c.polished and problem.d != 3):
            kept.append(c)
    return kept


def _learn(
    problem: Problem, effort: Effort, state: SearchState, r: int, results: list[TaskResult]
) -> None:
    """Take the results of round r into the archive, the best, the credits and the counts."""
    before = _front(effort, state)
    used = {value for each in results for value in each.used}
    kept = [c for c in state.archive if c.polished or c.value not in used]
    candidates = kept + [c for each in results for c in each.candidates]
    state.archive = best_distinct(_once(candidates, problem))
    for each in results:
        state.best = _best_of(problem, state.best, each.candidates)
    state.batches += sum(each.independent for each in results)
    state.credit = {name: _FADING * value for name, value in state.credit.items()}
    if not state.archive:
        return
    if state.start and state.best and state.best.value < state.start.value:
        state.start = None
    best = _front(effort, state)
    # Where a polish is dear, most values are estimates.
    better = before - (_SAME if effort.polishes else ESTIMATE * problem.scale(best))
    # A search that does not come up to a known code is idle.
    state.idle = 0 if best < better and state.start is None else state.idle + len(results)
    for each in results if r >= _ALL_SOURCES else []:
        if any(c.value < better for c in each.candidates):
            state.credit[each.source] = state.credit.get(each.source, 0.0) + 1.0
    reached = best if state.start is None else min(best, state.start.value)
    again = sum(
        each.independent
        and any(c.polished and abs(c.value - reached) <= _SAME for c in each.candidates)
        for each in results
    )
    state.hits = again + (0 if best < before - _SAME else state.hits)
    state.history.append((state.steps, reached))
