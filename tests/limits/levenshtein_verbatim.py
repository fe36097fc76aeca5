"""Levenshtein's bound as he writes it: a witness for the sums that the package takes."""

import math
from fractions import Fraction
from typing import TypeVar

from mpmath import mpf

Number = TypeVar("Number", Fraction, mpf)


def verbatim(d: int, clearance: Number) -> Number:
    """Levenshtein's L(d, s), s = 1 - clearance, by three-term recursions; exact for fractions.

    The largest zero of the k-th Jacobi polynomial is below s if and only if all up to the k-th are
    positive there. With exponents one up on both sides they are Gegenbauer's of d + 2, one up on
    one side the differences of Gegenbauer's of d.
    """
    s = 1 - clearance
    one = s**0
    before, P = one, s
    wide_before, wide = one, s
    k = 1
    while True:
        after = ((2 * k + d - 2) * s * P - k * before) / (k + d - 2)
        if P <= after:
            factor = math.comb(k + d - 3, k - 1)
            return factor * (one * (2 * k + d - 3) / (d - 1) - (before - P) / ((1 - s) * P))
        if wide <= 0:
            factor = math.comb(k + d - 2, k)
            ratio = (1 + s) * (P - after) / ((1 - s) * (P + after))
            return factor * (one * (2 * k + d - 1) / (d - 1) - ratio)
        before, P = P, after
        wide_before, wide = wide, ((2 * k + d) * s * wide - k * wide_before) / (k + d)
        k += 1
