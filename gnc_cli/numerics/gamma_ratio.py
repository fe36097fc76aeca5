"""The ratio of two neighbouring Gamma functions, which every formula about spheres needs.

At x = 5e5 the difference of two `math.lgamma` loses nine digits; the ratio itself is smooth:

    log(Gamma(x + 1/2) / Gamma(x)) ~ log(y)/2 - sum_{j >= 1} E_2j / (4^(2j+1) j y^(2j)),
    y = x - 1/4,

with the Euler numbers E_2, E_4, ... = -1, 5, -61, 1385, ...: seen from the middle of the two
arguments the expansion has even powers only, so that six of them are enough from x = 12 on.

References:
    NIST Digital Library of Mathematical Functions, 5.11.8 and 24.4.31, https://dlmf.nist.gov
"""

import math

__all__ = ["log_gamma_ratio"]

_FAR = 12.0
"""From here on the first term left out is below 3e-17."""

_TERMS = tuple(
    -euler / (4.0 ** (2 * j + 1) * j)
    for j, euler in enumerate((-1.0, 5.0, -61.0, 1385.0, -50521.0, 2702765.0), start=1)
)


def log_gamma_ratio(x: float) -> float:
    """log(Gamma(x + 1/2) / Gamma(x)), to about one rounding of its value.

    Args:
        x: positive; absolute error below 2e-15 up to 1e7.

    Example:
        >>> math.exp(2.0 * log_gamma_ratio(0.5)) * math.pi
        1.0
    """
    shrunk = 1.0
    while x < _FAR:
        # Gamma(x + 1/2) / Gamma(x) = x / (x + 1/2) times the same one further up.
        shrunk *= x / (x + 0.5)
        x += 1.0
    y = x - 0.25
    inverse_square = 1.0 / (y * y)
    tail = 0.0
    for term in reversed(_TERMS):
        tail = (tail + term) * inverse_square
    return 0.5 * math.log(y * shrunk * shrunk) + tail
