"""What a solve says of its code: beside the best known one, and beside the best possible.

A code is judged by the distance that its problem maximises: the certified one-vs-rest distance of a
Softmax Code, 1 - max_cosine of a Tammes code. The bisector theorem (docs/theorem.md) makes both
comparable: the largest possible value is the same number, rho* = 1 - t*.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gnc_cli.results import BestKnown, Bracket, Optimum, Standing
from gnc_cli.workflows.bounds_catalogue import catalogue
from gnc_cli.workflows.bounds_request import ONE_VS_REST
from gnc_cli.workflows.bounds_rows import cited
from gnc_cli.workflows.compare_standing import standing
from gnc_cli.workflows.known import Reference, best

__all__ = ["Judgement", "judge"]

_MEET = 1e-9
"""A code this near to the proved upper end is optimal."""


@dataclass(frozen=True)
class Judgement:
    """Where a code stands; the fields are those of `SolveResult`."""

    best_known: BestKnown | None
    status: Standing
    gap: float | None
    optimum: Optimum
    verdict: str

    @property
    def misses_proved_optimum(self) -> bool:
        """A better code is known, and proved optimal."""
        proven = self.best_known is not None and self.best_known.proven
        return proven and self.status is Standing.WORSE


def judge(
    problem: str, d: int, K: int, weights: Any, max_cosine: float, rho: Bracket
) -> Judgement:
    """Judge a code of K rows in d dimensions.

    Args:
        problem: `softmax` or `tammes`.
        weights: the rows, (K, d); looked at only where the code seems to improve on the best known.
        max_cosine, rho: of the code.
    """
    softmax = problem == "softmax"
    distance = rho.lower if softmax else 1.0 - max_cosine
    known = best(d, K)

    def verified(t: Fraction) -> bool:
        if softmax:
            return Fraction(rho.lower) > 1 - t
        from gnc_cli.codes.rational import verify_below

        return verify_below(weights, t).holds is True

    status = standing(1.0 - distance, known, verified)
    optimum = _optimum(d, K, distance)
    return Judgement(
        best_known=None if known is None else known.record(),
        status=status,
        gap=None if known is None else 1.0 - distance - known.max_cosine,
        optimum=optimum,
        verdict=_verdict(status, known, distance, optimum),
    )


def _optimum(d: int, K: int, distance: float) -> Optimum:
    """The least of the proved upper ends of rho* = 1 - t*."""
    ends = [
        (found.value, limit.name, cited(limit, ONE_VS_REST, found))
        for limit in catalogue(ONE_VS_REST)
        if not limit.exists and (found := limit.at(d, K)) is not None and found.valid
    ]
    upper, name, source = min(ends)
    return Optimum(
        upper=upper, shortfall=max(0.0, 1.0 - distance / upper),
        proved=distance >= upper - _MEET, name=name, source=source,
    )  # fmt: skip


def _verdict(
    status: Standing, known: Reference | None, distance: float, optimum: Optimum
) -> str:
    if optimum.proved:
        return "optimal (proved)"
    possible = f"at most {_percent(optimum.shortfall)} below the optimum ({optimum.name})"
    if known is None:
        return f"nothing is on record for this size; {possible}"
    clearance = 1.0 - known.max_cosine
    short = _percent(1.0 - distance / clearance)
    if known.proven:
        return f"{short} below the optimum, which is known: {known.source}"
    match status:
        case Standing.WORSE:
            said = f"{short} below the best on record"
        case Standing.MATCHES:
            said = "ties the best on record"
        case Standing.IMPROVES:
            said = f"beats the best on record by {distance - clearance:.2g}: new best, keep it"
        case Standing.NO_ENTRY:
            better = distance > clearance + _MEET
            said = "better than" if better else "as good as"
            said = f"{said} any code known for this size, none of which is on record"
    return f"{said}; {possible}"


def _percent(share: float) -> str:
    """Two digits, rounded to nearest."""
    return f"{100.0 * share:.2g} %"
