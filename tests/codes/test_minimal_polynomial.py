"""Known minimal polynomials are proposed, others are not, and nothing is read into noise."""

import numpy as np
import pytest
from flint import arb, ctx, fmpz_poly
from hypothesis import assume, given
from hypothesis import strategies as st

from gnc_cli.codes.digits import Digits, many_digits
from gnc_cli.codes.exact_cosine import decimal_text
from gnc_cli.codes.minimal_polynomial import MinimalPolynomial, minimal_polynomial
from gnc_cli.runtime.deadline import Deadline
from tests.problems import WITH_POINTS


def real_roots(coefficients: list[int]) -> list[arb]:
    """Of a polynomial, the highest power first, to 100 digits, without multiplicity."""
    with ctx.workdps(100):
        roots = fmpz_poly(coefficients[::-1]).complex_roots()
        return [z.real for z, _ in roots if z.imag == 0]


def digits(value: arb, places: int) -> str:
    """Decimal text with so many places, correctly rounded."""
    with ctx.workdps(120):
        n = int((value * arb(10) ** places + arb(0.5)).floor().unique_fmpz())
    return decimal_text(n, places)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("icosahedron", "5x^2 - 1"),
        ("antiprism", "7x^2 + 2x - 1"),
        ("24-cell", "2x - 1"),
        ("hemicube", "5x - 1"),
        ("orthoplex", "x"),
    ],
)
def test_codes(name: str, expected: str) -> None:
    """From coordinates to the polynomial, as `gnc compare --digits 40` goes."""
    W = next(p for p in WITH_POINTS if p.name == name).points()  # type: ignore[misc]
    found = many_digits(W, 40)
    assert isinstance(found, Digits)
    proposal = minimal_polynomial(found.cosine)
    assert proposal is not None and str(proposal) == expected
    assert proposal.evidence > 30.0


@given(st.lists(st.integers(-20, 20), min_size=3, max_size=5), st.integers(0, 10**6))
def test_any_real_root(coefficients: list[int], seed: int) -> None:
    """The proposal divides the polynomial that the number came from."""
    assume(coefficients[0] != 0 and coefficients[-1] != 0)
    real = real_roots(coefficients)
    assume(real)
    root = real[seed % len(real)]
    found = minimal_polynomial(digits(root, 60), max_degree=4)
    assert found is not None
    with ctx.workdps(100):
        polynomial = fmpz_poly(list(found.coefficients[::-1]))
        assert polynomial(root).contains(0)
    # It divides a multiple of the polynomial: the remainder of pseudo-division is zero.
    multiple = fmpz_poly(coefficients[::-1]) * found.coefficients[0] ** len(coefficients)
    assert multiple % polynomial == 0


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_read_into_noise(seed: int) -> None:
    """Forty random digits: a relation exists at every degree, but no evidence for it."""
    noise = np.random.default_rng(seed).integers(0, 10, 40)
    assert minimal_polynomial("0." + "".join(map(str, noise)), max_degree=6) is None


def test_too_few_digits_prove_nothing() -> None:
    """The float64 of a root of degree 3 has no digits to spare; with 20 places it has."""
    root = min(real_roots([3, -9, -3, 1]), key=lambda x: abs(float(x) - 0.21))
    assert minimal_polynomial(digits(root, 13)) is None
    proposal = minimal_polynomial(digits(root, 20))
    assert proposal is not None and str(proposal) == "3x^3 - 9x^2 - 3x + 1"
    assert 12.0 <= proposal.evidence < 18.0


def test_no_time_no_proposal() -> None:
    assert minimal_polynomial("0." + "3" * 40, deadline=Deadline(0.0)) is None


def test_zero_and_writing() -> None:
    assert str(minimal_polynomial("0." + "0" * 40)) == "x"
    assert minimal_polynomial("0.000") is None
    assert str(MinimalPolynomial((1, 0, -1, -20), 1.0)) == "x^3 - x - 20"
    assert str(minimal_polynomial("-0." + "3" * 40)) == "3x + 1"
