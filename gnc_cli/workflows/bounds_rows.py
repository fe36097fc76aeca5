"""Bounds as rows: what each says at (d, K), in the quantity that was asked for.

By the bisector theorem (docs/theorem.md) rho* = 1 - t*, t* the smallest possible largest cosine: a
bound on one is a bound on the other.
"""

import math
from collections.abc import Iterator, Sequence

from gnc_cli.limits.limit import Count, Finding, Limit
from gnc_cli.numerics.sphere import angle_from_chord
from gnc_cli.results import BoundRow
from gnc_cli.workflows.bounds_request import ONE_VS_ONE, ONE_VS_REST

__all__ = ["cited", "command", "rows_of", "side_of"]

_MOST_COORDINATES = 10**15
"""Eight petabytes."""


def rows_of(d: int, K: int, limits: Sequence[Limit], quantity: str) -> Iterator[BoundRow]:
    """What each bound says at (d, K) of `one-vs-rest` or `one-vs-one`."""
    for limit in limits:
        found = limit.at(d, K)
        if found is None:
            continue
        value, angle = found.value, None
        if quantity == ONE_VS_ONE:
            value = 1.0 - value
            angle = math.degrees(angle_from_chord(math.sqrt(2.0 * found.value)))
        yield BoundRow(
            d=d, K=K, quantity=quantity, side=side_of(limit, quantity), value=value,
            angle_deg=angle, proven=True, valid=found.valid, condition=found.condition,
            strict=found.strict, exists=limit.exists, constructive=limit.constructive,
            name=limit.name, source=cited(limit, quantity, found),
            how=command(d, K, found.how),
        )  # fmt: skip


def side_of(limit: Limit, quantity: str) -> str:
    """Of the optimal value: an existing code bounds a distance below, a cosine above."""
    return "lower" if limit.exists == (quantity == ONE_VS_REST) else "upper"


def cited(limit: Limit, quantity: str, found: Finding | Count | None) -> str:
    """Whom to cite: the bisector theorem too where a bound on t* becomes one on rho* or back.

    That rho* >= 1 - t* needs no theorem: the code itself serves as its features.
    """
    said = (found.source if found is not None else None) or limit.source
    from_rho = quantity == ONE_VS_ONE
    turned = limit.exists == from_rho and limit.of_rho == from_rho
    return f"bisector theorem with {said}" if turned else said


def command(d: int, K: int, how: str | None) -> str | None:
    """The command that builds a code, where any machine could hold it."""
    return how if d * K <= _MOST_COORDINATES else None
