"""From (d, K) to one code: which problem is searched, from where, and what is said of its end.

By the bisector theorem (docs/theory/theorem.md) every Tammes code is a Softmax Code, so both
problems are one search: the Tammes problem, with half the unknowns. Weights and features are
searched separately only where given rows must not move, for which the theorem says nothing.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gnc_cli.geometry.second_order import SecondOrder
from gnc_cli.runtime.deadline import Deadline, Progress, StageProgress
from gnc_cli.runtime.parallel import WORTH_PROCESSES, Pool
from gnc_cli.search.effort import MAX_UNKNOWNS, Effort, plan_effort, polish_seconds
from gnc_cli.search.parametrisation import Parametrisation, extending, free
from gnc_cli.search.problem import Problem, SoftmaxCode, Tammes
from gnc_cli.search.refine import FirstOrder, first_order, polish_candidate, refine, settle
from gnc_cli.search.request import Request
from gnc_cli.search.schedule import search
from gnc_cli.search.state import Candidate, SearchState, best_distinct
from gnc_cli.search.symmetric import user_orbits

_LAST_POLISHES = 2
_SHARED = 1.5
"""Seconds that pass for one of work, from which on others want the core."""
_REFINE_STEPS = 300
_STATIONARY = 1e-9
"""A candidate less stationary than this, from a search cut short, is polished once more."""


@dataclass(frozen=True)
class Found:
    """The best code of a search."""

    weights: np.ndarray
    order: FirstOrder | None
    """None where the code was not polished."""
    second: SecondOrder | None
    """Whether it is a local minimum; None where the code was not polished."""
    finished: bool
    """The whole effort was spent, or the target reached."""
    restarts: int
    batches: int
    hits: int
    steps: int
    origin: str
    """The group or construction that the first start was made with; empty for a random one."""
    history: np.ndarray
    """Shape (T, 2): gradient steps so far and the best value: max_cosine, or rho."""
    state: SearchState
    """For `--resume`."""


def solve_code(
    request: Request,
    deadline: Deadline,
    pool: Pool,
    *,
    init: np.ndarray | None = None,
    target: float | None = None,
    device: str = "cpu",
    known: float | None = None,
    progress: Progress | None = None,
    state: SearchState | None = None,
    save: Callable[[SearchState], None] | None = None,
) -> Found:
    """Search for a Tammes code or a Softmax Code.

    Args:
        deadline: polled at each step; time for the last polish and the certificate is kept.
        pool: the processes that work.
        init: a code (K, d), the first start.
        target: stop at this value: largest cosine (Tammes), or rho (softmax).
        known: the best known largest cosine, which progress names; the search knows nothing of it.
        state: of an earlier search; None to begin.
        save: called after each task with the state so far.

    Raises:
        UsageError: the symmetry does not fit (d, K).
    """
    parametrisation = _parametrisation(request)
    problem: Problem = (SoftmaxCode if request.separate else Tammes)(parametrisation)
    searching = deadline.reserving(_reserve(problem, deadline, 1.0))
    effort = plan_effort(problem, request.restarts, deadline.seconds)
    goal = None if target is None else _converted(request, target)
    if min(effort.tasks * effort.seconds, searching.remaining) > WORTH_PROCESSES:
        pool.warm()
    if state is None:
        spent = 0, 0
        if init is None and request.separate:
            around = _around_given_rows(
                request, parametrisation, effort, searching, pool, device, progress
            )
            spent = around.all_restarts, around.all_steps
            init = None if around.best is None else around.best.whole
        state = SearchState(restarts=spent[0], steps=spent[1])
        if init is not None:
            tenth = searching.within(0.1 * searching.remaining)
            state.pool.append(_start(problem, init, tenth))

    def searched(state: SearchState, rounds: int | None = None) -> SearchState:
        return search(
            problem,
            effort,
            request.seed,
            state,
            deadline=searching,
            pool=pool,
            target=goal,
            symmetry=request.group,
            device=device,
            rounds=rounds,
            progress=_labelled(progress, request, known),
            save=save,
        )

    if state.round == 0:
        # The first task shows how much of a core there is.
        began, worked = time.monotonic(), time.process_time()
        state = searched(state, rounds=1)
        waited = (time.monotonic() - began) / max(0.01, time.process_time() - worked)
        searching = deadline.reserving(_reserve(problem, deadline, max(1.0, waited)))
    state = searched(state)
    best = _best(problem, state, deadline)
    if best is None:  # stopped before the first task had an end
        points = problem.starts(np.random.default_rng([request.seed, 0]), 1)[0]
        best = Candidate(np.inf, problem.whole(points))
    best, second = settle(problem, best, deadline)
    if best is not state.best and best.polished:  # a saddle was left
        state.finds = best_distinct([*state.finds, best])
    whole, order = _finish(problem, best, deadline)
    history = np.array([(step, _converted(request, value)) for step, value in state.history])
    return Found(
        weights=whole[: request.K],
        order=order,
        second=second,
        finished=not searching.expired or (goal is not None and best.value <= goal),
        restarts=state.all_restarts,
        batches=state.batches,
        hits=state.hits,
        steps=state.all_steps,
        origin=best.origin,
        history=history.reshape(-1, 2),
        state=state,
    )


def _reserve(problem: Problem, deadline: Deadline, waited: float) -> float:
    """Seconds of a time limit kept for the last polish and the certificate: a third at most, or
    half where other processes want the core.

    Args:
        waited: seconds that pass for one that this process works.
    """
    if deadline.seconds is None:
        return 0.0
    n = problem.coordinates
    last = 0.2 + 2e-3 * problem.K + (polish_seconds(n) if n <= MAX_UNKNOWNS else 0.1)
    return min(deadline.seconds / (2 if waited > _SHARED else 3), waited * last)


def _best(problem: Problem, state: SearchState, deadline: Deadline) -> Candidate | None:
    """The best of all finds, after those whose estimates are better still have been polished too.

    What is polished here counts for a resumed search as well, lest it return less.
    """
    best = state.best
    if best is None:
        return None
    rough = sorted(state.pool + state.finds, key=lambda c: c.value)
    better = [c for c in rough if not c.polished and c.value < best.value or c is best]
    for candidate in better[:_LAST_POLISHES]:
        if candidate.active is None or candidate.stationarity > _STATIONARY:
            done = _no_worse(problem, candidate, deadline)
            true = problem.value(done.whole)
            if not best.polished or true < best.value:
                best = replace(done, value=true)
                state.finds = best_distinct([*state.finds, best])
        if deadline.expired:
            break
    return best


def _start(problem: Problem, init: np.ndarray, deadline: Deadline) -> Candidate:
    """A whole code as the first candidate, polished where that makes it no worse."""
    whole = problem.whole(problem.from_code(init))
    return _no_worse(problem, Candidate(problem.value(whole), whole), deadline)


def _no_worse(problem: Problem, candidate: Candidate, deadline: Deadline) -> Candidate:
    """The candidate polished, or as it is where the polish fails or cannot be afforded."""
    if problem.coordinates > MAX_UNKNOWNS:
        return candidate
    done, value = polish_candidate(problem, candidate, deadline), problem.value(candidate.whole)
    if done.value > value - 1e-9 and done.stationarity > candidate.stationarity:
        return candidate
    return done if done.value <= value + 1e-9 else candidate


def _finish(
    problem: Problem, best: Candidate, deadline: Deadline
) -> tuple[np.ndarray, FirstOrder | None]:
    """The best candidate's rows, refined where Newton cannot polish; how stationary they are."""
    if best.active is not None:
        return best.whole, first_order(
            best.whole, *best.active, problem.movable(), deadline.remaining
        )
    if problem.coordinates <= MAX_UNKNOWNS or deadline.expired:
        return best.whole, None
    return refine(
        best.restricted or problem,
        best.whole,
        scale=problem.scale(best.value),
        steps=_REFINE_STEPS,
        deadline=deadline,
    )


def _around_given_rows(
    request: Request,
    parametrisation: Parametrisation,
    effort: Effort,
    deadline: Deadline,
    pool: Pool,
    device: str,
    progress: Progress | None,
) -> SearchState:
    """A Tammes code around the given rows, the first start of the search for a Softmax Code.

    Where the given rows alone decide the least distance of all, every placement of the others is a
    Softmax Code; this one keeps them apart as well.
    """
    quarter = replace(effort, tasks=-(-effort.tasks // 4))
    if deadline.seconds is not None:
        deadline = deadline.within(0.25 * deadline.seconds)
    return search(
        Tammes(parametrisation),
        quarter,
        request.seed,
        SearchState(),
        deadline=deadline,
        pool=pool,
        device=device,
        progress=_labelled(progress, replace(request, problem="tammes")),
    )


def _parametrisation(request: Request) -> Parametrisation:
    if request.group is not None:
        rng = np.random.default_rng(request.seed)
        return user_orbits(request.group, request.d, request.K, rng)
    if request.fixed is not None:
        return extending(request.fixed, request.K)
    return free(request.d, request.K)


def _converted(request: Request, value: float) -> float:
    """A value that the search minimises (max_cosine, or minus rho) as the problem's own quantity
    (rho, or max_cosine), or the other way round: the conversion is its own inverse."""
    if request.separate:
        return -value
    return 1.0 - value if request.problem == "softmax" else value


def _labelled(
    progress: Progress | None, request: Request, known: float | None = None
) -> StageProgress | None:
    """In the quantity that the user asked for, beside that of the best known code (`known`)."""
    if progress is None:
        return None
    label = "rho" if request.problem == "softmax" else "max_cosine"
    if known is not None:
        label += f" (best known {_converted(request, known):.6f})"
    return lambda done, total, value: progress(label, done, total, _converted(request, value))
