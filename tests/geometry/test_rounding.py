"""The rounding bounds hold for float sums in exact rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.geometry.rounding import UNIT32, gamma, rounded_down, rounded_up


def exact_dot(x: np.ndarray, y: np.ndarray) -> Fraction:
    terms = (Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, y, strict=True))
    return sum(terms, Fraction(0))


@pytest.mark.parametrize("n", [1, 3, 40, 700])
def test_inner_products(n: int, rng: np.random.Generator) -> None:
    for _ in range(5):
        x, y = rng.standard_normal((2, n))
        reach = float(np.linalg.norm(x) * np.linalg.norm(y))
        assert abs(Fraction(float(x @ y)) - exact_dot(x, y)) <= gamma(n) * reach
        small = float(x.astype(np.float32) @ y.astype(np.float32))
        assert abs(Fraction(small) - exact_dot(x, y)) <= gamma(n + 2, UNIT32) * reach


def test_no_digits_left() -> None:
    with pytest.raises(ValueError, match="leave no digit"):
        gamma(10**8, UNIT32)


@given(st.fractions())
def test_directed_rounding(value: Fraction) -> None:
    low, high = rounded_down(value), rounded_up(value)
    assert low <= value <= high and high in (low, math.nextafter(low, math.inf))
