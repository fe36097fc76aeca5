"""Rankin's bounds: simplex and orthoplex by listing, his caps by the hypergeometric function."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gnc_cli.limits.limit import LARGEST_D, Ending
from gnc_cli.limits.rankin import RANKIN, RANKIN_CAPS

dimensions = st.integers(2, 60) | st.integers(2, LARGEST_D)
sizes = st.integers(13, 5000) | st.integers(13, 10**18) | st.integers(13, 10**18)


def summed(half: mpmath.mpf, z: mpmath.mpf) -> mpmath.mpf:
    """2F1(1, half; half + 1/2; z) term by term, all positive."""
    total = term = mpmath.mpf(1)
    n = 0
    while term > total * mpmath.eps * (1 - z):
        term *= (half + n) / (half + n + mpmath.mpf(0.5)) * z
        total += term
        n += 1
    return total


def caps(d: int, z: mpmath.mpf) -> mpmath.mpf:
    """The number of points at clearance z, by J's closed form; it cancels where z is small."""
    half = mpmath.mpf(d) / 2
    # In many dimensions mpmath goes by 1 - z, where its two terms cancel in thousands of digits.
    many = d * (1 - z) > 1000
    series = summed(half, z) if many else mpmath.hyp2f1(1, half, half + mpmath.mpf(0.5), z)
    tail = 1 - (1 - z) * series
    g = mpmath.sqrt(mpmath.pi) * mpmath.rf(half, mpmath.mpf(0.5))
    return g * z ** (mpmath.mpf(3 - d) / 2) / mpmath.sqrt(1 - z) / tail


def printed(d: int, z: float) -> mpmath.mpf:
    """The same as Rankin's theorem has it, the integral done numerically."""
    beta = mpmath.asin(mpmath.sqrt(z))
    weight = mpmath.quad(
        lambda x: mpmath.sin(x) ** (d - 2) * (mpmath.cos(x) - mpmath.cos(beta)),
        mpmath.linspace(0, beta, 5),
    )
    b = (
        mpmath.sqrt(mpmath.pi)
        * mpmath.gamma((mpmath.mpf(d) - 1) / 2)
        / mpmath.gamma(mpmath.mpf(d) / 2)
    )
    return b * mpmath.sin(beta) * mpmath.tan(beta) / (2 * weight)


def exact(target: Fraction) -> mpmath.mpf:
    return mpmath.mpf(target.numerator) / target.denominator


# Simplex and orthoplex


@pytest.mark.parametrize("d, K, clearance", [(2, 2, 2.0), (2, 3, 1.5), (3, 5, 1.0), (5, 6, 1.2)])
def test_equality_cases(d: int, K: int, clearance: float) -> None:
    assert RANKIN.evaluate(d, K).value == clearance


@given(st.integers(2, 12), st.fractions(Fraction(1, 40), 2, max_denominator=40))
@example(5, Fraction(6, 5))
@example(5, Fraction(1))
def test_points_and_dimensions_by_listing(d: int, target: Fraction) -> None:
    def value(d: int, K: int) -> Fraction:
        return Fraction(K, K - 1) if K <= d + 1 else Fraction(1)

    reach = [K for K in range(2, 60) if value(d, K) >= target]
    count = RANKIN.points(d, target)
    assert (count and count.exact) == (None if len(reach) == 58 else max(reach))
    for K in range(2, 20):
        spared = [n for n in range(2, 60) if value(n, K) >= target]
        found = RANKIN.dimension(K, target)
        assert found.d == min(spared, default=None)
        assert (found.ending is Ending.UNREACHABLE) == (not spared)


# Caps with weights


@pytest.mark.parametrize("d, z", [(2, 0.3), (3, 0.5), (4, 0.01), (10, 0.9), (57, 0.4)])
def test_the_closed_form_is_the_integral(d: int, z: float) -> None:
    with mpmath.workdps(50):
        assert abs(caps(d, mpmath.mpf(z)) / printed(d, z) - 1) < 1e-30


@given(dimensions, sizes)
@example(2, 10**150)
@example(3, 10**18)
@example(LARGEST_D, 0)
@example(LARGEST_D, 10**18)
@example(512, 1024)
def test_the_value_solves_it_to_thirteen_digits(d: int, more: int) -> None:
    assume(d > 2 or more <= 10**150)
    K = 6 * d + more
    value = RANKIN_CAPS.evaluate(d, K).value
    with mpmath.workdps(50 + 2 * max(0, int(-math.log10(value)))):
        z, tiny = mpmath.mpf(value), mpmath.mpf(10) ** -13
        assert caps(d, z * (1 + tiny)) < K < caps(d, z * (1 - tiny))


@pytest.mark.parametrize("d", [2, 3, 4, 7, 10, 24, 100, 512, 10**4, 10**6])
def test_silent_below_the_least_number(d: int) -> None:
    least = RANKIN_CAPS.points(d, Fraction(1)).exact
    assert 3 * d <= least < 5 * d
    for target in (Fraction(3, 2), Fraction(2)):
        assert RANKIN_CAPS.points(d, target).exact == least
    assert RANKIN_CAPS.evaluate(d, least) is None
    value = RANKIN_CAPS.evaluate(d, least + 1).value
    with mpmath.workdps(40):
        # On the falling branch, and the branch is the first: no smaller z has so few points.
        z, tiny = mpmath.mpf(value), mpmath.mpf(10) ** -10
        assert caps(d, z * (1 - tiny)) > least + 1 > caps(d, z * (1 + tiny))
        for further in np.geomspace(1.001, min(100.0, 0.9 / (1.0 - value)), 12):
            assert caps(d, 1 - (1 - z) * mpmath.mpf(further)) > least + 1


@given(dimensions, st.fractions(Fraction(1, 10**6), 2, max_denominator=10**6))
@example(3, Fraction(1, 2))
@example(10, Fraction(99, 100))
@example(LARGEST_D, 1 - Fraction(1, LARGEST_D))
@example(3, Fraction(1, 10**15))
@example(153455, Fraction(285807, 298786))
def test_points_are_the_last_that_reach(d: int, target: Fraction) -> None:
    count = RANKIN_CAPS.points(d, target)
    if count.exact is None:
        with mpmath.workdps(80):
            log10 = mpmath.log10(caps(d, exact(target)))
        assert count.log10 == pytest.approx(float(log10), rel=1e-12)
        return
    after = RANKIN_CAPS.evaluate(d, count.exact + 1)
    assert after.value <= float(target) * (1.0 + 1e-9)
    if (1 - target) * d > 0.7:
        with mpmath.workdps(60):
            assert count.exact == mpmath.floor(caps(d, exact(target)) + mpmath.mpf(10) ** -10)
    else:
        assert RANKIN_CAPS.evaluate(d, count.exact - 1) is None or (1 - target) * d > 0.3
