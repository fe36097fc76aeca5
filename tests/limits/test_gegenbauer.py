"""Gegenbauer polynomials against mpmath and counting."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from gnc_cli.limits.gegenbauer import derivatives, gegenbauer, harmonic_logs, power_coefficients

X = np.array([-1.0, -0.7, -0.01, 0.3, 0.95, 1.0])


def _normalised(d: int, i: int, x: float) -> mpmath.mpf:
    if d == 2:
        return mpmath.chebyt(i, x)
    a = mpmath.mpf(d - 2) / 2
    return mpmath.gegenbauer(i, a, x) / mpmath.gegenbauer(i, a, 1)


@pytest.mark.parametrize("d", [2, 3, 4, 9, 100])
def test_values_are_those_of_mpmath(d: int) -> None:
    values = gegenbauer(d, 12, X)
    for i in (0, 1, 2, 5, 12):
        expected = [float(_normalised(d, i, x)) for x in X]
        assert values[i] == pytest.approx(expected, abs=1e-13), (d, i)


@pytest.mark.parametrize("d", [2, 3, 8, 50])
def test_exact_coefficients_give_the_same_values_and_derivatives(d: int) -> None:
    degree = 9
    for i in range(degree + 1):
        unit = [Fraction(int(j == i)) for j in range(degree + 1)]
        polynomial = np.polynomial.Polynomial([float(c) for c in power_coefficients(d, unit)])
        for order in (0, 1, 2):
            expected = polynomial.deriv(order)(X) if order else polynomial(X)
            got = derivatives(d, degree, X, order)[i]
            assert got == pytest.approx(expected, rel=1e-9, abs=1e-9), (d, i, order)


def test_exact_coefficients_are_linear_and_end_at_one() -> None:
    coefficients = [Fraction(1), Fraction(1, 3), Fraction(0), Fraction(7, 5), Fraction(2, 9)]
    for d in (2, 3, 4, 1000):
        assert sum(power_coefficients(d, coefficients)) == sum(coefficients)


@pytest.mark.parametrize("d", [2, 3, 7, 300])
def test_dimensions_of_harmonic_spaces(d: int) -> None:
    for i, log in enumerate(harmonic_logs(d, 8), start=1):
        dimension = math.comb(d + i - 1, i) - (math.comb(d + i - 3, i - 2) if i > 1 else 0)
        assert math.exp(log) == pytest.approx(dimension, rel=1e-10)
