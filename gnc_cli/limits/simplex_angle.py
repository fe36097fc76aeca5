"""The cone spanned by n unit vectors with one common angle: its share of the sphere.

The share is the Gaussian measure of the cone, an integral over the n coefficients whose exponent is
diagonal but for the square of their sum. One more integral makes that square linear, all n factors
become equal, and

    share = 2^-n sqrt((1 + n q) / pi) * integral over R of exp(-y^2) w(y sqrt(q))^n dy,

q = c / (1 - c), c the common cosine, w the Faddeeva function. On the line through the saddle point,
which lies on the imaginary axis, nothing oscillates or cancels, and the trapezoid rule converges
exponentially, whatever n: 41 points give full precision.
"""

import math
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

Point = TypeVar("Point", complex, np.ndarray)

_MOST_STEPS = 50
"""Of Newton's method, which takes four at most."""
_MOST_TERMS = 20
"""Of the precise sum, for each digit; it takes less than five."""
_STEP = 0.35
"""Of the trapezoid rule, in standard deviations of the Gaussian at the saddle point."""
_NODES = np.arange(41)
"""The integrand at -x is the conjugate of that at x."""


def log_simplex_share(n: int, q: float) -> float:
    """Logarithm of the share of S^(n-1) in the cone of n unit vectors with pairwise cosine c.

    Args:
        n: from 2; vectors and dimensions.
        q: c / (1 - c), c in [0, 1): it keeps all digits both where c is small and where 1 - c is.
            Up to 1e32.

    Returns:
        The logarithm, with an absolute error below n * 1e-14.

    Raises:
        ArithmeticError: q is NaN or infinite.

    Example: an eighth of the sphere.
        >>> round(math.exp(log_simplex_share(3, 0.0)), 12)
        0.125
    """
    eta, deviation = _saddle(n, q)
    step = _STEP * deviation
    x = step * _NODES
    w = faddeeva(math.sqrt(q) * (x + 1j * eta))
    top = float(w[0].real)
    heights = np.exp(n * np.log(w / top) - x * (x + 2j * eta)).real
    area = step * float(2.0 * heights.sum() - heights[0])
    return eta * eta + n * math.log(top / 2.0) + math.log(area * math.sqrt((1.0 + n * q) / math.pi))


def precise_simplex_share(n: int, q: Any) -> Any:
    """The share as an mpmath number, to the working precision of at most 60 digits.

    Args:
        n: from 3.
        q: an mpmath number, as in `log_simplex_share`.

    Raises:
        ArithmeticError: q is NaN or infinite.
    """
    import mpmath

    mp = mpmath.mp
    digits = mp.dps
    eta, deviation = _saddle(n, float(q))
    # exp(-z^2) and erfc(-iz) are huge and tiny: their exponents take digits.
    with mpmath.workdps(digits + 10 + int(3.0 * math.log10(1.0 + n + float(q)))):
        step = mp.mpf(deviation * 5.6 / digits)
        root = mp.sqrt(q)
        area = mp.mpf(0)
        for j in range(_MOST_TERMS * digits):
            y = mp.mpc(j * step, eta)
            z = root * y
            term = (mp.exp(-y * y - n * z * z) * mp.erfc(mp.mpc(z.imag, -z.real)) ** n).real
            area += term if j == 0 else 2 * term
            if abs(term) < area * mp.mpf(10) ** (-digits - 3):
                break
        else:
            raise ArithmeticError(f"the cone of {n} vectors with q = {q} has no sum")
        share = step * area * mp.sqrt((1 + n * q) / mp.pi) / mp.mpf(2) ** n
    return +share


def _saddle(n: int, q: float) -> tuple[float, float]:
    """The saddle point i eta, and the standard deviation of the integrand along the real axis.

    On the imaginary axis the integrand is exp(eta^2) erfcx(eta sqrt(q))^n, which is log-convex:
    Newton's method for its minimum, from that where erfcx(u) is like 1 / (u + sqrt(u^2 + 1.6)),
    needs two or three steps.
    """
    k = math.sqrt(q)
    eta = math.sqrt(0.4) * n * k / math.sqrt(1.0 + n * q)
    for _ in range(_MOST_STEPS):
        rate, curvature = _decay(k * eta)
        stiffness = 2.0 + n * q * curvature
        change = (2.0 * eta - n * k * rate) / stiffness
        eta -= change
        if change * change * stiffness < 1e-6:
            return eta, 1.0 / math.sqrt(stiffness)
    raise ArithmeticError(f"found no saddle point for the cone of {n} vectors with q = {q}")


def _decay(u: float) -> tuple[float, float]:
    """First (negated) and second derivative of log erfcx at u >= 0."""
    if u > 3.0:  # Laplace's continued fraction: no cancellation where erfcx is like 1/u
        rest = 0.0
        for j in range(40, 1, -1):
            rest = 0.5 * j / (u + rest)
        rate = 1.0 / (u + rest)
    else:
        rate = 2.0 / (math.sqrt(math.pi) * faddeeva(complex(0.0, u)).real) - 2.0 * u
        rest = 1.0 / rate - u
    return rate, rate * (2.0 * rest - rate)


_FADDEEVA_TERMS = 40
_ROOT_PI = math.sqrt(math.pi)


def faddeeva(z: Point) -> Point:
    """w(z) = exp(-z^2) erfc(-iz) with a relative error of some 1e-15, for Im z >= 0.

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
    width = math.sqrt(_FADDEEVA_TERMS / math.sqrt(2.0))
    count = 4 * _FADDEEVA_TERMS
    angle = 2.0 * math.pi / count * np.arange(1 - count // 2, count // 2)
    t = width * np.tan(angle / 2.0)
    samples = np.exp(-t * t) * (width * width + t * t)
    orders = np.arange(1, _FADDEEVA_TERMS + 1)
    return width, [float(a) for a in np.cos(np.outer(orders, angle)) @ samples / count]
