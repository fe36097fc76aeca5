"""What a solve says of its code: beside the best known one, and beside the best possible.

`status` and `gap` compare largest cosines, as `compare` does. The verdict and `optimum` speak of
the distance that the problem maximises: the certified one-vs-rest distance of a Softmax Code,
1 - max_cosine of a Tammes code. By the bisector theorem (docs/theory/theorem.md) the largest
possible distance is one number for both, rho* = 1 - t*.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from gnc_cli.errors import UsageError
from gnc_cli.known_codes.best import BestKnown, Reference, Table, best
from gnc_cli.known_codes.verdict import ComparisonStatus, comparison_status
from gnc_cli.limits.limit import Quantity
from gnc_cli.limits.registry import all_limits
from gnc_cli.parameters import spelled, wording
from gnc_cli.records import Bracket
from gnc_cli.search.result import Optimum

_MEET = 1e-9
"""A code this near to the proved upper end counts as optimal; distances this near are equal."""
_CLOSED = 1e-6
"""A wider bracket is open: the search was cut short, and the distance may be far above its lower
end."""
_ROUNDING = 1e-12
"""What bounds and figures are good to, relatively."""


@dataclass(frozen=True)
class Judgement:
    """Where a code stands; the fields are those of `SolveResult`."""

    best_known: BestKnown | None
    status: ComparisonStatus
    gap: float | None
    optimum: Optimum
    verdict: str

    @property
    def misses_known_optimum(self) -> bool:
        """A better code is known, and proved optimal."""
        known = self.best_known
        return known is not None and known.proven and not self.optimum.proved


def judge(
    problem: str,
    d: int,
    K: int,
    weights: Any,
    max_cosine: float,
    rho: Bracket,
    restriction: str | None = None,
    table: Table = None,
) -> Judgement:
    """Judge a Softmax Code or Tammes code of K rows in d dimensions.

    Args:
        weights: the rows, (K, d); looked at only where the code seems to improve on the best known.
        restriction: what kept the search from most codes, `fixed rows` or `symmetry`.
        table: of known codes, held beside our copy.
    """
    known = best(d, K, table)

    def verified(t: Fraction) -> bool:
        from gnc_cli.codes.exact_cosine import verify_below

        return verify_below(weights, t) is True

    distance = rho.lower if problem == "softmax" else 1.0 - max_cosine
    is_open = problem == "softmax" and rho.upper - rho.lower > _CLOSED
    optimum = _optimum(d, K, distance)
    return Judgement(
        best_known=None if known is None else known.record(),
        status=comparison_status(max_cosine, known, verified),
        gap=None if known is None else known.gap(max_cosine),
        optimum=optimum,
        verdict=_verdict(known, d, K, distance, optimum, restriction, is_open),
    )


def proved_interval(d: int, K: int) -> Bracket:
    """Where rho*(d, K) lies: from the best known code to the least proved upper end."""
    known = best(d, K)
    lower = 0.0 if known is None else (1.0 - known.max_cosine) * (1.0 - _ROUNDING) - _ROUNDING
    return Bracket(max(0.0, lower), proved_upper_end(d, K))


def proved_upper_end(d: int, K: int) -> float:
    """No code of (d, K) has a larger one-vs-rest distance, or a larger 1 - max_cosine."""
    return _upper_end(d, K)[0] * (1.0 + _ROUNDING) + _ROUNDING


def check_target(problem: str, d: int, K: int, target: float) -> None:
    """Refuse, with a UsageError that names the bound, a target that no code reaches."""
    upper, _, source = _upper_end(d, K)
    asked = target if problem == "softmax" else 1.0 - target
    if asked > upper + _MEET:
        most = f"rho is at most {upper:.12g}"
        most = most if problem == "softmax" else f"the largest cosine is at least {1 - upper:.12g}"
        raise UsageError(
            f"{spelled('target')} {target:g} is out of reach for d = {d:,}, K = {K:,}: {most} "
            f"({source}); see {wording(f'gnc bounds --d {d} --K {K}', f'bounds(d={d}, K={K})')}"
        )


@lru_cache(maxsize=64)
def _upper_end(d: int, K: int) -> tuple[float, str, str]:
    """The least of the proved upper ends of rho* = 1 - t*, the bound's name, and whom to cite."""
    least: tuple[float, str, str] | None = None
    for limit in all_limits(Quantity.ONE_VS_REST):
        found = None if limit.exists else limit.at(d, K)
        if found is None or not found.valid:
            continue
        if least is None or found.value < least[0] * (1.0 - _ROUNDING):
            turned = limit.by_bisector(Quantity.ONE_VS_REST)
            source = f"{'bisector theorem with ' if turned else ''}{limit.cited(found)}"
            least = found.value, limit.name, source
    assert least is not None, "Rankin's bound holds for every d and K"
    return least


def _optimum(d: int, K: int, distance: float) -> Optimum:
    upper, name, source = _upper_end(d, K)
    return Optimum(
        upper=upper,
        shortfall=max(0.0, 1.0 - distance / upper),
        proved=distance >= upper - _MEET,
        name=name,
        source=source,
    )


def _verdict(
    known: Reference | None,
    d: int,
    K: int,
    distance: float,
    optimum: Optimum,
    restriction: str | None,
    is_open: bool,
) -> str:
    if optimum.proved:
        return "optimal to 1e-9 (the optimal value is proved)"
    without = f" without the {restriction}" if restriction else ""
    possible = f"at most {_percent(optimum.shortfall)} below the optimum{without}"
    if known is None:
        return f"no code of this size is known; {possible}"
    missing = 1.0 - known.max_cosine - distance
    short = "at most " * is_open + _percent(missing / (1.0 - known.max_cosine))
    if known.proven:
        return f"{short} below the optimum{without}, which is known"
    if missing > _MEET:
        said = f"{short} below the best known code{without}"
    elif missing >= -_MEET:
        said = "ties the best known code"
    elif known.on_record:
        said = f"beats the best known code by {-missing:.2g}"
    else:
        other = "best construction" if known.own else "best part of a larger code"
        said = f"no record for ({d}, {K}) here; the {other} is {-missing:.2g} worse"
    return f"{said}; {possible}"


def _percent(share: float) -> str:
    """One decimal from ten percent on, two digits below."""
    percent = 100.0 * share
    return f"{percent:.1f} %" if percent >= 10.0 else f"{percent:.2g} %"
