"""How far a cross-entropy stands from its tau -> 0 limit, HardMax (lemma 3.1, eq. C.13)."""

from fractions import Fraction

import numpy as np

from gnc_cli.numerics.directed import rounded_down, rounded_up
from gnc_cli.numerics.rounding import gamma
from gnc_cli.results import Bracket

__all__ = ["hardmax_band", "hardmax_gap", "rho_by_theorem"]


def rho_by_theorem(d: int, K: int) -> Bracket:
    """What theorem 3.3 says of the largest one-vs-rest distance, known up to K = 2d and for d = 2.

    Beyond, rho never exceeds 1, and the lower end is 0.

    Example:
        >>> rho_by_theorem(3, 6), rho_by_theorem(3, 7)
        (Bracket(lower=1.0, upper=1.0), Bracket(lower=0.0, upper=1.0))
    """
    if K <= d + 1:
        exact = Fraction(K, K - 1)
        return Bracket(rounded_down(exact), rounded_up(exact))
    if K <= 2 * d:
        return Bracket(1.0, 1.0)
    if d == 2:
        rho = 2 * float(np.sin(np.pi / K)) ** 2
        return Bracket(rho * (1.0 - gamma(8)), rho * (1.0 + gamma(8)))
    return Bracket(0.0, 1.0)


def hardmax_band(K: int, tau: float, n: int = 1) -> Bracket:
    """Where `tau * log(sum of losses)` lies above the HardMax value, on the right side (eq. C.13).

    The band holds for every W and H whose margins are all at least 0, and for the difference of the
    two minima. The upper end is the paper's; its lower end -tau log K is sharpened to tau log log 2
    by log(1 + u) >= u log 2 on [0, 1] for the worst sample.
    """
    return Bracket(tau * float(np.log(np.log(2.0))), tau * float(np.log(n * K * (K - 1))))


def hardmax_gap(d: int, K: int, tau: float, log_total: float, hardmax: float) -> Bracket:
    """Certified interval for `tau * log_total + rho`: the scaled loss against the HardMax optimum.

    rho is the largest one-vs-rest distance for (d, K), so -rho is the optimum of HardMax
    (theorem 3.2), the limit of the scaled loss as tau -> 0 (lemma 3.1). Both ends hold for every
    pair of unit W and H, whether or not a search has found the best one: rho is at least the
    smallest margin of this pair (lemma C.4), at most what theorem 3.3 allows, and no pair's loss
    lies below the band under the optimum.

    Args:
        d: dimension.
        K: number of classes.
        tau: temperature.
        log_total: log of the sum of the losses.
        hardmax: HardMax value of the pair, -(smallest margin).

    Example:
        >>> hardmax_gap(3, 4, 0.5, -2.0, -4 / 3)  # theorem 3.3: rho is 4/3
        Bracket(lower=0.33333333333333326, upper=0.3333333333333335)
    """
    # The margin of a pair is computed, as a product with a difference of rows.
    margin = -hardmax - 4.0 * gamma(d + 3)
    rho = rho_by_theorem(d, K)
    scaled = tau * log_total
    lower = max(scaled + max(rho.lower, margin), hardmax_band(K, tau).lower)
    return Bracket(lower, scaled + rho.upper)
