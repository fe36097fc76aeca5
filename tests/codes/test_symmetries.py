"""Symmetry groups (`codes.congruence`) against all permutations, and orders known from books."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.codes.congruence import CodeSymmetries
from gnc_cli.errors import UsageError
from tests.codes.test_congruence import chang, eigenspace_code
from tests.problems import icosahedron, orthoplex, polygon, simplex


def every_symmetry(W: np.ndarray) -> np.ndarray:
    """The witness: all K! permutations, and those that keep the Gram matrix."""
    W = W / np.linalg.norm(W, axis=1, keepdims=True)
    gram = W @ W.T
    g = np.array(list(itertools.permutations(range(len(W)))))
    off = np.abs(gram[g[:, :, None], g[:, None, :]] - gram).max(axis=(1, 2))
    return g[off <= 1e-6]


def triangle(height: float, turn: float) -> np.ndarray:
    angle = turn + 2.0 * np.pi * np.arange(3) / 3.0
    return np.stack([np.cos(angle), np.sin(angle), np.full(3, height)], axis=1)


TWISTED = np.concatenate([triangle(0.5, 0.0), triangle(-1.0, 0.4)])
"""Rotations about an axis, and no reflection."""
KNOWN = {
    "square": (polygon(4), 8),
    "hexagon": (polygon(6), 12),
    "30-gon": (polygon(30), 60),
    "simplex": (simplex(29), math.factorial(30)),
    "orthoplex": (orthoplex(12), 2**12 * math.factorial(12)),
    "icosahedron": (icosahedron(), 120),
    "cube": (np.array(list(itertools.product((1.0, -1.0), repeat=3))), 48),
    "random": (np.random.default_rng(0).normal(size=(40, 4)), 1),
    "two triangles, twisted": (TWISTED, 3),
    "T(8)": (eigenspace_code(chang()[0], 7), math.factorial(8)),
    "Chang graphs": (eigenspace_code(chang()[1], 7), 384),
    "pairs of equal rows": (np.repeat(np.random.default_rng(0).normal(size=(3, 3)), 2, axis=0), 8),
}


@pytest.mark.parametrize("name", KNOWN)
def test_orders_known_from_books(name: str, rng: np.random.Generator) -> None:
    W, order = KNOWN[name]
    rotation = np.linalg.qr(rng.normal(size=(W.shape[1],) * 2))[0]
    found = CodeSymmetries(3.0 * W[rng.permutation(len(W))] @ rotation)
    assert found.order == order


@given(st.integers(0, 2**31), st.integers(3, 6), st.integers(1, 2))
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
        fresh = list({tuple(g[list(h)]) for g in symmetries._generators for h in fresh} - group)
        group.update(fresh)
    assert group == set(map(tuple, witness))


def test_the_tolerance_decides_what_is_equal() -> None:
    W = polygon(5)
    W[0] += [0.0, 1e-4]
    assert CodeSymmetries(W).order == 1
    assert CodeSymmetries(W, tolerance=1e-3).order == 10


def test_what_is_too_much_is_refused() -> None:
    with pytest.raises(UsageError, match="101 rows.*up to 100"):
        CodeSymmetries(simplex(100))
    with pytest.raises(UsageError, match="28 rows: too many cases"):
        CodeSymmetries(eigenspace_code(chang()[1], 7), max_labels=10)
