"""What Levenshtein's bound sums: Gegenbauer and Jacobi polynomials near 1, with no digit lost.

Everything is written in the clearance c = 1 - s, so that s near 1 is as good as any other. Sums
alternate, and lose hundreds of digits where d and the degree are large: they are taken in integers
that carry as many bits as that costs. The number of terms does not grow with the degree once c is
of the order of degree**-2, where all that is sought lies: degrees of 10^100 are no trouble.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Valley", "binary", "first_root", "first_valley", "sums"]

_GUARD_BITS = 64
"""Bits of a sum that are right, more than a float keeps."""
_SETTLED = 1e-10
"""Laguerre's method cubes the error: after a step this small there is nothing left to gain."""
_DAMPING = 15.0
"""The run-in shrinks an error of its start by exp(-4/3 * 2 * 15)."""
_MOST_STEPS = 2e6
"""Half a second at most."""
_MOST_ROUNDS = 200
"""Of Laguerre's method and of more bits together: 16 for d = 10^6 and K = 10^300."""


def binary(value: Fraction, bits: int) -> tuple[int, int]:
    """A positive number as a / 2^e, a of `bits` bits or one more, rounded down."""
    top, bottom = value.numerator, value.denominator
    e = max(0, bits + bottom.bit_length() - top.bit_length())
    return (top << e) // bottom, e


def sums(d: int, p: int, b: int, a: int, e: int, bits: int) -> tuple[list[int], int]:
    """Sums of j^i v_j, i = 0..3, v_j the terms of V(c) = 2F1(-p, b; (d+1)/2; c/2), c = a / 2^e.

    The i-th is what (c d/dc)^i makes of V.

    Returns:
        The four sums in units of 2^-bits, and how many bits of them are noise.

    Example:
        >>> sums(3, 1, 3, 1, 1, 8)[0]  # V = 1 - 3c/4 at c = 1/2
        [160, -96, -96, -96]
    """
    term = largest = s0 = 1 << bits
    s1 = s2 = s3 = j = 0
    while term and j < p:
        term = -(term * ((p - j) * (b + j) * a) >> e) // ((j + 1) * (d + 1 + 2 * j))
        j += 1
        s0 += term
        moment = j * term
        s1 += moment
        moment *= j
        s2 += moment
        s3 += j * moment
        largest = max(largest, abs(term))
    # Each rounding grows with the terms after it, which rise to the largest and then fall.
    return [s0, s1, s2, s3], 5 * (j + 1).bit_length() + largest.bit_length() - bits


def first_root(d: int, p: int, b: int, A: int, B: int) -> float:
    """The least root of A V + B c dV/dc, V as in `sums`, a polynomial with real roots only.

    Laguerre's method from the left: monotone, cubic, indifferent to the degree.

    Args:
        d, p, b: of V; p, its degree, at least 1.
        A, B: with A and A + B positive.

    Returns:
        The root, correctly rounded but for the last bit.

    Raises:
        ArithmeticError: none was found, as for A = 0.

    Example:
        >>> first_root(3, 1, 3, 1, 0)
        1.3333333333333333
    """
    # Newton's step from c = 0, always short of the root.
    a, e = binary(Fraction(A * (d + 1), (A + B) * p * b), 96)
    weight_bits = max(abs(A), abs(B)).bit_length() + 1
    bits = 128
    for _ in range(_MOST_ROUNDS):
        (s0, s1, s2, s3), noise_bits = sums(d, p, b, a, e, bits)
        value, slope, bend = A * s0 + B * s1, A * s1 + B * s2, A * s2 + B * s3
        missing = noise_bits + weight_bits + _GUARD_BITS - slope.bit_length()
        if missing > 0:
            bits += missing + 32
            continue
        if value <= 0:
            # A step that went too far by its rounding: Newton's method puts that right.
            return (a - int(a * (value / slope))) / (1 << e)
        # Both are for c = 1: steps are relative.
        g = slope / value
        h = g * g - (bend - slope) / value
        share = 1 / p
        step = 1.0 / (math.sqrt((1.0 - share) * (h - share * g * g)) - share * g)
        a += int(a * step)
        if step < _SETTLED:
            return a / (1 << e)
    raise ArithmeticError(f"found no root for d={d}, p={p}, b={b}, A={A}, B={B}")


@dataclass(frozen=True)
class Valley:
    """Where the polynomials P_k(s), P_k(1) = 1, cease to fall with k, all up to one factor."""

    k: int
    """P_0 > P_1 > ... > P_k <= P_(k+1)."""
    floor: float
    """P_k, negative."""
    fall: float
    """(P_(k-1) - P_k) / c, positive."""


def first_valley(d: int, clearance: float) -> Valley | None:
    """The first minimum over k of the Gegenbauer polynomials of R^d at s = 1 - clearance.

    Below the turning index the ratio of neighbours forgets where it started, faster than
    exponentially: the recursion begins shortly before it, with the ratio of constant coefficients.

    Args:
        clearance: in (0, 2].

    Returns:
        None where that takes millions of steps: clearances below 1e-11 for d = 3, below 8e-8 for
        d = 10^6.

    Example:
        >>> first_valley(3, 1.5)
        Valley(k=1, floor=-0.5, fall=1.0)
    """
    c, s = clearance, 1.0 - clearance
    k, q = 0, 1.0
    if s > 0.0:
        sine = math.sqrt(c * (2.0 - c))
        run_in = (_DAMPING * s) ** (2 / 3) * (d - 2) ** (1 / 3)
        if min(run_in, d) + 2.0 * d ** (1 / 3) + 3.0 > _MOST_STEPS * sine:
            return None
        k = max(0, int(((d - 2) * (1.0 - sine) / 2.0 - run_in) / sine))
    if k > 0:
        total = 2 * k + d - 2
        root = math.sqrt((total * s) ** 2 - 4.0 * k * (k + d - 2))
        q = (1.0 - (total * s + root) / (2.0 * (k + d - 2))) / c
    # q = (P_k - P_(k+1)) / (c P_k), as long as the polynomials are positive.
    while (ratio := 1.0 - c * q) > 0.0:
        k += 1
        q = ((2 * k + d - 2) + k * q / ratio) / (k + d - 2)
    k, here, fall = k + 1, ratio, q
    while (further := ((2 * k + d - 2) * here + k * fall) / (k + d - 2)) > 0.0:
        k, here, fall = k + 1, here - c * further, further
    return Valley(k, here, fall)
