"""Variability within the classes against the spread of the class means: GNC1, NC1.

GNC1 is `tr(Sigma_W pinv(Sigma_B)) / K` with `Sigma_W = mean_i (h_i - mean_{y_i})(...)^T` and
`Sigma_B = mean_k class_mean_k class_mean_k^T`, not centred (section 2.2 of arXiv 2310.05351). K
counts the classes present. The centred form has `class_mean_k` less the mean of the class means in
its place: of unit rows it is the GNC1 of the paper's own code, of raw rows the NC1 of Papyan, Han
and Donoho, Prevalence of neural collapse (arXiv 2008.08186).
"""

from dataclasses import dataclass

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.metrics.class_moments import ClassMoments, centred


@dataclass(frozen=True)
class Gnc1:
    """GNC1, with the rank and the largest term of its sum."""

    value: float
    """GNC1, 0 at collapse."""
    rank: int
    """Rank of Sigma_B in its pseudo-inverse."""
    largest: float
    """Largest of the terms `v^T Sigma_W v / eigenvalue`, v the eigenvectors of Sigma_B up to
    that rank. The sum of these terms is the value times K, the number of classes with a sample."""


def gnc1(features: np.ndarray, labels: np.ndarray) -> Gnc1 | None:
    """Compute GNC1 of features in memory, to the digits of two float64 passes.

    Args:
        features: unit rows, shape (N, d).
        labels: integers from 0 on, shape (N,). Classes without samples are left out.

    Returns:
        None if all class means are zero.

    Raises:
        DataError: features are not finite.

    Example:
        >>> features = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> gnc1(features, np.array([0, 0, 1, 1]))
        Gnc1(value=0.0, rank=2, largest=0.0)
    """
    # Labels may be sparse: memory is for the classes present.
    classes, compact = np.unique(labels, return_inverse=True)
    moments = ClassMoments(features.shape[1], len(classes))
    moments.update(features, compact)
    return gnc1_of_means(moments.within_cov(), moments.means)


def gnc1_of_means(within_cov: np.ndarray, means: np.ndarray) -> Gnc1 | None:
    """Compute GNC1 of class means about 0, or its centred form of `centred` class means.

    The pseudo-inverse keeps the eigenvalues above `max(K, d) * eps * (largest eigenvalue)`.

    Args:
        within_cov: Sigma_W, mean over samples, shape (d, d).
        means: class means of the K classes that have one, shape (K, d).

    Returns:
        None if the squares of all means are zero, as those of one class or of equal means are after
        centring.

    Raises:
        DataError: an entry is not finite.

    Example:
        >>> gnc1_of_means(np.eye(2), np.array([[1.0, 0.0], [-1.0, 0.0]])).value
        0.5
    """
    K, d = means.shape
    between_cov = means.T @ means / K
    if not between_cov.any():
        return None
    if not (np.isfinite(within_cov).all() and np.isfinite(between_cov).all()):
        raise DataError("covariances hold NaN or infinity")
    values, vectors = np.linalg.eigh(between_cov)
    mask = values > max(K, d) * np.finfo(np.float64).eps * values[-1]
    basis = vectors[:, mask]
    spread = np.einsum("dr,dr->r", basis, within_cov @ basis)
    terms = np.maximum(spread, 0.0) / values[mask]
    return Gnc1(float(terms.sum() / K), int(mask.sum()), float(terms.max()))


def gnc1_forms(within_cov: np.ndarray, means: np.ndarray) -> dict[str, Gnc1 | None]:
    """Compute the paper's GNC1 and the centred form, `gnc1_centred`, of the same class means.

    Arguments, shapes and None are those of `gnc1_of_means`.
    """
    return {
        "gnc1": gnc1_of_means(within_cov, means),
        "gnc1_centred": gnc1_of_means(within_cov, centred(means)),
    }


def nc1_trace_quotient(within_cov: np.ndarray, M: np.ndarray) -> float | None:
    """Compute `tr Sigma_W / tr Sigma_B` of Sigma_W, (d, d), and centred class means M, (K, d).

    None as in `gnc1_of_means`.

    Example:
        >>> nc1_trace_quotient(np.eye(2), np.array([[1.0, 0.0], [-1.0, 0.0]]))
        2.0
    """
    return float(np.trace(within_cov) * len(M) / np.vdot(M, M)) if M.any() else None
