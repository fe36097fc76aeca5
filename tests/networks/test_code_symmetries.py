"""Symmetry groups against a look at every permutation, and against orders known from books."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnc_cli.errors import UsageError
from gnc_cli.networks import code_symmetries
from gnc_cli.networks.code_symmetries import CodeSymmetries


def polygon(K: int) -> np.ndarray:
    angle = 2.0 * np.pi * np.arange(K) / K
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def orthoplex(d: int) -> np.ndarray:
    return np.concatenate([np.eye(d), -np.eye(d)])


def simplex(K: int) -> np.ndarray:
    return np.eye(K) - 1.0 / K


def icosahedron() -> np.ndarray:
    golden = (1.0 + math.sqrt(5.0)) / 2.0
    face = [(0.0, s, t * golden) for s in (1, -1) for t in (1, -1)]
    return np.concatenate([np.roll(face, turn, axis=1) for turn in range(3)])


def every_symmetry(W: np.ndarray) -> np.ndarray:
    """The witness: all K! permutations, and those that keep the Gram matrix."""
    W = W / np.linalg.norm(W, axis=1, keepdims=True)
    gram = W @ W.T
    g = np.array(list(itertools.permutations(range(len(W)))))
    off = np.abs(gram[g[:, :, None], g[:, None, :]] - gram).max(axis=(1, 2))
    return g[off <= 1e-6]


KNOWN = {
    "square": (polygon(4), 8),
    "hexagon": (polygon(6), 12),
    "30-gon": (polygon(30), 60),
    "simplex": (simplex(30), math.factorial(30)),
    "orthoplex": (orthoplex(12), 2**12 * math.factorial(12)),
    "icosahedron": (icosahedron(), 120),
    "cube": (np.array(list(itertools.product((1.0, -1.0), repeat=3))), 48),
    "random": (np.random.default_rng(0).normal(size=(40, 4)), 1),
    "pairs of equal rows": (np.repeat(np.random.default_rng(0).normal(size=(3, 3)), 2, axis=0), 8),
}


@pytest.mark.parametrize("name", KNOWN)
def test_orders_known_from_books(name: str, rng: np.random.Generator) -> None:
    W, order = KNOWN[name]
    rotation = np.linalg.qr(rng.normal(size=(W.shape[1],) * 2))[0]
    found = CodeSymmetries(3.0 * W[rng.permutation(len(W))] @ rotation)
    assert found.order == order


@given(st.integers(0, 2**31), st.integers(3, 6), st.integers(1, 2))
@settings(max_examples=30)
def test_all_permutations_agree(seed: int, K: int, d: int) -> None:
    """Rows of a small grid, so that many cosines are equal by accident."""
    W = np.random.default_rng(seed).integers(-1, 2, (K, d + 1)) + np.eye(d + 1)[0] * 0.5
    symmetries, witness = CodeSymmetries(W), every_symmetry(W)
    assert symmetries.order == len(witness)
    for fixed in ((), (1,), (2, 0)):
        still = witness[(witness[:, fixed] == np.array(fixed, dtype=int)).all(axis=1)]
        assert symmetries.orbits(fixed).tolist() == still.min(axis=0).tolist()
    # Products of the generators are the whole group.
    group, fresh = {tuple(range(K))}, [tuple(range(K))]
    while fresh:
        fresh = list({tuple(g[list(h)]) for g in symmetries.generators for h in fresh} - group)
        group.update(fresh)
    assert group == set(map(tuple, witness))


def test_the_tolerance_decides_what_is_equal() -> None:
    W = polygon(5)
    W[0] += [0.0, 1e-4]
    assert CodeSymmetries(W).order == 1
    assert CodeSymmetries(W, tolerance=1e-3).order == 10


def test_what_is_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="101 rows.*up to 100"):
        CodeSymmetries(simplex(101))
    monkeypatch.setattr(code_symmetries, "_MOST_STEPS", 10)
    with pytest.raises(UsageError, match="20 rows: too many cases"):
        CodeSymmetries(simplex(20))
