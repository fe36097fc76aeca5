"""Shares of caps, the caps of given shares, Gamma ratios and covering bounds: flint, closed forms,
mpmath, published values."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import example, given
from hypothesis import strategies as st

from gnc_cli.limits.caps import (
    COVERING,
    COVERING_3,
    cap_clearance,
    cap_share,
    log_cap_share,
    log_gamma_ratio,
)
from tests.limits.balls import precise

DIMENSIONS = st.integers(2, 10**6) | st.integers(2, 40)
CLEARANCES = st.floats(1e-300, 2.0) | st.floats(-300.0, 0.0).map(lambda e: 10.0**e)


def log_share(d: int, clearance: float) -> arb:
    share = precise(lambda: cap_share(d, arb(clearance)))
    with ctx.workprec(200):
        return share.log()


@given(DIMENSIONS, CLEARANCES)
@example(8, 0.2928)
@example(8, 0.2929)
@example(3000, 1 - 1e-9)
@example(9, 2 - 1e-15)
@example(10**6, 1 + 1e-9)
def test_against_flint(d: int, clearance: float) -> None:
    value = log_cap_share(d, clearance)
    assert abs(value - log_share(d, clearance)) < 2e-14 + 8e-16 * abs(value)


@given(st.floats(1e-150, 2.0))
def test_circle_and_sphere_in_closed_form(clearance: float) -> None:
    arc = 2 * math.asin(math.sqrt(min(clearance, 2 - clearance) / 2)) / math.pi
    arc = arc if clearance <= 1 else 1 - arc
    assert log_cap_share(2, clearance) == pytest.approx(math.log(arc), rel=3e-15, abs=1e-14)
    area = math.log(clearance / 2)
    assert log_cap_share(3, clearance) == pytest.approx(area, rel=3e-15, abs=1e-14)


@given(DIMENSIONS, st.floats(-42.0, -1e-3))
def test_the_inverse(d: int, wanted: float) -> None:
    """For shares down to 1 in 10^18."""
    clearance = cap_clearance(d, wanted)
    step = 1e-20
    with ctx.workprec(400):
        here, further = (cap_share(d, arb(clearance) * (1 + h)).log() for h in (0, arb(step)))
        assert abs((wanted - here) / ((further - here) / step)) < 1.5e-13


def test_gamma_ratios(rng: np.random.Generator) -> None:
    corners = [11.5, 11.999, 12.0, 12.001, 1e3, 5e5, 1e6 + 0.5, 1e7]
    for x in map(float, [*corners, *np.arange(1, 81) / 2, *np.exp(rng.uniform(-0.7, 16.1, 500))]):
        with ctx.workprec(200):
            exact = (arb(x) + 0.5).lgamma() - arb(x).lgamma()
            assert abs(log_gamma_ratio(x) - exact) < 2e-15


TARGETS = st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=10**6)


def _covering_3(K: int) -> float:
    finding = COVERING_3.evaluate(3, K)
    assert finding is not None
    return finding.value


@given(st.integers(2, 10**6), st.integers(2, 400) | st.integers(2, 10**18))
def test_the_caps_sum_to_one(d: int, K: int) -> None:
    clearance = COVERING.evaluate(d, K).value
    if clearance < 1e-290:
        assert d == 2
        return
    if K <= 3:
        assert clearance == pytest.approx(4 - K, rel=1e-15)
        return
    # The logarithm of 10^300 is rounded too: half an ulp of 690.
    tiny = arb(1e-13 if K < 10**100 else 2e-13)
    low = precise(lambda: cap_share(d, arb(clearance) * (1 - tiny)))
    high = precise(lambda: cap_share(d, arb(clearance) * (1 + tiny)))
    assert low * (K - 1) < 1 < high * (K - 1)


@given(st.integers(2, 60), TARGETS)
def test_points_are_the_last_that_reach(d: int, target: Fraction) -> None:
    count = COVERING.points(d, target)
    assert count is not None
    if count.exact is None:
        assert count.log10 > 15
        return
    # In integers' reach the values of neighbours differ by 1e-15 or less: compare the shares.
    with mpmath.workdps(40):
        c = mpmath.mpf(target.numerator) / target.denominator
        z = c * (2 - c)
        share = mpmath.betainc(mpmath.mpf(d - 1) / 2, 0.5, 0, z, regularized=True) / 2
        assert share * (count.exact - 1) <= 1 + mpmath.mpf(10) ** -9 * share
        assert share * count.exact > 1
    if count.exact < 10**9:
        assert COVERING.evaluate(d, count.exact).value >= float(target) * (1 - 1e-13)
        assert COVERING.evaluate(d, count.exact + 1).value < float(target)


@given(st.integers(4, 10**18))
def test_the_sphere_s_own_bound_against_mpmath(K: int) -> None:
    with mpmath.workdps(700):
        w = (K - 1) * mpmath.pi / (6 * (K - 3))
        exact = float(1 - mpmath.cot(w) / mpmath.sqrt(3))
    assert _covering_3(K) == pytest.approx(exact, rel=1e-15)


def test_the_sphere_in_closed_form() -> None:
    assert _covering_3(4) == pytest.approx(1.0, rel=1e-15)
    assert _covering_3(5) == pytest.approx(2 / 3, rel=1e-15)
    # Twelve caps around an icosahedron's vertices cover just so: the centres of its faces.
    golden = (1 + math.sqrt(5)) / 2
    assert _covering_3(13) == pytest.approx(1 - golden**2 / math.sqrt(3) / math.hypot(1, golden))
    for target, K in ((Fraction(1), 4), (Fraction(2, 3), 5)):
        count = COVERING_3.points(3, target)
        assert count is not None
        assert count.exact == K
    assert COVERING_3.points(3, Fraction("1.0001")) is None
    tiny = COVERING_3.points(3, Fraction(1, 10**20))
    assert tiny is not None
    assert tiny.exact is None
    assert tiny.log10 == pytest.approx(20 + math.log10(4 * math.pi / math.sqrt(27)))
