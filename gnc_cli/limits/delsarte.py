"""Delsarte's linear program as a bound: solved by HiGHS, proved in exact arithmetic.

If f = f_0 + sum f_i P_i with f_0 > 0, all f_i >= 0, and f <= 0 on [-1, s], then a code whose
cosines are at most s has at most f(1) / f_0 points: sum f over all pairs of points in two ways
(Delsarte, Goethals and Seidel 1977, theorem 4.3). Given any f with f_0 = 1 and its largest value
e < 1 on [-1, s], f - e is such a polynomial: the bound is (f(1) - e) / (1 - e).

The largest value is proved from above: flint isolates all roots of f', and in its balls, rounded
outwards, f is evaluated; at the ends of [-1, s], exactly.

For a largest cosine s the program bounds the number of points. For (d, K) it yields the largest s
whose proved number of points is below K, so that K points have a larger cosine. The search starts
at Levenshtein's bound, which has the best polynomials of low degree, and continues where higher
degrees help.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.limit import Count, Dimension, Ending, Finding, Limit
from gnc_cli.runtime.deadline import Deadline

if TYPE_CHECKING:
    from flint import fmpq, fmpq_poly

_LARGEST_D = 1000
"""Largest dimension of the bound; `--lp` documents it."""
_LARGEST_K = 10**9
"""Largest number of points of the bound; `--lp` documents it."""
_DEGREE = 40
"""Default degree of the polynomials: that of Levenshtein's for 400 points in 3 dimensions."""
_SEARCHES = 12
"""Steps of the search for a cosine, at most."""
_STEPS_BACK = (1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
"""Distances from the best cosine, relative to 1 - s, at which a proof is attempted in turn."""
_MARGIN_PER_DIMENSION = 1e-9
"""Relative excess of K over a proved bound, per dimension, below which `solve` decides."""
_COSINE_UNIT = 1 << 48
"""Denominator of the cosines of proofs."""
_COEFFICIENT_BITS = 64
"""Binary places of the coefficients of proofs, more than those of doubles."""
_BITS = 192
"""Working precision of the largest value, bits: far above that of the coefficients."""


class DelsarteLP(Limit):
    """The linear programming bound for d up to 1000 and K up to 10^9; silent outside.

    It is silent too if Levenshtein's polynomial has a degree above `degree` (beyond K = 400 for
    d = 3, K = 10^6 for d = 10), and after the deadline, which sets `declined`.
    """

    name = "delsarte-lp"
    source = (
        "Delsarte, Goethals and Seidel 1977; linear program by HiGHS, verified in exact arithmetic"
    )
    exists = False

    def __init__(
        self, degree: int = _DEGREE, deadline: Deadline | None = None, *, only_open: bool = False
    ) -> None:
        """Prepare the bound; no program is solved yet.

        Args:
            degree: largest degree of the polynomials.
            deadline: deadline of all programs together.
            only_open: silence `evaluate`, so that only `solve` answers.
        """
        self.degree = degree
        self.deadline = deadline or Deadline()
        self._only_open = only_open
        self.proof = lru_cache(maxsize=1)(self._proof)
        """Proof of the largest cosine that excludes K points, for d + 1 < K, by d and K."""

    def evaluate(self, d: int, K: int) -> Finding | None:
        """Return the smallest proved clearance: codes of K points have no larger one."""
        return None if self._only_open else self.solve(d, K)

    def solve(self, d: int, K: int) -> Finding | None:
        """Return the smallest proved clearance, also if only open gaps are to be answered."""
        if d > _LARGEST_D or not 3 <= K <= _LARGEST_K:
            return None
        if K <= d + 1:
            return Finding(float(Fraction(K, K - 1)))
        proof = self.proof(d, K)
        return None if proof is None else Finding(float(1 - proof.s))

    def _proof(self, d: int, K: int) -> "DelsarteProof | None":
        solution = self._cosine(d, K)
        if solution is None:
            return None
        s, degree = solution
        for back in _STEPS_BACK:
            cosine = Fraction(math.floor((s - back * (1.0 - s)) * _COSINE_UNIT), _COSINE_UNIT)
            proof = self._prove(d, cosine, degree)
            if proof is not None and proof.bound < K:
                return proof
        return None

    def points(self, d: int, target: Fraction) -> Count | None:
        """Return the whole number below the proved bound, up to 10^9.

        It is larger where `solve`, whose proofs are weaker, does not exclude the next one.
        """
        bound = self._bound(d, 1 - target)
        if bound is None or bound > _LARGEST_K:
            return None
        whole = math.floor(bound)
        while self._spares(d, whole + 1, target, bound):
            whole += 1
        return Count.from_number(whole)

    def dimension(self, K: int, target: Fraction) -> Dimension:
        """Return the smallest d that is not excluded: a proof shows bound < K in d - 1.

        A code lies in all higher dimensions, so a d that excludes it excludes all smaller ones. The
        result is 2 if nothing is excluded, as for all K beyond 10^9.
        """
        if target * (K - 1) > K:
            return Dimension(None, Ending.UNREACHABLE)
        return super().dimension(K, target)

    def _reached(self, d: int, K: int, target: Fraction) -> bool:
        """Decide by one program, where `solve` would need several."""
        bound = self._bound(d, 1 - target) if K <= _LARGEST_K else None
        return bound is None or bound >= K or self._spares(d, K, target, bound)

    def _spares(self, d: int, K: int, target: Fraction, bound: Fraction) -> bool:
        """Return whether `solve` does not exclude K, which the proof for `target` barely excludes.

        `solve` steps back from the cosine whose optimum is K, so that it proves a little less.
        """
        if K - bound > _MARGIN_PER_DIMENSION * d * K:
            return False
        finding = self.solve(d, K)
        return finding is not None and finding.value >= target

    def _bound(self, d: int, s: Fraction) -> Fraction | None:
        proof = self._prove(d, s, self.degree)
        return proof.bound if proof is not None else None

    def _prove(self, d: int, s: Fraction, degree: int) -> "DelsarteProof | None":
        if d > _LARGEST_D or self._stopped():
            return None
        return delsarte_points(d, s, degree)

    def _stopped(self) -> bool:
        self.declined = self.declined or self.deadline.expired
        return self.declined

    def _cosine(self, d: int, K: int) -> tuple[float, int] | None:
        """Find the cosine at which the optimum of the program is K, and the degree that matters.

        Newton's method on log(bound / K), with bisection as its safeguard.
        """
        from gnc_cli.limits.delsarte_optimum import optimum

        start = LEVENSHTEIN.evaluate(d, K)
        if start is None:
            return None
        s = low = 1.0 - start.value
        high, degree = 1.0, self.degree
        for _ in range(_SEARCHES):
            if self._stopped():
                break
            best = optimum(d, s, degree)
            if best is None and high == 1.0:
                return None
            excess = math.inf
            if best is not None:
                excess = math.log(best.bound / K)
                degree = len(best.coefficients) - 1
            if abs(excess) < 1e-13:
                return s, degree
            low, high = (s, high) if excess < 0.0 else (low, s)
            if high - low < 1e-11 * (1.0 - low):
                break
            newton = s - excess * best.bound / best.slope if best and best.slope > 0.0 else low
            if abs(newton - s) < 1e-12 * (1.0 - s):
                return newton, degree
            s = newton if low < newton < high else 0.5 * (low + high)
        return low, degree


@dataclass(frozen=True)
class DelsarteProof:
    """A polynomial and the number of points that it proves; all numbers exact."""

    d: int
    s: Fraction
    """Largest cosine of the codes."""
    coefficients: tuple[Fraction, ...]
    """Coefficients f_0 = 1 and f_1 ... f_degree >= 0 of the Gegenbauer polynomials, P_i(1) = 1."""
    excess: Fraction
    """Proved upper bound of f on [-1, s], below 1."""

    @property
    def bound(self) -> Fraction:
        """Proved upper bound of the number of points."""
        return (sum(self.coefficients, Fraction(0)) - self.excess) / (1 - self.excess)


def prove(d: int, s: Fraction, coefficients: Iterable[Fraction | float]) -> DelsarteProof | None:
    """Return the proof by 1 + sum coefficients[i - 1] P_i; negative coefficients count as 0.

    None if the polynomial is far from feasible: its largest value is 1 or more.

    >>> prove(3, Fraction(0), [Fraction(3), Fraction(2)]).bound
    Fraction(6, 1)
    """
    exact = (Fraction(1), *(max(Fraction(0), Fraction(c)) for c in coefficients))
    excess = largest_value(gegenbauer_sum(d, exact), Fraction(-1), s)
    return DelsarteProof(d, s, exact, excess) if excess < 1 else None


def delsarte_points(d: int, s: Fraction, degree: int) -> DelsarteProof | None:
    """Return the best proof of at most this degree: found by HiGHS and Newton's method.

    None without a proof: s is too near 1 for the degree, or the numbers are too large.

    >>> proof = delsarte_points(8, Fraction(1, 2), 14)
    >>> math.floor(proof.bound), proof.bound - 240 < 1e-9
    (240, True)
    """
    if s * d <= -1:
        # Rankin's polynomial of degree 1 is optimal for these s.
        return prove(d, s, [-1 / s])
    from gnc_cli.limits.delsarte_optimum import optimum

    best = optimum(d, float(s), degree)
    if best is None:
        return None
    unit = 1 << _COEFFICIENT_BITS
    return prove(
        d, s, (Fraction(math.ceil(c * unit), unit) for c in best.coefficients[1:].tolist())
    )


def gegenbauer_sum(d: int, coefficients: Sequence[Fraction]) -> "fmpq_poly":
    """Return `sum coefficients[i] P_i`, P_i the Gegenbauer polynomials with P_i(1) = 1, exactly.

    >>> gegenbauer_sum(3, [Fraction(0), Fraction(0), Fraction(1)])
    3/2*x^2 + (-1/2)
    """
    from flint import fmpq_poly

    total = fmpq_poly()
    for c, P in zip(coefficients, gegenbauer_polynomials(d), strict=False):
        total += P * rational(c)
    return total


def gegenbauer_polynomials(d: int) -> Iterator["fmpq_poly"]:
    """Yield the Gegenbauer polynomials P_0, P_1, ... of R^d, P_i(1) = 1, exactly, without end."""
    from flint import fmpq_poly

    previous, P, x = fmpq_poly(), fmpq_poly([1]), fmpq_poly([0, 1])
    for i in itertools.count():
        yield P
        previous, P = P, ((2 * i + d - 2) * x * P - i * previous) / (i + d - 2) if i else x


def largest_value(f: "fmpq_poly", low: Fraction, high: Fraction) -> Fraction:
    """Return an upper bound of f on [low, high], sharp to about 10^-50 of its coefficients."""
    from flint import arb, arb_poly, ctx

    slope: Any = f.derivative().numer()
    ends = rational(low), rational(high)
    highest = max(f(end) for end in ends)
    with ctx.workprec(_BITS):
        interval = arb(ends[0]).union(arb(ends[1]))
        balls: Any = arb_poly(f)
        for root, _ in slope.complex_roots() if slope.degree() > 0 else ():
            if root.imag.contains(0) and root.real.overlaps(interval):
                highest = max(highest, balls(root.real).upper().fmpq())
    return Fraction(int(highest.p), int(highest.q))


def rational(number: Fraction) -> "fmpq":
    """Convert a number to FLINT."""
    from flint import fmpq

    return fmpq(number.numerator, number.denominator)
