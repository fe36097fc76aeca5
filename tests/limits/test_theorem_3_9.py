"""Theorem 3.9: the paper's figures, a second witness at 50 digits, and what its file proves."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnc_cli.limits.limit import LARGEST_D
from gnc_cli.limits.theorem_3_9 import THEOREM_3_9_CHORD, THEOREM_3_9_LOWER, THEOREM_3_9_UPPER

dimensions = st.integers(2, 60) | st.integers(2, LARGEST_D)
sizes = st.integers(2, 3000) | st.integers(2, 10**18) | st.integers(2, 10**18)
targets = st.fractions(Fraction(1, 10**6), 2, max_denominator=10**6)


def paper(d: int, K: int) -> tuple[mpmath.mpf, mpmath.mpf]:
    """The two sides as the paper prints them, at the working precision."""
    gamma, root_pi = mpmath.gamma, mpmath.sqrt(mpmath.pi)
    half = mpmath.mpf(d) / 2
    lower = root_pi / K * gamma(half + mpmath.mpf(0.5)) / gamma(half + 1)
    upper = 2 * root_pi / K * gamma(half + mpmath.mpf(0.5)) / gamma(half)
    return lower ** (mpmath.mpf(2) / (d - 1)) / 2, 2 * upper ** (mpmath.mpf(1) / (d - 1))


def hypothesis_holds(d: int, K: int) -> bool:
    return K**2 >= 2 * mpmath.pi * mpmath.sqrt(mpmath.e) * d


def chord(d: int, K: int) -> float:
    return math.sqrt(2.0 * THEOREM_3_9_UPPER.evaluate(d, K).value)


@pytest.mark.parametrize(
    "d, K, lower, upper",
    [
        (10, 100, 0.16970409734631223, 1.5048813799058967),
        (512, 10000, 0.4781604975501637, 1.9798566152734043),
        (3, 24, 1 / 36, 0.8164965809277259),
    ],
)
def test_values_of_the_paper(d: int, K: int, lower: float, upper: float) -> None:
    assert THEOREM_3_9_LOWER.evaluate(d, K).value == pytest.approx(lower, rel=1e-13)
    assert THEOREM_3_9_CHORD.evaluate(d, K).value == pytest.approx(upper, rel=1e-13)
    assert chord(d, K) == pytest.approx(upper, rel=1e-13)
    assert THEOREM_3_9_LOWER.evaluate(d, K).valid and THEOREM_3_9_UPPER.evaluate(d, K).valid


@given(dimensions, sizes)
@example(2, 10**150)
@example(3, 10**18)
@example(LARGEST_D, 2)
@example(LARGEST_D, 10**18)
def test_both_sides_agree_with_fifty_digits(d: int, K: int) -> None:
    with mpmath.workdps(50):
        lower, upper = paper(d, K)
        if d > 2 or K < 10**150:
            assert abs(THEOREM_3_9_LOWER.evaluate(d, K).value / lower - 1) < 2e-13
            assert abs(THEOREM_3_9_UPPER.evaluate(d, K).value / (upper**2 / 2) - 1) < 2e-13
        else:
            assert THEOREM_3_9_LOWER.evaluate(d, K).value <= 1e-290
            assert upper**2 / 2 <= THEOREM_3_9_UPPER.evaluate(d, K).value <= 1e-290
        for limit in (THEOREM_3_9_LOWER, THEOREM_3_9_UPPER):
            assert limit.evaluate(d, K).valid == hypothesis_holds(d, K)


def test_the_hypothesis_is_shown_and_stays_true() -> None:
    for d in [*range(2, 3000), *range(3000, LARGEST_D, 9973), LARGEST_D]:
        found = THEOREM_3_9_LOWER.evaluate(d, 2)
        assert found.condition is not None and found.condition.startswith("K >= ")
        shown = found.condition.removeprefix("K >= ")
        needed = math.sqrt(2 * math.pi * math.sqrt(math.e) * d)
        assert needed <= float(shown) <= needed * (1 + 1e-3)
        least = math.ceil(needed)
        assert math.ceil(float(shown)) == least
        for limit in (THEOREM_3_9_LOWER, THEOREM_3_9_UPPER):
            assert limit.evaluate(d, least).valid and not limit.evaluate(d, least - 1).valid
    assert THEOREM_3_9_LOWER.evaluate(512, 73).condition == "K >= 72.83"


@given(dimensions, targets)
@example(2, Fraction(1, 2))
@example(60, Fraction("0.3"))
@example(512, Fraction("0.499"))
def test_the_largest_guaranteed_size(d: int, target: Fraction) -> None:
    count = THEOREM_3_9_LOWER.points(d, target)
    with mpmath.workdps(60):
        goal = mpmath.mpf(target.numerator) / target.denominator
        least = math.ceil(mpmath.sqrt(2 * mpmath.pi * mpmath.sqrt(mpmath.e) * d))
        if count is None:
            assert paper(d, least)[0] < goal
        elif count.exact is not None:
            assert count.exact >= least
            assert paper(d, count.exact + 1)[0] < goal
            assert paper(d, count.exact)[0] >= goal * (1 - mpmath.mpf(10) ** -9)
        else:
            K = mpmath.power(10, mpmath.mpf(count.log10))
            assert abs(mpmath.log(paper(d, K)[0] / goal)) < 1e-9


@given(dimensions, targets)
@example(8, Fraction("0.045"))
@example(2, Fraction(2))
@example(LARGEST_D, Fraction(2))
def test_the_largest_size_not_excluded(d: int, target: Fraction) -> None:
    count = THEOREM_3_9_UPPER.points(d, target)
    with mpmath.workdps(60):
        margin = mpmath.sqrt(2 * mpmath.mpf(target.numerator) / target.denominator)
        if count.exact is None:
            K = mpmath.power(10, mpmath.mpf(count.log10))
            assert abs(mpmath.log(paper(d, K)[1] / margin)) < 1e-9
            return
        K = count.exact
        assert hypothesis_holds(d, K + 1) and paper(d, K + 1)[1] < margin
        reached = paper(d, K)[1] >= margin * (1 - mpmath.mpf(10) ** -9)
        assert reached or not hypothesis_holds(d, K)
