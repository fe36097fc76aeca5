"""Delsarte's linear program: published values, sharp codes, proofs that can fail, polynomials.

It tests gnc_cli/limits: delsarte.py, delsarte_optimum.py and orthogonal.py.
"""

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import fmpq, fmpq_poly
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.limits import delsarte
from gnc_cli.limits.delsarte import (
    DelsarteLP,
    DelsarteProof,
    delsarte_points,
    gegenbauer_sum,
    prove,
)
from gnc_cli.limits.delsarte_optimum import derivatives
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.limit import Dimension
from gnc_cli.limits.orthogonal import gegenbauer
from tests.limits.test_levenshtein import verbatim

LP = DelsarteLP(degree=24)
HALF = Fraction(1, 2)

KISSING = {
    3: 13,
    4: 25,
    5: 46,
    6: 82,
    7: 140,
    8: 240,
    9: 380,
    10: 595,
    11: 915,
    12: 1416,
    16: 8313,
    24: 196560,
}
"""Odlyzko and Sloane 1979, table 1."""

SHARP = [(3, 6), (3, 12), (4, 8), (5, 16), (6, 27), (7, 56), (8, 240), (22, 275), (23, 4600)]
"""Codes that attain Levenshtein's bound (Levenshtein 1992, table 9.1)."""


@pytest.mark.parametrize("d", KISSING)
def test_published_kissing_bounds(d: int) -> None:
    found = LP.points(d, HALF)
    assert found is not None and found.exact == KISSING[d]
    assert found.log10 == pytest.approx(math.log10(KISSING[d]))


@pytest.mark.parametrize(("d", "degree"), [(3, 14), (4, 9), (8, 7)])
def test_a_proof_holds_where_mpmath_looks(d: int, degree: int) -> None:
    proof = delsarte_points(d, HALF, degree)
    assert proof is not None and len(proof.coefficients) <= degree + 1
    assert proof.coefficients[0] == 1 and min(proof.coefficients) >= 0 and proof.excess < 1
    with mpmath.workdps(30):
        largest = max(_sum(proof, -1 + mpmath.mpf(3 * k) / 200) for k in range(101))
    assert largest <= proof.excess + mpmath.mpf(10) ** -20
    # Not much below either: the polynomial touches 0.
    assert largest > -0.01


def _sum(proof: DelsarteProof, x: mpmath.mpf) -> mpmath.mpf:
    total = mpmath.mpf(0)
    for i, c in enumerate(proof.coefficients):
        total += mpmath.mpf(c.numerator) / c.denominator * _at_one(proof.d, i, x)
    return total


def _at_one(d: int, i: int, x: float | mpmath.mpf) -> mpmath.mpf:
    """Gegenbauer's polynomial of R^d, 1 at 1: the explicit sum of powers of 2 x."""
    if d == 2:
        return mpmath.chebyt(i, x)
    a = mpmath.mpf(d - 2) / 2
    with mpmath.extradps(20):
        value, at_one = (
            sum(
                (-1) ** k
                * mpmath.rf(a, i - k)
                * (2 * mpmath.mpf(y)) ** (i - 2 * k)
                / mpmath.factorial(k)
                / mpmath.factorial(i - 2 * k)
                for k in range(i // 2 + 1)
            )
            for y in (x, 1)
        )
        return value / at_one


@pytest.mark.parametrize("place", [1, 2, 5])
@pytest.mark.parametrize("change", [Fraction(1, 1000), -Fraction(1, 1000)])
def test_a_disturbed_proof_proves_less(place: int, change: Fraction) -> None:
    proof = delsarte_points(8, HALF, 6)
    assert proof is not None
    coefficients = list(proof.coefficients)
    coefficients[place] += change
    disturbed = prove(8, HALF, coefficients[1:])
    assert disturbed is not None
    assert disturbed.excess > proof.excess + Fraction(1, 10**6)
    assert disturbed.bound > proof.bound + Fraction(1, 10**4)


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 60), st.integers(-100, 60))
def test_never_worse_than_levenshtein(d: int, percent: int) -> None:
    s = Fraction(percent, 100)
    of_levenshtein = verbatim(d, 1 - s)
    if of_levenshtein > 10**7:
        return
    proof = delsarte_points(d, s, degree=40)
    assert proof is not None and proof.bound <= of_levenshtein * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize(("d", "K"), [*SHARP, (10, 100), (512, 1000), (64, 10**5), (2, 7)])
def test_at_equals_levenshtein_where_no_degree_helps(d: int, K: int) -> None:
    ours, other = LP.evaluate(d, K), LEVENSHTEIN.evaluate(d, K)
    assert ours is not None and other is not None
    assert -1e-9 < other.value - ours.value <= 0.0


@pytest.mark.parametrize(
    ("d", "K", "gain"),
    [(4, 24, 0.00359), (3, 13, 0.00434), (5, 40, 0.00487), (6, 72, 0.0066), (10, 10**4, 0.0048)],
)
def test_at_improves_on_levenshtein(d: int, K: int, gain: float) -> None:
    ours, other = LP.evaluate(d, K), LEVENSHTEIN.evaluate(d, K)
    assert ours is not None and other is not None
    assert other.value - ours.value == pytest.approx(gain, rel=0.02)


def test_the_600_cell_is_optimal() -> None:
    # Böröczky 1978, Andreev 1999; Levenshtein's bound is 0.0018 above.
    found = LP.evaluate(4, 120)
    assert found is not None
    assert 0 <= found.value - (3 - math.sqrt(5)) / 4 < 1e-9


@pytest.mark.parametrize(("d", "K"), [(3, 13), (4, 24), (8, 240), (16, 1000), (300, 5000)])
def test_at_and_points_agree(d: int, K: int) -> None:
    found = LP.evaluate(d, K)
    assert found is not None
    at_value = LP.points(d, Fraction(found.value))
    below = LP.points(d, Fraction(found.value) - Fraction(1, 10**6))
    above = LP.points(d, Fraction(found.value) * (1 + Fraction(1, 10**12)))
    # The value itself counts as reached, a little more of it excludes K.
    assert at_value is not None and at_value.exact == K
    assert above is not None and above.exact == K - 1
    assert LP.dimension(K, Fraction(found.value)) == Dimension(d)
    assert below is not None and below.exact is not None and below.exact >= K


def test_a_program_for_open_pairs_alone_counts_points_alike() -> None:
    apart = DelsarteLP(degree=24, only_open=True)
    found = LP.evaluate(3, 13)
    assert found is not None and apart.evaluate(3, 13) is None and apart.solve(3, 13) == found
    target = Fraction(found.value)
    for limit in (LP, apart):
        points = limit.points(3, target)
        assert points is not None and points.exact == 13
        assert limit.dimension(13, target) == Dimension(3)


@pytest.mark.parametrize(
    ("K", "target"),
    [(14, HALF), (240, HALF), (100, Fraction(7, 10)), (15, Fraction(1)), (16, 1)],
)
def test_dimension_is_the_first_that_is_not_excluded(K: int, target: Fraction) -> None:
    first = 2
    while (allowed := LP.points(first, Fraction(target))) is None or allowed.exact < K:  # type: ignore[operator]
        first += 1
    assert LP.dimension(K, Fraction(target)) == Dimension(first)


def test_silence_excludes_no_dimension() -> None:
    low = DelsarteLP(degree=8)
    assert low.points(3, Fraction(1, 10)) is None
    assert low.dimension(10**6, Fraction(1, 10)) == Dimension(3)
    assert low.dimension(10**6, Fraction(1, 1000)) == Dimension(2)
    # Silent from d = 9 on, and the last word holds.
    first = low.dimension(10**6, Fraction(3, 10)).d
    assert first == 9
    last = low.points(first - 1, Fraction(3, 10))
    assert last is not None and last.exact is not None and last.exact < 10**6
    assert low.points(first, Fraction(3, 10)) is None


# The largest value of a polynomial


def largest_value(powers: Sequence[Fraction | int], low: Fraction, high: Fraction) -> Fraction:
    """Of a polynomial, the constant first."""
    f = fmpq_poly([fmpq(Fraction(c).numerator, Fraction(c).denominator) for c in powers])
    return delsarte.largest_value(f, low, high)


def power_coefficients(d: int, coefficients: list[Fraction]) -> list[Fraction]:
    found = gegenbauer_sum(d, coefficients)
    return [Fraction(int(c.p), int(c.q)) for c in found.coeffs()]


SMALL = st.integers(-1000, 1000).map(lambda n: Fraction(n, 100))
UNIT = (Fraction(-1), Fraction(1))


def _value(coefficients: list[Fraction], x: Fraction) -> Fraction:
    total = Fraction(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def _product(*factors: list[Fraction]) -> list[Fraction]:
    return list(functools.reduce(np.convolve, [np.array(f, dtype=object) for f in factors]))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(SMALL, min_size=1, max_size=9),
    st.tuples(SMALL, SMALL).filter(lambda ends: ends[0] < ends[1]),
)
def test_no_sample_is_above_and_the_best_is_hardly_below(
    coefficients: list[Fraction], ends: tuple[Fraction, Fraction]
) -> None:
    low, high = ends
    proved = largest_value(coefficients, low, high)
    samples = [low + (high - low) * Fraction(k, 200) for k in range(201)]
    values = [_value(coefficients, x) for x in samples]
    assert max(values) <= proved
    # The true maximum, from the roots of the derivative in floating point.
    slopes = [float(k * c) for k, c in enumerate(coefficients)][1:]
    roots = np.polynomial.polynomial.polyroots(slopes) if len(slopes) > 1 else np.array([])
    real = [Fraction(r.real) for r in roots if abs(r.imag) < 1e-3 and low <= r.real <= high]
    best = max(values + [_value(coefficients, x) for x in real])
    size = sum(abs(c) * max(abs(low), abs(high)) ** k for k, c in enumerate(coefficients))
    assert proved - best <= 1e-9 * size + Fraction(1, 10**15)


def test_a_narrow_bump_between_samples_is_not_missed() -> None:
    # -(x - a)^2 ((x - a)^2 - w^2) is positive only within w of a.
    a, w = Fraction(1, 3), Fraction(1, 10**5)
    bump = _product([Fraction(-1)], *[[-a, Fraction(1)]] * 2, [-a - w, 1], [-a + w, 1])
    highest = w**4 / 4
    assert highest <= largest_value(bump, *UNIT) < highest + Fraction(1, 10**16)


# Gegenbauer polynomials

X = np.array([-1.0, -0.7, -0.01, 0.3, 0.95, 1.0])


@pytest.mark.parametrize("d", [2, 3, 4, 9, 100])
def test_values_are_those_of_mpmath(d: int) -> None:
    values = gegenbauer(d, 12, X)
    for i in (0, 1, 2, 5, 12):
        expected = [float(_at_one(d, i, x)) for x in X]
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
