"""docs/equality.md: the bisector theorem, each step of its proof, and what it says of codes."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st


def _unit(rng: np.random.Generator, d: int) -> np.ndarray:
    x = rng.standard_normal(d)
    return x / np.linalg.norm(x)


def _near(rng: np.random.Generator, x: np.ndarray, size: float) -> np.ndarray:
    y = x + size * rng.standard_normal(len(x))
    return y / np.linalg.norm(y)


def _bisector(w: np.ndarray, h: np.ndarray) -> np.ndarray:
    return (w + h) / np.linalg.norm(w + h)


@given(
    st.integers(2, 6), st.integers(0, 2**32), st.floats(1e-3, 2.0), st.floats(1e-3, 3.0)
)
def test_bisectors_are_as_far_apart_as_margins(d: int, seed: int, near: float, at: float) -> None:
    rng = np.random.default_rng(seed)
    w = _unit(rng, d)
    x = _near(rng, w, near)
    h, g = _near(rng, w, at), _near(rng, x, at)
    r = min((w - x) @ h, (x - w) @ g)
    assume(r > 0.0)
    assert _bisector(w, h) @ _bisector(x, g) <= 1.0 - r + 1e-12


def test_the_worst_case_is_equality_at_h_equal_to_w() -> None:
    """Climbing from random starts ends at the bound and never beyond it: the test can fail."""
    rng = np.random.default_rng(0)
    shape = (2000, 4, 3)
    best = -1.0
    at = rng.standard_normal(shape)
    held = _excess(at)
    for turn in range(400):
        tried = at + 0.5 * 0.985**turn * rng.standard_normal(shape)
        found = _excess(tried)
        better = found > held
        at[better], held[better] = tried[better], found[better]
        best = max(best, float(held.max()))
    assert -1e-4 < best <= 1e-12


def _excess(vectors: np.ndarray) -> np.ndarray:
    """<u, v> - (1 - r) for rows of four vectors; -1 where r is not positive."""
    w, h, x, g = np.moveaxis(vectors / np.linalg.norm(vectors, axis=2, keepdims=True), 1, 0)
    r = np.minimum(((w - x) * h).sum(1), ((x - w) * g).sum(1))
    u, v = w + h, x + g
    cosine = (u * v).sum(1) / (np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1))
    return np.where(r > 1e-3, cosine - (1.0 - r), -1.0)


@given(*(st.floats(0.0, math.pi / 2) for _ in range(3)), *(st.floats(-1.5, 1.5) for _ in range(2)))
def test_each_step_of_the_proof(theta: float, a: float, b: float, p: float, q: float) -> None:
    """The identities for R1 and R2 in coordinates, and the chain of inequalities."""
    phi, psi = theta + p, theta + q
    e = np.eye(4)
    w, x = (math.cos(theta) * e[0] + s * math.sin(theta) * e[1] for s in (1.0, -1.0))
    u = math.cos(a) * (math.cos(phi) * e[0] + math.sin(phi) * e[1]) + math.sin(a) * e[2]
    v = math.cos(b) * (math.cos(psi) * e[0] - math.sin(psi) * e[1]) + math.sin(b) * e[2]
    assume(w @ u > 1e-6 and x @ v > 1e-6)
    h, g = 2.0 * (w @ u) * u - w, 2.0 * (x @ v) * v - x
    first = _margin(theta, a, phi)
    second = _margin(theta, b, psi)
    assert (w - x) @ h == pytest.approx(first, abs=1e-12)
    assert (x - w) @ g == pytest.approx(second, abs=1e-12)
    if min(first, second) <= 0.0:
        return
    s = phi + psi
    assert 0.0 < 2 * phi - theta < math.pi and 0.0 < 2 * psi - theta < math.pi
    bound = math.cos(a) * math.cos(b) * (1 - math.cos(s))
    bound -= 2 * math.sin(theta) ** 2 * math.sin(a) * math.sin(b)
    assert min(first, second) <= bound + 1e-12
    assert 1 - bound - u @ v >= 1 - math.cos(a - b) - 1e-12


def _margin(theta: float, a: float, phi: float) -> float:
    inner = math.cos(a) ** 2 * math.sin(2 * phi - theta) - math.sin(a) ** 2 * math.sin(theta)
    return 2.0 * math.sin(theta) * inner


@pytest.mark.parametrize("d, K", [(3, 7), (3, 24), (4, 13), (5, 40)])
def test_bisectors_of_any_code_are_a_code(d: int, K: int) -> None:
    """Of random rows too, with h from the exact projection on the hull."""
    from scipy.optimize import nnls

    rng = np.random.default_rng(d * K)
    W = rng.standard_normal((K, d))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    H = np.empty_like(W)
    margins = np.empty(K)
    for k in range(K):
        V = W[k] - np.delete(W, k, axis=0)
        weights = nnls(np.vstack([V.T, np.ones(K - 1)]), np.append(np.zeros(d), 1.0))[0]
        nearest = weights @ V / weights.sum()
        H[k] = nearest / max(np.linalg.norm(nearest), 1e-300)
        margins[k] = (V @ H[k]).min()
    inside = margins <= 1e-9
    U = (W + H)[~inside]
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    gram = U @ U.T - 2.0 * np.eye(len(U))
    assert gram.max() <= 1.0 - margins[~inside].min() + 1e-9
