"""Quick descents: L-BFGS on the smoothed maximum at rising sharpness, in NumPy and SciPy alone.

A start takes a tenth of a second at (10, 100), and torch and geoopt need not be loaded for it: the
first candidates of a search come from here. The gradients are those of `geometry.smoothing`, of
which this is the unsymmetric Tammes case in float64.
"""

from collections.abc import Callable

import numpy as np

from gnc_cli.runtime.deadline import Deadline
from gnc_cli.search.descent import lbfgs

MOST_POINTS = 1000
"""Beyond, a descent of this kind is not quick."""
_STAGES = 16
_STEPS = 120
"""L-BFGS steps of a stage at most."""
_LEAST = 0.3
"""The least share of them."""
_SECONDS = 1.0
"""All descents of a call together aim at this, on one core."""
_PER_PAIR, _PER_PAIR_AND_DIMENSION = 1.0e-8, 2.0e-10
_FLOOR = -60.0


def quick_descents(
    starts: np.ndarray, sharpness: np.ndarray, end: float, share: float, deadline: Deadline
) -> tuple[np.ndarray, np.ndarray, int]:
    """Descend from each start (R, K, d) while the sharpness grows from `sharpness` (R,) to `end`.

    Args:
        share: of the steps that a stage may have.

    Returns:
        The codes (R', K, d) that time allowed (one at least), the values that their basins lead to
        (R',), and the steps made.
    """
    codes, estimates, steps = [], [], 0
    steps_of_a_stage = max(1, round(max(_LEAST, share) * _STEPS))
    for code, first in zip(starts, sharpness, strict=True):
        for beta in np.geomspace(first, end, _STAGES):
            code, made = lbfgs(
                _smoothed(beta), code, on_sphere=True, max_steps=steps_of_a_stage, memory=10,
                tolerance=1e-12, deadline=deadline,
            )  # fmt: skip
            steps += made
        codes.append(code)
        estimates.append(_estimate(code, end))
        if deadline.expired:
            break
    return np.array(codes), np.array(estimates), steps


def number_of_starts(d: int, K: int, share: float) -> int:
    """How many descents a second holds; one to sixteen."""
    evaluation = 5e-5 + K * K * (_PER_PAIR + d * _PER_PAIR_AND_DIMENSION)
    return int(np.clip(_SECONDS / (_STAGES * max(_LEAST, share) * _STEPS * evaluation), 1, 16))


def _weights(code: np.ndarray, beta: float) -> tuple[float, np.ndarray, np.ndarray]:
    """The largest cosine, all cosines, and exp(beta (cosine - largest)), both with no diagonal."""
    gram = code @ code.T
    np.fill_diagonal(gram, -2.0)
    top = float(gram.max())
    weights = np.exp(np.maximum(beta * (gram - top), _FLOOR))
    np.fill_diagonal(weights, 0.0)
    return top, gram, weights


def _smoothed(beta: float) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    def value_and_gradient(code: np.ndarray) -> tuple[float, np.ndarray]:
        top, _, weights = _weights(code, beta)
        total = float(weights.sum())
        return top + np.log(total) / beta, (2.0 / total) * (weights @ code)

    return value_and_gradient


def _estimate(code: np.ndarray, beta: float) -> float:
    _, gram, weights = _weights(code, beta)
    return float((weights * gram).sum() / weights.sum())
