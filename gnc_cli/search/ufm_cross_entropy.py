"""Cross-entropy of unit or free features at any temperature: value, gradient, curvature.

A sample `h` of class `y` has margins `s_j = <w_j - w_y, h>` and loss
`log(1 + sum_{j != y} exp(s_j / tau))` (paper, eq. 1). At a small temperature these losses are
numbers like exp(-800): they vanish in floating point, and their mean with its gradient vanishes
with them. So the kernels here compute `log(sum of losses)` through the margins, never through the
losses, and differentiate `F = tau * log(sum of losses)`, which increases with the mean loss (same
minimisers), tends to the HardMax value as tau -> 0 (eq. C.13) and has gradients of order one at
every temperature:

    dF/dW = A^T H,   dF/dH = A W,   A_ij = c_i (p_ij - [j = y_i]),

with `p_i` the softmax over the wrong classes and `c_i >= 0` the share of sample i in the total.

The same lines run in NumPy and in torch (`xp`), on any device, with restarts as a leading axis;
beyond 64 MB the samples are worked through in blocks, so no K x K matrix is ever held.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

_BLOCK_BYTES = 64 * 2**20
"""Memory of a block of logits with its temporaries, in bytes."""
_TEMPORARIES = 3
"""Arrays of the size of a block of logits that exist at the same time."""
_MIN_DIRECT_MARGIN = -30.0
"""Smallest m of which log(log(1 + e^m)) is computed; below, it is m - e^m / 2 to the last bit."""


@dataclass(frozen=True)
class CrossEntropy:
    """Cross-entropy of one code, or of R codes where the arguments carried a leading axis R."""

    log_total: Any
    """Log of the sum of the losses over all samples, shape () or (R,); finite where the sum
    itself underflows. The mean loss is `exp(log_total) / N`."""
    hardmax: Any
    """Maximum over samples i and classes j != y_i of <w_j - w_{y_i}, h_i> (eq. 5), of shape () or
    (R,)."""
    weights_gradient: Any
    """Derivative d(tau * log_total) / dW, of the shape of the weights."""
    features_gradient: Any
    """Derivative d(tau * log_total) / dH, of the shape of the features."""


def cross_entropy(
    weights: Any, features: Any, labels: Any, tau: Any, *, xp: Any = np
) -> CrossEntropy:
    """Compute the log of the total cross-entropy and the gradient of `tau * log_total`.

    Args:
        weights: rows of the classifier, shape (K, d) or (R, K, d), K >= 2.
        features: features, shape (N, d) or (R, N, d); rows need not be unit.
        labels: class numbers, shape (N,), integers in 0..K-1.
        tau: positive temperature, a number or, for R codes, an array of shape (R,).
        xp: `numpy`, or `torch` where the arrays are tensors (of one device and dtype).

    Cost: three matrix products of N K d multiplications; memory 64 MB beyond the arguments.
    Accuracy: relative error of the total about eps / tau, of the gradient likewise.

    Example:
        >>> square = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
        >>> ce = cross_entropy(square, square, np.arange(4), tau=1e-3)
        >>> round(float(ce.log_total), 6)  # log(4 * 2 exp(-1000)): the losses underflow
        -997.920558
        >>> float(ce.hardmax)
        -1.0
    """
    column = _per_restart(tau)
    # Allocated once: parts kept among the arrays of blocks would fragment the heap.
    features_gradient, slopes = xp.empty_like(features), xp.empty_like(features[..., :1])
    hardmax: Any = None
    total: Any = None  # log of the losses so far, shape (..., 1, 1)
    gradient: Any = 0.0  # dF/dW of the samples so far, in units of their total
    for rows in _blocks(weights, features):
        h = features[..., rows, :]
        margins, wrong, share = _samples(weights, h, labels[rows], column, xp)
        log_loss, log_slope = _log_softplus(wrong, xp), _log_sigmoid(wrong, xp)
        peak = xp.amax(log_loss, axis=-2, keepdims=True)
        if total is not None:
            peak = xp.maximum(peak, total)
        sums = xp.sum(xp.exp(log_loss - peak), axis=-2, keepdims=True)
        part = xp.swapaxes(xp.exp(log_slope - peak) * share, -1, -2) @ h
        if total is not None:
            earlier = xp.exp(total - peak)
            sums, part = sums + earlier, part + earlier * gradient
        total, gradient = peak + xp.log(sums), part / sums
        features_gradient[..., rows, :] = share @ weights
        slopes[..., rows, :] = log_slope
        worst = xp.amax(margins, axis=(-2, -1))
        hardmax = worst if hardmax is None else xp.maximum(hardmax, worst)
    # The features' shares c_i need the whole total, so they come last.
    features_gradient *= xp.exp(slopes - total)
    return CrossEntropy(
        log_total=total[..., 0, 0],
        hardmax=hardmax,
        weights_gradient=gradient,
        features_gradient=features_gradient,
    )


def cross_entropy_curvature(
    weights: np.ndarray,
    features: np.ndarray,
    labels: np.ndarray,
    tau: float,
    log_total: float,
    directions: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Compute (Euclidean) Hessian products: second derivatives of `F = tau * log_total`.

    Args:
        weights: rows of the classifier, shape (K, d).
        features: features, shape (N, d).
        labels: class numbers, shape (N,).
        tau: positive temperature.
        log_total: as returned by `cross_entropy` at the same point.
        directions: changes (dW, dH) of shapes (M, K, d) and (M, N, d): M directions at once.

    Returns:
        The derivatives of (dF/dW, dF/dH) along each direction, shapes (M, K, d) and (M, N, d).
    """
    d_weights, d_features = directions
    lead = d_weights.shape[0]
    total_w = np.zeros_like(d_weights)
    total_h = np.zeros_like(d_features)
    gradient_w = np.zeros_like(weights)
    gradient_h = np.zeros_like(features)
    drift = np.zeros((lead, 1, 1))
    for rows in _blocks(d_weights, d_features):
        h, dh, y = features[rows], d_features[:, rows], labels[rows]
        _, wrong, share = _samples(weights, h, y, _per_restart(tau), np)
        c = np.exp(_log_sigmoid(wrong, np) - log_total)
        # ds_ij, up to a constant per sample: the rows of `share` sum to zero.
        change = (h @ d_weights.swapaxes(-1, -2) + dh @ weights.T) / tau
        mean = np.sum(share * change, axis=-1, keepdims=True)  # d(wrong)
        label_change = np.take_along_axis(
            change, np.broadcast_to(y[:, None], (lead, len(y), 1)), -1
        )
        p = share.copy()
        p[np.arange(len(y)), y] = 0.0
        # d(share) + share * d(log c), the drift of the total taken off at the end.
        d_share = p * (change - label_change - mean) + share * (
            mean * np.exp(-_softplus(wrong, np))
        )
        total_w += (c * d_share).swapaxes(-1, -2) @ h + (c * share).T @ dh
        total_h[:, rows] = (c * d_share) @ weights + (c * share) @ d_weights
        gradient_w += (c * share).T @ h
        gradient_h[rows] = (c * share) @ weights
        drift += np.sum(c * mean, axis=-2, keepdims=True)
    return total_w - drift * gradient_w, total_h - drift * gradient_h


def _samples(weights: Any, features: Any, labels: Any, tau: Any, xp: Any) -> tuple[Any, Any, Any]:
    """Return margins (-inf at the label), log-sum-exp of wrong classes (.., B, 1), p - onehot."""
    scores = features @ xp.swapaxes(weights, -1, -2)
    options = {} if xp is np else {"device": labels.device}
    is_label = labels[:, None] == xp.arange(scores.shape[-1], **options)
    correct = xp.sum(xp.where(is_label, scores, 0.0), axis=-1, keepdims=True)
    margins = xp.where(is_label, -math.inf, scores - correct)
    peak = xp.amax(margins, axis=-1, keepdims=True)
    share = xp.exp((margins - peak) / tau)
    sums = xp.sum(share, axis=-1, keepdims=True)
    wrong = peak / tau + xp.log(sums)
    return margins, wrong, xp.where(is_label, -1.0, share / sums)


def _softplus(m: Any, xp: Any) -> Any:
    """Return log(1 + e^m) without overflow."""
    return xp.clip(m, 0.0, None) + xp.log1p(xp.exp(-abs(m)))


def _log_softplus(m: Any, xp: Any) -> Any:
    """Return log(log(1 + e^m)), accurate where e^m underflows."""
    direct = xp.log(_softplus(xp.clip(m, _MIN_DIRECT_MARGIN, None), xp))
    return xp.where(m < _MIN_DIRECT_MARGIN, m - 0.5 * xp.exp(xp.clip(m, None, 0.0)), direct)


def _log_sigmoid(m: Any, xp: Any) -> Any:
    """Return the log of the derivative of log(1 + e^m)."""
    return m - _softplus(m, xp)


def _per_restart(tau: Any) -> Any:
    return tau[:, None, None] if getattr(tau, "ndim", 0) else tau


def _blocks(weights: Any, features: Any) -> list[slice]:
    """Return slices of samples whose logits, with temporaries, fit in `_BLOCK_BYTES`."""
    samples = features.shape[-2]
    lead = math.prod(weights.shape[:-2])
    row = _TEMPORARIES * weights.dtype.itemsize * weights.shape[-2] * lead
    size = max(1, _BLOCK_BYTES // row)
    return [slice(i, min(i + size, samples)) for i in range(0, samples, size)]
