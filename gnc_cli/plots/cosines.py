"""The distribution of pairwise cosines, for any number of points, in blocks of at most 64 MB."""

from dataclasses import dataclass

import numpy as np

__all__ = ["CosineHistogram", "cosine_histogram", "unit_rows"]

_BLOCK_BYTES = 64_000_000
_FINE = 8191  # odd: 0 and simple fractions fall inside a bin, not on an edge
_MOST_PRODUCTS = 1e8


@dataclass(frozen=True, eq=False)
class CosineHistogram:
    """Counts of ordered pairs (k, j), j != k, by cosine."""

    edges: np.ndarray
    """Bin edges, shape (bins + 1,)."""
    share: np.ndarray
    """Share of the pairs in each bin, shape (bins,); adds to 1."""
    centre: np.ndarray
    """Mean cosine of the pairs in each bin, to 2.5e-4, shape (bins,); NaN where there are none."""
    rows: np.ndarray
    """The rows k that were compared with all others, shape (r,); all K unless K is very large."""
    nearest: np.ndarray
    """Largest cosine of each of these rows with another, shape (r,)."""


def cosine_histogram(W: np.ndarray, bins: int = 60) -> CosineHistogram:
    """Histogram of `<w_k, w_j>`, j != k, over the range where there are any.

    Where K squared passes 1e8, evenly spaced rows stand in for all: a picture needs no more.

    Args:
        W: unit rows, shape (K, d).
        bins: about so many bins.
    """
    K = len(W)
    sample = min(K, max(1, int(_MOST_PRODUCTS / K)))
    rows = np.unique(np.linspace(0, K - 1, sample).astype(np.intp))
    fine = np.linspace(-1.0, 1.0, _FINE + 1)
    counts = np.zeros(_FINE)
    nearest = np.empty(len(rows))
    # A block of products, its bin numbers and a mask live at once: a third of the bytes each.
    step = max(1, _BLOCK_BYTES // (3 * 8 * K))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        cosines = np.clip(W[block] @ W.T, -1.0, 1.0)
        cosines[np.arange(len(block)), block] = -1.0
        nearest[start : start + step] = cosines.max(axis=1)
        counts += np.histogram(cosines, bins=_FINE, range=(-1.0, 1.0))[0]
        counts[0] -= len(block)  # the diagonal, parked at -1
    used = np.flatnonzero(counts)
    first, last = used[0], used[-1] + 1
    width = max(1, -(-(last - first) // bins))
    starts = np.arange(first, last, width)
    grouped = np.add.reduceat(counts[:last], starts)
    moment = np.add.reduceat((counts * (fine[:-1] + fine[1:]) / 2)[:last], starts)
    centre = np.divide(moment, grouped, out=np.full(len(starts), np.nan), where=grouped > 0)
    edges = fine[np.minimum(np.append(starts, starts[-1] + width), _FINE)]
    return CosineHistogram(edges, grouped / grouped.sum(), centre, rows, nearest)


def unit_rows(W: np.ndarray) -> np.ndarray:
    """Rows divided by their lengths, shape (K, d); a zero row stays zero."""
    lengths = np.linalg.norm(W, axis=1, keepdims=True)
    return W / np.where(lengths > 0.0, lengths, 1.0)
