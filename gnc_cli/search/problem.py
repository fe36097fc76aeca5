"""The two minimax problems that a search solves: Tammes, and Softmax Code in its HardMax form.

Points are the unknowns of a parametrisation: W's unknown rows (Tammes), or those and all features
after them (Softmax Code). `whole` gives all rows, `[W]` or `[W; H]`, for the polish and the
certificate. Values are minimised: the largest cosine, or minus the smallest margin. A `Candidate`
is a configuration with its value.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaincinv

from gnc_cli.geometry.active_pairs import ActivePairs
from gnc_cli.search.parametrisation import Parametrisation

if TYPE_CHECKING:
    import torch


class Problem(ABC):
    """One minimax problem on spheres over one parametrisation."""

    rows_per_class: int
    """Rows of `whole` per class: 1, or 2 with features."""
    relative: bool
    """A value is a difference to the value of the row's own column: a margin."""
    device: str = "cpu"
    """Device on which torch descends; long descents are made without torch, on the CPU alone."""

    def __init__(self, parametrisation: Parametrisation) -> None:
        self.parametrisation = parametrisation
        self.d, self.K = parametrisation.d, parametrisation.K

    @property
    def pair_rows(self) -> int:
        """Rows of the matrix of pairs that a gradient step works through; it has K columns."""
        return self.K if self.relative else self.parametrisation.unknown

    @abstractmethod
    def starts(self, rng: np.random.Generator, restarts: int) -> np.ndarray:
        """Random points, shape (R, P, d)."""

    @abstractmethod
    def from_code(self, weights: np.ndarray) -> np.ndarray:
        """Points (P, d) of a whole code (K, d), features on their class weights."""

    @abstractmethod
    def operands(self, points: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor]":
        """Rows (R, M, d), columns (R, K, d), each row's own column (M,): for the smooth maximum."""

    @abstractmethod
    def distance(self, value: float) -> float:
        """What a value means for the user's problem, which maximises it: 1 - max_cosine, or rho."""

    @abstractmethod
    def whole(self, points: np.ndarray) -> np.ndarray:
        """All rows, shape (K, d) or (2 K, d)."""

    @abstractmethod
    def unknowns(self, whole: np.ndarray) -> np.ndarray:
        """The points that `whole` was made of; its inverse."""

    @abstractmethod
    def active_pairs(self, whole: np.ndarray, threshold: float) -> ActivePairs:
        """Pairs whose value is at least the threshold (all of them for -inf)."""

    def scale(self, value: float) -> float:
        """The distance that a value means, positive: lengths of steps and errors go with it."""
        return max(self.distance(value), 1e-12)

    def objective(self, points: "torch.Tensor", sharpness: "torch.Tensor") -> "torch.Tensor":
        """Smoothed value of each restart, (R,), differentiable."""
        from gnc_cli.geometry.smoothing import smooth_maximum

        return smooth_maximum(*self.operands(points), sharpness, relative=self.relative)

    def estimate(self, points: "torch.Tensor", sharpness: "torch.Tensor") -> "torch.Tensor":
        """Value that each restart leads to, (R,)."""
        from gnc_cli.geometry.smoothing import weighted_estimate

        return weighted_estimate(*self.operands(points), sharpness, relative=self.relative)

    def value(self, whole: np.ndarray) -> float:
        """The largest value over all pairs."""
        return self.active_pairs(whole, -np.inf).largest(whole)

    def symmetric(self, whole: np.ndarray) -> np.ndarray:
        """`whole` with exact symmetry again, after steps that knew nothing of it."""
        points = self.unknowns(whole)
        if self.parametrisation.projections is not None:
            points = np.einsum("mab,mb->ma", self.parametrisation.projections, points)
            points /= np.linalg.norm(points, axis=1, keepdims=True)
        return self.whole(points)

    def movable(self) -> np.ndarray:
        """Which rows of `whole` may move, bool."""
        movable = np.ones(self.rows_per_class * self.K, dtype=bool)
        movable[: self.parametrisation.num_fixed] = False
        return movable

    @property
    def coordinates(self) -> int:
        """Tangent coordinates of the polish."""
        return int(self.movable().sum()) * (self.d - 1)


class Tammes(Problem):
    """Minimise `max <w_k, w_j>` over pairs with at least one unknown row (paper, eq. 11)."""

    rows_per_class, relative = 1, False

    def starts(self, rng: np.random.Generator, restarts: int) -> np.ndarray:
        return self.parametrisation.random(rng, restarts)

    def from_code(self, weights: np.ndarray) -> np.ndarray:
        return weights[self.parametrisation.representatives]

    def operands(self, points: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor]":
        own = self.parametrisation.tensor("representatives", points.device)
        return points, self.parametrisation.expand(points), own

    def distance(self, value: float) -> float:
        return 1.0 - value

    def whole(self, points: np.ndarray) -> np.ndarray:
        return self.parametrisation.code(points)

    def unknowns(self, whole: np.ndarray) -> np.ndarray:
        return whole[self.parametrisation.representatives]

    def active_pairs(self, whole: np.ndarray, threshold: float) -> ActivePairs:
        gram = whole @ whole.T
        fixed = self.parametrisation.num_fixed
        gram[:fixed, :fixed] = -np.inf  # constant: nothing to optimise there
        i, j = np.nonzero(np.triu(np.maximum(gram, -2.0) >= max(threshold, -1.5), 1))
        return ActivePairs(i, j)


class SoftmaxCode(Problem):
    """Minimise `max <w_j - w_k, h_k>`, minus the smallest margin (paper, eq. 3 and 5; theorem 3.2).

    Weights and features, one row per class, are separate unknowns. By lemma C.4 the best H for a
    given W reaches rho_one_vs_rest(W). Needed where some weights are given and may not move; else
    every Tammes code is an optimum. So the parametrisation is `extending` (or `free`): codes with a
    symmetry are searched as Tammes codes.
    """

    rows_per_class, relative = 2, True

    def starts(self, rng: np.random.Generator, restarts: int) -> np.ndarray:
        weights = self.parametrisation.random(rng, restarts)
        features = np.array([self.parametrisation.code(rows) for rows in weights])
        # Half of the restarts begin with features on their weights, half with features anywhere.
        away = rng.standard_normal(features.shape) * (np.arange(restarts) % 2)[:, None, None]
        features = features + away
        features /= np.linalg.norm(features, axis=-1, keepdims=True)
        return np.concatenate([weights, features], axis=1)

    def from_code(self, weights: np.ndarray) -> np.ndarray:
        return np.concatenate([weights[self.parametrisation.representatives], weights])

    def operands(self, points: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor]":
        unknown = self.parametrisation.unknown
        weights = self.parametrisation.expand(points[:, :unknown].contiguous())
        import torch

        return points[:, unknown:].contiguous(), weights, torch.arange(self.K, device=points.device)

    def distance(self, value: float) -> float:
        return -value

    def whole(self, points: np.ndarray) -> np.ndarray:
        unknown = self.parametrisation.unknown
        return np.concatenate([self.parametrisation.code(points[:unknown]), points[unknown:]])

    def unknowns(self, whole: np.ndarray) -> np.ndarray:
        return np.concatenate([whole[self.parametrisation.representatives], whole[self.K :]])

    def active_pairs(self, whole: np.ndarray, threshold: float) -> ActivePairs:
        weights, features = whole[: self.K], whole[self.K :]
        values = features @ weights.T
        values -= np.diag(values)[:, None].copy()
        np.fill_diagonal(values, -np.inf)
        k, j = np.nonzero(values >= max(threshold, -3.0))
        return ActivePairs(k + self.K, j, k)


@dataclass(frozen=True)
class Candidate:
    """A configuration of a problem and its value."""

    value: float
    """Polished value, or the estimate of where its basin leads."""
    whole: np.ndarray
    """All rows, [W] or [W; H]."""
    stationarity: float = np.inf
    restricted: Problem | None = None
    """The problem over the user's symmetry, which the candidate must keep; None where free."""
    active: tuple[ActivePairs, np.ndarray] | None = None
    """Active pairs of the polish and their multipliers."""
    origin: str = ""
    """The group or construction that its first start was made with; empty for a random one."""
    sharp: bool = False
    """A long descent ended in these rows, at the last sharpness of a refinement."""
    draw: int | None = None
    """The seed of the random group over whose orbits it was descended; None for others."""

    @property
    def polished(self) -> bool:
        """The value is exact; first-order conditions are met or nearly so, unless the polish was
        left above its bar.
        """
        return bool(np.isfinite(self.stationarity))


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
