"""The ratio of neighbouring Gamma functions against mpmath and against laws it obeys."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import poch

from gnc_cli.numerics.gamma_ratio import log_gamma_ratio

EXACTNESS = 2e-15


def _reference(x: float) -> mpmath.mpf:
    with mpmath.workdps(50):
        return mpmath.loggamma(mpmath.mpf(x) + 0.5) - mpmath.loggamma(x)


@pytest.mark.parametrize(
    ("x", "ratio"),
    [(0.5, 1 / math.sqrt(math.pi)), (1.0, math.sqrt(math.pi) / 2), (1.5, 2 / math.sqrt(math.pi))],
)
def test_closed_forms(x: float, ratio: float) -> None:
    assert math.exp(log_gamma_ratio(x)) == pytest.approx(ratio, rel=1e-15)


@pytest.mark.parametrize("x", [0.5, 1.0, 11.5, 11.999, 12.0, 12.001, 1e3, 5e5, 1e6 + 0.5, 1e7])
def test_against_mpmath(x: float) -> None:
    assert abs(float(log_gamma_ratio(x) - _reference(x))) < EXACTNESS


def test_half_integers_and_random_arguments_against_mpmath(rng: np.random.Generator) -> None:
    arguments = [*(k / 2 for k in range(1, 81)), *np.exp(rng.uniform(math.log(0.5), 16.1, 500))]
    errors = [abs(float(log_gamma_ratio(x) - _reference(x))) for x in map(float, arguments)]
    assert max(errors) < EXACTNESS


def test_against_scipy(rng: np.random.Generator) -> None:
    for x in map(float, rng.uniform(0.5, 50.0, 50)):
        assert math.exp(log_gamma_ratio(x)) == pytest.approx(poch(x, 0.5), rel=1e-13)


@given(st.floats(0.5, 1e6))
def test_two_half_steps_are_one_step(x: float) -> None:
    assert log_gamma_ratio(x) + log_gamma_ratio(x + 0.5) == pytest.approx(
        math.log(x), rel=1e-14, abs=1e-14
    )
