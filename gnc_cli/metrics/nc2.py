"""How evenly class means or weights are spread: NC2, energies, effective rank.

NC2: do the centred class means make a simplex equiangular tight frame? Papyan, Han and Donoho,
Prevalence of neural collapse (arXiv 2008.08186); the ETF error follows Zhu et al., A geometric
analysis of neural collapse (arXiv 2105.02375).
"""

import math

import numpy as np

from gnc_cli.metrics.pairs import PairTile
from gnc_cli.metrics.rows import blocks
from gnc_cli.runtime.deadline import Deadline

_BLOCK = 4 << 20
"""Entries of a block of residuals, 32 MB."""
_ROWS_BYTES = 32 << 20
"""Rows folded into the triangular factor at a time."""


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


def angle_sums(tile: PairTile, norms: np.ndarray) -> np.ndarray:
    """Of a tile of centred class means M for `pair_means`: excess cosines.

    The excess is `cos(M_k, M_j) + 1/(K - 1)`, 0 at collapse, so that nothing cancels there. The
    means are those of the excess, whose standard deviation is the equiangularity, of its square,
    and of its absolute value, the maximal angle. Undefined where a row of M is zero.

    Args:
        tile: of M.
        norms: of all rows of M, shape (K,).
    """
    excess = tile.products / norms[tile.rows, None]
    excess /= norms[tile.columns]
    excess += 1.0 / max(1, len(norms) - 1)
    excess[tile.own] = 0.0
    return np.array([excess.sum(), np.vdot(excess, excess), np.abs(excess).sum(), tile.count])


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
    norm = _residual(X, Y) if K <= d + 1 else math.sqrt(float(np.vdot(X.T @ X, Y.T @ Y)))
    if norm <= K * np.finfo(np.float64).eps:
        return None
    if K <= d + 1:
        return _residual(X / norm, Y, 1.0 / math.sqrt(K - 1))
    on_target = float(np.vdot(X, Y) - X.sum(axis=0) @ Y.sum(axis=0) / K) / math.sqrt(K - 1)
    return math.sqrt(2.0 - 2.0 * on_target / norm)


def energy_sums(tile: PairTile) -> np.ndarray:
    """Of a tile for `pair_means`: `-log |x - y|` and `1 / |x - y|`; smaller is more even.

    Logarithmic and Riesz energy (s = 1), here means rather than sums, so that sizes compare.
    Undefined where two points coincide.

    Example:
        >>> from gnc_cli.metrics.pairs import pair_means
        >>> pair_means(np.array([[1.0, 0.0], [-1.0, 0.0]]), energy_sums)[0].round(12)
        array([-0.69314718,  0.5       ])
    """
    # A row's distance to itself reads 1: its logarithm is 0, its inverse is taken off.
    inverse = 1.0 / np.sqrt(tile.squares)
    own = len(tile.own[0])
    return np.array([-0.5 * np.log(tile.squares).sum(), inverse.sum() - own, tile.count])


def effective_rank(X: np.ndarray, *, deadline: Deadline | None = None) -> float | None:
    """`exp(entropy of the normalised singular values)`, between 1 and the rank.

    Roy and Vetterli, The effective rank, EUSIPCO 2007. The singular values are those of the
    triangular factor of X, not roots of eigenvalues, which would lose the small ones.

    Args:
        X: shape (K, d).
        deadline: polled at each block of rows.

    Returns:
        None where X is zero or has no rows.

    Raises:
        TimeoutError: the deadline expired first.

    Example:
        >>> round(effective_rank(np.eye(3)), 12)
        3.0
    """
    d = X.shape[1]
    step = max(d, _ROWS_BYTES // (8 * d))
    factor = np.zeros((0, d))
    for start, stop in blocks(len(X), step):
        if deadline is not None and deadline.expired:
            raise TimeoutError("the deadline expired before the effective rank was found")
        stacked = np.concatenate([factor, X[start:stop]])
        factor = np.asarray(np.linalg.qr(stacked, mode="r"))
    values = np.linalg.svd(factor, compute_uv=False) if len(factor) else np.zeros(0)
    total = float(values.sum())
    if total == 0.0:
        return None
    shares = values[values > 0.0] / total
    return math.exp(-float(shares @ np.log(shares)))


def _residual(X: np.ndarray, Y: np.ndarray, target: float = 0.0) -> float:
    """`|X Y^T - target (I - 11^T/K)|_F`, block by block."""
    K = len(X)
    parts = []
    for start, stop in blocks(K, max(1, _BLOCK // K)):
        block = X[start:stop] @ Y.T
        if target:
            block += target / K
            block[np.arange(stop - start), np.arange(start, stop)] -= target
        parts.append(float(np.linalg.norm(block)))
    return math.hypot(*parts)
