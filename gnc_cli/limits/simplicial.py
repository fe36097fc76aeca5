"""The simplicial bounds: no packing of caps is denser than caps at the vertices of a simplex.

Caps of angular radius r < pi/4 about the points of a code with minimum angle 2r are a packing. By
Böröczky's theorem the density of each in its Dirichlet-Voronoi cell is at most that of d caps that
touch one another in the spherical simplex of their centres, which is regular with edge 2r; so the
density on the whole sphere is. Every vertex angle of that simplex is a cone of d - 1 unit vectors
with pairwise cosine c / (1 + c), c = cos 2r, and the area of a cap cancels:

    K <= d * share(d - 1, c / (1 + c)) / share(d, c),

share(n, c) that of S^(n-1) in the cone of n unit vectors with pairwise cosine c. The bound falls
from infinity at r = 0 to 2d at r = pi/4; where points crowd it tends to Rogers' bound on sphere
packings.

For d = 3 it is Fejes Tóth's, and elementary: among K points on S^2 some two lie within the angle
phi with 4 - 4 sin^2(phi/2) = csc^2 w, where w = K pi / (6 (K - 2)): the side of the equilateral
triangle whose area is the mean area of a triangulation by K points. So the clearance is at most
(4 - csc^2 w)/2, with equality at K = 3, 4, 6 and 12: triangle, tetrahedron, octahedron,
icosahedron. With w = pi/6 + delta, delta = pi / (3 (K - 2)), it is
2 sin(delta) sin(pi/3 + delta) / sin^2(pi/6 + delta), where nothing cancels.

share(n, c) is the Gaussian measure of the cone, an integral over the n coefficients whose exponent
is diagonal but for the square of their sum. One more integral makes that square linear, all n
factors become equal, and

    share = 2^-n sqrt((1 + n q) / pi) * integral over R of exp(-y^2) w(y sqrt(q))^n dy,

q = c / (1 - c), w the Faddeeva function. On the line through the saddle point, which lies on the
imaginary axis, nothing oscillates or cancels, and the trapezoid rule converges exponentially,
whatever n: 41 points give full precision.

References:
    L. Fejes Tóth, Über eine Abschätzung des kürzesten Abstandes zweier Punkte eines auf einer
    Kugelfläche liegenden Punktsystems, Jahresbericht der DMV 53 (1943).
    H. S. M. Coxeter, An upper bound for the number of equal nonoverlapping spheres that can touch
    another of the same size, Proc. Symp. Pure Math. 7 (1963).
    K. Böröczky, Packing of spheres in spaces of constant curvature, Acta Math. Acad. Sci. Hungar.
    32 (1978).
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from gnc_cli.limits.limit import Count, Dimension, Finding, Limit, ball, count_below

if TYPE_CHECKING:
    from flint import arb

Point = TypeVar("Point", complex, np.ndarray)

_FIRST_D = 4
"""Least dimension: in three dimensions it is Fejes Tóth's bound."""
_LAST_EXACT_D = 128
"""Largest dimension with exact counts: beyond it Levenshtein's bound is better."""
_ERROR = 1e-14
"""Error of the logarithm of the bound per dimension, five times the largest observed error."""
_LARGEST_LOG = math.log(1e15)
"""Logarithm of the largest number of points that is counted exactly."""


class _FejesToth(Limit):
    """The bound in three dimensions."""

    name = "fejes-toth"
    source = "Fejes Tóth 1943, Über eine Abschätzung des kürzesten Abstandes zweier Punkte"
    exists = False

    def evaluate(self, d: int, K: int) -> Finding | None:
        """Return the bound for d = 3 and K >= 3; see `Limit.evaluate`."""
        return Finding(_sphere_clearance(K)) if d == 3 and K >= 3 else None

    def points(self, d: int, target: Fraction) -> Count | None:
        """Return the largest number of points on S^2; see `Limit.points`."""
        if d != 3:
            return None
        if target > Fraction(3, 2):
            # Not even the triangle reaches it: all but two points are excluded.
            return Count.from_number(2)
        from flint import arb

        def formula() -> arb:
            # tan w = 1/q, and delta = w - pi/6 by the addition theorem, without cancellation.
            q, root3 = ball(3 - 2 * target).sqrt(), arb(3).sqrt()
            delta = arb.atan2(ball(2 * target), (root3 + q) * (1 + root3 * q))
            return 2 + arb.pi() / (3 * delta)

        return count_below(formula)

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """Return 4 if the target is impossible on S^2, and so on its circles; otherwise 2."""
        return Dimension(2 if self._reached(3, K, target) else 4)


def _sphere_clearance(K: int) -> float:
    delta = math.pi / (3 * (K - 2))
    numerator = math.sin(delta) * math.sin(math.pi / 3.0 + delta)
    return 2.0 * numerator / math.sin(math.pi / 6.0 + delta) ** 2


FEJES_TOTH = _FejesToth()


class _Simplicial(Limit):
    """Böröczky's theorem, for K > 2d; fewer points may have a minimum angle of pi/2."""

    name = "simplicial"
    source = "Coxeter 1963, Böröczky 1978: packing of spheres in spaces of constant curvature"
    exists = False

    def evaluate(self, d: int, K: int) -> Finding | None:
        """Return the clearance whose bound is K: secants in logarithms, 3 to 5 evaluations.

        The logarithm of the bound is nearly linear in that of the clearance: its slope changes from
        (d - 1) / -2 at small clearances to -2 (d - 1) / pi at clearance 1.
        """
        if d < _FIRST_D or K <= 2 * d:
            return None
        goal = math.log(K)
        gentle, steep = -0.5 * (d - 1), -2.0 / math.pi * (d - 1)
        x = (goal - math.log(2 * d)) / gentle
        excess, slope, tolerance = log_simplicial_bound(d, x) - goal, gentle, 1e-13
        while abs(step := -excess / slope) > tolerance:
            previous, x = excess, x + step
            excess = log_simplicial_bound(d, x) - goal
            slope = min(max((excess - previous) / step, steep), gentle)
            tolerance = 1e-10  # the error after a secant is the product of two steps
        return Finding(math.exp(x + step))

    def points(self, d: int, target: Fraction) -> Count | None:
        """Return the bound at a clearance, rounded down; None from clearance 1, an angle of pi/2.

        If doubles leave two whole numbers possible, more digits decide, which takes long. Beyond
        128 dimensions, where Levenshtein's bound is better, the larger number is returned: more
        points are excluded in any case.
        """
        if d < _FIRST_D or target >= 1:
            return None
        bound = log_simplicial_bound(d, math.log(target.numerator) - math.log(target.denominator))
        if bound < _LARGEST_LOG:
            low, high = (math.floor(math.exp(bound + sign * _ERROR * d)) for sign in (-1, 1))
            if low == high or d > _LAST_EXACT_D:
                return Count.from_number(high)

        def formula() -> "arb":
            corner = simplex_share(d - 1, ball(1 - target))
            return d * corner / simplex_share(d, ball((1 - target) / target))

        return count_below(formula, bound / math.log(10.0))

    def _reached(self, d: int, K: int, target: Fraction) -> bool:
        """Compare in four dimensions below four: a code there is also one in four."""
        return super()._reached(max(d, _FIRST_D), K, target)


SIMPLICIAL = _Simplicial()


def log_simplicial_bound(d: int, log_clearance: float) -> float:
    """Return the logarithm of the bound, not rounded; it falls as the clearance grows.

    Its error is below d * 1e-14, from d = 3 on, where the bound is Fejes Tóth's.
    """
    clearance = math.exp(log_clearance)
    cosine = 1.0 - clearance
    corner = log_simplex_share(d - 1, cosine)
    return math.log(d) + corner - log_simplex_share(d, cosine / clearance)


# The cone spanned by n unit vectors with one common angle


_MOST_STEPS = 50
"""Steps of Newton's method, which takes four at most."""
_STEP = 0.35
"""Step of the trapezoid rule, in standard deviations of the Gaussian at the saddle point."""
_RULE_BITS = 128
"""Precision of the trapezoid rule with balls, bits."""
_NODES = np.arange(41)
"""Nodes of the trapezoid rule, in steps. The integrand at -x is the conjugate of that at x, so
negative nodes are omitted."""


def log_simplex_share(n: int, q: float) -> float:
    """Return the logarithm of the share of S^(n-1) in a cone of n vectors with pairwise cosine c.

    q = c / (1 - c), up to 1e32, keeps all digits both for small c and for small 1 - c. The error is
    below n * 1e-14, from n = 2 on.
    """
    eta, deviation = _saddle(n, q)
    step = _STEP * deviation
    x = step * _NODES
    w = faddeeva(math.sqrt(q) * (x + 1j * eta))
    top = float(w[0].real)
    heights = np.exp(n * np.log(w / top) - x * (x + 2j * eta)).real
    area = step * float(2.0 * heights.sum() - heights[0])
    return eta * eta + n * math.log(top / 2.0) + math.log(area * math.sqrt((1.0 + n * q) / math.pi))


def simplex_share(n: int, q: "arb") -> "arb":
    """Return the share as a ball; the relative error of the trapezoid rule is below 2^-128."""
    from flint import acb, arb

    eta, deviation = _saddle(n, float(q))
    # The error of the rule falls as fast as the terms do, exponentially in 1/step.
    step, tolerance = arb(18.6 * deviation / _RULE_BITS), arb(2) ** -_RULE_BITS
    area, term, j = arb(0), arb(1), 0
    while j == 0 or abs(term) > area * tolerance:
        y = acb(j * step, eta)
        # w(z) = U(1/2, 1/2, -z^2) / sqrt(pi), in which no exponent is huge.
        w = (-q * y * y).hypgeom_u(0.5, 0.5) / arb.const_sqrt_pi()
        term = ((-y * y).exp() * w**n).real
        area += term if j == 0 else 2 * term
        j += 1
    return step * area * ((1 + n * q) / arb.pi()).sqrt() / arb(2) ** n


def _saddle(n: int, q: float) -> tuple[float, float]:
    """Return the saddle point i eta, as eta, and the standard deviation of the integrand there.

    On the imaginary axis the integrand is exp(eta^2) erfcx(eta sqrt(q))^n, which is log-convex. The
    approximation erfcx(u) ~ 1 / (u + sqrt(u^2 + 1.6)) yields a start, from which Newton's method
    takes two or three steps to the minimum. The deviation is that along the real axis.
    """
    k = math.sqrt(q)
    eta = math.sqrt(0.4) * n * k / math.sqrt(1.0 + n * q)
    for _ in range(_MOST_STEPS):
        rate, curvature = _decay(k * eta)
        stiffness = 2.0 + n * q * curvature
        change = (2.0 * eta - n * k * rate) / stiffness
        eta -= change
        if change * change * stiffness < 1e-6:
            return eta, 1.0 / math.sqrt(stiffness)
    raise ArithmeticError(f"found no saddle point for the cone of {n} vectors with q = {q}")


def _decay(u: float) -> tuple[float, float]:
    """Return the first (negated) and the second derivative of log erfcx at u >= 0."""
    if u > 3.0:  # Laplace's continued fraction: no cancellation for large u
        rest = 0.0
        for j in range(40, 1, -1):
            rest = 0.5 * j / (u + rest)
        rate = 1.0 / (u + rest)
    else:
        rate = 2.0 / (math.sqrt(math.pi) * faddeeva(complex(0.0, u)).real) - 2.0 * u
        rest = 1.0 / rate - u
    return rate, rate * (2.0 * rest - rate)


_FADDEEVA_TERMS = 40
_ROOT_PI = math.sqrt(math.pi)


def faddeeva(z: Point) -> Point:
    """Return w(z) = exp(-z^2) erfc(-iz) with a relative error of some 1e-15, for Im z >= 0.

    A rational approximation (Weideman, Computation of the complex error function, SIAM J. Numer.
    Anal. 31, 1994) maps z to the unit disk and w to a power series there, whose coefficients are
    Fourier sums. Its leading term, i / (sqrt(pi) z), is exact, so the error stays relative for
    large z.

    Args:
        z: a number, or an array of any shape.
    """
    width, coefficients = _weideman()
    q = 1.0 / (width - 1j * z)
    t = (width + 1j * z) * q
    series = coefficients[-1] * t + coefficients[-2]
    for a in coefficients[-3::-1]:
        series = series * t + a
    return (2.0 * series * q + 1.0 / _ROOT_PI) * q


@lru_cache(maxsize=1)
def _weideman() -> tuple[float, list[float]]:
    """Return the width L of the map (L + iz) / (L - iz), and the coefficients of the series."""
    width = math.sqrt(_FADDEEVA_TERMS / math.sqrt(2.0))
    count = 4 * _FADDEEVA_TERMS
    angle = 2.0 * math.pi / count * np.arange(1 - count // 2, count // 2)
    t = width * np.tan(angle / 2.0)
    samples = np.exp(-t * t) * (width * width + t * t)
    orders = np.arange(1, _FADDEEVA_TERMS + 1)
    return width, [float(a) for a in np.cos(np.outer(orders, angle)) @ samples / count]
