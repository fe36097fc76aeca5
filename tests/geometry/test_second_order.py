"""The second-order test: saddles that theory knows, local minima, and a witness by descent."""

import itertools
import threading
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.geometry.active_pairs import linearise
from gnc_cli.geometry.polish import Polished, polish
from gnc_cli.geometry.second_order import NO, UNDECIDED, YES, SecondOrder, second_order
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.parametrisation import extending, free
from gnc_cli.search.problem import Problem, SoftmaxCode, Tammes
from tests.problems import (
    WITH_POINTS,
    antiprism,
    cell24,
    hemicube,
    icosahedron,
    orthoplex,
    polygon,
    random_rotation,
    simplex,
    snub_cube,
)


def cube(d: int) -> np.ndarray:
    return np.array(list(itertools.product((1.0, -1.0), repeat=d))) / np.sqrt(d)


def cuboctahedron() -> np.ndarray:
    signs = itertools.product((1.0, -1.0, 0.0), repeat=3)
    return np.array([s for s in signs if s.count(0.0) == 1]) / np.sqrt(2.0)


def flat(code: np.ndarray) -> np.ndarray:
    """The code in one dimension more."""
    return np.pad(code, ((0, 0), (0, 1)))


SADDLES: dict[str, Callable[[], np.ndarray]] = {
    **{f"polygon-{K}": partial(lambda K: flat(polygon(K)), K) for K in (4, 5, 6, 9)},
    "cube": partial(cube, 3),
    "tesseract": partial(cube, 4),
    "cuboctahedron": cuboctahedron,
    "icosahedron in R^4": lambda: flat(icosahedron()),
    "24-cell in R^5": lambda: flat(cell24()),
}
MINIMA: dict[str, Callable[[], np.ndarray]] = {
    **{str(p): p.points for p in WITH_POINTS if p.points and p.name != "within-orthoplex"},
    # A row less: its neighbours are loose, or weakly held.
    "icosahedron less one": lambda: icosahedron()[1:],
    "snub cube less one": lambda: snub_cube()[1:],
    "24-cell less one": lambda: cell24()[1:],
}
KINDS = pytest.mark.parametrize("kind", [Tammes, SoftmaxCode])


def polished(problem: Problem, code: np.ndarray) -> Polished:
    whole = problem.whole(problem.from_code(code))
    scale = problem.scale(problem.value(whole))
    return polish(whole, problem.active_pairs, problem.movable(), scale=scale, deadline=Deadline())


def judged(problem: Problem, code: np.ndarray) -> tuple[SecondOrder, Polished]:
    done = polished(problem, code)
    verdict = second_order(
        done.points,
        done.pairs,
        done.multipliers,
        problem.movable(),
        problem.active_pairs,
        scale=problem.scale(done.value),
        deadline=Deadline(),
    )
    return verdict, done


def free_problem(code: np.ndarray, kind: Callable[..., Problem] = Tammes) -> Problem:
    return kind(free(code.shape[1], len(code)))


@KINDS
@pytest.mark.parametrize("name", SADDLES)
def test_saddles_are_told_with_a_lower_point(kind: type, name: str) -> None:
    code = SADDLES[name]()
    if kind is SoftmaxCode and len(code) > 12:
        pytest.skip("the same test, slower")
    problem = free_problem(code, kind)
    verdict, done = judged(problem, code)
    assert done.stationarity <= 1e-12 and problem.value(done.points) == pytest.approx(done.value)
    np.testing.assert_allclose(done.points[: len(code)], code, atol=1e-12)  # polish stays there
    assert verdict.local_minimum == NO and verdict.lower is not None
    np.testing.assert_allclose(np.linalg.norm(verdict.lower, axis=1), 1.0, atol=1e-15)
    assert problem.value(verdict.lower) < done.value - 1e-8
    spacing = np.sqrt(2.0 * problem.scale(done.value))
    far = np.linalg.norm(verdict.lower - done.points, axis=1).max()
    assert far <= 0.05 * spacing * np.sqrt(code.shape[1])
    below = polished(problem, verdict.lower[: len(code)])
    assert below.value < done.value - 1e-6


@pytest.mark.parametrize("name", MINIMA)
def test_local_minima(name: str) -> None:
    code = MINIMA[name]()
    if len(code) > 120:
        pytest.skip("E8 has a test of its own")
    assert judged(free_problem(code), code)[0].local_minimum == YES
    if code.shape[1] <= 3 or len(code) <= 10:
        assert judged(free_problem(code, SoftmaxCode), code)[0].local_minimum == YES


@pytest.mark.slow
def test_e8() -> None:
    code = MINIMA["e8-roots-8-240"]()
    assert judged(free_problem(code), code)[0].local_minimum == YES


def test_rattlers_do_not_count(rng: np.random.Generator) -> None:
    """(3, 19) has a row that touches nobody; wherever it is, the code is a local minimum."""
    code = np.loadtxt("data/known_codes/coordinates/3.19.txt").reshape(19, 3)
    problem = free_problem(code)
    verdict, done = judged(problem, code)
    held = np.zeros(19)
    for rows in (done.pairs.a, done.pairs.b):
        held += np.bincount(rows, done.multipliers, minlength=19)
    loose = np.flatnonzero(held < 1e-9)
    assert verdict.local_minimum == YES and len(loose) == 1
    for _ in range(5):
        moved = done.points.copy()
        moved[loose] = normalise(moved[loose] + 3e-3 * rng.standard_normal(3))
        assert problem.value(moved) == done.value
        assert judged(problem, moved)[0].local_minimum == YES


@pytest.mark.parametrize("seed", range(4))
def test_a_continuum_of_optima_is_no_saddle(seed: int) -> None:
    """(3, 5): two poles, three points on the equator that are free within limits."""
    code = random_points(np.random.default_rng(seed), 5, 3)
    verdict, done = judged(free_problem(code), code)
    assert done.value == pytest.approx(0.0, abs=1e-14)
    assert verdict.local_minimum == UNDECIDED and "family" in verdict.reason


def test_a_curved_optimum() -> None:
    """Four points in R^10: six contacts, twelve coordinates beside rotations. Second derivatives
    hold the simplex."""
    code = simplex(10, 4)
    verdict, done = judged(free_problem(code), code)
    turning = 10 * 9 // 2 - 7 * 6 // 2  # rotations of the other seven dimensions move nothing
    assert len(done.pairs) - 1 < 4 * 9 - turning
    assert verdict.local_minimum == YES and "second-order" in verdict.reason


@KINDS
def test_given_rows(kind: type) -> None:
    """One given row leaves the rotations about it; three leave none."""
    for given_rows in (1, 3):
        problem = kind(extending(icosahedron()[:given_rows], 12))
        assert judged(problem, icosahedron())[0].local_minimum == YES
    hexagon = flat(polygon(6))
    problem = kind(extending(hexagon[[0]], 6))
    verdict, _ = judged(problem, hexagon)
    assert verdict.local_minimum == NO and verdict.lower is not None
    assert np.array_equal(verdict.lower[0], hexagon[0])


MIXED = {
    "hexagon": (SADDLES["polygon-6"], NO),
    "cuboctahedron": (cuboctahedron, NO),
    "antiprism": (antiprism, YES),
    "icosahedron less one": (MINIMA["icosahedron less one"], YES),
    "hemicube": (hemicube, YES),
    "octahedron in R^4": (lambda: flat(orthoplex(3)), UNDECIDED),
}


@settings(max_examples=20)
@given(seed=st.integers(0, 2**31), name=st.sampled_from(sorted(MIXED)))
def test_the_verdict_does_not_depend_on_order_or_axes(seed: int, name: str) -> None:
    make, expected = MIXED[name]
    code, rng = make(), np.random.default_rng(seed)
    turned = (code @ random_rotation(rng, code.shape[1]))[rng.permutation(len(code))]
    assert judged(free_problem(code), turned)[0].local_minimum == expected


def descended(problem: Problem, points: np.ndarray, reach: float) -> float:
    """The value where monotone linear programs within a shrinking box lead."""
    value, movable = problem.value(points), problem.movable()
    while reach > 1e-9:
        near = problem.active_pairs(points, value - 8.0 * reach * np.sqrt(points.shape[1]))
        linear = linearise(near, points, movable)
        move = linear.best_move(near.values(points), reach, Deadline(10.0), unit=reach**2)
        assert move is not None
        steps = move.reshape(len(points), -1)
        trial = normalise(points + np.einsum("kdq,kq->kd", linear.bases, steps))
        if problem.value(trial) < value - 1e-16:
            points, value = trial, problem.value(trial)
        else:
            reach *= 0.5
    return value


@pytest.mark.parametrize("name", ["antiprism", "snub cube less one", "24-cell", "random"])
def test_descent_from_nearby_finds_nothing_lower(name: str) -> None:
    """A second witness, which knows no multipliers and no Hessian."""
    rng = np.random.default_rng(1)
    codes = {**MINIMA, "antiprism": antiprism, "24-cell": cell24}
    code = random_points(rng, 20, 6) if name == "random" else codes[name]()
    problem = free_problem(code)
    verdict, done = judged(problem, code)
    assert verdict.local_minimum == YES
    for noise in (1e-5, 1e-4, 1e-3):
        shaken = normalise(done.points + noise * rng.standard_normal(code.shape))
        assert problem.value(shaken) > done.value
        assert descended(problem, shaken, noise) >= done.value - 1e-12


def test_what_cannot_be_decided_says_why() -> None:
    code = flat(polygon(6))
    problem = free_problem(code)
    done = polished(problem, code)

    def ask(**changes: object) -> SecondOrder:
        arguments = {
            "points": done.points,
            "multipliers": done.multipliers,
            "deadline": Deadline(),
        } | changes
        return second_order(
            pairs=done.pairs,
            free=problem.movable(),
            active_pairs=problem.active_pairs,
            scale=0.5,
            **arguments,  # type: ignore[arg-type]
        )

    shaken = normalise(done.points + 1e-3 * np.random.default_rng(0).standard_normal((6, 3)))
    assert "first-order" in ask(points=shaken).reason
    stop = threading.Event()
    stop.set()
    assert "no time" in ask(deadline=Deadline(None, stop)).reason
    assert ask().local_minimum == NO
    assert "above 11" in ask(max_coordinates=11).reason
