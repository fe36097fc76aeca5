"""The Softmax Code problem in its HardMax form (paper, eq. 3 and 5; theorem 3.2).

Weights W and features H, one row per class, are separate unknowns: maximise the smallest margin
`<w_k - w_j, h_k>` over both. By lemma C.4 the best H for a given W reaches rho_one_vs_rest(W).
Needed where some weights are given and may not move; else every Tammes code is an optimum. So the
layouts are `extending` (or `free`): codes with a symmetry are searched as Tammes codes.
"""

import numpy as np
import torch

from gnc_cli.codes.layout import Layout
from gnc_cli.codes.problem import Problem
from gnc_cli.numerics.smoothing import smooth_maximum, weighted_estimate
from gnc_cli.numerics.terms import Terms

__all__ = ["SoftmaxCode"]


class SoftmaxCode(Problem):
    """Minimise `max <w_j - w_k, h_k>`: minus the smallest margin."""

    def with_layout(self, layout: Layout) -> "SoftmaxCode":
        return SoftmaxCode(layout)

    @property
    def term_rows(self) -> int:
        return self.K

    def starts(self, rng: np.random.Generator, restarts: int) -> np.ndarray:
        weights = self.layout.random(rng, restarts)
        features = self.layout.expand(torch.as_tensor(weights)).numpy()
        # Half of the restarts begin with features on their weights, half with features anywhere.
        away = rng.standard_normal(features.shape) * (np.arange(restarts) % 2)[:, None, None]
        features = features + away
        features /= np.linalg.norm(features, axis=-1, keepdims=True)
        return np.concatenate([weights, features], axis=1)

    def from_code(self, weights: np.ndarray) -> np.ndarray:
        return np.concatenate([weights[self.layout.own], weights])

    def objective(self, points: torch.Tensor, sharpness: torch.Tensor) -> torch.Tensor:
        features, columns, own = self._split(points)
        return smooth_maximum(features, columns, own, sharpness, relative=True)

    def estimate(self, points: torch.Tensor, sharpness: torch.Tensor) -> torch.Tensor:
        features, columns, own = self._split(points)
        return weighted_estimate(features, columns, own, sharpness, relative=True)

    def scale(self, value: float) -> float:
        return max(-value, 1e-12)

    def whole(self, points: np.ndarray) -> np.ndarray:
        weights, features = points[: self.layout.unknown], points[self.layout.unknown :]
        return np.concatenate([self.layout.code(weights), features])

    def unknowns(self, whole: np.ndarray) -> np.ndarray:
        return np.concatenate([whole[self.layout.own], whole[self.K :]])

    def movable(self) -> np.ndarray:
        free = np.ones(2 * self.K, dtype=bool)
        if self.layout.fixed is not None:
            free[: len(self.layout.fixed)] = False
        return free

    def select(self, whole: np.ndarray, threshold: float) -> Terms:
        weights, features = whole[: self.K], whole[self.K :]
        terms = features @ weights.T
        terms -= np.diag(terms)[:, None].copy()
        np.fill_diagonal(terms, -np.inf)
        k, j = np.nonzero(terms >= max(threshold, -3.0))
        return Terms(k + self.K, j, k)

    def _split(self, points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        columns = self.layout.expand(points[:, : self.layout.unknown].contiguous())
        own = torch.arange(self.K, device=points.device)
        return points[:, self.layout.unknown :].contiguous(), columns, own
