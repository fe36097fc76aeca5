"""Sharp codes: what the proof that none of their Tammes codes has a rattler asks for, exactly."""

import pytest
from sympy import Rational, Symbol, expand, sqrt

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
    """Proposition 8 of paper/theorem.md, and docs/theory/theorem.md, "At sharp codes"."""
    *others, largest = SHARP[d, K]
    f = _times([Rational(1)], d, largest)
    for root in others:
        f = _times(f, d, root)
        if root != -1:
            f = _times(f, d, root)
    assert all(c.is_positive for c in f)
    assert expand(sum(f) - K * f[0]) == 0
