"""From (d, K) to one code: which searches run, in which order, and what they hand to each other.

Tammes: one search. Softmax Code: a Tammes search first (half the unknowns; at a first-order point
rho = 1 - max_cosine), its best codes as starts of the search with W and H separate, and the better
end by the value reached. Without cross-starts the Softmax search stands alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from gnc_cli.codes.candidates import Candidate, SearchState, polished
from gnc_cli.codes.effort import default_effort
from gnc_cli.codes.first_order import FirstOrder, first_order
from gnc_cli.codes.layout import Layout, extending, free, orbits, random_generator
from gnc_cli.codes.problem import Problem
from gnc_cli.codes.rounds import Symmetry
from gnc_cli.codes.search import Note, search
from gnc_cli.codes.softmax_code import SoftmaxCode
from gnc_cli.codes.tammes import Tammes
from gnc_cli.errors import UsageError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.polish import MAX_UNKNOWNS
from gnc_cli.numerics.refine import refine
from gnc_cli.numerics.terms import Terms

__all__ = ["Found", "Plan", "solve_code"]

_REFINE_STEPS = 300


@dataclass(frozen=True)
class Plan:
    """What the user asked of a search; arrays are checked already."""

    problem: str
    """`tammes` or `softmax`."""
    d: int
    K: int
    seed: int = 0
    restarts: int | None = None
    steps: int | None = None
    target: float | None = None
    """Stop at this value: largest cosine (Tammes), or rho (softmax)."""
    init: np.ndarray | None = None
    """Unit rows, shape (K, d)."""
    fixed: np.ndarray | None = None
    """Unit rows that stay, shape (F, d)."""
    symmetry: tuple[str, int] | None = None
    """`("antipodal", 2)` or `("cyclic", n)`."""
    cross_start: bool = True
    device: str = "cpu"


@dataclass
class Found:
    """The best code of a plan."""

    weights: np.ndarray
    features: np.ndarray | None
    """The search's own features (softmax); optimal ones come from the certificate."""
    order: FirstOrder | None
    """None where the code was not polished."""
    finished: bool
    """The whole effort was spent, or the target reached."""
    restarts: int
    steps: int
    history: np.ndarray
    """Shape (T, 2): gradient steps so far and the best value: max_cosine, or rho."""
    states: dict[str, SearchState] = field(default_factory=dict)
    """Per search, for `--resume`."""


def solve_code(
    plan: Plan,
    deadline: Deadline,
    note: Note | None = None,
    states: dict[str, SearchState] | None = None,
) -> Found:
    """Search as planned, from `states` on.

    Raises:
        UsageError: the symmetry does not fit (d, K).
    """
    states = dict(states or {})
    layout = _layout(plan)
    softmax = plan.problem == "softmax"
    stages: list[Problem] = []
    if not softmax or plan.cross_start:
        stages.append(Tammes(layout))
    if softmax:
        stages.append(SoftmaxCode(layout))
    finished = False
    searching = deadline.reserving(_reserve(stages[-1], deadline))
    for problem in stages:
        name = type(problem).__name__
        state = states.get(name) or _first_state(problem, plan, searching, states)
        states[name] = state
        effort = default_effort(
            plan.d, plan.K, term_rows=problem.term_rows, coordinates=problem.coordinates,
            restarts=plan.restarts, steps=plan.steps,
            share=0.25 if len(stages) == 2 and problem is stages[1] else 1.0,
        )  # fmt: skip
        states[name] = search(
            problem, effort, plan.seed, state,
            deadline=searching, target=_target(problem, plan), symmetry=_symmetry(problem, plan),
            device=plan.device, note=_labelled(note, problem),
        )  # fmt: skip
        if searching.expired or _reached(problem, plan, states[name]):
            break
    else:
        finished = True
    return _finish(problem, plan, deadline, states, finished)


def _reserve(problem: Problem, deadline: Deadline) -> float:
    """Seconds of a time limit kept for the last polish and the certificate; a fifth at most."""
    if deadline.seconds is None:
        return 0.0
    n = min(problem.coordinates, MAX_UNKNOWNS)
    return min(0.2 * deadline.seconds, 0.2 + 2e-3 * problem.K + n**3 / 5e9)


def _finish(
    problem: Problem,
    plan: Plan,
    deadline: Deadline,
    states: dict[str, SearchState],
    finished: bool,
) -> Found:
    softmax = states.get(SoftmaxCode.__name__)
    if isinstance(problem, Tammes) and softmax is not None and softmax.best is not None:
        # A resumed Softmax search that was cut in its Tammes stage: the better code counts.
        tammes = states[Tammes.__name__].best
        if tammes is None or -softmax.best.value >= 1.0 - tammes.value:
            problem = SoftmaxCode(problem.layout)
    state = states[type(problem).__name__]
    best = state.best
    if best is None:  # stopped before the first round ended
        points = problem.starts(np.random.default_rng([plan.seed, 0]), 1)[0]
        best = Candidate(np.inf, problem.whole(points))
    order = None
    whole = best.whole
    if problem.coordinates <= MAX_UNKNOWNS:
        if best.proof is None:  # from a file, or never polished
            settled = polished(problem, best, deadline)
            best = settled if settled.value <= best.value + 1e-9 else best
        whole, proof = best.whole, best.proof
        if proof is not None:
            order = first_order(
                whole, proof.terms, proof.multipliers, problem.movable(), deadline.remaining
            )
    elif not deadline.expired:
        setting = best.over or problem
        refined = refine(
            setting.unknowns(whole), setting.objective, scale=problem.scale(best.value),
            steps=_REFINE_STEPS, deadline=deadline, project=setting.layout.project,
        )  # fmt: skip
        whole = setting.whole(refined.points)
        order = FirstOrder(refined.stationarity, np.nan)
    K = plan.K
    return Found(
        weights=whole[:K],
        features=whole[K:] if len(whole) > K else None,
        order=order,
        finished=finished or _reached(problem, plan, state),
        restarts=sum(s.restarts + s.cut_restarts for s in states.values()),
        steps=sum(s.steps + s.cut_steps for s in states.values()),
        history=_history(states, plan.problem == "softmax"),
        states=states,
    )


def _history(states: dict[str, SearchState], softmax: bool) -> np.ndarray:
    """Best value so far over all stages, as the problem's own quantity (rho, or max_cosine)."""
    rows: list[tuple[float, float]] = []
    offset = 0
    for name, state in states.items():
        for step, value in state.history:
            shown = -value if name == SoftmaxCode.__name__ else (1.0 - value if softmax else value)
            rows.append((offset + step, shown))
        offset += state.steps
    table = np.array(rows).reshape(-1, 2)
    better = np.maximum if softmax else np.minimum
    table[:, 1] = better.accumulate(table[:, 1]) if len(table) else table[:, 1]
    return table


def _first_state(
    problem: Problem, plan: Plan, deadline: Deadline, states: dict[str, SearchState]
) -> SearchState:
    """An empty pool, or one that holds the user's start or the other search's best codes."""
    pool: list[Candidate] = []
    if plan.init is not None:
        whole = problem.whole(problem.from_code(plan.init))
        start = Candidate(problem.select(whole, -np.inf).largest(whole), whole)
        if problem.coordinates <= MAX_UNKNOWNS:
            done = polished(problem, start, deadline)
            start = done if done.value <= start.value + 1e-9 else start
        pool.append(start)
    other = states.get(Tammes.__name__)
    if other is None or not isinstance(problem, SoftmaxCode):
        return SearchState(pool=pool)
    crossed = [_crossed(problem, candidate) for candidate in other.pool[:3]]
    if problem.layout.fixed is not None and crossed and problem.coordinates <= MAX_UNKNOWNS:
        crossed[0] = polished(problem, crossed[0], deadline)
    return SearchState(pool=sorted(pool + crossed, key=lambda c: c.value))


def _crossed(problem: SoftmaxCode, candidate: Candidate) -> Candidate:
    """A Tammes code as a point of the Softmax problem: features on their weights.

    A first-order point of Tammes is first-order here as well, each pair's multiplier going half to
    either direction.
    """
    K = problem.K
    over = None if candidate.over is None else problem.with_layout(candidate.over.layout)
    setting = over or problem
    whole = setting.whole(setting.from_code(candidate.whole))
    value = problem.select(whole, -np.inf).largest(whole)
    proof = candidate.proof
    if proof is None or problem.layout.fixed is not None:
        return Candidate(value, whole, over=over)
    i, j = proof.terms.a, proof.terms.b
    terms = Terms(np.concatenate([i, j]) + K, np.concatenate([j, i]), np.concatenate([i, j]))
    multipliers = np.tile(0.5 * proof.multipliers, 2)
    order = first_order(whole, terms, multipliers, problem.movable())
    moved = replace(
        proof, points=whole, value=value, terms=terms, multipliers=multipliers,
        stationarity=order.stationarity,
    )  # fmt: skip
    return Candidate(value, whole, order.stationarity, proof.gap, over, moved)


def _layout(plan: Plan) -> Layout:
    if plan.symmetry is not None:
        return _orbits(plan, np.random.default_rng(plan.seed))
    return free(plan.d, plan.K) if plan.fixed is None else extending(plan.fixed, plan.K)


def _symmetry(problem: Problem, plan: Plan) -> Symmetry | None:
    if plan.symmetry is None:
        return None
    return lambda rng: problem.with_layout(_orbits(plan, rng))


def _orbits(plan: Plan, rng: np.random.Generator) -> Layout:
    """The user's symmetry, by a random group of its kind that fits."""
    kind, order = plan.symmetry or ("", 0)
    if kind == "antipodal":
        return orbits(-np.eye(plan.d), 2, plan.K)
    for attempt in range(50):
        try:
            return orbits(random_generator(rng, plan.d, order), order, plan.K)
        except UsageError:
            if attempt == 49:
                raise
    raise AssertionError("unreachable")


def _target(problem: Problem, plan: Plan) -> float | None:
    """The plan's target as a value to reach from above."""
    if plan.target is None:
        return None
    if isinstance(problem, SoftmaxCode):
        return -plan.target
    return 1.0 - plan.target if plan.problem == "softmax" else plan.target


def _reached(problem: Problem, plan: Plan, state: SearchState) -> bool:
    target, best = _target(problem, plan), state.best
    return target is not None and best is not None and best.value <= target


def _labelled(note: Note | None, problem: Problem) -> Note | None:
    if note is None:
        return None
    softmax = isinstance(problem, SoftmaxCode)
    name = "Softmax Code: rho" if softmax else "Tammes: max_cosine"
    tell: Callable[[str, int, int, float], None] = note
    return lambda _, done, total, value: tell(name, done, total, -value if softmax else value)
