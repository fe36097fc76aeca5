"""Cross-entropy kernels against autograd, mpmath, and their own laws."""

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnc_cli.search import ufm_cross_entropy as module
from gnc_cli.search.ufm_cross_entropy import cross_entropy, cross_entropy_curvature


def unit_rows(rng: np.random.Generator, *shape: int) -> np.ndarray:
    x = rng.normal(size=shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def problem(seed: int, K: int = 5, d: int = 3, n: int = 2) -> tuple:
    """A code with n features a class near their weights: every margin is positive."""
    rng = np.random.default_rng(seed)
    W, labels = unit_rows(rng, K, d), np.repeat(np.arange(K), n)
    return W, W[labels], labels


def mp_scaled_loss(W, H, labels, tau) -> mpmath.mpf:
    """tau * log(sum of losses) by its definition, in the working precision of mpmath."""
    total = mpmath.mpf(0)
    for h, y in zip(H, labels, strict=True):
        scores = [mpmath.fdot(w, h) / tau for w in W]
        wrong = [mpmath.exp(s - scores[y]) for j, s in enumerate(scores) if j != y]
        total += mpmath.log1p(mpmath.fsum(wrong))
    return tau * mpmath.log(total)


def torch_scaled_loss(W, H, labels, tau):
    logits = H @ W.T / tau
    return tau * torch.log(torch.nn.functional.cross_entropy(logits, labels, reduction="sum"))


@pytest.mark.parametrize("tau", [3.0, 0.3, 0.05])
@pytest.mark.parametrize("unit", [True, False])
def test_gradient_and_curvature_agree_with_autograd(tau: float, unit: bool) -> None:
    rng = np.random.default_rng(7)
    W, H = rng.normal(size=(6, 4)), rng.normal(size=(13, 4))
    if unit:
        W, H = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (W, H))
    labels = rng.integers(0, 6, size=13)
    tensors = torch.tensor(W, requires_grad=True), torch.tensor(H, requires_grad=True)
    y = torch.tensor(labels)

    def loss(w, h):
        return torch_scaled_loss(w, h, y, tau)

    ce = cross_entropy(W, H, labels, tau)
    value = loss(*tensors)
    expected = torch.autograd.grad(value, tensors)
    assert tau * ce.log_total == pytest.approx(value.item(), rel=1e-13)
    np.testing.assert_allclose(ce.weights_gradient, expected[0], atol=1e-14)
    np.testing.assert_allclose(ce.features_gradient, expected[1], atol=1e-14)
    np.testing.assert_allclose(
        ce.hardmax,
        max((W[j] - W[k]) @ h for h, k in zip(H, labels, strict=True) for j in range(6) if j != k),
        atol=1e-14,
    )

    moves = rng.normal(size=(3, 6, 4)), rng.normal(size=(3, 13, 4))
    bent = cross_entropy_curvature(W, H, labels, tau, float(ce.log_total), moves)
    points = tuple(t.detach() for t in tensors)
    for m in range(3):
        direction = tuple(torch.tensor(move[m]) for move in moves)
        _, product = torch.autograd.functional.hvp(loss, points, direction)
        np.testing.assert_allclose(bent[0][m], product[0], atol=1e-12)
        np.testing.assert_allclose(bent[1][m], product[1], atol=1e-12)


@pytest.mark.parametrize("tau", [1e-2, 1e-3, 1e-4])
def test_tiny_temperature_keeps_relative_precision(tau: float) -> None:
    """Losses down to exp(-10000): value and gradient against 60 digits and finite differences."""
    W, H, labels = problem(3)
    ce = cross_entropy(W, H, labels, tau)
    with mpmath.workdps(60):
        w, h = ([[mpmath.mpf(float(v)) for v in row] for row in x] for x in (W, H))
        t = mpmath.mpf(tau)
        exact = mp_scaled_loss(w, h, labels, t) / t
        # Relative error of the total: the rounding of the logits, of size 1 / tau.
        assert abs(float(exact - mpmath.mpf(float(ce.log_total)))) < 4e-16 / tau
        step = mpmath.mpf(10) ** -25
        for rows, gradient in ((w, ce.weights_gradient), (h, ce.features_gradient)):
            for i, j in ((0, 0), (1, 2), (4, 1)):
                kept, ends = rows[i][j], []
                for sign in (1, -1):
                    rows[i][j] = kept + sign * step
                    ends.append(mp_scaled_loss(w, h, labels, t))
                rows[i][j] = kept
                slope = float((ends[0] - ends[1]) / (2 * step))
                assert gradient[i, j] == pytest.approx(slope, rel=1e-15 / tau, abs=1e-15)


def test_curvature_holds_where_losses_underflow() -> None:
    """A finite difference of gradients is the witness at tau = 1e-3."""
    W, H, labels = problem(5)
    rng = np.random.default_rng(0)
    dW, dH = rng.normal(size=W.shape), rng.normal(size=H.shape)
    tau, step = 1e-3, 1e-8
    log_total = float(cross_entropy(W, H, labels, tau).log_total)
    assert np.exp(log_total) < 1e-9
    bent = cross_entropy_curvature(W, H, labels, tau, log_total, (dW[None], dH[None]))
    up = cross_entropy(W + step * dW, H + step * dH, labels, tau)
    down = cross_entropy(W - step * dW, H - step * dH, labels, tau)
    for name, product in zip(("weights_gradient", "features_gradient"), bent, strict=True):
        slope = (getattr(up, name) - getattr(down, name)) / (2 * step)
        np.testing.assert_allclose(product[0], slope, atol=1e-5 * np.abs(slope).max())


@given(seed=st.integers(0, 2**32 - 1), tau=st.floats(1e-3, 10.0))
def test_batches_blocks_and_torch_say_the_same(seed: int, tau: float) -> None:
    rng = np.random.default_rng(seed)
    W, H = unit_rows(rng, 3, 5, 4), unit_rows(rng, 3, 11, 4)
    labels = rng.integers(0, 5, size=11)
    taus = tau * np.array([1.0, 2.0, 0.5])
    batch = cross_entropy(W, H, labels, taus)
    tensors = (torch.tensor(a) for a in (W, H, labels, taus))
    on_torch = cross_entropy(*tensors, xp=torch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_BYTES", 3 * 3 * 8 * 5 * 2)  # two samples a block
        blocked = cross_entropy(W, H, labels, taus)
        moves = (rng.normal(size=(2, 5, 4)), rng.normal(size=(2, 11, 4)))
        arguments = W[0], H[0], labels, taus[0], float(batch.log_total[0]), moves
        bent_blocked = cross_entropy_curvature(*arguments)
    bent = cross_entropy_curvature(*arguments)
    for name in ("log_total", "hardmax", "weights_gradient", "features_gradient"):
        expected = getattr(batch, name)
        np.testing.assert_allclose(getattr(on_torch, name), expected, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(getattr(blocked, name), expected, rtol=1e-11, atol=1e-12)
        for r in range(3):
            single = cross_entropy(W[r], H[r], labels, taus[r])
            np.testing.assert_allclose(getattr(single, name), expected[r], rtol=1e-11, atol=1e-12)
    size = max(np.abs(b).max() for b in bent)
    for a, b in zip(bent_blocked, bent, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-11 * size)


@given(seed=st.integers(0, 2**32 - 1), tau=st.floats(1e-3, 10.0))
def test_rotating_both_and_renaming_classes_change_nothing(seed: int, tau: float) -> None:
    rng = np.random.default_rng(seed)
    W, H, labels = unit_rows(rng, 6, 3), unit_rows(rng, 9, 3), rng.integers(0, 6, size=9)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    order = rng.permutation(6)
    ce = cross_entropy(W, H, labels, tau)
    turned = cross_entropy(W @ turn, H @ turn, labels, tau)
    renamed = cross_entropy(W[order], H, np.argsort(order)[labels], tau)
    assert turned.log_total == pytest.approx(ce.log_total, rel=1e-11, abs=1e-12)
    np.testing.assert_allclose(turned.weights_gradient, ce.weights_gradient @ turn, atol=1e-10)
    assert renamed.log_total == pytest.approx(ce.log_total, rel=1e-11, abs=1e-12)
    np.testing.assert_allclose(renamed.weights_gradient, ce.weights_gradient[order], atol=1e-10)


def test_two_classes_far_on_the_wrong_side_do_not_overflow() -> None:
    W = np.array([[1.0, 0.0], [-1.0, 0.0]])
    ce = cross_entropy(W, -W, np.arange(2), tau=1e-6)
    assert ce.log_total == pytest.approx(np.log(2 * 2e6), rel=1e-14)
    assert ce.hardmax == 2.0
    assert np.isfinite(ce.weights_gradient).all()
