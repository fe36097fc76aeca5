"""Fejes Toth's bound on the sphere in three dimensions: triangles are the densest.

Among K points on S^2 some two lie within the angle phi with 4 - 4 sin^2(phi/2) = csc^2 w, where
w = K pi / (6 (K - 2)): the side of the equilateral triangle whose area is the mean area of a
triangulation by K points. So the clearance is at most (4 - csc^2 w)/2, with equality at K = 3, 4, 6
and 12: triangle, tetrahedron, octahedron, icosahedron. With w = pi/6 + delta, delta =
pi / (3 (K - 2)), it is 2 sin(delta) sin(pi/3 + delta) / sin^2(pi/6 + delta), where nothing cancels.

Reference:
    L. Fejes Toth, Ueber die Abschaetzung des kuerzesten Abstandes zweier Punkte eines auf einer
    Kugelflaeche liegenden Punktsystems, Jahresbericht der DMV 53, 1943
"""

import math
from fractions import Fraction
from typing import Any

from gnc_cli.limits.counting import counted
from gnc_cli.limits.limit import Count, Dimension, Finding, Limit

__all__ = ["FEJES_TOTH"]


class _FejesToth(Limit):
    """In three dimensions; see the top of the file.

    Example:
        >>> round(1.0 - FEJES_TOTH.at(3, 12).value, 12) == round(5**-0.5, 12)
        True
    """

    name = "fejes-toth"
    source = "Fejes Toth 1943, the shortest distance of two of K points on a sphere"
    exists = False

    def at(self, d: int, K: int) -> Finding | None:
        return Finding(_clearance(K)) if d == 3 and K >= 3 else None

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


def _clearance(K: int) -> float:
    delta = math.pi / (3 * (K - 2))
    numerator = math.sin(delta) * math.sin(math.pi / 3.0 + delta)
    return 2.0 * numerator / math.sin(math.pi / 6.0 + delta) ** 2


FEJES_TOTH = _FejesToth()
