"""From a plan to a code: starts, symmetry, given rows and targets."""

import threading

import numpy as np
import pytest

from gnc_cli.codes import solver
from gnc_cli.codes.candidates import SearchState
from gnc_cli.codes.effort import Effort
from gnc_cli.codes.layout import extending
from gnc_cli.codes.resume import from_plain, to_plain
from gnc_cli.codes.search import search
from gnc_cli.codes.softmax_code import SoftmaxCode
from gnc_cli.codes.solver import Found, Plan, solve_code
from gnc_cli.errors import UsageError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.gram import max_cosine
from gnc_cli.numerics.one_vs_rest import one_vs_rest
from gnc_cli.numerics.sphere import normalise
from tests.problems import icosahedron

QUICK = {"restarts": 8, "steps": 150}


def found(problem: str, d: int, K: int, **options: object) -> Found:
    return solve_code(Plan(problem, d, K, **(QUICK | options)), Deadline())  # type: ignore[arg-type]


def test_a_search_for_a_tammes_code() -> None:
    done = found("tammes", 3, 8)
    assert done.finished
    assert done.restarts == 8 and done.steps == 150
    assert max_cosine(done.weights) == pytest.approx((2 * np.sqrt(2) - 1) / 7, abs=1e-14)
    assert done.order is not None and done.order.stationarity < 1e-12


def test_both_problems_run_one_search() -> None:
    """Every Tammes code is a Softmax Code (bisector theorem)."""
    tammes, softmax = found("tammes", 3, 8), found("softmax", 3, 8)
    assert np.array_equal(tammes.weights, softmax.weights)
    assert (tammes.restarts, tammes.steps) == (softmax.restarts, softmax.steps)
    np.testing.assert_array_equal(softmax.history[:, 1], 1.0 - tammes.history[:, 1])
    rho = one_vs_rest(softmax.weights)
    assert rho.lower.min() == pytest.approx(1.0 - max_cosine(tammes.weights), abs=1e-12)


def test_a_start_is_polished_and_kept(rng: np.random.Generator) -> None:
    start = normalise(icosahedron() + 1e-3 * rng.standard_normal((12, 3)))
    done = found("tammes", 3, 12, init=start, restarts=0)
    assert max_cosine(done.weights) == pytest.approx(1.0 / np.sqrt(5.0), abs=1e-14)
    assert np.abs(done.weights - start).max() < 0.01


def test_history_is_the_best_so_far() -> None:
    done = found("softmax", 3, 7, restarts=128, steps=30)
    steps, values = done.history.T
    assert (np.diff(steps) >= 0).all() and (np.diff(values) >= 0).all()
    assert values[-1] == pytest.approx(one_vs_rest(done.weights).lower.min(), abs=1e-9)
    falling = found("tammes", 3, 7, restarts=128, steps=30).history[:, 1]
    assert (np.diff(falling) <= 0).all()


@pytest.mark.parametrize("problem", ["tammes", "softmax"])
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
    assert done.order is not None and done.order.gain < 1e-7


def test_adding_the_twelfth_point_to_an_icosahedron() -> None:
    done = found("tammes", 3, 12, fixed=icosahedron()[:11])
    np.testing.assert_allclose(done.weights, icosahedron(), atol=1e-12)


@pytest.mark.parametrize("problem", ["tammes", "softmax"])
def test_antipodal_codes(problem: str) -> None:
    done = found(problem, 3, 12, symmetry=("antipodal", 2))
    assert np.array_equal(done.weights[1::2], -done.weights[::2])
    assert max_cosine(done.weights) == pytest.approx(1.0 / np.sqrt(5.0), abs=1e-13)


def test_symmetry_outlasts_the_first_round() -> None:
    """Fourteen points do better without: no round may perturb them out of their orbits."""
    done = found("tammes", 3, 14, symmetry=("antipodal", 2), restarts=256, steps=40)
    assert done.state.round >= 3
    assert np.array_equal(done.weights[1::2], -done.weights[::2])
    assert max_cosine(done.weights) == pytest.approx(1.0 / np.sqrt(3.0), abs=1e-12)


@pytest.mark.parametrize("problem", ["tammes", "softmax"])
def test_cyclic_codes(problem: str) -> None:
    """Nine points: the best code has a threefold axis."""
    done = found(problem, 3, 9, symmetry=("cyclic", 3), restarts=32)
    best = done.state.best
    assert best is not None and best.over is not None and best.over.layout.group is not None
    generator, order = best.over.layout.group
    assert order == 3
    np.testing.assert_allclose(np.linalg.matrix_power(generator, 3), np.eye(3), atol=1e-14)
    apart = np.linalg.norm((done.weights @ generator.T)[:, None] - done.weights[None], axis=2)
    assert apart.min(axis=1).max() < 1e-13
    assert sorted(apart.argmin(axis=1)) == list(range(9))
    assert max_cosine(done.weights) == pytest.approx(1.0 / 3.0, abs=1e-10)


@pytest.mark.parametrize(("kind", "order", "K"), [("antipodal", 2, 7), ("cyclic", 5, 8)])
def test_what_does_not_fit_is_refused(kind: str, order: int, K: int) -> None:
    with pytest.raises(UsageError, match=f"K = {K} is no sum of orbit lengths.*try K = "):
        found("tammes", 3, K, symmetry=(kind, order))


def test_targets_end_the_search() -> None:
    """A Tammes code with t <= 1 - target has rho >= target."""
    done = found("softmax", 3, 12, target=0.55, restarts=640)
    assert done.finished and done.restarts == 64
    tammes = found("tammes", 3, 12, target=0.45, restarts=640)
    assert tammes.finished and tammes.restarts == 64


def test_with_given_rows_weights_and_features_are_apart() -> None:
    """There the Tammes code is no Softmax Code: the theorem needs every row to be free."""
    given = normalise(np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.1]]))
    tammes, softmax = (found(p, 3, 6, fixed=given) for p in ("tammes", "softmax"))
    rho = [one_vs_rest(done.weights).lower.min() for done in (tammes, softmax)]
    assert rho[1] > rho[0] + 0.1
    best = softmax.state.best
    assert best is not None and best.whole.shape == (12, 3)
    assert -best.value == pytest.approx(rho[1], abs=1e-9)


def test_an_interruption_returns_a_code_at_once() -> None:
    stop = threading.Event()
    stop.set()
    for problem in ("tammes", "softmax"):
        done = solve_code(Plan(problem, 3, 9, **QUICK), Deadline(None, stop))  # type: ignore[arg-type]
        assert not done.finished
        np.testing.assert_allclose(np.linalg.norm(done.weights, axis=1), 1.0, atol=1e-14)


def test_states_go_on_with_more_restarts() -> None:
    few, many = ({"restarts": r, "steps": 40} for r in (64, 192))
    once = found("tammes", 3, 13, **many)
    saved = from_plain(to_plain(found("tammes", 3, 13, **few).state), 3, 13)
    plan = Plan("tammes", 3, 13, **many)  # type: ignore[arg-type]
    again = solve_code(plan, Deadline(), state=saved)
    assert np.array_equal(again.weights, once.weights)
    assert (again.restarts, again.steps) == (once.restarts, once.steps)
    assert np.array_equal(again.history, once.history)


def test_same_seed_same_code() -> None:
    first, second = (found("softmax", 4, 9, seed=5) for _ in range(2))
    assert np.array_equal(first.weights, second.weights)
    assert not np.array_equal(found("softmax", 4, 9, seed=6).weights, first.weights)


def test_beyond_newton_gradients_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    """With too many coordinates for a dense factorisation L-BFGS polishes, and says how far."""
    monkeypatch.setattr(solver, "MAX_UNKNOWNS", 10)
    monkeypatch.setattr("gnc_cli.codes.rounds.MAX_UNKNOWNS", 10)
    done = found("tammes", 3, 12, restarts=4)
    assert max_cosine(done.weights) == pytest.approx(1.0 / np.sqrt(5.0), abs=1e-5)
    assert done.order is not None and np.isnan(done.order.gain)
    assert done.order.stationarity < 1e-3
    symmetric = found("tammes", 3, 12, restarts=4, symmetry=("antipodal", 2))
    assert np.array_equal(symmetric.weights[1::2], -symmetric.weights[::2])


def test_a_state_without_any_find_still_gives_a_code() -> None:
    stop = threading.Event()
    stop.set()
    state = SearchState(round=99)
    done = solve_code(Plan("tammes", 3, 5, **QUICK), Deadline(None, stop), state=state)  # type: ignore[arg-type]
    assert done.weights.shape == (5, 3)


def test_notes_speak_of_the_problem() -> None:
    told: list[tuple[str, float]] = []
    for problem in ("tammes", "softmax"):
        solve_code(
            Plan(problem, 3, 7, **QUICK), Deadline(), lambda s, a, b, value: told.append((s, value))  # type: ignore[arg-type]
        )
    assert [stage for stage, _ in told] == ["Tammes: max_cosine", "Softmax Code: rho"]
    assert told[0][1] + told[1][1] == pytest.approx(1.0, abs=1e-9)


def test_a_search_with_features_apart_finds_no_more() -> None:
    """The theorem beside a search that knows nothing of it: rho found is 1 - t."""
    effort = Effort(rounds=4, restarts=16, steps=150, polishes=4, patience=9, shakes=0)
    for d, K in ((3, 7), (4, 9), (5, 12)):
        t = max_cosine(found("tammes", d, K, restarts=16).weights)
        problem = SoftmaxCode(extending(np.eye(d)[:1], K))  # one given row: a choice of axes
        best = search(problem, effort, 0, SearchState(), deadline=Deadline()).best
        assert best is not None and -best.value == pytest.approx(1.0 - t, abs=1e-9)



