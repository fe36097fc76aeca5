"""The simplicial bounds and shares of cones: tilings, Schlaefli, Rogers, Coxeter, flint."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.special import erfcx, wofz

from gnc_cli.limits.limit import ball
from gnc_cli.limits.simplicial import (
    FEJES_TOTH,
    SIMPLICIAL,
    faddeeva,
    log_simplex_share,
    log_simplicial_bound,
    simplex_share,
)
from tests.limits.balls import precise

PI = math.pi
ds = st.floats(math.log(4), math.log(1e6)).map(lambda x: int(math.exp(x) + 1e-9))
"""Dimensions from 4 to a million, small ones often."""
log_ratios = st.floats(0, 3) | st.floats(0, 600)


def many(d: int, log_ratio: float) -> int:
    """A number of points above 2d."""
    return 2 * d + 1 + int(mpmath.exp(log_ratio)) * d


def value(d: int, K: int) -> float:
    found = SIMPLICIAL.evaluate(d, K)
    assert found is not None and found.valid and found.condition is None
    return found.value


def bound(d: int, clearance: arb) -> arb:
    """The logarithm of the bound."""
    corner = simplex_share(d - 1, 1 - clearance)
    return (d * corner / simplex_share(d, (1 - clearance) / clearance)).log()


@pytest.mark.parametrize(("d", "most"), [(4, 26), (5, 48), (6, 85), (7, 146), (8, 244)])
def test_coxeter_on_kissing_numbers(d: int, most: int) -> None:
    count = SIMPLICIAL.points(d, Fraction(1, 2))
    assert count is not None and count.exact == most


@pytest.mark.parametrize("degrees", [1e-3, 1, 36, 60, 63.4349488, 80, 89.9])
def test_fejes_toth_in_three_dimensions(degrees: float) -> None:
    with mpmath.workdps(40):
        phi = mpmath.radians(degrees)
        corner = mpmath.acos(mpmath.cos(phi) / (1 + mpmath.cos(phi)))
        witness = mpmath.log(6 * corner / (3 * corner - mpmath.pi))
        clearance = mpmath.log(2 * mpmath.sin(phi / 2) ** 2)
    found = log_simplicial_bound(3, float(clearance))
    assert found == pytest.approx(float(witness), rel=1e-13)


def test_crowded_points_obey_rogers() -> None:
    """Rogers' bound on packings of balls in space is sqrt(18) (arccos(1/3) - pi/3) = 0.7796."""
    phi = math.sqrt(2 * value(4, 10**18))
    density = 1e18 * phi**3 / (12 * PI)
    assert density == pytest.approx(math.sqrt(18) * (math.acos(1 / 3) - PI / 3), rel=1e-10)


@settings(max_examples=12)
@given(d=ds, log_ratio=log_ratios)
def test_the_value_solves_the_bound_and_points_invert_it(d: int, log_ratio: float) -> None:
    K = many(d, log_ratio)
    clearance = value(d, K)
    count = SIMPLICIAL.points(d, Fraction(clearance))
    assert count is not None
    if count.exact is None:
        assert count.log10 == pytest.approx(math.log10(K), rel=1e-12, abs=1e-13 * d)
    else:
        assert abs(count.exact - K) <= 1 + 3e-14 * d * K
    assume(clearance > 1e-30)
    here = precise(lambda: bound(d, arb(clearance)) - arb(K).log(), 20)
    slope = precise(lambda: bound(d, arb(clearance) * (1 - arb(1e-10))) - bound(d, arb(clearance)))
    assert abs(here * 1e-10 / slope) < 1e-13


def test_where_rounding_could_matter_balls_count() -> None:
    """Of a double on either side of 120: at the 600-cell's clearance, which attains the bound."""
    assert value(4, 120) == pytest.approx(1 - math.cos(PI / 5), rel=1e-13)
    with mpmath.workdps(60):
        clearance = Fraction(int((1 - mpmath.cos(mpmath.pi / 5)) * 10**50), 10**50)
    for shift, most in (
        (Fraction(-1, 10**17), 120),
        (Fraction(1, 10**17), 119),
        (Fraction(1, 10**9), 119),
    ):
        count = SIMPLICIAL.points(4, clearance + shift)
        assert count is not None and count.exact == most


# Fejes Tóth's bound


def printed(K: int) -> mpmath.mpf:
    """The clearance as Fejes Tóth writes it; it cancels, so take many digits."""
    w = K * mpmath.pi / (6 * (K - 2))
    return (4 - mpmath.csc(w) ** 2) / 2


@given(st.integers(3, 3000) | st.integers(3, 10**18))
@example(3)
@example(12)
@example(10**18)
def test_the_value_agrees_with_many_digits(K: int) -> None:
    found = FEJES_TOTH.evaluate(3, K)
    assert found is not None
    with mpmath.workdps(400):
        assert abs(found.value / printed(K) - 1) < 2e-15
    icosahedron = FEJES_TOTH.evaluate(3, 12)
    assert icosahedron is not None and icosahedron.value == pytest.approx(1 - 5**-0.5, rel=1e-15)


@given(st.fractions(Fraction(1, 10**9), 2))
@example(Fraction(3, 2))
@example(Fraction(4, 3))
@example(Fraction(1))
@example(Fraction(2))
def test_fejes_toth_points_are_the_last_that_reach(target: Fraction) -> None:
    count = FEJES_TOTH.points(3, target)
    assert count is not None and count.exact is not None
    with mpmath.workdps(60):
        goal = mpmath.mpf(target.numerator) / target.denominator
        assert printed(count.exact + 1) < goal
        assert count.exact == 2 or printed(count.exact) >= goal * (1 - mpmath.mpf(10) ** -18)


# Shares of cones


def _schlaefli(n: int, c: Any, face: Callable[[Any], Any]) -> Any:
    """The share for n vectors from that for n - 2: d share / d dihedral = C(n, 2) face / (2 pi).

    The dihedral angle has cosine c / (1 + (n - 2) c); at c = 1 the simplex is a point.
    """

    def edge(dihedral: Any) -> Any:
        r = mpmath.cos(dihedral)
        return r / (1 - (n - 2) * r)

    flat, dihedral = mpmath.acos(mpmath.mpf(1) / (n - 1)), mpmath.acos(c / (1 + (n - 2) * c))
    integral = mpmath.quad(lambda theta: face(edge(theta)), [flat, dihedral])
    return n * (n - 1) / 2 * integral / (2 * mpmath.pi)


def _arc(c: Any) -> Any:
    return mpmath.acos(c) / (2 * mpmath.pi)


def _triangle(c: Any) -> Any:
    return (3 * mpmath.acos(c / (1 + c)) - mpmath.pi) / (4 * mpmath.pi)


SMALL = {
    2: _arc,
    3: _triangle,
    4: lambda c: _schlaefli(4, c, _arc),
    5: lambda c: _schlaefli(5, c, _triangle),
}


@pytest.mark.parametrize("n", SMALL)
@pytest.mark.parametrize("c", ["1e-12", "0.001", "0.5", "0.9", "0.9999999999"])
def test_low_dimensions(n: int, c: str) -> None:
    q = Fraction(c) / (1 - Fraction(c))
    with mpmath.workdps(50):
        witness = SMALL[n](mpmath.mpf(c))
        assert abs(log_simplex_share(n, float(q)) - mpmath.log(witness)) < n * 1e-14
        if n > 2:
            share = precise(lambda: simplex_share(n, ball(q)))
            assert abs(mpmath.mpf(share.str(45, radius=False)) / witness - 1) < 1e-28


@pytest.mark.parametrize(
    ("n", "c", "cells"), [(3, 1 / math.sqrt(5), 20), (4, math.cos(PI / 5), 600)]
)
def test_simplices_that_tile_the_sphere(n: int, c: float, cells: int) -> None:
    """The icosahedron's triangles and the 600-cell's tetrahedra."""
    assert math.exp(log_simplex_share(n, c / (1 - c))) == pytest.approx(1 / cells, rel=1e-13)


@pytest.mark.parametrize("n", [6, 17, 300])
@pytest.mark.parametrize("c", ["0.01", "0.5", "0.95"])
def test_schlaefli_in_high_dimensions(n: int, c: str) -> None:
    with ctx.workprec(400):
        cosine, h = ball(Fraction(c)), arb(10) ** -14

        def at(m: int, x: arb) -> arb:
            return simplex_share(m, x / (1 - x))

        def dihedral(x: arb) -> arb:
            return (x / (1 + (n - 2) * x)).acos()

        low, high = cosine - h, cosine + h
        slope = (at(n, high) - at(n, low)) / (dihedral(high) - dihedral(low))
        face = n * (n - 1) / 2 * at(n - 2, cosine) / (2 * arb.pi())
        assert abs(slope / face - 1) < 1e-18


@settings(max_examples=15)
@given(log_n=st.floats(math.log(3), math.log(1e6)), log_q=st.floats(-30, 40))
def test_floats_and_balls_agree(log_n: float, log_q: float) -> None:
    n, q = int(math.exp(log_n)), math.exp(log_q)
    share = precise(lambda: simplex_share(n, arb(q)))
    with ctx.workprec(200):
        assert abs(log_simplex_share(n, q) - share.log()) < n * 1e-14


def test_faddeeva(rng: np.random.Generator) -> None:
    z = rng.normal(size=(50, 40)) * 10.0 ** rng.uniform(-3, 3, (50, 40))
    z = z + 1j * np.abs(rng.normal(size=(50, 40)) * 10.0 ** rng.uniform(-3, 3, (50, 40)))
    np.testing.assert_allclose(faddeeva(z), wofz(z), rtol=5e-14)
    for u in (0.0, 1e-9, 0.5, 3.0, 40.0, 1e8, 1e100):
        w = faddeeva(complex(0.0, u))
        assert w.imag == 0.0 and w.real == pytest.approx(erfcx(u), rel=2e-15)
