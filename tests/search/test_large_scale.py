"""The large path, on small codes: exact in what it claims, far better than its start, in time."""

import math
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.geometry import gram as gram_module
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search import large_scale
from gnc_cli.search.instance import Instance, Machine, Plan
from gnc_cli.search.large_scale import LargeSolution, solve_large
from gnc_cli.search.result import Outcome


def solution_of(
    d: int,
    K: int,
    *,
    steps: int | None,
    seed: int = 0,
    threads: int | None = None,
    fixed: np.ndarray | None = None,
    target_distance: float = math.inf,
    **options: Any,
) -> LargeSolution:
    plan = Plan(seed=seed, steps=steps, target_distance=target_distance)
    machine = Machine(device="cpu", threads=threads)
    return solve_large(Instance(d=d, K=K, fixed=fixed), plan, machine, **options)


def gram(W: np.ndarray) -> np.ndarray:
    cosines = W @ W.T
    np.fill_diagonal(cosines, -np.inf)
    return cosines


def assert_exact(solution: LargeSolution) -> None:
    W = solution.weights
    assert W.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(solution.row_maxima, gram(W).max(1), atol=1e-15)
    assert solution.history.shape == (solution.steps, 2)


@pytest.fixture(params=["full", "lists"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Either kind of step, whatever the size suggests."""
    monkeypatch.setattr(large_scale, "_MIN_LIST_RATIO", 0 if request.param == "lists" else 10**9)
    monkeypatch.setattr(gram_module, "MAX_TREE_DIMENSIONS", 0)
    return str(request.param)


@pytest.mark.parametrize("half", [False, True])
def test_far_better_than_the_start(mode: str, half: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_scale, "native_half", lambda device: half)
    solution = solution_of(8, 300, seed=1, steps=250, threads=2)
    assert_exact(solution)
    assert solution.outcome is Outcome.MAX_STEPS_REACHED
    assert solution.steps == 250
    assert solution.history[0, 1] > 0.85
    # The kissing configuration of 240 points has 0.5; 300 points must do worse.
    assert 0.5 < solution.row_maxima.max() < 0.66


def test_same_seed_same_code(mode: str) -> None:
    first, again, other = (
        solution_of(5, 120, seed=seed, steps=40, threads=2) for seed in (4, 4, 5)
    )
    assert np.array_equal(first.weights, again.weights)
    assert np.array_equal(first.history, again.history)
    assert not np.array_equal(first.weights, other.weights)


def test_fixed_rows_stay_and_push(mode: str) -> None:
    # Two given rows almost coincide: that pair must not hide the others from the search.
    fixed = np.eye(6)[:3].copy()
    fixed[1] = [1.0, 1e-3, 0, 0, 0, 0]
    fixed = normalise(fixed)
    solution = solution_of(6, 60, seed=0, steps=300, fixed=fixed, threads=1)
    assert np.array_equal(solution.weights[:3], fixed)
    assert_exact(solution)
    assert solution.row_maxima.max() > 0.999
    cosines = gram(solution.weights)
    cosines[:3, :3] = -np.inf
    assert cosines.max() < 0.62


def test_a_start_is_returned_or_bettered(mode: str, rng: np.random.Generator) -> None:
    init = random_points(rng, 50, 4)
    solution = solution_of(4, 50, seed=0, steps=0, init=init)
    np.testing.assert_allclose(solution.weights, init, atol=1e-7)
    assert_exact(solution)
    rest = solution_of(4, 52, seed=0, steps=0, init=init, fixed=np.eye(4)[:2])
    np.testing.assert_allclose(rest.weights[2:], init, atol=1e-7)
    orthoplex = np.concatenate([np.eye(16), -np.eye(16)])
    kept = solution_of(16, 32, seed=0, steps=30, init=orthoplex, threads=1)
    assert kept.row_maxima.max() <= 1e-6


def test_rows_far_from_all_others_are_exact_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_scale, "_MIN_LIST_RATIO", 0)
    init = np.random.default_rng(0).standard_normal((400, 10))
    init[:, 9] = 0.0
    init[7], init[311] = np.eye(10)[9], -np.eye(10)[9]  # both orthogonal to the rest: no list entry
    solution = solution_of(10, 400, seed=0, steps=0, init=normalise(init))
    assert_exact(solution)
    assert abs(solution.row_maxima[[7, 311]]).max() < 1e-7


@pytest.mark.parametrize("d", [3, 9])
@pytest.mark.parametrize("lists", [True, False])
@given(polls=st.integers(0, 40))
def test_an_exact_pass_is_whole_or_left_out(d: int, lists: bool, polls: int) -> None:
    """The deadline expires at the n-th look at it, in whatever loop over pairs that is."""

    class Counted(Deadline):
        looks = 0

        @property
        def expired(self) -> bool:
            self.looks += 1
            return self.looks > polls

        def no_sooner(self, seconds: float) -> Deadline:
            return self

    deadline = Counted()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_scale, "_MIN_LIST_RATIO", 0 if lists else 10**9)
        patch.setattr(gram_module, "_MAX_DENSE_ROWS", 0)
        patch.setattr(gram_module, "_SIDE", 16)
        solution = solution_of(d, 60, seed=0, steps=4, deadline=deadline, threads=1)
    if solution.row_maxima is None:
        assert deadline.looks > polls and solution.outcome is Outcome.TIME_LIMIT
    else:
        assert_exact(solution)
    np.testing.assert_allclose(np.linalg.norm(solution.weights, axis=1), 1.0, atol=1e-15)


def test_a_pass_over_many_pairs_hears_the_signal() -> None:
    """A full pass takes minutes here: the rows come back at once, without a certificate."""
    interrupt = threading.Event()
    interrupt.set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_scale, "_GRACE_SECONDS", 0.0)
        solution = solution_of(
            16, 200_000, seed=0, deadline=Deadline(None, interrupt), threads=1, steps=None
        )
    assert solution.outcome is Outcome.INTERRUPTED
    assert solution.row_maxima is None and solution.weights.shape == (200_000, 16)


def test_a_target_stops_the_descent() -> None:
    solution = solution_of(8, 300, seed=0, steps=200, target_distance=0.1)
    assert solution.outcome is Outcome.TARGET_REACHED and solution.steps < 200
    assert solution.row_maxima.max() <= 0.9
