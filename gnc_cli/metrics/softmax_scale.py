"""The scale from which softmax brings every class to a probability."""

import math

__all__ = ["softmax_scale"]


def softmax_scale(log_others: float, probability: float, margin: float) -> float:
    """The smallest scale s = 1/tau that is enough where every margin is at least `margin`.

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
    return max(0.0, log_others + math.log(probability) - math.log1p(-probability)) / margin
