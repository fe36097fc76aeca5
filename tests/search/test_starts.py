"""Starts from algebra: unit rows, K of them, different, with their origin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.constructions.registry import find
from gnc_cli.geometry.sphere import random_points
from gnc_cli.search.starts import algebraic_start, resized


@given(st.integers(3, 24), st.integers(8, 300), st.integers(0, 999))
def test_they_are_codes(d: int, K: int, seed: int) -> None:
    start = algebraic_start(np.random.default_rng(seed), d, K)
    if start is None:
        return
    origin, code = start
    assert origin.split(":")[0] in {"sub-code", "extension", "section", "layers"}
    assert code.shape == (K, d)
    np.testing.assert_allclose(np.linalg.norm(code, axis=1), 1.0, atol=1e-12)
    gram = code @ code.T - 2 * np.eye(K)
    assert gram.max() < 1 - 1e-9


@pytest.mark.parametrize(("d", "K"), [(8, 200), (22, 100)])
def test_sub_codes_of_famous_codes_keep_their_cosine(d: int, K: int) -> None:
    rng = np.random.default_rng(0)
    drawn = [algebraic_start(rng, d, K) for _ in range(60)]
    starts = dict(start for start in drawn if start is not None)
    whole = {origin: find(origin.removeprefix("sub-code: ")) for origin in starts}
    kept = {origin: code for origin, code in whole.items() if code is not None}
    assert kept
    for origin, code in kept.items():
        rows = starts[origin]
        assert (rows @ rows.T - 2 * np.eye(K)).max() <= code.cosine.value + 1e-12


@pytest.mark.parametrize("K", [9, 12, 15])
def test_resized_codes_keep_the_rows_that_they_can(K: int) -> None:
    rng = np.random.default_rng(K)
    for _ in range(6):  # every way to choose
        code = random_points(rng, 12, 4)
        made = resized(rng, code, K)
        assert made.shape == (K, 4)
        np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1.0, atol=1e-13)
        assert ((made @ code.T) > 1 - 1e-12).sum() == min(K, 12)
