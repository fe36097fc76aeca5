"""The Faddeeva function w(z) = exp(-z^2) erfc(-iz) in the upper half plane, without SciPy."""

import math
from functools import lru_cache
from typing import TypeVar

import numpy as np

__all__ = ["faddeeva"]

_TERMS = 40
_ROOT_PI = math.sqrt(math.pi)

Point = TypeVar("Point", complex, np.ndarray)


def faddeeva(z: Point) -> Point:
    """w(z) with a relative error of some 1e-15, for Im z >= 0.

    A rational approximation (Weideman, Computation of the complex error function, SIAM J. Numer.
    Anal. 31, 1994): z goes to the unit disk, w to a power series there, whose coefficients are
    Fourier sums. Its leading term, i / (sqrt(pi) z), is exact, so the error stays relative however
    large z is.

    Args:
        z: a complex number or an array of any shape, complex128, Im z >= 0.

    Example:
        >>> faddeeva(0j)
        (1+0j)
    """
    width, coefficients = _weideman()
    q = 1.0 / (width - 1j * z)
    t = (width + 1j * z) * q
    series = coefficients[-1] * t + coefficients[-2]
    for a in coefficients[-3::-1]:
        series = series * t + a
    return (2.0 * series * q + 1.0 / _ROOT_PI) * q


@lru_cache(maxsize=1)
def _weideman() -> tuple[float, list[float]]:
    """The width L of the map (L + iz) / (L - iz), and the coefficients of the series."""
    width = math.sqrt(_TERMS / math.sqrt(2.0))
    count = 4 * _TERMS
    angle = 2.0 * math.pi / count * np.arange(1 - count // 2, count // 2)
    t = width * np.tan(angle / 2.0)
    samples = np.exp(-t * t) * (width * width + t * t)
    orders = np.arange(1, _TERMS + 1)
    return width, [float(a) for a in np.cos(np.outer(orders, angle)) @ samples / count]
