"""Bounds as rows: what each says at (d, K), in the quantity that was asked for.

With t the Tammes cosine of (d, K): rho* >= 1 - t, for h = w leaves every other row so far behind;
rho* <= sqrt(2 - 2t), the chord, for the nearest other row lies in the hull. The paper conjectures
rho* = 1 - t (section 3.2), which makes of every lower bound on t an upper one on rho* that is
tighter. docs/equality.md proves it; as long as nobody has refereed that proof, these bounds are
marked, called `conjecture-...`, and kept out of the proven intervals.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from gnc_cli.limits.limit import Count, Finding, Limit, On, loosened, reaches
from gnc_cli.numerics.softmax_scale import softmax_scale
from gnc_cli.results import BestBounds, BoundRow
from gnc_cli.workflows.bounds_request import ONE_VS_ONE, ONE_VS_REST, Request

__all__ = ["Statement", "best_of", "command", "rows_of", "statements"]

_EQUALITY = "rho* = 1 - t* (conjecture of section 3.2; proof in docs/equality.md, not refereed)"
_MOST_COORDINATES = 10**15
_ROUNDING = 1e-12
"""Bounds that meet may cross by so much, relatively."""


class Statement:
    """A limit as it is used: proven, or by the conjecture."""

    def __init__(self, limit: Limit, *, quantity: str, proven: bool) -> None:
        self.limit = limit
        self.quantity = quantity
        self.proven = proven
        self.name = limit.name if proven else f"conjecture-{limit.name}"

    @property
    def side(self) -> str:
        """Of the optimal value: an existing code bounds a distance below, a cosine above."""
        return "lower" if self.limit.exists == (self.quantity == ONE_VS_REST) else "upper"

    @property
    def _chord(self) -> bool:
        """Whether the value is the chord of the clearance."""
        return (
            self.quantity == ONE_VS_REST
            and self.limit.on is On.CLEARANCE
            and not self.limit.exists
            and self.proven
        )

    def target(self, wanted: Fraction) -> Fraction:
        """A target in the limit's own values."""
        return wanted * wanted / 2 if self._chord else wanted

    def value(self, found: Finding) -> float:
        """The limit's value in the user's quantity."""
        if self.quantity == ONE_VS_ONE:
            return 1.0 - found.value
        return math.sqrt(2.0 * found.value) if self._chord else found.value

    def source(self, found: Finding | Count | None) -> str:
        """Whom to cite."""
        said = (found.source if found is not None else None) or self.limit.source
        return said if self.proven else f"{_EQUALITY}: {said}"


def statements(limits: Sequence[Limit], quantity: str) -> list[Statement]:
    """Every use of every limit for this quantity, in their order."""
    if quantity == ONE_VS_ONE:
        used = [limit for limit in limits if limit.on is On.CLEARANCE]
        return [Statement(limit, quantity=quantity, proven=True) for limit in used]
    proven = [Statement(limit, quantity=quantity, proven=True) for limit in limits]
    conjectural = [
        Statement(limit, quantity=quantity, proven=False)
        for limit in limits
        if limit.on is On.CLEARANCE and not limit.exists
    ]
    return proven + conjectural


def rows_of(d: int, K: int, uses: Sequence[Statement]) -> Iterator[BoundRow]:
    """What each bound says at (d, K); each is asked once."""
    asked: dict[int, Finding | None] = {}
    for use in uses:
        if id(use.limit) not in asked:
            asked[id(use.limit)] = use.limit.at(d, K)
        found = asked[id(use.limit)]
        if found is None or not (use.proven or found.valid):
            continue
        angle = None
        if use.quantity == ONE_VS_ONE:
            angle = _degrees(found.value)
        yield BoundRow(
            d=d, K=K, quantity=use.quantity, side=use.side, value=use.value(found),
            angle_deg=angle, proven=use.proven, valid=found.valid, condition=found.condition,
            strict=found.strict, exists=use.limit.exists, constructive=use.limit.constructive,
            name=use.name, source=use.source(found), how=command(d, K, found.how),
        )  # fmt: skip


def command(d: int, K: int, how: str | None) -> str | None:
    """The command that builds a code, where any machine could hold it."""
    return how if d * K <= _MOST_COORDINATES else None


def best_of(rows: Sequence[BoundRow], request: Request) -> BestBounds:
    """The best proven interval of the rows of one (d, K).

    Raises:
        ArithmeticError: a lower end above an upper one by more than rounding: one is wrong.
    """
    proved = [row for row in rows if row.valid and row.proven]
    # Of equal ends one that is not attained says more.
    lower_rows = (row for row in proved if row.side == "lower")
    low = max(lower_rows, key=lambda row: (_rank(row), row.strict))
    upper_rows = (row for row in proved if row.side == "upper")
    high = min(upper_rows, key=lambda row: (_rank(row), not row.strict))
    lower, upper = low.value, _met(low, high)
    guess = min((row for row in rows if not row.proven), key=lambda row: row.value, default=None)
    conjectured = None
    if guess is not None and guess.value < upper:
        conjectured = _met(low, guess)
    d, K = low.d, low.K
    status = _status(proved, request)
    attained = _margin(low if request.quantity == ONE_VS_REST else high)
    wanted = attained if request.margin is None else request.margin
    return BestBounds(
        d=d, K=K, quantity=request.quantity, lower=lower, upper=upper, lower_name=low.name,
        upper_name=high.name, lower_deg=high.angle_deg, upper_deg=_most_degrees(low, high),
        conjectured=conjectured, status=status,
        scale=None if status == "excluded" else _scale(K, request.probability, wanted),
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


def _most_degrees(low: BoundRow, high: BoundRow) -> float | None:
    """The angle of the lower end of the cosine, not below that of the upper end."""
    if low.angle_deg is None or high.angle_deg is None:
        return None
    return max(low.angle_deg, high.angle_deg)


def _status(proved: Sequence[BoundRow], request: Request) -> str | None:
    """Whether a code with what was asked for exists, by the proved bounds."""
    if request.target is None:
        return None
    target = loosened(request.target)
    if any(reaches(_margin(row), target) for row in proved if row.exists):
        return "exists"
    # What is not attained is excluded itself.
    ends = [_margin(row) * (1.0 - _ROUNDING * row.strict) for row in proved if not row.exists]
    return "open" if reaches(min(ends), target) else "excluded"


def _scale(K: int, probability: float | None, margin: float) -> float | None:
    if probability is None or margin <= 0.0:
        return None
    return softmax_scale(math.log(K - 1), probability, margin)


def _degrees(clearance: float) -> float:
    """The angle whose cosine is 1 - clearance, accurate for small ones."""
    return math.degrees(2.0 * math.asin(min(1.0, math.sqrt(clearance / 2.0))))
