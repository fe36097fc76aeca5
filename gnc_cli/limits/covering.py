"""Codes that exist because few caps cannot cover a sphere.

Take a largest set of points with pairwise angles of at least theta. A point outside all caps of
angle theta around them could be added, so these caps cover the sphere. Hence, if K - 1 caps of
every angle below theta cannot cover it, then for all those angles there are K points, and in the
limit, the sphere being compact, for theta itself: the clearance 1 - cos(theta) is reached. No code
is named: choosing points greedily, wherever they are still free, finds one in principle.

When can n caps not cover? In every dimension if their shares sum to less than 1
(Chabauty, Shannon, Wyner). On S^2 Fejes Tóth's theorem says more, for overlaps are unavoidable
there: n >= 3 caps of radius r cover only if cos r <= cot(w)/sqrt(3), w = n pi / (6 (n - 2)).

References:
    C. Chabauty, Résultats sur l'empilement de calottes égales sur une périsphère de R^n et
    correction à un travail antérieur, C. R. Acad. Sci. Paris 236 (1953).
    C. E. Shannon, Probability of error for optimal codes in a Gaussian channel, Bell Syst. Tech. J.
    38 (1959). A. D. Wyner, Capabilities of bounded discrepancy decoding, ibid. 44 (1965).
    L. Fejes Tóth, Lagerungen in der Ebene, auf der Kugel und im Raum, Springer (1953), chapter V.
"""

import math
from fractions import Fraction

from gnc_cli.limits.caps import cap_clearance, cap_share, log_cap_share
from gnc_cli.limits.limit import (
    Count,
    Finding,
    Limit,
    ball,
    counted,
    loosened,
)

_JUST_ABOVE_1 = Fraction(math.nextafter(1.0, 2.0))


class _Covering(Limit):
    """K - 1 caps cannot cover while their shares sum to less than 1, any d and K.

    Falls with K, since larger caps have larger shares. Rises with d from K = 4 on, where the caps
    are less than half of the sphere: the angle to a fixed point has a density proportional to
    sin^(d-2), which gathers at the equator as d grows, so that a given cap loses share.
    """

    name = "covering"
    source = "Chabauty 1953, Shannon 1959, Wyner 1965: K - 1 caps cannot cover the sphere"
    exists = True

    def at(self, d: int, K: int) -> Finding:
        """For every d and K; 2 for K = 2 (one cap is the sphere), 1 for K = 3 (two halves)."""
        return Finding(cap_clearance(d, -math.log(K - 1)))

    def points(self, d: int, target: Fraction) -> Count | None:
        """The largest K with a share of at most 1/(K - 1)."""
        log_share = log_cap_share(d, float(target))
        log10 = (math.log1p(math.exp(log_share)) - log_share) / math.log(10.0)
        return counted(lambda: 1 + 1 / cap_share(d, ball(target)), log10)

    def ceiling(self, K: int) -> Fraction | None:
        """From K = 4 on the caps stay below half of the sphere, however large d is."""
        if K >= 4:
            return loosened(Fraction(1))
        return _JUST_ABOVE_1 if K == 3 else None


class _Covering3(Limit):
    """Fejes Tóth's covering theorem, d = 3 and K >= 4; falls with K."""

    name = "covering-3"
    source = "Fejes Tóth 1953: K - 1 caps cannot cover S^2"
    exists = True

    def at(self, d: int, K: int) -> Finding | None:
        """1 - cot(w)/sqrt(3) with n = K - 1 caps; 1 for K = 4."""
        if d != 3 or K < 4:
            return None
        # w is pi/6 and this: with sines of differences nothing cancels where w approaches pi/6.
        excess = math.pi / 3 / (K - 3)
        sine = math.sin(math.pi / 6 + excess)
        return Finding(2.0 * math.sin(excess) / (math.sqrt(3.0) * sine))

    def points(self, d: int, target: Fraction) -> Count | None:
        """`at` solved for K: 3 + pi / (3 atan(sqrt(3) c / (4 - 3 c))) for clearance c <= 1."""
        if d != 3 or target > 1:
            return None
        from flint import arb

        ratio = target / (4 - 3 * target)
        return counted(lambda: 3 + arb.pi() / (3 * (ball(3).sqrt() * ball(ratio)).atan()))

    def last_d(self, K: int) -> int:
        return 3


COVERING = _Covering()
COVERING_3 = _Covering3()
