"""Lines through the origin: how small their cosines can be, the largest and the mean square.

K unit vectors span K lines; the largest absolute cosine of two is their **coherence**. With their
negatives they are an antipodal code of 2 K points, whose largest cosine is the coherence: each
bound on t*(d, 2 K) is one on the coherence, of which Levenshtein's is taken. Welch's bounds
(`gram.welch`) are of lines alone, and stronger where no optimal code is antipodal.

The mean square over all pairs, `sum_(k != j) <w_k, w_j>^2 = |W^T W|^2 - K`, is least where `W^T W`
is a multiple of the identity (a tight frame), by Cauchy and Schwarz on its d eigenvalues, whose sum
is K; K <= d orthogonal vectors have 0.

Reference: J. J. Benedetto, M. Fickus, Finite normalized tight frames, Adv. Comput. Math. 18 (2003).
"""

import math

from gnc_cli.brackets import Bracket
from gnc_cli.geometry.gram import welch
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.limit import ROUNDING


def least_mean_square(d: int, K: int) -> float:
    """The least mean of the squared cosines of two of K unit vectors in R^d, always attained.

    Example:
        >>> least_mean_square(2, 3), least_mean_square(4, 3)
        (0.25, 0.0)
    """
    return max(0.0, (K - d) / (d * (K - 1)))


def least_coherence(d: int, K: int, attained: float = 1.0) -> Bracket:
    """The least coherence of K lines in R^d, d and K at least 2.

    Args:
        attained: the coherence of lines at hand; the upper end where no closed form is known:
            orthogonal lines for K <= d, a simplex for K = d + 1, lines at equal angles for d = 2.

    Returns:
        The lower end is the better of Welch's bounds and Levenshtein's on t*(d, 2 K), loosened by
        their rounding.

    Example:
        >>> f"{least_coherence(3, 4):.9f}", f"{least_coherence(2, 5):.9f}"
        ('0.333333333', '0.809016994')
    """
    upper = attained
    if K <= d + 1:
        upper = 0.0 if K <= d else 1.0 / d
    elif d == 2:
        upper = math.cos(math.pi / K)
    lower = max(welch(d, 2 * K), 1.0 - LEVENSHTEIN.at(d, 2 * K).value)
    lower = max(0.0, lower - ROUNDING)
    return Bracket(min(lower, upper), upper)
