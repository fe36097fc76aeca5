"""Texts of numbers are formulas of those numbers, one for each."""

from fractions import Fraction
from math import cos, gcd, isqrt, pi, sqrt

import mpmath
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gnc_cli.codes.constructions.formulas import polynomial_text, surd_text, turn_cosine

fractions = st.fractions(-50, 50, max_denominator=60)


def value(text: str, **names: float) -> float:
    return float(eval(text.replace("^", "**"), {"sqrt": sqrt, "cos": cos, "pi": pi, **names}))


@given(
    fractions,
    fractions,
    st.fractions(0, 80, max_denominator=40),
    st.fractions(1, 9, max_denominator=5),
)
def test_surds(rational: Fraction, factor: Fraction, square: Fraction, scale: Fraction) -> None:
    inside = square.numerator * square.denominator
    assume(factor != 0 and isqrt(inside) ** 2 != inside)
    text = surd_text(rational, factor, square)
    assert value(text) == pytest.approx(float(rational) + float(factor) * sqrt(square), abs=1e-11)
    assert surd_text(rational, factor / scale, square * scale**2) == text


@given(st.lists(fractions, min_size=1, max_size=4), st.floats(0.5, 2.0))
def test_polynomials(coefficients: list[Fraction], t: float) -> None:
    expected = sum(float(c) * t**k for k, c in enumerate(coefficients))
    assert value(polynomial_text(tuple(coefficients)), t=t) == pytest.approx(expected, abs=1e-11)


@given(st.integers(0, 4000), st.integers(1, 2000), st.integers(1, 9))
def test_turns(m: int, K: int, n: int) -> None:
    cosine = turn_cosine(m, K)
    with mpmath.workdps(40):
        true = mpmath.cos(2 * mpmath.pi * m / K)
    assert cosine.value == pytest.approx(float(true), rel=1e-15, abs=3e-16)
    assert value(cosine.text) == pytest.approx(float(true), abs=1e-12)
    assert turn_cosine(n * m, n * K) == turn_cosine(-m, K) == turn_cosine(m + K, K) == cosine
    # A reduced denominator of 1, 2, 3, 4 or 6 and no other gives a rational cosine.
    assert ("cos" not in cosine.text) == (K // gcd(m, K) in (1, 2, 3, 4, 6))
