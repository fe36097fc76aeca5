"""GNC2: how far the worst class weight lies from the hull of all the others."""

import numpy as np

from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.one_vs_rest import minimum_one_vs_rest
from gnc_cli.results import Bracket

__all__ = ["gnc2"]


def gnc2(
    W: np.ndarray,
    *,
    directions: np.ndarray | None = None,
    tolerance: float = 1e-10,
    deadline: Deadline | None = None,
) -> Bracket:
    """Certified `rho_one_vs_rest(W)` (section 2.2 of arXiv 2310.05351).

    Collapsed at the largest value possible for (d, K): `K / (K - 1)` for K <= d + 1.

    Args:
        W: class weights, unit rows for the paper's metric, shape (K, d).
        directions: guesses of the best features, shape (K, d); they only save time.
        tolerance: width at which the bracket is closed, absolute.
        deadline: the bracket is valid whenever it strikes, only wider.

    Raises:
        DataError: W is not a finite matrix of two rows or more.

    Example:
        >>> bracket = gnc2(np.array([[1.0, 0.0], [-1.0, 0.0]]))
        >>> round(bracket.lower, 12), round(bracket.upper, 12)
        (2.0, 2.0)
    """
    return minimum_one_vs_rest(
        W, directions=directions, tolerance=tolerance, deadline=deadline
    )[0]
