"""Exact comparisons of cosines, against fractions and against high-precision arithmetic."""

import math
from decimal import Decimal
from fractions import Fraction

import mpmath  # type: ignore[import-untyped,unused-ignore]
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gnc_cli.codes.exact_rows import ExactRows
from gnc_cli.errors import DataError
from gnc_cli.numerics.sphere import normalise

FIRST, SECOND = np.array([0]), np.array([1])

numbers = st.floats(-1e6, 1e6, allow_nan=False, width=64)
rows_of_floats = st.integers(1, 5).flatmap(
    lambda d: st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=2, max_size=2)
)


def cosine(x: list[Fraction], y: list[Fraction]) -> mpmath.mpf:
    """By 200 digits of arithmetic: for two rows of any size."""
    with mpmath.workdps(200):
        p, a, b = (
            mpmath.mpf(f.numerator) / f.denominator
            for f in (
                sum((u * v for u, v in zip(r, s, strict=True)), Fraction(0))
                for r, s in ((x, y), (x, x), (y, y))
            )
        )
        return p / mpmath.sqrt(a * b)


@settings(max_examples=150, deadline=None)
@given(rows_of_floats, st.integers(-(10**9), 10**9))
def test_floats_are_taken_to_the_last_bit(rows: list[list[float]], millionths: int) -> None:
    assume(all(any(abs(x) > 1e-150 for x in row) for row in rows))
    exact = ExactRows.of_floats(np.array(rows))
    true = cosine(*([Fraction(x) for x in row] for row in rows))
    with mpmath.workdps(200):
        t = Fraction(millionths, 10**9)
        gap = true - mpmath.mpf(t.numerator) / t.denominator
        if abs(gap) > mpmath.mpf(10) ** -150:
            assert bool(exact.exceed(FIRST, SECOND, t)[0]) == (gap > 0)
        ceiling = exact.ceilings(FIRST, SECOND, 25)
        assert -(mpmath.mpf(10) ** -150) <= ceiling - true * mpmath.mpf(10) ** 25 <= 1
        computed = float(exact.units[0] @ exact.units[1])
        assert abs(computed - true) <= exact.error


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(-9, 9), min_size=3, max_size=3),
    st.lists(st.integers(-9, 9), min_size=3, max_size=3),
    st.integers(1, 10**9),
    st.integers(1, 10**30),
)
def test_ties_and_lengths(x: list[int], y: list[int], stretch: int, long: int) -> None:
    """A cosine that is rational is equal to itself, and to nothing beside it, at any length."""
    assume(any(x) and any(y))
    exact = ExactRows.of_integers(
        np.array([[a * stretch for a in x], [b * long for b in y]], object)
    )
    p, square = int(np.dot(x, y)), int(np.dot(x, x) * np.dot(y, y))
    root = math.isqrt(square)
    if root * root == square:
        t, little = Fraction(p, root), Fraction(1, 10**60)
        assert not exact.exceed(FIRST, SECOND, t)[0]
        assert exact.exceed(FIRST, SECOND, t - little)[0]
        assert not exact.exceed(FIRST, SECOND, t + little)[0]
    n = exact.ceilings(FIRST, SECOND, 7)
    assert not exact.exceed(FIRST, SECOND, Fraction(n, 10**7))[0]
    assert exact.exceed(FIRST, SECOND, Fraction(n - 1, 10**7))[0]


def test_small_products_stay_in_machine_integers() -> None:
    rng = np.random.default_rng(2)
    signs = np.sign(rng.standard_normal((40, 64))) / 8.0
    exact = ExactRows.of_floats(signs)
    assert exact.integers(np.arange(40)).dtype == np.int64
    i, j = np.triu_indices(40, 1)
    above = exact.exceed(i, j, Fraction(1, 4))
    assert np.array_equal(above, (signs @ signs.T)[i, j] > 0.25)
    assert above.any() and (~above).any()


def test_a_range_too_wide_for_64_bits() -> None:
    """Entries 1 and 2^-500: the product is exact all the same."""
    W = np.array([[1.0, 2.0**-500], [-(2.0**-500), 1.0], [1.0, 0.0]])
    exact = ExactRows.of_floats(W)
    assert exact.integers(np.arange(3)).dtype == object
    assert not exact.exceed(FIRST, SECOND, Fraction(0))[0]
    assert exact.exceed(np.array([1]), np.array([2]), Fraction(-1, 2**499))[0]
    assert exact.exceed(FIRST, np.array([2]), 1 - Fraction(1, 2**999))[0]


def test_decimal_texts() -> None:
    """Three equal rows in three ways of writing; a third of a circle in thirds."""
    exact = ExactRows.of_texts([["0.6", "0.8"], ["3e-1", "4E-1"], ["3/7", "4/7"], ["-0.8", "0.6"]])
    pairs = np.array([0, 0, 1]), np.array([1, 2, 3])
    assert exact.exceed(*pairs, 1 - Fraction(1, 10**99)).tolist() == [True, True, False]
    assert exact.exceed(*pairs, Fraction(1)).tolist() == [False, False, False]
    rows = normalise(np.random.default_rng(1).standard_normal((6, 4)))
    texts = [[str(Decimal(x)) for x in row] for row in rows.tolist()]
    assert ExactRows.of_texts(texts).units == pytest.approx(rows, abs=1e-15)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["1", "x"], ["0", "1"]], "row 0 holds no exact number"),
        ([["1", "nan"], ["0", "1"]], "row 0 holds no exact number"),
        ([["1", "0"], ["0", "1"], ["1"]], "different lengths"),
        ([["1", "0"], ["0", "-0.0"]], "row 1 is zero"),
        ([["1", "0"]], "K >= 2"),
    ],
)
def test_bad_rows(rows: list[list[str]], said: str) -> None:
    with pytest.raises(DataError, match=said):
        ExactRows.of_texts(rows)
