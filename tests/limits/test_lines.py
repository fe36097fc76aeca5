"""Bounds on lines: where they are attained, against random lines, and closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.geometry.gram import welch
from gnc_cli.geometry.sphere import random_points
from gnc_cli.limits.lines import least_coherence, least_mean_square
from tests.problems import icosahedron, simplex


@given(st.integers(2, 30), st.integers(2, 80), st.integers(0, 10**6))
def test_no_lines_are_below_the_bounds(d: int, lines: int, seed: int) -> None:
    W = random_points(np.random.default_rng(seed), lines, d)
    products = np.abs((W @ W.T)[np.triu_indices(lines, 1)])
    largest = float(products.max())
    assert welch(d, 2 * lines) <= largest + 1e-12
    assert least_mean_square(d, lines) <= (products**2).mean() + 1e-12
    least = least_coherence(d, lines, largest)
    assert welch(d, 2 * lines) <= least.lower + 1e-11 and least.upper <= largest + 1e-12


def test_least_coherence_where_it_is_known() -> None:
    assert least_coherence(5, 5).upper == 0.0
    for K, code in ((4, simplex(3)), (6, icosahedron())):  # the icosahedron is six lines
        coherence = float(np.abs(code @ code.T)[np.abs(code @ code.T) < 0.999].max())
        least = least_coherence(3, K, coherence)
        assert least.width < 1e-11 and least.upper == pytest.approx(coherence)
    plane = least_coherence(2, 7)
    assert plane.width < 1e-11 and plane.upper == pytest.approx(np.cos(np.pi / 7))
    assert least_coherence(8, 120).lower == pytest.approx(0.5, abs=1e-11)  # E8, by t*(8, 240)
    assert least_coherence(64, 10**6).lower > welch(64, 2 * 10**6) - 1e-11
