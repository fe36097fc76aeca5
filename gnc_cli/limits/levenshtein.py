"""Levenshtein's bound: how many points a largest cosine allows, by polynomials of every degree.

For each degree m there is a bound L_m(s) on the size of a code in R^d with largest cosine s. It
holds on an interval of s that begins where L_m is the least size D(d, m) of a design of strength
m, and ends at D(d, m+1), where L_(m+1) takes over: the degree follows from K in whole numbers. With
q and p the halves of m rounded down and up, c = 1 - s the clearance, the bound of both parities is

    L_m = w D(d, 2q) V' / ((d-1) V + 2 V'),    V = 2F1(-p, q+d-1; (d+1)/2; c/2),   V' = c dV/dc,

w = 2 for even m and 2 + (d-1)/p for odd m. So L_m(s) = K asks for the first root of a polynomial.

References:
    V. I. Levenshtein, On bounds for packings in n-dimensional Euclidean space, Soviet Math. Dokl.
    20 (1979); Universal bounds for codes and designs, Handbook of Coding Theory (1998), sec. 5.
    P. Delsarte, J. M. Goethals, J. J. Seidel, Spherical codes and designs (1977): D(d, m).
"""

import math
import sys
from fractions import Fraction
from typing import Any

from gnc_cli.limits.counting import counted
from gnc_cli.limits.levenshtein_sums import Valley, binary, first_root, first_valley, sums
from gnc_cli.limits.limit import Count, Finding, Limit

__all__ = ["LEVENSHTEIN", "Levenshtein", "design_size"]

_BITS = 192
"""Of a count with at most fifteen digits and the clearance it belongs to."""
_EXACT_COMB = 1000
_ROUNDING = Fraction(1, 2**50)


def design_size(d: int, m: int) -> int:
    """D(d, m): no spherical design of strength m in R^d has fewer points.

    Example:
        >>> [design_size(3, m) for m in range(5)]
        [1, 2, 4, 6, 9]
    """
    k = m // 2
    size = math.comb(k + d - 1, k)
    return 2 * size if m % 2 else size + size * k // (k + d - 1)


def _degree(d: int, clearance: float, valley: Valley) -> tuple[int, float]:
    """The degree m of the bound and L_m / D(d, 2 (m // 2)), by differences of P_k at their end."""
    k = valley.k
    # Halves of m: k - 1 rounded down, k or k - 1 rounded up.
    fall = valley.fall * (d - 1) / (2 * k + d - 3)
    share = 1.0 - fall / valley.floor
    # D(d, 2k-1) / D(d, 2k-2), where odd degrees begin.
    if share >= 2 * (k + d - 2) / (2 * k + d - 3):
        return 2 * k - 1, share
    before = valley.floor + clearance * valley.fall
    return 2 * k - 2, 1.0 - (2.0 - clearance) * fall / (before + valley.floor)


def _log_size(d: int, q: int) -> float:
    """log D(d, 2q)."""
    if min(d, q) <= _EXACT_COMB:
        return math.log(design_size(d, 2 * q))
    choose = math.lgamma(q + d) - math.lgamma(q + 1) - math.lgamma(d)
    return choose + math.log1p(q / (q + d - 1))


def _astray(d: int, m: int, value: Fraction) -> int:
    """By how much rounding missed the degree: L_m(s) lies between D(d, m) and D(d, m+1)."""
    return (value > design_size(d, m + 1)) - (m > 1 and value < design_size(d, m))


def _nearly(d: int, m: int, clearance: Fraction) -> Fraction:
    """L_m at that clearance to fifty digits, for degrees of any size."""
    a, e = binary(clearance, _BITS)
    bits = _BITS
    while True:
        (value, slope, *_), noise_bits = sums(d, (m + 1) // 2, m // 2 + d - 1, a, e, bits)
        below = (d - 1) * value + 2 * slope
        missing = noise_bits + d.bit_length() + _BITS - min(abs(slope), abs(below)).bit_length()
        if missing <= 0:
            return _weighted_size(d, m) * Fraction(slope, below)
        bits += missing + 32


def _weighted_size(d: int, m: int) -> Fraction:
    """w D(d, 2q)."""
    weight = 2 + Fraction(d - 1, (m + 1) // 2) if m % 2 else Fraction(2)
    return weight * design_size(d, 2 * (m // 2))


class Levenshtein(Limit):
    """The largest cosine of K points is at least the s with L(d, s) = K.

    Every sharp code attains it. No degree is too high: it follows from K in whole numbers, and the
    sums have as many terms as their value needs. At most ten milliseconds for K up to 10^300.
    """

    name = "levenshtein"
    source = "Levenshtein 1979, 1998 (universal bounds for codes and designs)"
    exists = False

    def at(self, d: int, K: int) -> Finding:
        """1 - s, where L(d, s) = K; never below the least normal float."""
        m = self._strength(d, K)
        size = _weighted_size(d, m)
        p = (m + 1) // 2
        A, B = (d - 1) * K * p, int((2 * K - size) * p)
        return Finding(max(first_root(d, p, m // 2 + d - 1, A, B), sys.float_info.min))

    def points(self, d: int, target: Fraction) -> Count | None:
        """floor L(d, 1 - target).

        None where the degree is out of reach: targets below 1e-11 for d = 3, 8e-8 for d = 10^6.
        """
        valley = first_valley(d, float(target))
        if valley is None:
            return None
        m, share = _degree(d, float(target), valley)
        log10 = (_log_size(d, m // 2) + math.log(share)) / math.log(10.0)

        def formula() -> Any:
            from mpmath import mpf

            value = _nearly(d, m, target)
            value = _nearly(d, m + _astray(d, m, value), target)
            return mpf(value.numerator) / value.denominator

        return counted(log10, formula)

    def ceiling(self, K: int) -> Fraction:
        """Above K / (K - 1), the simplex, which is reached from d = K - 1 on, but for rounding."""
        return Fraction(K, K - 1) * (1 + _ROUNDING)

    @staticmethod
    def _strength(d: int, K: int) -> int:
        """The m with D(d, m) <= K < D(d, m+1)."""
        low, high = 0, 1
        while design_size(d, 2 * high) <= K:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if design_size(d, 2 * middle) <= K else (low, middle)
        return 2 * low + (design_size(d, 2 * low + 1) <= K)


LEVENSHTEIN = Levenshtein()
"""Levenshtein's bound in all dimensions."""
