"""The simplicial bounds: Coxeter's table, Rogers, the 600-cell, Fejes Toth, known codes."""

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from gnc_cli.limits.limit import Ending
from gnc_cli.limits.simplex_angle import precise_simplex_share
from gnc_cli.limits.simplicial import FEJES_TOTH, SIMPLICIAL, log_simplicial_bound

ds = st.floats(math.log(4), math.log(1e6)).map(lambda x: int(math.exp(x) + 1e-9))
"""Dimensions from 4 to a million, small ones often."""
log_ratios = st.one_of(st.floats(0, 3), st.floats(0, 600))


def many(d: int, log_ratio: float) -> int:
    """A number of points above 2d."""
    return 2 * d + 1 + int(mpmath.exp(log_ratio)) * d


def value(d: int, K: int) -> float:
    found = SIMPLICIAL.at(d, K)
    assert found is not None and found.valid and found.condition is None
    return found.value


def precise_log(d: int, clearance: Any) -> Any:
    corner = precise_simplex_share(d - 1, 1 - clearance)
    return mpmath.log(d * corner / precise_simplex_share(d, (1 - clearance) / clearance))


@pytest.mark.parametrize(("d", "most"), [(4, 26), (5, 48), (6, 85), (7, 146), (8, 244)])
def test_coxeter_on_kissing_numbers(d: int, most: int) -> None:
    count = SIMPLICIAL.points(d, Fraction(1, 2))
    assert count is not None and count.exact == most


@pytest.mark.parametrize("degrees", [1e-3, 1, 36, 60, 63.4349488, 80, 89.9])
def test_fejes_toth_in_three_dimensions(degrees: float) -> None:
    with mpmath.workdps(40):
        phi = mpmath.radians(degrees)
        corner = mpmath.acos(mpmath.cos(phi) / (1 + mpmath.cos(phi)))
        witness = 6 * corner / (3 * corner - mpmath.pi)
        clearance = mpmath.log(2 * mpmath.sin(phi / 2) ** 2)
    assert log_simplicial_bound(3, float(clearance)) == pytest.approx(
        float(mpmath.log(witness)), rel=1e-13
    )


def test_the_600_cell_attains_it() -> None:
    assert value(4, 120) == pytest.approx(1 - math.cos(math.pi / 5), rel=1e-13)


def test_crowded_points_obey_rogers() -> None:
    """Rogers' bound on packings of balls in space is sqrt(18) (arccos(1/3) - pi/3) = 0.7796."""
    phi = math.sqrt(2 * value(4, 10**300))
    density = 1e300 * phi**3 / (12 * math.pi)
    assert density == pytest.approx(math.sqrt(18) * (math.acos(1 / 3) - math.pi / 3), rel=1e-12)


@settings(max_examples=12, deadline=None)
@given(d=ds, log_ratio=log_ratios)
def test_against_mpmath(d: int, log_ratio: float) -> None:
    K = many(d, log_ratio)
    clearance = value(d, K)
    assume(clearance > 1e-30)
    with mpmath.workdps(30):
        gap, h = mpmath.mpf(clearance), mpmath.mpf(10) ** -10
        residual = precise_log(d, gap) - mpmath.log(K)
        slope = (precise_log(d, gap * (1 - h)) - precise_log(d, gap)) / h
        assert abs(residual / slope) < 1e-13


@settings(max_examples=20, deadline=None)
@given(d=ds, log_ratio=log_ratios)
def test_points_invert_the_bound(d: int, log_ratio: float) -> None:
    K = many(d, log_ratio)
    count = SIMPLICIAL.points(d, Fraction(value(d, K)))
    assert count is not None
    if count.exact is None:
        assert count.log10 == pytest.approx(math.log10(K), rel=1e-12, abs=1e-13 * d)
    else:
        assert abs(count.exact - K) <= 1 + 3e-14 * d * K


@given(
    d=ds.filter(lambda d: d < 1000), target=st.fractions("1/1000", "999/1000", max_denominator=1000)
)
def test_points_are_the_last_that_reach_the_target(d: int, target: Fraction) -> None:
    count = SIMPLICIAL.points(d, target)
    assert count is not None
    if count.exact is not None and count.exact < 10**10:
        assert value(d, count.exact + 1) < target
        assert count.exact == 2 * d or value(d, count.exact) >= target


def test_where_rounding_could_matter_the_count_comes_from_mpmath() -> None:
    """Of a double on either side of 120: at the 600-cell's clearance."""
    with mpmath.workdps(60):
        clearance = Fraction(int((1 - mpmath.cos(mpmath.pi / 5)) * 10**50), 10**50)
    below, above = (clearance + Fraction(sign, 10**17) for sign in (-1, 1))
    exact = [count.exact for c in (below, above) if (count := SIMPLICIAL.points(4, c)) is not None]
    assert exact == [120, 119]
    far = SIMPLICIAL.points(4, clearance + Fraction(1, 10**9))
    assert far is not None and far.exact == 119


@pytest.mark.parametrize(("d", "K"), [(2, 100), (3, 100), (4, 8), (50, 100)])
def test_silent_where_it_has_nothing_to_say(d: int, K: int) -> None:
    assert SIMPLICIAL.at(d, K) is None


def test_targets_without_an_answer() -> None:
    assert SIMPLICIAL.points(3, Fraction(1, 2)) is None
    assert SIMPLICIAL.points(4, Fraction(1)) is None


@pytest.mark.parametrize("margin", [Fraction(3, 10), Fraction(9, 10), Fraction(14, 10)])
@pytest.mark.parametrize("K", [1000, 10**6, 10**30])
def test_dimension_is_the_first_not_excluded(K: int, margin: Fraction) -> None:
    target = margin**2 / 2
    found = SIMPLICIAL.dimension(K, target)
    assert found.ending is Ending.FOUND and found.d is not None
    if found.d > 2:
        assert found.d > 4
        assert value(found.d - 1, K) < target
    assert value(max(found.d, 4), K) >= target


def test_dimension_with_few_points_or_large_targets() -> None:
    assert SIMPLICIAL.dimension(20, Fraction(1, 100)).d == 2, "nothing is excluded"
    assert SIMPLICIAL.dimension(1000, Fraction(3, 2)).d == 500, "up to K = 2d it is silent"


# Fejes Toth's bound

sizes = st.integers(3, 3000) | st.integers(3, 10**300)


def printed(K: int) -> mpmath.mpf:
    """The clearance as Fejes Toth writes it; it cancels, so take many digits."""
    w = K * mpmath.pi / (6 * (K - 2))
    return (4 - mpmath.csc(w) ** 2) / 2


@pytest.mark.parametrize("K, cosine", [(3, -1 / 2), (4, -1 / 3), (6, 0.0), (12, 1 / math.sqrt(5))])
def test_equality_where_the_faces_are_triangles(K: int, cosine: float) -> None:
    assert FEJES_TOTH.at(3, K).value == pytest.approx(1.0 - cosine, rel=1e-15)


@given(sizes)
@example(3)
@example(10**300)
def test_the_value_agrees_with_many_digits(K: int) -> None:
    with mpmath.workdps(400):
        assert abs(FEJES_TOTH.at(3, K).value / printed(K) - 1) < 2e-15


def test_fejes_toth_is_silent_elsewhere() -> None:
    assert FEJES_TOTH.at(2, 7) is None and FEJES_TOTH.at(4, 7) is None
    assert FEJES_TOTH.at(3, 2) is None
    assert FEJES_TOTH.points(4, Fraction(1, 2)) is None


@given(st.fractions(Fraction(1, 10**9), 2))
@example(Fraction(3, 2))
@example(Fraction(4, 3))
@example(Fraction(1))
@example(Fraction(2))
@example(Fraction(8, 5))
def test_fejes_toth_points_are_the_last_that_reach(target: Fraction) -> None:
    K = FEJES_TOTH.points(3, target).exact
    with mpmath.workdps(60):
        goal = mpmath.mpf(target.numerator) / target.denominator
        assert printed(K + 1) < goal
        assert K == 2 or printed(K) >= goal * (1 - mpmath.mpf(10) ** -18)


@pytest.mark.parametrize("exponent", [20, 100, 600])
def test_astronomically_many_points(exponent: int) -> None:
    # In the plane each point has a hexagon of area sqrt(3)/2 chord^2 = sqrt(3) clearance.
    count = FEJES_TOTH.points(3, Fraction(1, 10**exponent))
    assert count.exact is None
    assert count.log10 == pytest.approx(
        exponent + math.log10(4 * math.pi / math.sqrt(3)), rel=1e-14
    )


def test_fejes_toth_dimensions() -> None:
    assert FEJES_TOTH.dimension(12, Fraction("0.552")).d == 2
    assert FEJES_TOTH.dimension(12, Fraction("0.553")).d == 4
    assert FEJES_TOTH.dimension(2, Fraction(2)).d == 2
    assert FEJES_TOTH.dimension(3, Fraction(2)).d == 4
