"""Printed numbers stay true: they are rounded to the requested side (figures.py)."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.figures import cosine, points, rounded


@given(st.floats(1e-12, 2.0), st.integers(4, 15), st.booleans())
def test_numbers_are_rounded_to_the_safe_side(value: float, digits: int, up: bool) -> None:
    shown = Decimal(rounded(value, up, digits))
    slip = (shown - Decimal(value)) * (1 if up else -1)
    assert -Decimal("3e-15") * Decimal(value) <= slip <= Decimal(10) ** (1 - digits) * shown
    assert len(shown.normalize().as_tuple().digits) <= digits


@given(st.floats(-1.0, 1.0), st.booleans())
def test_cosines_are_rounded_to_the_safe_side(value: float, up: bool) -> None:
    slip = (Decimal(cosine(value, up)) - Decimal(value)) * (1 if up else -1)
    assert Decimal("-3e-15") <= slip <= Decimal("1.01e-12")


@given(st.floats(1e-150, 1e-3), st.booleans())
def test_distances_from_one_are_rounded_to_the_safe_side(degrees: float, up: bool) -> None:
    exact = 2 * math.sin(math.radians(degrees) / 2) ** 2
    shown = cosine(1.0 - exact, up, degrees=degrees)
    if exact < 0.9e-9:
        apart = Decimal(shown.removeprefix("1 - "))
        slip = (Decimal(exact) - apart) * (1 if up else -1) / Decimal(exact)
        assert Decimal("-3e-15") <= slip <= Decimal("1.01e-5")


@pytest.mark.parametrize(
    ("K", "log10", "up", "shown"),
    [
        (999, None, False, "999"),
        (10**14, None, False, "100,000,000,000,000"),
        (None, 34012.34567, False, "10^34012.3"),
        (None, 34012.34567, True, "10^34012.4"),
        (None, None, False, "-"),
    ],
)
def test_points(K: int | None, log10: float | None, up: bool, shown: str) -> None:
    assert points(K, log10, up) == shown
