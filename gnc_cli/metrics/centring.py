"""Class means of the classes with samples, less their own mean, with rounding set to zero."""

import math

import numpy as np

from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.numerics.sphere import normalise

__all__ = ["centred", "directions", "magnitude", "means_present", "rounding_of"]


def means_present(
    moments: ClassMoments, means_of: ClassMoments | None
) -> tuple[np.ndarray, np.ndarray]:
    """The classes that enter, shape (K,), bool, and their means, shape (P, d).

    Args:
        moments: of the samples.
        means_of: of the data whose class means stand for theirs, and which `moments` took as
            centres; None for their own. All its classes with samples enter, whether or not
            `moments` has samples of them.
    """
    source = moments if means_of is None else means_of
    return source.present, source.means[source.present]


def magnitude(X: np.ndarray) -> float:
    """Power of two up to the largest entry of X in absolute value; 1 where there is none but zero.

    Division by it rounds nothing, and the squares of what is left neither overflow nor vanish.

    >>> magnitude(np.array([[0.0, -5.0]]))
    4.0
    """
    largest = float(np.abs(X).max(initial=0.0))
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest > 0.0 else 1.0


def directions(X: np.ndarray | None) -> np.ndarray | None:
    """Rows of X, shape (K, d), scaled to norm 1; None where there is no row, or a zero one."""
    return normalise(X) if X is not None and len(X) and X.any(axis=1).all() else None


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
