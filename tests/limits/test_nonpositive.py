"""The largest value of a polynomial on an interval: above every sample, and hardly above."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.limits import nonpositive
from gnc_cli.limits.gegenbauer import power_coefficients
from gnc_cli.limits.nonpositive import largest_value

SMALL = st.integers(-1000, 1000).map(lambda n: Fraction(n, 100))
UNIT = (Fraction(-1), Fraction(1))


def _value(coefficients: list[Fraction], x: Fraction) -> Fraction:
    total = Fraction(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def _product(*factors: list[Fraction]) -> list[Fraction]:
    product = [Fraction(1)]
    for factor in factors:
        terms = [Fraction(0)] * (len(product) + len(factor) - 1)
        for i, a in enumerate(product):
            for j, b in enumerate(factor):
                terms[i + j] += a * b
        product = terms
    return product


@settings(max_examples=80, deadline=None)
@given(
    st.lists(SMALL, min_size=1, max_size=9),
    st.tuples(SMALL, SMALL).filter(lambda ends: ends[0] < ends[1]),
)
def test_no_sample_is_above_and_the_best_is_hardly_below(
    coefficients: list[Fraction], ends: tuple[Fraction, Fraction]
) -> None:
    low, high = ends
    proved = largest_value(coefficients, low, high)
    samples = [low + (high - low) * Fraction(k, 200) for k in range(201)]
    values = [_value(coefficients, x) for x in samples]
    assert max(values) <= proved
    # The true maximum, from the roots of the derivative in floating point.
    slopes = [float(k * c) for k, c in enumerate(coefficients)][1:]
    roots = np.polynomial.polynomial.polyroots(slopes) if len(slopes) > 1 else np.array([])
    real = [Fraction(r.real) for r in roots if abs(r.imag) < 1e-3 and low <= r.real <= high]
    best = max(values + [_value(coefficients, x) for x in real])
    size = sum(abs(c) * max(abs(low), abs(high)) ** k for k, c in enumerate(coefficients))
    assert proved - best <= 1e-9 * size + Fraction(1, 10**15)


@pytest.mark.parametrize("degree", [1, 2, 3, 10, 25])
def test_chebyshev_polynomials_reach_one_everywhere(degree: int) -> None:
    coefficients = [Fraction(0)] * degree + [Fraction(1)]
    excess = largest_value(power_coefficients(2, coefficients), *UNIT) - 1
    assert 0 <= excess < 1e-12


@pytest.mark.parametrize("multiplicity", [2, 4, 6])
def test_touching_zero_flatly(multiplicity: int) -> None:
    # The tangent decides where the second derivative is negative, halving where it vanishes.
    third = [Fraction(-1, 3), Fraction(1)]
    flat = [-c for c in _product(*[third] * multiplicity)]
    assert 0 <= largest_value(flat, *UNIT) < 1e-13


@pytest.mark.parametrize("lift", [Fraction(1, 10**k) for k in (3, 6, 9, 12)])
def test_a_touching_polynomial_lifted_is_found_out(lift: Fraction) -> None:
    touching = _product([Fraction(-1)], *[[Fraction(1, 7), Fraction(1)]] * 2, [Fraction(2), 1])
    assert largest_value(touching, *UNIT) < 1e-14
    lifted = [touching[0] + lift, *touching[1:]]
    assert lift <= largest_value(lifted, *UNIT) < lift + Fraction(1, 10**13)


def test_a_narrow_bump_between_samples_is_not_missed() -> None:
    # -(x - a)^2 ((x - a)^2 - w^2) is positive only within w of a.
    a, w = Fraction(1, 3), Fraction(1, 10**5)
    bump = _product([Fraction(-1)], *[[-a, Fraction(1)]] * 2, [-a - w, 1], [-a + w, 1])
    highest = w**4 / 4
    assert highest <= largest_value(bump, *UNIT) < highest + Fraction(1, 10**16)


def test_ends_and_constants_are_exact() -> None:
    third = Fraction(1, 3)
    rising = [Fraction(0), Fraction(1)]
    assert largest_value(rising, Fraction(-1), Fraction(1, 2)) == Fraction(1, 2)
    assert largest_value(rising, Fraction(-1), Fraction(-1)) == -1
    assert 0 <= largest_value([third], *UNIT) - third < Fraction(1, 2**99)
    assert largest_value([Fraction(-5)], *UNIT) == -5


def test_wide_numbers() -> None:
    # A degree of 40 with coefficients up to 10^18 that cancel on the interval.
    coefficients = [Fraction((-1) ** k * math.comb(40, k)) for k in range(41)]
    assert largest_value(coefficients, Fraction(0), Fraction(1)) == 1
    assert largest_value(coefficients, Fraction(1, 2), Fraction(1)) - Fraction(1, 2**40) < 1e-25


@pytest.mark.parametrize("point", [0.0, 0.2, 0.6, 1.0])
def test_a_tangent_bounds_wherever_it_touches(
    point: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # -x^2 + x / 2 is largest at 1/4: the search for that place is in floating point, no proof.
    monkeypatch.setattr(nonpositive, "_turning_point", lambda steps: point)
    curve = [Fraction(0), Fraction(1, 2), Fraction(-1)]
    proved = largest_value(curve, Fraction(0), Fraction(1))
    slope = Fraction(1, 2) - 2 * Fraction(point)
    tangent = _value(curve, Fraction(point)) + max(
        -slope * Fraction(point), slope * (1 - Fraction(point))
    )
    assert Fraction(1, 16) <= proved == pytest.approx(tangent)
