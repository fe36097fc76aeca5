"""What a search needs to know of a problem: its unknowns, its smoothed objective, its terms.

Points are the unknowns of a layout: W's unknown rows (Tammes), or those and the features' rows
after them (Softmax Code). `whole` gives all rows, `[W]` or `[W; H]`, for the polish and the
certificate. Values are minimised: the largest cosine, or minus the smallest margin.
"""

from abc import ABC, abstractmethod

import numpy as np
import torch
from scipy.special import betaincinv

from gnc_cli.codes.layout import Layout
from gnc_cli.numerics.terms import Terms

__all__ = ["Problem", "typical_scale"]


class Problem(ABC):
    """One minimax problem on spheres over one layout."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.d, self.K = layout.d, layout.K

    @abstractmethod
    def with_layout(self, layout: Layout) -> "Problem":
        """The same problem over other unknowns."""

    @property
    @abstractmethod
    def term_rows(self) -> int:
        """Rows of the matrix of terms."""

    @abstractmethod
    def starts(self, rng: np.random.Generator, restarts: int) -> np.ndarray:
        """Random points, shape (R, P, d)."""

    @abstractmethod
    def from_code(self, weights: np.ndarray) -> np.ndarray:
        """Points (P, d) of a whole code (K, d), features on their class weights."""

    @abstractmethod
    def objective(self, points: torch.Tensor, sharpness: torch.Tensor) -> torch.Tensor:
        """Smoothed value of each restart, (R,), differentiable."""

    @abstractmethod
    def estimate(self, points: torch.Tensor, sharpness: torch.Tensor) -> torch.Tensor:
        """Value that each restart leads to, (R,)."""

    @abstractmethod
    def scale(self, value: float) -> float:
        """Distance of a value from its trivial end: 1 - max_cosine, or rho."""

    @abstractmethod
    def whole(self, points: np.ndarray) -> np.ndarray:
        """All rows that the terms speak of, shape (K, d) or (2 K, d)."""

    @abstractmethod
    def unknowns(self, whole: np.ndarray) -> np.ndarray:
        """The points that `whole` was made of; its inverse."""

    @abstractmethod
    def movable(self) -> np.ndarray:
        """Which rows of `whole` may move, bool."""

    @abstractmethod
    def select(self, whole: np.ndarray, threshold: float) -> Terms:
        """Terms whose value is at least the threshold (all of them for -inf)."""

    def symmetric(self, whole: np.ndarray) -> np.ndarray:
        """`whole` made exactly what the layout says again, after steps that knew nothing of it."""
        points = self.unknowns(whole)
        if self.layout.projections is not None:
            points = self.layout.project(torch.as_tensor(points)[None])[0].numpy()
            points /= np.linalg.norm(points, axis=1, keepdims=True)
        return self.whole(points)

    @property
    def coordinates(self) -> int:
        """Tangent coordinates of the polish."""
        return int(self.movable().sum()) * (self.d - 1)


def typical_scale(d: int, K: int) -> float:
    """What 1 - max_cosine of a good code is like: twice the covering bound, at most 1.

    Example:
        >>> 0.3 < typical_scale(10, 100) < 0.7
        True
    """
    if 2 * d >= K:
        return 1.0
    # A cap of angle theta < pi/2 has the share betainc((d-1)/2, 1/2, sin^2 theta) / 2.
    sine_squared = float(betaincinv((d - 1) / 2, 0.5, min(1.0, 2.0 / (K - 1))))
    return min(1.0, 2.0 * (1.0 - float(np.sqrt(1.0 - sine_squared))))
