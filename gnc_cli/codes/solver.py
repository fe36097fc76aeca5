"""From (d, K) to one code: which problem is searched, from where, and what is said of its end.

By the bisector theorem (docs/theorem.md) every Tammes code is a Softmax Code, so both problems are
one search: the Tammes problem, with half the unknowns. Weights and features are searched
separately only where given rows must not move, for which the theorem says nothing.
"""

from dataclasses import dataclass, replace

import numpy as np

from gnc_cli.codes.candidates import Candidate, SearchState, polished
from gnc_cli.codes.effort import MAX_UNKNOWNS, Effort, default_effort
from gnc_cli.codes.first_order import FirstOrder, first_order
from gnc_cli.codes.layout import Layout, extending, free, orbits, random_generator
from gnc_cli.codes.problem import Problem
from gnc_cli.codes.rounds import Symmetry
from gnc_cli.codes.search import Note, search
from gnc_cli.codes.softmax_code import SoftmaxCode
from gnc_cli.codes.tammes import Tammes
from gnc_cli.errors import UsageError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.refine import refine

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
    device: str = "cpu"

    @property
    def separate(self) -> bool:
        """Weights and features are separate unknowns."""
        return self.problem == "softmax" and self.fixed is not None


@dataclass(frozen=True)
class Found:
    """The best code of a plan."""

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
    plan: Plan,
    deadline: Deadline,
    note: Note | None = None,
    state: SearchState | None = None,
) -> Found:
    """Search as planned, from `state` on.

    Raises:
        UsageError: the symmetry does not fit (d, K).
    """
    layout = _layout(plan)
    problem: Problem = SoftmaxCode(layout) if plan.separate else Tammes(layout)
    searching = deadline.reserving(_reserve(problem, deadline))
    effort = default_effort(
        plan.d, plan.K, term_rows=problem.term_rows, coordinates=problem.coordinates,
        restarts=plan.restarts, steps=plan.steps,
    )  # fmt: skip
    symmetry = None
    if plan.symmetry is not None:
        symmetry = _random_orbits(problem, plan)
    target = None if plan.target is None else _converted(plan, plan.target)
    if state is None:
        init, spent = plan.init, (0, 0)
        if init is None and plan.separate:
            around = _around_given_rows(plan, layout, effort, searching, note)
            spent = around.restarts + around.cut_restarts, around.steps + around.cut_steps
            init = None if around.best is None else around.best.whole
        state = _first_state(problem, init, searching)
        state.restarts, state.steps = spent
    state = search(
        problem, effort, plan.seed, state, deadline=searching, target=target, symmetry=symmetry,
        device=plan.device, note=_labelled(note, plan),
    )  # fmt: skip
    best = state.best
    if best is None:  # stopped before the first round ended
        points = problem.starts(np.random.default_rng([plan.seed, 0]), 1)[0]
        best = Candidate(np.inf, problem.whole(points))
    reached = target is not None and best.value <= target
    whole, order = _settled(problem, best, deadline)
    history = np.array([(step, _converted(plan, value)) for step, value in state.history])
    return Found(
        weights=whole[: plan.K],
        order=order,
        finished=not searching.expired or reached,
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


def _settled(
    problem: Problem, best: Candidate, deadline: Deadline
) -> tuple[np.ndarray, FirstOrder | None]:
    """The best candidate's rows after the last polish, and how stationary they are."""
    if problem.coordinates <= MAX_UNKNOWNS:
        if best.proof is None:  # from a file, or never polished
            done = polished(problem, best, deadline)
            best = done if done.value <= best.value + 1e-9 else best
        if best.proof is None:
            return best.whole, None
        proof = best.proof
        seconds = deadline.remaining
        return best.whole, first_order(
            best.whole, proof.terms, proof.multipliers, problem.movable(), seconds
        )
    if deadline.expired:
        return best.whole, None
    over = best.over or problem
    refined = refine(
        over.unknowns(best.whole), over.objective, scale=problem.scale(best.value),
        steps=_REFINE_STEPS, deadline=deadline, project=over.layout.project,
    )  # fmt: skip
    return over.whole(refined.points), FirstOrder(refined.stationarity, np.nan)


def _around_given_rows(
    plan: Plan, layout: Layout, effort: Effort, deadline: Deadline, note: Note | None
) -> SearchState:
    """A Tammes code around the given rows, the first start of the search for a Softmax Code.

    Where the given rows alone decide the least distance of all, every placement of the others is a
    Softmax Code; this one keeps them apart as well.
    """
    some = replace(effort, rounds=-(-effort.rounds // 4))
    if deadline.seconds is not None:
        deadline = deadline.within(0.25 * deadline.seconds)
    tell = _labelled(note, replace(plan, problem="tammes"))
    return search(
        Tammes(layout), some, plan.seed, SearchState(), deadline=deadline, device=plan.device,
        note=tell,
    )  # fmt: skip


def _first_state(problem: Problem, init: np.ndarray | None, deadline: Deadline) -> SearchState:
    """An empty pool, or one that holds a start."""
    if init is None:
        return SearchState()
    whole = problem.whole(problem.from_code(init))
    start = Candidate(problem.select(whole, -np.inf).largest(whole), whole)
    if problem.coordinates <= MAX_UNKNOWNS:
        done = polished(problem, start, deadline)
        start = done if done.value <= start.value + 1e-9 else start
    return SearchState(pool=[start])


def _layout(plan: Plan) -> Layout:
    if plan.symmetry is not None:
        return _orbits(plan, np.random.default_rng(plan.seed))
    return free(plan.d, plan.K) if plan.fixed is None else extending(plan.fixed, plan.K)


def _random_orbits(problem: Problem, plan: Plan) -> Symmetry:
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


def _converted(plan: Plan, value: float) -> float:
    """A value that the search minimises (max_cosine, or minus rho) as the problem's own quantity
    (rho, or max_cosine), or the other way round: the conversion is its own inverse."""
    if plan.separate:
        return -value
    return 1.0 - value if plan.problem == "softmax" else value


def _labelled(note: Note | None, plan: Plan) -> Note | None:
    if note is None:
        return None
    label = "Softmax Code: rho" if plan.problem == "softmax" else "Tammes: max_cosine"
    tell = note
    return lambda _, done, total, value: tell(label, done, total, _converted(plan, value))
