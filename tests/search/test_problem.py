"""Tammes and Softmax Code as minimax problems: pairs, unknowns, estimates, any parametrisation."""

import numpy as np
import pytest
import torch

from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.sphere import random_points
from gnc_cli.search.parametrisation import Parametrisation, cyclic_orbits, extending, free
from gnc_cli.search.problem import Problem, SoftmaxCode, Tammes, typical_scale
from tests.problems import PROBLEMS, WITH_POINTS
from tests.problems import Problem as Known


def _parametrisations() -> dict[str, Parametrisation]:
    rng = np.random.default_rng(7)
    return {
        "free": free(3, 6),
        "given": extending(random_points(rng, 2, 3), 6),
        "antipodal": cyclic_orbits(-np.eye(3), 2, 6),
        "half-turn": cyclic_orbits(np.diag([-1.0, -1.0, 1.0]), 2, 7),
    }


MADE = _parametrisations()
EVERY = [
    pytest.param(kind(made), id=f"{kind.__name__}-{name}")
    for kind in (Tammes, SoftmaxCode)
    for name, made in MADE.items()
    if kind is Tammes or made.images is None
]


def starts(problem: Problem, restarts: int = 2) -> np.ndarray:
    return problem.starts(np.random.default_rng(0), restarts)


def all_values(problem: Problem, whole: np.ndarray) -> np.ndarray:
    """Every pair's value by definition."""
    K, given = problem.K, problem.parametrisation.num_fixed
    if isinstance(problem, Tammes):
        pairs = [(i, j) for i in range(K) for j in range(i + 1, K) if j >= given]
        return np.array([whole[i] @ whole[j] for i, j in pairs])
    W, H = whole[:K], whole[K:]
    return np.array([(W[j] - W[k]) @ H[k] for k in range(K) for j in range(K) if j != k])


@pytest.mark.parametrize("problem", EVERY)
def test_whole_and_unknowns_are_inverse(problem: Problem) -> None:
    given = problem.parametrisation.num_fixed
    for points in starts(problem):
        np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0, atol=1e-15)
        whole = problem.whole(points)
        np.testing.assert_allclose(problem.unknowns(whole), points, atol=1e-15)
        np.testing.assert_allclose(problem.symmetric(whole), whole, atol=1e-15)
        movable = problem.movable()
        assert len(movable) == len(whole)
        assert not movable[:given].any() and movable[given:].all()
        assert problem.coordinates == (len(whole) - given) * (problem.d - 1)


@pytest.mark.parametrize("problem", EVERY)
def test_active_pairs_are_those_of_the_definition(problem: Problem) -> None:
    for points in starts(problem):
        whole = problem.whole(points)
        exact = np.sort(all_values(problem, whole))
        for threshold in (-np.inf, float(np.median(exact)) + 1e-9):
            found = problem.active_pairs(whole, threshold)
            np.testing.assert_allclose(
                np.sort(found.values(whole)), exact[exact >= threshold], atol=1e-15
            )


@pytest.mark.parametrize("problem", EVERY)
def test_smoothed_objective_tends_to_the_largest_value(problem: Problem) -> None:
    points = starts(problem, 3)
    sharpness = torch.full((3, 1, 1), 1e9, dtype=torch.float64)
    tensor = torch.as_tensor(points)
    top = [all_values(problem, problem.whole(p)).max() for p in points]
    np.testing.assert_allclose(problem.objective(tensor, sharpness), top, atol=1e-8)
    np.testing.assert_allclose(problem.estimate(tensor, sharpness), top, atol=1e-12)


@pytest.mark.parametrize("known", [p for p in WITH_POINTS if p.K <= 30], ids=str)
def test_values_of_known_codes(known: Known) -> None:
    assert known.points is not None
    code = known.points()
    tammes, softmax = Tammes(free(known.d, known.K)), SoftmaxCode(free(known.d, known.K))
    assert tammes.value(code) == pytest.approx(known.max_cosine, abs=1e-14)
    assert tammes.scale(tammes.value(code)) == pytest.approx(known.rho, abs=1e-14)
    whole = np.concatenate([code, one_vs_rest(code).directions])
    assert softmax.scale(softmax.value(whole)) == pytest.approx(known.rho, abs=1e-13)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_typical_scale_is_near_the_truth(problem: Known) -> None:
    """It sets first sharpnesses only: a factor of two is near enough."""
    guess = typical_scale(problem.d, problem.K)
    assert 0.4 < guess / problem.rho < 2.1
