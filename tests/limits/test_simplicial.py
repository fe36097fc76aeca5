"""The simplicial bound: Coxeter's table, Fejes Toth, Rogers, the 600-cell, and the known codes."""

import csv
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gnc_cli.limits.limit import Ending
from gnc_cli.limits.simplicial import SIMPLICIAL, log_simplicial_bound
from gnc_cli.numerics.simplex_angle import precise_simplex_share

TABLE = Path(__file__).parents[2] / "data" / "known_codes" / "table.csv"

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


def test_known_codes_satisfy_it() -> None:
    with TABLE.open() as file:
        rows = [row for row in csv.DictReader(file) if int(row["d"]) >= 4]
    codes = [(int(row["d"]), int(row["K"]), 1 - float(row["max_cosine"])) for row in rows]
    codes = [(d, K, clearance) for d, K, clearance in codes if K > 2 * d]
    assert len(codes) > 100
    for d, K, clearance in codes:
        assert clearance <= value(d, K) * (1 + 1e-13), (d, K)


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


@given(d=ds, log_ratio=log_ratios)
def test_it_falls_with_more_points_and_rises_with_d(d: int, log_ratio: float) -> None:
    K = many(d, log_ratio)
    here = value(d, K)
    assert 0 < value(d, K + 1 + K // 1000) < here * (1 + 1e-14)
    if K > 2 * (d + 1):
        assert here < value(d + 1, K) * (1 + 1e-14)


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


@pytest.mark.parametrize("target", [Fraction(1, 10**40), Fraction(1, 10**400)])
def test_tiny_targets(target: Fraction) -> None:
    count = SIMPLICIAL.points(9, target)
    base = SIMPLICIAL.points(9, Fraction(1, 10**32))
    assert count is not None and base is not None and count.exact is None
    decades = math.log10(target.denominator) - 32
    assert count.log10 - base.log10 == pytest.approx(4 * decades, rel=1e-13)


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
