"""A grid of 10^5 pairs (d, K), and what contradicts what at one of them.

Two thirds of the pairs are where users are, d up to 1024 and K up to 10^9; the rest reach d = 10^6
and K = 10^18; and for each d there are the K at which closed forms, designs and hypotheses begin.
The same each time. Two bounds are too slow for all pairs (half a millisecond and more): the
simplicial bound is asked at every third K of a d, constructions at every second of those.

A sample of some 2900 pairs is asked each time the tests run; all of them by `pytest --slow` and by
`python -m benchmarks.bounds grid`.
"""

import math
from collections.abc import Iterator
from functools import cache

from gnc_cli.limits.levenshtein import design_size
from gnc_cli.limits.limit import Finding, Limit, Quantity
from gnc_cli.limits.registry import all_limits

CHUNKS = 10
TOLERANCE = 1e-12
"""Relative, of clearances and distances; absolute of cosines."""
_SPARE = {"construction": 6, "simplicial": 3}
_SAMPLED = 67
"""One pair in so many: a prime, so that the sample meets every remainder of `_SPARE`."""

_Findings = dict[tuple[str, bool, bool], Finding | None]


def grid(chunk: int) -> Iterator[tuple[int, int, bool, bool]]:
    """The pairs of a chunk, with whether to ask constructions and the simplicial bound there."""
    for d in _dims()[chunk::CHUNKS]:
        for i, K in enumerate(_sizes(d)):
            yield d, K, i % _SPARE["construction"] == 0, i % _SPARE["simplicial"] == 0


def sample() -> Iterator[tuple[int, int, bool, bool]]:
    """Some of the grid, spread over all of it, and for each d where the closed forms change."""
    for i, pair in enumerate(pair for chunk in range(CHUNKS) for pair in grid(chunk)):
        d, K, *_ = pair
        if i % _SAMPLED == 0 or K in _ends(_closed_forms(d)) or K == 10**18:
            yield pair


def _closed_forms(d: int) -> set[int]:
    return {3, d + 1, 2 * d}


def _ends(near: set[int]) -> set[int]:
    return {K + step for K in near for step in (-1, 0, 1)}


@cache
def _dims() -> tuple[int, ...]:
    users = {*range(2, 33), *_between(2, 1024, 160), 1000}
    return tuple(sorted(users | _between(1024, 10**6, 50)))


def _sizes(d: int) -> list[int]:
    near = {*_closed_forms(d), d, d + 2, 2 * d + 1, math.isqrt(math.ceil(10.3592213 * d))}
    near |= {design_size(d, m) for m in range(2, 12)}
    few, many = _between(3, 10**9, 560 if d <= 1024 else 240), _astronomical(140)
    return sorted(K for K in {*_ends(near), *few, *many} if 2 <= K <= 10**18)


@cache
def _between(low: int, high: int, count: int) -> frozenset[int]:
    ratio = math.log(high / low) / (count - 1)
    return frozenset(round(low * math.exp(i * ratio)) for i in range(count))


@cache
def _astronomical(count: int) -> frozenset[int]:
    return frozenset(10 ** (9 + 9 * i // (count - 1)) + i for i in range(count - 1)) | {10**18}


@cache
def limits(quantity: Quantity) -> list[Limit]:
    """Every bound on a quantity."""
    return all_limits(quantity)


def violations(d: int, K: int, construction: bool = True, simplicial: bool = True) -> list[str]:
    """What is not finite, out of range, or a lower bound above an upper one."""
    skipped = {"construction"} - ({"construction"} if construction else set())
    skipped |= {"simplicial"} - ({"simplicial"} if simplicial else set())
    found: _Findings = {}
    wrong = []
    for quantity in (Quantity.ONE_VS_REST, Quantity.ONE_VS_ONE):
        low, high = -math.inf, math.inf
        low_name = high_name = ""
        for limit in limits(quantity):
            if limit.name in skipped:
                continue
            key = limit.name, limit.exists, limit.bounds_rho
            if key not in found:
                found[key] = limit.evaluate(d, K)
            finding = found[key]
            if finding is None or not finding.valid:
                continue
            value = finding.value if quantity == Quantity.ONE_VS_REST else 1.0 - finding.value
            side = limit.side(quantity)
            if not _possible(value, quantity, limit.exists):
                wrong.append(f"({d}, {K}) {quantity} {limit.name} = {value!r}")
            if side == "lower" and value > low:
                low, low_name = value, limit.name
            elif side == "upper" and value < high:
                high, high_name = value, limit.name
        slack = TOLERANCE * (high if quantity == Quantity.ONE_VS_REST else 1.0)
        if not low <= high + slack:
            wrong.append(f"({d}, {K}) {quantity} {low_name} {low!r} > {high_name} {high!r}")
    return wrong


def _possible(value: float, quantity: Quantity, exists: bool) -> bool:
    """Nothing is proved to be impossible at all, but a guarantee may be too small for a double."""
    if quantity == Quantity.ONE_VS_ONE:
        return -1.0 <= value <= 1.0
    return 0.0 <= value <= 2.0 and (exists or value > 0.0)
