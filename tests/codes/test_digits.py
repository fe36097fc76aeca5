"""Fifty digits, against closed forms and against the definition in independent arithmetic."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext
from functools import partial

import numpy as np
import pytest
from flint import arb, ctx, fmpz_poly
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gnc_cli.codes.digits import (
    Digits,
    DigitsError,
    MinimalPolynomial,
    Obstacle,
    many_digits,
    minimal_polynomial,
    touching_pairs,
    with_contacts,
)
from gnc_cli.codes.exact_cosine import decimal_text
from gnc_cli.geometry.sphere import normalise, random_points
from gnc_cli.runtime.deadline import Deadline
from tests.problems import (
    WITH_POINTS,
    Problem,
    antiprism,
    cell24,
    icosahedron,
    polygon,
    random_rotation,
    seven,
    snub_cube,
)


def root(coefficients: tuple[int, ...], near: float) -> Decimal:
    """The root of a polynomial (highest power first) near a float, to 70 digits, by FLINT."""
    with ctx.workdps(90):
        roots = [z.real for z, _ in fmpz_poly(list(coefficients[::-1])).complex_roots()]
        return Decimal(min(roots, key=lambda x: abs(float(x) - near)).str(70, radius=False))


CLOSED: list[tuple[Callable[[], np.ndarray], tuple[int, ...], float]] = [
    (icosahedron, (5, 0, -1), 0.447),
    (antiprism, (7, 2, -1), 0.261),
    (seven, (3, -9, -3, 1), 0.21),
    (partial(polygon, 5), (4, 2, -1), 0.309),
    (cell24, (2, -1), 0.5),
    (snub_cube, (7, 1, -3, -1), 0.723),
]
"""Codes with the minimal polynomials of their cosines, by hand or from Schütte and van der
Waerden 1951 (seven points) and Robinson 1961 (the snub cube)."""


def kept(W: np.ndarray, decimals: int = 50, **options: object) -> Digits:
    """The digits, which must be found, checked from the definition in decimal arithmetic."""
    found = many_digits(W, decimals, **options)  # type: ignore[arg-type]
    assert isinstance(found, Digits), found
    with localcontext() as context:
        context.prec = decimals + 30
        more = replace(found, decimals=decimals + 10)
        rows = [[Decimal(x) for x in row] for row in more.coordinates()]
        unit = Decimal(10) ** -decimals
        assert len(found.cosine.partition(".")[2]) == decimals
        for i, j in found.contacts.tolist():
            for a, b, value in ((i, i, Decimal(1)), (i, j, Decimal(found.cosine))):
                product = sum((x * y for x, y in zip(rows[a], rows[b], strict=True)), Decimal(0))
                assert abs(product - value) <= unit * Decimal("0.6")
    again = np.array([[float(x) for x in row] for row in rows])
    gram = again @ again.T
    gram[np.diag_indices(len(W))] = -1.0
    assert gram.max() <= float(found.cosine) + 1e-15
    touching = np.argwhere(np.triu(gram > float(found.cosine) - 1e-13, 1))
    assert np.array_equal(touching, found.contacts[np.lexsort(found.contacts.T[::-1])])
    assert np.abs(gram - (g := W @ W.T) + np.diag(np.diag(g) + 1.0)).max() < 1e-4
    return found


@pytest.mark.parametrize(("code", "polynomial", "near"), CLOSED)
def test_closed_forms(
    code: Callable[[], np.ndarray], polynomial: tuple[int, ...], near: float
) -> None:
    W = code() @ random_rotation(np.random.default_rng(4), code().shape[1])
    found = kept(W)
    with localcontext() as context:
        context.prec = 80
        assert abs(Decimal(found.cosine) - root(polynomial, near)) <= Decimal("0.5000001e-50")
    assert found.method == "contacts"


@pytest.mark.parametrize("problem", [p for p in WITH_POINTS if p.K <= 30], ids=str)
def test_known_codes(problem: Problem) -> None:
    W = problem.points()  # type: ignore[misc]
    found = kept(W, 30)
    assert float(found.cosine) == pytest.approx(problem.max_cosine, abs=2e-16)
    assert len(found.coordinates()[0]) == W.shape[1]


@pytest.mark.parametrize("decimals", [16, 100, 400])
def test_as_many_digits_as_wanted(decimals: int) -> None:
    with localcontext() as context:
        context.prec = decimals + 10
        exact = 1 / Decimal(5).sqrt()
        found = kept(icosahedron(), decimals)
        assert abs(Decimal(found.cosine) - exact) <= Decimal(10) ** -decimals / 2


@settings(max_examples=15)
@given(
    st.sampled_from([icosahedron, antiprism, cell24, snub_cube]),
    st.integers(0, 10**6),
    st.floats(1e-14, 3e-8),
)
def test_noise_is_removed(code: Callable[[], np.ndarray], seed: int, noise: float) -> None:
    W = code()
    rng = np.random.default_rng(seed)
    found = kept(normalise(W + noise * rng.standard_normal(W.shape)), 25)
    exact = many_digits(W, 25)
    assert isinstance(exact, Digits) and found.cosine == exact.cosine
    assert found.moved < 20.0 * noise + 1e-15


def test_contacts_with_room_to_move() -> None:
    """Five points in space, two poles and three on the equator: the cosine 0 alone is fixed."""
    W = np.vstack([polygon(7)[[0, 2, 5]] @ np.eye(2, 3), [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])
    found = kept(W @ random_rotation(np.random.default_rng(2), 3))
    assert found.method == "first-order conditions"
    assert found.cosine == "0." + "0" * 50
    assert len(found.contacts) == 6


def test_a_curved_optimum() -> None:
    """A pentagon about an axis whose two ends are taken: five contacts leave the ring free to leave
    its plane, and only the balance of forces keeps it there."""
    W = np.vstack([polygon(5) @ np.eye(2, 3), [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])
    W = normalise(W + 1e-10 * np.random.default_rng(0).standard_normal(W.shape))
    found = kept(W)
    assert found.method == "first-order conditions"
    with localcontext() as context:
        context.prec = 70
        assert abs(Decimal(found.cosine) - (Decimal(5).sqrt() - 1) / 4) < Decimal("0.6e-50")
    # The poles are rattlers: they stay, to the last bit of their float64.
    poles = [[Decimal(x) for x in row] for row in replace(found, decimals=400).coordinates()[5:]]
    assert poles == [[Decimal(x) for x in row] for row in normalise(W)[5:].tolist()]


def test_too_many_dimensions() -> None:
    """A hexagon in R^4 is a code of the plane."""
    found = kept(polygon(6) @ random_rotation(np.random.default_rng(9), 4)[:2], 20)
    assert found.cosine == "0." + "5".ljust(20, "0")
    assert {x for row in replace(found, decimals=5).coordinates() for x in row[2:]} == {"0.00000"}


def test_touching_pairs() -> None:
    pairs, *_ = touching_pairs(icosahedron())
    gram = icosahedron() @ icosahedron().T
    assert np.array_equal(pairs, np.argwhere(np.triu(gram > 0.4, 1) & (gram < 0.9)))
    noisy = normalise(antiprism() + 1e-9 * np.random.default_rng(0).standard_normal((8, 3)))
    assert sorted(len(p) for p in touching_pairs(noisy))[-1] == 16


def refusal(W: np.ndarray, contacts: np.ndarray | None = None, seconds: float = 60.0) -> Obstacle:
    if contacts is None:
        found = many_digits(W, 20, deadline=Deadline(seconds))
    else:
        with ctx.workprec(200), pytest.raises(DigitsError) as caught:
            with_contacts(W, contacts, 20, Deadline())
        found = caught.value
    assert isinstance(found, DigitsError)
    assert found.detail and found.obstacle.advice
    return found.obstacle


def test_refusals(rng: np.random.Generator) -> None:
    W = antiprism()
    pairs, *_ = touching_pairs(W)
    assert refusal(random_points(rng, 12, 3)) is Obstacle.NOT_STATIONARY
    assert refusal(W, seconds=0.0) is Obstacle.OUT_OF_TIME
    couples = np.arange(800).reshape(-1, 2)
    assert refusal(random_points(rng, 800, 6), contacts=couples) is Obstacle.TOO_LARGE
    assert refusal(random_points(rng, 4100, 2)) is Obstacle.TOO_LARGE
    # One contact left out: the others do not hold the code, or it stays as near as they are.
    assert refusal(W, contacts=pairs[1:]) in (Obstacle.NOT_STATIONARY, Obstacle.CLOSER_PAIR)
    # A pair that does not touch, listed as a contact.
    false = np.argwhere(np.triu((W @ W.T < 0.2), 1))[:1]
    with_false = np.vstack([pairs, false])
    assert refusal(W, contacts=with_false) in (Obstacle.NOT_CONVERGED, Obstacle.LEFT_NEIGHBOURHOOD)
    rough = normalise(W + 1e-3 * rng.standard_normal(W.shape))
    assert refusal(rough, contacts=pairs) is Obstacle.LEFT_NEIGHBOURHOOD


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
    found = minimal_polynomial(digits(root, 60))
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
    assert minimal_polynomial("0." + "".join(map(str, noise))) is None


def test_too_few_digits_prove_nothing() -> None:
    """The float64 of a root of degree 3 has no digits to spare; with 20 places it has."""
    root = min(real_roots([3, -9, -3, 1]), key=lambda x: abs(float(x) - 0.21))
    assert minimal_polynomial(digits(root, 13)) is None
    proposal = minimal_polynomial(digits(root, 20))
    assert proposal is not None and str(proposal) == "3x^3 - 9x^2 - 3x + 1"
    assert 12.0 <= proposal.evidence < 18.0


def test_zero_and_writing() -> None:
    assert str(minimal_polynomial("0." + "0" * 40)) == "x"
    assert minimal_polynomial("0.000") is None
    assert str(MinimalPolynomial((1, 0, -1, -20), 1.0)) == "x^3 - x - 20"
    assert str(minimal_polynomial("-0." + "3" * 40)) == "3x + 1"
