"""Quick descents: L-BFGS on the smoothed maximum at rising sharpness, in NumPy and SciPy alone.

A start takes a fifth of a second at (10, 100), over orbits of a group a few hundredths, and torch
and geoopt need not be loaded for it: the first candidates of a search come from here. The gradients
are those of `geometry.smoothing`, of which this is the Tammes case in float64.

Half-way, where the smallest distances are already told from the others, estimates have the order of
the ends (correlation 0.99 at (10, 100)): the best quarter goes on, at nearly half the time for all.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.descent import lbfgs
from gnc_cli.search.parametrisation import Parametrisation

MOST_POINTS = 1000
"""Beyond, a free descent of this kind is not quick."""
STAGES, STEPS = 16, 120
"""Sharpnesses of a free descent, and the most L-BFGS steps at each of them."""
_LEAST = 0.5
"""The least share of the steps, in the first rounds."""
_RANKED_FROM = 0.03
"""Descents are ranked once the sharpness exceeds this share of its final value: from there on the
order of their estimates no longer changes."""
_CONTINUED = 4
"""One in this many starts is continued."""
_WHOLE = 0.65
"""Mean length of a descent, as a share of a whole one: most end half-way."""
_SECONDS = 1.0
"""All descents of a call together aim at this, on one core."""
_PER_PAIR, _PER_PAIR_AND_DIMENSION = 1.0e-8, 2.0e-10
_PER_ENTRY = 1.2e-9
"""Of the matrices that make a code from its unknown rows."""
_FLOOR = -60.0


@dataclass(frozen=True)
class QuickEnd:
    """Where one of several descents led to."""

    start: int
    """Its place among the starts."""
    rows: np.ndarray
    """The unknown rows, shape (M, d)."""
    value: float
    """An estimate of where the basin leads."""


def quick_descents(
    parametrisation: Parametrisation,
    starts: np.ndarray,
    sharpness: np.ndarray,
    end: float,
    deadline: Deadline,
    stages: int = STAGES,
    steps: int = STEPS,
) -> tuple[list[QuickEnd], int, int]:
    """Descend from each start (R, M, d) while the sharpness grows from `sharpness` (R,) to `end`.

    Args:
        parametrisation: free, or the orbits of a group; no given rows.
        stages, steps: sharpnesses, and steps at each of them at most.

    Returns:
        The ends of the best quarter of the starts, or of the best one; how many starts time allowed
        (one at least); the steps made.
    """
    total = 0

    def descend(rows: np.ndarray, grid: np.ndarray) -> np.ndarray:
        nonlocal total
        for beta in grid:
            rows, made = lbfgs(
                _smoothed(parametrisation, beta),
                rows,
                on_sphere=True,
                max_steps=steps,
                memory=10,
                tolerance=1e-12,
                deadline=deadline,
            )
            total += made
        return rows

    half_way: list[QuickEnd] = []
    middle = _RANKED_FROM * end
    grids = [np.geomspace(first, end, stages) for first in sharpness]
    for at, (rows, grid) in enumerate(zip(starts, grids, strict=True)):
        rows = descend(rows, grid[grid < middle])
        half_way.append(QuickEnd(at, rows, _estimate(parametrisation, rows, middle)))
        if deadline.expired:
            break
    half_way.sort(key=lambda each: each.value)
    ends = []
    for each in half_way[: -(-len(half_way) // _CONTINUED)]:
        grid = grids[each.start]
        rows = descend(each.rows, grid[grid >= middle])
        ends.append(QuickEnd(each.start, rows, _estimate(parametrisation, rows, end)))
    return ends, len(half_way), total


def steps_of_a_stage(share: float) -> int:
    """Steps at each sharpness for a share of the whole effort."""
    return max(1, round(max(_LEAST, share) * STEPS))


def evaluation_seconds(d: int, rows: int, K: int) -> float:
    """Of one value and gradient, roughly; a code of fewer unknown `rows` than K has a symmetry."""
    images = K * d * d * _PER_ENTRY if rows < K else 0.0
    return 5e-5 + rows * K * (_PER_PAIR + d * _PER_PAIR_AND_DIMENSION) + images


def number_of_starts(d: int, K: int, share: float) -> int:
    """How many free descents a second holds; one to sixteen."""
    one = _WHOLE * STAGES * max(_LEAST, share) * STEPS * evaluation_seconds(d, K, K)
    return int(np.clip(_SECONDS / one, 1, 16))


def _weights(
    parametrisation: Parametrisation, rows: np.ndarray, beta: float
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """The whole code, its largest cosine, the cosines (M, K) of the unknown rows, and the weights
    exp(beta (cosine - largest)) of all pairs, a row for its whole orbit; none for a row itself."""
    code = parametrisation.code(rows)
    own = np.arange(len(rows)), parametrisation.representatives
    gram = rows @ code.T
    gram[own] = -2.0
    top = float(gram.max())
    weights = np.exp(np.maximum(beta * (gram - top), _FLOOR))
    weights[own] = 0.0
    if parametrisation.source is not None:
        weights *= np.bincount(parametrisation.source)[:, None]
    return code, top, gram, weights


def _smoothed(
    parametrisation: Parametrisation, beta: float
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    def value_and_gradient(rows: np.ndarray) -> tuple[float, np.ndarray]:
        code, top, _, weights = _weights(parametrisation, rows, beta)
        total = float(weights.sum())
        # Each pair counts for both of its rows, and the images of a row move with it.
        gradient = (2.0 / total) * (weights @ code)
        if parametrisation.projections is not None:
            gradient = np.einsum("mab,mb->ma", parametrisation.projections, gradient)
        return top + np.log(total) / beta, gradient

    return value_and_gradient


def _estimate(parametrisation: Parametrisation, rows: np.ndarray, beta: float) -> float:
    _, _, gram, weights = _weights(parametrisation, rows, beta)
    return float((weights * gram).sum() / weights.sum())
