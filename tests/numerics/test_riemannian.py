"""Annealed descent: what it keeps, what it returns when it stops, and that it descends."""

import threading

import numpy as np
import pytest
import torch

from gnc_cli.codes.layout import free, orbits
from gnc_cli.codes.tammes import Tammes
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.riemannian import Annealing, anneal
from tests.problems import random_rotation

PROBLEM = Tammes(free(3, 8))


def plan(R: int, steps: int = 100, start: float = 5.0, end: float = 1e4) -> Annealing:
    return Annealing(np.full(R, start), end, 0.5, steps)


def starts(R: int, problem: Tammes = PROBLEM) -> np.ndarray:
    return problem.starts(np.random.default_rng(0), R)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_descends_to_the_antiprism(dtype: torch.dtype) -> None:
    begin = starts(6)
    annealing = plan(6, 300)
    done = anneal(PROBLEM.objective, PROBLEM.estimate, begin, annealing, dtype=dtype)
    assert done.points.dtype == np.float64 and done.points.shape == begin.shape
    np.testing.assert_allclose(np.linalg.norm(done.points, axis=-1), 1.0, atol=1e-15)
    # The best eight points: (2 sqrt 2 - 1) / 7, an error of second order in the last step.
    assert done.estimates.min() == pytest.approx((2 * np.sqrt(2) - 1) / 7, abs=1e-3)
    assert done.steps == 300
    steps, values = done.history.T
    assert (np.diff(steps) > 0).all() and steps[-1] == 300
    assert values[-1] == done.estimates.min() < values[0]


def test_same_start_same_end() -> None:
    runs = [anneal(PROBLEM.objective, PROBLEM.estimate, starts(3), plan(3)) for _ in range(2)]
    assert np.array_equal(runs[0].points, runs[1].points)
    assert np.array_equal(runs[0].estimates, runs[1].estimates)


def test_starts_are_left_alone() -> None:
    begin = starts(2)
    kept = begin.copy()
    anneal(PROBLEM.objective, PROBLEM.estimate, begin, plan(2, 5), dtype=torch.float64)
    assert np.array_equal(begin, kept)


def test_sharpness_grows_geometrically_to_its_end() -> None:
    seen: list[np.ndarray] = []

    def objective(points: torch.Tensor, sharpness: torch.Tensor) -> torch.Tensor:
        seen.append(sharpness.reshape(-1).numpy().copy())
        return PROBLEM.objective(points, sharpness)

    annealing = Annealing(np.array([1.0, 100.0]), 1e4, 0.5, 5)
    anneal(objective, PROBLEM.estimate, starts(2), annealing, dtype=torch.float64)
    expected = np.array([1.0, 100.0]) * np.array([1e4, 1e2]) ** (np.arange(5)[:, None] / 4)
    np.testing.assert_allclose(seen, expected, rtol=1e-12)


def test_a_deadline_returns_the_iterates_at_hand() -> None:
    stop = threading.Event()
    stop.set()
    done = anneal(
        PROBLEM.objective, PROBLEM.estimate, starts(2), plan(2), deadline=Deadline(None, stop)
    )
    assert done.steps == 1
    assert np.isfinite(done.estimates).all()
    np.testing.assert_allclose(np.linalg.norm(done.points, axis=-1), 1.0, atol=1e-15)


def test_a_restart_that_overflows_is_marked_and_harms_no_other() -> None:
    begin = starts(3)
    begin[1, 0] = np.nan
    done = anneal(PROBLEM.objective, PROBLEM.estimate, begin, plan(3, 200))
    assert np.isinf(done.estimates[1]) and np.isfinite(done.estimates[[0, 2]]).all()
    alone = anneal(PROBLEM.objective, PROBLEM.estimate, begin[[0, 2]], plan(2, 200))
    np.testing.assert_allclose(done.points[[0, 2]], alone.points, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_projected_rows_stay_in_their_fixed_space(
    dtype: torch.dtype, rng: np.random.Generator
) -> None:
    """On an axis the gradient is rounding alone, which Adam would scale up to whole steps."""
    turn = random_rotation(rng, 3)
    fifth = 2.0 * np.pi / 5.0
    about_z = np.array([[np.cos(fifth), -np.sin(fifth), 0.0], [np.sin(fifth), np.cos(fifth), 0.0]])
    generator = turn @ np.vstack([about_z, [0.0, 0.0, 1.0]]) @ turn.T
    problem = Tammes(orbits(generator, 5, 12))  # two pentagons and both poles
    done = anneal(
        problem.objective, problem.estimate, starts(8, problem), plan(8, 300),
        project=problem.layout.project, dtype=dtype,
    )  # fmt: skip
    axis = done.points[:, 2:] @ turn[:, 2]
    np.testing.assert_allclose(np.abs(axis), 1.0, atol=1e-6)
    assert done.estimates.min() == pytest.approx(1.0 / np.sqrt(5.0), abs=1e-3)
