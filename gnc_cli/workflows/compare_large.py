"""Measures of a code too large to list its contacts or to bracket every row: counts and bounds."""

import numpy as np

from gnc_cli.codes.certify import simple_bracket
from gnc_cli.numerics.deadline import Deadline
from gnc_cli.numerics.one_vs_rest import one_vs_rest
from gnc_cli.numerics.rounding import UNIT32, gamma
from gnc_cli.results import Bracket

__all__ = ["count_contacts", "rho_bracket"]

_MOST_PRODUCTS = 1e12
"""K^2 d up to which contacts are counted: about a minute of one core."""
_SIDE = 1024
_ROWS = 4
"""Rows whose distance to the hull of the others is computed, for the upper end."""
_SECONDS = 10.0
"""For these rows."""


def count_contacts(
    W: np.ndarray, shortest: float, tolerance: float, deadline: Deadline
) -> int | None:
    """Pairs of rows whose chord exceeds the smallest one by at most `tolerance`.

    Tiles of float32 products name the rows that can have contacts; float64 counts those.

    Args:
        W: unit rows, shape (K, d).
        shortest: the smallest chord.
        tolerance: absolute, on chords.
        deadline: polled at each tile.

    Returns:
        The number; None where K^2 d is above 1e12 or the deadline comes first.
    """
    K, d = W.shape
    if float(K) * K * d > _MOST_PRODUCTS:
        return None
    least = 1.0 - (shortest + tolerance) ** 2 / 2.0
    small = W.astype(np.float32)
    # Both roundings to float32, the product's own, and float64's, to spare.
    cut = np.float32(least - 2.0 * gamma(d + 3, UNIT32))
    count = 0
    for r in range(0, K, _SIDE):
        for c in range(r, K, _SIDE):
            if deadline.expired:
                return None
            near = (small[r : r + _SIDE] @ small[c : c + _SIDE].T).max(axis=1) >= cut
            rows = np.flatnonzero(near)
            tile = W[rows + r] @ W[c : c + _SIDE].T >= least
            if r == c:
                tile &= rows[:, None] < np.arange(tile.shape[1])
            count += int(tile.sum())
    return count


def rho_bracket(W: np.ndarray, row_max: np.ndarray, deadline: Deadline) -> Bracket:
    """Bracket of the one-vs-rest distance, the smallest of any row to the hull of the others.

    What the closest pair proves, and above it a look at a few rows of small chord.

    Args:
        W: unit rows, shape (K, d).
        row_max: each row's largest cosine, shape (K,).
        deadline: bounds the look at single rows; the bracket is valid anyway.
    """
    simple = simple_bracket(W, row_max)
    if deadline.expired:
        return simple
    rows = np.argsort(-row_max, kind="stable")[:_ROWS]
    found = one_vs_rest(W, rows, deadline=deadline.within(_SECONDS))
    return simple.narrowed(Bracket(0.0, float(found.upper.min())))
