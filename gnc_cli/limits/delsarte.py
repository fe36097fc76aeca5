"""Delsarte's bound for spherical codes: polynomials that prove it, exactly.

If f = f_0 + sum f_i P_i with f_0 > 0, all f_i >= 0, and f <= 0 on [-1, s], then a code whose
cosines are at most s has at most f(1) / f_0 points: sum f over all pairs of points in two ways
(Delsarte, Goethals and Seidel 1977, theorem 4.3). Given any f with f_0 = 1 and its largest value
e < 1 on [-1, s], f - e is such a polynomial: the bound is (f(1) - e) / (1 - e).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from gnc_cli.limits.gegenbauer import power_coefficients
from gnc_cli.limits.nonpositive import largest_value

__all__ = ["DelsarteProof", "delsarte_points", "prove"]

_BITS = 64


@dataclass(frozen=True)
class DelsarteProof:
    """A polynomial and the number of points that it proves; all numbers exact."""

    d: int
    s: Fraction
    """Codes whose cosines are at most this."""
    coefficients: tuple[Fraction, ...]
    """f_0 = 1 and f_1 ... f_degree >= 0 for the Gegenbauer polynomials P_i, P_i(1) = 1."""
    excess: Fraction
    """Proved: f is at most this on [-1, s]; below 1."""

    @property
    def degree(self) -> int:
        """Of the polynomial."""
        return len(self.coefficients) - 1

    @property
    def bound(self) -> Fraction:
        """Proved: no code has more points."""
        return (sum(self.coefficients, Fraction(0)) - self.excess) / (1 - self.excess)


def prove(d: int, s: Fraction, coefficients: Iterable[Fraction | float]) -> DelsarteProof | None:
    """What 1 + sum coefficients[i - 1] P_i proves.

    Args:
        d: dimension, at least 2.
        s: in [-1, 1).
        coefficients: of P_1 to P_degree; negative ones are taken as 0.

    Returns:
        None where the polynomial is nowhere near feasible: its largest value is 1 or more.

    Example:
        >>> prove(3, Fraction(0), [Fraction(3), Fraction(2)]).bound
        Fraction(6, 1)
    """
    exact = (Fraction(1), *(max(Fraction(0), Fraction(c)) for c in coefficients))
    excess = largest_value(power_coefficients(d, exact), Fraction(-1), s)
    return DelsarteProof(d, s, exact, excess) if excess < 1 else None


def delsarte_points(d: int, s: Fraction, degree: int = 40) -> DelsarteProof | None:
    """The best proof of this degree: HiGHS and Newton's method find it, exact arithmetic proves.

    Args:
        d: dimension, at least 2.
        s: largest cosine, in [-1, 1).
        degree: at most that of the polynomial.

    Returns:
        None where none was found: s is too near 1 for the degree, or the numbers too large.

    Example:
        >>> proof = delsarte_points(8, Fraction(1, 2), 14)
        >>> math.floor(proof.bound), proof.bound - 240 < 1e-9
        (240, True)
    """
    if s * d <= -1:
        # A polynomial of degree 1 is best here, Rankin's.
        return prove(d, s, [-1 / s])
    from gnc_cli.limits.delsarte_optimum import optimum

    found = optimum(d, float(s), degree)
    if found is None:
        return None
    unit = 1 << _BITS
    return prove(
        d, s, (Fraction(math.ceil(c * unit), unit) for c in found.coefficients[1:].tolist())
    )
