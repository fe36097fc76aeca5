"""The search over basins: rounds that depend on seed and number alone, and when they end."""

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gnc_cli.codes.candidates import Candidate, SearchState, polished
from gnc_cli.codes.effort import Effort, default_effort
from gnc_cli.codes.layout import extending, free, orbits
from gnc_cli.codes.problem import Problem
from gnc_cli.codes.resume import from_plain, to_plain
from gnc_cli.codes.search import search
from gnc_cli.codes.softmax_code import SoftmaxCode
from gnc_cli.codes.tammes import Tammes
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.sphere import normalise, random_points
from tests.problems import icosahedron

EFFORT = Effort(rounds=4, restarts=4, steps=40, polishes=2, patience=100, shakes=2)
KINDS = pytest.mark.parametrize("kind", [Tammes, SoftmaxCode])


def problem_of(kind: type, d: int, K: int) -> Problem:
    """Tammes codes are searched freely; weights and features apart only around given rows."""
    if kind is Tammes:
        return Tammes(free(d, K))
    return SoftmaxCode(extending(random_points(np.random.default_rng(1), 2, d), K))


def run(problem: Problem, rounds: int, state: SearchState | None = None, **more: object):
    effort = replace(EFFORT, rounds=rounds)
    options = {"deadline": Deadline()} | more
    return search(problem, effort, 3, state or SearchState(), **options)  # type: ignore[arg-type]


def same(a: SearchState, b: SearchState) -> None:
    assert (a.round, a.restarts, a.steps, a.idle) == (b.round, b.restarts, b.steps, b.idle)
    assert a.history == b.history and len(a.pool) == len(b.pool)
    for one, other in zip(a.pool, b.pool, strict=True):
        assert one.value == other.value and one.polished == other.polished
        assert np.array_equal(one.whole, other.whole)


@KINDS
def test_a_search_that_stopped_goes_on_as_if_it_had_not(kind: type) -> None:
    """Six rounds see every kind of round; each cut is saved as arrays and read back."""
    problem = problem_of(kind, 3, 8)
    whole = run(problem, 6)
    for cut in (1, 4):
        saved = to_plain(run(problem, cut))
        same(run(problem, 6, from_plain(saved, 3, 8, separate=kind is SoftmaxCode)), whole)


@KINDS
def test_seeds_decide_everything(kind: type) -> None:
    problem = problem_of(kind, 3, 8)
    same(run(problem, 2), run(problem, 2))
    other = search(problem, replace(EFFORT, rounds=2), 4, SearchState(), deadline=Deadline())
    assert not np.array_equal(other.pool[0].whole, run(problem, 2).pool[0].whole)


@KINDS
def test_pools_are_sorted_distinct_and_true(kind: type) -> None:
    problem = problem_of(kind, 4, 11)
    state = run(problem, 4)
    values = [c.value for c in state.pool]
    assert 1 <= len(values) <= 10
    assert (np.diff(values) > 1e-11).all()
    for candidate in state.pool:
        np.testing.assert_allclose(np.linalg.norm(candidate.whole, axis=1), 1.0, atol=1e-14)
        top = problem.select(candidate.whole, -np.inf).largest(candidate.whole)
        if candidate.polished:
            assert candidate.value == pytest.approx(top, abs=1e-14)
        else:  # an estimate of where the basin leads
            assert candidate.value <= top + 1e-12
    best = state.best
    assert best is not None and best.polished


@KINDS
def test_history_counts_steps_and_never_rises(kind: type) -> None:
    state = run(problem_of(kind, 3, 9), 5)
    steps, values = np.array(state.history).T
    assert (np.diff(steps) >= 0).all() and steps[-1] == state.steps
    assert (np.diff(values) <= 1e-14).all()


def test_a_target_ends_it() -> None:
    state = run(Tammes(free(3, 12)), 8, target=1.0 / np.sqrt(5.0) + 1e-12)
    assert state.round < 8
    assert state.best is not None and state.best.value <= 1.0 / np.sqrt(5.0) + 1e-12


def test_patience_ends_it() -> None:
    effort = replace(EFFORT, rounds=50, patience=2)
    state = search(Tammes(free(2, 5)), effort, 0, SearchState(), deadline=Deadline())
    assert state.round <= 5 and state.idle == 2


def _after(rounds: int) -> tuple[Deadline, Callable[[str, int, int, float], None]]:
    """A deadline that strikes just after so many rounds."""
    stop = threading.Event()

    def note(stage: str, done: int, total: int, value: float) -> None:
        if done == rounds:
            stop.set()

    return Deadline(None, stop), note


@KINDS
def test_an_interruption_keeps_the_best_and_repeats_the_round(kind: type) -> None:
    problem = problem_of(kind, 3, 8)
    before = run(problem, 2)
    deadline, note = _after(2)
    cut = run(problem, 8, deadline=deadline, note=note)
    assert cut.round == 2
    assert cut.best is not None and before.best is not None
    assert cut.best.value <= before.best.value
    same(run(problem, 8, cut), run(problem, 8))


def test_an_interruption_in_the_first_round_leaves_something() -> None:
    stop = threading.Event()
    stop.set()
    state = run(Tammes(free(3, 8)), 3, deadline=Deadline(None, stop))
    assert state.round == 0 and not state.pool
    assert state.best is not None and state.best in state.finds


def test_a_finished_search_does_not_go_on() -> None:
    problem = Tammes(free(3, 4))
    met = run(problem, 8, target=-0.33)
    assert met.round < 8
    same(run(problem, 8, met, target=-0.33), met)
    patient = search(problem, replace(EFFORT, rounds=30, patience=2), 3, met, deadline=Deadline())
    assert patient.round < 30
    again = search(problem, replace(EFFORT, rounds=30, patience=2), 3, patient, deadline=Deadline())
    same(again, patient)


def test_notes_tell_rounds_and_the_best() -> None:
    told: list[tuple[str, int, int, float]] = []
    state = run(Tammes(free(3, 7)), 3, note=lambda *a: told.append(a))
    assert [(done, total) for _, done, total, _ in told] == [(1, 3), (2, 3), (3, 3)]
    assert state.best is not None and told[-1][3] == state.best.value


@KINDS
def test_given_rows_stay_in_every_round(kind: type, rng: np.random.Generator) -> None:
    given = random_points(rng, 2, 3)
    state = run(kind(extending(given, 7)), 3)
    for candidate in state.pool:
        assert np.array_equal(candidate.whole[:2], given)


def test_a_symmetry_is_kept_in_every_round() -> None:
    """Not by the first round alone."""
    problem = Tammes(orbits(-np.eye(3), 2, 14))

    def draw(rng: np.random.Generator) -> Problem:
        return problem.with_layout(orbits(-np.eye(3), 2, 14))

    state = run(problem, 8, symmetry=draw)
    for candidate in state.pool:
        weights = candidate.whole[:14]
        np.testing.assert_allclose(weights[1::2], -weights[::2], atol=1e-14)
        assert candidate.over is not None
        top = problem.select(candidate.whole, -np.inf).largest(candidate.whole)
        if candidate.polished:
            assert candidate.value == pytest.approx(top, abs=1e-9)


def test_polishing_a_candidate(rng: np.random.Generator) -> None:
    problem = Tammes(free(3, 12))
    start = normalise(icosahedron() + 0.01 * rng.standard_normal((12, 3)))
    found = Candidate(0.45, start)
    assert not found.polished
    done = polished(problem, found, Deadline())
    assert done.polished and done.value == pytest.approx(1.0 / np.sqrt(5.0), abs=1e-14)


@pytest.mark.parametrize("d, K", [(2, 5), (3, 7), (3, 130), (10, 100), (8, 240), (64, 2000)])
def test_default_effort_is_within_reason(d: int, K: int) -> None:
    plan = default_effort(d, K, term_rows=K, coordinates=K * (d - 1))
    assert 1 <= plan.rounds and 4 <= plan.restarts <= 64 and plan.polishes >= 1
    assert plan.restarts == 4 or plan.restarts * K * K <= 1_000_000
    asked = default_effort(
        d, K, term_rows=K, coordinates=K * (d - 1), restarts=100, steps=7
    )
    assert asked.steps == 7
    assert 100 <= asked.rounds * asked.restarts < 100 + asked.restarts
