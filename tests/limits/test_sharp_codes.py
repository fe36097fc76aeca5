"""Proposition 8 of paper/theorem.md: what it asks for, in exact arithmetic, code by code.

Where it holds, no Tammes code of (d, K) has a rattler, and every Softmax Code is a Tammes code.
"""

from pathlib import Path

import pytest
from sympy import Expr, Poly, Rational, Symbol, expand, radsimp, solve, sqrt

NOTE = Path(__file__).parents[2] / "paper/theorem.md"

SHARP = {
    (3, 12): (-1, -1 / sqrt(5), 1 / sqrt(5)),
    (5, 16): (Rational(-3, 5), Rational(1, 5)),
    (6, 27): (Rational(-1, 2), Rational(1, 4)),
    (7, 56): (-1, Rational(-1, 3), Rational(1, 3)),
    (8, 240): (-1, Rational(-1, 2), 0, Rational(1, 2)),
    (21, 112): (Rational(-1, 3), Rational(1, 9)),
    (21, 162): (Rational(-2, 7), Rational(1, 7)),
    (22, 100): (Rational(-4, 11), Rational(1, 11)),
    (22, 275): (Rational(-1, 4), Rational(1, 6)),
    (22, 891): (Rational(-1, 2), Rational(-1, 8), Rational(1, 4)),
    (23, 552): (-1, Rational(-1, 5), Rational(1, 5)),
    (23, 4600): (-1, Rational(-1, 3), 0, Rational(1, 3)),
    (24, 196560): (
        -1,
        Rational(-1, 2),
        Rational(-1, 4),
        0,
        Rational(1, 4),
        Rational(1, 2),
    ),
} | {
    (q * (q * q - q + 1), (q + 1) * (q**3 + 1)): (Rational(-1, q), Rational(1, q * q))
    for q in (4, 5, 7, 8)
}
"""Their inner products: Cohn and Kumar 2007, table 1."""


def _times(coefficients: list[Symbol], d: int, root: Symbol) -> list[Symbol]:
    """`x - root` times a polynomial, both in Gegenbauer polynomials of dimension d, 1 at 1."""
    product = [expand(-root * c) for c in coefficients] + [Rational(0)]
    product[1] += coefficients[0]
    for k, c in enumerate(coefficients[1:], start=1):
        product[k + 1] += c * Rational(k + d - 2, 2 * k + d - 2)
        product[k - 1] += c * Rational(k, 2 * k + d - 2)
    return product


@pytest.mark.parametrize("d, K", SHARP)
def test_delsartes_polynomial_is_tight_and_its_coefficients_are_positive(d: int, K: int) -> None:
    assert f"({d}, {K})" in NOTE.read_text(encoding="utf-8")
    *others, largest = SHARP[d, K]
    f = _times([Rational(1)], d, largest)
    for root in others:
        f = _times(f, d, root)
        if root != -1:
            f = _times(f, d, root)
    assert all(c.is_positive for c in f)
    assert expand(sum(f) - K * f[0]) == 0


def test_the_polynomial_of_the_600_cell() -> None:
    """f = (x - b) (x + 1) g(x) times the squares at the other products, f_11 = f_12 = f_13 = 0."""
    x, golden = Symbol("x"), (1 + sqrt(5)) / 2
    b = golden / 2
    inner = [-b, Rational(-1, 2), -1 / (2 * golden), 0, 1 / (2 * golden), Rational(1, 2)]
    columns = []
    for power in range(4):  # g = g_0 + g_1 x + g_2 x^2 + g_3 x^3
        f = _times(_times([Rational(1)], 4, b), 4, Rational(-1))
        for root in [*inner, *inner, *[0] * power]:
            f = _times(f, 4, root)
        columns.append([radsimp(c) for c in f] + [Rational(0)] * (3 - power))
    g = [*(Symbol(f"g{power}") for power in range(3)), Rational(1)]
    coefficients = [
        sum(u * column[k] for u, column in zip(g, columns, strict=True)) for k in range(18)
    ]
    (found,) = solve([coefficients[k] for k in (11, 12, 13)], g[:3], dict=True)
    exact: list[Expr] = [radsimp(expand(c.subs(found))) for c in coefficients]
    sign = 1 if exact[0] > 0 else -1
    positive = [k for k in range(18) if k not in (11, 12, 13)]
    assert all(sign * exact[k] > 0 for k in positive)
    assert all(radsimp(exact[k]) == 0 for k in (11, 12, 13))
    assert radsimp(expand(sum(exact) - 120 * exact[0])) == 0
    # g has no zero on [-1, b], where the first sign is that of all.
    cubic = Poly([sign * radsimp(u.subs(found)) for u in reversed(g)], x)
    assert cubic.eval(-1) > 0 and not [z for z in cubic.nroots(n=30) if z.is_real and -1 <= z <= b]
