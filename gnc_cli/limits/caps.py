"""Caps of the sphere: the share that one covers, and codes that exist as few caps cannot cover it.

The cap of angle theta on S^(d-1) is named by its **clearance** c = 1 - cos(theta), which has full
precision for tiny caps. With u = cos(theta), z = sin(theta)^2 = c (2 - c) and B = B(1/2, (d-1)/2),

    share = I_z((d-1)/2, 1/2) / 2 = (1/B) int_u^1 (1 - s^2)^((d-3)/2) ds      for c <= 1,

and the complement of 2 - c beyond. Two expansions of positive terms only, which lose no digits:

- near the equator the strip between cap and equator, share = 1/2 - strip, with
  strip = (u z^((d-1)/2) / B) F(1, d/2; 3/2; u^2); taken while d u^2 <= 3 and u^2 <= 2/5, where
  the share is at least 0.04 and some forty terms are enough;
- elsewhere Pfaff's transformation of the beta function, F(1, 1/2; (d+1)/2; -z/u^2), as Gauss's
  continued fraction: share = (z^((d-1)/2) / ((d-1) u B)) / (1 + k_1 r / (1 + k_2 r / (1 + ...))),
  r = z/u^2, k_n = n (d-2+n) / ((d+2n-3) (d+2n-1)). For large d it is Laplace's fraction of the
  normal distribution's tail at u sqrt(d) >= 1.7, some sixty levels; small caps need few.

Take a largest set of points with pairwise angles of at least theta. A point outside all caps of
angle theta around them could be added, so these caps cover the sphere. Hence, if K - 1 caps of
every angle below theta cannot cover it, then for all those angles there are K points, and in the
limit, the sphere being compact, for theta itself: the clearance 1 - cos(theta) is reached. No code
is named: choosing points greedily, wherever they are still free, finds one in principle.

When can n caps not cover? In every dimension if their shares sum to less than 1
(Chabauty, Shannon, Wyner). On S^2 Fejes Tóth's theorem says more, for overlaps are unavoidable
there: n >= 3 caps of radius r cover only if cos r <= cot(w)/sqrt(3), w = n pi / (6 (n - 2)).

References:
    NIST Digital Library of Mathematical Functions, 5.11.8, 8.17.8, 15.7, 15.8.1 and 24.4.31,
    https://dlmf.nist.gov
    S. Li, Concise formulas for the area and volume of a hyperspherical cap, Asian J. Math. Stat. 4
    (2011).
    C. Chabauty, Résultats sur l'empilement de calottes égales sur une périsphère de R^n et
    correction à un travail antérieur, C. R. Acad. Sci. Paris 236 (1953).
    C. E. Shannon, Probability of error for optimal codes in a Gaussian channel, Bell Syst. Tech. J.
    38 (1959). A. D. Wyner, Capabilities of bounded discrepancy decoding, ibid. 44 (1965).
    L. Fejes Tóth, Lagerungen in der Ebene, auf der Kugel und im Raum, Springer (1953), chapter V.
"""

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from gnc_cli.limits.limit import Count, Finding, Limit, ball, count_below, loosened

if TYPE_CHECKING:
    from flint import arb

_EPS = 2.0**-54
"""Relative size of the first term that is dropped: a quarter of the spacing of doubles."""
_MOST_STEPS = 50
"""Steps of Newton's iteration, which takes five at most."""
_LOG_2 = math.log(2.0)
_HALF_LOG_PI = 0.5 * math.log(math.pi)


def log_cap_share(d: int, clearance: float) -> float:
    """Return the logarithm of the share of S^(d-1) within the angle of a clearance in (0, 2].

    Its error is below 2e-14 and two roundings of its value, for d from 2 to 10^6.
    """
    if clearance > 1.0:
        # The rest of the sphere is a cap as well; 2 - clearance is exact here.
        return math.log1p(-math.exp(log_cap_share(d, 2.0 - clearance))) if clearance < 2.0 else 0.0
    u = 1.0 - clearance
    density = _log_density(d, clearance)
    if u * u <= min(3.0 / d, 0.4):
        return math.log(0.5 - u * math.exp(density) * _strip(d, u * u))
    r = clearance * (2.0 - clearance) / (u * u)
    return density - math.log((d - 1) * u) + math.log(_fraction(d, r))


def cap_clearance(d: int, log_share: float) -> float:
    """Return the clearance of the cap that covers a share of S^(d-1): inverse of `log_cap_share`.

    Its relative error is below 1e-13, unless the rounding of the logarithm weighs more.

    Newton's iteration in w = sqrt(-log z), in which the share is the tail of a density
    proportional to (w/u) exp(-(d-1) w^2 / 2). That is log-concave for every d >= 2, and hence so
    is its tail; since the share is at most z^((d-1)/2) / 2, we know a w that is not too small.
    From there the tangents lead down to the solution without ever passing it.
    """
    if d == 2:
        return 2.0 * math.sin(0.5 * math.pi * math.exp(log_share)) ** 2
    if d == 3:
        return 2.0 * math.exp(log_share)
    if log_share > -_LOG_2:
        rest = -math.expm1(log_share)
        return 2.0 - cap_clearance(d, math.log(rest)) if rest > 0.0 else 2.0
    w = math.sqrt((-_LOG_2 - log_share) * 2.0 / (d - 1))
    for _ in range(_MOST_STEPS):
        z = math.exp(-w * w)
        u = math.sqrt(-math.expm1(-w * w))
        clearance = z / (1.0 + u)
        log_value = log_cap_share(d, clearance)
        missing = log_share - log_value
        # The slope with respect to log(clearance).
        slope = math.exp(_log_density(d, clearance) - log_value) / (2.0 - clearance)
        # Log-concavity bounds the error after the last step, in the clearance itself.
        if missing * missing <= 2e-15 * slope:
            return clearance * (1.0 + missing / slope)
        w -= missing * u * (clearance / z) / (w * slope)
    raise ArithmeticError(f"found no cap of log share {log_share} in {d} dimensions")


def cap_share(d: int, clearance: "arb") -> "arb":
    """Return the share itself in flint's ball arithmetic, at its working precision."""
    from flint import arb

    z = clearance * (2 - clearance)
    share = z.beta_lower(arb(d - 1) / 2, arb(0.5), regularized=True) / 2
    return share if clearance <= 1 else 1 - share


def _log_density(d: int, clearance: float) -> float:
    """Return log(z^((d-1)/2) / B)."""
    # Near the equator z is 1 - u^2 with an exact u; in small caps c (2 - c) has the digits.
    u = 1.0 - clearance
    log_z = math.log1p(-u * u) if clearance > 0.5 else math.log(clearance * (2.0 - clearance))
    half = 0.5 * (d - 1)
    return half * log_z + log_gamma_ratio(half) - _HALF_LOG_PI


def _strip(d: int, x: float) -> float:
    """Return F(1, d/2; 3/2; x)."""
    total = term = 1.0
    top, bottom = d, 3
    while term > _EPS * total:
        term = term * x * top / bottom
        total += term
        top += 2
        bottom += 2
    return total


def _fraction(d: int, r: float) -> float:
    """Return F(1, 1/2; (d+1)/2; -r), in (0, 1].

    Steed's forward evaluation: the differences of successive convergents alternate and shrink.
    """
    total = ratio = step = 1.0
    n = 1
    while abs(step) > _EPS * total:
        part = r * (n * (d + n - 2)) / ((d + 2 * n - 3) * (d + 2 * n - 1)) * ratio
        ratio = 1 / (1 + part)
        step = -step * part * ratio
        total += step
        n += 1
    return total


_GAMMA_FAR = 12.0
"""Least argument of the expansion: from 12 on its first omitted term is below 3e-17."""


_GAMMA_TERMS = tuple(
    -euler / (4.0 ** (2 * j + 1) * j)
    for j, euler in enumerate((-1.0, 5.0, -61.0, 1385.0, -50521.0, 2702765.0), start=1)
)


def log_gamma_ratio(x: float) -> float:
    """Return log(Gamma(x + 1/2) / Gamma(x)) for x > 0, with an error below 2e-15 up to x = 1e7.

    At x = 5e5 the difference of two `math.lgamma` loses nine digits; the ratio itself is smooth:

        log(Gamma(x + 1/2) / Gamma(x)) ~ log(y)/2 - sum_{j >= 1} E_2j / (4^(2j+1) j y^(2j)),
        y = x - 1/4,

    with the Euler numbers E_2, E_4, ... = -1, 5, -61, 1385, ... About the middle of the two
    arguments the expansion has even powers only, so that six of them are enough from x = 12 on.
    """
    shrunk = 1.0
    while x < _GAMMA_FAR:
        # Gamma(x + 1/2) / Gamma(x) = x / (x + 1/2) times the ratio at x + 1.
        shrunk *= x / (x + 0.5)
        x += 1.0
    y = x - 0.25
    inverse_square = 1.0 / (y * y)
    tail = 0.0
    for term in reversed(_GAMMA_TERMS):
        tail = (tail + term) * inverse_square
    return 0.5 * math.log(y * shrunk * shrunk) + tail


# Codes that exist because few caps cannot cover


_JUST_ABOVE_1 = Fraction(math.nextafter(1.0, 2.0))


class _Covering(Limit):
    """Existence because K - 1 caps cannot cover while their shares sum to less than 1.

    Falls with K, since larger caps have larger shares. Rises with d from K = 4 on, where the caps
    are less than half of the sphere: the angle to a fixed point has a density proportional to
    sin^(d-2), which gathers at the equator as d grows, so that a given cap loses share.
    """

    name = "covering"
    source = "Chabauty 1953, Shannon 1959, Wyner 1965: K - 1 caps cannot cover the sphere"
    exists = True

    def evaluate(self, d: int, K: int) -> Finding:
        """Return the clearance of a share 1/(K - 1), such as 2 for K = 2, 1 for K = 3 (halves)."""
        return Finding(cap_clearance(d, -math.log(K - 1)))

    def points(self, d: int, target: Fraction) -> Count | None:
        """Return the largest K with a share of at most 1/(K - 1)."""
        log_share = log_cap_share(d, float(target))
        log10 = (math.log1p(math.exp(log_share)) - log_share) / math.log(10.0)
        return count_below(lambda: 1 + 1 / cap_share(d, ball(target)), log10)

    def ceiling(self, K: int) -> Fraction | None:
        """Return 1 from K = 4 on: the caps stay below half of the sphere, however large d is."""
        if K >= 4:
            return loosened(Fraction(1))
        return _JUST_ABOVE_1 if K == 3 else None


class _Covering3(Limit):
    """Fejes Tóth's covering theorem, d = 3 and K >= 4; falls with K."""

    name = "covering-3"
    source = "Fejes Tóth 1953: K - 1 caps cannot cover S^2"
    exists = True

    def evaluate(self, d: int, K: int) -> Finding | None:
        """Return 1 - cot(w)/sqrt(3) with n = K - 1 caps; 1 for K = 4."""
        if d != 3 or K < 4:
            return None
        # w = pi/6 + excess: with sines of differences nothing cancels where w approaches pi/6.
        excess = math.pi / 3 / (K - 3)
        sine = math.sin(math.pi / 6 + excess)
        return Finding(2.0 * math.sin(excess) / (math.sqrt(3.0) * sine))

    def points(self, d: int, target: Fraction) -> Count | None:
        """Solve `evaluate` for K: 3 + pi / (3 atan(sqrt(3) c / (4 - 3 c))), clearance c <= 1."""
        if d != 3 or target > 1:
            return None
        from flint import arb

        ratio = target / (4 - 3 * target)
        return count_below(lambda: 3 + arb.pi() / (3 * (ball(3).sqrt() * ball(ratio)).atan()))

    def last_d(self, K: int) -> int:
        return 3


COVERING = _Covering()
COVERING_3 = _Covering3()
