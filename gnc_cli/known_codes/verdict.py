"""Comparison of a largest cosine with that of the best known code."""

from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnc_cli.known_codes.best import BestKnown

TOLERANCE = 1e-9
"""Default of the largest gap that passes."""
COORDINATE_ROUNDING = 1e-11
"""Largest gap of a tie: coordinates are published with twelve decimals, which may not make a code
worse."""
_NOISE = 1e-14
"""Smallest decrease that counts: cosines in float64 are accurate to a few 1e-16."""


class ComparisonStatus(Enum):
    """Result of the comparison with the best known code."""

    MATCHES = "matches"
    """Equal within 1e-11 or the rounding of the best known cosine, whichever is larger."""
    WORSE = "worse"
    IMPROVES = "improves"
    """Below the best known cosine by more than its rounding, verified in rational arithmetic."""
    NO_ENTRY = "no_entry"


def comparison_status(
    max_cosine: float,
    best_known: "BestKnown | None",
    verified: Callable[[Fraction], bool],
    precision: float = 0.0,
) -> ComparisonStatus:
    """Compare a code with the best known one.

    Args:
        max_cosine: largest cosine of the code, float64.
        best_known: the best known code; None if there is none.
        verified: proves in exact arithmetic that the largest cosine is below a rational t; called
            only if the code seems to improve.
        precision: accuracy of the cosine, if coordinates are coarser than float64.

    Returns:
        `matches` from the known cosine less its rounding (or without a proof) to the known cosine
        plus 1e-11, its rounding or the precision, whichever is largest; `improves` only with that
        proof. `no_entry` if the known code, at most as good, is not a record of (d, K): a
        construction or a part of a larger code.
    """
    if best_known is None:
        return ComparisonStatus.NO_ENTRY
    gap = max_cosine - best_known.max_cosine
    if gap > max(best_known.rounding, COORDINATE_ROUNDING, precision):
        return ComparisonStatus.WORSE
    if not best_known.on_record:
        return ComparisonStatus.NO_ENTRY
    if gap >= -max(best_known.rounding, _NOISE):
        return ComparisonStatus.MATCHES
    exact = Fraction(best_known.max_cosine) if best_known.exact is None else best_known.exact
    proved = verified(exact - Fraction(best_known.rounding))
    return ComparisonStatus.IMPROVES if proved else ComparisonStatus.MATCHES


def compared_cosine(problem: str | None, max_cosine: float, distance: float) -> float:
    """Return the cosine that is compared with the best known one, by the problem of the code.

    A Softmax Code is judged by its one-vs-rest distance: 1 - distance, which its largest cosine
    exceeds if two points are closer than in any Tammes code (docs/theory/theorem.md).
    """
    return min(max_cosine, 1.0 - distance) if problem == "softmax" else max_cosine
