"""Codes of additive characters: the bases, the largest sums, streaming, wrong functions."""

from itertools import product

import mpmath
import numpy as np
import pytest

from gnc_cli.constructions.families.characters import (
    CharacterRows,
    check_planar,
    largest_cosine,
    largest_odd_sum,
)
from gnc_cli.constructions.fields import FiniteField, finite_field
from tests.constructions.checks import gram, spectrum


def test_a_cubic_code_begins_with_the_quadratic_one() -> None:
    cubic, quadratic = (CharacterRows(finite_field(7), e) for e in ((1, 2, 3), (1, 2)))
    np.testing.assert_array_equal(np.asarray(cubic.first(len(quadratic))), np.asarray(quadratic))
    assert cubic.first(len(quadratic)).verify().max_cosine.text == "1/sqrt(7)"
    assert cubic.first(28).verify().max_cosine.text == "0"
    assert cubic.first(29).verify().max_cosine.text == "1/sqrt(7)"


def test_odd_polynomials_begin_with_an_orthonormal_basis() -> None:
    rows = CharacterRows(finite_field(11), (1, 3, 5))
    assert rows.first(2).verify().max_cosine.text == "-1"
    assert rows.first(22).verify().max_cosine.text == "0"
    assert spectrum(gram(rows.first(22)))[0] < 1e-15
    below = rows.first(2 * 11 * 11).verify().max_cosine
    assert below == largest_cosine(11, (1, 3))[0]
    assert below.value < rows.verify().max_cosine.value


class _Line(FiniteField):
    """A field that takes x for x^2."""

    def power(self, x: np.ndarray, e: int) -> np.ndarray:
        return np.asarray(x) if e == 2 else super().power(x, e)


def test_a_function_that_is_not_planar_is_caught() -> None:
    check_planar(finite_field(27))
    for field in (_Line(7), finite_field(8)):
        with pytest.raises(ValueError, match="not planar"):
            check_planar(field)
    with pytest.raises(ValueError, match="not planar"):
        CharacterRows(_Line(7), (1, 2)).verify()


def _every_sum(p: int, degree: int) -> float:
    """Largest |sum| / p over all odd polynomials of this degree, one by one."""
    powers = np.array([[pow(y, e, p) for y in range(p)] for e in range(degree, 0, -2)])
    heads = [range(1, p), *[range(p)] * (len(powers) - 1)]
    values = np.array(list(product(*heads))) @ powers % p
    return float(np.abs(np.exp(2j * np.pi / p * values).sum(1)).max()) / p


@pytest.mark.parametrize(
    ("p", "degree"), [(5, 3), (7, 3), (11, 3), (13, 3), (31, 3), (37, 3), (7, 5), (11, 5), (13, 5)]
)
def test_no_sum_is_larger(p: int, degree: int) -> None:
    assert largest_odd_sum(p, degree)[0].value == pytest.approx(_every_sum(p, degree), rel=1e-13)


@pytest.mark.parametrize(("p", "degree"), [(101, 3), (997, 3), (2039, 3), (127, 5)])
def test_the_formula_has_this_value_below_weils_bound(p: int, degree: int) -> None:
    largest, coefficients = largest_odd_sum(p, degree)
    assert len(coefficients) == (degree + 1) // 2 and coefficients[degree] > 0
    values = [sum(c * x**e for e, c in coefficients.items()) % p for x in range(p)]
    with mpmath.workdps(30):
        total = mpmath.fsum(mpmath.cos(2 * mpmath.pi * value / p) for value in values)
        assert abs(float(abs(total) / p - largest.value)) < 1e-16
    assert largest.value < (degree - 1) / p**0.5


def test_text() -> None:
    assert largest_odd_sum(7, 3)[0].text == "|sum(cos(2*pi*(x^3)/7), x=0..6)|/7"
    assert largest_odd_sum(13, 5)[0].text.startswith("|sum(cos(2*pi*(x^5+")
    # cos(2 pi/5) and cos(4 pi/5) are (sqrt(5) - 1)/4 and -(sqrt(5) + 1)/4.
    assert largest_odd_sum(5, 3)[0].value == pytest.approx((1 + 5**0.5) / (2 * 5**0.5), rel=1e-15)
