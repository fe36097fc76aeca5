"""The scale of softmax against the softmax itself."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.metrics.softmax_scale import softmax_scale


@given(st.integers(2, 10**9), st.floats(1e-6, 1 - 1e-9), st.floats(1e-3, 2.0))
def test_softmax_reaches_the_probability_there(K: int, p: float, margin: float) -> None:
    s = softmax_scale(math.log(K - 1), p, margin)
    reached = 1.0 / (1.0 + (K - 1) * math.exp(-s * margin))
    assert reached == pytest.approx(p, rel=1e-9) or (s == 0.0 and reached > p)


def test_ten_to_the_300_classes() -> None:
    s = softmax_scale(math.log(10**300 - 1), 0.5, 1.0)
    assert s == pytest.approx(300 * math.log(10))
