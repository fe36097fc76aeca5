"""Rounds of a search (`schedule.py`, `effort.py`): they depend on seed and number alone."""

from dataclasses import replace

import numpy as np
import pytest

from gnc_cli.geometry.sphere import random_points
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.parallel import Pool
from gnc_cli.search import schedule
from gnc_cli.search.effort import UNLIMITED_COUNT, Effort, plan_effort
from gnc_cli.search.parametrisation import cyclic_orbits, extending, free
from gnc_cli.search.problem import Candidate, Problem, SoftmaxCode, Tammes
from gnc_cli.search.schedule import SearchState, search
from gnc_cli.search.tasks import TaskResult
from tests.problems import icosahedron

EFFORT = Effort(
    tasks=4,
    batch=4,
    steps=40,
    starts=UNLIMITED_COUNT,
    fixed_count=True,
    polishes=2,
    shakes=2,
    patience=100,
    hits=100,
    seconds=0.1,
)
KINDS = pytest.mark.parametrize("kind", [Tammes, SoftmaxCode])


def problem_of(kind: type, d: int, K: int) -> Problem:
    """Tammes codes are searched freely; weights and features apart only around given rows."""
    if kind is Tammes:
        return Tammes(free(d, K))
    return SoftmaxCode(extending(random_points(np.random.default_rng(1), 2, d), K))


def run(
    problem: Problem, tasks: int, state: SearchState | None = None, seed: int = 3, **more: object
) -> SearchState:
    limits = {name: more.pop(name) for name in ("patience", "hits", "steps") if name in more}
    effort = replace(EFFORT, tasks=tasks, **limits)  # type: ignore[arg-type]
    options = {"deadline": Deadline(), "pool": Pool()} | more
    state = state or SearchState()
    for _ in search(problem, effort, seed, state, **options):  # type: ignore[arg-type]
        pass
    return state


def same(a: SearchState, b: SearchState) -> None:
    assert (a.tasks, a.restarts, a.steps, a.idle) == (b.tasks, b.restarts, b.steps, b.idle)
    assert a.history == b.history and len(a.archive) == len(b.archive)
    for one, other in zip(a.archive, b.archive, strict=True):
        assert one.value == other.value and one.polished == other.polished
        assert np.array_equal(one.whole, other.whole)


@KINDS
def test_a_search_that_stopped_between_rounds_goes_on_as_if_it_had_not(kind: type) -> None:
    """Rounds of 1, 2, 4 and 8 tasks."""
    problem = problem_of(kind, 3, 8)
    whole = run(problem, 15)
    same(run(problem, 15, run(problem, 3)), whole)
    other = run(problem, 3, seed=4)
    assert not np.array_equal(other.archive[0].whole, run(problem, 3).archive[0].whole)


def test_a_target_or_patience_ends_it() -> None:
    target = 1.0 / np.sqrt(5.0) + 1e-12
    met = run(Tammes(free(3, 12)), 15, target_distance=1.0 - target)
    assert met.tasks < 15
    assert met.best is not None and met.best.value <= target
    same(run(Tammes(free(3, 12)), 15, met, target_distance=1.0 - target), met)
    patient = run(Tammes(free(2, 5)), 50, patience=4)
    assert patient.tasks <= 15 and patient.idle >= 4
    same(run(Tammes(free(2, 5)), 50, patient, patience=4), patient)


def test_the_same_code_found_again_and_again_ends_it() -> None:
    """Independent tasks that end in the best value are counted, and the others too."""
    often = run(Tammes(free(3, 6)), 50, hits=6, steps=300)
    assert 6 <= often.hits <= often.batches <= often.tasks < 50
    same(run(Tammes(free(3, 6)), 50, often, hits=6, steps=300), often)


def test_variants_of_a_code_do_not_crowd_the_archive() -> None:
    """(3, 40) has many local optima, some within 1e-6 of each other."""
    problem = Tammes(free(3, 40))
    values = np.array([c.value for c in run(problem, 15, steps=200).archive])
    assert len(values) > 3
    assert (np.diff(values) > 4e-4 * problem.scale(values[0])).all()


def test_processes_find_the_same() -> None:
    problem = problem_of(Tammes, 3, 8)
    with Pool(2) as pool:
        same(run(problem, 7, pool=pool), run(problem, 7))


def test_a_symmetry_is_kept_in_every_round() -> None:
    """Not by the first round alone."""
    problem = Tammes(cyclic_orbits(-np.eye(3), 2, 14))
    state = run(problem, 7, symmetry=("antipodal", 2))
    for candidate in state.archive:
        np.testing.assert_allclose(candidate.whole[1::2], -candidate.whole[::2], atol=1e-14)
        assert candidate.restricted is not None
        if candidate.polished:
            assert candidate.value == pytest.approx(problem.value(candidate.whole), abs=1e-9)


@pytest.mark.parametrize("d, K", [(2, 5), (3, 7), (3, 130), (10, 100), (8, 240), (64, 2000)])
def test_the_planned_effort_is_within_reason(d: int, K: int) -> None:
    problem = Tammes(free(d, K))
    plan = plan_effort(problem)
    assert 1 <= plan.tasks <= 400 and 1 <= plan.batch <= 64
    assert plan.batch <= 4 or plan.batch * K * K <= 1_000_000
    assert (plan.batch == 1) == (problem.coordinates > 5000)
    assert plan.tasks * plan.seconds < 120.0 or d == 3
    assert plan.polishes or plan.shakes or problem.coordinates > 5000
    asked = plan_effort(problem, restarts=100)
    assert asked.steps == plan.steps and asked.fixed_count and not plan.fixed_count
    assert asked.starts == 100 and asked.tasks == UNLIMITED_COUNT
    assert plan_effort(problem, seconds=5.0).tasks == UNLIMITED_COUNT


def known(problem: Problem, code: np.ndarray) -> SearchState:
    """A search beside a known code."""
    start = Candidate(problem.value(code), code, origin="stored code: x")
    return SearchState(best=start, start=start)


def test_the_best_has_the_value_of_its_rows(rng: np.random.Generator) -> None:
    """Estimates say where basins lead; what a search has is what its rows have."""
    problem, code = Tammes(free(3, 9)), random_points(rng, 9, 3)
    rough = Candidate(-0.9, code)
    best = schedule._best_of(problem, None, [rough])
    assert best is not None and best.value == problem.value(code)
    better = Candidate(best.value - 1e-6, code, stationarity=0.0)
    won = schedule._best_of(problem, best, [rough, better])
    assert won is not None and won.value == better.value and won.polished
    assert schedule._best_of(problem, better, [rough]) is better


def test_a_known_code_takes_no_part_until_it_is_beaten() -> None:
    """It is no parent in the archive, and hops that fall back to it do not count."""
    problem = Tammes(free(3, 12))
    state = run(problem, 31, known(problem, icosahedron()), steps=200)
    assert state.start is not None and state.best is not None
    assert state.best.value == state.start.value  # nothing is better
    assert all(c.origin != "stored code: x" for c in state.archive)
    assert state.idle == 31
    # A poor one costs nothing, and is left as soon as a better one is there.
    poor = run(problem, 7, known(problem, random_points(np.random.default_rng(0), 12, 3)))
    assert poor.start is None and poor.archive[0].value < 0.45


def test_half_of_the_hops_start_from_a_known_code(rng: np.random.Generator) -> None:
    problem, code = Tammes(free(6, 40)), random_points(rng, 40, 6)
    state = replace(known(problem, code), tasks=15)
    state.archive = [Candidate(0.9, random_points(rng, 40, 6), stationarity=0.0)]
    effort = replace(EFFORT, tasks=UNLIMITED_COUNT, fixed_count=False)
    tasks = schedule._tasks(problem, effort, 3, state, None)
    learning = [task for task in tasks if task.source in schedule._ARCHIVE_WEIGHTS]
    ours = [task for task in learning if task.max_value < np.inf]
    assert len(learning) > 2 and 0 < len(ours) <= (len(learning) + 1) // 2
    assert all(task.archive == (state.start,) and task.source != "shake" for task in ours)


def test_a_search_first_descends_from_a_known_code() -> None:
    """A part of a code leads further by itself; the tasks of the rounds are those without it."""
    problem, moved = Tammes(free(3, 12)), icosahedron() + 0.05 * np.eye(12, 3)
    state = known(problem, moved / np.linalg.norm(moved, axis=1, keepdims=True))
    effort = replace(EFFORT, fixed_count=False)
    next(search(problem, effort, 3, state, deadline=Deadline(), pool=Pool()))
    assert state.tasks == 0 and state.restarts > 0 and state.start is None
    assert state.best is not None and state.best.origin == "stored code: x"
    assert state.best.value == pytest.approx(1.0 / np.sqrt(5.0), abs=1e-3)


@pytest.mark.parametrize(("d", "K"), [(5, 40), (64, 200)])
@pytest.mark.parametrize("done", [1, 3, 7, 12])
def test_a_resumed_search_has_a_known_code_and_no_archive(d: int, K: int, done: int) -> None:
    """Its hops start from the known code, or anew: from nothing they cannot."""
    problem, code = Tammes(free(d, K)), random_points(np.random.default_rng(0), K, d)
    for state in (known(problem, code), SearchState()):
        effort = plan_effort(problem, seconds=5.0)
        state.tasks = done
        tasks = schedule._tasks(problem, effort, 0, state, None)
        assert tasks and all(
            task.archive for task in tasks if task.source in schedule._ARCHIVE_WEIGHTS
        )


def test_a_polished_code_is_not_hidden_by_estimates(rng: np.random.Generator) -> None:
    problem, code = Tammes(free(3, 9)), random_points(rng, 9, 3)
    rough = [Candidate(0.1 + 0.01 * i, code) for i in range(5)]
    polished = Candidate(0.2, code, stationarity=0.0)
    state = SearchState()
    results = [TaskResult("fresh", [each]) for each in [*rough, polished]]
    schedule._learn(problem, EFFORT, state, 3, results)
    assert state.best is not None and state.best.value == 0.2
