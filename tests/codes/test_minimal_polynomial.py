"""Known minimal polynomials are proposed, others are not, and nothing is read into noise."""

import mpmath  # type: ignore[import-untyped,unused-ignore]
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gnc_cli.codes.digits import Digits, many_digits
from gnc_cli.codes.minimal_polynomial import MinimalPolynomial, minimal_polynomial
from gnc_cli.errors import UsageError
from gnc_cli.numerics.deadline import Deadline
from tests.problems import WITH_POINTS


def digits(value: object, places: int) -> str:
    """Decimal text with so many places, correctly rounded."""
    with mpmath.workdps(places + 20):
        n = int(mpmath.nint(mpmath.mpf(value) * mpmath.mpf(10) ** places))
    body = str(abs(n)).rjust(places + 1, "0")
    return f"{'-' * (n < 0)}{body[:-places]}.{body[-places:]}"


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


@pytest.mark.parametrize(
    ("coefficients", "near"),
    [
        ((3, -9, -3, 1), 0.21),  # seven points: Schuette and van der Waerden 1951
        ((7, 1, -3, -1), 0.723),  # snub cube: Robinson 1961
        ((1, 0, 0, 0, -10, 0, 1), 0.32),
        ((243, 0, 1, -7, 0, 0, 0, 0, -5), 0.6),
    ],
)
def test_roots(coefficients: tuple[int, ...], near: float) -> None:
    with mpmath.workdps(80):
        root = mpmath.findroot(lambda x: mpmath.polyval(list(coefficients), x), near)
    proposal = minimal_polynomial(digits(root, 60))
    assert proposal is not None
    assert proposal.coefficients == coefficients


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=3, max_size=5), st.integers(0, 10**6))
def test_any_real_root(coefficients: list[int], seed: int) -> None:
    """The proposal divides the polynomial that the number came from."""
    assume(coefficients[0] != 0 and coefficients[-1] != 0)
    with mpmath.workdps(90):
        try:
            roots = mpmath.polyroots(coefficients, maxsteps=300, extraprec=400)
        except mpmath.libmp.libhyper.NoConvergence:
            roots = []
        real = [mpmath.re(r) for r in roots if abs(mpmath.im(r)) < mpmath.mpf(10) ** -70]
        assume(real)
        root = real[seed % len(real)]
        found = minimal_polynomial(digits(root, 60), max_degree=4)
        assert found is not None and found.degree < len(coefficients)
        rest = np.polydiv(np.array(coefficients, float), np.array(found.coefficients, float))[1]
        assert np.abs(rest).max() < 1e-6 * max(map(abs, found.coefficients)) ** len(coefficients)
        assert abs(mpmath.polyval(list(found.coefficients), root)) < mpmath.mpf(10) ** -50


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_read_into_noise(seed: int) -> None:
    """Forty random digits: a relation exists at every degree, but no evidence for it."""
    noise = np.random.default_rng(seed).integers(0, 10, 40)
    assert minimal_polynomial("0." + "".join(map(str, noise)), max_degree=6) is None


def test_too_few_digits_prove_nothing() -> None:
    """The float64 of a root of degree 3 has no digits to spare; with 20 places it has."""
    with mpmath.workdps(50):
        root = mpmath.findroot(lambda x: 3 * x**3 - 9 * x**2 - 3 * x + 1, 0.21)
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


@pytest.mark.parametrize("text", ["", "abc", "nan", "inf"])
def test_no_number(text: str) -> None:
    with pytest.raises(UsageError, match="no decimal number"):
        minimal_polynomial(text)
