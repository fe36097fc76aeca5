"""The rounds of a search: which tasks each has, what the next learn from them, and when it ends.

Everything of round r is drawn from the seed, r and what earlier rounds found, and results are taken
in the order of the tasks. So the code depends on the seed and the effort, not on how many processes
work or in which order they finish, and a search that stopped goes on exactly as if it had not. A
time limit is the exception: it cuts rounds short, and near its end torch is not loaded any more.
The first rounds are small and short, that there be something early; later ones grow, so that many
processes rarely wait for the last one.

Sources that improved the best code lately get more of the tasks (a bandit): each has a prior weight
and a credit that fades by the round. Those that start anew and those that go on from what was found
share the tasks by their credits as well, but neither has less than a fifth: steps downhill are many
and small, and would else crowd out the starts that lead to better basins.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from gnc_cli.runtime.deadline import Deadline, StageProgress
from gnc_cli.runtime.parallel import Pool
from gnc_cli.search.effort import UNLIMITED, Effort
from gnc_cli.search.problem import Problem, Tammes
from gnc_cli.search.quick import MOST_POINTS
from gnc_cli.search.state import Candidate, Found, SearchState, best_distinct
from gnc_cli.search.tasks import ESTIMATE, NEAR, Task, perform

_FIRST = (1, 2, 4)
"""Tasks of the first rounds; then `_ROUND` of them, twice as many every eighth round."""
_ROUND, _MOST = 8, 64
_SHARES = (0.1, 0.25, 0.5)
"""Of the steps, in descents of the first rounds, that there be something soon."""
_NEW = {"fresh": 0.5, "quick": 0.5, "symmetric": 4.0, "neighbour": 0.5, "algebra": 0.5}
_LEARNING = {"hop": 1.0, "quick hop": 1.0, "shake": 2.0}
_LEARNING_DEAR = {"hop": 1.0, "quick hop": 1.0, "shake": 0.2}
"""Where a polish is dear: hops find the better codes of (10, 100) in a third of the time of a
shake."""
_ALL_SOURCES = 2
"""The round from which all sources compete; before, there is nothing to start from."""
LOADING = 4.0
"""Seconds left below which torch and geoopt are not loaded any more: that takes three."""
_FADING = 0.7
_REWARD = 4.0
"""Weight of one improvement beside a prior of 1."""
_LEAST_SHARE = 0.2
"""Of the tasks, for those that start anew, and for those that go on from what was found."""
_SAME = 1e-10
"""Polished values this near are one."""


def search(
    problem: Problem,
    effort: Effort,
    seed: int,
    state: SearchState,
    *,
    deadline: Deadline,
    pool: Pool,
    target: float | None = None,
    symmetry: tuple[str, int] | None = None,
    device: str = "cpu",
    rounds: int | None = None,
    progress: StageProgress | None = None,
    save: Callable[[SearchState], None] | None = None,
) -> SearchState:
    """Run the remaining rounds of a search; returns the state after the last complete task.

    Args:
        problem: over the parametrisation that the user asked for.
        seed: with the round's number it decides every random choice.
        deadline: polled at each step. A task that it cuts short leaves its `finds` and nothing
            else, so that a resumed search repeats it from its beginning.
        pool: the processes that work.
        target: stop once the best polished value is at most this.
        symmetry: every task draws its group of this kind; None for the mixture of sources.
        rounds: stop after so many, if not earlier.
        progress: called as progress(done, total, best value) after each task: tasks, or seconds of
            the time limit.
        save: called after each task with the state from which a search would go on there.
    """
    last = None if rounds is None else state.round + rounds
    while not state.done(effort, target) and state.round != last:
        tasks = list(_tasks(problem, effort, seed, state, symmetry, device, deadline))
        tell = _counting(state, effort, deadline, progress)
        ended, cut = _worked(tasks, state, deadline, pool, tell, save)
        if deadline.expired:
            return _between(state, ended, cut)
        state = _learned(problem, effort, state, [ended[at] for at in sorted(ended)])
    return state


def _worked(
    tasks: list[Task],
    state: SearchState,
    deadline: Deadline,
    pool: Pool,
    tell: Callable[[Found], None],
    save: Callable[[SearchState], None] | None,
) -> tuple[dict[int, Found], list[Found]]:
    """Work on the tasks of a round that have not ended yet: all that have, and those cut short."""
    ended = dict(state.ended)
    waiting = [at for at in range(len(tasks)) if at not in ended]

    def take(at: int, found: Found) -> None:
        if not deadline.expired:  # which would have cut it short
            ended[waiting[at]] = found
            if save is not None:
                save(_between(state, ended, []))
        tell(found)

    results = pool.run(perform, [tasks[at] for at in waiting], deadline, take)
    found = zip(waiting, results, strict=True)
    return ended, [each for at, each in found if each is not None and at not in ended]


def _between(state: SearchState, ended: dict[int, Found], cut: list[Found]) -> SearchState:
    """The state inside a round, where some tasks have ended and others were cut short."""
    candidates = [c for each in (*ended.values(), *cut) for c in each.candidates]
    return replace(
        state,
        finds=best_distinct(state.finds + candidates),
        cut_restarts=state.cut_restarts + sum(each.restarts for each in cut),
        cut_steps=state.cut_steps + sum(each.steps for each in cut),
        ended=dict(ended),
    )


def _tasks(
    problem: Problem,
    effort: Effort,
    seed: int,
    state: SearchState,
    symmetry: tuple[str, int] | None,
    device: str,
    deadline: Deadline,
) -> Iterator[Task]:
    """The tasks of the round that `state.round` numbers."""
    r = state.round
    size = _FIRST[r] if r < len(_FIRST) else min(_MOST, _ROUND << (r - len(_FIRST)) // 8)
    size = min(size, effort.tasks - state.tasks)
    good = best_distinct([replace(c, active=None) for c in state.pool])
    bar = min((c.value for c in good if c.polished), default=np.inf)
    rough: list[Candidate] = []
    if r > _ALL_SOURCES and effort.shakes and not effort.polishes:
        near = [c for c in good if c.value < bar + NEAR * problem.scale(c.value)]
        rough = [c for c in near if not c.polished][: -(-size // 8)]
    plain = Task(
        "fresh",
        (seed, r, 0),
        problem,
        effort,
        bar=bar,
        symmetry=symmetry,
        device=device,
        share=1.0 if effort.counted or r >= len(_SHARES) else _SHARES[r],
        pool=tuple(good[:1]),
    )
    for i, candidate in enumerate(rough):
        yield replace(plain, source="polish", seed=(seed, r, i), pool=(candidate,))
    size -= len(rough)
    sources = ["symmetric"]
    if symmetry is None:
        sources = _drawn(problem, effort, seed, state, size, deadline)
    for i in range(size):
        task = replace(plain, source=sources[i % len(sources)], seed=(seed, r, len(rough) + i))
        learns = task.source in ("hop", "quick hop", "shake")
        yield replace(task, pool=tuple(good)) if learns else task


def _drawn(
    problem: Problem, effort: Effort, seed: int, state: SearchState, size: int, deadline: Deadline
) -> list[str]:
    """Sources of a round's tasks, by prior and credit."""
    plain = problem.parametrisation.is_free and isinstance(problem, Tammes)
    plain = plain and problem.K <= MOST_POINTS and not effort.counted
    if plain and (state.round == 0 or deadline.remaining < LOADING and "torch" not in sys.modules):
        later = ["quick", "quick hop", "symmetric"][: 2 if problem.d == 2 else 3]
        return ["quick"] if state.round == 0 else later
    new, learning = dict(_NEW), dict(_LEARNING if effort.polishes else _LEARNING_DEAR)
    if not plain:
        del new["quick"], learning["quick hop"]
    if state.round < _ALL_SOURCES or not problem.parametrisation.is_free or problem.d == 2:
        new = {name: new[name] for name in ("fresh", "quick") if name in new}
    if not effort.shakes or not any(c.polished for c in state.pool):
        del learning["shake"]
    if state.round < _ALL_SOURCES or not state.pool:
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
    offset = np.random.default_rng([seed, state.round]).random()
    marks = (np.arange(size) + offset) / size * shares[-1]
    return [list(weights)[i] for i in np.searchsorted(shares, marks)]


def _counting(
    state: SearchState, effort: Effort, deadline: Deadline, progress: StageProgress | None
) -> Callable[[Found], None]:
    """Tell of every task that ends, with the best value so far."""
    if progress is None:
        return lambda _: None
    tasks, best = state.tasks + len(state.ended), _front(effort, state)

    def tell() -> None:
        if effort.tasks < UNLIMITED:
            progress(tasks, effort.tasks, best)
        else:  # seconds, of the time limit
            progress(int(deadline.elapsed), int(deadline.seconds or 0), best)

    def count(found: Found) -> None:
        nonlocal tasks, best
        tasks, best = tasks + 1, min([best, *(c.value for c in found.candidates)])
        tell()

    tell()
    return count


def _front(effort: Effort, state: SearchState) -> float:
    """The best value so far: polished, or an estimate where a polish is dear."""
    if effort.polishes:
        return state.leader.value if state.leader else np.inf
    return min((c.value for c in state.pool), default=np.inf)


def _once(candidates: list[Candidate], problem: Problem) -> list[Candidate]:
    """Without those whose estimate another's value explains."""
    kept: list[Candidate] = []
    for c in sorted(candidates, key=lambda c: (not c.polished, c.value)):
        near = 1.5 * ESTIMATE * problem.scale(c.value)
        if c.polished or all(abs(c.value - other.value) > near for other in kept):
            kept.append(c)
    return kept


def _learned(
    problem: Problem, effort: Effort, state: SearchState, found: list[Found]
) -> SearchState:
    """The state after a round: pool, counts, credits and how often the best was found."""
    before = _front(effort, state)
    used = {value for each in found for value in each.used}
    kept = [c for c in state.pool if c.polished or c.value not in used]
    candidates = kept + [c for each in found for c in each.candidates]
    after = replace(
        state,
        round=state.round + 1,
        ended={},
        tasks=state.tasks + len(found),
        restarts=state.restarts + sum(each.restarts for each in found),
        steps=state.steps + sum(each.steps for each in found),
        batches=state.batches + sum(each.independent for each in found),
        pool=best_distinct(_once(candidates, problem)),
        credit={name: _FADING * value for name, value in state.credit.items()},
    )
    best = _front(effort, after)
    if not after.pool:
        return after
    # Where a polish is dear, most values are estimates.
    better = before - (_SAME if effort.polishes else ESTIMATE * problem.scale(best))
    after.idle = 0 if best < better else state.idle + len(found)
    for each in found if state.round >= _ALL_SOURCES else []:
        if any(c.value < better for c in each.candidates):
            after.credit[each.source] = after.credit.get(each.source, 0.0) + 1.0
    again = sum(
        each.independent
        and any(c.polished and abs(c.value - best) <= _SAME for c in each.candidates)
        for each in found
    )
    after.hits = again + (0 if best < before - _SAME else state.hits)
    after.history = [*state.history, (after.steps, best)]
    return after
