"""Fixed-point arrays against fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.codes.fixed_point import FixedPoint

number = FixedPoint(200)
floats = st.lists(st.floats(-4.0, 4.0, allow_subnormal=False), min_size=1, max_size=6)


def value(x: int) -> Fraction:
    return Fraction(int(x), 2**200)


@settings(max_examples=80, deadline=None)
@given(floats)
def test_floats_go_in_exactly_and_come_back(values: list[float]) -> None:
    x = number.of(np.array(values))
    for fixed, v in zip(x, values, strict=True):
        assert 0 <= Fraction(v) - value(fixed) < Fraction(1, 2**200)
    assert number.floats(x) == pytest.approx(np.array(values), rel=1e-15, abs=1e-30)


@settings(max_examples=50, deadline=None)
@given(floats, st.integers(-150, 20))
def test_scaled_numbers_keep_their_digits_far_below(values: list[float], exponent: int) -> None:
    x = number.unscaled(np.array(values), exponent)
    for fixed, v in zip(x, values, strict=True):
        assert abs(value(fixed) - Fraction(v) * Fraction(2) ** exponent) <= Fraction(1, 2**200)
    small, own = number.scaled(x)
    assert np.abs(small).max() <= 1.0
    again = number.unscaled(small, own)
    largest = max(abs(int(v)) for v in x)
    assert max(abs(int(a - b)) for a, b in zip(again, x, strict=True)) <= (largest >> 50) + 1


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6))
def test_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = number.of(rng.standard_normal((4, 3))), number.of(rng.standard_normal((4, 3)))
    dots, products = number.dots(x, y), number.product(x, y)
    for k in range(4):
        exact = [value(a) * value(b) for a, b in zip(x[k], y[k], strict=True)]
        assert 0 <= sum(exact) - value(dots[k]) < Fraction(1, 2**200)
        assert all(
            0 <= e - value(p) < Fraction(1, 2**200) for e, p in zip(exact, products[k], strict=True)
        )


@settings(max_examples=80, deadline=None)
@given(st.integers(-(2**210), 2**210), st.integers(0, 50))
def test_texts_are_the_nearest_decimals(x: int, decimals: int) -> None:
    text = number.text(x, decimals)
    assert len(text.partition(".")[2]) == decimals
    assert abs(Fraction(text) - value(x)) <= Fraction(1, 2 * 10**decimals)
    assert not (text.startswith("-") and Fraction(text) == 0)
