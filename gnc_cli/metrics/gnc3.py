"""Self-duality, the difference in direction of class weights and class means: GNC3, NC3."""

import numpy as np

from gnc_cli.geometry.sphere import normalise
from gnc_cli.metrics.class_moments import centred


def gnc3(W: np.ndarray, class_means: np.ndarray) -> float:
    """Compute self-duality `mean_k (1 - <w_k, class_mean_k>)` (section 2.2 of arXiv 2310.05351).

    The class means are plain means of unit features, neither centred nor brought back to norm 1, so
    that spread within a class counts too. The value is 0 at collapse.

    Args:
        W: class weights, unit rows, shape (K, d).
        class_means: means of the same classes, all of which have samples, shape (K, d).

    Example:
        >>> gnc3(np.eye(2), np.array([[1.0, 0.0], [0.0, 0.5]]))
        0.25
    """
    value = float((1.0 - np.einsum("kd,kd->k", W, class_means)).mean())
    return max(0.0, value) if value > -1e-12 else value  # no negative sign by rounding


def gnc3_forms(W: np.ndarray, class_means: np.ndarray) -> dict[str, float | None]:
    """Compute the paper's GNC3 and the centred form `gnc3_centred`, that of the paper's own code.

    The centred form is `mean_k (1 - cos(w_k, M_k))`, M_k the class mean less the mean of the class
    means. Arguments and shapes are those of `gnc3`. `gnc3_centred` is None if a row of W or M is
    zero, as with one class.

    Example:
        >>> gnc3_forms(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 0.0]]))
        {'gnc3': 0.5, 'gnc3_centred': 0.0}
    """
    M, cosines = centred(class_means), None
    if W.any(axis=1).all() and M.any(axis=1).all():
        # 1 - cos from the chord: no cancellation near collapse.
        differences = normalise(W) - normalise(M)
        cosines = float(0.5 * np.vdot(differences, differences) / len(M))
    return {"gnc3": gnc3(W, class_means), "gnc3_centred": cosines}


def nc3(W: np.ndarray, M: np.ndarray) -> float | None:
    """Compute self-duality `| W/|W|_F - M/|M|_F |_F`, from 0 when collapsed to 2.

    Papyan, Han and Donoho, Prevalence of neural collapse (arXiv 2008.08186).

    Args:
        W: raw class weights of the classes that have a mean, shape (K, d).
        M: centred class means of those classes, shape (K, d).

    Returns:
        None if W or M is zero.

    Example:
        >>> round(nc3(np.eye(2), 3 * np.eye(2)), 12)
        0.0
    """
    norms = float(np.linalg.norm(W)), float(np.linalg.norm(M))
    return float(np.linalg.norm(W / norms[0] - M / norms[1])) if all(norms) else None
