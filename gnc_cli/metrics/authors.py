"""GNC1 and GNC3 as the code published with arXiv 2310.05351 has them: class means centred."""

import numpy as np

from gnc_cli.metrics.centring import centred, directions, means_present
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.nc1 import nc1

__all__ = ["authors"]


def authors(
    moments: ClassMoments, W: np.ndarray | None, *, means_of: ClassMoments | None = None
) -> dict[str, float | None]:
    """The authors' GNC1 and GNC3, which differ from the paper's formulas by the centring.

    Args:
        moments: of unit features.
        W: class weights, one row a class, shape (K, d); the rows of classes without a mean are
            not used. None without weights.
        means_of: moments of other data whose class means are used, those that `moments` took as
            centres (`--means-from`): all of them, K their number, also where `moments` has no
            sample of a class.

    Returns:
        `gnc1`: `tr(Sigma_W pinv(Sigma_B)) / K` with Sigma_B centred at the mean of the class means.
        `gnc3`: `mean_k (1 - cos(w_k, M_k))` over the classes present, M_k the class mean less the
        mean of class means; None where some w_k or M_k is zero, as with one class.
    """
    present, means = means_present(moments, means_of)
    M = centred(means)
    gnc3 = None if W is None else _gnc3(W[present], M)
    return {"gnc1": nc1(moments.within_cov(), M), "gnc3": gnc3}


def _gnc3(W: np.ndarray, M: np.ndarray) -> float | None:
    weights, means = directions(W), directions(M)
    if weights is None or means is None:
        return None
    # 1 - cos from the chord: no cancellation near collapse.
    apart = weights - means
    return float(0.5 * np.vdot(apart, apart) / len(M))
