"""NC3: class weights and centred class means, as whole matrices, up to scale."""

import numpy as np

__all__ = ["nc3"]


def nc3(W: np.ndarray, M: np.ndarray) -> float | None:
    """Self-duality `| W/|W|_F - M/|M|_F |_F`, from 0 when collapsed to 2.

    Papyan, Han and Donoho, Prevalence of neural collapse (arXiv 2008.08186).

    Args:
        W: class weights as they are, of the classes that have a mean, shape (K, d).
        M: centred class means of those classes, shape (K, d).

    Returns:
        None where W or M is zero.

    Example:
        >>> round(nc3(np.eye(2), 3 * np.eye(2)), 12)
        0.0
    """
    norms = float(np.linalg.norm(W)), float(np.linalg.norm(M))
    return float(np.linalg.norm(W / norms[0] - M / norms[1])) if all(norms) else None
