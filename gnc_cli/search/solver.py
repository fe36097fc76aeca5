"""The search for a code: its problem, its first start, its last polish and its outcome.

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
    Effort,
    is_long,
    plan_effort,
    polish_exceeds_budget,
    polish_seconds,
)
from gnc_cli.search.instance import Instance, Plan
from gnc_cli.search.parametrisation import Parametrisation, cyclic_orbits, extending, free
from gnc_cli.search.problem import Candidate, Problem, SoftmaxCode, Tammes
from gnc_cli.search.refine import FirstOrder, first_order, polish_candidate, refine, settle
from gnc_cli.search.result import Course, Outcome
from gnc_cli.search.schedule import SearchState, search
from gnc_cli.search.symmetric import user_orbits

_MAX_LAST_POLISHES = 2
"""Largest number of candidates that are polished or refined after the search."""
_REFINE_STEPS = 300
"""Largest number of steps of L-BFGS at each sharpness, after the search."""
_LBFGS_STEP = 5.0
"""Time of a step of L-BFGS in float64, in steps of a descent."""
_MAX_LAST_SHARE = 1 / 3
"""Largest share of a time limit for the last polish: the search has the rest."""
_MAX_START_SECONDS = 10.0
"""Largest number of seconds for the polish of a start, which also takes a tenth of a time limit at
most, so that the search has time."""
_VALUE_ROUNDING = 1e-9
"""Largest difference of two values that may be rounding."""
_MAX_STATIONARITY = 1e-9
"""Largest stationarity of a finished polish: a candidate of a search cut short is polished again
above."""


@dataclass(frozen=True, kw_only=True)
class SearchSolution(Course):
    """The best code of a search."""

    weights: np.ndarray
    """Unit rows, shape (K, d): of lines one row each."""
    polished: bool
    """True if the first-order conditions hold to the digits of a polish."""
    state: dict[str, int]
    """Seed, and the numbers of starts and tasks with it, those of earlier calls included."""


def solve_code(
    instance: Instance,
    plan: Plan,
    deadline: Deadline,
    pool: Pool,
    *,
    init: np.ndarray | None = None,
    origin: str = "",
    device: str = "cpu",
    save: Callable[[np.ndarray, dict[str, int]], None] | None = None,
) -> SearchSolution:
    """Search for a Tammes code or a Softmax Code.

    Args:
        instance: the size, the problem and its restrictions.
        plan: the seed, the effort, the target and the numbers of earlier tasks and starts.
        deadline: polled at each step; time for the last polish and the certificate is kept.
        pool: the processes that work.
        init: a code (K, d), the first start; the result is never worse.
        origin: of this start: a construction or a stored code; empty for a user's code.
        device: of the descents with torch.
        save: called after each task with the best code and the state of the search so far.

    Raises:
        UsageError: the symmetry does not fit (d, K), or `init` does not have it.
    """
    parametrisation = _parametrisation(instance, plan.seed)
    problem: Problem = (SoftmaxCode if instance.separate else Tammes)(parametrisation)
    problem.device = device
    searching = deadline.reserving(_reserve(problem, deadline))
    effort = plan_effort(problem, plan.restarts, deadline.seconds)
    work = effort.seconds * min(effort.tasks, -(-effort.starts // effort.batch))
    if min(work, searching.remaining) <= WORTH_PROCESSES:
        pool = Pool()

    earlier = plan.earlier.get("starts", 0)
    state = SearchState(tasks=plan.earlier.get("tasks", 0), restarts=earlier)
    if init is None and instance.separate:
        init = _around_given_rows(instance, plan, problem, effort, searching, pool, state)
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
        target_distance=plan.target_distance,
        symmetry=instance.symmetry,
    ):
        _report(instance, plan, problem, effort, searching, state)
        if save is not None and state.best is not None:
            save(_rows(instance, state.best), _saved(plan, state))
    best = _best(problem, state, deadline)
    if best is None:  # stopped before the end of the first task
        points = problem.starts(np.random.default_rng([plan.seed, 0]), 1)[0]
        best = Candidate(np.inf, problem.whole(points))
    best, second = settle(problem, best, deadline)
    if instance.is_lines:  # the test moves to codes that are not antipodal, and so no lines
        second = None
    order = None
    if best.active is not None:
        order = first_order(best.whole, *best.active, problem.movable(), deadline)
    elif best.polished:  # refined, with no multipliers
        order = FirstOrder(best.stationarity, np.nan)
    history = np.array(
        [(step, _user_value(instance, problem, value)) for step, value in state.history]
    )
    finished = not searching.expired or problem.distance(best.value) >= plan.target_distance
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
        restarts=state.restarts - earlier,
        batches=state.batches,
        hits=state.hits or None,
        steps=state.steps,
        history=history.reshape(-1, 2),
        weights=_rows(instance, best),
        polished=polished,
        state=_saved(plan, state),
    )


def _saved(plan: Plan, state: SearchState) -> dict[str, int]:
    """Return the numbers from which a later call continues."""
    return {"seed": plan.seed, "starts": state.restarts, "tasks": state.tasks}


def _rows(instance: Instance, best: Candidate) -> np.ndarray:
    """Return the rows of a code, or the first of the two points of each line, shape (K, d)."""
    return best.whole[::2] if instance.is_lines else best.whole[: instance.K]


def _reserve(problem: Problem, deadline: Deadline) -> float:
    """Return the seconds to keep for the last polish and the certificate, a third at most."""
    if deadline.seconds is None:
        return 0.0
    steps = 1 if is_long(problem) else _REFINE_STEPS
    seconds = _LBFGS_STEP * steps * step_seconds(problem.d, problem.K, problem.K)
    if _can_polish(problem, deadline):
        seconds += polish_seconds(problem.coordinates)
    return min(deadline.seconds / 3, 0.2 + 2e-3 * problem.K + seconds)


def _can_polish(problem: Problem, deadline: Deadline) -> bool:
    """Return whether the memory and a third of the time limit are enough for the last polish.

    Otherwise estimates choose the code, and L-BFGS refines it.
    """
    n, seconds = problem.coordinates, deadline.seconds
    return n <= MAX_UNKNOWNS and (seconds is None or polish_seconds(n) <= _MAX_LAST_SHARE * seconds)


def _best(problem: Problem, state: SearchState, deadline: Deadline) -> Candidate | None:
    """Polish or refine the candidates with better estimates, and return the best code of all."""
    best = state.best
    if best is None:
        return None
    polishes = _can_polish(problem, deadline)
    rough = sorted(state.archive, key=lambda c: c.value)
    better = [c for c in rough if not c.polished and c.value < best.value]
    for candidate in [*better, best][: _MAX_LAST_POLISHES if polishes else 1]:
        if deadline.expired:
            break
        if candidate.active is None or candidate.stationarity > _MAX_STATIONARITY:
            if not polishes or polish_exceeds_budget(problem.coordinates, deadline.seconds):
                whole, order = _refine(problem, candidate, deadline)
                candidate = replace(
                    candidate, whole=whole, active=None, stationarity=order.stationarity
                )
            end = _polish_no_worse(problem, candidate, deadline) if polishes else candidate
            value = problem.value(end.whole)
            if value <= best.value:
                best = replace(end, value=value)
    return best


def _start(
    instance: Instance, problem: Problem, init: np.ndarray, origin: str, deadline: Deadline
) -> Candidate:
    """Return a code (K, d) as the first candidate, polished if that is cheap and no worse."""
    whole = problem.whole(problem.from_code(init))
    restricted = problem if instance.is_lines else None
    if instance.symmetry is not None:
        restricted = Tammes(_orbits_of(init, instance.symmetry[1]))
        whole = restricted.symmetric(init)
    if instance.separate:
        whole = np.concatenate([init, one_vs_rest(init, deadline=deadline).directions])
    start = Candidate(problem.value(whole), whole, restricted=restricted, origin=origin)
    if polish_exceeds_budget(problem.coordinates, deadline.seconds):
        return start
    return _polish_no_worse(
        problem, start, deadline.limited(min(_MAX_START_SECONDS, 0.1 * deadline.remaining))
    )


def _orbits_of(code: np.ndarray, order: int) -> Parametrisation:
    """Return the orbits of the cyclic group of a code (K, d).

    The first rows of the code are its orbits of full length, one after the other.

    Raises:
        UsageError: the code has no such symmetry.
    """
    K, d = code.shape
    for number in range(K // order, 0, -1):  # other rows may lie in short orbits
        orbits = code[: number * order].reshape(-1, order, d)
        images = np.roll(orbits, -1, axis=1)
        left_vectors, _, right_vectors = np.linalg.svd(
            images.reshape(-1, d).T @ orbits.reshape(-1, d)
        )
        generator = left_vectors @ right_vectors
        integral = np.round(generator)  # entries 0 and 1, exactly: antipodes stay antipodes
        generator = np.where(np.abs(generator - integral) < 1e-12, integral, generator)
        if np.allclose(orbits @ generator.T, images, atol=1e-9):
            return cyclic_orbits(generator, order, K)
    raise UsageError(f"{spelled('symmetry')}: the code to start from does not have this symmetry")


def _polish_no_worse(problem: Problem, candidate: Candidate, deadline: Deadline) -> Candidate:
    """Polish a candidate, or return it as it is if the polish fails or needs too much memory."""
    if problem.coordinates > MAX_UNKNOWNS:
        return candidate
    end, value = polish_candidate(problem, candidate, deadline), problem.value(candidate.whole)
    if end.value > value + _VALUE_ROUNDING:  # it left the basin
        end = polish_candidate(problem, candidate, deadline, first_gap=WARM_FIRST_GAP)
    if end.value > value - _VALUE_ROUNDING and end.stationarity > candidate.stationarity:
        return candidate
    if end.value > value + _VALUE_ROUNDING:
        return candidate
    # Where rounding made it worse, the rows stay as they were, with the multipliers of the polish.
    return end if end.value <= value else replace(end, whole=candidate.whole, value=value)


def _refine(
    problem: Problem, candidate: Candidate, deadline: Deadline
) -> tuple[np.ndarray, FirstOrder]:
    """Refine a candidate's rows by L-BFGS at higher sharpness.

    Long descents need no refinement, and little time is kept for it. Half of that is used, so that
    the certificate has some.
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
    softmax: Problem,
    effort: Effort,
    deadline: Deadline,
    pool: Pool,
    state: SearchState,
) -> np.ndarray | None:
    """Search for a Tammes code around the given rows, the first start for a Softmax Code.

    Where the given rows alone decide the least distance of all, every placement of the others is a
    Softmax Code. This one separates the others as well.

    Args:
        instance: with the given rows.
        plan: of the whole search.
        softmax: the problem of the search to come.
        effort: of that search, of which a quarter is spent here.
        deadline: of that search, of which a quarter is spent here.
        pool: the processes that work.
        state: of that search, which counts these restarts too.

    Returns:
        The code (K, d); None if the deadline has left no time.
    """
    instance = replace(instance, problem="tammes")
    effort = replace(effort, tasks=-(-effort.tasks // 4), starts=-(-effort.starts // 4))
    if deadline.seconds is not None:
        deadline = deadline.limited(0.25 * deadline.seconds)
    tammes_state = SearchState()
    problem = Tammes(softmax.parametrisation)
    problem.device = softmax.device
    for _ in search(problem, effort, plan.seed, tammes_state, deadline=deadline, pool=pool):
        _report(instance, plan, problem, effort, deadline, tammes_state)
    state.restarts, state.steps = tammes_state.restarts, tammes_state.steps
    return None if tammes_state.best is None else tammes_state.best.whole


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
    """Report the progress of a search to the user: in tasks, or in seconds of a time limit.

    Where the user gives the number of starts, progress is in starts. The stage is the quantity that
    the user asked for, with its best known value.
    """
    if plan.progress is None:
        return
    softmax, best_known = instance.problem == "softmax", instance.best_known
    stage = "rho" if softmax else "coherence" if instance.is_lines else "max_cosine"
    if best_known is not None:
        stage += f" (best known {best_known.distance if softmax else best_known.max_cosine:.6f})"
    position, total = state.tasks, effort.tasks
    if effort.fixed_count:
        position, total = state.restarts, effort.starts
    elif deadline.seconds is not None:
        total = int(deadline.seconds or 0)
        position = min(total, int(deadline.elapsed))
    best = np.inf if state.best is None else state.best.value
    plan.progress(stage, position, total, _user_value(instance, problem, best))


def _user_value(instance: Instance, problem: Problem, value: float) -> float:
    """Convert a value that the search minimises to the user's: rho, or the largest cosine."""
    return problem.distance(value) if instance.problem == "softmax" else value
