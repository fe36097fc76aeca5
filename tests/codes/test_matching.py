"""The best rotation and the best pairing, against what they minimise."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes

from gnc_cli.codes.matching import assign, procrustes
from tests.problems import random_rotation


@given(st.integers(1, 9), st.integers(1, 5), st.integers(0, 10**6))
def test_best_rotation(K: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((2, K, d))
    Q = procrustes(X, Y)
    assert Q @ Q.T == pytest.approx(np.eye(d), abs=1e-12)
    ours, scipys = (np.linalg.norm(X @ R - Y) for R in (Q, orthogonal_procrustes(X, Y)[0]))
    assert ours == pytest.approx(scipys, abs=1e-10)
    turn = random_rotation(rng, d)
    assert X @ procrustes(X, X @ turn) == pytest.approx(X @ turn, abs=1e-10)


@given(st.integers(1, 6), st.integers(0, 10**6))
def test_best_pairing(K: int, seed: int) -> None:
    X, Y = np.random.default_rng(seed).standard_normal((2, K, 3))
    costs = [((X - Y[list(order)]) ** 2).sum() for order in itertools.permutations(range(K))]
    assert ((X - Y[assign(X, Y)]) ** 2).sum() == pytest.approx(min(costs))
