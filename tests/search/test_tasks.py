"""Every source of starts: what a task leaves, whatever process it ran in, and when it is cut."""

import numpy as np
import pytest

from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.effort import UNLIMITED_COUNT, Effort
from gnc_cli.search.parametrisation import free
from gnc_cli.search.problem import Candidate, Tammes
from gnc_cli.search.tasks import ARCHIVE_SIZE, SOURCES, Task, TaskResult, perform

PROBLEM = Tammes(free(3, 14))
EFFORT = Effort(
    tasks=10,
    batch=4,
    steps=60,
    starts=UNLIMITED_COUNT,
    fixed_count=True,
    polishes=2,
    shakes=3,
    patience=100,
    hits=100,
    seconds=0.05,
)
EVERY = pytest.mark.parametrize("source", SOURCES)


def archive(source: str = "fresh") -> tuple[Candidate, ...]:
    """Two polished codes and a rough one, best first."""
    task = Task(source, (9, 0, 0), PROBLEM, EFFORT)
    return tuple(perform(task, Deadline()).candidates[:3])


def result(source: str, deadline: Deadline | None = None, seed: int = 1) -> TaskResult:
    start = archive("symmetric" if source == "symmetric hop" else "fresh")
    if source == "polish":
        start = tuple(c for c in start if not c.polished)[:1]
    task = Task(source, (seed, 2, 3), PROBLEM, EFFORT, archive=start)
    return perform(task, deadline or Deadline())


@EVERY
def test_candidates_are_codes_with_true_values(source: str) -> None:
    made = result(source)
    assert made.source == source and 1 <= len(made.candidates) <= ARCHIVE_SIZE
    values = [c.value for c in made.candidates]
    assert values == sorted(values)
    for candidate in made.candidates:
        np.testing.assert_allclose(np.linalg.norm(candidate.whole, axis=1), 1.0, atol=1e-12)
        top = PROBLEM.value(candidate.whole)
        if candidate.polished:
            assert candidate.value == pytest.approx(top, abs=1e-12)
        else:  # an estimate of where the basin leads
            assert candidate.value <= top + 1e-9


@EVERY
def test_a_task_has_no_more_starts_than_its_batch(source: str) -> None:
    assert all(result(source, seed=seed).restarts <= EFFORT.batch for seed in range(1, 5))


@EVERY
def test_the_seed_alone_decides(source: str) -> None:
    one, again = result(source), result(source)
    assert (one.restarts, one.steps) == (again.restarts, again.steps)
    for a, b in zip(one.candidates, again.candidates, strict=True):
        assert a.value == b.value and np.array_equal(a.whole, b.whole)
    if source != "polish":
        other = result(source, seed=2)
        assert not np.array_equal(one.candidates[0].whole, other.candidates[0].whole)


@EVERY
def test_a_deadline_that_has_passed_ends_it_with_what_there_is(source: str) -> None:
    assert result(source, Deadline(0.0)).steps <= EFFORT.batch


@pytest.mark.parametrize("source", sorted(SOURCES.keys() - {"algebra"}))
def test_starts_that_go_on_from_the_archive_are_not_independent(source: str) -> None:
    assert result(source).independent == (source in ("fresh", "symmetric", "neighbour"))


def test_a_polish_names_the_estimate_that_it_replaces() -> None:
    (rough,) = [c for c in archive() if not c.polished][:1]
    made = result("polish")
    assert made.polished_values == (rough.value,) and made.candidates[0].polished
