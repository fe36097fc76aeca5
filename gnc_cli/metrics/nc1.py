"""NC1: variability within the classes against the spread of the centred class means."""

import numpy as np

from gnc_cli.metrics.gnc1 import gnc1_from_covariances

__all__ = ["nc1", "nc1_trace_quotient"]


def nc1(within_cov: np.ndarray, M: np.ndarray) -> float | None:
    """`tr(Sigma_W pinv(Sigma_B)) / K` with `Sigma_B = mean_k M_k M_k^T`. Collapsed at 0.

    NC1 of Papyan, Han and Donoho, Prevalence of neural collapse (arXiv 2008.08186), on raw
    features; on unit features it is the GNC1 of the authors' code of arXiv 2310.05351.

    Args:
        within_cov: Sigma_W, mean over samples, shape (d, d).
        M: centred class means of the K classes that have one, shape (K, d).

    Returns:
        None where M is zero: one class present, or all class means equal.

    Example:
        >>> nc1(np.eye(2), np.array([[1.0, 0.0], [-1.0, 0.0]]))
        0.5
    """
    return gnc1_from_covariances(within_cov, M.T @ M / len(M), len(M)).value if M.any() else None


def nc1_trace_quotient(within_cov: np.ndarray, M: np.ndarray) -> float | None:
    """`tr Sigma_W / tr Sigma_B`; arguments and None as in `nc1`.

    Example:
        >>> nc1_trace_quotient(np.eye(2), np.array([[1.0, 0.0], [-1.0, 0.0]]))
        2.0
    """
    return float(np.trace(within_cov) * len(M) / np.vdot(M, M)) if M.any() else None
