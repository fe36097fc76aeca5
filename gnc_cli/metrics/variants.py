"""Metrics that are not from the paper: NC1 to NC3, CDNV, energies, ranks, NECO.

The classic metrics are of raw features and raw weights, except the energies and effective ranks,
which are of rows brought to norm 1. Only classes with samples enter; where weights are paired with
class means, those of the other classes are left out. Where the class means are those of other data,
all of them enter: only CDNV, which needs the spread of both classes of a pair, leaves some out.

NC1 to NC3: Papyan, Han and Donoho, Prevalence of neural collapse (arXiv 2008.08186). The ETF error
follows Zhu et al., A geometric analysis of neural collapse (arXiv 2105.02375).
"""

import math
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from gnc_cli.geometry.sphere import normalise
from gnc_cli.metrics.class_moments import ClassMoments, centred, rounding_of
from gnc_cli.metrics.gnc1 import gnc1_of_means, nc1_trace_quotient
from gnc_cli.metrics.gnc3 import nc3
from gnc_cli.metrics.pairs import angle_sums, cdnv_sums, energy_sums, pair_means, pair_rows
from gnc_cli.metrics.rows import blocks
from gnc_cli.records import LOWER
from gnc_cli.runtime.deadline import Deadline

_BLOCK_ENTRIES = 4 << 20
"""Number of entries of a block of residuals, 32 MB."""
_ROWS_BYTES = 32 << 20
"""Bytes of the rows that are folded into the triangular factor at a time."""


@dataclass(frozen=True)
class Evenness:
    """Evenness of class means and of class weights, each row divided by its norm, not centred.

    Values are None if a row is zero, or without weights.
    """

    log_energy: float | None = field(metadata=LOWER)
    """Mean of `-log |x - y|` over the pairs of class means."""
    riesz_energy: float | None = field(metadata=LOWER)
    """Mean of `1 / |x - y|` over the pairs of class means."""
    effective_rank_means: float | None
    """`exp(entropy of the normalised singular values)` of the class means."""
    log_energy_weights: float | None = field(metadata=LOWER)
    """Mean of `-log |x - y|` over the pairs of weights."""
    riesz_energy_weights: float | None = field(metadata=LOWER)
    """Mean of `1 / |x - y|` over the pairs of weights."""
    effective_rank_weights: float | None
    """`exp(entropy of the normalised singular values)` of the weights."""
    pair_rows: int
    """Number of class means that the statistics over pairs compare with all others."""
    pair_rows_weights: int | None
    """Number of weights that the statistics over pairs compare with all others."""


@dataclass(frozen=True)
class Neco:
    """Orthogonality of the classes to other data (NC5 of arXiv 2310.06823)."""

    orthogonality_deviation: float | None = field(metadata=LOWER)
    """Mean of `|cos(m_k, m_ood)|` over the classes present, from 0 to 1; None if one of these
    means is zero."""
    ood_samples: int
    """Number of samples of the other data."""


def classic(
    moments: ClassMoments,
    W: np.ndarray | None,
    *,
    centres: ClassMoments | None = None,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> dict[str, float | None]:
    """Compute every classic metric except NC4, which needs the samples once more.

    Last bits may depend on the number of BLAS threads, which cut products in different places.

    Args:
        moments: of raw features, K classes of which P have samples.
        W: raw class weights, shape (K, d). NC3 and its dual form take the rows of the classes
            that have a mean; equinorm and ETF error of the weights take all rows, not centred.
        centres: moments of other data whose class means are used, those that `moments` took as
            centres (`--means-from`): all of them, also where `moments` has no sample of a class;
            CDNV is over the pairs of classes of which `moments` has samples.
        seed: seed of the sample of rows for statistics over pairs beyond 30000 rows.
        deadline: polled at each tile of pairs.

    Returns:
        Plain numbers, None where undefined (one class present, one sample in each, means that are
        zero or coincide, no weights or a zero row of them): `nc1`, `nc1_trace_quotient`, `cdnv`; of
        the centred class means `nc2_equinorm_means`, `nc2_equiangularity`, `nc2_max_angle`,
        `nc2_etf_error`; of the weights `nc2_equinorm_weights`, `nc2_etf_error_weights`; `nc3`,
        `nc3_dual_etf_error`.

    Raises:
        TimeoutError: the deadline expired first.
    """
    source = centres or moments
    present, means = source.present, source.means[source.present]
    M = centred(means)
    within_cov, spread = moments.within_cov(), moments.spread()[present]
    nc1, quotient = gnc1_of_means(within_cov, M), nc1_trace_quotient(within_cov, M)
    sampled = moments.present[present]
    if not moments.has_spread:
        nc1 = quotient = None
    cdnv, angles = pair_means(
        M,
        partial(cdnv_sums, spread=spread, sampled=sampled),
        partial(angle_sums, norms=np.linalg.norm(M, axis=1)),
        floor=rounding_of(means),
        seed=seed,
        deadline=deadline,
    )
    paired = None if W is None else W[present]
    return {
        "nc1": None if nc1 is None else nc1.value,
        "nc1_trace_quotient": quotient,
        "cdnv": float(cdnv[0]) if cdnv is not None and moments.has_spread else None,
        "nc2_equinorm_means": equinorm(M),
        "nc2_equinorm_weights": None if W is None else equinorm(W),
        "nc2_equiangularity": (
            None if angles is None else math.sqrt(max(angles[1] - angles[0] ** 2, 0.0))
        ),
        "nc2_max_angle": None if angles is None else float(angles[2]),
        "nc2_etf_error": etf_error(M, M),
        "nc2_etf_error_weights": None if W is None else etf_error(W, W),
        "nc3": None if paired is None else nc3(paired, M),
        "nc3_dual_etf_error": None if paired is None else etf_error(paired, M),
    }


def evenness(
    means: np.ndarray,
    W: np.ndarray | None,
    *,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> Evenness:
    """Compute energies and effective ranks of class means (P, d) and weights (K, d).

    Each row is scaled to norm 1 here. `seed`, `deadline` and TimeoutError are as in `classic`.
    """
    unit_weights = _directions(W)
    return Evenness(
        **_evenness(_directions(means), "", "_means", seed, deadline),
        **_evenness(unit_weights, "_weights", "_weights", seed, deadline),
        pair_rows=pair_rows(len(means)),
        pair_rows_weights=None if unit_weights is None else pair_rows(len(unit_weights)),
    )


def neco(moments: ClassMoments, ood: ClassMoments) -> Neco:
    """Compute the orthogonality deviation of NECO, NC5 of arXiv 2310.06823, eq. 5.

    The deviation falls to 0 as the features of other data become orthogonal to the classes. Neither
    the class means nor the mean of the other data is centred.

    Args:
        moments: moments of raw features, of the training set if there is one.
        ood: moments of raw out-of-distribution features, all in one class, the same d.

    Example:
        >>> ours, theirs = ClassMoments(d=2, K=2), ClassMoments(d=2, K=1)
        >>> ours.update(np.array([[1.0, 0.0], [0.0, -2.0]]), np.array([0, 1]))
        >>> theirs.update(np.array([[3.0, 4.0]]), np.array([0]))
        >>> round(neco(ours, theirs).orthogonality_deviation, 12)
        0.7
    """
    means, other = (_directions(m.means[m.present]) for m in (moments, ood))
    if means is None or other is None:
        return Neco(None, ood.N)
    return Neco(float(np.abs(means @ other[0]).mean()), ood.N)


def _evenness(
    X: np.ndarray | None, energy_ending: str, rank_ending: str, seed: int, deadline: Deadline | None
) -> dict[str, float | None]:
    """Compute energies and the effective rank of unit rows, by names with the given endings."""
    energies, rank = None, None
    if X is not None:
        # Distances do not depend on the origin; about their mean, close rows lose fewer digits.
        shifted = X - X.mean(axis=0)
        (energies,) = pair_means(
            shifted, energy_sums, floor=rounding_of(X), seed=seed, deadline=deadline
        )
        rank = effective_rank(X, deadline=deadline)
    return {
        f"log_energy{energy_ending}": None if energies is None else float(energies[0]),
        f"riesz_energy{energy_ending}": None if energies is None else float(energies[1]),
        f"effective_rank{rank_ending}": rank,
    }


def equinorm(X: np.ndarray) -> float | None:
    """Compute the coefficient of variation of the row norms, standard deviation over mean.

    It is 0 at collapse.

    Args:
        X: centred class means or class weights, shape (K, d).

    Returns:
        None if X is zero or has no rows.

    Example:
        >>> equinorm(np.array([[1.0, 0.0], [0.0, 3.0]]))
        0.5
    """
    norms = np.linalg.norm(X, axis=1)
    mean = float(norms.mean()) if len(norms) else 0.0
    return float(norms.std()) / mean if mean > 0.0 else None


def etf_error(X: np.ndarray, Y: np.ndarray) -> float | None:
    """Compute `| A / |A|_F - (I - 11^T/K) / sqrt(K - 1) |_F` with `A = X Y^T`, from 0 to 2.

    `X = Y = M` compares M with a simplex ETF; `X = W, Y = M` is the dual form of NC3. For K <=
    d + 1 the residuals are summed, block by block. Beyond, `tr A`, `1^T A 1` and `|A|_F^2 =
    <X^T X, Y^T Y>` give it with (d, d) matrices; their difference keeps its digits there, because A
    has rank d at most and the target K - 1, so that the error is `sqrt((K - 1 - d) / (K - 1))` or
    more.

    Args:
        X: shape (K, d).
        Y: shape (K, d), the same classes.

    Returns:
        None if A is zero or K is 1.

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


def _residual(X: np.ndarray, Y: np.ndarray, target: float = 0.0) -> float:
    """Compute `|X Y^T - target (I - 11^T/K)|_F`, block by block."""
    K = len(X)
    parts = []
    for start, stop in blocks(K, max(1, _BLOCK_ENTRIES // K)):
        block = X[start:stop] @ Y.T
        if target:
            block += target / K
            block[np.arange(stop - start), np.arange(start, stop)] -= target
        parts.append(float(np.linalg.norm(block)))
    return math.hypot(*parts)


def effective_rank(X: np.ndarray, *, deadline: Deadline | None = None) -> float | None:
    """Compute `exp(entropy of the normalised singular values)`, between 1 and the rank.

    Roy and Vetterli, The effective rank, EUSIPCO 2007. The singular values are those of the
    triangular factor of X, not roots of eigenvalues, which would lose the small ones.

    Args:
        X: shape (K, d).
        deadline: polled at each block of rows.

    Returns:
        None if X is zero or has no rows.

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
    return entropy_rank(np.linalg.svd(factor, compute_uv=False) if len(factor) else np.zeros(0))


def entropy_rank(values: np.ndarray) -> float | None:
    """Return `exp(entropy of the shares)` of singular values (m,); None if all are zero.

    Example:
        >>> round(entropy_rank(np.array([2.0, 2.0, 0.0])), 12)
        2.0
    """
    total = float(values.sum())
    if total == 0.0:
        return None
    shares = values[values > 0.0] / total
    return math.exp(-float(shares @ np.log(shares)))


def _directions(X: np.ndarray | None) -> np.ndarray | None:
    """Scale rows of X, (K, d), to norm 1; None if there is no row, or a zero one."""
    return normalise(X) if X is not None and len(X) and X.any(axis=1).all() else None
