"""Annealed descents of many starts at once: what they keep, return and mark."""

import numpy as np
import pytest

from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.annealing import Descent, anneal
from gnc_cli.search.parametrisation import cyclic_orbits, free
from gnc_cli.search.problem import Tammes
from tests.problems import random_rotation

PROBLEM = Tammes(free(3, 8))


def descend(problem: Tammes, begin: np.ndarray, steps: int) -> Descent:
    sharpness = np.full(len(begin), 5.0)
    return anneal(
        problem, begin, sharpness, 1e4, step=0.5, steps=steps, deadline=Deadline(), device="cpu"
    )


def starts(R: int, problem: Tammes = PROBLEM) -> np.ndarray:
    return problem.starts(np.random.default_rng(0), R)


def test_descends_to_the_antiprism() -> None:
    begin = starts(6)
    kept = begin.copy()
    done = descend(PROBLEM, begin, 300)
    assert np.array_equal(begin, kept)
    assert done.points.dtype == np.float64 and done.points.shape == begin.shape
    np.testing.assert_allclose(np.linalg.norm(done.points, axis=-1), 1.0, atol=1e-15)
    # The best eight points: (2 sqrt 2 - 1) / 7, an error of second order in the last step.
    assert done.estimates.min() == pytest.approx((2 * np.sqrt(2) - 1) / 7, abs=1e-3)
    assert done.steps == 300
    again = descend(PROBLEM, begin, 300)
    assert np.array_equal(done.points, again.points)
    assert np.array_equal(done.estimates, again.estimates)


def test_a_restart_that_overflows_is_marked_and_harms_no_other() -> None:
    begin = starts(3)
    begin[1, 0] = np.nan
    done = descend(PROBLEM, begin, 200)
    assert np.isinf(done.estimates[1]) and np.isfinite(done.estimates[[0, 2]]).all()
    alone = descend(PROBLEM, begin[[0, 2]], 200)
    np.testing.assert_allclose(done.points[[0, 2]], alone.points, atol=1e-3)


def test_projected_rows_stay_in_their_fixed_space(rng: np.random.Generator) -> None:
    """On an axis the gradient is rounding alone, which Adam would scale up to whole steps."""
    turn = random_rotation(rng, 3)
    fifth = 2.0 * np.pi / 5.0
    about_z = np.array([[np.cos(fifth), -np.sin(fifth), 0.0], [np.sin(fifth), np.cos(fifth), 0.0]])
    generator = turn @ np.vstack([about_z, [0.0, 0.0, 1.0]]) @ turn.T
    problem = Tammes(cyclic_orbits(generator, 5, 12))  # two pentagons and both poles
    done = descend(problem, starts(8, problem), 300)
    axis = done.points[:, 2:] @ turn[:, 2]
    np.testing.assert_allclose(np.abs(axis), 1.0, atol=1e-6)
    assert done.estimates.min() == pytest.approx(1.0 / np.sqrt(5.0), abs=1e-3)
