"""From (d, K) to one code: which problem is searched, from where, and what is said of its end.

By the bisector theorem (docs/theory/theorem.md) every Tammes code is a Softmax Code, so both
problems are one search: the Tammes problem, with half the unknowns. Weights and features are
searched separately only where given rows must not move, for which the theorem says nothing.
"""

from dataclasses import dataclass, replace

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.runtime.deadline import Deadline, Progress, StageProgress
from gnc_cli.search.effort import MAX_UNKNOWNS, Effort, plan_effort
from gnc_cli.search.parametrisation import (
    Parametrisation,
    cyclic_orbits,
    extending,
    free,
    random_generator,
)
from gnc_cli.search.problem import Problem, SoftmaxCode, Tammes
from gnc_cli.search.refine import FirstOrder, first_order, polish_candidate, refine
from gnc_cli.search.request import Request
from gnc_cli.search.schedule import search
from gnc_cli.search.state import Candidate, SearchState, best_distinct

_REFINE_STEPS = 300
_STATIONARY = 1e-9
"""A candidate less stationary than this, from a search cut short, is polished once more."""



@dataclass(frozen=True)
class Found:
    """The best code of a search."""

    weights: np.ndarray
    order: FirstOrder | None
    """None where the code was not polished."""
    finished: bool
    """The whole effort was spent, or the target reached."""
    restarts: int
    steps: int
    history: np.ndarray
    """Shape (T, 2): gradient steps so far and the best value: max_cosine, or rho."""
    state: SearchState
    """For `--resume`."""


def solve_code(
    request: Request,
    deadline: Deadline,
    *,
    target: float | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
    state: SearchState | None = None,
) -> Found:
    """Search for a Tammes code or a Softmax Code.

    Args:
        deadline: polled at each step; time for the last polish and the certificate is kept.
        target: stop at this value: largest cosine (Tammes), or rho (softmax).
        state: of an earlier search; None to begin.

    Raises:
        UsageError: the symmetry does not fit (d, K).
    """
    parametrisation = _parametrisation(request)
    problem: Problem = (SoftmaxCode if request.separate else Tammes)(parametrisation)
    searching = deadline.reserving(_reserve(problem, deadline))
    effort = plan_effort(problem, request.restarts, request.steps)
    goal = None if target is None else _converted(request, target)
    if state is None:
        init, spent = request.init, (0, 0)
        if init is None and request.separate:
            around = _around_given_rows(
                request, parametrisation, effort, searching, device, progress
            )
            spent = around.restarts + around.cut_restarts, around.steps + around.cut_steps
            init = None if around.best is None else around.best.whole
        state = SearchState(restarts=spent[0], steps=spent[1])
        if init is not None:
            state.pool.append(_start(problem, init, searching))
    state = search(
        problem, effort, request.seed, state, deadline=searching, target=goal,
        symmetry=None if request.symmetry is None else lambda rng: Tammes(_orbits(request, rng)),
        device=device, progress=_labelled(progress, request),
    )  # fmt: skip
    best = state.best
    if best is None:  # stopped before the first round ended
        points = problem.starts(np.random.default_rng([request.seed, 0]), 1)[0]
        best = Candidate(np.inf, problem.whole(points))
    cut = searching.expired and best.stationarity > _STATIONARY
    if best.active is None or (cut and not deadline.expired):
        best = _no_worse(problem, best, deadline)
        if best.polished:  # kept, lest a resumed search return less
            state.finds = best_distinct([*state.finds, best])
    whole, order = _finish(problem, best, deadline)
    history = np.array([(step, _converted(request, value)) for step, value in state.history])
    return Found(
        weights=whole[: request.K],
        order=order,
        finished=not searching.expired or (goal is not None and best.value <= goal),
        restarts=state.restarts + state.cut_restarts,
        steps=state.steps + state.cut_steps,
        history=history.reshape(-1, 2),
        state=state,
    )


def _reserve(problem: Problem, deadline: Deadline) -> float:
    """Seconds of a time limit kept for the last polish and the certificate; a fifth at most."""
    if deadline.seconds is None:
        return 0.0
    n = min(problem.coordinates, MAX_UNKNOWNS)
    return min(0.2 * deadline.seconds, 0.2 + 2e-3 * problem.K + n**3 / 5e9)


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
        best.restricted or problem, best.whole, scale=problem.scale(best.value),
        steps=_REFINE_STEPS, deadline=deadline,
    )  # fmt: skip


def _around_given_rows(
    request: Request, parametrisation: Parametrisation, effort: Effort, deadline: Deadline,
    device: str, progress: Progress | None,
) -> SearchState:  # fmt: skip
    """A Tammes code around the given rows, the first start of the search for a Softmax Code.

    Where the given rows alone decide the least distance of all, every placement of the others is a
    Softmax Code; this one keeps them apart as well.
    """
    quarter = replace(effort, rounds=-(-effort.rounds // 4))
    if deadline.seconds is not None:
        deadline = deadline.within(0.25 * deadline.seconds)
    return search(
        Tammes(parametrisation), quarter, request.seed, SearchState(), deadline=deadline,
        device=device, progress=_labelled(progress, replace(request, problem="tammes")),
    )  # fmt: skip


def _parametrisation(request: Request) -> Parametrisation:
    if request.symmetry is not None:
        return _orbits(request, np.random.default_rng(request.seed))
    if request.fixed is not None:
        return extending(request.fixed, request.K)
    return free(request.d, request.K)


def _orbits(request: Request, rng: np.random.Generator) -> Parametrisation:
    """The user's symmetry, by a random group of its kind that fits."""
    kind, order = request.symmetry or ("", 0)
    if kind == "antipodal":
        return cyclic_orbits(-np.eye(request.d), 2, request.K)
    for _ in range(49):
        try:
            return cyclic_orbits(random_generator(rng, request.d, order), order, request.K)
        except UsageError:
            continue
    return cyclic_orbits(random_generator(rng, request.d, order), order, request.K)


def _converted(request: Request, value: float) -> float:
    """A value that the search minimises (max_cosine, or minus rho) as the problem's own quantity
    (rho, or max_cosine), or the other way round: the conversion is its own inverse."""
    if request.separate:
        return -value
    return 1.0 - value if request.problem == "softmax" else value


def _labelled(progress: Progress | None, request: Request) -> StageProgress | None:
    if progress is None:
        return None
    label = "Softmax Code: rho" if request.problem == "softmax" else "Tammes: max_cosine"
    return lambda done, total, value: progress(label, done, total, _converted(request, value))
