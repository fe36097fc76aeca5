"""What every classifier of features is: K rows in d dimensions, their scores, a temperature."""

import math

import torch.nn.functional as F
from torch import Tensor, nn

from gnc_cli.errors import UsageError
from gnc_cli.networks.unit_rows import full_precision, unit_features, widened

__all__ = ["Head"]


class Head(nn.Module):
    """A classifier without bias; a kind of head says what its `weight` (K, d) is.

    All its arithmetic is in float32 (float64 where the module was made so), whatever autocast and
    the features' dtype are.
    """

    weight: Tensor
    """(K, d), a parameter or a buffer; every kind of head saves it under this name."""

    def __init__(self, d: int, K: int, tau: float = 1.0, *, sphere: bool = True) -> None:
        """Remember the sizes.

        Args:
            d: dimension of the features, at least 2.
            K: number of classes, at least 2.
            tau: temperature, positive.
            sphere: scores are cosines; else plain products.

        Raises:
            UsageError: one of them is out of range.
        """
        if d < 2 or K < 2:
            raise UsageError(f"a head of K={K} classes in d={d}: both must be at least 2")
        if not (math.isfinite(tau) and tau > 0.0):
            raise UsageError(f"temperature tau={tau} must be a positive number, such as 0.1")
        super().__init__()
        self.d, self.K, self.tau, self.sphere = int(d), int(K), float(tau), sphere

    @property
    def weights(self) -> Tensor:
        """(K, d) float32, as the scores use them: unit rows on the sphere; part of the graph."""
        return widened(self.weight)

    def scores(self, features: Tensor) -> Tensor:
        """(N, K) float32 from raw features (N, d): cosines on the sphere, else plain products."""
        with full_precision(features):
            weights = self.weights
            rows = unit_features(features) if self.sphere else features
            return F.linear(rows.to(weights.dtype), weights)

    def forward(self, features: Tensor) -> Tensor:
        """Logits `scores / tau`, (N, K) float32, of raw features (N, d)."""
        return self.scores(features).div_(self.tau)

    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """Take in a batch before it is scored: what class means do; other heads do nothing."""

    @property
    def trained_parameters(self) -> int:
        """How many numbers an optimiser moves, each with a gradient and optimiser state."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)

    @property
    def saved_parameters(self) -> int:
        """How many fewer these are than K d, those of a learned head."""
        return self.K * self.d - self.trained_parameters

    def extra_repr(self) -> str:
        """Sizes and temperature, for `print(head)`."""
        return f"d={self.d}, K={self.K}, tau={self.tau:g}"
