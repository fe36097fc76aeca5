"""Theorem 3.9 of the paper: caps of the sphere against flat balls.

    1/2 [2 g / (d K)]^(2/(d-1)) <= rho* <= 2 [2 g / K]^(1/(d-1))    for K >= sqrt(2 pi sqrt(e) d),

g = sqrt(pi) Gamma((d+1)/2) / Gamma(d/2). Both sides are about chords, so about the Tammes cosine.
Seen from its centre, a cap of chord radius r is at most as large as a ball of that radius in
R^(d-1); a cap of angle a is at least as large as its projection, a ball of radius sin(a). As shares
of the whole sphere, r^(d-1) / (2 g) and sin(a)^(d-1) / (2 g). (On the circle the first is 2/pi of
the true share, and the factor 1/d that follows is smaller.) If no further point fits at chord r,
the K caps of chord radius r cover the sphere; points at chord 2 sin(a) have disjoint caps of angle
a. So some code has chord [2 g / K]^(1/(d-1)), and certainly the [2 g / (d K)]^(1/(d-1)) of the
theorem, and none has more than 2 [2 g / K]^(1/(d-1)). The clearance is chord^2/2. The paper's
bounds on rho* are this clearance from below and the chord itself from above.

Under the hypothesis both rise with d. Up to constants they are exp(A/(d-1)), which rises
when A < (d-1) A', and g rises, g <= sqrt(pi d / 2), for Gamma is logarithmically convex:
lower: A = log(2 g / (d K)) <= -1/4 - log d < -(d-1)/d < (d-1) A';
upper: A = log(2 g / K) <= -1/4 < 0 < (d-1) A'.
"""

import math
from dataclasses import replace
from fractions import Fraction

from gnc_cli.limits.caps import log_gamma_ratio
from gnc_cli.limits.limit import Count, Finding, Limit, ball, count_below, loosened

_SQUARE = Fraction("10.35922126369750281973339902293206372982679")
"""Constant 2 pi sqrt(e) of the hypothesis K^2 >= 2 pi sqrt(e) d, which is tested exactly."""


class _Theorem39(Limit):
    """The hypothesis, which both sides share."""

    name = "theorem-3.9"
    source = "theorem 3.9 (arXiv 2310.05351)"

    def _finding(self, value: float, d: int, K: int) -> Finding:
        # Rounding up to four digits excludes no whole number below 10^4.
        digits = max(0, 3 - math.floor(math.log10(_SQUARE * d) / 2.0))
        smallest = math.ceil(math.sqrt(_SQUARE * d) * 10**digits) / 10**digits
        return Finding(value, valid=K * K >= _SQUARE * d, condition=f"K >= {smallest:.{digits}f}")


class _Lower(_Theorem39):
    """The code that exists."""

    exists = True

    def evaluate(self, d: int, K: int) -> Finding:
        """Return 1/2 [2 g / (d K)]^(2/(d-1))."""
        power = (_log_2g(d) - math.log(d) - math.log(K)) * 2.0 / (d - 1)
        return self._finding(0.5 * math.exp(power), d, K)

    def points(self, d: int, target: Fraction) -> Count | None:
        """Return the largest K that reaches the target, if the hypothesis holds for it."""
        count = _count(d, 2 * target, d)
        holds = count is None or count.exact is None or count.exact >= _least_K(d)
        return count if holds else None

    def ceiling(self, K: int) -> Fraction:
        """Return 1/2: the bracket is at most pi/(2 K), below 1."""
        return loosened(Fraction(1, 2))

    def last_d(self, K: int) -> int:
        """Return the largest d of the hypothesis."""
        return K * K // _SQUARE


class _Upper(_Theorem39):
    """The largest chord, as a clearance; no value unless the hypothesis holds."""

    exists = False

    def evaluate(self, d: int, K: int) -> Finding:
        """Return half the square of the chord 2 [2 g / K]^(1/(d-1))."""
        power = (_log_2g(d) - math.log(K)) * 2.0 / (d - 1)
        return self._finding(2.0 * math.exp(power), d, K)

    def points(self, d: int, target: Fraction) -> Count:
        """Return the largest K that is not excluded, at least all that the hypothesis exempts."""
        count = _count(d, target / 2)
        spared = _least_K(d) - 1
        if count is None or (count.exact is not None and count.exact < spared):
            return Count.from_number(spared)
        return count


class _Chord(_Upper):
    """The upper side as in the paper: the hull contains the nearest row, so rho* <= chord."""

    bounds_rho = True

    def evaluate(self, d: int, K: int) -> Finding:
        """Return the chord 2 [2 g / K]^(1/(d-1))."""
        finding = super().evaluate(d, K)
        return replace(finding, value=math.sqrt(2.0 * finding.value))

    def points(self, d: int, target: Fraction) -> Count:
        """Return `points` of the clearance of a chord; see `_Upper`."""
        return super().points(d, target * target / 2)


def _least_K(d: int) -> int:
    """Return the smallest K of the hypothesis; sqrt(2 pi sqrt(e) d) is not an integer."""
    return math.isqrt(math.floor(_SQUARE * d)) + 1


def _log_2g(d: int) -> float:
    return 0.5 * math.log(4.0 * math.pi) + log_gamma_ratio(0.5 * d)


def _count(d: int, radius_squared: Fraction, share: int = 1) -> Count | None:
    """Return the whole number below 2 g / (share * radius^(d-1))."""
    from flint import arb

    def formula() -> arb:
        two_g = 2 * arb.const_sqrt_pi() * (arb(d + 1) / 2).gamma() / (arb(d) / 2).gamma()
        return two_g / share / ball(radius_squared) ** (arb(d - 1) / 2)

    return count_below(formula)


THEOREM_3_9_LOWER = _Lower()
THEOREM_3_9_UPPER = _Upper()
THEOREM_3_9_CHORD = _Chord()
