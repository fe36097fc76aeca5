"""The feature model (`routes/ufm`, `ufm_descent`, `ufm_polish`): known optima, eq. C.13, weight
decay, and the ends of solves.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.brackets import Bracket
from gnc_cli.geometry.gram import max_cosine
from gnc_cli.geometry.sphere import normalise
from gnc_cli.runtime.deadline import NO_DEADLINE, Deadline
from gnc_cli.search import ufm_polish
from gnc_cli.search.instance import Instance, Machine, Plan
from gnc_cli.search.result import Outcome
from gnc_cli.search.routes.ufm import (
    UfmSolution,
    hardmax_band,
    hardmax_gap,
    solve_ufm,
)
from gnc_cli.search.ufm_cross_entropy import cross_entropy
from gnc_cli.search.ufm_descent import UfmObjective
from tests.problems import PROBLEMS, polygon

TAMMES_7 = next(p.max_cosine for p in PROBLEMS if p.name == "seven")


def solution_of(
    d: int,
    K: int,
    *,
    tau: float,
    restarts: int = 4,
    steps: int | None = 200,
    init: Any = None,
    deadline: Deadline = NO_DEADLINE,
    **model: Any,
) -> UfmSolution:
    instance = Instance(d=d, K=K, problem="ufm", tau=(tau,), **model)
    plan = Plan(restarts=restarts, steps=steps)
    return solve_ufm(instance, plan, Machine(device="cpu"), init=init, deadline=deadline)


def scaled_loss(W: np.ndarray, H: np.ndarray, tau: float) -> float:
    return tau * float(
        cross_entropy(W, H, np.repeat(np.arange(len(W)), len(H) // len(W)), tau).log_total
    )


@pytest.mark.parametrize("tau", [1.0, 0.1, 1e-3])
@pytest.mark.parametrize("d, K", [(3, 4), (3, 3), (4, 2)])
def test_up_to_d_plus_1_classes_form_a_simplex(d: int, K: int, tau: float) -> None:
    s = solution_of(d, K, tau=tau)
    assert s.outcome is Outcome.CONVERGED
    simplex = np.eye(K) - (1 - np.eye(K)) / (K - 1)
    np.testing.assert_allclose(s.weights @ s.weights.T, simplex, atol=1e-9)
    np.testing.assert_allclose(s.features, s.weights, atol=1e-9)
    wrong = np.log(K - 1) - K / (K - 1) / tau  # log(log(1 + e^m)) is m to the last bit, far out
    exact = np.log(K) + (wrong if wrong < -40 else np.log(np.log1p(np.exp(wrong))))
    assert tau * s.log_total_loss == pytest.approx(tau * exact, abs=1e-12)


@pytest.mark.parametrize("K, tau", [(5, 10.0), (5, 0.02), (8, 1.0), (7, 1e-5), (12, 0.3)])
def test_in_the_plane_the_regular_polygon_is_reached_and_not_beaten(K: int, tau: float) -> None:
    s = solution_of(2, K, tau=tau, steps=400)
    gon = scaled_loss(polygon(K), polygon(K), tau)
    assert tau * s.log_total_loss == pytest.approx(gon, abs=1e-12 * (1 + abs(gon)))
    assert max_cosine(s.weights) == pytest.approx(np.cos(2 * np.pi / K), abs=1e-8)


def test_seven_points_in_space_tend_to_the_tammes_code() -> None:
    """Figure C.1: d = 3, K = 7."""
    s, excess = solution_of(3, 7, tau=0.03, restarts=12), []
    for tau in (1e-2, 1e-3, 1e-4):
        s = solution_of(3, 7, tau=tau, init=(s.weights, s.features), restarts=0, steps=None)
        assert s.outcome is Outcome.CONVERGED
        assert s.stationarity < 1e-10
        excess.append(max_cosine(s.weights) - TAMMES_7)
        above, band = tau * s.log_total_loss + 1 - TAMMES_7, hardmax_band(7, tau)
        assert band.lower <= above <= band.upper
        gap = hardmax_gap(3, 7, tau, s.log_total_loss, s.hardmax, Bracket(0.0, 1.0))
        assert gap.lower <= above <= gap.upper
    assert 0 < excess[2] < 0.11 * excess[1] < 0.02 * excess[0]
    assert excess[2] < 4e-5


@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(2, 6),
    K=st.integers(2, 9),
    n=st.integers(1, 3),
    tau=st.floats(1e-4, 10.0),
)
def test_the_scaled_loss_lies_in_the_band_of_c13(
    seed: int, d: int, K: int, n: int, tau: float
) -> None:
    rng = np.random.default_rng(seed)
    W = normalise(rng.normal(size=(K, d)))
    labels = np.repeat(np.arange(K), n)
    H = W[labels]  # the right side: <w_y - w_j, w_y> = 1 - cosine >= 0
    ce = cross_entropy(W, H, labels, tau)
    band = hardmax_band(K, tau, n)
    above = tau * float(ce.log_total) - float(ce.hardmax)
    rounding = 1e-13 * (1 + tau)
    assert -tau * np.log(K) <= band.lower
    assert band.lower - rounding <= above <= band.upper + rounding
    # The certified gap holds for this pair too, whatever rho* is between its two bounds.
    rho = Bracket(0.0, K / (K - 1))
    gap = hardmax_gap(d, K, tau, float(ce.log_total), float(ce.hardmax), rho)
    scaled = tau * float(ce.log_total)
    assert gap.lower <= gap.upper
    assert gap.upper == scaled + rho.upper
    assert gap.lower >= scaled - float(ce.hardmax) - rounding


@pytest.mark.parametrize("d, K, n", [(3, 4, 1), (3, 4, 2), (6, 5, 1)])
def test_weight_decay_has_the_closed_form_of_the_nuclear_norm_problem(
    d: int, K: int, n: int
) -> None:
    """W H^T = s (I - 11^T / K) minimises loss + lambda * nuclear norm, a convex problem."""
    decay = 5e-3
    s = solution_of(d, K, tau=1.0, weight_decay=decay, n=n)
    assert s.outcome is Outcome.CONVERGED
    lam = decay * np.sqrt(n)
    scale = np.log((1 - lam * (K - 1)) / lam)
    logits = scale * (np.eye(K) - 1 / K)[:, s.labels]
    np.testing.assert_allclose(s.weights @ s.features.T, logits, atol=1e-8)


def test_weight_decay_is_uneven_where_the_sphere_is_even() -> None:
    """Figures B.1(c, d) and B.2: d = 2, K = 30, lambda = 1e-3."""
    s = solution_of(2, 30, tau=1.0, weight_decay=1e-3, restarts=1)
    assert s.stationarity < 1e-10
    w, h = np.linalg.norm(s.weights, axis=1), np.linalg.norm(s.features, axis=1)
    assert 4.0 < w.min() <= w.max() < 4.2
    assert h.max() / h.min() > 1.4
    assert np.ptp(w / h) > 0.3
    alignment = np.sum(s.weights * s.features, axis=1) / (w * h)
    assert alignment.min() > 0.9999  # self-dual in direction only
    # Balance: X^T dE/dX agrees for W and H at every stationary point.
    np.testing.assert_allclose(s.weights.T @ s.weights, s.features.T @ s.features, atol=1e-9)
    sphere = solution_of(2, 30, tau=0.02)
    assert max_cosine(sphere.weights) == pytest.approx(np.cos(2 * np.pi / 30), abs=1e-9)
    np.testing.assert_allclose(sphere.features, sphere.weights, atol=1e-8)


def test_a_saddle_given_as_init_is_left() -> None:
    """A hexagon in a plane of R^3 is stationary for symmetry's sake, and no minimum."""
    flat = np.concatenate([polygon(6), np.zeros((6, 1))], axis=1)
    s = solution_of(3, 6, tau=0.1, init=flat, restarts=0, steps=None)
    assert s.outcome is Outcome.CONVERGED
    assert s.hardmax == pytest.approx(-1.0, abs=1e-9)


def test_products_alone_reach_what_the_dense_hessian_reaches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dense = solution_of(4, 9, tau=0.02)
    monkeypatch.setattr(ufm_polish, "DENSE_UNKNOWNS", 0)
    products = solution_of(4, 9, tau=0.02)
    assert products.outcome is Outcome.CONVERGED
    assert products.log_total_loss == pytest.approx(dense.log_total_loss, rel=1e-12)


@pytest.mark.parametrize("decay", [None, 0.01])
def test_the_riemannian_hessian_is_the_derivative_of_the_gradient(decay: float | None) -> None:
    rng = np.random.default_rng(2)
    objective = UfmObjective(4, np.repeat(np.arange(4), 2), 0.3, decay)
    x = objective.retract(rng.normal(size=(12, 3)))
    v = objective.project(x, rng.normal(size=(12, 3)))

    def tangent(t: float) -> np.ndarray:
        y = objective.retract(x + t * v)
        return objective.project(y, objective.value_and_gradient(y)[1])

    slope = objective.project(x, (tangent(1e-6) - tangent(-1e-6)) / 2e-6)
    np.testing.assert_allclose(objective.curvature(x, v[None])[0], slope, atol=1e-8)


def test_a_deadline_returns_the_best_so_far() -> None:
    ticks = iter(range(10**6))
    timed = solution_of(3, 12, tau=0.01, deadline=Deadline(60, clock=lambda: next(ticks)))
    assert timed.outcome is Outcome.TIME_LIMIT
    assert 0 < timed.steps < 60
    np.testing.assert_allclose(np.linalg.norm(timed.weights, axis=1), 1, atol=1e-12)

    done = solution_of(3, 7, tau=0.1)
    at_once = solution_of(3, 7, tau=0.1, init=(done.weights, done.features), deadline=Deadline(0.0))
    assert at_once.outcome is Outcome.TIME_LIMIT
    np.testing.assert_allclose(at_once.weights, done.weights, atol=1e-15)
