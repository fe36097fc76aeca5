"""Stationary codes: Newton's polish of a candidate, L-BFGS beyond, and the first-order gain."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from gnc_cli.geometry.active_pairs import ActivePairs, tangent_bases
from gnc_cli.geometry.polish import Polished, polish
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.parametrisation import cyclic_orbits, free
from gnc_cli.search.problem import Candidate, Problem, SoftmaxCode, Tammes
from gnc_cli.search.refine import examine, first_order, polish_candidate, settle
from tests.problems import antiprism, cell24, hemicube, icosahedron, polygon

CODES = {"antiprism": antiprism, "icosahedron": icosahedron, "24-cell": cell24, "5-16": hemicube}
KINDS = pytest.mark.parametrize("kind", [Tammes, SoftmaxCode])


def shaken(code: np.ndarray, noise: float = 1e-3) -> np.ndarray:
    rng = np.random.default_rng(5)
    return normalise(code + noise * rng.standard_normal(code.shape))


def polished(problem: Problem, code: np.ndarray) -> Polished:
    whole = problem.whole(problem.from_code(code))
    scale = problem.scale(problem.value(whole))
    return polish(whole, problem.active_pairs, problem.movable(), scale=scale, deadline=Deadline())


def linear_program(points: np.ndarray, pairs: ActivePairs, free_rows: np.ndarray) -> float:
    """Largest fall of the linearised maximum for moves of at most 1 in each coordinate: dense."""
    d = points.shape[1]
    bases = tangent_bases(points)
    place = np.cumsum(free_rows) - 1
    n = int(free_rows.sum()) * (d - 1)
    matrix = np.zeros((len(pairs), n + 1))
    matrix[:, -1] = -1.0
    for p in range(len(pairs)):
        a, b = pairs.a[p], pairs.b[p]
        slopes = [(a, points[b]), (b, points[a])]
        if pairs.e is not None:
            e = pairs.e[p]
            slopes = [(a, points[b] - points[e]), (b, points[a]), (e, -points[a])]
        for row, gradient in slopes:
            if free_rows[row]:
                at = place[row] * (d - 1)
                matrix[p, at : at + d - 1] += gradient @ bases[row]
    values = pairs.values(points)
    cost = np.r_[np.zeros(n), 1.0]
    bounds = [(-1.0, 1.0)] * n + [(None, None)]
    done = linprog(cost, matrix, values.max() - values, bounds=bounds, method="highs-ds")
    assert done.status == 0
    return -float(done.fun)


@KINDS
@pytest.mark.parametrize("name", CODES)
def test_polished_codes_have_nothing_to_gain(kind: type, name: str) -> None:
    code = CODES[name]()
    problem = kind(free(code.shape[1], len(code)))
    done = polished(problem, code)
    found = first_order(done.points, done.pairs, done.multipliers, problem.movable(), Deadline())
    assert 0.0 <= found.gain <= 1e-10 and found.stationarity <= 1e-12
    exact = linear_program(done.points, done.pairs, problem.movable())
    assert exact == pytest.approx(found.gain, abs=1e-9)


@KINDS
def test_a_code_off_its_optimum_has(kind: type) -> None:
    problem = kind(free(3, 12))
    whole = problem.whole(problem.from_code(shaken(icosahedron(), 0.03)))
    pairs = problem.active_pairs(whole, problem.value(whole) - 0.3)
    uniform = np.full(len(pairs), 1.0 / len(pairs))
    found = first_order(whole, pairs, uniform, problem.movable(), Deadline())
    exact = linear_program(whole, pairs, problem.movable())
    assert exact > 0.01
    assert found.gain == pytest.approx(exact, abs=1e-6)


@KINDS
def test_the_dual_bound_is_a_bound_for_any_multipliers(
    kind: type, rng: np.random.Generator
) -> None:
    problem = kind(free(3, 7))
    points = problem.whole(problem.from_code(random_points(rng, 7, 3)))
    pairs = problem.active_pairs(points, -np.inf)
    exact = linear_program(points, pairs, problem.movable())
    for _ in range(10):
        multipliers = rng.dirichlet(np.full(len(pairs), 0.3))
        found = first_order(points, pairs, multipliers, problem.movable(), Deadline(0.0))
        assert found.bound >= exact - 1e-12


def test_a_saddle_is_left_by_its_direction_of_descent() -> None:
    """From the hexagon on the equator to the octahedron; with the symmetry kept it stays."""
    code = np.pad(np.roll(polygon(6), 1, axis=0), ((0, 0), (0, 1)))
    problem = Tammes(free(3, 6))
    start = polish_candidate(problem, Candidate(0.5, code), Deadline())
    settled, verdict = settle(problem, start, Deadline())
    assert start.value == pytest.approx(0.5, abs=1e-14)
    assert settled.value == pytest.approx(0.0, abs=1e-12)
    assert verdict is not None and verdict.local_minimum == "yes"
    turn = Tammes(cyclic_orbits(np.diag([-1.0, -1.0, 1.0]), 2, 6))
    kept, verdict = settle(problem, replace(start, restricted=turn), Deadline())
    assert kept.value == start.value
    assert verdict is not None and verdict.local_minimum == "no"


def test_given_codes_are_examined() -> None:
    assert examine(antiprism(), Deadline()).local_minimum == "yes"
    assert examine(np.pad(icosahedron(), ((0, 0), (0, 1))), Deadline()).local_minimum == "no"
    assert "first-order" in examine(shaken(icosahedron()), Deadline()).reason
