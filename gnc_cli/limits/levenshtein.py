"""Levenshtein's bound: how many points a largest cosine allows, by polynomials of every degree.

For each degree m there is a bound L_m(s) on the size of a code in R^d with largest cosine s. It
holds on an interval of s that begins where L_m is the least size D(d, m) of a design of strength
m, and ends at D(d, m+1), where L_(m+1) takes over: the degree follows from K in whole numbers. With
q and p the halves of m rounded down and up, c = 1 - s the clearance, the bound of both parities is

    L_m = w D(d, 2q) V' / ((d-1) V + 2 V'),    V = 2F1(-p, q+d-1; (d+1)/2; c/2),   V' = c dV/dc,

w = 2 for even m and 2 + (d-1)/p for odd m. So L_m(s) = K asks for the first root of a polynomial.

Everything is written in the clearance c = 1 - s, so that s near 1 is as good as any other. Sums
alternate, and lose hundreds of digits where d and the degree are large. So they are taken in
integers with that many more bits. All roots that are needed have c of the order of degree**-2,
where the number of terms does not grow with the degree: even degrees of 10^18 are quick.

References:
    V. I. Levenshtein, On bounds for packings in n-dimensional Euclidean space, Soviet Math. Dokl.
    20 (1979); Universal bounds for codes and designs, Handbook of Coding Theory (1998), sec. 5.
    P. Delsarte, J. M. Goethals, J. J. Seidel, Spherical codes and designs (1977): D(d, m).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gnc_cli.limits.limit import Count, Finding, Limit, ball, count_below

if TYPE_CHECKING:
    from flint import arb

_BITS = 192
"""Precision of a count with at most fifteen digits, and of its clearance, bits."""
_GUARD_BITS = 64
"""Correct bits of a sum, more than a double has."""
_LAST_STEP = 1e-10
"""Relative step of Laguerre's method that is the last one: it cubes the error."""
_DAMPING = 15.0
"""Damping exponent of the run-in, which shrinks an error of its start by exp(-4/3 * 2 * 15)."""
_MOST_STEPS = 2e6
"""Steps of a recursion, half a second at most."""
_MOST_ROUNDS = 200
"""Rounds of Laguerre's method, including those that add bits, which take 16 at most."""
_EXACT_COMB = 1000
"""Largest smaller argument of a binomial coefficient that is computed in whole numbers."""
_ROUNDING = Fraction(1, 2**50)
"""Relative rounding error of a value."""


def binary(value: Fraction, bits: int) -> tuple[int, int]:
    """Return a and e of a positive number a / 2^e, rounded down, a of `bits` bits or one more."""
    top, bottom = value.numerator, value.denominator
    e = max(0, bits + bottom.bit_length() - top.bit_length())
    return (top << e) // bottom, e


def sums(d: int, p: int, b: int, a: int, e: int, bits: int) -> tuple[list[int], int]:
    """Sum j^i v_j, i = 0..3, v_j the terms of V(c) = 2F1(-p, b; (d+1)/2; c/2), c = a / 2^e.

    Returns:
        The sums (c d/dc)^i V in units of 2^-bits, and the number of their bits that are noise.
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
    """Return the least root of A V + B c dV/dc, V as in `sums`; A and A + B are positive.

    All its roots are real. Laguerre's method from the left is monotone, cubic and independent of
    the degree. All bits but the last are correct.
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
            # Rounding took the last step past the root: Newton's method corrects it.
            return (a - int(a * (value / slope))) / (1 << e)
        # Derivatives by log c: steps are relative.
        g = slope / value
        h = g * g - (bend - slope) / value
        share = 1 / p
        step = 1.0 / (math.sqrt((1.0 - share) * (h - share * g * g)) - share * g)
        a += int(a * step)
        if step < _LAST_STEP:
            return a / (1 << e)
    raise ArithmeticError(f"found no root for d={d}, p={p}, b={b}, A={A}, B={B}")


@dataclass(frozen=True)
class Valley:
    """First minimum over k of the polynomials P_k(s), P_k(1) = 1, all up to one factor."""

    k: int
    """Index of the minimum: P_0 > P_1 > ... > P_k <= P_(k+1)."""
    floor: float
    """Value P_k, negative."""
    fall: float
    """Difference (P_(k-1) - P_k) / c, positive."""


def first_valley(d: int, clearance: float) -> Valley | None:
    """Find the first minimum over k of the Gegenbauer polynomials of R^d at s = 1 - clearance.

    Below the turning index the ratio of neighbours forgets its start, faster than exponentially.
    So the recursion begins shortly before that index, with the ratio of constant coefficients.
    None if it takes millions of steps: clearances below 1e-11 for d = 3, 8e-8 for d = 10^6.
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
    k, value, fall = k + 1, ratio, q
    while (next_fall := ((2 * k + d - 2) * value + k * fall) / (k + d - 2)) > 0.0:
        k, value, fall = k + 1, value - c * next_fall, next_fall
    return Valley(k, value, fall)


def design_size(d: int, m: int) -> int:
    """Return D(d, m): no spherical design of strength m in R^d has fewer points."""
    k = m // 2
    size = math.comb(k + d - 1, k)
    return 2 * size if m % 2 else size + size * k // (k + d - 1)


def _strength(d: int, K: int) -> int:
    """Return the m with D(d, m) <= K < D(d, m+1)."""
    low, high = 0, 1
    while design_size(d, 2 * high) <= K:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if design_size(d, 2 * middle) <= K else (low, middle)
    return 2 * low + (design_size(d, 2 * low + 1) <= K)


def _degree(d: int, clearance: float, valley: Valley) -> tuple[int, float]:
    """Return the degree m of the bound and L_m / D(d, 2 (m // 2)), by differences of P_k."""
    k = valley.k
    # Halves of m: k - 1 rounded down, k or k - 1 rounded up.
    fall = valley.fall * (d - 1) / (2 * k + d - 3)
    share = 1.0 - fall / valley.floor
    # Odd degrees begin at D(d, 2k-1) / D(d, 2k-2).
    if share >= 2 * (k + d - 2) / (2 * k + d - 3):
        return 2 * k - 1, share
    previous = valley.floor + clearance * valley.fall
    return 2 * k - 2, 1.0 - (2.0 - clearance) * fall / (previous + valley.floor)


def _log_size(d: int, q: int) -> float:
    """Return log D(d, 2q)."""
    if min(d, q) <= _EXACT_COMB:
        return math.log(design_size(d, 2 * q))
    choose = math.lgamma(q + d) - math.lgamma(q + 1) - math.lgamma(d)
    return choose + math.log1p(q / (q + d - 1))


def _degree_error(d: int, m: int, value: Fraction) -> int:
    """Return the correction of a degree for rounding: D(d, m) <= L_m(s) <= D(d, m+1)."""
    return (value > design_size(d, m + 1)) - (m > 1 and value < design_size(d, m))


def _bound_size(d: int, m: int, clearance: Fraction) -> Fraction:
    """Return L_m at a clearance to fifty digits, for degrees of any size."""
    a, e = binary(clearance, _BITS)
    bits = _BITS
    while True:
        (value, slope, *_), noise_bits = sums(d, (m + 1) // 2, m // 2 + d - 1, a, e, bits)
        divisor = (d - 1) * value + 2 * slope
        missing = noise_bits + d.bit_length() + _BITS - min(abs(slope), abs(divisor)).bit_length()
        if missing <= 0:
            return _weighted_size(d, m) * Fraction(slope, divisor)
        bits += missing + 32


def _weighted_size(d: int, m: int) -> Fraction:
    """Return w D(d, 2q)."""
    weight = 2 + Fraction(d - 1, (m + 1) // 2) if m % 2 else Fraction(2)
    return weight * design_size(d, 2 * (m // 2))


class _Levenshtein(Limit):
    """The largest cosine of K points is at least the s with L(d, s) = K.

    Every sharp code attains it. No degree is too high: it follows from K in whole numbers, and the
    number of terms of the sums depends on their value alone. It takes ten milliseconds at most.
    """

    name = "levenshtein"
    source = "Levenshtein 1979, 1998 (universal bounds for codes and designs)"
    exists = False

    def evaluate(self, d: int, K: int) -> Finding:
        """Return 1 - s, where L(d, s) = K."""
        m = _strength(d, K)
        size = _weighted_size(d, m)
        p = (m + 1) // 2
        A, B = (d - 1) * K * p, int((2 * K - size) * p)
        return Finding(first_root(d, p, m // 2 + d - 1, A, B))

    def points(self, d: int, target: Fraction) -> Count | None:
        """Return floor L(d, 1 - target); None if the degree is out of reach, see `first_valley`."""
        valley = first_valley(d, float(target))
        if valley is None:
            return None
        m, share = _degree(d, float(target), valley)
        log10 = (_log_size(d, m // 2) + math.log(share)) / math.log(10.0)

        def formula() -> "arb":
            value = _bound_size(d, m, target)
            return ball(_bound_size(d, m + _degree_error(d, m, value), target))

        return count_below(formula, log10)

    def ceiling(self, K: int) -> Fraction:
        """Return K / (K - 1), the simplex, reached from d = K - 1 on, raised by its rounding."""
        return Fraction(K, K - 1) * (1 + _ROUNDING)


LEVENSHTEIN = _Levenshtein()
