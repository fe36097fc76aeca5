"""Yardsticks that decide whether a search is worth its time."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.codes.constructions.choice import near_optimal, promising, welch
from gnc_cli.codes.constructions.construction import Construction, Cosine


def code(d: int, K: int, cosine: float, proven: bool = False) -> Construction:
    def build() -> None:
        raise AssertionError("a choice builds nothing")

    exact = Cosine("?", cosine)
    return Construction("x", "", d, K, exact, proven, "", build)  # type: ignore[arg-type]


def test_welch_where_it_is_attained() -> None:
    # Equiangular tight frames meet it: 28 lines in R^7 at 1/3, 276 in R^23 at 1/5.
    assert welch(7, 56) == pytest.approx(1 / 3)
    assert welch(23, 552) == pytest.approx(1 / 5)
    # 120 lines in R^8, 36 quadratic forms: the second power says (7/3 / 119)^(1/4).
    assert welch(8, 240) == pytest.approx((7 / 3 / 119) ** 0.25) and welch(8, 240) < 0.5


@given(st.integers(2, 30), st.integers(2, 80), st.integers(0, 10**6))
def test_welch_is_a_bound_for_lines(d: int, lines: int, seed: int) -> None:
    W = np.random.default_rng(seed).standard_normal((lines, d))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    products = np.abs(W @ W.T)
    np.fill_diagonal(products, 0.0)
    assert welch(d, 2 * lines) <= products.max() + 1e-12


def test_who_needs_no_search() -> None:
    assert near_optimal(code(8, 240, 0.5, proven=True))
    assert near_optimal(code(512, 10_000, 1 / 16)) and near_optimal(code(64, 100_000, 0.25))
    assert near_optimal(code(512, 2048, 1 / sqrt(512)))
    assert near_optimal(code(4096, 10**6, 0.9))  # nothing else can be done in minutes
    assert not near_optimal(code(100, 5000, 0.25))
    assert not near_optimal(code(10, 40, 1 / 6))  # small enough to search anyway


def test_who_is_worth_a_start() -> None:
    assert promising(code(22, 275, 1 / 6)) and not promising(code(10, 100, 0.5))
