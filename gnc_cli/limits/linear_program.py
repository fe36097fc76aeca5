"""Delsarte's linear programme as a bound: solved by HiGHS, proved in exact arithmetic.

For a largest cosine s it gives the most points (see `delsarte.py`); for (d, K) the largest s whose
proved number of points is below K, so that K points have a larger cosine. The search starts at
Levenshtein's bound, which has the best polynomials of low degree, and goes on where more help.
"""

import math
from fractions import Fraction

from gnc_cli.limits.delsarte import delsarte_points
from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.limit import Count, Dimension, Ending, Finding, Limit, reaches
from gnc_cli.numerics.deadline import Deadline

__all__ = ["DelsarteLP"]

_LARGEST_D = 1000
_LARGEST_K = 10**9
_DEGREE = 40
_SEARCHES = 12
_BACK = (1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
_NEAR = 1e-9
"""What `at` steps back, relative; more is hardly ever needed."""
_GRID = 1 << 48


class DelsarteLP(Limit):
    """The linear programming bound for d up to 1000 and K up to 10^9; silent outside.

    Args:
        degree: of the polynomials, at most. Where Levenshtein's polynomial has a larger degree
            (beyond K = 400 for d = 3, K = 10^6 for d = 10) the bound is silent.
        deadline: polled before each programme; when it has expired the bound is silent.

    Attributes:
        declined: whether it has been silent because its deadline had expired.
    """

    name = "delsarte-lp"
    source = (
        "Delsarte, Goethals and Seidel 1977; "
        "linear programme by HiGHS, verified in exact arithmetic"
    )
    exists = False

    def __init__(self, degree: int = _DEGREE, deadline: Deadline | None = None) -> None:
        self.degree = degree
        self.deadline = deadline
        self.declined = False

    def at(self, d: int, K: int) -> Finding | None:
        """The smallest proved clearance: codes of K points have no larger one."""
        if d > _LARGEST_D or not 3 <= K <= _LARGEST_K:
            return None
        if K <= d + 1:
            return Finding(float(Fraction(K, K - 1)))
        solved = self._cosine(d, K)
        if solved is None:
            return None
        s, degree = solved
        for back in _BACK:
            tried = Fraction(math.floor((s - back * (1.0 - s)) * _GRID), _GRID)
            most = self._most(d, tried, degree)
            if most is not None and most < K:
                return Finding(float(1 - tried))
        return None

    def points(self, d: int, target: Fraction) -> Count | None:
        """The whole number below the proved bound, or as many as `at` allows, exact up to 10^9."""
        most = self._most(d, 1 - target)
        if most is None or most > _LARGEST_K:
            return None
        whole = math.floor(most)
        while self._spared(d, whole + 1, target, most):
            whole += 1
        return Count(math.log10(whole), whole)

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """The smallest d that is not excluded: a proof shows bound < K in the one below.

        A code lies in all higher dimensions, so what one d excludes, smaller ones do. 2 where
        nothing is excluded, as for all K beyond 10^9.
        """
        if target * (K - 1) > K:
            return Dimension(None, Ending.NEVER)
        return super().dimension(K, target)

    def _reached(self, d: int, K: int, target: Fraction) -> bool:
        """One programme decides, where `at` would need several."""
        most = self._most(d, 1 - target) if K <= _LARGEST_K else None
        return most is None or most >= K or self._spared(d, K, target, most)

    def _spared(self, d: int, K: int, target: Fraction, most: Fraction) -> bool:
        """Whether `at` does not exclude K, which the proof for `target` excludes by little.

        It steps back from where the optimum is K, so that it says a little less.
        """
        if K - most > _NEAR * d * K:
            return False
        found = self.at(d, K)
        return found is not None and reaches(found.value, target)

    def _most(self, d: int, s: Fraction, degree: int | None = None) -> Fraction | None:
        if d > _LARGEST_D or self._stopped():
            return None
        proof = delsarte_points(d, s, degree or self.degree)
        return proof.bound if proof is not None else None

    def _stopped(self) -> bool:
        if self.deadline is None or not self.deadline.expired:
            return False
        self.declined = True
        return True

    def _cosine(self, d: int, K: int) -> tuple[float, int] | None:
        """Where the optimum of the programme is K, and the degree that counts there.

        Newton's method on log(bound / K), bisection where it strays.
        """
        from gnc_cli.limits.delsarte_optimum import optimum

        start = LEVENSHTEIN.at(d, K)
        if start is None:
            return None
        s = low = 1.0 - start.value
        high, degree = 1.0, self.degree
        for _ in range(_SEARCHES):
            if self._stopped():
                break
            found = optimum(d, s, degree)
            if found is None and high == 1.0:
                return None
            excess = math.inf
            if found is not None:
                excess = math.log(found.bound / K)
                degree = len(found.coefficients) - 1
            if abs(excess) < 1e-13:
                return s, degree
            low, high = (s, high) if excess < 0.0 else (low, s)
            if high - low < 1e-11 * (1.0 - low):
                break
            ahead = s - excess * found.bound / found.slope if found and found.slope > 0.0 else low
            if abs(ahead - s) < 1e-12 * (1.0 - s):
                return ahead, degree
            s = ahead if low < ahead < high else 0.5 * (low + high)
        return low, degree
