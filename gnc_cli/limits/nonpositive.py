"""The largest value of a polynomial on an interval, proved from above in whole numbers.

On an interval a polynomial lies below the largest of its Bernstein coefficients, and below its
tangents where their second differences show it concave. The interval is halved (de Casteljau)
until one of the two decides. Coefficients are whole multiples of 2^-100, rounded upwards at every
step: the Bernstein polynomials are not negative, so what is bounded lies above the polynomial.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

__all__ = ["largest_value"]

_BITS = 100
_TOLERANCE = 1 << (_BITS - 56)
_DEEPEST = 60
_POINT_BITS = 52


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
