"""From (d, K) to one code: which problem is searched, from where, and what is said of its end.

By the bisector theorem (docs/theory/theorem.md) every Tammes code is a Softmax Code, so both
problems are one search: the Tammes problem, with half the unknowns. Weights and features are
searched separately only where given rows must not move, for which the theorem says nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.polish import WARM_FIRST_GAP
from gnc_cli.geometry.second_order import NO
from gnc_cli.geometry.sphere import antipodes
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.parallel import WORTH_PROCESSES, Pool
from gnc_cli.search.descent import step_seconds
from gnc_cli.search.effort import (
    MAX_UNKNOWNS,
    UNLIMITED,
    Effort,
    is_long,
    plan_effort,
    polish_is_dear,
    polish_seconds,
)
from gnc_cli.search.instance import Instance, Plan
from gnc_cli.search.parametrisation import Parametrisation, cyclic_orbits, extending, free
from gnc_cli.search.problem import Candidate, Problem, SoftmaxCode, Tammes
from gnc_cli.search.refine import FirstOrder, first_order, polish_candidate, refine, settle
from gnc_cli.search.result import Course, Outcome
from gnc_cli.search.schedule import SearchState, search
from gnc_cli.search.symmetric import user_orbits

_LAST_POLISHES = 2
_REFINE_STEPS = 300
_LBFGS = 5.0
"""Time of a step of L-BFGS in float64, in steps of a descent."""
_POLISH_SHARE = 1 / 3
"""Of a time limit, for the last polish at most."""
_POLISH = 10.0
"""Seconds of the polish of a start, and a tenth of a time limit, at most."""
_WORSE = 1e-9
"""A value above another by more is no rounding."""
_STATIONARY = 1e-9
"""A candidate less stationary than this, from a search cut short, is polished once more."""


@dataclass(frozen=True, kw_only=True)
class SearchSolution(Course):
    """The best code of a search."""

    weights: np.ndarray
    polished: bool
    """The first-order conditions hold to the digits of a polish."""
    tasks: int
    """Tasks done with this seed, those of earlier calls included."""


def solve_code(
    instance: Instance,
    plan: Plan,
    deadline: Deadline,
    pool: Pool,
    *,
    init: np.ndarray | None = None,
    origin: str = "",
    tasks: int = 0,
    target_distance: float = np.inf,
    device: str = "cpu",
    save: Callable[[np.ndarray, int], None] | None = None,
) -> SearchSolution:
    """Search for a Tammes code or a Softmax Code.

    Args:
        deadline: polled at each step; time for the last polish and the certificate is kept.
        pool: the processes that work.
        init: a code (K, d), the first start; the result is never worse.
        origin: of this start: a construction or a stored code; empty for the user's own.
        tasks: number of tasks that earlier calls have done with this seed.
        target_distance: stop at a code of this distance: 1 - max_cosine (Tammes), or rho (softmax).
        save: called after each task with the best code and the number of tasks done.

    Raises:
        UsageError: the symmetry does not fit (d, K).
    """
    parametrisation = _parametrisation(instance, plan.seed)
    problem: Problem = (SoftmaxCode if instance.separate else Tammes)(parametrisation)
    problem.device = device
    searching = deadline.reserving(_reserve(problem, deadline))
    effort = plan_effort(problem, plan.restarts, deadline.seconds)
    if min(effort.tasks * effort.seconds, searching.remaining) <= WORTH_PROCESSES:
        pool = Pool()

    state = SearchState(tasks=tasks)
    if init is None and instance.separate:
        init = _around_given_rows(
            instance, plan, parametrisation, effort, searching, pool, device, state
        )
    if init is not None and instance.is_lines:
        init = antipodes(init)
    if init is not None:
        state.best = _start(instance, problem, init, origin, searching)
        if origin:
            state.start = state.best
        else:
            state.archive.append(state.best)
    _report(instance, plan, problem, effort, searching, state)
    for _ in search(
        problem,
        effort,
        plan.seed,
        state,
        deadline=searching,
        pool=pool,
        target_distance=target_distance,
        symmetry=instance.symmetry,
        device=device,
    ):
        _report(instance, plan, problem, effort, searching, state)
        if save is not None and state.best is not None:
            save(_rows(instance, state.best), state.tasks)
    best = _best(problem, state, deadline)
    if best is None:  # stopped before the first task had an end
        points = problem.starts(np.random.default_rng([plan.seed, 0]), 1)[0]
        best = Candidate(np.inf, problem.whole(points))
    best, second = settle(problem, best, deadline)
    if instance.is_lines:  # codes nearby that are not antipodal say nothing of lines
        second = None
    order = None
    if best.active is not None:
        order = first_order(best.whole, *best.active, problem.movable(), deadline)
    elif best.polished:  # refined, with no multipliers
        order = FirstOrder(best.stationarity, np.nan)
    history = np.array([(step, _shown(instance, problem, value)) for step, value in state.history])
    finished = not searching.expired or problem.distance(best.value) >= target_distance
    polished = order is not None and (
        order.gain <= 1e-9 or (order.stationarity <= 1e-9 and order.bound <= 1e-7)
    )
    if deadline.interrupted:
        outcome = Outcome.INTERRUPTED
    elif not finished:
        outcome = Outcome.TIME_LIMIT
    elif not polished:
        outcome = Outcome.STALLED
    elif second is not None and second.local_minimum == NO and instance.symmetry is None:
        outcome = Outcome.SADDLE  # a search that must keep a symmetry has converged within it
    else:
        outcome = Outcome.CONVERGED
    return SearchSolution(
        origin=f"descent from {best.origin}" if best.origin else "descent",
        outcome=outcome,
        stationarity=None if order is None else order.stationarity,
        first_order_gain=None if order is None else order.gain,
        second=second,
        restarts=state.restarts,
        batches=state.batches,
        hits=state.hits or None,
        steps=state.steps,
        history=history.reshape(-1, 2),
        weights=_rows(instance, best),
        polished=polished,
        tasks=state.tasks,
    )


def _rows(instance: Instance, best: Candidate) -> np.ndarray:
    """Return the rows of a code, or the first of the two of each line, shape (K, d)."""
    return best.whole[::2] if instance.is_lines else best.whole[: instance.K]


def _reserve(problem: Problem, deadline: Deadline) -> float:
    """Seconds of a time limit kept for the last polish and the certificate: a third at most."""
    if deadline.seconds is None:
        return 0.0
    steps = 1 if is_long(problem) else _REFINE_STEPS
    last = _LBFGS * steps * step_seconds(problem.d, problem.K, problem.K)
    if _can_polish(problem, deadline):
        last += polish_seconds(problem.coordinates)
    return min(deadline.seconds / 3, 0.2 + 2e-3 * problem.K + last)


def _can_polish(problem: Problem, deadline: Deadline) -> bool:
    """Whether there is memory for the last polish, and a third of the time limit is enough for it:
    else estimates choose, and L-BFGS refines.
    """
    n, seconds = problem.coordinates, deadline.seconds
    return n <= MAX_UNKNOWNS and (seconds is None or polish_seconds(n) <= _POLISH_SHARE * seconds)


def _best(problem: Problem, state: SearchState, deadline: Deadline) -> Candidate | None:
    """The best of all, after those that lead to a better code have been polished or refined."""
    best = state.best
    if best is None:
        return None
    polishes = _can_polish(problem, deadline)
    rough = sorted(state.archive, key=lambda c: c.value)
    better = [c for c in rough if not c.polished and c.value < best.value]
    for candidate in [*better, best][: _LAST_POLISHES if polishes else 1]:
        if deadline.expired:
            break
        if candidate.active is None or candidate.stationarity > _STATIONARY:
            if not polishes or polish_is_dear(problem.coordinates, deadline.seconds):
                whole, order = _refine(problem, candidate, deadline)
                candidate = replace(
                    candidate, whole=whole, active=None, stationarity=order.stationarity
                )
            done = _no_worse(problem, candidate, deadline) if polishes else candidate
            value = problem.value(done.whole)
            if value <= best.value:
                best = replace(done, value=value)
    return best


def _start(
    instance: Instance, problem: Problem, init: np.ndarray, origin: str, deadline: Deadline
) -> Candidate:
    """A whole code as the first candidate, polished where that is cheap and makes it no worse."""
    whole = problem.whole(problem.from_code(init))
    restricted = problem if instance.is_lines else None
    if instance.symmetry is not None:
        restricted = Tammes(_orbits_of(init, instance.symmetry[1]))
        whole = restricted.symmetric(init)
    if instance.separate:
        whole = np.concatenate([init, one_vs_rest(init, deadline=deadline).directions])
    start = Candidate(problem.value(whole), whole, restricted=restricted, origin=origin)
    if polish_is_dear(problem.coordinates, deadline.seconds):
        return start
    return _no_worse(problem, start, deadline.limited(min(_POLISH, 0.1 * deadline.remaining)))


def _orbits_of(code: np.ndarray, order: int) -> Parametrisation:
    """The cyclic group of a code whose first rows are its orbits of full length, one by one.

    Raises:
        UsageError: the code has no such symmetry.
    """
    K, d = code.shape
    for number in range(K // order, 0, -1):  # other rows may lie in short orbits
        orbits = code[: number * order].reshape(-1, order, d)
        images = np.roll(orbits, -1, axis=1)
        left, _, right = np.linalg.svd(images.reshape(-1, d).T @ orbits.reshape(-1, d))
        generator = left @ right
        whole = np.round(generator)  # entries 0 and 1, exactly: antipodes stay antipodes
        generator = np.where(np.abs(generator - whole) < 1e-12, whole, generator)
        if np.allclose(orbits @ generator.T, images, atol=1e-9):
            return cyclic_orbits(generator, order, K)
    raise UsageError(f"{spelled('symmetry')}: the code to go on from does not have this symmetry")


def _no_worse(problem: Problem, candidate: Candidate, deadline: Deadline) -> Candidate:
    """The candidate polished, or as it is where the polish fails or cannot be afforded."""
    if problem.coordinates > MAX_UNKNOWNS:
        return candidate
    done, value = polish_candidate(problem, candidate, deadline), problem.value(candidate.whole)
    if done.value > value + _WORSE:  # it left the basin
        done = polish_candidate(problem, candidate, deadline, first_gap=WARM_FIRST_GAP)
    if done.value > value - _WORSE and done.stationarity > candidate.stationarity:
        return candidate
    if done.value > value + _WORSE:
        return candidate
    # Where rounding made it worse, the rows stay as they were, with the multipliers found.
    return done if done.value <= value else replace(done, whole=candidate.whole, value=value)


def _refine(
    problem: Problem, candidate: Candidate, deadline: Deadline
) -> tuple[np.ndarray, FirstOrder]:
    """A candidate's rows after L-BFGS at higher sharpness.

    Where long descents need none, little time is kept: half of it, that the certificate has some.
    """
    if is_long(problem):
        deadline = deadline.limited(0.5 * deadline.remaining)
    return refine(
        candidate.restricted or problem,
        candidate.whole,
        scale=problem.scale(candidate.value),
        steps=_REFINE_STEPS,
        deadline=deadline,
        sharp=candidate.sharp,
    )


def _around_given_rows(
    instance: Instance,
    plan: Plan,
    parametrisation: Parametrisation,
    effort: Effort,
    deadline: Deadline,
    pool: Pool,
    device: str,
    state: SearchState,
) -> np.ndarray | None:
    """A Tammes code around the given rows, the first start of the search for a Softmax Code.

    Where the given rows alone decide the least distance of all, every placement of the others is a
    Softmax Code; this one keeps them apart as well.

    Args:
        state: of the search to come, which counts these restarts too.
    """
    instance = replace(instance, problem="tammes")
    if effort.tasks != UNLIMITED:
        effort = replace(effort, tasks=-(-effort.tasks // 4))
    if deadline.seconds is not None:
        deadline = deadline.limited(0.25 * deadline.seconds)
    around = SearchState()
    problem = Tammes(parametrisation)
    for _ in search(
        problem, effort, plan.seed, around, deadline=deadline, pool=pool, device=device
    ):
        _report(instance, plan, problem, effort, deadline, around)
    state.restarts, state.steps = around.restarts, around.steps
    return None if around.best is None else around.best.whole


def _parametrisation(instance: Instance, seed: int) -> Parametrisation:
    if instance.is_lines:
        return cyclic_orbits(-np.eye(instance.d), 2, 2 * instance.K)
    if instance.symmetry is not None:
        rng = np.random.default_rng(seed)
        return user_orbits(instance.symmetry, instance.d, instance.K, rng)
    if instance.fixed is not None:
        return extending(instance.fixed, instance.K)
    return free(instance.d, instance.K)


def _report(
    instance: Instance,
    plan: Plan,
    problem: Problem,
    effort: Effort,
    deadline: Deadline,
    state: SearchState,
) -> None:
    """Tell the user's `progress` how far a search is: in tasks, or in seconds of a time limit.

    Its stage is the quantity that the user asked for, beside that of the best known code.
    """
    if plan.progress is None:
        return
    softmax, known = instance.problem == "softmax", instance.known
    stage = "rho" if softmax else "coherence" if instance.is_lines else "max_cosine"
    if known is not None:
        stage += f" (best known {known.distance if softmax else known.max_cosine:.6f})"
    done, total = state.tasks, effort.tasks
    if total == UNLIMITED:
        total = int(deadline.seconds or 0)
        done = min(total, int(deadline.elapsed))
    best = np.inf if state.best is None else state.best.value
    plan.progress(stage, done, total, _shown(instance, problem, best))


def _shown(instance: Instance, problem: Problem, value: float) -> float:
    """A value that the search minimises as what the user asked for: rho, or the largest cosine."""
    return problem.distance(value) if instance.problem == "softmax" else value
