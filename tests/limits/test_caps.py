"""Shares of caps, the caps of given shares and Gamma ratios: flint, closed forms."""

import math

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import example, given
from hypothesis import strategies as st

from gnc_cli.limits.caps import cap_clearance, cap_share, log_cap_share, log_gamma_ratio
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
