"""The Tammes problem: K unit rows whose largest cosine is smallest (paper, eq. 11)."""

import numpy as np
import torch

from gnc_cli.codes.layout import Layout
from gnc_cli.codes.problem import Problem
from gnc_cli.numerics.smoothing import smooth_maximum, weighted_estimate
from gnc_cli.numerics.terms import Terms

__all__ = ["Tammes"]


class Tammes(Problem):
    """Minimise `max <w_k, w_j>` over pairs with at least one unknown row."""

    def with_layout(self, layout: Layout) -> "Tammes":
        return Tammes(layout)

    @property
    def term_rows(self) -> int:
        return self.layout.unknown

    def starts(self, rng: np.random.Generator, restarts: int) -> np.ndarray:
        return self.layout.random(rng, restarts)

    def from_code(self, weights: np.ndarray) -> np.ndarray:
        return weights[self.layout.own]

    def objective(self, points: torch.Tensor, sharpness: torch.Tensor) -> torch.Tensor:
        columns = points if self.layout.is_free else self.layout.expand(points)
        own = torch.as_tensor(self.layout.own, device=points.device)
        return smooth_maximum(points, columns, own, sharpness, relative=False)

    def estimate(self, points: torch.Tensor, sharpness: torch.Tensor) -> torch.Tensor:
        own = torch.as_tensor(self.layout.own, device=points.device)
        return weighted_estimate(
            points, self.layout.expand(points), own, sharpness, relative=False
        )

    def scale(self, value: float) -> float:
        return max(1.0 - value, 1e-12)

    def whole(self, points: np.ndarray) -> np.ndarray:
        return self.layout.code(points)

    def unknowns(self, whole: np.ndarray) -> np.ndarray:
        return whole[self.layout.own]

    def movable(self) -> np.ndarray:
        free = np.ones(self.K, dtype=bool)
        if self.layout.fixed is not None:
            free[: len(self.layout.fixed)] = False
        return free

    def select(self, whole: np.ndarray, threshold: float) -> Terms:
        gram = whole @ whole.T
        if self.layout.fixed is not None:
            given = len(self.layout.fixed)
            gram[:given, :given] = -np.inf  # constant: nothing to optimise there
        i, j = np.nonzero(np.triu(np.maximum(gram, -2.0) >= max(threshold, -1.5), 1))
        return Terms(i, j)
