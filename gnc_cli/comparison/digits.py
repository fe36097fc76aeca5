"""`compare --digits`: the code behind a file to many digits, and what number its cosine may be."""

from decimal import Decimal, localcontext

from gnc_cli.codes.digits import Digits, Obstacle, Refused, many_digits, minimal_polynomial
from gnc_cli.comparison.codes import Judged
from gnc_cli.comparison.result import PolishedCosine, Polynomial
from gnc_cli.runtime.deadline import Deadline

_MOST_ROWS = 3000
"""Beyond, nothing lists the contacts."""
_FITTED = 200
"""Digits that a polynomial is fitted to."""


def polished_cosine(
    code: Judged, decimals: int, deadline: Deadline
) -> tuple[PolishedCosine, Digits | None]:
    """The cosine of a code to so many digits after the point, and the polished code.

    The second is None where there was an obstacle. The polish polls the deadline.
    """
    refused = None
    if code.row.max_cosine is None:
        refused = Obstacle.OUT_OF_TIME, Obstacle.OUT_OF_TIME.advice
    elif code.row.K > _MOST_ROWS:
        refused = Obstacle.TOO_LARGE, f"more than {_MOST_ROWS} points"
    else:
        found = many_digits(code.weights, decimals, deadline=deadline)
        if isinstance(found, Refused):
            refused = found.obstacle, f"{found.obstacle.advice} ({found.detail})"
    if refused is not None:
        obstacle, advice = refused
        return PolishedCosine(decimals, obstacle=obstacle.value, advice=advice), None
    assert isinstance(found, Digits)
    polynomial = None
    proposal = None if deadline.expired else minimal_polynomial(_shortened(found.cosine))
    if proposal is not None:
        coefficients = tuple(str(c) for c in proposal.coefficients)
        polynomial = Polynomial(coefficients, str(proposal), round(proposal.evidence, 1))
    polished = PolishedCosine(
        decimals, found.cosine, found.how, len(found.contacts), found.moved, polynomial
    )
    return polished, found


def _shortened(cosine: str) -> str:
    """The decimal number rounded to at most `_FITTED` digits."""
    places = len(cosine.partition(".")[2])
    if places <= _FITTED:
        return cosine
    with localcontext() as context:
        context.prec = places + 5
        return str(Decimal(cosine).quantize(Decimal(1).scaleb(-_FITTED)))
