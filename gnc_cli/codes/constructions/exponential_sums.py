"""The largest exponential sums of polynomials over a prime field: exact maxima, not only bounds.

Weil bounds the sum of exp(2 pi i f(x) / p) over x mod p by (deg f - 1) sqrt(p). The largest sum of
a linear set of polynomials is found by transforms: those in c of all a x^k + .. + c x at once, with
a from one class modulo k-th powers each, since x -> s x takes a to a s^k.

Source: A. Weil, 1948, On some exponential sums.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import gcd, pi

import numpy as np

__all__ = ["Peak", "largest_odd_sum"]

_TIE = 1e-9
"""Sums this near to the largest, relative to it, are its conjugates."""


@dataclass(frozen=True)
class Peak:
    """The largest sum in absolute value, divided by p."""

    value: float
    """Right to a few ulp."""
    coefficients: tuple[int, ...]
    """Of a polynomial that attains it: of x, x^3, .."""
    p: int

    @property
    def text(self) -> str:
        """The formula."""
        terms = [
            ("" if c == 1 else f"{c}*") + ("x" if e == 1 else f"x^{e}")
            for e, c in zip(range(1, 99, 2), self.coefficients, strict=False)
            if c
        ]
        polynomial = "+".join(reversed(terms))
        return f"|sum(cos(2*pi*({polynomial})/{self.p}), x=0..{self.p - 1})|/{self.p}"


@lru_cache(maxsize=2048)
def largest_odd_sum(p: int, degree: int) -> Peak:
    """The largest |sum over x mod p of exp(2 pi i f(x) / p)| / p, f odd of exactly this degree.

    f(x) = c x + .. + a x^degree has odd powers only, so the sum is real. The whole set of sums is
    seen: a of each class stands for all, and the transform goes through all c.

    Args:
        p: a prime above `degree`.
        degree: 3 or 5, say; p^((degree - 3) / 2) transforms of length p for each class of a.

    Example:
        >>> largest_odd_sum(11, 3).text
        '|sum(cos(2*pi*(x^3+6*x)/11), x=0..10)|/11'
        >>> largest_odd_sum(11, 3).value < 2 / 11**0.5
        True
    """
    x = np.arange((p + 1) // 2)
    square = x * x % p
    angles = 2 * pi / p * np.arange(p)
    waves = np.empty(p, dtype=np.complex128)
    waves.real, waves.imag = np.cos(angles), np.sin(angles)
    # Coefficients from the highest power down; c, of x, is the transform's variable.
    heads = list(product(_classes(p, degree), *[range(p)] * ((degree - 3) // 2)))
    f = np.zeros((len(heads), len(x)), dtype=np.int64)
    for column in np.array(heads).T:
        f = (f * square + column[:, None]) % p
    sums = np.abs(np.fft.hfft(waves[f * (square * x % p) % p], p))
    row, c = divmod(int(np.argmax(sums >= sums.max() * (1 - _TIE))), p)
    return Peak(float(sums.max()) / p, (-c % p, *reversed(heads[row])), p)


def _classes(p: int, k: int) -> list[int]:
    """The least element of each class of nonzero residues modulo k-th powers."""
    number = gcd(k, p - 1)
    least: dict[int, int] = {}
    for a in range(1, p):
        least.setdefault(pow(a, (p - 1) // number, p), a)
        if len(least) == number:
            break
    return list(least.values())
