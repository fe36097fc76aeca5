"""Rattlers and contacts: which rows of a code are held in place, and by whom.

A rattler (definition 3.4 of arXiv 2310.05351) is a row whose own distance exceeds the minimum. The
one-vs-one and the one-vs-rest distance have different rattlers; each function names its own.
Tolerances are absolute and on distances, never on cosines.
"""

import numpy as np

from gnc_cli.errors import UsageError
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.gram import closest_pair, pairs_above
from gnc_cli.numerics.one_vs_rest import OneVsRest
from gnc_cli.numerics.sphere import chord, pair_chords
from gnc_cli.results import Bracket

__all__ = ["contact_pairs", "one_vs_one_rattlers", "one_vs_rest_rattlers"]


def one_vs_one_rattlers(row_max: np.ndarray, tolerance: float) -> np.ndarray:
    """Rows whose nearest neighbour is farther than the smallest chord by more than `tolerance`.

    Args:
        row_max: each row's largest cosine to another row, shape (K,), see `gram.row_maxima`.
        tolerance: absolute, on chords.

    Returns:
        Booleans, shape (K,).

    Raises:
        UsageError: the tolerance is negative or NaN.

    Example:
        >>> one_vs_one_rattlers(np.array([0.5, 0.5, 0.1]), 1e-7)
        array([False, False,  True])
    """
    _check(tolerance)
    chords = chord(np.asarray(row_max, dtype=np.float64))
    return chords > chords.min() + tolerance


def one_vs_rest_rattlers(
    one_vs_rest: OneVsRest, rho: Bracket, tolerance: float
) -> np.ndarray:
    """Rows whose one-vs-rest distance is proved to exceed the minimum by more than `tolerance`.

    Args:
        one_vs_rest: brackets of m classes.
        rho: bracket of the smallest distance of the whole code.
        tolerance: absolute, on distances.

    Returns:
        Booleans, shape (m,).

    Raises:
        UsageError: the tolerance is negative or NaN.
    """
    _check(tolerance)
    return one_vs_rest.lower > rho.upper + tolerance


def contact_pairs(
    W: np.ndarray, tolerance: float, *, deadline: Deadline | None = None
) -> np.ndarray:
    """Pairs of rows whose chord exceeds the smallest one by at most `tolerance`.

    Args:
        W: unit rows, shape (K, d).
        tolerance: absolute, on chords.
        deadline: polled at each block.

    Returns:
        Index pairs i < j, integers, shape (m, 2), sorted.

    Raises:
        UsageError: the tolerance is negative or NaN.
        DataError: W is not a matrix of at least two finite unit rows.
        TimeoutError: the deadline expired first.

    Example:
        >>> contact_pairs(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), 1e-7)
        array([[0, 1],
               [1, 2]])
    """
    _check(tolerance)
    W = np.ascontiguousarray(W, dtype=np.float64)
    limit = closest_pair(W, deadline=deadline)[2] + tolerance
    # The cosine only preselects; its rounding must not cost a pair that the chords accept.
    pairs = pairs_above(W, 1.0 - limit**2 / 2.0 - 1e-14, deadline=deadline)
    return pairs[pair_chords(W, pairs[:, 0], pairs[:, 1]) <= limit]


def _check(tolerance: float) -> None:
    if not tolerance >= 0.0:
        raise UsageError(f"rattler tolerance {tolerance}: must be 0 or more")
