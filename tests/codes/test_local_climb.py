"""Climbing from a disturbed code: back to a strict optimum, certified at any time."""

import numpy as np
import pytest

from gnc_cli.codes.constructions.registry import find
from gnc_cli.codes.local_climb import climb_nearby
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.one_vs_rest import one_vs_rest


def schlaefli() -> np.ndarray:
    code = find("schlaefli")
    assert code is not None
    return np.asarray(code.build())


@pytest.mark.parametrize("disturbance", [0.01, 0.1])
def test_it_climbs_back_to_an_optimal_code(disturbance: float) -> None:
    W = schlaefli()
    end = climb_nearby(W, disturbance, np.random.default_rng(0), Deadline())
    assert 0.75 - 1e-5 < end.rho.lower <= end.rho.upper < 0.75 + 1e-12
    assert end.weights.shape == end.features.shape == W.shape
    assert end.max_cosine < 0.25 + 1e-3
    assert end.disturbance == disturbance


def test_it_climbs_from_a_code_that_is_not_optimal() -> None:
    W = np.random.default_rng(5).standard_normal((20, 4))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    before = one_vs_rest(W).lower.min()
    end = climb_nearby(W, 0.01, np.random.default_rng(1), Deadline())
    assert end.rho.lower > before + 0.1


def test_without_time_the_bracket_is_that_of_the_disturbed_code() -> None:
    end = climb_nearby(schlaefli(), 0.1, np.random.default_rng(0), Deadline(0.0))
    true = one_vs_rest(end.weights)
    assert end.steps <= 1
    assert end.rho.lower <= true.lower.min() + 1e-12
    assert end.rho.upper >= true.upper.min() - 1e-12
