"""Class means of the classes with samples, less their own mean, with rounding set to zero."""

import numpy as np

from gnc_cli.metrics.class_moments import ClassMoments

__all__ = ["centred", "means_present", "rounding_of"]


def means_present(
    moments: ClassMoments, means_of: ClassMoments | None
) -> tuple[np.ndarray, np.ndarray]:
    """The classes that enter, shape (K,), bool, and their means, shape (P, d).

    Args:
        moments: of the samples.
        means_of: of the data whose class means stand for theirs, and which `moments` took as
            centres; None for their own. A class enters where both have samples.
    """
    if means_of is None:
        return moments.present, moments.means[moments.present]
    present = moments.present & means_of.present
    return present, means_of.means[present]


def rounding_of(means: np.ndarray) -> float:
    """Length below which differences of these rows, shape (P, d), are rounding and no direction."""
    largest = np.sqrt(np.einsum("kd,kd->k", means, means).max(initial=0.0))
    return float(16.0 * np.finfo(np.float64).eps * largest)


def centred(means: np.ndarray) -> np.ndarray:
    """`M_k = m_k - m_G`, m_G the plain mean of the class means, each class counting once.

    Args:
        means: of the classes present, shape (P, d).

    Returns:
        float64, shape (P, d). A row no longer than the rounding of the means is exactly zero: its
        direction would be noise.

    Example:
        >>> centred(np.array([[1.0, 0.0], [3.0, 4.0]]))
        array([[-1., -2.],
               [ 1.,  2.]])
    """
    if not len(means):
        return means
    M = means - means.mean(axis=0)
    M[np.einsum("kd,kd->k", M, M) <= rounding_of(means) ** 2] = 0.0
    return M
