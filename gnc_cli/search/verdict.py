"""Verdict on the code of a solve, compared with the best known and the best possible one.

The distance compared is the one that the problem maximises: the certified one-vs-rest distance of a
Softmax Code, 1 - max_cosine of a Tammes code; `status` and `gap` are those of `compare`. By the
bisector theorem (docs/theory/theorem.md) the largest possible distance is one number for both,
rho* = 1 - t*.
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from gnc_cli.brackets import Bracket
from gnc_cli.errors import UsageError
from gnc_cli.figures import rounded
from gnc_cli.geometry.sphere import antipodes
from gnc_cli.known_codes.best import BestKnown, best
from gnc_cli.known_codes.stored import best_stored
from gnc_cli.known_codes.verdict import compared_cosine, comparison_status
from gnc_cli.limits.limit import Quantity
from gnc_cli.limits.registry import all_limits
from gnc_cli.parameters import spelled
from gnc_cli.search.instance import Instance, target_distance
from gnc_cli.search.result import Optimum, Outcome, SolveResult

_TIE_TOLERANCE = 1e-9
"""Largest difference of equal distances: as many digits as a polish is sure to reach. A code this
close to the proved upper end counts as optimal."""
_MAX_CLOSED_WIDTH = 1e-6
"""Largest width of a closed bracket. A wider one is of a search that was cut short: the distance
may be far above its lower end."""
_ROUNDING = 1e-12
"""Relative rounding error of bounds and distances, with room to spare."""


def add_verdict(instance: Instance, result: SolveResult) -> SolveResult:
    """Return a result with its status, gap, optimum and verdict.

    The result of a feature model is returned as it is: its optimum is not a code of largest
    distance.
    """
    if instance.problem == "ufm":
        return result
    best_known, distance, rho = instance.best_known, result.distance, result.rho_one_vs_rest
    if math.isnan(distance):
        return replace(
            result,
            best_known=best_known,
            verdict="undecided: the search was stopped before every pair of points was compared",
        )

    def verified(t: Fraction) -> bool:
        from gnc_cli.codes.exact_cosine import verify_below

        rows = antipodes(result.weights) if instance.is_lines else result.weights
        return verify_below(rows, t) is True

    largest = result.coherence if result.max_cosine is None else result.max_cosine
    assert largest is not None, "a code with a distance has a largest cosine"
    cosine = compared_cosine(instance.problem, largest, distance)
    upper, name, source = _upper_end(instance.d, instance.K, instance.quantity)
    optimum = Optimum(
        upper=upper,
        shortfall=max(0.0, 1.0 - distance / upper),
        proved=distance >= upper - _TIE_TOLERANCE,
        name=name,
        source=source,
    )
    is_open = instance.problem == "softmax" and rho is not None and rho.width > _MAX_CLOSED_WIDTH
    outcome, minimum = result.outcome, (result.local_minimum, result.local_minimum_reason)
    if optimum.proved and minimum[0] != "yes" and not instance.is_lines:
        minimum = "yes", "its value is proved optimal"
    elif (
        outcome is Outcome.CONVERGED
        and not optimum.proved
        and best_known is not None
        and best_known.proven
        and not instance.restriction
    ):
        outcome = Outcome.LOCAL_OPTIMUM
    return replace(
        result,
        outcome=outcome,
        local_minimum=minimum[0],
        local_minimum_reason=minimum[1],
        best_known=best_known,
        status=comparison_status(cosine, best_known, verified),
        gap=None if best_known is None else best_known.gap(cosine),
        optimum=optimum,
        verdict=_verdict(instance, best_known, distance, optimum, is_open=is_open),
    )


def proved_interval(d: int, K: int) -> Bracket:
    """Return the interval of rho*(d, K): from the best known code to the least proved upper end."""
    best_known = best(d, K)
    lower = 0.0 if best_known is None else best_known.distance * (1.0 - _ROUNDING) - _ROUNDING
    return Bracket(max(0.0, lower), proved_upper_end(d, K))


def proved_upper_end(d: int, K: int, quantity: Quantity = Quantity.ONE_VS_REST) -> float:
    """Return a proved upper bound of the distance of every code of (d, K), rounded up.

    It bounds the one-vs-rest distance and 1 - max_cosine; for `Quantity.LINES`, 1 - coherence of K
    lines.
    """
    return _upper_end(d, K, quantity)[0] * (1.0 + _ROUNDING) + _ROUNDING


def check_target(instance: Instance, target: float) -> None:
    """Refuse a target that no code reaches.

    Args:
        instance: requested code.
        target: distance, largest cosine or coherence, by the problem.

    Raises:
        UsageError: the target lies beyond the proved bound, which the message names.
    """
    d, K = instance.d, instance.K
    upper, _, source = _upper_end(d, K, instance.quantity)
    if target_distance(instance.problem, target) > upper + _TIE_TOLERANCE:
        reason = f"rho is at most {upper:.12g}"
        if instance.problem != "softmax":
            name = "coherence" if instance.is_lines else "largest cosine"
            reason = f"the {name} is at least {1 - upper:.12g}"
        raise UsageError(
            f"{spelled('target')} {target:g} is out of reach for d = {d:,}, K = {K:,}: {reason} "
            f"({source}); see gnc bounds --d {d} --K {K} --quantity {instance.quantity}"
        )


@lru_cache(maxsize=64)
def _upper_end(d: int, K: int, quantity: Quantity = Quantity.ONE_VS_REST) -> tuple[float, str, str]:
    """Return the least proved upper end of rho* = 1 - t*, or of 1 - coherence.

    The name of its bound and the source to cite come with it.
    """
    lowest: tuple[float, str, str] | None = None
    for limit in all_limits(quantity):
        bound = None if limit.exists else limit.evaluate(d, K)
        if bound is None or not bound.valid:
            continue
        if lowest is None or bound.value < lowest[0] * (1.0 - _ROUNDING):
            theorem = "bisector theorem with " if limit.by_bisector(quantity) else ""
            source = f"{theorem}{limit.citation(bound)}"
            lowest = bound.value, limit.name, source
    assert lowest is not None, "Rankin's bound holds for every d and K"
    return lowest


def _verdict(
    instance: Instance,
    best_known: BestKnown | None,
    distance: float,
    optimum: Optimum,
    *,
    is_open: bool,
) -> str:
    """Return the quality of a code as a sentence; `is_open`: its distance may be larger."""
    if optimum.proved:
        return "optimal to 1e-9 (the optimal value is proved)"
    scope = f" without the {instance.restriction}" if instance.restriction else ""
    possible = f"at most {_percent(optimum.shortfall)} below the optimum{scope}"
    if best_known is None:
        return f"no code of this size is known; {possible}"
    missing = best_known.distance - distance
    short = "at most " * is_open + _percent(missing / best_known.distance)
    if best_known.proven:
        return f"{short} below the optimum{scope}, which is known"
    if missing > _TIE_TOLERANCE:
        standing = f"{short} below the best known code{scope}"
        d, K = instance.d, instance.K
        stored = None if instance.restriction or instance.is_lines else best_stored(d, K)
        if stored is not None and 1.0 - stored.max_cosine > distance + _TIE_TOLERANCE:
            # `solve` begins with a part of a larger code.
            option = " --construction known" * ((stored.d, stored.K) == (d, K))
            possible += f"; for a better code: gnc solve --d {d} --K {K}{option}"
    elif missing >= -_TIE_TOLERANCE:
        standing = "ties the best known code"
    elif best_known.kind == "solved" and best_known.same_size:
        standing = f"{-missing:.2g} better than the code known to gnc"
    elif best_known.on_record:
        standing = f"beats the best known code by {-missing:.2g}"
    else:
        other = "best construction" if best_known.same_size else "best part of a larger code"
        size = f"({instance.d}, {instance.K})"
        standing = f"no record for {size} here; the {other} is {-missing:.2g} worse"
    return f"{standing}; {possible}"


def _percent(share: float) -> str:
    """Return a share rounded up: one decimal from ten percent on, two digits below."""
    percent = 100.0 * share
    if percent >= 10.0:
        return f"{math.ceil(10.0 * percent) / 10.0:.1f} %"
    return f"{rounded(percent, upward=True, digits=2)} %"
