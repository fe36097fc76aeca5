"""Numbers of a field: order, quotients and doubles against mpmath and fractions."""

from fractions import Fraction
from math import sqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.codes.constructions.number_field import RealField

GOLDEN = RealField((1, 1), (1, 2))
CONJUGATE = RealField((1, 1), (-1, 0))
TRIBONACCI = RealField((1, 1, 1), (Fraction(3, 2), 2))
SEVEN = RealField((-9, 9, 9), (Fraction(1, 2), 1))
fields = st.sampled_from([GOLDEN, CONJUGATE, TRIBONACCI, SEVEN])


def digits(field: RealField, x: tuple[Fraction | int, ...]) -> mpmath.mpf:
    """The number to 80 digits, with t from mpmath's own root finder."""
    with mpmath.workdps(90):
        relation = [mpmath.mpf(r) for r in field.relation]
        start = {GOLDEN: 1.6, CONJUGATE: -0.6, TRIBONACCI: 1.84, SEVEN: 0.63}[field]
        t = mpmath.findroot(
            lambda t: t**field.degree - sum(r * t**k for k, r in enumerate(relation)), start
        )
        return +sum(mpmath.mpf(c.numerator) / c.denominator * t**k for k, c in enumerate(x))


@st.composite
def numbers(draw: st.DrawFn, count: int, bound: int = 10**6) -> tuple[RealField, list[tuple]]:
    field = draw(fields)
    entry = st.integers(-bound, bound)
    return field, [tuple(draw(entry) for _ in range(field.degree)) for _ in range(count)]


@given(numbers(1))
def test_sign_and_double(drawn: tuple[RealField, list[tuple]]) -> None:
    field, [x] = drawn
    true = digits(field, x)
    assert field.sign(x) == mpmath.sign(true)
    assert field.value(x) == float(true)


@given(st.integers(1, 400))
def test_the_smallest_differences_keep_their_sign(n: int) -> None:
    """F_n t - F_(n+1) = -(1-t)^n, down to 1e-84: no double could tell it from zero."""
    a, b = 1, 1
    for _ in range(n - 1):
        a, b = b, a + b
    assert GOLDEN.sign((-b, a)) == (1 if n % 2 else -1)
    assert GOLDEN.value((-b, a)) == pytest.approx(-((1 - sqrt(5)) / 2) ** n, rel=1e-11)


@given(numbers(3, 1000))
def test_arithmetic_is_that_of_the_reals(drawn: tuple[RealField, list[tuple]]) -> None:
    field, [x, y, z] = drawn
    a, b, c = np.array(x), np.array(y), np.array(z)
    np.testing.assert_array_equal(field.multiply(a, b), field.multiply(b, a))
    np.testing.assert_array_equal(
        field.multiply(a, field.multiply(b, c)), field.multiply(field.multiply(a, b), c)
    )
    product = tuple(int(v) for v in field.multiply(a, b))
    with mpmath.workdps(80):
        expected = digits(field, x) * digits(field, y)
        assert mpmath.almosteq(digits(field, product), expected, 1e-60, 1e-60)
    if any(y):
        assert field.divide(product, y) == x


@given(numbers(1, 30), st.integers(1, 40))
def test_quadratic_texts_are_formulas(drawn: tuple[RealField, list[tuple]], below: int) -> None:
    field, [x] = drawn
    zeros = (0,) * (field.degree - 1)
    quotient = field.divide(x, (below, *zeros))
    text = field.text(quotient)
    formula, _, definition = text.partition(", ")
    t = float(digits(field, (0, 1, 0)[: field.degree]))
    value = eval(formula.replace("^", "**"), {"sqrt": sqrt, "t": t})  # noqa: S307
    assert value == pytest.approx(float(digits(field, quotient)), abs=1e-11)
    assert bool(definition) == (field.degree == 3 and any(x[1:]))
    assert field.text(field.divide(tuple(7 * c for c in x), (7 * below, *zeros))) == text


@pytest.mark.parametrize(("x", "y", "text"), [
    ((0, 1), (2, 0), "(1+sqrt(5))/4"),
    ((0, 1), (2, 1), "1/sqrt(5)"),
    ((0, -1), (2, 1), "-1/sqrt(5)"),
    ((1, -1), (2, 0), "(1-sqrt(5))/4"),
    ((3, 0), (-6, 0), "-1/2"),
    ((0, 4), (1, 0), "2+2*sqrt(5)"),
])  # fmt: skip
def test_texts(x: tuple[int, int], y: tuple[int, int], text: str) -> None:
    assert GOLDEN.cosine(x, y).text == text


def test_a_conjugate_field_is_another_number() -> None:
    assert CONJUGATE.cosine((0, 1), (2, 0)).text == "(1-sqrt(5))/4"
    assert CONJUGATE.sign((0, 1)) == -1


def test_zero_divides_nothing() -> None:
    with pytest.raises(ZeroDivisionError, match="number field"):
        GOLDEN.divide((1, 0), (0, 0))


@pytest.mark.parametrize(("relation", "between", "message"), [
    ((4, 0), (1, 3), "integer root"),  # t = 2
    ((0, 1, 0), (Fraction(1, 2), 2), "integer root"),  # t = 0, 1, -1
    ((1, 1), (2, 3), "does not isolate"),  # none there
    ((1, 1), (-2, 2), "does not isolate"),  # two
    ((2, 0, 0, 0), (1, 2), "degree 4"),
    ((2,), (1, 3), "degree 1"),
])  # fmt: skip
def test_what_is_not_a_field(
    relation: tuple[int, ...], between: tuple[Fraction | int, Fraction | int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        RealField(relation, between)
