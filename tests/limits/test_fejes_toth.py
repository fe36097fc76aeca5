"""Fejes Toth's bound: his equality cases, the formula as printed at 400 digits, and its inverse."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnc_cli.io.known_codes import stored_table
from gnc_cli.limits.fejes_toth import FEJES_TOTH

sizes = st.integers(3, 3000) | st.integers(3, 10**300)


def printed(K: int) -> mpmath.mpf:
    """The clearance as Fejes Toth writes it; it cancels, so take many digits."""
    w = K * mpmath.pi / (6 * (K - 2))
    return (4 - mpmath.csc(w) ** 2) / 2


@pytest.mark.parametrize("K, cosine", [(3, -1 / 2), (4, -1 / 3), (6, 0.0), (12, 1 / math.sqrt(5))])
def test_equality_where_the_faces_are_triangles(K: int, cosine: float) -> None:
    assert FEJES_TOTH.at(3, K).value == pytest.approx(1.0 - cosine, rel=1e-15)


@given(sizes)
@example(3)
@example(10**300)
def test_the_value_agrees_with_many_digits(K: int) -> None:
    with mpmath.workdps(400):
        assert abs(FEJES_TOTH.at(3, K).value / printed(K) - 1) < 2e-15


def test_no_code_is_better() -> None:
    codes = list(stored_table().select(d=[3]))
    assert len(codes) > 100
    for code in codes:
        assert 1.0 - code.max_cosine <= FEJES_TOTH.at(3, code.K).value * (1.0 + 1e-14)


def test_it_falls_with_K() -> None:
    values = [FEJES_TOTH.at(3, K).value for K in range(3, 5000)]
    assert all(later < earlier for earlier, later in zip(values, values[1:], strict=False))


def test_it_is_silent_elsewhere() -> None:
    assert FEJES_TOTH.at(2, 7) is None and FEJES_TOTH.at(4, 7) is None
    assert FEJES_TOTH.at(3, 2) is None
    assert FEJES_TOTH.points(4, Fraction(1, 2)) is None


@given(st.fractions(Fraction(1, 10**9), 2))
@example(Fraction(3, 2))
@example(Fraction(4, 3))
@example(Fraction(1))
@example(Fraction(2))
@example(Fraction(8, 5))
def test_points_are_the_last_that_reach(target: Fraction) -> None:
    K = FEJES_TOTH.points(3, target).exact
    with mpmath.workdps(60):
        goal = mpmath.mpf(target.numerator) / target.denominator
        assert printed(K + 1) < goal
        assert K == 2 or printed(K) >= goal * (1 - mpmath.mpf(10) ** -18)


@pytest.mark.parametrize("exponent", [20, 100, 600])
def test_astronomically_many_points(exponent: int) -> None:
    # In the plane each point has a hexagon of area sqrt(3)/2 chord^2 = sqrt(3) clearance.
    count = FEJES_TOTH.points(3, Fraction(1, 10**exponent))
    assert count.exact is None
    assert count.log10 == pytest.approx(
        exponent + math.log10(4 * math.pi / math.sqrt(3)), rel=1e-14
    )


def test_dimensions() -> None:
    assert FEJES_TOTH.dimension(12, Fraction("0.552")).d == 2
    assert FEJES_TOTH.dimension(12, Fraction("0.553")).d == 4
    assert FEJES_TOTH.dimension(2, Fraction(2)).d == 2
    assert FEJES_TOTH.dimension(3, Fraction(2)).d == 4
