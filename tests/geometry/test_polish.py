"""Polish: known codes to machine precision from perturbed starts, and the meaning of its numbers.

Stationarity and multipliers are recomputed here from the paper's definitions: at a first-order
point, convex weights on the largest pairs make the gradient at every free row radial.
"""

import math
import threading
from collections.abc import Callable

import numpy as np
import pytest

from gnc_cli.geometry.polish import Polished, polish
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.parametrisation import extending, free
from gnc_cli.search.problem import Problem, SoftmaxCode, Tammes
from gnc_cli.search.starts import shake
from tests.problems import (
    PROBLEMS,
    antiprism,
    cell24,
    e8_roots,
    hemicube,
    icosahedron,
    orthoplex,
    seven,
    snub_cube,
)


def known(name: str) -> float:
    return next(p.max_cosine for p in PROBLEMS if p.name == name)


CODES: dict[str, Callable[[], np.ndarray]] = {
    "seven": seven,
    "antiprism": antiprism,
    "icosahedron": icosahedron,
    "snub-cube": snub_cube,
    "24-cell": cell24,
    "hemicube": hemicube,
}


def polish_code(problem: Problem, code: np.ndarray, noise: float, **options: object) -> Polished:
    """Polish from a perturbed start, features beside their perturbed weights."""
    rng = np.random.default_rng(3)
    whole = problem.whole(problem.from_code(code))
    free_rows = problem.movable()
    shaken = normalise(whole + noise * rng.standard_normal(whole.shape))
    whole = np.where(free_rows[:, None], shaken, whole)
    scale = problem.scale(problem.active_pairs(whole, -np.inf).largest(whole))
    options = {"deadline": Deadline()} | options
    return polish(whole, problem.active_pairs, free_rows, scale=scale, **options)  # type: ignore[arg-type]


def hold_to_its_word(problem: Problem, done: Polished) -> None:
    """The record's numbers, recomputed from points, pairs and multipliers alone."""
    z, lam, pairs = done.points, done.multipliers, done.pairs
    assert np.abs(np.linalg.norm(z, axis=1) - 1.0).max() < 1e-15
    assert (lam >= 0.0).all() and lam.sum() == pytest.approx(1.0, abs=1e-14)
    gradient = np.zeros_like(z)
    values = np.empty(len(pairs))
    for p in range(len(pairs)):
        a, b = pairs.a[p], pairs.b[p]
        slope = z[b].copy()
        if pairs.e is not None:
            slope -= z[pairs.e[p]]
            gradient[pairs.e[p]] -= lam[p] * z[a]
        values[p] = z[a] @ slope
        gradient[a] += lam[p] * slope
        gradient[b] += lam[p] * z[a]
    tangent = gradient - (gradient * z).sum(1, keepdims=True) * z
    tangent = tangent[problem.movable()]
    # The record's number is its largest coordinate in some tangent basis.
    longest = np.linalg.norm(tangent, axis=1).max()
    rounding = 1e-15
    assert done.stationarity <= longest + rounding
    assert longest <= done.stationarity * math.sqrt(z.shape[1]) + rounding
    assert done.value == pytest.approx(values.max(), abs=1e-15)
    assert done.value == pytest.approx(problem.active_pairs(z, -np.inf).largest(z), abs=1e-15)
    assert done.gap == pytest.approx(lam @ (values.max() - values), abs=1e-14)


@pytest.mark.parametrize("name", CODES)
def test_tammes_codes_to_machine_precision(name: str) -> None:
    code, t = CODES[name](), known(name)
    problem = Tammes(free(code.shape[1], len(code)))
    done = polish_code(problem, code, 1e-3)
    assert done.value == pytest.approx(t, abs=1e-14)
    assert done.stationarity <= 1e-13 and done.gap <= 1e-14
    hold_to_its_word(problem, done)


@pytest.mark.parametrize("name", ["seven", "icosahedron", "snub-cube", "hemicube"])
def test_softmax_codes_to_machine_precision(name: str) -> None:
    code, t = CODES[name](), known(name)
    problem = SoftmaxCode(free(code.shape[1], len(code)))
    done = polish_code(problem, code, 1e-3)
    assert done.value == pytest.approx(t - 1.0, abs=1e-14)  # at a stationary code rho = 1 - t
    assert done.stationarity <= 1e-12 and done.gap <= 1e-14
    hold_to_its_word(problem, done)


@pytest.mark.slow
def test_degenerate_beyond_measure() -> None:
    """E8: 6720 contacts against 1680 coordinates; multipliers are far from unique."""
    problem = Tammes(free(8, 240))
    done = polish_code(problem, e8_roots(), 1e-4)
    assert done.value == pytest.approx(0.5, abs=1e-14)
    assert done.stationarity <= 1e-13 and done.steps <= 20


def test_a_curved_optimum(rng: np.random.Generator) -> None:
    """Fewer contacts than coordinates: second derivatives decide, and Newton still converges."""
    problem = Tammes(free(6, 20))
    done = polish_code(problem, random_points(rng, 20, 6), 0.0)
    assert done.stationarity <= 1e-12 and done.gap <= 1e-13
    active = done.multipliers > 1e-9
    assert active.sum() < problem.coordinates
    hold_to_its_word(problem, done)


def test_far_starts_end_at_first_order_points_or_say_so(rng: np.random.Generator) -> None:
    """The multipliers keep their meaning where Newton's way is too long."""
    closed = 0
    for kind in (Tammes, SoftmaxCode):
        problem = kind(free(3, 9))
        for _ in range(2):
            done = polish_code(problem, random_points(rng, 9, 3), 0.0)
            hold_to_its_word(problem, done)
            assert problem.scale(done.value) <= 2.0 / 3.0 + 1e-12  # [SW]: t = 1/3 is best
            closed += done.stationarity <= 1e-10 and done.gap <= 1e-13
    assert closed >= 2


@pytest.mark.parametrize("kind", [Tammes, SoftmaxCode])
def test_given_rows_do_not_move_by_one_bit(kind: type) -> None:
    code = antiprism()
    # One unit in the last place off: dividing by the norm again would change it.
    code[0, 0] = np.nextafter(code[0, 0], 2.0)
    problem = kind(extending(code[:3], 8))
    done = polish_code(problem, code, 1e-2)
    assert np.array_equal(done.points[:3], code[:3])
    assert problem.scale(done.value) == pytest.approx(1.0 - known("antiprism"), abs=1e-14)
    assert done.stationarity <= 1e-12
    hold_to_its_word(problem, done)


def test_given_rows_are_no_terms_among_themselves(rng: np.random.Generator) -> None:
    """Two nearly equal given rows do not hide the others' largest cosine."""
    given = normalise(np.array([[1.0, 0.0, 0.0], [1.0, 0.01, 0.0]]))
    problem = Tammes(extending(given, 6))
    done = polish_code(problem, np.concatenate([given, random_points(rng, 4, 3)]), 0.0)
    assert done.value < 0.3
    others = done.points[2:] @ done.points.T
    others[np.arange(4), np.arange(2, 6)] = -2.0
    assert done.value == pytest.approx(others.max(), abs=1e-15)


def test_stopping_early_returns_the_start() -> None:
    stop = threading.Event()
    stop.set()
    problem = Tammes(free(3, 12))
    start = icosahedron()
    done = polish_code(problem, start, 0.0, deadline=Deadline(None, stop))
    np.testing.assert_allclose(done.points, start, atol=1e-15)
    hold_to_its_word(problem, done)


def test_a_hopeless_basin_is_left() -> None:
    problem = Tammes(free(3, 12))
    full = polish_code(problem, icosahedron(), 0.05)
    left = polish_code(problem, icosahedron(), 0.05, bar=full.value - 0.01)
    assert left.steps < full.steps and full.value < left.value
    reached = polish_code(problem, icosahedron(), 0.05, bar=full.value + 1e-9)
    assert reached.value == full.value


def test_a_code_that_improves_late_is_not_left() -> None:
    """The level of the barrier swings above where it ends: by itself it is no reason to leave."""
    rng, problem, same = np.random.default_rng(0), Tammes(free(3, 116)), 0

    def polished(code: np.ndarray, bar: float = math.inf) -> Polished:
        movable, deadline = problem.movable(), Deadline()
        return polish(code, problem.active_pairs, movable, scale=0.06, deadline=deadline, bar=bar)

    start = polished(random_points(rng, 116, 3)).points
    steps, least = [], polished(start).value
    for _ in range(20):
        shaken = shake(rng, start, 116, problem.movable(), 0.35)
        whole = polished(shaken)
        same += polished(shaken, whole.value + 1e-9).value == whole.value
        steps.append((polished(shaken, least - 1e-6).steps, whole.steps))
    assert same >= 17
    left, all_of_them = np.sum(steps, axis=0)
    assert left < 0.9 * all_of_them


def test_two_opposite_points_and_an_orthoplex() -> None:
    """Flat corners: every tangent gradient of an antipodal pair vanishes."""
    pair = np.array([[1.0, 0.0], [-1.0, 0.0]])
    done = polish_code(Tammes(free(2, 2)), pair, 0.1)
    assert done.value == pytest.approx(-1.0, abs=1e-15)
    done = polish_code(Tammes(free(4, 8)), orthoplex(4), 1e-2)
    assert done.value == pytest.approx(0.0, abs=1e-14)


TWINS = {
    "two": np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
    "beside others": np.vstack([np.eye(3)[:1], np.eye(3)[:2], -np.eye(3)[:1]]),
    "pairs": np.repeat(np.eye(3), 2, axis=0),
    "on the circle": np.array([[1.0, 0.0], [1.0, 0.0]]),
}


@pytest.mark.parametrize("kind", [Tammes, SoftmaxCode])
@pytest.mark.parametrize("name", TWINS)
def test_equal_rows_end(kind: type, name: str) -> None:
    """There the Hessian's diagonal is 0, from which no shift can be taken."""
    problem = kind(free(TWINS[name].shape[1], len(TWINS[name])))
    done = polish_code(problem, TWINS[name], 0.0)
    assert np.isfinite(done.points).all()
    hold_to_its_word(problem, done)
