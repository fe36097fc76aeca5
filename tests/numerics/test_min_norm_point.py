"""Nearest points of hulls: against a conic solver, in closed form, and proofs in rationals."""

from fractions import Fraction
from math import isqrt

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

import gnc_cli.numerics.min_norm_point as module
from gnc_cli.errors import DataError
from gnc_cli.numerics.min_norm_point import (
    certify,
    hull_distance_bound,
    min_norm_point,
    supporting_normal,
    wolfe,
)
from tests.problems import random_rotation


def witness(V: np.ndarray) -> float:
    """Distance of the hull from 0 by clarabel: min |V^T a|^2 over the simplex."""
    m, d = V.shape
    # Variables (a, x) with x = V^T a: the quadratic form touches x alone.
    P = sparse.block_diag([sparse.csc_matrix((m, m)), 2.0 * sparse.eye(d)], format="csc")
    A = sparse.vstack(
        [
            sparse.hstack([sparse.csc_matrix(V.T), -sparse.eye(d)]),
            sparse.hstack([sparse.csc_matrix(np.ones((1, m))), sparse.csc_matrix((1, d))]),
            sparse.hstack([-sparse.eye(m), sparse.csc_matrix((m, d))]),
        ],
        format="csc",
    )
    b = np.concatenate([np.zeros(d), [1.0], np.zeros(m)])
    cones = [clarabel.ZeroConeT(d + 1), clarabel.NonnegativeConeT(m)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solution = clarabel.DefaultSolver(P, np.zeros(m + d), A, b, cones, settings).solve()
    return float(np.linalg.norm(np.array(solution.x)[m:]))


@pytest.mark.parametrize("m, d", [(1, 3), (2, 2), (5, 20), (30, 3), (60, 12), (40, 100)])
def test_clarabel_agrees_on_random_hulls(m: int, d: int, rng: np.random.Generator) -> None:
    for shift in (0.0, 0.5, 3.0):
        V = rng.standard_normal((m, d))
        V[:, 0] += shift
        x, weights = min_norm_point(V)
        assert (weights >= 0.0).all() and weights.sum() == pytest.approx(1.0, abs=1e-14)
        assert weights @ V == pytest.approx(x, abs=1e-13)
        bracket = certify(x, V, weights)
        assert bracket.width < 1e-12 or bracket.upper < 1e-12
        slack = 2e-6 if bracket.lower == 0.0 else 1e-8
        assert witness(V) == pytest.approx(bracket.upper, abs=slack)


DEGENERATE = {
    "duplicates": np.repeat([[1.0, 2.0, 0.0], [1.0, -2.0, 1.0]], 5, axis=0),
    "collinear": np.stack([np.linspace(-1, 2, 9), np.ones(9)], axis=1),
    "face of a cube": np.array([[1.0, s, t] for s in (-1, 0, 1) for t in (-1, 0, 1)]),
    "one far point": np.array([[1e8, 0.0], [1.0, 1.0], [1.0, -1.0]]),
    "thin": np.array([[1.0, 1e-9], [1.0, -1e-9], [1.0 + 1e-9, 0.0]]),
    "ties on a sphere": np.vstack([np.eye(6), -np.eye(6)]) + np.array([1.5, 0, 0, 0, 0, 0]),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_hulls(name: str) -> None:
    V = DEGENERATE[name]
    x, weights = min_norm_point(V)
    bracket = certify(x, V, weights)
    scale = float(np.abs(V).max())
    assert bracket.width < 1e-13 * max(1.0, scale)
    assert witness(V / scale) * scale == pytest.approx(bracket.upper, abs=1e-6 * scale)


def test_origin_inside_is_exact(rng: np.random.Generator) -> None:
    V = np.vstack([np.eye(4), -np.eye(4)]) + 0.1
    x, weights = min_norm_point(V)
    assert np.linalg.norm(x) < 1e-15
    assert certify(x, V, weights).lower == 0.0
    with_zero = np.vstack([rng.standard_normal((4, 3)), np.zeros((1, 3))])
    x, weights = min_norm_point(with_zero)
    assert not x.any() and weights[4] == 1.0


def test_scale_does_not_matter(rng: np.random.Generator) -> None:
    V = rng.standard_normal((12, 4)) + 1.0
    x = min_norm_point(V)[0]
    for scale in (1e-120, 1e-8, 1e8, 1e120):
        assert min_norm_point(V * scale)[0] / scale == pytest.approx(x, rel=1e-9, abs=1e-12)


def test_fallback_when_nnls_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: object) -> None:
        raise RuntimeError("Maximum number of iterations reached.")

    rng = np.random.default_rng(5)
    for m, d in ((20, 5), (8, 30), (50, 12), (40, 60)):
        V = rng.standard_normal((m, d)) + 0.4
        expected = min_norm_point(V)[0]
        with monkeypatch.context() as patch:
            patch.setattr("scipy.optimize.nnls", give_up)
            patch.setattr(module, "pivoted_weights", lambda V, start: None)
            x, weights = min_norm_point(V)
        assert x == pytest.approx(expected, abs=1e-12)
        assert certify(x, V, weights).width < 1e-12


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.float64, (7, 3), elements=st.integers(-3, 3)), st.integers(0, 6))
def test_wolfe_on_small_integers(V: np.ndarray, start: int) -> None:
    """Integer points are full of ties, dependent rows and hulls through the origin."""
    weights = np.zeros(7)
    weights[start] = 1.0
    first = certify(V[start], V, weights)
    weights = wolfe(V, weights)
    x = weights @ V
    bracket = certify(x, V, weights)
    assert bracket.upper <= first.upper
    assert bracket.width < 1e-12 or bracket.upper < 1e-7
    assert bracket.upper == pytest.approx(witness(V), abs=3e-6)


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.float64, (8, 4), elements=st.integers(-4, 4)), st.integers(0, 99))
def test_certificate_laws(V: np.ndarray, seed: int) -> None:
    x, weights = min_norm_point(V)
    bracket = certify(x, V, weights)
    assert 0.0 <= bracket.lower <= bracket.upper
    assert bracket.width < 1e-12 or bracket.lower == 0.0
    Q = random_rotation(np.random.default_rng(seed), 4)
    turned = certify(*(lambda y, a: (y, V @ Q, a))(*min_norm_point(V @ Q)))
    assert turned.lower <= bracket.upper + 1e-13 and bracket.lower <= turned.upper + 1e-13
    fewer = min_norm_point(V[:5])[0]
    assert bracket.lower <= np.linalg.norm(fewer) + 1e-12


def root_below(q: Fraction) -> Fraction:
    """A rational just below the square root of q, to 40 digits."""
    scale = 10**80
    return Fraction(isqrt(int(q * scale)), 10**40)


@settings(max_examples=100, deadline=None)
@given(
    hnp.arrays(np.int64, (5, 3), elements=st.integers(-9, 9)),
    hnp.arrays(np.int64, 5, elements=st.integers(0, 9)).filter(lambda a: a.any()),
    hnp.arrays(np.int64, 3, elements=st.integers(-9, 9)).filter(lambda x: x.any()),
)
def test_rounding_goes_outward(V: np.ndarray, a: np.ndarray, x: np.ndarray) -> None:
    """The bounds of given weights and directions, in exact rationals, lie inside the bracket."""
    scaled = V / 7.0
    exact = [[Fraction(float(v)) for v in row] for row in scaled]
    total = Fraction(int(a.sum()))
    point = [sum(int(a[j]) * exact[j][i] for j in range(5)) / total for i in range(3)]
    length = root_below(sum((c * c for c in point), Fraction(0)))
    bracket = certify(x / 3.0, scaled, a.astype(float))
    assert Fraction(bracket.upper) >= length
    assert bracket.upper <= float(length) + 1e-14
    direction = [Fraction(float(c)) for c in x / 3.0]
    norm = root_below(sum((c * c for c in direction), Fraction(0))) + Fraction(1, 10**39)
    lowest = min(sum(r * c for r, c in zip(row, direction, strict=True)) for row in exact)
    true_lower = max(Fraction(0), lowest / norm)
    assert Fraction(bracket.lower) <= true_lower + Fraction(1, 10**38)
    assert float(true_lower) - 1e-14 <= bracket.lower or bracket.lower == bracket.upper


def test_supporting_normal_where_the_hull_almost_touches(rng: np.random.Generator) -> None:
    """A face 1e-9 away from the origin: the normal stays exact to rounding."""
    normal = rng.standard_normal(6)
    normal /= np.linalg.norm(normal)
    face = rng.standard_normal((6, 6))
    face += np.outer(1e-9 - face @ normal, normal)
    computed = supporting_normal(face)
    assert abs(computed @ normal) == pytest.approx(1.0, abs=1e-14)
    assert np.ptp(face @ computed) < 1e-14
    assert not supporting_normal(np.vstack([np.zeros(3), np.eye(3)]) + 1.0).any()


def test_bad_input_is_named() -> None:
    with pytest.raises(DataError, match="finite points"):
        min_norm_point(np.array([[1.0, np.nan]]))
    with pytest.raises(DataError, match="finite points"):
        min_norm_point(np.empty((0, 3)))
    with pytest.raises(DataError, match="expected"):
        certify(np.ones(2), np.ones((3, 3)))
    with pytest.raises(DataError, match="x has length 0.5, the hull is 1 away: x is not in it"):
        certify(np.array([0.5, 0.0]), np.array([[1.0, 1.0], [1.0, -1.0]]))
    with pytest.raises(DataError, match="non-negative"):
        hull_distance_bound(np.eye(2), np.array([1.0, -0.1]))
