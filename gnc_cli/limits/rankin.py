"""Rankin's bounds: simplex and orthoplex are best, and caps with weights.

`rankin`: K unit vectors have 0 <= |sum|^2 <= K + K (K - 1) t, so t >= -1/(K - 1); and K >= d + 2 of
them cannot all be pairwise more than a right angle apart, so t >= 0. Both rise with d.

`rankin-caps`: let all pairwise cosines be at most c = cos^2(beta), 0 < beta < pi/2, and give every
point the weight (cos(theta) - cos(beta))_+ at angle theta. If m weights are positive at y, the sum
of those cosines with y is at most |sum| <= sqrt(m + m (m - 1) c), hence that of the weights at most
sqrt(m (1 - c) + m^2 c) - m sqrt(c) <= (1 - c)/(2 sqrt(c)) = sin(beta) tan(beta)/2, for any m. The
mean over y of one weight is J(beta) / B with J = int_0^beta sin^(d-2)(x) (cos(x) - cos(beta)) dx
and B = sqrt(pi) Gamma((d-1)/2) / Gamma(d/2) the same integral of sin^(d-2) alone over 0..pi. So

    K <= F = B sin(beta) tan(beta) / (2 J)    for all z = sin^2(beta) up to the code's clearance.

F falls with z to its least value, some five points per dimension, and rises to infinity at z = 1:
its falling branch is the bound. It rises with d: if a coordinate of a random unit vector is dropped
and the rest normalised, its first coordinate grows, so the mean weight falls with d and F rises.

Reference:
    R. A. Rankin, The closest packing of spherical caps in n dimensions, Proc. Glasgow Math. Assoc.
    2, 1955
"""

import math
from fractions import Fraction

from gnc_cli.limits.caps import cap_share, log_gamma_ratio
from gnc_cli.limits.limit import Count, Dimension, Finding, Limit, ball, count_below
from gnc_cli.limits.theorem_3_3 import simplex_dimension, simplex_points

_SOURCE = "Rankin 1955, The closest packing of spherical caps in n dimensions"


class _Rankin(Limit):
    """Simplex and orthoplex."""

    name = "rankin"
    source = _SOURCE
    exists = False

    def evaluate(self, d: int, K: int) -> Finding:
        """Return K / (K - 1), the simplex, up to K = d + 1, and 1 beyond."""
        return Finding(K / (K - 1) if K <= d + 1 else 1.0)

    def points(self, d: int, target: Fraction) -> Count | None:
        """Return the largest simplex; None for targets up to 1, which exclude nothing."""
        if target <= 1:
            return None
        return Count.from_number(simplex_points(d, target))

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """Return the least dimension of a simplex; 2 for targets up to 1."""
        return simplex_dimension(K, target) if target > 1 else Dimension(2)


class _RankinCaps(Limit):
    """Caps with weights; no value for K below the least F."""

    name = "rankin-caps"
    source = _SOURCE
    exists = False

    def evaluate(self, d: int, K: int) -> Finding | None:
        """Return z where F = K; see `_solve`."""
        # F is at least 2 d, because the orthoplex has 2 d points.
        log_z = _solve(d, math.log(K)) if K > 2 * d else None
        return None if log_z is None else Finding(math.exp(log_z))

    def points(self, d: int, target: Fraction) -> Count | None:
        """Return F, rounded down, at the target or at the minimum of F if that is smaller."""
        falling = (1 - target) * d > _FALLING
        z = target if falling else min(target, _turn(d))

        from flint import arb

        def formula() -> arb:
            # J as in the module docstring; it cancels for small z, which the ball shows.
            s, half = ball(1 - z).sqrt(), arb(d - 1) / 2
            b = arb.const_sqrt_pi() * half.gamma() / (arb(d) / 2).gamma()
            J = ball(z) ** half / (d - 1) - s * b * cap_share(d, 1 - s)
            return b * ball(z) / (2 * s * J)

        log_z = math.log(z.numerator) - math.log(z.denominator)
        log_points, _ = _log_points(d, log_z, float(z), math.sqrt(1 - z))
        return count_below(formula, log_points / math.log(10.0))


def _ratio(d: int, z: float, s: float) -> float:
    """Return J over z times the integral of sin^(d-2) over 0..beta, s = cos(beta).

    By parts, J_k = int sin^(d-2)(x) (cos(x) - s)^k dx satisfy k z J_(k-1) = (2 k + d - 1) s J_k +
    (k + d - 1) J_(k+1): a continued fraction of positive terms, which loses no digits.
    """
    # Each term shrinks the error by (1 - s)/(1 + s); for small s it falls as exp(-c sqrt(k)).
    terms = math.ceil(min(15.0 / s, 14.0 + 260.0 / (d * s * s))) + 4
    a, b = terms + d - 1, (2 * terms + d - 1) * s
    q = 2 * terms / (b + math.sqrt(b * b + 4 * a * terms * z))
    for k in range(terms, 0, -1):
        q = k / ((2 * k + d - 1) * s + (k + d - 1) * z * q)
    return q


def _log_points(d: int, log_z: float, z: float, s: float) -> tuple[float, float]:
    """Return log F and its derivative by log z; s = sqrt(1 - z).

    With q = J / (z J_0), J = sin^(d+1)(beta) q / ((d-1) (s + z q)).
    """
    q = _ratio(d, z, s)
    log_g = 0.5 * math.log(math.pi) + log_gamma_ratio(0.5 * d)
    value = log_g - 0.5 * (d - 1) * log_z + math.log((s + z * q) / (q * s))
    return value, 1.0 + (z / s - 1.0 / q) / (2.0 * s)


def _solve(d: int, log_K: float) -> float | None:
    """Find log z with F = K on the falling branch; None if F stays above K.

    Newton's method in y = log(z / (1 - z)), in which log F is convex: it approaches the root from
    the left, or leaves the branch if there is no root. The start is F >= g z^(-(d-1)/2),
    g = sqrt(pi) Gamma((d+1)/2) / Gamma(d/2). A root with a negative slope is on the branch.
    """
    log_g = 0.5 * math.log(math.pi) + log_gamma_ratio(0.5 * d)
    log_z = 2.0 * (log_g - log_K) / (d - 1)
    y = log_z - math.log(-math.expm1(log_z))
    for _ in range(_MOST_STEPS):
        if math.isnan(y):
            break
        s = math.exp(-0.5 * _log1pexp(y))
        if s * s * d < _RISING:
            return None
        log_z = -_log1pexp(-y)
        value, slope = _log_points(d, log_z, math.exp(log_z), s)
        if slope >= 0.0:
            return None
        step = (log_K - value) / (slope * s * s)
        y += step
        if step <= 1e-11:
            return -_log1pexp(-y)
    raise ArithmeticError(f"found no caps for {d} dimensions and log K = {log_K}")


_MOST_STEPS = 50
"""Steps of Newton's method, which takes seven at most."""
_RISING, _FALLING = 0.3, 0.7
"""Ends of (1 - z) d outside of which F rises, or falls, with z: its minimum lies at 0.37 to 0.61.
"""


def _log1pexp(y: float) -> float:
    """Return log(1 + e^y) for any y."""
    return max(y, 0.0) + math.log1p(math.exp(-abs(y)))


def _turn(d: int) -> Fraction:
    """Return the z of the least F, to nine digits; F is a bound at every z."""
    low, high = _RISING, _FALLING
    for _ in range(40):
        middle = 0.5 * (low + high)
        z = 1.0 - middle / d
        _, slope = _log_points(d, math.log(z), z, math.sqrt(middle / d))
        low, high = (middle, high) if slope > 0.0 else (low, middle)
    return 1 - Fraction(high) / d


RANKIN = _Rankin()
RANKIN_CAPS = _RankinCaps()
