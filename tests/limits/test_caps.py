"""Shares of caps, the caps of given shares and Gamma ratios: mpmath, closed forms, and laws."""

import math
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.limits.caps import (
    cap_clearance,
    log_cap_share,
    log_gamma_ratio,
    precise_cap_share,
)

EXACTNESS = 1e-13
SMALL_CORNERS = [1e-300, 1e-17, 1e-3, 0.2928, 0.2929, 0.3, 0.5, 0.9, 1 - 1e-9, 1.0, 1 + 1e-9]
LARGE_CORNERS = [1.3, 1.9, 2 - 1e-3, 2 - 1e-15]
DIMENSIONS = st.integers(2, 10**6) | st.integers(2, 40)


def _tail(d: int, u: mpmath.mpf) -> mpmath.mpf:
    """The integral of (1 - s^2)^((d-3)/2) over [u, 1], u >= 0, by substitution and quadrature.

    s = u + scale t, with a scale at which the integrand, divided by its first value, falls evenly.
    """
    power, first = mpmath.mpf(d - 3) / 2, 1 - u * u
    scale = 1 / (mpmath.sqrt(d) + d * u)
    end = (1 - u) / scale
    cuts = [c for c in (0, 1, 2, 4, 8, 16, 32, 64, 128, 256) if c < end]
    top = end if end < 512 else mpmath.mpf(512)

    def integrand(t: mpmath.mpf) -> mpmath.mpf:
        return ((1 - (u + scale * t) ** 2) / first) ** power

    return scale * first**power * mpmath.quad(integrand, [*cuts, top])


def _reference(d: int, clearance: float) -> mpmath.mpf:
    """The share by mpmath at 50 digits, in another way than ours."""
    with mpmath.workdps(50):
        c = mpmath.mpf(clearance)
        if d <= 3000:
            half = mpmath.mpf(d - 1) / 2
            z = c * (2 - c)
            rest = mpmath.betainc(half, mpmath.mpf(1) / 2, 0, z, regularized=True) / 2
        else:
            rest = _tail(d, abs(1 - c)) / mpmath.beta(0.5, mpmath.mpf(d - 1) / 2)
        return rest if c <= 1 else 1 - rest


def _relative_slope(d: int, clearance: float, share: mpmath.mpf) -> mpmath.mpf:
    """The derivative of log share by log clearance."""
    with mpmath.workdps(50):
        c = mpmath.mpf(clearance)
        density = (c * (2 - c)) ** (mpmath.mpf(d - 3) / 2) / mpmath.beta(0.5, mpmath.mpf(d - 1) / 2)
        return c * density / share


def _cases(rng: np.random.Generator) -> Iterator[tuple[int, float]]:
    for d in (2, 3, 4, 5, 8, 9, 100, 3000):
        yield from ((d, c) for c in [*SMALL_CORNERS, *LARGE_CORNERS])
    for _ in range(150):
        d = int(np.exp(rng.uniform(math.log(2), math.log(3000))))
        yield d, float(rng.uniform(0.0, 2.0))
        yield d, float(10.0 ** rng.uniform(-300, 0))
        yield d, float(np.clip(1 - rng.normal() / math.sqrt(d), 1e-3, 2))


def test_against_mpmath(rng: np.random.Generator) -> None:
    for d, clearance in _cases(rng):
        share = _reference(d, clearance)
        value = log_cap_share(d, clearance)
        with mpmath.workdps(50):
            exact = mpmath.log(share)
            error = float(abs(value - exact))
        assert error < 2e-14 + 4e-16 * abs(value), (d, clearance)


@pytest.mark.parametrize("d", [10**4, 10**6 - 1, 10**6])
@pytest.mark.parametrize("x", [0.0, 1e-6, 0.01, 1.0, 1.99, 1.9999999, 2.0000001, 2.5, 8.0, 40.0])
def test_many_dimensions_against_quadrature(d: int, x: float) -> None:
    clearance = 1.0 - x / math.sqrt(d)
    with mpmath.workdps(50):
        share = _reference(d, clearance)
        exact = mpmath.log(share)
        assert abs(log_cap_share(d, clearance) - exact) < 2e-14 + 8e-16 * abs(exact)
        assert abs(precise_cap_share(d, clearance) / share - 1) < 1e-30
        if x:
            other = mpmath.log(_reference(d, 2.0 - clearance))
            assert abs(float(log_cap_share(d, 2.0 - clearance) - other)) < EXACTNESS


@given(DIMENSIONS, st.floats(1e-300, 2.0))
def test_precise_and_fast_agree(d: int, clearance: float) -> None:
    with mpmath.workdps(50):
        exact = mpmath.log(precise_cap_share(d, clearance))
        assert abs(log_cap_share(d, clearance) - exact) < 2e-14 + 8e-16 * abs(exact)


@given(st.floats(1e-150, 2.0))
def test_circle_and_sphere_in_closed_form(clearance: float) -> None:
    arc = 2 * math.asin(math.sqrt(min(clearance, 2 - clearance) / 2)) / math.pi
    arc = arc if clearance <= 1 else 1 - arc
    assert log_cap_share(2, clearance) == pytest.approx(math.log(arc), rel=3e-15, abs=1e-14)
    area = math.log(clearance / 2)
    assert log_cap_share(3, clearance) == pytest.approx(area, rel=3e-15, abs=1e-14)


@given(DIMENSIONS)
def test_the_whole_and_the_half(d: int) -> None:
    assert log_cap_share(d, 2.0) == 0.0
    assert log_cap_share(d, 1.0) == pytest.approx(math.log(0.5), rel=1e-15)
    assert cap_clearance(d, 0.0) == 2.0
    assert cap_clearance(d, math.log(0.5)) == pytest.approx(1.0, rel=1e-15)


@given(DIMENSIONS, st.floats(-700.0, -1e-3) | st.floats(-1e9, -700.0))
def test_inverse_against_precise_shares(d: int, log_share: float) -> None:
    clearance = cap_clearance(d, log_share)
    if clearance < 1e-290:
        # Too small a cap: smaller still if the share shrinks on.
        assert cap_clearance(d, 2.0 * log_share) <= clearance
        return
    with mpmath.workdps(50):
        share = precise_cap_share(d, clearance)
        missing = (log_share - mpmath.log(share)) / _relative_slope(d, clearance, share)
    assert abs(float(missing)) < 1.5 * EXACTNESS


@given(DIMENSIONS, st.floats(1e-6, 1.99), st.floats(1e-9, 0.5))
def test_larger_caps_have_more(d: int, clearance: float, more: float) -> None:
    larger = min(2.0, clearance * (1.0 + more))
    assert log_cap_share(d, clearance) <= log_cap_share(d, larger)


@given(st.integers(2, 10**6 - 1), st.floats(1e-6, 0.9999))
def test_caps_below_the_half_lose_with_the_dimension(d: int, clearance: float) -> None:
    assert log_cap_share(d + 1, clearance) < log_cap_share(d, clearance)


def test_precise_takes_fractions_exactly() -> None:
    with mpmath.workdps(40):
        third = precise_cap_share(3, Fraction(2, 3))
        assert abs(third - mpmath.mpf(1) / 3) < mpmath.mpf(10) ** -39
        assert precise_cap_share(7, Fraction(2)) == 1
        assert abs(precise_cap_share(2, Fraction(1, 2)) - mpmath.mpf(1) / 3) < mpmath.mpf(10) ** -39


@pytest.mark.parametrize("d", [4, 7, 10**6])
def test_no_logarithm_has_no_cap(d: int) -> None:
    with pytest.raises(ArithmeticError, match=f"no cap of log share nan in {d} dimensions"):
        cap_clearance(d, math.nan)


# The ratio of neighbouring Gamma functions


def test_gamma_ratio_against_mpmath(rng: np.random.Generator) -> None:
    corners = [11.5, 11.999, 12.0, 12.001, 1e3, 5e5, 1e6 + 0.5, 1e7]
    half_integers = [k / 2 for k in range(1, 81)]
    for x in map(float, [*corners, *half_integers, *np.exp(rng.uniform(-0.7, 16.1, 500))]):
        with mpmath.workdps(50):
            exact = mpmath.loggamma(mpmath.mpf(x) + 0.5) - mpmath.loggamma(x)
            assert abs(log_gamma_ratio(x) - exact) < 2e-15


@given(st.floats(0.5, 1e6))
def test_two_half_steps_are_one_step(x: float) -> None:
    assert log_gamma_ratio(x) + log_gamma_ratio(x + 0.5) == pytest.approx(
        math.log(x), rel=1e-14, abs=1e-14
    )
