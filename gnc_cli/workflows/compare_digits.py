"""`compare --digits`: the code behind a file to many digits, and what number its cosine may be."""

from decimal import Decimal, localcontext
from typing import Any

from gnc_cli.codes.digits import Digits, Refused, many_digits
from gnc_cli.codes.minimal_polynomial import minimal_polynomial
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.workflows.compare_codes import Judged

__all__ = ["further_digits"]

_MOST_ROWS = 3000
"""Beyond, nothing lists the contacts."""
_FITTED = 200
"""Digits that a polynomial is fitted to: a quarter of a minute where none fits."""


def further_digits(
    code: Judged, decimals: int, deadline: Deadline
) -> tuple[dict[str, Any], Digits | None]:
    """The key `digits` of a row, and the polished code.

    Args:
        code: measured already.
        decimals: digits after the point.
        deadline: polled by the polish.

    Returns:
        `decimals, cosine, how, contacts, moved, polynomial{coefficients, text, evidence},
        obstacle, advice`: the figures, or what stood in their way; null for the others.
    """
    keys: dict[str, Any] = {
        "decimals": decimals, "cosine": None, "how": None, "contacts": None, "moved": None,
        "polynomial": None, "obstacle": None, "advice": None,
    }  # fmt: skip
    if code.row.max_cosine is None or code.row.K > _MOST_ROWS:
        late = code.row.max_cosine is None
        said = "the time limit came first" if late else f"more than {_MOST_ROWS} points"
        return {**keys, "obstacle": "out_of_time" if late else "too_large", "advice": said}, None
    found = many_digits(code.weights, decimals, deadline=deadline)
    if isinstance(found, Refused):
        said = f"{found.obstacle.advice} ({found.detail})"
        return {**keys, "obstacle": found.obstacle.value, "advice": said}, None
    proposal = None if deadline.expired else minimal_polynomial(_shortened(found.cosine))
    if proposal is not None:
        keys["polynomial"] = {
            "coefficients": [str(c) for c in proposal.coefficients],
            "text": str(proposal),
            "evidence": round(proposal.evidence, 1),
        }
    figures = {
        "cosine": found.cosine, "how": found.how, "contacts": len(found.contacts),
        "moved": found.moved,
    }  # fmt: skip
    return {**keys, **figures}, found


def _shortened(cosine: str) -> str:
    """The decimal number rounded to at most `_FITTED` digits."""
    places = len(cosine.partition(".")[2])
    if places <= _FITTED:
        return cosine
    with localcontext() as context:
        context.prec = places + 5
        return str(Decimal(cosine).quantize(Decimal(1).scaleb(-_FITTED)))
