"""What is known of pairs (d, K): what each bound says, the best interval, whether a margin exists.

By the bisector theorem (docs/theorem.md) rho* = 1 - t*, t* the smallest possible largest cosine: a
bound on one is a bound on the other.
"""

import math
from collections.abc import Iterator, Sequence

from gnc_cli.geometry.sphere import angle_from_chord
from gnc_cli.limits.limit import ROUNDING, Limit, Quantity, loosened, reaches
from gnc_cli.limits.request import Request
from gnc_cli.limits.result import BestBounds, BoundRow, Status
from gnc_cli.records import BestKnown

_SAME_ANGLE = 1e-9
"""Relative. Near 1 cosines hardly differ, their angles do."""
_MOST_COORDINATES = 10**15
"""Eight petabytes."""


def pair_rows(d: int, K: int, limits: Sequence[Limit], quantity: Quantity) -> Iterator[BoundRow]:
    """What each bound says at (d, K) of a quantity."""
    for limit in limits:
        found = limit.at(d, K)
        if found is None:
            continue
        value, angle = found.value, None
        if quantity is Quantity.ONE_VS_ONE:
            value = 1.0 - value
            angle = math.degrees(angle_from_chord(math.sqrt(2.0 * found.value)))
        yield BoundRow(
            d=d, K=K, quantity=quantity, side=limit.side(quantity), value=value, angle_deg=angle,
            valid=found.valid, condition=found.condition, strict=found.strict,
            exists=limit.exists, constructive=limit.constructive, name=limit.name,
            source=limit.cited(quantity, found), how=feasible(d, K, found.how),
        )  # fmt: skip


def feasible(d: int, K: int, how: str | None) -> str | None:
    """The command that builds a code of (d, K), unless no machine could hold it."""
    return how if d * K <= _MOST_COORDINATES else None


def pair_best(
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
    # Distances are good to so many digits, cosines to so many decimals.
    rest = request.quantity is Quantity.ONE_VS_REST
    if low.value > high.value + ROUNDING * (low.value if rest else 1.0):
        raise ArithmeticError(f"{low} contradicts {high}")
    # Ends that meet may cross by their rounding.
    lower, upper = low.value, max(low.value, high.value)
    lower_deg = upper_deg = None
    exact = upper - lower <= ROUNDING * upper
    if low.angle_deg is not None and high.angle_deg is not None:
        lower_deg, upper_deg = high.angle_deg, max(low.angle_deg, high.angle_deg)
        exact = upper - lower <= ROUNDING and upper_deg - lower_deg <= _SAME_ANGLE * upper_deg
    status = _status(held, request)
    known_margin = _margin(low if rest else high)
    margin = known_margin if request.margin is None else request.margin
    return BestBounds(
        d=low.d, K=low.K, quantity=request.quantity, lower=lower, upper=upper,
        lower_name=low.name, upper_name=high.name, lower_deg=lower_deg, upper_deg=upper_deg,
        exact=exact, best_known=best_known, status=status,
        scale=None if status == "excluded" else request.scale(math.log(low.K - 1), margin),
    )  # fmt: skip


def _rank(row: BoundRow) -> float:
    """Rises with the value, also where cosines are 1 to all digits."""
    return row.distance if row.angle_deg is None else -row.distance


def _margin(row: BoundRow) -> float:
    """The distance, or the clearance of the cosine."""
    if row.angle_deg is None:
        return row.value
    return float(2.0 * math.sin(math.radians(row.angle_deg) / 2.0) ** 2)


def _status(held: Sequence[BoundRow], request: Request) -> Status | None:
    """Whether a code with what was asked for exists."""
    if request.target is None:
        return None
    target = loosened(request.target)
    if any(reaches(_margin(row), target) for row in held if row.exists):
        return "exists"
    # What is not attained is excluded itself.
    ends = [_margin(row) * (1.0 - ROUNDING * row.strict) for row in held if not row.exists]
    return "open" if reaches(min(ends), target) else "excluded"
