"""One way to write a number: surds, polynomials in t, cosines of rational angles.

Stated figures and figures found from rows are compared as text, so each number has a single form.
"""

from fractions import Fraction
from math import cos, gcd, isqrt, lcm, pi, sin

from gnc_cli.codes.constructions.construction import Cosine

__all__ = ["polynomial_text", "surd_text", "turn_cosine"]

_RATIONAL_TURNS = {1: Fraction(1), 2: Fraction(-1), 3: Fraction(-1, 2), 4: Fraction(0),
                   6: Fraction(1, 2)}
"""Cosine of 1/n of a turn where it is rational (Niven 1956: for no other n)."""


def surd_text(rational: Fraction, factor: Fraction, square: Fraction) -> str:
    """`rational + factor * sqrt(square)` in lowest terms; `square` positive and no square.

    Example:
        >>> surd_text(Fraction(1, 2), Fraction(1, 4), Fraction(20))
        '(1+sqrt(5))/2'
        >>> surd_text(Fraction(0), Fraction(-1, 5), Fraction(5))
        '-1/sqrt(5)'
    """
    if rational == 0:
        root = Cosine.root(factor**2 * square).text
        return root if factor > 0 else f"-{root}"
    # sqrt(n/m) = sqrt(n m)/m = f sqrt(r)/m with r free of squares.
    inside = square.numerator * square.denominator
    free = max(f for f in range(1, isqrt(inside) + 1) if inside % (f * f) == 0)
    factor, inside = factor * Fraction(free, square.denominator), inside // free**2
    below = lcm(rational.denominator, factor.denominator)
    u, v = int(rational * below), int(factor * below)
    root = f"{'+' if v > 0 else '-'}{'' if abs(v) == 1 else f'{abs(v)}*'}sqrt({inside})"
    return f"{u}{root}" if below == 1 else f"({u}{root})/{below}"


def polynomial_text(coefficients: tuple[Fraction, ...]) -> str:
    """A polynomial in t over one denominator, from the highest power down.

    Example:
        >>> polynomial_text((Fraction(-2, 7), Fraction(2, 7), Fraction(1, 7)))
        '(t^2+2*t-2)/7'
    """
    below = lcm(*(c.denominator for c in coefficients))
    terms = ""
    for power in range(len(coefficients) - 1, -1, -1):
        c = int(coefficients[power] * below)
        if c == 0:
            continue
        symbol = {0: "", 1: "t"}.get(power, f"t^{power}")
        size = str(abs(c)) if not symbol else "" if abs(c) == 1 else f"{abs(c)}*"
        terms += ("-" if c < 0 else "+" if terms else "") + size + symbol
    if below == 1:
        return terms or "0"
    several = sum(c != 0 for c in coefficients) > 1
    return f"({terms})/{below}" if several else f"{terms}/{below}"


def turn_cosine(m: int, K: int) -> Cosine:
    """Cosine of the angle 2 pi m / K, rational where it is; the double is right to an ulp or two.

    Example:
        >>> turn_cosine(2, 12), turn_cosine(1, 5).text
        (Cosine(text='1/2', value=0.5), 'cos(2*pi/5)')
    """
    m = min(m % K, -m % K)
    common = gcd(m, K)
    m, K = m // common, K // common
    if K in _RATIONAL_TURNS:
        return Cosine.of(_RATIONAL_TURNS[K])
    # Near a quarter turn the sine of the small complement keeps all digits.
    middle = abs(4 * m - K) < K / 2
    value = sin(pi * (K - 4 * m) / (2 * K)) if middle else cos(2 * pi * m / K)
    return Cosine(f"cos({2 * m}*pi/{K})", value)
