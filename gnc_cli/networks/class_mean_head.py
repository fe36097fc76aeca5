"""The class-mean-feature (CMF) classifier: its rows follow the features, nothing is learned."""

import torch
import torch.distributed as dist
from torch import Tensor

from gnc_cli.errors import UsageError
from gnc_cli.networks.head import Head
from gnc_cli.networks.unit_rows import (
    full_precision,
    random_unit_rows,
    unit_features,
    unit_rows,
    widened,
)

__all__ = ["ClassMeanHead"]

CANCELLED = 1e-4
"""A blend of old row and mean shorter than this has lost its direction to rounding."""

DENSE = {"cpu": 1 << 14, "cuda": 1 << 22}
"""Rows of up to so many numbers are all moved at once, absent classes by nothing. On a GPU the host
then need not wait to hear how many classes are present; on a CPU it is the shorter way."""


class ClassMeanHead(Head):
    """Rows that are moving averages of the batches' class means (paper, section 5, appendix B).

    `w_k <- normalise(beta w_k + (1 - beta) mean_k)`, with `mean_k` the mean of the batch's unit
    features of class k, taken over the batches of all processes together (torch.distributed's
    default group, where it runs: the sums and counts are reduced before the division). Rows of
    classes that the batch lacks do not move.

    **Order.** The paper writes `W(t+1) <- beta W(t) + (1 - beta) mean(t)` and leaves open whether
    the loss of step t takes W(t) or W(t+1). Its authors' code updates first, and so do we: call
    `absorb` before the scores, so that the loss already sees the batch's means. (Their code adds
    the batch's sum where the paper has the mean.) The rows are constants to the gradient, which
    reaches the features through the scores alone.

    **Cancellation.** A mean of norm zero leaves its row where it is. Where old row and mean cancel
    (possible for beta <= 1/2 only) and the blend is shorter than 1e-4, or not finite, the row
    keeps its old value until a later batch moves it.

    Rows live in a buffer: no parameter, no gradient, no optimiser state.

    Example:
        >>> head = ClassMeanHead(d=2, K=2, beta=0.0)
        >>> features = torch.tensor([[3.0, 0.0], [0.0, 5.0], [4.0, 0.0]])
        >>> head.absorb(features, torch.tensor([0, 1, 0]))
        >>> head.weights.tolist(), head.saved_parameters
        ([[1.0, 0.0], [0.0, 1.0]], 4)
    """

    def __init__(self, d: int, K: int, tau: float = 0.1, beta: float = 0.9, seed: int = 0) -> None:
        """Random unit rows from `seed` alone, until the first batches come.

        Args:
            d: dimension of the features.
            K: number of classes.
            tau: temperature, positive.
            beta: share of the old row that stays, in [0, 1).
            seed: of the first rows; the global generator is left alone.

        Raises:
            UsageError: d or K below 2, tau not positive, or beta outside [0, 1).
        """
        super().__init__(d, K, tau)
        if not 0.0 <= beta < 1.0:
            raise UsageError(f"beta={beta} of the class means must lie in [0, 1), such as 0.9")
        self.beta = float(beta)
        self.register_buffer("weight", random_unit_rows(self.K, self.d, seed))

    @property
    def weights(self) -> Tensor:
        """Unit rows, (K, d) float32; in training mode a copy, which later batches leave alone.

        So two forward passes may go before one backward pass.
        """
        weights = widened(self.weight)
        return weights.clone() if self.training else weights

    @torch.no_grad()
    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """Move the rows of the classes present; nothing in eval mode.

        Every process of torch.distributed must call it, in the same order; a process may bring an
        empty batch. Of large heads only the rows of the classes present travel.

        Args:
            features: raw, (N, d), any float dtype.
            labels: (N,) int64 in 0..K-1.
        """
        if not self.training:
            return
        with full_precision(features):
            units = unit_features(features).to(widened(self.weight).dtype)
            counts = units.new_zeros(self.K).index_add_(0, labels, units.new_ones(len(labels)))
            _sum_over_processes(counts)
            if self.weight.numel() <= DENSE.get(self.weight.device.type, 0):
                self.weight.copy_(self._moved(self.weight, units, labels, counts))
                return
            present = counts.nonzero()[:, 0]
            place = counts.sign().cumsum(0).long() - 1  # of a class among those present
            moved = self._moved(self.weight[present], units, place[labels], counts[present])
            self.weight[present] = moved.to(self.weight.dtype)

    def _moved(self, rows: Tensor, units: Tensor, places: Tensor, counts: Tensor) -> Tensor:
        """`rows` (n, d) after a batch: unit features (N, d) at `places` (N,), their counts (n,)."""
        sums = units.new_zeros(len(rows), self.d).index_add_(0, places, units)
        _sum_over_processes(sums)
        old, counts = rows.to(units.dtype), counts[:, None]
        blend = self.beta * old + (1.0 - self.beta) * sums / counts.clamp_min(1.0)
        norms = torch.linalg.vector_norm(blend, dim=1, keepdim=True)
        return torch.where((norms >= CANCELLED) & (counts > 0.0), unit_rows(blend), old)

    def extra_repr(self) -> str:
        """Sizes, temperature and beta, for `print(head)`."""
        return f"{super().extra_repr()}, beta={self.beta:g}"


def _sum_over_processes(values: Tensor) -> None:
    if dist.is_available() and dist.is_initialized():
        dist.all_reduce(values)
