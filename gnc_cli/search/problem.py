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
    """Number of rows of `whole` per class: 1, or 2 with features."""
    relative: bool
    """True if a value is the difference to the value of the column of the row: a margin."""
    device: str = "cpu"
    """Device of descents with torch: with given rows, or on a GPU. Others need no torch."""

    def __init__(self, parametrisation: Parametrisation) -> None:
        self.parametrisation = parametrisation
        self.d, self.K = parametrisation.d, parametrisation.K

    @property
    def pair_rows(self) -> int:
        """Number of rows of the matrix of pairs of a gradient step, which has K columns."""
        return self.K if self.relative else self.parametrisation.unknown

    @abstractmethod
    def starts(self, rng: np.random.Generator, restarts: int) -> np.ndarray:
        """Draw random points, shape (R, P, d)."""

    @abstractmethod
    def from_code(self, weights: np.ndarray) -> np.ndarray:
        """Return the points (P, d) of a code (K, d), features on their class weights."""

    @abstractmethod
    def operands(self, points: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor]":
        """Return the operands of the smooth maximum of points (R, P, d).

        These are rows (R, M, d), columns (R, K, d), and the column of each row's class (M,).
        """

    @abstractmethod
    def distance(self, value: float) -> float:
        """Convert a value to the distance that the user's problem maximises.

        It is 1 - max_cosine (Tammes), or rho (softmax).
        """

    @abstractmethod
    def whole(self, points: np.ndarray) -> np.ndarray:
        """Return all rows of points (P, d), shape (K, d) or (2 K, d)."""

    @abstractmethod
    def unknowns(self, whole: np.ndarray) -> np.ndarray:
        """Return the points (P, d) of all rows: the inverse of `whole`."""

    @abstractmethod
    def active_pairs(self, whole: np.ndarray, threshold: float) -> ActivePairs:
        """Return the pairs whose value is at least the threshold (all of them for -inf)."""

    def scale(self, value: float) -> float:
        """Return the distance of a value, positive: lengths of steps and errors scale with it."""
        return max(self.distance(value), 1e-12)

    def objective(self, points: "torch.Tensor", sharpness: "torch.Tensor") -> "torch.Tensor":
        """Return the smoothed value of each restart (R, P, d), shape (R,), differentiable."""
        from gnc_cli.geometry.smoothing import smooth_maximum

        return smooth_maximum(*self.operands(points), sharpness, relative=self.relative)

    def estimate(self, points: "torch.Tensor", sharpness: "torch.Tensor") -> "torch.Tensor":
        """Estimate the value to which each restart (R, P, d) leads, shape (R,)."""
        from gnc_cli.geometry.smoothing import weighted_estimate

        return weighted_estimate(*self.operands(points), sharpness, relative=self.relative)

    def value(self, whole: np.ndarray) -> float:
        """Return the largest value over all pairs of rows (K, d) or (2 K, d)."""
        return self.active_pairs(whole, -np.inf).largest(whole)

    def symmetric(self, whole: np.ndarray) -> np.ndarray:
        """Restore the exact symmetry of all rows, after steps without it."""
        points = self.unknowns(whole)
        if self.parametrisation.projections is not None:
            points = np.einsum("mab,mb->ma", self.parametrisation.projections, points)
            points /= np.linalg.norm(points, axis=1, keepdims=True)
        return self.whole(points)

    def movable(self) -> np.ndarray:
        """Return a mask of the rows of `whole` that may move."""
        movable = np.ones(self.rows_per_class * self.K, dtype=bool)
        movable[: self.parametrisation.num_fixed] = False
        return movable

    @property
    def coordinates(self) -> int:
        """Number of tangent coordinates of the polish."""
        return int(self.movable().sum()) * (self.d - 1)


class Tammes(Problem):
    """Minimise `max <w_k, w_j>` over pairs with at least one unknown row (paper, eq. 11)."""

    rows_per_class, relative = 1, False

    def starts(self, rng: np.random.Generator, restarts: int) -> np.ndarray:
        """Draw random unknown rows, shape (R, M, d)."""
        return self.parametrisation.random(rng, restarts)

    def from_code(self, weights: np.ndarray) -> np.ndarray:
        """Return the unknown rows (M, d) of a code (K, d)."""
        return np.asarray(weights[self.parametrisation.representatives])

    def operands(self, points: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor]":
        """Return unknown rows (R, M, d), whole codes (R, K, d) and the column of each row (M,)."""
        columns = self.parametrisation.tensor("representatives", points.device)
        return points, self.parametrisation.expand(points), columns

    def distance(self, value: float) -> float:
        """Return 1 - max_cosine."""
        return 1.0 - value

    def whole(self, points: np.ndarray) -> np.ndarray:
        """Return the code (K, d) of unknown rows (M, d)."""
        return self.parametrisation.code(points)

    def unknowns(self, whole: np.ndarray) -> np.ndarray:
        """Return the unknown rows (M, d) of a code (K, d)."""
        return np.asarray(whole[self.parametrisation.representatives])

    def active_pairs(self, whole: np.ndarray, threshold: float) -> ActivePairs:
        """Return the pairs of a code (K, d) with a cosine of at least the threshold."""
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
        """Draw random unknown rows and features, shape (R, M + K, d)."""
        weights = self.parametrisation.random(rng, restarts)
        features = np.array([self.parametrisation.code(rows) for rows in weights])
        # Half of the restarts begin with features on their weights, half with features anywhere.
        noise = rng.standard_normal(features.shape) * (np.arange(restarts) % 2)[:, None, None]
        features = features + noise
        features /= np.linalg.norm(features, axis=-1, keepdims=True)
        return np.concatenate([weights, features], axis=1)

    def from_code(self, weights: np.ndarray) -> np.ndarray:
        """Return the points (M + K, d) of a code (K, d), features on their class weights."""
        return np.concatenate([weights[self.parametrisation.representatives], weights])

    def operands(self, points: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor]":
        """Return features (R, K, d), class weights (R, K, d) and the class of each feature (K,)."""
        unknown = self.parametrisation.unknown
        weights = self.parametrisation.expand(points[:, :unknown].contiguous())
        import torch

        return points[:, unknown:].contiguous(), weights, torch.arange(self.K, device=points.device)

    def distance(self, value: float) -> float:
        """Return the margin rho, of which the value is the negative."""
        return -value

    def whole(self, points: np.ndarray) -> np.ndarray:
        """Return weights and features (2 K, d) of points (M + K, d)."""
        unknown = self.parametrisation.unknown
        return np.concatenate([self.parametrisation.code(points[:unknown]), points[unknown:]])

    def unknowns(self, whole: np.ndarray) -> np.ndarray:
        """Return the points (M + K, d) of weights and features (2 K, d)."""
        return np.concatenate([whole[self.parametrisation.representatives], whole[self.K :]])

    def active_pairs(self, whole: np.ndarray, threshold: float) -> ActivePairs:
        """Return the pairs of weights and features (2 K, d) with at least this negative margin."""
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
    """Polished value, or the estimate of the value to which the basin leads."""
    whole: np.ndarray
    """All rows, [W] or [W; H]: shape (K, d) or (2 K, d)."""
    stationarity: float = np.inf
    """Largest component of the first-order condition; infinite before a polish."""
    restricted: Problem | None = None
    """Problem over a symmetry that the candidate must keep; None for a free one."""
    active: tuple[ActivePairs, np.ndarray] | None = None
    """Active pairs of the polish and their multipliers."""
    origin: str = ""
    """Group or construction of the first start; empty for a random one."""
    sharp: bool = False
    """True for the end of a long descent, at the last sharpness of a refinement."""
    draw: int | None = None
    """Seed of the random group of a descent over orbits; None for others."""

    @property
    def polished(self) -> bool:
        """True after a polish: the value is exact.

        The first-order conditions hold nearly at least, unless the polish stopped above its bar.
        """
        return bool(np.isfinite(self.stationarity))


def typical_scale(d: int, K: int) -> float:
    """Estimate 1 - max_cosine of a good code: twice the covering bound, at most 1.

    Example:
        >>> 0.3 < typical_scale(10, 100) < 0.7
        True
    """
    if 2 * d >= K:
        return 1.0
    # A cap of angle theta < pi/2 has the share betainc((d-1)/2, 1/2, sin^2 theta) / 2.
    sine_squared = float(betaincinv((d - 1) / 2, 0.5, min(1.0, 2.0 / (K - 1))))
    return min(1.0, 2.0 * (1.0 - float(np.sqrt(1.0 - sine_squared))))
