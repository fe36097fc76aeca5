"""NC2: do the centred class means make a simplex equiangular tight frame?

Papyan, Han and Donoho, Prevalence of neural collapse (arXiv 2008.08186); the ETF error follows
Zhu et al., A geometric analysis of neural collapse (arXiv 2105.02375).
"""

import math

import numpy as np

from gnc_cli.metrics.pairs import PairTile

__all__ = ["Angles", "equinorm", "etf_error"]

_BLOCK = 4 << 20
"""Entries of a block of residuals, 32 MB."""


def equinorm(X: np.ndarray) -> float | None:
    """Coefficient of variation of the row norms: standard deviation over mean, 0 when collapsed.

    Args:
        X: centred class means or class weights, shape (K, d).

    Returns:
        None where X is zero or has no rows.

    Example:
        >>> equinorm(np.array([[1.0, 0.0], [0.0, 3.0]]))
        0.5
    """
    norms = np.linalg.norm(X, axis=1)
    mean = float(norms.mean()) if len(norms) else 0.0
    return float(norms.std()) / mean if mean > 0.0 else None


class Angles:
    """Equiangularity `std cos(M_k, M_j)` and maximal angles `mean |cos(M_k, M_j) + 1/(K - 1)|`.

    Args:
        M: centred class means, whose tiles follow, shape (K, d).
    """

    def __init__(self, M: np.ndarray) -> None:
        norms = np.linalg.norm(M, axis=1)
        self._defined = len(M) > 1 and bool(norms.all())
        self._inverse = 1.0 / norms if self._defined else norms
        self._target = -1.0 / (len(M) - 1) if self._defined else 0.0
        self._sum = 0.0
        self._squares = 0.0
        self._absolute = 0.0
        self._pairs = 0

    def add(self, tile: PairTile) -> None:
        """Take in the pairs of a tile of M."""
        if not self._defined:
            return
        excess = tile.products * self._inverse[tile.rows, None]
        excess *= self._inverse[tile.columns]
        # Sums about the collapsed value: nothing cancels near collapse.
        excess -= self._target
        excess[tile.own] = 0.0
        self._sum += tile.weight * float(excess.sum())
        self._squares += tile.weight * float(np.vdot(excess, excess))
        self._absolute += tile.weight * float(np.abs(excess, out=excess).sum())
        self._pairs += tile.pairs

    @property
    def equiangularity(self) -> float | None:
        """None where a centred mean is zero, or fewer than two classes are present."""
        if not self._pairs:
            return None
        variance = self._squares / self._pairs - (self._sum / self._pairs) ** 2
        return math.sqrt(max(variance, 0.0))

    @property
    def max_angle(self) -> float | None:
        """None where a centred mean is zero, or fewer than two classes are present."""
        return self._absolute / self._pairs if self._pairs else None


def etf_error(X: np.ndarray, Y: np.ndarray) -> float | None:
    """`| A / |A|_F - (I - 11^T/K) / sqrt(K - 1) |_F` with `A = X Y^T`, from 0 to 2.

    `X = Y = M` asks whether M is a simplex ETF; `X = W, Y = M` is the dual form of NC3. For K <=
    d + 1 the residuals are summed, block by block. Beyond, `tr A`, `1^T A 1` and `|A|_F^2 =
    <X^T X, Y^T Y>` say it with (d, d) matrices; their difference keeps its digits there, because A
    has rank d at most and the target K - 1, so that the error is `sqrt((K - 1 - d) / (K - 1))` or
    more.

    Args:
        X: shape (K, d).
        Y: shape (K, d), the same classes.

    Returns:
        None where A is zero or K is 1.

    Example:
        >>> round(etf_error(np.eye(2), np.eye(2)) ** 2, 12) == round(2 - math.sqrt(2), 12)
        True
    """
    K, d = X.shape
    scales = float(np.linalg.norm(X)), float(np.linalg.norm(Y))
    if K < 2 or not all(scales):
        return None
    X, Y = X / scales[0], Y / scales[1]
    norm = _product_norm(X, Y) if K <= d + 1 else math.sqrt(float(np.vdot(X.T @ X, Y.T @ Y)))
    if norm <= K * np.finfo(np.float64).eps:
        return None
    if K <= d + 1:
        return _residual(X / norm, Y)
    on_target = float(np.vdot(X, Y) - X.sum(axis=0) @ Y.sum(axis=0) / K) / math.sqrt(K - 1)
    return math.sqrt(2.0 - 2.0 * on_target / norm)


def _product_norm(X: np.ndarray, Y: np.ndarray) -> float:
    """`|X Y^T|_F`, block by block."""
    step = max(1, _BLOCK // len(X))
    return math.hypot(
        *(float(np.linalg.norm(X[s : s + step] @ Y.T)) for s in range(0, len(X), step))
    )


def _residual(X: np.ndarray, Y: np.ndarray) -> float:
    """`|X Y^T - (I - 11^T/K) / sqrt(K - 1)|_F`, block by block."""
    K = len(X)
    step = max(1, _BLOCK // K)
    parts = []
    for s in range(0, K, step):
        block = X[s : s + step] @ Y.T
        block += 1.0 / (K * math.sqrt(K - 1))
        at = np.arange(len(block))
        block[at, at + s] -= 1.0 / math.sqrt(K - 1)
        parts.append(float(np.linalg.norm(block)))
    return math.hypot(*parts)
