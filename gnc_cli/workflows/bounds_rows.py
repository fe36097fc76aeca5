"""Bounds as rows: what each says at (d, K), in the quantity that was asked for.

With t the Tammes cosine of (d, K): rho* >= 1 - t, for h = w leaves every other row so far behind;
rho* <= sqrt(2 - 2t), the chord, for the nearest other row lies in the hull. The paper conjectures
rho* = 1 - t (section 3.2), which makes of every lower bound on t an upper one on rho* that is
tighter. docs/equality.md proves it; as long as nobody has refereed that proof, these bounds are
marked, called `conjecture-...`, and kept out of the proven intervals.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gnc_cli.limits.limit import Count, Finding, Limit, On
from gnc_cli.numerics.sphere import angle_from_chord
from gnc_cli.results import BoundRow
from gnc_cli.workflows.bounds_request import ONE_VS_ONE, ONE_VS_REST

__all__ = ["Statement", "command", "rows_of", "statements"]

_EQUALITY = "rho* = 1 - t* (conjecture of section 3.2; proof in docs/equality.md, not refereed)"
_MOST_COORDINATES = 10**15
"""Eight petabytes."""


@dataclass(frozen=True)
class Statement:
    """A limit as it is used for one quantity."""

    limit: Limit
    quantity: str
    """`one-vs-rest` or `one-vs-one`."""
    proven: bool
    """False: with rho* = 1 - t*."""

    @property
    def name(self) -> str:
        """Of its rows."""
        return self.limit.name if self.proven else f"conjecture-{self.limit.name}"

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
            angle = math.degrees(angle_from_chord(math.sqrt(2.0 * found.value)))
        yield BoundRow(
            d=d, K=K, quantity=use.quantity, side=use.side, value=use.value(found),
            angle_deg=angle, proven=use.proven, valid=found.valid, condition=found.condition,
            strict=found.strict, exists=use.limit.exists, constructive=use.limit.constructive,
            name=use.name, source=use.source(found), how=command(d, K, found.how),
        )  # fmt: skip


def command(d: int, K: int, how: str | None) -> str | None:
    """The command that builds a code, where any machine could hold it."""
    return how if d * K <= _MOST_COORDINATES else None
