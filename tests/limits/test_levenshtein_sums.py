"""Sums, roots and valleys of Gegenbauer polynomials against mpmath's functions and recursions."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from gnc_cli.limits.levenshtein_sums import binary, first_root, first_valley, sums


@given(st.fractions(Fraction(1, 10**30), 2), st.integers(1, 200))
def test_binary(value: Fraction, bits: int) -> None:
    a, e = binary(value, bits)
    assert a.bit_length() in (bits, bits + 1)
    assert 0 <= value - Fraction(a, 2**e) < Fraction(1, 2**e)


@pytest.mark.parametrize(
    ("d", "p", "b", "c"),
    [(2, 1, 2, 1.25), (3, 5, 9, 0.25), (4, 300, 303, 1e-4), (9, 10**40, 10**40, 3e-79),
     (300, 40, 339, 0.5), (10**6, 60, 10**6 + 59, 0.75)],
)  # fmt: skip
def test_sums_are_as_good_as_they_say(d: int, p: int, b: int, c: float) -> None:
    a, e = binary(Fraction(c), 60)
    for bits in (100, 800):
        values, noise_bits = sums(d, p, b, a, e, bits)
        with mpmath.workdps(400):
            x, half = mpf(c) / 2, mpf(d + 1) / 2
            # c d/dc of 2F1(-p, b; h; x), and again, by their contiguous functions.
            first = -p * b / half * mpmath.hyp2f1(1 - p, b + 1, half + 1, x)
            second = p * (p - 1) * b * (b + 1) / half / (half + 1)
            second *= mpmath.hyp2f1(2 - p, b + 2, half + 2, x)
            expected = (mpmath.hyp2f1(-p, b, half, x), first * x, second * x**2 + first * x)
            for value, wanted in zip(values, expected, strict=False):
                assert abs(value - wanted * mpf(2) ** bits) <= mpf(2) ** noise_bits


@pytest.mark.parametrize(("d", "p"), [(2, 1), (2, 9), (3, 40), (5, 7), (30, 12), (1000, 6)])
def test_the_first_root_is_the_largest_zero_of_a_jacobi_polynomial(d: int, p: int) -> None:
    """V is the Jacobi polynomial with exponents ((d-1)/2, (d-3)/2) where b = p + d - 1."""
    root = first_root(d, p, p + d - 1, 1, 0)
    half = mpf(d - 1) / 2
    with mpmath.workdps(50):
        signs = [
            [mpmath.jacobi(k, half, half - 1, 1 - mpf(root) * side) > 0 for k in range(1, p + 1)]
            for side in (1 - mpf("3e-16"), 1 + mpf("3e-16"))
        ]
    # All up to the p-th are positive if and only if their zeros lie below.
    assert all(signs[0]) and signs[1] == [True] * (p - 1) + [False]


def plain(d: int, clearance: float) -> tuple[int, float]:
    """The first minimum and its P_k / (P_(k-1) - P_k), from P_0 on in sixty digits."""
    with mpmath.workdps(60):
        s = 1 - mpf(clearance)
        k, before, here = 1, mpf(1), s
        while (after := ((2 * k + d - 2) * s * here - k * before) / (k + d - 2)) < here:
            k, before, here = k + 1, here, after
        return k, float(here / (before - here))


def test_valleys_that_start_late(rng: np.random.Generator) -> None:
    for _ in range(100):
        d = int(10 ** rng.uniform(math.log10(2), 6))
        clearance = min(2.0, 10 ** rng.uniform(-4.5, 0.5))
        if math.sqrt(d) > 2000 * clearance:
            continue
        k, ratio = plain(d, clearance)
        valley = first_valley(d, clearance)
        assert valley is not None and valley.k == k
        assert valley.floor / (clearance * valley.fall) == pytest.approx(ratio, rel=1e-10)


def test_valleys_out_of_reach() -> None:
    for d, clearance in ((2, 1e-13), (3, 1e-12), (10**6, 1e-9), (8, 1e-300)):
        assert first_valley(d, clearance) is None


def test_a_polynomial_without_a_root_ends() -> None:
    with pytest.raises(ArithmeticError, match="no root for d=3, p=1, b=3, A=0, B=1"):
        first_root(3, 1, 3, 0, 1)
