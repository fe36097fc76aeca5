"""What a solve says of its code: beside the best known one, and beside the best possible.

All of it speaks of the distance that the problem maximises: the certified one-vs-rest distance of a
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

_MEET = 1e-9
"""A code this near to the proved upper end counts as optimal; distances this near are equal."""
_CLOSED = 1e-6
"""A wider bracket is open: the search was cut short, and the distance may be far above its lower
end."""
_ROUNDING = 1e-12
"""What bounds and figures are good to, relatively."""


def add_verdict(instance: Instance, result: SolveResult) -> SolveResult:
    """A result with what is to be said of its code, Softmax Code or Tammes code; a feature model's
    optimum is no code of largest distance, and its result is returned as it is.
    """
    if instance.problem == "ufm":
        return result
    known, distance, rho = instance.best_known, result.distance, result.rho_one_vs_rest
    if math.isnan(distance):
        return replace(
            result,
            best_known=known,
            verdict="undecided: the search was stopped before every pair of points was compared",
        )

    def verified(t: Fraction) -> bool:
        from gnc_cli.codes.exact_cosine import verify_below

        rows = antipodes(result.weights) if instance.is_lines else result.weights
        return verify_below(rows, t) is True

    largest = result.coherence if result.max_cosine is None else result.max_cosine
    assert largest is not None, "it has a distance"
    cosine = compared_cosine(instance.problem, largest, distance)
    upper, name, source = _upper_end(instance.d, instance.K, instance.quantity)
    optimum = Optimum(
        upper=upper,
        shortfall=max(0.0, 1.0 - distance / upper),
        proved=distance >= upper - _MEET,
        name=name,
        source=source,
    )
    is_open = instance.problem == "softmax" and rho is not None and rho.width > _CLOSED
    outcome, minimum = result.outcome, (result.local_minimum, result.local_minimum_reason)
    if optimum.proved and minimum[0] != "yes" and not instance.is_lines:
        minimum = "yes", "its value is proved optimal"
    elif (
        outcome is Outcome.CONVERGED
        and not optimum.proved
        and known is not None
        and known.proven
        and not instance.restriction
    ):
        outcome = Outcome.LOCAL_OPTIMUM
    return replace(
        result,
        outcome=outcome,
        local_minimum=minimum[0],
        local_minimum_reason=minimum[1],
        best_known=known,
        status=comparison_status(cosine, known, verified),
        gap=None if known is None else known.gap(cosine),
        optimum=optimum,
        verdict=_verdict(instance, known, distance, optimum, is_open),
    )


def proved_interval(d: int, K: int) -> Bracket:
    """Where rho*(d, K) lies: from the best known code to the least proved upper end."""
    known = best(d, K)
    lower = 0.0 if known is None else known.distance * (1.0 - _ROUNDING) - _ROUNDING
    return Bracket(max(0.0, lower), proved_upper_end(d, K))


def proved_upper_end(d: int, K: int, quantity: Quantity = Quantity.ONE_VS_REST) -> float:
    """No code of (d, K) has a larger one-vs-rest distance, or a larger 1 - max_cosine; no K lines
    have a larger 1 - coherence.
    """
    return _upper_end(d, K, quantity)[0] * (1.0 + _ROUNDING) + _ROUNDING


def check_target(instance: Instance, target: float) -> None:
    """Refuse, with a UsageError that names the bound, a target that no code reaches."""
    d, K = instance.d, instance.K
    upper, _, source = _upper_end(d, K, instance.quantity)
    if target_distance(instance.problem, target) > upper + _MEET:
        most = f"rho is at most {upper:.12g}"
        if instance.problem != "softmax":
            name = "coherence" if instance.is_lines else "largest cosine"
            most = f"the {name} is at least {1 - upper:.12g}"
        raise UsageError(
            f"{spelled('target')} {target:g} is out of reach for d = {d:,}, K = {K:,}: {most} "
            f"({source}); see gnc bounds --d {d} --K {K} --quantity {instance.quantity}"
        )


@lru_cache(maxsize=64)
def _upper_end(d: int, K: int, quantity: Quantity = Quantity.ONE_VS_REST) -> tuple[float, str, str]:
    """The least of the proved upper ends of rho* = 1 - t*, or of 1 - coherence, the bound's name,
    and whom to cite.
    """
    least: tuple[float, str, str] | None = None
    for limit in all_limits(quantity):
        bound = None if limit.exists else limit.evaluate(d, K)
        if bound is None or not bound.valid:
            continue
        if least is None or bound.value < least[0] * (1.0 - _ROUNDING):
            turned = limit.by_bisector(quantity)
            source = f"{'bisector theorem with ' if turned else ''}{limit.citation(bound)}"
            least = bound.value, limit.name, source
    assert least is not None, "Rankin's bound holds for every d and K"
    return least


def _verdict(
    instance: Instance, known: BestKnown | None, distance: float, optimum: Optimum, is_open: bool
) -> str:
    """How good the code is, in a sentence; `is_open`: its distance may be larger."""
    if optimum.proved:
        return "optimal to 1e-9 (the optimal value is proved)"
    without = f" without the {instance.restriction}" if instance.restriction else ""
    possible = f"at most {_percent(optimum.shortfall)} below the optimum{without}"
    if known is None:
        return f"no code of this size is known; {possible}"
    missing = known.distance - distance
    short = "at most " * is_open + _percent(missing / known.distance)
    if known.proven:
        return f"{short} below the optimum{without}, which is known"
    if missing > _MEET:
        standing = f"{short} below the best known code{without}"
        d, K = instance.d, instance.K
        stored = None if instance.restriction or instance.is_lines else best_stored(d, K)
        if stored is not None and 1.0 - stored.max_cosine > distance + _MEET:
            # A part of a larger code is what `solve` begins with.
            exactly = " --construction known" * ((stored.d, stored.K) == (d, K))
            possible += f"; for a better code: gnc solve --d {d} --K {K}{exactly}"
    elif missing >= -_MEET:
        standing = "ties the best known code"
    elif known.kind == "solved" and known.same_size:
        standing = f"{-missing:.2g} better than the code known to gnc"
    elif known.on_record:
        standing = f"beats the best known code by {-missing:.2g}"
    else:
        other = "best construction" if known.same_size else "best part of a larger code"
        size = f"({instance.d}, {instance.K})"
        standing = f"no record for {size} here; the {other} is {-missing:.2g} worse"
    return f"{standing}; {possible}"


def _percent(share: float) -> str:
    """Return a share rounded up: one decimal from ten percent on, two digits below."""
    percent = 100.0 * share
    if percent >= 10.0:
        return f"{math.ceil(10.0 * percent) / 10.0:.1f} %"
    return f"{rounded(percent, upward=True, digits=2)} %"
