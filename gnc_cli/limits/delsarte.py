"""Delsarte's linear programme as a bound: solved by HiGHS, proved in exact arithmetic.

If f = f_0 + sum f_i P_i with f_0 > 0, all f_i >= 0, and f <= 0 on [-1, s], then a code whose
cosines are at most s has at most f(1) / f_0 points: sum f over all pairs of points in two ways
(Delsarte, Goethals and Seidel 1977, theorem 4.3). Given any f with f_0 = 1 and its largest value
e < 1 on [-1, s], f - e is such a polynomial: the bound is (f(1) - e) / (1 - e).

The largest value is proved from above in whole numbers. On an interval a polynomial lies below the
largest of its Bernstein coefficients, and below its tangents where their second differences show it
concave. The interval is halved (de Casteljau) until one of the two decides. Coefficients are whole
multiples of 2^-100, rounded upwards at every step: the Bernstein polynomials are not negative, so
what is bounded lies above the polynomial.

For a largest cosine s the programme gives the most points; for (d, K) the largest s whose proved
number of points is below K, so that K points have a larger cosine. The search starts at
Levenshtein's bound, which has the best polynomials of low degree, and goes on where more help.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gnc_cli.limits.levenshtein import LEVENSHTEIN
from gnc_cli.limits.limit import Count, Dimension, Ending, Finding, Limit, reaches
from gnc_cli.runtime.deadline import Deadline

_LARGEST_D = 1000
_LARGEST_K = 10**9
_DEGREE = 40
_SEARCHES = 12
_BACK = (1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
_NEAR = 1e-9
"""What `at` steps back, relative; more is hardly ever needed."""
_GRID = 1 << 48
_COEFFICIENT_BITS = 64
_BITS = 100
_TOLERANCE = 1 << (_BITS - 56)
_DEEPEST = 60
_POINT_BITS = 52


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
        return Count.of(whole)

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
    unit = 1 << _COEFFICIENT_BITS
    return prove(
        d, s, (Fraction(math.ceil(c * unit), unit) for c in found.coefficients[1:].tolist())
    )


def power_coefficients(d: int, coefficients: Sequence[Fraction]) -> list[Fraction]:
    """The powers of x in `sum coefficients[i] P_i`, exactly, constant first.

    Example:
        >>> power_coefficients(3, [Fraction(0), Fraction(0), Fraction(1)])
        [Fraction(-1, 2), Fraction(0, 1), Fraction(3, 2)]
    """
    degree = len(coefficients) - 1
    common = math.lcm(*(c.denominator for c in coefficients))
    # scale * P_i has whole coefficients: `scale` is the product of the i + d - 2 so far.
    before: list[int] = []
    polynomial, scale = [1], 1
    scaled = []
    for i in range(degree + 1):
        scaled.append((polynomial, scale))
        lead, last, step = (2 * i + d - 2, i, i + d - 2) if i else (1, 0, 1)
        after = [0, *(lead * p for p in polynomial)]
        # P_{i-1} lacks the factor i + d - 3 that P_i has, but for i = 1, whose P_0 needs none.
        lacking = last * (i + d - 3 if i > 1 else 1)
        for k, p in enumerate(before):
            after[k] -= lacking * p
        before, polynomial, scale = polynomial, after, scale * step
    top = scaled[-1][1]
    total = [0] * (degree + 1)
    for c, (polynomial, scale) in zip(coefficients, scaled, strict=True):
        factor = c.numerator * (common // c.denominator) * (top // scale)
        for k, p in enumerate(polynomial):
            total[k] += factor * p
    return [Fraction(numerator, top * common) for numerator in total]


def largest_value(coefficients: Sequence[Fraction], low: Fraction, high: Fraction) -> Fraction:
    """At least the maximum of `sum coefficients[k] x^k` on [low, high], and hardly more.

    The excess is near 1e-14 of the polynomial's variation around a maximum where its second
    derivative does not vanish, 1e-16 where the maximum lies at an end.

    Example:
        >>> float(largest_value([Fraction(0), Fraction(1), Fraction(-1)], Fraction(0), Fraction(1)))
        0.25
    """
    whole = _bernstein(coefficients, low, high)
    highest = max(whole[0], whole[-1])
    pieces = [(whole, 0)]
    while pieces:
        piece, depth = pieces.pop()
        peak = max(piece)
        if peak <= highest:
            continue
        if _concave(piece):
            highest = max(highest, _tangent_bound(piece))
        elif depth == _DEEPEST or peak <= highest + _TOLERANCE:
            highest = peak
        else:
            left, right = _halves(piece)
            highest = max(highest, left[-1])
            pieces += [(left, depth + 1), (right, depth + 1)]
    return Fraction(highest, 1 << _BITS)


def _bernstein(coefficients: Sequence[Fraction], low: Fraction, high: Fraction) -> list[int]:
    """Bernstein coefficients on [low, high] in units of 2^-100, rounded upwards."""
    degree = len(coefficients) - 1
    common = math.lcm(*(c.denominator for c in coefficients))
    unit = math.lcm(low.denominator, high.denominator)
    start, width = int(low * unit), int((high - low) * unit)
    # Horner's rule for x = (start + width t) / unit, as a polynomial in t.
    powers: list[int] = []
    grown = 1
    for c in reversed(coefficients):
        powers = [start * p + width * q for p, q in zip([*powers, 0], [0, *powers], strict=True)]
        powers[0] += int(c * common) * grown
        grown *= unit
    choose = [math.comb(degree, k) for k in range(degree + 1)]
    multiple = math.lcm(*choose)
    shares = [multiple // b * p for b, p in zip(choose, powers, strict=False)]
    divisor = common * (grown // unit) * multiple
    sums = (sum(math.comb(j, k) * shares[k] for k in range(j + 1)) for j in range(degree + 1))
    return [-(-(b << _BITS) // divisor) for b in sums]


def _halves(piece: list[int]) -> tuple[list[int], list[int]]:
    left, right = [piece[0]], [piece[-1]]
    while len(piece) > 1:
        piece = [(a + b + 1) >> 1 for a, b in zip(piece, piece[1:], strict=False)]
        left.append(piece[0])
        right.append(piece[-1])
    return left, right[::-1]


def _concave(piece: list[int]) -> bool:
    triples = zip(piece, piece[1:], piece[2:], strict=False)
    return all(a + c <= 2 * b for a, b, c in triples)


def _tangent_bound(piece: list[int]) -> int:
    """Where a concave piece lies below, by its tangent near the top."""
    degree = len(piece) - 1
    steps = [b - a for a, b in zip(piece, piece[1:], strict=False)]
    one = 1 << _POINT_BITS
    point = _turning_point([float(step) for step in steps])
    at = round(point * one)
    value = _exact(piece, at)
    # The slope has one factor 2^52 less, and `reach` brings it.
    slope = degree * _exact(steps, at)
    reach = one - at if slope > 0 else -at
    return -(-(value + slope * reach) // one**degree)


def _turning_point(steps: list[float]) -> float:
    """Where the decreasing polynomial with these Bernstein coefficients changes sign."""
    degree = len(steps) - 1
    weighted = [math.comb(degree, k) * step for k, step in enumerate(steps)]
    low, high = 0.0, 1.0
    for _ in range(_POINT_BITS):
        middle = 0.5 * (low + high)
        # Horner's rule in the ratio, from the end where it is at most 1.
        turned = middle > 0.5
        ratio = (1.0 - middle) / middle if turned else middle / (1.0 - middle)
        value = 0.0
        for w in weighted if turned else reversed(weighted):
            value = value * ratio + w
        low, high = (middle, high) if value > 0.0 else (low, middle)
    return 0.5 * (low + high)


def _exact(piece: list[int], at: int) -> int:
    """The piece's value at `at / 2^52`, times 2^(52 degree)."""
    degree = len(piece) - 1
    rest = (1 << _POINT_BITS) - at
    value, power = 0, 1
    for k, b in enumerate(piece):
        value = value * rest + math.comb(degree, k) * b * power
        power *= at
    return value
