"""Searches over cyclic groups of rational character, and codes with few inner products."""

import numpy as np
import pytest

from gnc_cli.codes.constructions.registry import find
from gnc_cli.codes.rational_symmetry import (
    few_cosines,
    rational_generator,
    symmetric_softmax_code,
)
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.one_vs_rest import minimum_one_vs_rest


def rows(name: str) -> np.ndarray:
    code = find(name)
    assert code is not None
    return np.asarray(code.build())


@pytest.mark.parametrize("order", [3, 4, 5, 6, 7, 8, 9, 12, 15])
def test_generators_have_their_order_and_rational_traces(order: int) -> None:
    d = 11
    generator = rational_generator(np.random.default_rng(order), d, order)
    assert generator is not None
    assert np.allclose(generator @ generator.T, np.eye(d))
    power = np.eye(d)
    for n in range(1, order + 1):
        power = power @ generator
        # The character of a rational representation of a finite group is a whole number.
        assert abs(np.trace(power) - round(np.trace(power))) < 1e-12
        assert np.allclose(power, np.eye(d)) == (n == order)


def test_a_group_too_large_for_the_space_has_no_generator() -> None:
    assert rational_generator(np.random.default_rng(0), 5, 7) is None
    assert rational_generator(np.random.default_rng(0), 6, 7) is not None


def test_generators_differ() -> None:
    rng = np.random.default_rng(0)
    traces = set()
    for _ in range(20):
        generator = rational_generator(rng, 12, 4)
        assert generator is not None
        traces.add(round(float(np.trace(generator))))
    assert len(traces) > 3


@pytest.mark.parametrize("name", ["schlaefli", "icosahedron", "petersen", "gewirtz"])
def test_a_scattered_code_is_restored(name: str) -> None:
    W = rows(name)
    scattered = W + 1e-6 * np.random.default_rng(0).standard_normal(W.shape)
    scattered /= np.linalg.norm(scattered, axis=1, keepdims=True)
    restored = few_cosines(scattered)
    assert restored is not None
    assert np.abs(restored @ restored.T - W @ W.T).max() < 1e-12
    assert np.abs(scattered @ scattered.T - W @ W.T).max() > 1e-7


def test_a_code_with_many_cosines_is_left_alone() -> None:
    W = np.random.default_rng(0).standard_normal((20, 6))
    assert few_cosines(W / np.linalg.norm(W, axis=1, keepdims=True)) is None


def test_it_finds_the_hemicube_and_says_how() -> None:
    found = symmetric_softmax_code(5, 16, seed=0, deadline=Deadline(), draws=4)
    assert found is not None
    assert found.weights.shape == (16, 5)
    assert (found.draws, found.restarts) == (4, 32)
    assert found.value == pytest.approx(0.8, abs=1e-5)
    # What the search promises is a margin, and rho is the best margin.
    rho = minimum_one_vs_rest(found.weights)[0]
    assert found.value <= rho.upper + 1e-12
    again = symmetric_softmax_code(5, 16, seed=0, deadline=Deadline(), draws=4)
    assert again is not None
    assert np.array_equal(again.weights, found.weights)


def test_no_time_and_no_group_find_nothing() -> None:
    assert symmetric_softmax_code(5, 16, seed=0, deadline=Deadline(0.0)) is None
    assert symmetric_softmax_code(5, 16, seed=0, deadline=Deadline(), draws=0) is None
