"""Kissing numbers: between published configurations and the linear programming bounds."""

import math
from fractions import Fraction

import pytest

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

def _most(limit: Limit, d: int) -> int:
    count = limit.points(d, HALF)
    assert count is not None and count.exact is not None
    return count.exact


@pytest.mark.parametrize("d", KISSING_BOUNDS)
def test_between_configurations_and_linear_programmes(d: int) -> None:
    """No wrong digit: above what is reported without a proof, by little; growing with d."""
    most, _ = KISSING_BOUNDS[d]
    assert CONFIGURATIONS[d] <= most <= _most(DelsarteLP(), d) <= _most(LEVENSHTEIN, d)
    assert REPORTED.get(d, 0) <= most <= 1.02 * REPORTED.get(d, most)
    assert d == 2 or KISSING_BOUNDS[d - 1][0] < most
    assert list(KISSING_BOUNDS) == list(range(2, 25))


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
