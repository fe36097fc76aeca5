"""Scale s = 1/tau that softmax needs: for one margin, and for the best possible code.

Logits are `s <w_j, h>` of unit rows and unit features, without bias. The odds against class y are
the sum over j != y of `exp(-s g_j)`, with the gaps `g_j = <w_y - w_j, h>`; its probability is p or
more if and only if they are (1 - p)/p or less. Write L = ln((K - 1) p / (1 - p)).

**Enough.** If every gap is at least rho, the odds are at most (K - 1) exp(-s rho), and
`s >= L / rho` is enough. The best features have such gaps, rho the one-vs-rest distance
(lemma C.4 of arXiv 2310.05351).

**Needed.** Let every class have probability p with a feature of its own. By Jensen's inequality
`(K - 1) exp(-s g) <= (1 - p)/p` with g the mean of a class's gaps, so s g >= L. The mean of g over
all classes is the sum of `<w_y - w, h_y>` divided by K - 1, w the mean of the rows. It is at most
K/(K - 1), since the mean of |w_y - w|^2 is 1 - |w|^2. So `s >= (K - 1)/K L`: CosFace's bound
(Wang et al., arXiv 1801.09414, property 3), in every dimension. The smallest gap of a class alone
also shows `s >= ln(p / (1 - p)) / rho`, rho the largest possible distance. A simplex
(K <= d + 1, rho = K/(K - 1)) needs exactly L / rho.
"""

import math

from gnc_cli.brackets import Bracket


def softmax_scale(log_others: float, probability: float, margin: float) -> float:
    """Compute the smallest scale s = 1/tau that is enough if every margin is at least `margin`.

    The probability of the right class is at least 1/(1 + (K - 1) exp(-s margin)), so
    s = ln((K - 1) p / (1 - p)) / margin is enough.

    Args:
        log_others: ln(K - 1).
        probability: p, between 0 and 1.
        margin: one-vs-rest distance, above 0.

    Returns:
        At least 0: with s = 0 all K classes have probability 1/K.

    Example:
        >>> round(softmax_scale(math.log(999_999), 0.9, 0.3), 3)
        53.376
    """
    return max(0.0, log_others + _log_odds(probability)) / margin


def least_scale(K: int, probability: float, rho: Bracket) -> Bracket:
    """Bracket the smallest scale at which some code gives every class the probability.

    Features are those with the largest gaps.

    Args:
        K: number of classes, at least 2.
        probability: p, between 0 and 1.
        rho: the largest one-vs-rest distance of K points, in any dimension.

    Returns:
        From the scale that every code needs to the one that is enough for the best code.

    Example:
        >>> simplex = least_scale(4, 0.9, Bracket(4 / 3, 4 / 3))
        >>> f"{simplex:.6f}", round(math.log(27) * 3 / 4, 6)
        ('2.471878', 2.471878)
    """
    log_others = math.log(K - 1)
    sufficient = softmax_scale(log_others, probability, rho.lower)
    mean_gap = softmax_scale(log_others, probability, K / (K - 1))
    smallest_gap = _log_odds(probability) / rho.upper
    return Bracket(min(max(mean_gap, smallest_gap), sufficient), sufficient)


def adacos_scale(K: int) -> float:
    """Compute the fixed scale of AdaCos, sqrt(2) ln(K - 1) (Zhang et al., arXiv 1905.00292).

    It is `softmax_scale` of probability 1/2 and margin cos(pi/4).

    Example:
        >>> round(adacos_scale(85_742), 3)
        16.064
    """
    return math.sqrt(2.0) * math.log(K - 1)


def _log_odds(probability: float) -> float:
    return math.log(probability) - math.log1p(-probability)
