"""The simplicial bounds: no packing of caps is denser than caps around a regular simplex.

Caps of angular radius r < pi/4 about the points of a code with minimum angle 2r are a packing. By
Boroczky's theorem the density of each in its Dirichlet-Voronoi cell is at most that of d caps that
touch one another in the spherical simplex of their centres, which is regular with edge 2r; so the
density on the whole sphere is. Every vertex angle of that simplex is a cone of d - 1 unit vectors
with pairwise cosine c / (1 + c), c = cos 2r, and the area of a cap cancels:

    K <= d * share(d - 1, c / (1 + c)) / share(d, c),

share(n, c) that of S^(n-1) in the cone of n unit vectors with pairwise cosine c. The bound falls
from infinity at r = 0 to 2d at r = pi/4; where points crowd it tends to Rogers' bound on sphere
packings.

For d = 3 it is Fejes Toth's, and elementary: among K points on S^2 some two lie within the angle
phi with 4 - 4 sin^2(phi/2) = csc^2 w, where w = K pi / (6 (K - 2)): the side of the equilateral
triangle whose area is the mean area of a triangulation by K points. So the clearance is at most
(4 - csc^2 w)/2, with equality at K = 3, 4, 6 and 12: triangle, tetrahedron, octahedron,
icosahedron. With w = pi/6 + delta, delta = pi / (3 (K - 2)), it is
2 sin(delta) sin(pi/3 + delta) / sin^2(pi/6 + delta), where nothing cancels.

References:
    L. Fejes Toth, Ueber die Abschaetzung des kuerzesten Abstandes zweier Punkte eines auf einer
    Kugelflaeche liegenden Punktsystems, Jahresbericht der DMV 53 (1943).
    H. S. M. Coxeter, An upper bound for the number of equal nonoverlapping spheres that can touch
    another of the same size, Proc. Symp. Pure Math. 7 (1963).
    K. Boroczky, Packing of spheres in spaces of constant curvature, Acta Math. Acad. Sci. Hungar.
    32 (1978).
"""

import math
from fractions import Fraction
from typing import Any

from gnc_cli.limits.limit import Count, Dimension, Finding, Limit, counted
from gnc_cli.limits.simplex_angle import log_simplex_share, precise_simplex_share

_FIRST_D = 4
"""In three dimensions it is Fejes Toth's bound."""
_BETTER = 128
"""In more dimensions Levenshtein's bound is better."""
_FLAT = -70.0
"""Below this logarithm of the clearance the sphere is flat to double precision."""
_ERROR = 1e-14
"""Of the bound's logarithm, over d; some five times what has been seen."""
_LARGEST_LOG = math.log(1e15)
"""Of a number of points that is counted exactly."""
_DIGITS = 31
"""Up to five are lost where d is large; `counted` asks for 25."""


class _FejesToth(Limit):
    """The bound in three dimensions.

    Example:
        >>> round(1.0 - FEJES_TOTH.at(3, 12).value, 12) == round(5**-0.5, 12)
        True
    """

    name = "fejes-toth"
    source = "Fejes Toth 1943, the shortest distance of two of K points on a sphere"
    exists = False

    def at(self, d: int, K: int) -> Finding | None:
        return Finding(_on_the_sphere(K)) if d == 3 and K >= 3 else None

    def points(self, d: int, target: Fraction) -> Count | None:
        if d != 3:
            return None
        if target > Fraction(3, 2):
            # Not even the triangle reaches it: all but two points are excluded.
            return Count(math.log10(2), 2)
        import mpmath

        def formula() -> Any:
            goal = mpmath.mpf(target.numerator) / target.denominator
            # tan w = 1/q, and delta = w - pi/6 by the theorem of addition, nothing cancelling.
            q, root3 = mpmath.sqrt(3 - 2 * goal), mpmath.sqrt(3)
            delta = mpmath.atan2(2 * goal, (root3 + q) * (1 + root3 * q))
            return 2 + mpmath.pi / (3 * delta)

        return counted(float(mpmath.log10(formula())), formula)

    def dimension(self, K: int, target: Fraction) -> Dimension:
        # What is impossible here is so on the circle, which lies in it.
        return Dimension(2 if self._reached(3, K, target) else 4)


def _on_the_sphere(K: int) -> float:
    delta = math.pi / (3 * (K - 2))
    numerator = math.sin(delta) * math.sin(math.pi / 3.0 + delta)
    return 2.0 * numerator / math.sin(math.pi / 6.0 + delta) ** 2


FEJES_TOTH = _FejesToth()


class _Simplicial(Limit):
    """Boroczky's theorem, for K > 2d; fewer points may have a minimum angle of pi/2."""

    name = "simplicial"
    source = "Coxeter 1963, Boroczky 1978: packing of spheres in spaces of constant curvature"
    exists = False

    def at(self, d: int, K: int) -> Finding | None:
        """The clearance where the bound is K: secants in logarithms, 3 to 5 evaluations.

        The logarithm of the bound is nearly linear in that of the clearance: its slope grows from
        (d - 1) / -2 where points crowd to -2 (d - 1) / pi at clearance 1.
        """
        if d < _FIRST_D or K <= 2 * d:
            return None
        goal = math.log(K)
        gentle, steep = -0.5 * (d - 1), -2.0 / math.pi * (d - 1)
        x = (goal - math.log(2 * d)) / gentle
        excess, slope, tolerance = log_simplicial_bound(d, x) - goal, gentle, 1e-13
        while abs(step := -excess / slope) > tolerance:
            before, x = excess, x + step
            excess = log_simplicial_bound(d, x) - goal
            slope = min(max((excess - before) / step, steep), gentle)
            tolerance = 1e-10  # of a secant: what it leaves is the product of two steps
        return Finding(math.exp(x + step))

    def points(self, d: int, target: Fraction) -> Count | None:
        """The bound at that clearance, rounded down; None from clearance 1, an angle of pi/2.

        Where doubles leave the whole number open it is settled with 31 digits, which takes long;
        not beyond 128 dimensions, where Levenshtein's bound is better: there the larger is taken,
        and no more points than that are still possible.
        """
        if d < _FIRST_D or target >= 1:
            return None
        bound = log_simplicial_bound(d, math.log(target.numerator) - math.log(target.denominator))
        if bound < _LARGEST_LOG:
            low, high = (math.floor(math.exp(bound + sign * _ERROR * d)) for sign in (-1, 1))
            if low == high or d > _BETTER:
                return Count(math.log10(high), high)
        return counted(bound / math.log(10.0), lambda: _precise_bound(d, target))

    def _reached(self, d: int, K: int, target: Fraction) -> bool:
        """Silent below four dimensions, where there is no more room than in four."""
        return super()._reached(max(d, _FIRST_D), K, target)


SIMPLICIAL = _Simplicial()


def log_simplicial_bound(d: int, log_clearance: float) -> float:
    """Logarithm of the largest number of points, not rounded; it falls as the clearance grows.

    Args:
        d: from 3, where it is Fejes Toth's bound.
        log_clearance: at most 0.

    Returns:
        The logarithm, with an absolute error below d * 1e-14.

    Example: Coxeter's bound on the kissing number in four dimensions.
        >>> round(math.exp(log_simplicial_bound(4, math.log(0.5))), 4)
        26.4401
    """
    if log_clearance < _FLAT:
        return log_simplicial_bound(d, _FLAT) + 0.5 * (d - 1) * (_FLAT - log_clearance)
    clearance = math.exp(log_clearance)
    cosine = 1.0 - clearance
    corner = log_simplex_share(d - 1, cosine)
    return math.log(d) + corner - log_simplex_share(d, cosine / clearance)


def _precise_bound(d: int, clearance: Fraction) -> Any:
    """The largest number of points as an mpmath number."""
    import mpmath

    with mpmath.workdps(_DIGITS):
        gap = mpmath.mpf(clearance.numerator) / clearance.denominator
        corner = precise_simplex_share(d - 1, 1 - gap)
        return d * corner / precise_simplex_share(d, (1 - gap) / gap)
