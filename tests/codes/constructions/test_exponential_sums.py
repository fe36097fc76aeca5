"""The largest sums against every polynomial, the formula, and Weil's bound."""

from itertools import product

import mpmath
import numpy as np
import pytest

from gnc_cli.codes.constructions.exponential_sums import largest_odd_sum


def _every_sum(p: int, degree: int) -> float:
    """Largest |sum| / p over all odd polynomials of this degree, one by one."""
    x = np.arange(p)
    powers = np.array([[pow(y, e, p) for y in range(p)] for e in range(degree, 0, -2)])
    heads = [range(1, p), *[range(p)] * (len(powers) - 1)]
    values = np.array(list(product(*heads))) @ powers % p
    assert values.shape[1] == len(x)
    return float(np.abs(np.exp(2j * np.pi / p * values).sum(1)).max()) / p


@pytest.mark.parametrize(
    ("p", "degree"), [(5, 3), (7, 3), (11, 3), (13, 3), (31, 3), (37, 3), (7, 5), (11, 5), (13, 5)]
)
def test_no_sum_is_larger(p: int, degree: int) -> None:
    assert largest_odd_sum(p, degree).value == pytest.approx(_every_sum(p, degree), rel=1e-13)


@pytest.mark.parametrize(("p", "degree"), [(101, 3), (997, 3), (2039, 3), (127, 5)])
def test_the_formula_has_this_value_below_weils_bound(p: int, degree: int) -> None:
    peak = largest_odd_sum(p, degree)
    assert peak.p == p and len(peak.coefficients) == (degree + 1) // 2 and peak.coefficients[-1] > 0
    terms = list(zip(peak.coefficients, (1, 3, 5), strict=False))
    values = [sum(c * x**e for c, e in terms) % p for x in range(p)]
    with mpmath.workdps(30):
        total = mpmath.fsum(mpmath.cos(2 * mpmath.pi * value / p) for value in values)
        assert abs(float(abs(total) / p - peak.value)) < 1e-16
    assert peak.value < (degree - 1) / p**0.5


def test_text() -> None:
    assert largest_odd_sum(7, 3).text == "|sum(cos(2*pi*(x^3)/7), x=0..6)|/7"
    assert largest_odd_sum(13, 5).text.startswith("|sum(cos(2*pi*(x^5+")
    # cos(2 pi/5) and cos(4 pi/5) are (sqrt(5) - 1)/4 and -(sqrt(5) + 1)/4.
    assert largest_odd_sum(5, 3).value == pytest.approx((1 + 5**0.5) / (2 * 5**0.5), rel=1e-15)
