"""The best interval of one (d, K), and what it says of the margin that was asked for."""

import math
from collections.abc import Sequence

from gnc_cli.limits.limit import loosened, reaches
from gnc_cli.results import BestBounds, BestKnown, BoundRow
from gnc_cli.workflows.bounds_request import ONE_VS_REST, Request

__all__ = ["best_of"]

_ROUNDING = 1e-12
"""Bounds that meet may cross, or miss each other, by so much, relatively."""
_SAME_ANGLE = 1e-9
"""Near 1 cosines hardly differ, their angles do."""


def best_of(
    rows: Sequence[BoundRow], request: Request, best_known: BestKnown | None = None
) -> BestBounds:
    """The best interval of the rows of one (d, K), with the best code known there.

    Raises:
        ArithmeticError: a lower end above an upper one by more than rounding: one is wrong.
    """
    held = [row for row in rows if row.valid]
    # Of equal ends one that is not attained says more.
    lower_rows = (row for row in held if row.side == "lower")
    low = max(lower_rows, key=lambda row: (_rank(row), row.strict))
    upper_rows = (row for row in held if row.side == "upper")
    high = min(upper_rows, key=lambda row: (_rank(row), not row.strict))
    lower, upper = low.value, _met(low, high)
    upper_deg = _most_degrees(low, high)
    status = _status(held, request)
    attained = _margin(low if request.quantity == ONE_VS_REST else high)
    wanted = attained if request.margin is None else request.margin
    return BestBounds(
        d=low.d, K=low.K, quantity=request.quantity, lower=lower, upper=upper,
        lower_name=low.name, upper_name=high.name, lower_deg=high.angle_deg, upper_deg=upper_deg,
        exact=_exact(lower, upper, high.angle_deg, upper_deg),
        best_known=best_known, status=status,
        scale=None if status == "excluded" else request.scale(math.log(low.K - 1), wanted),
    )  # fmt: skip


def _rank(row: BoundRow) -> float:
    """Rises with the value, also where cosines are 1 to all digits."""
    return row.value if row.angle_deg is None else -row.angle_deg


def _margin(row: BoundRow) -> float:
    """The distance, or the clearance of the cosine."""
    if row.angle_deg is None:
        return row.value
    return float(2.0 * math.sin(math.radians(row.angle_deg) / 2.0) ** 2)


def _met(low: BoundRow, high: BoundRow) -> float:
    """The upper end, at least the lower one: ends that meet may cross by rounding.

    Raises:
        ArithmeticError: they cross by more.
    """
    # Distances are good to so many digits, cosines to so many decimals.
    size = low.value if low.quantity == ONE_VS_REST else 1.0
    if low.value > high.value + _ROUNDING * size:
        raise ArithmeticError(f"{low} contradicts {high}")
    return max(low.value, high.value)


def _exact(
    lower: float, upper: float, lower_deg: float | None, upper_deg: float | None
) -> bool:
    """Whether the ends differ by rounding alone."""
    if lower_deg is None or upper_deg is None:
        return upper - lower <= _ROUNDING * upper
    return upper - lower <= _ROUNDING and upper_deg - lower_deg <= _SAME_ANGLE * upper_deg


def _most_degrees(low: BoundRow, high: BoundRow) -> float | None:
    """The angle of the lower end of the cosine, not below that of the upper end."""
    if low.angle_deg is None or high.angle_deg is None:
        return None
    return max(low.angle_deg, high.angle_deg)


def _status(held: Sequence[BoundRow], request: Request) -> str | None:
    """Whether a code with what was asked for exists."""
    if request.target is None:
        return None
    target = loosened(request.target)
    if any(reaches(_margin(row), target) for row in held if row.exists):
        return "exists"
    # What is not attained is excluded itself.
    ends = [_margin(row) * (1.0 - _ROUNDING * row.strict) for row in held if not row.exists]
    return "open" if reaches(min(ends), target) else "excluded"
