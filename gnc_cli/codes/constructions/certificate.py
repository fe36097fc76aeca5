"""The certificate of a construction: what algebra proves, and an upper end from rows near one row.

The largest cosine t of the exact code gives rho_one_vs_rest >= 1 - t (take h = w_k). For the upper
end, the distance of one row from the hull of its nearest rows is an upper bound of its distance
from the hull of all, hence of the minimum. Where the near rows balance around t w_k, as they do in
every code with enough symmetry, the two ends meet.
"""

from fractions import Fraction

import numpy as np

from gnc_cli.codes.constructions.construction import Cosine, Rows
from gnc_cli.numerics.one_vs_rest import one_vs_rest
from gnc_cli.results import Bracket

__all__ = ["certified_margin", "lower_end"]

_BLOCK_ENTRIES = 1 << 23
_NEAREST = 3000
"""Rows that the hull is spanned by."""
_ULPS = 8


def certified_margin(rows: Rows, cosine: Cosine) -> Bracket:
    """Bracket rho_one_vs_rest of a code whose largest cosine is known exactly.

    Args:
        rows: the code, streamed: one pass over all rows for each of two rows.
        cosine: its largest cosine, or an upper bound of it.
    """
    lower = lower_end(cosine)
    K = len(rows)
    # The last rows of a family are of its general kind; the first may be a basis apart.
    uppers = [_upper_end(rows, k) for k in sorted({K - 1, K // 2})]
    return Bracket(lower, max(lower, min(uppers)))


def lower_end(cosine: Cosine) -> float:
    """The largest double not above 1 - cosine (for irrational cosines a few ulp below)."""
    try:
        exact = 1 - Fraction(cosine.text)
    except ValueError:
        lower = 1.0 - cosine.value
        return lower - _ULPS * float(np.spacing(max(lower, 0.5)))
    lower = float(exact)
    return lower if Fraction(lower) <= exact else float(np.nextafter(lower, -np.inf))


def _upper_end(rows: Rows, k: int) -> float:
    """Distance of row k from the hull of the rows nearest to it."""
    K, d = rows.shape
    row = rows.unit(k, k + 1)[0]
    step = max(1, _BLOCK_ENTRIES // d)
    near, products = np.zeros((0, d)), np.zeros(0)
    for start in range(0, K, step):
        block = rows.unit(start, start + step)
        cosines = block @ row
        if start <= k < start + len(block):
            cosines[k - start] = -np.inf
        bar = products.min() if len(products) == _NEAREST else -np.inf
        better = np.flatnonzero(cosines > bar)
        if len(better) > _NEAREST:
            better = better[np.argpartition(cosines[better], -_NEAREST)[-_NEAREST:]]
        near = np.concatenate([near, block[better]])
        products = np.concatenate([products, cosines[better]])
        if len(products) > _NEAREST:
            keep = np.argpartition(products, -_NEAREST)[-_NEAREST:]
            near, products = near[keep], products[keep]
    near, products = near[np.isfinite(products)], products[np.isfinite(products)]
    found = one_vs_rest(np.concatenate([row[None], near]), np.array([0]))
    return float(found.upper[0])
