"""Derivatives of the contact and optimum equations against difference quotients; exact codes in
number fields, proved for codes of every kind, and for nothing that is false."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli import solve
from gnc_cli.codes.contact_equations import (
    DECIMALS,
    ContactEquations,
    ContactState,
    OptimumEquations,
    exact,
    floats,
    is_root,
    scaled,
    unscaled,
)
from gnc_cli.codes.digits import Digits, MinimalPolynomial, many_digits, minimal_polynomial
from gnc_cli.known_codes.stored import stored_codes
from gnc_cli.runtime.deadline import Deadline
from tests.problems import (
    antiprism,
    cell24,
    icosahedron,
    orthoplex,
    polygon,
    random_rotation,
    seven,
)

PAIRS = np.array([[0, 1], [0, 3], [1, 2], [2, 4]])


def random_state(rng: np.random.Generator) -> ContactState:
    sizes = (5, 3), (1,), (4,), (5,)
    return ContactState(*(exact(rng.standard_normal(size)) for size in sizes))


def slope(equations: ContactEquations, state: ContactState, direction: np.ndarray) -> np.ndarray:
    """Central difference quotient, with a step so small that 300 bits make it exact in float64."""
    with ctx.workprec(300):
        step = unscaled(direction, -80)
        ahead, behind = (equations.residual(state.moved(s)) for s in (step, -step))
        difference, exponent = scaled(ahead - behind)
    return np.ldexp(difference, exponent + 79)


@given(st.integers(0, 10**6))
def test_contact_derivative(seed: int) -> None:
    rng = np.random.default_rng(seed)
    state, equations = random_state(rng), ContactEquations(PAIRS)
    direction = rng.standard_normal(16)
    still = np.concatenate([direction, np.zeros(9)])
    expected = equations.jacobian(floats(state.x)) @ direction
    assert slope(equations, state, still) == pytest.approx(expected, abs=1e-13)


@given(st.integers(0, 10**6))
def test_optimum_derivative(seed: int) -> None:
    rng = np.random.default_rng(seed)
    state, equations = random_state(rng), OptimumEquations(PAIRS)
    matrix = equations.hessian(
        floats(state.x), floats(state.contact_multipliers), floats(state.length_multipliers)
    )
    assert np.array_equal(matrix, matrix.T)
    direction = rng.standard_normal(25)
    found = slope(equations, state, direction)
    assert found == pytest.approx(matrix @ direction, abs=1e-12)


@pytest.mark.parametrize("W", [icosahedron(), antiprism(), polygon(7), orthoplex(4)])
def test_multipliers_balance(W: np.ndarray) -> None:
    """At an optimum each row is pushed by its contacts along itself."""
    gram = W @ W.T
    np.fill_diagonal(gram, -1.0)
    pairs = np.argwhere(np.triu(gram > gram.max() - 1e-9, 1))
    multipliers, lengths, left = OptimumEquations(pairs).multipliers(W)
    assert left < 1e-9
    assert multipliers.min() > -1e-9 and multipliers.sum() == pytest.approx(1.0)
    weights = np.zeros_like(gram)
    weights[pairs[:, 0], pairs[:, 1]] = weights[pairs[:, 1], pairs[:, 0]] = multipliers
    assert weights @ W == pytest.approx(lengths[:, None] * W, abs=1e-9)


def test_signs_are_enforced_where_least_squares_breaks_them() -> None:
    """Points of an equator that hold two poles: one in front, one behind, ten 60 degrees aside.

    The shortest multipliers are affine in the direction, and negative in front.
    """
    aside = np.pi / 3.0 + 0.02 * np.arange(-2, 3)
    turn = np.concatenate([[0.0, np.pi], aside, -aside])
    ring = np.c_[np.cos(turn), np.sin(turn), np.zeros(12)]
    W = np.vstack([ring, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])
    equations = OptimumEquations(np.array([[i, j] for i in range(12) for j in (12, 13)]))
    sides = equations.jacobian(W).toarray() * np.repeat([1.0, -1.0], [24, 14])[:, None]
    target = np.append(np.zeros(42), -1.0)
    assert np.linalg.lstsq(sides.T, target, rcond=1e-10)[0][0] < -1e-3
    multipliers, _, left = equations.multipliers(W)
    assert left < 1e-9 and multipliers.min() >= 0.0


@pytest.mark.parametrize("exponent", [-3000, -1, 0, 70])
def test_scaled_numbers_keep_their_digits_far_below(exponent: int) -> None:
    """Beyond the range of float64, and back exactly."""
    x = np.array([[0.75, -1e-5], [3.0, 0.0]])
    values, own = scaled(unscaled(x, exponent))
    assert np.abs(values).max() <= 1.0 and own == exponent + 2
    assert unscaled(values, own).tolist() == unscaled(x.ravel(), exponent).tolist()
    assert scaled(exact(np.zeros(3)))[0].tolist() == [0.0] * 3
    assert floats(np.array([arb(1) / 3])) == 1 / 3


# In a number field


def polished(W: np.ndarray, decimals: int = DECIMALS) -> Digits:
    W = W @ random_rotation(np.random.default_rng(6), W.shape[1])
    found = many_digits(W, decimals)
    assert isinstance(found, Digits)
    return found


def proved(code: Digits, polynomial: MinimalPolynomial, deadline: Deadline | None = None) -> bool:
    coefficients = polynomial.coefficients
    return is_root(code.points, code.contacts, coefficients, deadline or Deadline())


def stored(d: int, K: int) -> np.ndarray:
    return next(stored_codes(d, K))[1]


def pentagon_and_poles() -> np.ndarray:
    """The poles are rattlers, and five contacts alone hold nothing."""
    return np.vstack([polygon(5) @ np.eye(2, 3), [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])


CODES: list[tuple[Callable[[], np.ndarray], str]] = [
    (icosahedron, "5x^2 - 1"),
    (seven, "3x^3 - 9x^2 - 3x + 1"),
    (antiprism, "7x^2 + 2x - 1"),
    (cell24, "2x - 1"),
    (partial(polygon, 5), "4x^2 + 2x - 1"),
    (pentagon_and_poles, "4x^2 + 2x - 1"),
    (lambda: polygon(6) @ np.eye(2, 4), "2x - 1"),
    (lambda: np.asarray(solve(4, 10, restarts=1).weights), "6x - 1"),
    (partial(stored, 3, 13), "x^8 - 24x^7 - 12x^6 + 8x^5 + 38x^4 + 24x^3 - 12x^2 - 8x + 1"),
    (partial(stored, 3, 15), "13x^5 - x^4 + 6x^3 + 2x^2 - 3x - 1"),
    (partial(stored, 3, 20), "21x^3 - 9x^2 - 5x + 1"),  # two rattlers
    (partial(stored, 4, 14), "58x^7 + 174x^6 + 140x^5 - 16x^4 - 54x^3 - 10x^2 + 4x + 1"),
    (lambda: np.asarray(solve(construction="schlaefli").weights), "4x - 1"),
]
"""With the minimal polynomials of their cosines; that of (3, 15) is in the table's note."""


@pytest.mark.parametrize(("code", "polynomial"), CODES)
def test_exact_codes_are_found(code: Callable[[], np.ndarray], polynomial: str) -> None:
    found = polished(code())
    proposal = minimal_polynomial(found.cosine)
    assert proposal is not None and str(proposal) == polynomial
    assert proved(found, proposal)


FIVE = MinimalPolynomial((5, 0, -1), 40.0)


def test_what_is_false_is_not_proved() -> None:
    found = polished(icosahedron())
    assert proved(found, FIVE)
    for wrong in (
        (25, 0, -10, 0, 1),  # its square
        (5, 5, -1, -1),  # a multiple
        (5, 0, -2),
        (1, 0, 1),  # no real root
        (447213595499957939, -(10**18)),
        (2, -1),
    ):
        assert not proved(found, replace(FIVE, coefficients=wrong)), wrong
    apart = next(
        [i, j]
        for i in range(12)
        for j in range(i)
        if [j, i] not in found.contacts.tolist() and [i, j] not in found.contacts.tolist()
    )
    false_contact = replace(found, contacts=np.vstack([found.contacts, apart]))
    assert not proved(false_contact, FIVE)


def test_one_wrong_length_is_seen() -> None:
    """A code whose rows are in the field, with one row stretched by an element of it."""
    found = polished(icosahedron())
    points = found.points.copy()
    points[3] = points[3] * 2
    assert not proved(replace(found, points=points), FIVE)


def test_what_stays_a_proposal() -> None:
    """Contacts that leave freedom, too few digits, no time."""
    free = np.vstack([polygon(7)[[0, 2, 5]] @ np.eye(2, 3), [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])
    turn = np.array([[np.cos(1e-2), np.sin(1e-2)], [-np.sin(1e-2), np.cos(1e-2)]])
    free[2, :2] = turn @ free[2, :2]
    found = polished(free)
    assert float(found.cosine) == 0.0
    assert not proved(found, MinimalPolynomial((1, 0), 40.0))
    assert not proved(polished(icosahedron(), 40), FIVE)
    late = Deadline(0.0)
    assert not proved(polished(icosahedron()), FIVE, late)
