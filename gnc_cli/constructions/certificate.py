"""The certificate of a construction: what algebra proves, and an upper end from rows near one row.

The largest cosine t of the exact code gives rho_one_vs_rest >= 1 - t (take h = w_k). For the upper
end, the distance of one row from the hull of its nearest rows is an upper bound of its distance
from the hull of all, hence of the minimum. Where the near rows balance around t w_k, as they do in
every code with enough symmetry, the two ends meet.
"""

import numpy as np

from gnc_cli.brackets import Bracket
from gnc_cli.constructions.construction import CodeRows, Cosine
from gnc_cli.geometry.min_norm_point import near_hull
from gnc_cli.geometry.one_vs_rest import one_vs_rest
from gnc_cli.geometry.rounding import gamma, rounded_down

_BLOCK_ENTRIES = 1 << 23
"""Entries of rows that are made at a time."""
_NEAREST = 3000
"""The hull is that of at most this number of rows."""
_HULL_WORK = 6e9
"""Bounds d m^2 for m rows of the hull: some seconds of one core."""
_SAMPLE = 1 << 26
"""Entries of the rows that are looked at first: those next to the row, which share its bases."""
_WHOLE = 1 << 29
"""Where the first rows leave a gap, all rows of codes with up to this number of entries are looked
at."""
_CLOSED = 1e-9
"""A bracket no wider than this is left as it is."""
_ROUNDING = 1e-11
"""Relative error of the approached distance, generously."""
_ROUNDINGS = 16
"""Roundings of a unit row in floats, besides one for each dimension: generously."""
_TIED = 1e-9
"""Products this near to the largest are equal to it."""
_EXACT_DIMENSIONS = 600
"""Up to here the projection on the hull is computed exactly; beyond, approached."""


def certified_margin(rows: CodeRows, cosine: Cosine) -> Bracket:
    """Bracket rho_one_vs_rest of a code whose largest cosine, or an upper bound of it, is known.

    Of a large code not all rows are made.

    Raises:
        ValueError: some row is nearer to the hull of others than the cosine allows.
    """
    lower = rounded_down(1 - cosine.between[1])
    K, d = rows.shape
    # The last rows of a family are of its general kind; the first may be a basis apart.
    classes = sorted({K - 1, K // 2})
    some = max(1, _SAMPLE // d)
    upper = min(_upper_end(rows, k, max(0, k - some // 2), min(K, k + some)) for k in classes)
    if upper - lower > _CLOSED and some < K and K * d <= _WHOLE:
        upper = min(upper, *(_upper_end(rows, k, 0, K) for k in classes))
    if upper < lower:
        raise ValueError(f"the rows refute a largest cosine of {cosine.text}: {upper} < {lower}")
    return Bracket(lower, upper)


def _upper_end(rows: CodeRows, k: int, first: int, last: int) -> float:
    """Distance of row k from the hull of the rows nearest to it among `first` to `last`.

    An upper bound for the exact rows, from which those in floats differ by their rounding.
    """
    d = rows.shape[1]
    row = rows.unit(k, k + 1)[0]
    step = max(1, _BLOCK_ENTRIES // d)
    most = min(_NEAREST, int((_HULL_WORK / d) ** 0.5))
    near, products = np.zeros((0, d)), np.zeros(0)
    for start in range(first, last, step):
        block = rows.unit(start, min(start + step, last))
        cosines = block @ row
        if start <= k < start + len(block):
            cosines[k - start] = -np.inf
        bar = products.min() if len(products) == most else -2.0
        better = np.flatnonzero(cosines > bar)
        if len(better) > most:
            better = better[np.argpartition(cosines[better], -most)[-most:]]
        near = np.concatenate([near, block[better]])
        products = np.concatenate([products, cosines[better]])
        if len(products) > most:
            keep = np.argpartition(products, -most)[-most:]
            near, products = near[keep], products[keep]
    ties = products >= products.max() - _TIED
    upper = near_hull(row, near, ties / ties.sum()) * (1.0 + _ROUNDING)
    if d > _EXACT_DIMENSIONS:
        return upper
    exact = one_vs_rest(np.concatenate([row[None], near]), np.array([0])).upper[0]
    return min(upper, float(exact) + 2.0 * gamma(d + _ROUNDINGS))
