"""Whether a construction is worth a search beside it, by yardsticks that cost nothing.

Neither yardstick is a proof, and none enters a result: they only decide what is tried.
"""

from math import comb

from gnc_cli.codes.constructions.construction import Construction
from gnc_cli.codes.effort import LARGE, MAX_UNKNOWNS

__all__ = ["near_optimal", "promising", "welch"]

_NEAR = {False: 1.45, True: 1.75}
"""Descents seldom come nearer to Welch's bound than this factor; those of more than `LARGE`
points (True) stay farther away from it."""
_PROMISING = 1.5
"""A start this near to Welch's bound may lead somewhere."""
_MOST_WORK = 2e10
"""K^2 d beyond which a descent of minutes only makes a beginning: a step takes seconds."""


def near_optimal(construction: Construction) -> bool:
    """No descent of a few minutes is likely to do better: proved, near Welch's bound, or huge."""
    d, K = construction.d, construction.K
    near = construction.cosine.value <= _NEAR[K > LARGE] * welch(d, K)
    return construction.proven or (near and K * d > MAX_UNKNOWNS) or float(K) * K * d > _MOST_WORK


def promising(construction: Construction) -> bool:
    """Its cosine is so near to what codes of its size reach that a descent may start from it."""
    d, K = construction.d, construction.K
    return construction.cosine.value <= _PROMISING * max(welch(d, K), 1.0 / d)


def welch(d: int, K: int) -> float:
    """Welch's lower bound on the largest absolute cosine of K unit vectors in R^d.

    The best over powers k of `((K / binomial(d + k - 1, k) - 1) / (K - 1))^(1 / 2k)`. (L. R. Welch,
    Lower bounds on the maximum cross correlation of signals, 1974.) Antipodal codes have one line
    for two rows, which is what K / 2 stands for here.

    Example:
        >>> round(welch(512, 10000), 3)
        0.042
    """
    lines = K / 2
    bounds = [0.0]
    for k in range(1, 12):
        dimensions = comb(d + k - 1, k)
        if dimensions >= lines:
            break
        bounds.append(((lines / dimensions - 1.0) / (lines - 1.0)) ** (0.5 / k))
    return max(bounds)
