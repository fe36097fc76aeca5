"""Levenshtein's bound against sharp codes, Levenshtein's own formulas in fifty digits, and laws."""

import math
from fractions import Fraction
from typing import TypeVar

import mpmath
import numpy as np
import pytest
from hypothesis import strategies as st
from mpmath import mpf

from gnc_cli.limits.levenshtein import (
    LEVENSHTEIN,
    design_size,
)

SHARP = [
    (5, 16, Fraction(1, 5)),
    (6, 27, Fraction(1, 4)),
    (7, 56, Fraction(1, 3)),
    (8, 240, Fraction(1, 2)),
    (21, 112, Fraction(1, 9)),
    (21, 162, Fraction(1, 7)),
    (22, 100, Fraction(1, 11)),
    (22, 275, Fraction(1, 6)),
    (22, 891, Fraction(1, 4)),
    (23, 552, Fraction(1, 5)),
    (23, 4600, Fraction(1, 3)),
    (24, 196560, Fraction(1, 2)),
    (52, 325, Fraction(1, 16)),
    (105, 756, Fraction(1, 25)),
    *((d, K, Fraction(-1, K - 1)) for d, K in [(2, 2), (2, 3), (9, 4), (9, 10), (10**6, 1000)]),
    *((d, 2 * d, Fraction(0)) for d in (2, 3, 17, 10**6)),
]
"""Cohn and Kumar 2007, Table 1: these codes attain the bound."""

dimensions = st.integers(2, 40) | st.integers(2, 10**6)
sizes = st.integers(2, 10**4) | st.floats(0.31, 300.0).map(lambda log10: int(mpf(10) ** log10))
cosines = st.fractions(-1, Fraction(999, 1000), max_denominator=1000)


Number = TypeVar("Number", Fraction, mpf)


def verbatim(d: int, clearance: Number) -> Number:
    """L(d, s), s = 1 - clearance, as Levenshtein writes it, by recursions; exact for fractions.

    The largest zero of the k-th Jacobi polynomial is below s if and only if all up to the k-th are
    positive there. With exponents one up on both sides they are Gegenbauer's of d + 2, one up on
    one side the differences of Gegenbauer's of d.
    """
    s = 1 - clearance
    one = s**0
    before, P = one, s
    wide_before, wide = one, s
    k = 1
    while True:
        after = ((2 * k + d - 2) * s * P - k * before) / (k + d - 2)
        if P <= after:
            factor = math.comb(k + d - 3, k - 1)
            return factor * (one * (2 * k + d - 3) / (d - 1) - (before - P) / ((1 - s) * P))
        if wide <= 0:
            factor = math.comb(k + d - 2, k)
            ratio = (1 + s) * (P - after) / ((1 - s) * (P + after))
            return factor * (one * (2 * k + d - 1) / (d - 1) - ratio)
        before, P = P, after
        wide_before, wide = wide, ((2 * k + d) * s * wide - k * wide_before) / (k + d)
        k += 1


def digits(clearance: float) -> int:
    return 50 + int(-2 * math.log10(clearance / 2))


@pytest.mark.parametrize(("d", "K", "cosine"), SHARP)
def test_sharp_codes_attain_it(d: int, K: int, cosine: Fraction) -> None:
    assert LEVENSHTEIN.evaluate(d, K).value == float(1 - cosine)
    assert d > 1000 or verbatim(d, 1 - cosine) == K
    count = LEVENSHTEIN.points(d, 1 - cosine)
    assert count is not None and count.exact == K


def test_the_icosahedron_attains_it_and_the_600_cell_does_not() -> None:
    assert LEVENSHTEIN.evaluate(3, 12).value == pytest.approx(1 - 1 / math.sqrt(5), rel=4e-16)
    clearance = Fraction(1 - math.cos(math.pi / 5))
    assert float(verbatim(4, clearance)) == pytest.approx(121.67376207875, rel=1e-13)
    count = LEVENSHTEIN.points(4, clearance)
    assert count is not None and count.exact == 121


@pytest.mark.parametrize("d", [2, 3, 7, 1000])
def test_low_degrees_exactly_where_they_meet(d: int) -> None:
    """A target that is missed by 10^-20 is missed."""
    tiny = Fraction(1, 10**20)

    def most(s: Fraction) -> int | None:
        count = LEVENSHTEIN.points(d, 1 - s)
        return None if count is None else count.exact

    for s in (Fraction(-1), Fraction(-1, d) - tiny, Fraction(-1, d)):
        assert most(s) == math.floor((s - 1) / s)
    for s in (Fraction(-1, d), Fraction(-1, d) + tiny, Fraction(-1, 2 * d), -tiny, Fraction(0)):
        assert most(s) == math.floor(2 * d * (1 - s) / (1 - d * s))
    for s in (Fraction(0), tiny, Fraction(1, 3 * d)):
        assert most(s) == math.floor(d * (1 - s) * (2 + (d + 1) * s) / (1 - d * s * s))


def test_own_formulas_in_fifty_digits(rng: np.random.Generator) -> None:
    """Over the whole range, but for degrees that are too long for three-term recursions."""
    for _ in range(150):
        d = int(10 ** rng.uniform(math.log10(2), 6))
        K = int(mpf(10) ** rng.uniform(0.31, min(300.0, 2.0 * d)))
        clearance = LEVENSHTEIN.evaluate(d, K).value
        with mpmath.workdps(digits(clearance) + 50):
            below, above = (mpf(clearance) * (1 + sign * mpf("4e-16")) for sign in (-1, 1))
            assert verbatim(d, above) < K, (d, K)
            assert above > 2 or verbatim(d, below) > K, (d, K)


@pytest.mark.parametrize("exponent", [3, 12, 50, 300])
def test_four_dimensions_of_any_degree(exponent: int) -> None:
    """There P_k = sin((k+1) x) / ((k+1) sin x), s = cos x: no recursion."""
    K = 10**exponent
    clearance = LEVENSHTEIN.evaluate(4, K).value
    with mpmath.workdps(2 * digits(clearance)):
        k = 1 << 340
        while design_size(4, 2 * k) > K:
            k //= 2
        step = k
        while step := step // 2:
            k += step * (design_size(4, 2 * (k + step)) <= K)
        odd = design_size(4, 2 * k + 1) <= K
        values = []
        for sign in (-1, 1):
            c = mpf(clearance) * (1 + sign * mpf("4e-16"))
            x = mpmath.acos(1 - c)

            def P(n: int, x: mpf = x) -> mpf:
                return mpmath.sin((n + 1) * x) / ((n + 1) * mpmath.sin(x))

            fall = (P(k) - P(k + 1)) / c
            ratio = fall / P(k + 1) if odd else (2 - c) * fall / (P(k) + P(k + 1))
            # The binomial coefficient C(k+2, k) as a number of any size.
            values.append(mpf((k + 2) * (k + 1) // 2) * (mpf(2 * k + 3) / 3 - ratio))
    assert values[0] > K > values[1]


def test_astronomical_counts(rng: np.random.Generator) -> None:
    cases = [(10**6, Fraction(995, 1000)), (10**6, Fraction(997, 1000))]
    for _ in range(40):
        d = int(10 ** rng.uniform(0.5, 4))
        cases.append((d, Fraction(int(10 ** rng.uniform(3, 5)), 10**5)))
    for d, target in cases:
        count = LEVENSHTEIN.points(d, target)
        with mpmath.workdps(60):
            value = verbatim(d, mpf(target.numerator) / target.denominator)
            assert count is not None
            if value < 10**15:
                assert count.exact == int(value)
            else:
                assert count.exact is None
                assert count.log10 == pytest.approx(float(mpmath.log10(value)), rel=1e-13)


def test_a_million_dimensions_follow_the_exponent_of_kabatiansky_and_levenshtein() -> None:
    for target in (Fraction(45, 1000), Fraction(1, 10**4), Fraction(1, 2)):
        count = LEVENSHTEIN.points(10**6, target)
        sine = math.sqrt(target * (2 - target))
        a, b = (1 + sine) / (2 * sine), (1 - sine) / (2 * sine)
        assert count is not None and count.exact is None
        exponent = a * math.log10(a) - b * math.log10(b)
        assert count.log10 / 10**6 == pytest.approx(exponent, rel=2e-3)


# The sums and roots behind it
