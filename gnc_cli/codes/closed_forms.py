"""The Softmax Codes that theorem 3.3 gives at once (arXiv 2310.05351); optimal for Tammes as well.

| range | code | rho | max_cosine |
|---|---|---|---|
| K <= d + 1 | simplex ETF | K / (K - 1) | -1 / (K - 1) |
| d + 1 < K <= 2 d | K points of the orthoplex | 1 | 0 |
| d = 2 | regular K-gon | 1 - cos(2 pi / K) | cos(2 pi / K) |
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["ClosedForm", "closed_form"]


@dataclass(frozen=True)
class ClosedForm:
    """An optimal code with its exact values."""

    name: str
    weights: np.ndarray
    """Unit rows, shape (K, d)."""
    rho: float
    """The largest possible one-vs-rest distance."""
    max_cosine: float


def closed_form(d: int, K: int) -> ClosedForm | None:
    """The code of theorem 3.3 for (d, K), or None where the theorem is silent.

    Example:
        >>> closed_form(3, 4).name, closed_form(3, 7)
        ('simplex ETF', None)
    """
    if K <= d + 1:
        return ClosedForm("simplex ETF", _simplex(d, K), K / (K - 1), -1 / (K - 1))
    if d == 2:
        turn = 2 * np.pi * np.arange(K) / K
        cosine = float(np.cos(2 * np.pi / K)) if K != 4 else 0.0
        polygon = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        return ClosedForm("regular polygon", polygon, 1.0 - cosine, cosine)
    if K <= 2 * d:
        rows = np.concatenate([np.eye(d), -np.eye(d)])
        return ClosedForm("orthoplex", rows[:K], 1.0, 0.0)
    return None


def _simplex(d: int, K: int) -> np.ndarray:
    """K points with all inner products -1/(K-1), by the recursion on the first coordinate."""
    rows = np.zeros((K, d))
    for k in range(K - 1):
        rows[k, k] = np.sqrt(1.0 - rows[k, :k] @ rows[k, :k])
        rows[k + 1 :, k] = (-1.0 / (K - 1) - rows[k + 1 :, :k] @ rows[k, :k]) / rows[k, k]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
