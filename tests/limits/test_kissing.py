"""Kissing numbers: between published configurations and the linear programming bounds."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions.finder import largest_construction
from gnc_cli.limits.delsarte import DelsarteLP
from gnc_cli.limits.kissing import KISSING, KISSING_BOUNDS
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.limit import Dimension, Limit

HALF = Fraction(1, 2)

CONFIGURATIONS = {
    2: 6, 3: 12, 4: 24, 5: 40, 6: 72, 7: 126, 8: 240, 9: 306, 10: 510, 11: 593, 12: 840, 13: 1154,
    14: 1932, 15: 2564, 16: 4320, 17: 5730, 18: 7654, 19: 11692, 20: 19448, 21: 29768, 22: 49896,
    23: 93150, 24: 196560,
}  # fmt: skip
"""Largest known in 2025: Conway and Sloane, Table 1.5, with later entries (Ganzhinov 2022, Cohn and
Li 2024, Novikov et al. 2025)."""

REPORTED = {
    11: 868, 12: 1355, 13: 2064, 14: 3174, 15: 4853, 16: 7320, 17: 10978, 18: 16406,
    19: 24417, 20: 36195, 21: 53524, 22: 80810, 23: 122351,
}  # fmt: skip
"""What programmes of higher degree say: Leijenhorst and de Laat 2024, not verified."""

dimensions = st.integers(2, 24)
targets = st.fractions(Fraction(1, 1000), 2, max_denominator=1000)


def _most(limit: Limit, d: int) -> int:
    count = limit.points(d, HALF)
    assert count is not None and count.exact is not None
    return count.exact


def test_two_to_twenty_four_dimensions_in_order() -> None:
    assert list(KISSING_BOUNDS) == list(range(2, 25))
    numbers = [most for most, _ in KISSING_BOUNDS.values()]
    assert all(a < b for a, b in zip(numbers, numbers[1:], strict=False))


@pytest.mark.parametrize("d", KISSING_BOUNDS)
def test_between_configurations_and_linear_programmes(d: int) -> None:
    most, _ = KISSING_BOUNDS[d]
    assert CONFIGURATIONS[d] <= most
    assert most <= _most(LEVENSHTEIN, d)
    assert most <= _most(DelsarteLP(), d)


@pytest.mark.parametrize("d", [2, 8, 24])
def test_exact_where_the_linear_programme_is(d: int) -> None:
    assert KISSING_BOUNDS[d][0] == CONFIGURATIONS[d] == _most(LEVENSHTEIN, d)


def test_better_than_the_linear_programme_elsewhere() -> None:
    """Odlyzko and Sloane 1979: 13, 25, 46, 82, 140; 380, 595, 915, 1416, 2233."""
    published = {3: 13, 4: 25, 5: 46, 6: 82, 7: 140, 9: 380, 10: 595, 11: 915, 12: 1416, 13: 2233}
    assert all(KISSING_BOUNDS[d][0] < most for d, most in published.items())


@pytest.mark.parametrize("d", REPORTED)
def test_no_bound_is_below_what_is_reported_without_a_proof(d: int) -> None:
    """And none is far above it, which a wrong digit would be."""
    most = KISSING_BOUNDS[d][0]
    assert REPORTED[d] <= most <= 1.02 * REPORTED[d]


@pytest.mark.parametrize("d", KISSING_BOUNDS)
def test_one_point_more_is_excluded(d: int) -> None:
    most, source = KISSING_BOUNDS[d]
    assert KISSING.at(d, most) is None
    found = KISSING.at(d, most + 1)
    assert found is not None and found.valid and found.value == 0.5
    assert found.source == f"kissing number in {d} dimensions at most {most}: {source}"
    assert KISSING.at(d, 10**300) == found


@pytest.mark.parametrize("d", [25, 1000, 10**6])
def test_silent_beyond(d: int) -> None:
    assert KISSING.at(d, 10**300) is None
    assert KISSING.points(d, HALF) is None


@pytest.mark.parametrize("d", [4, 5, 6, 7, 8, 9, 16, 23, 24])
def test_constructions_respect_it(d: int) -> None:
    """D4, D5, E6, E7, E8 and the Leech lattice among them."""
    code = largest_construction(d, 0.5)
    assert code is not None and code.K <= KISSING_BOUNDS[d][0]
    if d in (4, 8, 24):
        assert code.K == KISSING_BOUNDS[d][0]


@pytest.mark.parametrize("d", KISSING_BOUNDS)
@pytest.mark.parametrize("loose", [0, Fraction(1, 10**13), Fraction(2, 10**13)])
def test_a_target_of_one_half_is_excluded(d: int, loose: Fraction) -> None:
    """As typed, as loosened, and as the square of a loosened margin."""
    most = KISSING_BOUNDS[d][0]
    count = KISSING.points(d, HALF * (1 - loose))
    assert count is not None and count.exact == most
    assert count.source is not None and count.log10 == math.log10(most)
    assert KISSING.dimension(most, HALF * (1 - loose)) == Dimension(d)
    assert KISSING.dimension(most + 1, HALF * (1 - loose)) == Dimension(d + 1)


def test_a_target_below_is_not() -> None:
    below = HALF - Fraction(1, 10**11)
    assert KISSING.points(8, below) is None
    assert KISSING.dimension(10**300, below) == Dimension(2)


@given(dimensions, targets, st.integers(2, 200_000))
def test_points_dimensions_and_values_agree(d: int, target: Fraction, K: int) -> None:
    count = KISSING.points(d, target)
    assert (count is not None) == (target >= HALF)
    excluded = count is not None and K > (count.exact or 0)
    assert excluded == (KISSING.dimension(K, target).d > d)  # type: ignore[operator]
    found = KISSING.at(d, K)
    if target > HALF:
        assert excluded == (found is not None and found.value < target)
