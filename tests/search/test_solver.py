"""From a plan to a code: starts, symmetry, given rows and targets."""

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gnc_cli.errors import UsageError
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.known_codes.stored import stored_codes
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.parallel import Pool
from gnc_cli.search import solver
from gnc_cli.search.instance import Instance, Plan
from gnc_cli.search.parametrisation import free
from gnc_cli.search.problem import Candidate, Tammes
from gnc_cli.search.refine import first_order
from gnc_cli.search.result import Outcome
from gnc_cli.search.schedule import SearchState
from gnc_cli.search.solver import SearchSolution, solve_code
from tests.problems import icosahedron

BOTH = pytest.mark.parametrize("problem", ["tammes", "softmax"])


def found(problem: str, d: int, K: int, **options: Any) -> SearchSolution:
    plan = {name: options.pop(name) for name in ("seed", "progress") if name in options}
    plan["restarts"] = options.pop("restarts", 8)
    return solve_code(
        Instance(d=d, K=K, problem=problem, **{n: v for n, v in options.items() if n != "init"}),
        Plan(**plan),
        Deadline(),
        Pool(),
        init=options.get("init"),
    )


def test_both_problems_run_one_search() -> None:
    """Every Tammes code is a Softmax Code (bisector theorem)."""
    tammes, softmax = found("tammes", 3, 8), found("softmax", 3, 8)
    assert tammes.outcome is Outcome.CONVERGED and (tammes.restarts, tammes.steps) == (8, 16000)
    assert max_cosine(tammes.weights) == pytest.approx((2 * np.sqrt(2) - 1) / 7, abs=1e-14)
    assert tammes.stationarity is not None and tammes.stationarity < 1e-12
    assert np.array_equal(tammes.weights, softmax.weights)
    assert (tammes.restarts, tammes.steps) == (softmax.restarts, softmax.steps)
    np.testing.assert_array_equal(softmax.history[:, 1], 1.0 - tammes.history[:, 1])
    assert softmax.history[-1, 1] == pytest.approx(1.0 - max_cosine(tammes.weights), abs=1e-12)
    rho = one_vs_rest(softmax.weights)
    assert rho.lower.min() == pytest.approx(1.0 - max_cosine(tammes.weights), abs=1e-12)
    assert not np.array_equal(found("tammes", 3, 8, seed=6).weights, tammes.weights)


@BOTH
def test_given_rows_stay_and_the_others_avoid_them(problem: str) -> None:
    given = normalise(np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.2], [0.9, 0.9, 0.1]]))
    done = found(problem, 3, 8, fixed=given)
    assert np.array_equal(done.weights[:3], given)
    if problem == "tammes":
        others = done.weights @ done.weights.T - 2.0 * np.eye(8)
        others[:3, :3] = -2.0
        assert others.max() < 0.55
    else:  # no row added can bring a given one nearer to the best than it is among the given
        smallest = one_vs_rest(done.weights).lower.min()
        assert smallest == pytest.approx(one_vs_rest(given).lower.min(), abs=1e-7)
    assert done.first_order_gain is not None and done.first_order_gain < 1e-7


def test_progress_beside_given_rows_names_the_distance_of_the_best_known_code() -> None:
    stages: set[str] = set()
    found(
        "softmax",
        3,
        6,
        fixed=np.eye(3)[:2],
        restarts=4,
        progress=lambda stage, done, total, best: stages.add(stage),
    )
    assert stages == {"rho (best known 1.000000)", "max_cosine (best known 0.000000)"}


def test_antipodal_codes() -> None:
    """Fourteen points do better without: no round may perturb them out of their orbits."""
    done = found("tammes", 3, 14, symmetry=("antipodal", 2), restarts=256)
    assert done.state["tasks"] >= 4
    assert np.array_equal(done.weights[1::2], -done.weights[::2])
    assert max_cosine(done.weights) == pytest.approx(1.0 / np.sqrt(3.0), abs=1e-12)


def test_cyclic_codes() -> None:
    """Nine points: the best code has a threefold axis."""
    done = found("softmax", 3, 9, symmetry=("cyclic", 3), restarts=32)
    orbits = done.weights.reshape(3, 3, 3)
    left, _, right = np.linalg.svd(np.roll(orbits, -1, axis=1).reshape(9, 3).T @ done.weights)
    np.testing.assert_allclose(orbits @ (left @ right).T, np.roll(orbits, -1, axis=1), atol=1e-13)
    assert max_cosine(done.weights) == pytest.approx(1.0 / 3.0, abs=1e-10)


def test_with_given_rows_weights_and_features_are_apart() -> None:
    """There the Tammes code is no Softmax Code: the theorem needs every row to be free."""
    given = normalise(np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.1]]))
    tammes, softmax = (found(p, 3, 6, fixed=given) for p in ("tammes", "softmax"))
    rho = [one_vs_rest(done.weights).lower.min() for done in (tammes, softmax)]
    assert rho[1] > rho[0] + 0.1
    assert softmax.history[-1, 1] == pytest.approx(rho[1], abs=1e-9)


@pytest.mark.parametrize("limit", [1.0, 13.0])
def test_a_search_cut_short_is_polished_and_kept(limit: float) -> None:
    """In the descent, or in the first polish: the time kept for the end is used."""
    ticks = iter(np.arange(0.0, 100.0, 0.005).tolist())
    instance = Instance(d=4, K=14, problem="tammes")
    first = solve_code(
        instance, Plan(restarts=8), Deadline(limit, clock=lambda: next(ticks)), Pool()
    )
    assert first.outcome is Outcome.TIME_LIMIT and first.state["tasks"] <= 1
    assert first.stationarity is not None and first.stationarity < 1e-9


HOW = pytest.mark.parametrize(
    "how",
    [
        {"problem": "tammes"},
        {"problem": "softmax", "fixed": np.eye(3)[:2]},
        {"problem": "softmax", "symmetry": ("cyclic", 4)},
        {"problem": "tammes", "symmetry": ("antipodal", 2)},
    ],
    ids=["tammes", "fixed", "cyclic", "antipodal"],
)


@HOW
def test_a_resumed_search_begins_with_the_next_start_and_returns_no_less(
    how: dict[str, Any],
) -> None:
    """No start is left: what comes back is what was there, with symmetry and stationarity."""
    instance, plan = Instance(d=3, K=14, **how), Plan(seed=2, restarts=64)
    first = solve_code(instance, plan, Deadline(), Pool())
    plan = replace(plan, earlier=first.state)
    kept = solve_code(instance, plan, Deadline(), Pool(), init=first.weights)
    assert (kept.state, kept.restarts) == (first.state, 0)
    before, after = (one_vs_rest(each.weights).upper.min() for each in (first, kept))
    assert after >= before - 1e-12
    assert kept.stationarity is not None and kept.stationarity < 1e-9
    if instance.symmetry == ("antipodal", 2):
        assert np.array_equal(kept.weights[1::2], -kept.weights[::2])
    plan = replace(plan, restarts=128)
    more = solve_code(instance, plan, Deadline(), Pool(), init=first.weights)
    assert more.restarts == 64 and more.state["starts"] == 128
    assert one_vs_rest(more.weights).upper.min() >= before - 1e-12


@HOW
@pytest.mark.parametrize("restarts", [1, 3, 65, 200])
def test_the_number_of_starts_is_the_users_after_a_resume_as_well(
    how: dict[str, Any], restarts: int
) -> None:
    """Not a number of batches, nor one that is rounded up to them."""
    instance, plan = Instance(d=3, K=14, **how), Plan(restarts=restarts)
    first = solve_code(instance, plan, Deadline(), Pool())
    assert first.restarts == first.state["starts"] == restarts
    plan = replace(plan, restarts=restarts + 70, earlier=first.state)
    more = solve_code(instance, plan, Deadline(), Pool(), init=first.weights)
    assert more.restarts == 70 and more.state["starts"] == restarts + 70


def test_a_code_without_the_symmetry_asked_for_is_refused() -> None:
    code = random_points(np.random.default_rng(0), 14, 3)
    instance = Instance(d=3, K=14, problem="tammes", symmetry=("cyclic", 7))
    with pytest.raises(UsageError, match="symmetry: the code to start from"):
        solve_code(instance, Plan(), Deadline(), Pool(), init=code)


def test_beyond_newton_gradients_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    """With too many coordinates for a dense factorisation descents go on, and say how far."""
    monkeypatch.setattr(solver, "MAX_UNKNOWNS", 10)
    monkeypatch.setattr("gnc_cli.search.effort.MAX_UNKNOWNS", 10)
    done = found("tammes", 3, 12, restarts=4)
    assert max_cosine(done.weights) == pytest.approx(1.0 / np.sqrt(5.0), abs=1e-5)
    assert done.first_order_gain is not None and np.isnan(done.first_order_gain)
    assert done.stationarity < 1e-2
    symmetric = found("tammes", 3, 12, restarts=4, symmetry=("antipodal", 2))
    assert np.array_equal(symmetric.weights[1::2], -symmetric.weights[::2])


@pytest.mark.parametrize("d, K, distance", [(52, 110, 0.9675), (13, 420, 0.556)])
def test_many_unknowns_have_one_long_descent(d: int, K: int, distance: float) -> None:
    """No gradient steps after it, and the stationarity is said all the same."""
    done = found("tammes", d, K, restarts=1)
    assert done.restarts == 1 and done.outcome is Outcome.STALLED
    assert 1.0 - max_cosine(done.weights) > distance
    assert done.stationarity < 1e-3


def test_a_polish_that_a_time_limit_has_no_room_for_is_left_to_gradients() -> None:
    """(8, 120) takes a second to polish; half a second is left for the end of a short search."""
    problem = Tammes(free(8, 120))
    assert solver._can_polish(problem, Deadline()) and solver._can_polish(problem, Deadline(10.0))
    assert not solver._can_polish(problem, Deadline(1.5))
    assert solver._reserve(problem, Deadline(10.0)) > 1.0 > solver._reserve(problem, Deadline(2.0))


def test_a_better_estimate_is_refined_where_no_polish_can_be_afforded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A polished start is not the best for being polished: (16, 150) ended in 0.75, a construction,
    with an estimate of 0.797 in hand."""
    monkeypatch.setattr(solver, "_can_polish", lambda *_: False)
    problem, rng = Tammes(free(3, 12)), np.random.default_rng(0)
    worse = random_points(rng, 12, 3)
    start = Candidate(problem.value(worse), worse, stationarity=0.0)
    near = icosahedron() + 1e-3 * rng.standard_normal((12, 3))
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    state = SearchState(best=start, archive=[start, Candidate(0.4475, near, origin="near")])
    best = solver._best(problem, state, Deadline())
    assert best is not None and best.origin == "near" and best.polished
    assert best.value == pytest.approx(1.0 / np.sqrt(5.0), abs=1e-5)
    assert problem.value(best.whole) == best.value < problem.value(near)


def test_an_estimate_that_its_rows_do_not_keep_is_no_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(solver, "_can_polish", lambda *_: False)
    problem = Tammes(free(3, 12))
    start = Candidate(problem.value(icosahedron()), icosahedron(), stationarity=0.0)
    poor = Candidate(0.1, random_points(np.random.default_rng(0), 12, 3))
    best = solver._best(problem, SearchState(best=start, archive=[poor, start]), Deadline())
    assert best is not None and best.value == start.value


def test_a_given_start_is_refined_where_descents_are_long() -> None:
    """`restarts=0` only polishes: random rows of (64, 200) came back as they were."""
    start = random_points(np.random.default_rng(0), 110, 52)
    done = found("tammes", 52, 110, restarts=0, init=start)
    assert max_cosine(done.weights) < 0.7 * max_cosine(start)


@pytest.mark.parametrize(("d", "K"), [(3, 44), (4, 34), (5, 32)])
def test_a_start_near_an_optimum_stays_in_its_basin(
    d: int, K: int, rng: np.random.Generator
) -> None:
    """From the first polish alone these end up to 6e-5 above the code that they begin beside."""
    code = next(stored_codes(d, K))[1]
    start = normalise(code + 1e-6 * rng.standard_normal(code.shape))
    end = found("tammes", d, K, init=start, restarts=0)
    assert max_cosine(end.weights) <= max_cosine(code) + 1e-12
    assert end.outcome is Outcome.CONVERGED and end.stationarity is not None
    assert end.stationarity <= 1e-11


def test_a_linear_program_that_takes_hours_ends_at_a_deadline_or_an_interrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """HiGHS looks at neither while it works; the gain is not known then."""
    leave, interrupt = threading.Event(), threading.Event()
    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: leave.wait())
    code = normalise(icosahedron() + 0.03 * np.arange(36.0).reshape(12, 3) / 36.0)
    problem = Tammes(free(3, 12))
    pairs = problem.active_pairs(code, problem.value(code) - 0.3)
    weights = np.full(len(pairs), 1.0 / len(pairs))
    interrupting = threading.Timer(0.05, interrupt.set)
    interrupting.start()
    for deadline in (Deadline(0.05), Deadline(None, interrupt)):
        order = first_order(code, pairs, weights, problem.movable(), deadline)
        assert np.isnan(order.gain) and order.bound > 1e-9
    leave.set()
    interrupting.join()
