"""Derivatives of the contact and optimum equations against difference quotients."""

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.codes.contact_equations import (
    ContactEquations,
    ContactState,
    OptimumEquations,
    exact,
    floats,
    scaled,
    unscaled,
)
from tests.problems import antiprism, icosahedron, orthoplex, polygon

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
