"""One-vs-rest brackets: closed forms, a conic solver, laws, and every corner of the search."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnc_cli.errors import DataError
from gnc_cli.geometry import one_vs_rest as module
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.min_norm_point import min_norm_point
from gnc_cli.geometry.one_vs_rest import HullSearch, minimum_one_vs_rest, one_vs_rest
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.runtime.deadline import Deadline
from tests.geometry.test_min_norm_point import witness
from tests.problems import WITH_POINTS, Problem, random_rotation, simplex

sizes = st.tuples(st.integers(2, 40), st.integers(2, 8), st.integers(0, 999))


def clustered(seed: int, K: int, clusters: int, d: int, spread: float) -> np.ndarray:
    """Unit rows around corners of a cube: near each other, far from the rest."""
    rng = np.random.default_rng(seed)
    corners = np.sign(rng.standard_normal((clusters, d)))
    return normalise(corners[rng.integers(0, clusters, K)] + spread * rng.standard_normal((K, d)))


def some_code(size: tuple[int, int, int]) -> np.ndarray:
    K, d, seed = size
    return random_points(np.random.default_rng(seed), K, d)


@pytest.mark.parametrize("problem", WITH_POINTS, ids=str)
def test_closed_forms(problem: Problem) -> None:
    W = problem.points()
    result = one_vs_rest(W)
    assert (result.lower <= result.upper).all()
    assert (result.upper - result.lower).max() <= 1e-13
    assert result.lower.min() - 1e-15 <= problem.rho <= result.upper.min() + 1e-15
    if problem.rattlers == 0:
        assert result.upper.max() == pytest.approx(problem.rho, abs=1e-13)
    bracket = minimum_one_vs_rest(W)
    assert bracket.width <= 1e-13
    assert bracket.lower - 1e-15 <= problem.rho <= bracket.upper + 1e-15


def test_directions_and_supports_prove_the_ends(rng: np.random.Generator) -> None:
    W, asked = random_points(rng, 150, 12), np.array([7, 3, 149])
    search = HullSearch(W, asked, 1e-12)
    search.close_all(np.arange(3))
    result = one_vs_rest(W, asked)
    for i, k in enumerate(asked):
        others, rows = np.delete(W, k, axis=0), search.supports[i]
        assert ((W[k] - others) @ result.directions[i]).min() == pytest.approx(
            result.lower[i], abs=1e-13
        )
        assert k not in rows
        reached = np.linalg.norm(min_norm_point(W[k] - W[rows])[0])
        assert reached == pytest.approx(result.upper[i], abs=1e-13)


@given(sizes)
def test_laws(size: tuple[int, int, int]) -> None:
    W = some_code(size)
    K, d, seed = size
    result = one_vs_rest(W)
    assert (0.0 <= result.lower).all() and (result.lower <= result.upper).all()
    assert (result.upper - result.lower).max() < 1e-12
    rho = result.upper.min()
    assert rho >= 1.0 - max_cosine(W) - 1e-14
    rng = np.random.default_rng(seed)
    turned = one_vs_rest(W @ random_rotation(rng, d))
    assert turned.upper == pytest.approx(result.upper, abs=1e-12)
    order = rng.permutation(K)
    assert one_vs_rest(W[order]).upper == pytest.approx(result.upper[order], abs=1e-12)
    if K > 2:
        fewer = one_vs_rest(W[1:])
        assert (fewer.upper >= result.lower[1:]).all()
    bracket = minimum_one_vs_rest(W)
    assert bracket.width <= 1e-9
    assert bracket.lower <= rho and result.lower.min() <= bracket.upper


@given(sizes)
def test_duplicates_and_rows_inside_are_zero(size: tuple[int, int, int]) -> None:
    W = some_code(size)
    K = len(W)
    twice = one_vs_rest(np.vstack([W, W]))
    assert not twice.lower.any() and twice.upper.max() < 1e-15
    inside = np.vstack([W, W.mean(axis=0), (W[0] + W[1]) / 2.0])
    result = one_vs_rest(inside, np.array([K, K + 1]))
    assert not result.lower.any() and result.upper.max() < 1e-13
    assert minimum_one_vs_rest(inside).lower == 0.0


def check_closed(W: np.ndarray) -> None:
    """Every bracket is closed, by NumPy alone as with SciPy's solvers; that each holds is shown in
    tests/codes/test_exact_brackets.py."""
    for numpy_only in (0.0, 1e9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("gnc_cli.geometry.one_vs_rest._MAX_NUMPY_WORK", numpy_only)
            result = one_vs_rest(W)
            bracket = minimum_one_vs_rest(W, tolerance=1e-12)
        assert (result.upper - result.lower).max() <= 1e-12
        assert bracket.width <= 1e-12
        assert bracket.lower <= result.upper.min() and result.lower.min() <= bracket.upper


@pytest.mark.parametrize("d, spread", [(8, 1e-5), (16, 1e-3), (24, 1e-5)])
def test_clusters_are_closed(d: int, spread: float) -> None:
    """A lower end that stays near 0 until the last round is no reason to leave a class."""
    check_closed(clustered(d, 400, 20, d, spread))


@given(
    st.integers(0, 999),
    st.integers(5, 80),
    st.integers(1, 12),
    st.integers(3, 40),
    st.floats(-8.0, -1.0),
)
@example(0, 6, 4, 3, -8.0)  # the row that closes it has a weight below the rounding of the others
def test_clusters_of_any_kind(seed: int, K: int, clusters: int, d: int, exponent: float) -> None:
    check_closed(clustered(seed, K, clusters, d, 10.0**exponent))


def test_a_first_upper_end_that_no_working_set_beats_is_kept_in_them() -> None:
    """Twins that poor directions hide: the bound of the nearest row must join the search."""
    W = clustered(5, 300, 6, 12, 1e-4)
    rng = np.random.default_rng(0)
    search = HullSearch(W, None, 1e-12)
    search.first_bounds()
    for k in range(0, 300, 30):
        assert search.upper[k] == pytest.approx(np.linalg.norm(W[k] - W[search.supports[k][0]]))
    search.directions = normalise(rng.standard_normal(W.shape))
    search.close_all(np.arange(300))
    assert (search.upper - search.lower).max() <= 1e-12


def test_an_expired_deadline_costs_no_products(rng: np.random.Generator) -> None:
    W = random_points(rng, 30, 4)
    result = one_vs_rest(W, deadline=Deadline(0.0, clock=lambda: 1.0))
    assert not result.lower.any() and (result.upper > 0.0).all()


def test_block_size_changes_nothing(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    W = random_points(rng, 300, 6)
    expected = one_vs_rest(W)
    for block_bytes in (1, 20000, 300000):
        monkeypatch.setattr(module, "_BLOCK_BYTES", block_bytes)
        result = one_vs_rest(W)
        assert result.upper == pytest.approx(expected.upper, abs=1e-13)
        assert (result.upper - result.lower).max() < 1e-12


def test_rows_need_not_be_unit(rng: np.random.Generator) -> None:
    W = rng.standard_normal((60, 5))
    expected = one_vs_rest(W)
    hull_only = [witness(W[k] - np.delete(W, k, axis=0)) for k in range(0, 60, 6)]
    assert expected.upper[::6] == pytest.approx(hull_only, abs=3e-6)
    for scale in (1e-6, 1e4):
        scaled = one_vs_rest(W * scale, tolerance=1e-12 * scale)
        assert scaled.upper / scale == pytest.approx(expected.upper, abs=1e-12)
        bracket = minimum_one_vs_rest(W * scale, tolerance=1e-12 * scale)
        assert bracket.lower <= expected.upper.min() * scale * (1.0 + 1e-12)
    with_origin = np.vstack([W, np.zeros((1, 5))])
    assert one_vs_rest(with_origin, np.array([60])).lower[0] == 0.0


def test_whenever_the_deadline_strikes_the_bracket_holds(rng: np.random.Generator) -> None:
    W = random_points(rng, 200, 8)
    rho = one_vs_rest(W).upper.min()
    for ticks in range(0, 60, 7):
        clock = iter(range(10**6))
        deadline = Deadline(ticks, clock=lambda clock=clock: float(next(clock)))
        bracket = minimum_one_vs_rest(W, deadline=deadline)
        assert bracket.lower <= rho <= bracket.upper
        deadline = Deadline(ticks, clock=lambda clock=clock: float(next(clock) % 1000))
        result = one_vs_rest(W, deadline=deadline)
        assert (result.lower <= result.upper).all() and (result.upper >= rho - 1e-13).all()


def test_two_rows_and_bad_arguments() -> None:
    bracket = minimum_one_vs_rest(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    assert bracket.lower <= 2.0 <= bracket.upper
    with pytest.raises(DataError, match="K >= 2"):
        one_vs_rest(np.ones((1, 3)))
    with pytest.raises(DataError, match="between 0 and 2"):
        one_vs_rest(np.eye(3), np.array([3]))
    assert one_vs_rest(np.eye(3), np.empty(0, dtype=int)).upper.shape == (0,)


def test_large_simplex_starts_from_its_theorem() -> None:
    bracket = minimum_one_vs_rest(simplex(120))
    assert bracket.lower <= 121 / 120 <= bracket.upper and bracket.width < 1e-12
