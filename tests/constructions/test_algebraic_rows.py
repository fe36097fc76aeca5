"""Numbers of a real field: order, quotients, doubles and texts; rows over it: exact products."""

from fractions import Fraction
from math import sqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions.algebraic_rows import AlgebraicRows, RealField
from gnc_cli.constructions.integer_rows import IntegerRows
from tests.constructions.checks import gram, named, spectrum

GOLDEN = RealField((1, 1), (1, 2))
CONJUGATE = RealField((1, 1), (-1, 0))
TRIBONACCI = RealField((1, 1, 1), (Fraction(3, 2), 2))
SEVEN = RealField((-9, 9, 9), (Fraction(1, 2), 1))
ROOT2 = RealField((2, 0), (1, 2))
fields = st.sampled_from([GOLDEN, CONJUGATE, TRIBONACCI, SEVEN])


def _one(field: RealField) -> tuple[int, ...]:
    return (1, *[0] * (field.degree - 1))


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
    assert field.cosine(x, _one(field)).value == float(true)
    np.testing.assert_allclose(field.values(np.array(x)), float(true), rtol=0, atol=1e-9)


@given(st.integers(1, 400))
def test_the_smallest_differences_keep_their_sign(n: int) -> None:
    """F_n t - F_(n+1) = -(1-t)^n, down to 1e-84: no double could tell it from zero."""
    a, b = 1, 1
    for _ in range(n - 1):
        a, b = b, a + b
    assert GOLDEN.sign((-b, a)) == (1 if n % 2 else -1)
    value = GOLDEN.cosine((-b, a), (1, 0)).value
    assert value == pytest.approx(-(((1 - sqrt(5)) / 2) ** n), rel=1e-11)


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
        assert field.cosine(product, y) == field.cosine(x, _one(field))


@given(numbers(1, 30), st.integers(1, 40))
def test_texts_are_formulas(drawn: tuple[RealField, list[tuple]], below: int) -> None:
    field, [x] = drawn
    one = _one(field)
    cosine = field.cosine(x, tuple(below * c for c in one))
    formula, _, definition = cosine.text.partition(", ")
    t = float(digits(field, (0, 1, 0)[: field.degree]))
    value = eval(formula.replace("^", "**"), {"sqrt": sqrt, "t": t})
    assert value == pytest.approx(cosine.value, abs=1e-11)
    assert cosine.value == pytest.approx(float(digits(field, x)) / below, abs=1e-11)
    assert bool(definition) == (field.degree == 3 and any(x[1:]))
    assert field.cosine(tuple(7 * c for c in x), tuple(7 * below * c for c in one)) == cosine


@pytest.mark.parametrize(
    ("x", "y", "text"),
    [
        ((0, 1), (2, 0), "(1+sqrt(5))/4"),
        ((0, 1), (2, 1), "1/sqrt(5)"),
        ((0, -1), (2, 1), "-1/sqrt(5)"),
        ((1, -1), (2, 0), "(1-sqrt(5))/4"),
        ((3, 0), (-6, 0), "-1/2"),
        ((0, 4), (1, 0), "2+2*sqrt(5)"),
    ],
)
def test_texts(x: tuple[int, int], y: tuple[int, int], text: str) -> None:
    assert GOLDEN.cosine(x, y).text == text


def test_a_conjugate_field_is_another_number() -> None:
    assert CONJUGATE.cosine((0, 1), (2, 0)).text == "(1-sqrt(5))/4"
    assert CONJUGATE.sign((0, 1)) == -1


@pytest.mark.parametrize(
    ("relation", "between", "message"),
    [
        ((4, 0), (1, 3), "reducible"),  # t = 2
        ((0, 1, 0), (Fraction(1, 2), 2), "reducible"),  # t = 0, 1, -1
        ((1, 1), (2, 3), "does not isolate"),  # none there
        ((1, 1), (-2, 2), "does not isolate"),  # two
    ],
)
def test_what_is_not_a_field(
    relation: tuple[int, ...], between: tuple[Fraction | int, Fraction | int], message: str
) -> None:
    field = RealField(relation, between)
    with pytest.raises(ValueError, match=message):
        field.sign((0, 1, 0)[: field.degree])


def rational(vectors: np.ndarray) -> np.ndarray:
    """Integer vectors as elements without t."""
    return np.stack([vectors, 0 * vectors], axis=-1)


@given(st.integers(2, 4), st.integers(0, 10**6))
def test_integers_are_a_special_case(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    signs = rng.choice([1, -1], size=(12, n)) * np.arange(1, n + 1)
    shuffled = rng.permuted(signs, axis=1)
    ours = AlgebraicRows(GOLDEN, rational(shuffled)).verify()
    theirs = IntegerRows(shuffled).verify()
    assert (ours.K, ours.distinct, ours.distribution) == (
        theirs.K,
        theirs.distinct,
        theirs.distribution,
    )


def test_weights_are_squares_of_axes() -> None:
    """sqrt 2 on an axis, as a number of the field and as a weight."""
    inside = AlgebraicRows(ROOT2, np.array([[[1, 0], [0, 1]], [[1, 0], [0, -1]]]))
    weighed = AlgebraicRows(
        ROOT2, rational(np.array([[1, 1], [1, -1]])), np.array([[1, 0], [2, 0]])
    )
    assert inside.verify() == weighed.verify()
    np.testing.assert_allclose(np.asarray(inside), np.asarray(weighed), rtol=0, atol=1e-15)
    # The fourth root of 2 is not in the field; its square is a weight.
    fourth = AlgebraicRows(
        ROOT2, rational(np.array([[1, 1], [1, -1], [-1, 1]])), np.array([[1, 0], [0, 1]])
    )
    assert fourth.verify().max_cosine.value == pytest.approx((2**0.5 - 1) / (2**0.5 + 1))
    np.testing.assert_allclose(
        spectrum(gram(fourth)),
        [c.value for c, pairs in fourth.verify().distribution or () for _ in range(pairs)],
        rtol=0,
        atol=1e-15,
    )


def test_a_double_row_is_seen() -> None:
    vectors = rational(np.array([[1, 2], [2, -1], [1, 2]]))
    verified = AlgebraicRows(GOLDEN, vectors).verify()
    assert not verified.distinct and verified.max_cosine.text == "1"


@pytest.mark.parametrize(
    ("vectors", "weights", "message"),
    [
        ([[[1, 0], [0, 0]], [[0, 1], [0, 0]]], None, "different lengths"),
        ([[[0, 0], [0, 0]]], None, "are zero"),
        ([[[1, 0], [0, 0]]], [[1, 0], [1, -1]], "not positive"),  # 1 - t < 0
        ([[[1, 0], [0, 0]]], [[1, 0], [0, 0]], "not positive"),
        ([[[2**31, 0], [0, 0]]], None, "too large"),
    ],
)
def test_what_is_refused(
    vectors: list[list[list[int]]], weights: list[list[int]] | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        AlgebraicRows(GOLDEN, np.array(vectors), None if weights is None else np.array(weights))


@pytest.mark.parametrize(
    "name", ["icosahedron", "snub-cube", "square-antiprism", "tammes-7", "600-cell"]
)
def test_wrong_irrational_rows_are_caught(name: str) -> None:
    rows = named(name).build()
    assert isinstance(rows, AlgebraicRows)
    truth = rows.verify()
    doubled = np.concatenate([rows.vectors, rows.vectors[3:4]])
    assert not AlgebraicRows(rows.field, doubled, rows.weights).verify().distinct
    # One row moved on its sphere: its length is right, its place is wrong.
    moved = rows.vectors.copy()
    moved[-1, :2] = moved[-1, 1::-1] if name == "600-cell" else -moved[-1, :2]
    wrong = AlgebraicRows(rows.field, moved, rows.weights).verify()
    assert wrong.distribution != truth.distribution
