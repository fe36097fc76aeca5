"""Theorem 3.3: its values, and what it says about numbers of points and dimensions, by listing."""

from fractions import Fraction

import mpmath
from hypothesis import example, given
from hypothesis import strategies as st

from gnc_cli.limits.limit import LARGEST_D, Ending, loosened
from gnc_cli.limits.theorem_3_3 import THEOREM_3_3_LOWER, THEOREM_3_3_UPPER

targets = st.fractions(Fraction(1, 60), 2, max_denominator=60)
small = st.integers(2, 12)
FAR = 40
"""Beyond every K that a closed form has for d <= 12, polygons aside."""


def best(d: int, K: int) -> mpmath.mpf | None:
    """rho* where the theorem has it."""
    if K <= d + 1:
        return mpmath.mpf(K) / (K - 1)
    if K <= 2 * d:
        return mpmath.mpf(1)
    return 1 - mpmath.cos(2 * mpmath.pi / K) if d == 2 else None


def most(d: int, K: int) -> mpmath.mpf:
    """The best proof that rho* is no larger, with its fall in K: optima at fewer points count."""
    return min(value for k in range(2, K + 1) if (value := best(d, k)) is not None)


def exact(target: Fraction) -> mpmath.mpf:
    return mpmath.mpf(target.numerator) / target.denominator


@given(
    st.integers(2, 50) | st.integers(2, LARGEST_D), st.integers(2, 200) | st.integers(2, 10**150)
)
@example(2, 10**150)
@example(LARGEST_D, LARGEST_D + 1)
@example(LARGEST_D, 2 * LARGEST_D)
def test_both_sides_are_the_closed_form(d: int, K: int) -> None:
    lower, upper = THEOREM_3_3_LOWER.evaluate(d, K), THEOREM_3_3_UPPER.evaluate(d, K)
    with mpmath.workdps(340):
        value = best(d, K)
        if value is None:
            assert lower is None and upper is None
        else:
            assert lower.value == upper.value
            assert abs(lower.value / value - 1) < 1e-14
            assert lower.command == f"gnc solve --d {d} --K {K}" and upper.command is None
            assert lower.source.startswith("theorem 3.3: ")
            assert upper.source == f"{upper.source.partition('; ')[0]}; theorem 3.3"


@given(small, targets)
@example(2, Fraction(1))
@example(2, Fraction(3, 2))
@example(5, Fraction(6, 5))
@example(5, Fraction(1))
@example(2, Fraction(1, 2))
def test_points_are_those_of_the_list(d: int, target: Fraction) -> None:
    with mpmath.workdps(40):
        goal = exact(target) - mpmath.mpf(10) ** -30
        span = range(2, FAR)
        there = [K for K in span if (value := best(d, K)) is not None and value >= goal]
        left = [K for K in span if most(d, K) >= goal]
    guaranteed, spared = THEOREM_3_3_LOWER.points(d, target), THEOREM_3_3_UPPER.points(d, target)
    assert guaranteed.exact == max(there)
    assert guaranteed.command == f"gnc solve --d {d} --K {guaranteed.exact}"
    assert guaranteed.source == THEOREM_3_3_LOWER.evaluate(d, guaranteed.exact).source
    if len(left) == len(span):
        assert spared is None
    else:
        assert spared.exact == max(left)


@given(st.integers(2, 30), targets)
@example(6, Fraction(6, 5))
@example(6, Fraction(5, 4))
@example(6, Fraction(1, 2))
@example(2, Fraction(2))
def test_dimensions_are_those_of_the_list(K: int, target: Fraction) -> None:
    with mpmath.workdps(40):
        goal = exact(target) - mpmath.mpf(10) ** -30
        span = range(2, FAR)
        there = [d for d in span if (value := best(d, K)) is not None and value >= goal]
        left = [d for d in span if most(d, K) >= goal]
    sufficient = THEOREM_3_3_LOWER.dimension(K, loosened(target))
    necessary = THEOREM_3_3_UPPER.dimension(K, loosened(target))
    assert sufficient.d == min(there, default=None)
    assert necessary.d == min(left, default=None)
    assert (sufficient.ending is Ending.UNREACHABLE) == (not there)
    assert (necessary.ending is Ending.UNREACHABLE) == (not left)
