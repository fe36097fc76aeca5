"""Gegenbauer polynomials of R^d, equal to 1 at 1: in floating point, and as exact integers."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

__all__ = ["derivatives", "gegenbauer", "harmonic_logs", "power_coefficients"]


def gegenbauer(d: int, degree: int, x: Any) -> Any:
    """P_0 to P_degree at each x, shape (degree + 1, n).

    Their recurrence: `(i + d - 2) P_{i+1} = (2 i + d - 2) x P_i - i P_{i-1}`.

    Args:
        d: at least 2; d = 2 gives Chebyshev polynomials, d = 3 Legendre polynomials.
        degree: at least 0.
        x: NumPy array in [-1, 1], shape (n,).
    """
    import numpy as np

    values = np.ones((degree + 1, len(x)))
    values[1:2] = x
    for i in range(1, degree):
        values[i + 1] = ((2 * i + d - 2) * x * values[i] - i * values[i - 1]) / (i + d - 2)
    return values


def derivatives(d: int, degree: int, x: Any, order: int = 1) -> Any:
    """Derivatives of P_0 to P_degree at each x, shape (degree + 1, n).

    A derivative is a polynomial of the same kind in R^(d+2), times i (i + d - 2) / (d - 1).
    """
    import numpy as np

    if order == 0:
        return gegenbauer(d, degree, x)
    i = np.arange(1, degree + 1)
    factors = i * ((i + d - 2) / (d - 1))
    inner = derivatives(d + 2, degree, x, order - 1)
    return np.concatenate([np.zeros((1, len(x))), factors[:, None] * inner[:-1]])


def harmonic_logs(d: int, degree: int) -> list[float]:
    """Logarithms of the dimensions of the harmonic spaces of degrees 1 to `degree` in R^d."""
    return [
        math.lgamma(i + d - 2) - math.lgamma(d - 1) - math.lgamma(i + 1) + math.log(2 * i + d - 2)
        for i in range(1, degree + 1)
    ]


def power_coefficients(d: int, coefficients: Sequence[Fraction]) -> list[Fraction]:
    """The powers of x in `sum coefficients[i] P_i`, exactly, constant first.

    Example:
        >>> power_coefficients(3, [Fraction(0), Fraction(0), Fraction(1)])
        [Fraction(-1, 2), Fraction(0, 1), Fraction(3, 2)]
    """
    degree = len(coefficients) - 1
    common = math.lcm(*(c.denominator for c in coefficients))
    # scale * P_i has whole coefficients: `scale` is the product of the i + d - 2 so far.
    before: list[int] = []
    polynomial, scale = [1], 1
    scaled = []
    for i in range(degree + 1):
        scaled.append((polynomial, scale))
        lead, last, step = (2 * i + d - 2, i, i + d - 2) if i else (1, 0, 1)
        after = [0, *(lead * p for p in polynomial)]
        # P_{i-1} lacks the factor i + d - 3 that P_i has, but for i = 1, whose P_0 needs none.
        lacking = last * (i + d - 3 if i > 1 else 1)
        for k, p in enumerate(before):
            after[k] -= lacking * p
        before, polynomial, scale = polynomial, after, scale * step
    top = scaled[-1][1]
    total = [0] * (degree + 1)
    for c, (polynomial, scale) in zip(coefficients, scaled, strict=True):
        factor = c.numerator * (common // c.denominator) * (top // scale)
        for k, p in enumerate(polynomial):
            total[k] += factor * p
    return [Fraction(numerator, top * common) for numerator in total]
