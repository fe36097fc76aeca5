"""Classifiers for any trainer: learned, class means or fixed, on the sphere or with weight decay.

A head turns raw features (N, d) into logits (N, K), and normalises them itself if it is on the
sphere. Each saves its rows as `weight`, so that a checkpoint of one kind loads into another.

Example:
    >>> head, labels = SphereHead(d=3, K=5, tau=0.1), torch.tensor([0, 1, 2, 3])
    >>> features = nn.Linear(8, 3)(torch.ones(4, 8))
    >>> head.absorb(features, labels)  # for ClassMeanHead; the others do nothing
    >>> nn.functional.cross_entropy(head(features), labels).backward()
"""

import math
from typing import Any, cast

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from gnc_cli.errors import DataError, UsageError
from gnc_cli.geometry.sphere import as_points, normalise

__all__ = ["ClassMeanHead", "DecayHead", "FixedHead", "Head", "SphereHead"]

_MIN_NORM = 1e-6
"""Shortest norm by which a row is divided; shorter rows are divided by this. So they and their
gradients stay finite, and a zero row stays zero, with cosine 0 to every other."""
_UNIT_TOLERANCE = 1e-4
"""Largest distance of a fixed code's norms from 1: rows written with five digits pass."""
_MIN_BLEND_NORM = 1e-4
"""Norm below which a blend of old row and mean has lost its direction to rounding."""
_MAX_DENSE_NUMBERS = {"cpu": 1 << 14, "cuda": 1 << 22}
"""Largest K d of a head whose rows are all updated together, by zero if a class is absent. On a GPU
the host then need not wait for the number of classes present. On a CPU it is faster."""


def full_precision(like: Tensor) -> torch.autocast:
    """Return a context in which autocast is off on the device of `like`."""
    return torch.autocast(like.device.type, enabled=False)


def widen(x: Tensor) -> Tensor:
    """Return `x` in float32, or in float64 if it has that, with its gradient."""
    return x if x.dtype == torch.float64 else x.float()


def unit_rows(rows: Tensor) -> Tensor:
    """Divide rows (N, d) of any float dtype by their norms, or by 1e-6 if they are shorter.

    The derivative is in closed form and needs the result and the norms alone, while autograd keeps
    and makes several more arrays of this size. That matters for a classifier of 10^5 rows.
    """
    return cast(Tensor, _UnitRows.apply(rows))  # type: ignore[no-untyped-call]


class _UnitRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        norms = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
        units: Tensor = rows / norms.clamp_min(_MIN_NORM)
        ctx.save_for_backward(units, norms)
        return units

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        units, norms = ctx.saved_tensors
        with full_precision(grad):
            parallel = torch.einsum("kd,kd->k", grad, units)[:, None]
            parallel = torch.where(norms > _MIN_NORM, parallel, 0.0)  # below it the map is linear
            tangent = torch.addcmul(grad, units, parallel, value=-1.0)
            return tangent.div_(norms.clamp_min(_MIN_NORM))


def unit_features(features: Tensor) -> Tensor:
    """Divide features (N, d) by their norms in at least float32, even if their squares overflow.

    Each row is first divided by its largest entry. This changes neither its direction nor the
    derivative, for which the entry counts as a constant.
    """
    features = widen(features)
    largest = features.detach().abs().amax(dim=1, keepdim=True)
    return unit_rows(features / largest.clamp_min(1.0))


def random_unit_rows(K: int, d: int, seed: int) -> Tensor:
    """Draw rows uniformly on the sphere, float32 (K, d) on the CPU, from a generator of `seed`."""
    generator = torch.Generator("cpu").manual_seed(seed)
    rows = torch.randn(K, d, generator=generator, dtype=torch.float32, device="cpu")
    return unit_rows(rows)


class Head(nn.Module):
    """A classifier without bias; its subclasses define the `weight` (K, d).

    All its arithmetic is in float32 (float64 if the module is), under any autocast and for any
    dtype of the features.
    """

    weight: Tensor
    """(K, d), a parameter or a buffer; every kind of head saves it by this name."""
    bias: None = None
    """Always None: with `in_features` and `out_features`, it is the interface of `nn.Linear`."""

    def __init__(self, d: int, K: int, tau: float = 1.0, *, sphere: bool = True) -> None:
        """Set sizes and temperature, which every kind of head has.

        Args:
            d: dimension of the features, at least 2.
            K: number of classes, at least 2.
            tau: temperature, positive.
            sphere: True for cosines as scores, False for plain products.

        Raises:
            UsageError: d or K below 2, or tau not positive.
        """
        if d < 2 or K < 2:
            raise UsageError(f"a head of K={K} classes in d={d}: both must be at least 2")
        if not (math.isfinite(tau) and tau > 0.0):
            raise UsageError(f"temperature tau={tau} must be a positive number, such as 0.1")
        super().__init__()
        self.d, self.K, self.tau, self.sphere = int(d), int(K), float(tau), sphere

    @property
    def in_features(self) -> int:
        """Dimension d of the features, as in `nn.Linear`."""
        return self.d

    @property
    def out_features(self) -> int:
        """Number of classes K, as in `nn.Linear`."""
        return self.K

    @property
    def weights(self) -> Tensor:
        """Rows (K, d) that the scores use, float32: unit rows on the sphere; with gradient."""
        return widen(self.weight)

    def scores(self, features: Tensor) -> Tensor:
        """Return the scores (N, K) of raw features (N, d): cosines or plain products, float32."""
        with full_precision(features):
            weights = self.weights
            rows = unit_features(features) if self.sphere else features
            return F.linear(rows.to(weights.dtype), weights)

    def forward(self, features: Tensor) -> Tensor:
        """Return the logits `scores / tau` (N, K) of raw features (N, d), float32."""
        return self.scores(features).div_(self.tau)

    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """Update class means from a batch (N, d), labels (N,), before its scores; else nothing."""

    @property
    def saved_parameters(self) -> int:
        """Number of parameters that an optimiser trains less than the K d of a learned head."""
        return self.K * self.d - sum(p.numel() for p in self.parameters() if p.requires_grad)


class SphereHead(Head):
    """Learned unit rows: logits `<w_k, h> / tau` of unit features, no bias (paper, eq. 1).

    The parameter `weight` starts as random unit rows from `seed` alone, and its rows may get any
    length; `weights` are their directions. The optimiser should not decay it: its lengths have no
    effect on the scores.

    Example:
        >>> head = SphereHead(d=3, K=4, tau=0.1)
        >>> logits = head(100.0 * head.weights)  # lengths of features do not matter
        >>> logits.argmax(1).tolist(), round(logits.max().item(), 4)
        ([0, 1, 2, 3], 10.0)
    """

    def __init__(self, d: int, K: int, tau: float = 0.1, seed: int = 0) -> None:
        """Draw random unit rows from `seed` alone; arguments and errors as for `Head`."""
        super().__init__(d, K, tau)
        self.weight = nn.Parameter(random_unit_rows(self.K, self.d, seed))

    @property
    def weights(self) -> Tensor:
        """Unit rows (K, d), float32, with gradient."""
        return unit_rows(widen(self.weight))


class DecayHead(Head):
    """Learned rows of any length: logits `<w_k, z>`, no bias, no temperature (appendix B).

    Weight decay on the rows and on the network (or the free features) bounds the lengths: the
    objective that the paper compares with the sphere. Rows start as those of `nn.Linear`.
    """

    def __init__(self, d: int, K: int, seed: int = 0) -> None:
        """Draw uniform entries in +-1/sqrt(d) from `seed` alone; sizes as for `Head`."""
        super().__init__(d, K, 1.0, sphere=False)
        generator = torch.Generator("cpu").manual_seed(seed)
        rows = torch.rand(self.K, self.d, generator=generator, dtype=torch.float32, device="cpu")
        self.weight = nn.Parameter((2.0 * rows - 1.0) / math.sqrt(self.d))


class FixedHead(Head):
    """The rows of a code, never trained: a buffer, without gradient or optimiser state.

    Example:
        >>> square = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
        >>> head = FixedHead(square, tau=0.05)
        >>> head(torch.tensor([[0.0, 3.0]])).tolist(), list(head.parameters())
        ([[0.0, 20.0, 0.0, -20.0]], [])
    """

    def __init__(self, code: np.ndarray | Tensor, tau: float = 0.1) -> None:
        """Take the code's rows, scaled to norm 1.

        Args:
            code: (K, d), class k has row k, of norm 1 up to 1e-4.
            tau: temperature, positive.

        Raises:
            DataError: not a matrix of at least two rows, not finite, or a row is not of norm 1.
            UsageError: d below 2, or tau is not positive.
        """
        rows = torch.as_tensor(code).detach().to("cpu", torch.float64).numpy()
        rows = as_points(rows, "the fixed code")
        norms = np.linalg.norm(rows, axis=1)
        k = int(np.abs(norms - 1.0).argmax())
        if abs(norms[k] - 1.0) > _UNIT_TOLERANCE:
            raise DataError(
                f"row {k} of the fixed code has norm {norms[k]:.6g}, not 1; normalise its rows"
            )
        super().__init__(rows.shape[1], rows.shape[0], tau)
        self.register_buffer("weight", torch.from_numpy(normalise(rows)).float())


class ClassMeanHead(Head):
    """Rows that are moving averages of the batches' class means (paper, section 5, appendix B).

    `w_k <- normalise(beta w_k + (1 - beta) mean_k)`, with `mean_k` the mean of the batch's unit
    features of class k, over the batches of all processes together (torch.distributed's default
    group, if it runs: the sums and counts are reduced before the division). Rows of classes that
    the batch lacks do not move. Nothing is learned: the rows are a buffer, without gradient or
    optimiser state.

    **Order.** The paper writes `W(t+1) <- beta W(t) + (1 - beta) mean(t)` and leaves open whether
    the loss of step t uses W(t) or W(t+1). Its authors' code updates first, and so do we: call
    `absorb` before the scores, so that the loss already uses the batch's means. (Their code adds
    the batch's sum where the paper has the mean.) The rows are constants to the gradient, which
    reaches the features through the scores alone.

    **Cancellation.** A mean of norm zero does not move its row. If old row and mean cancel
    (possible for beta <= 1/2 only) and the blend is shorter than 1e-4, or not finite, the row
    keeps its old value until a later batch moves it.

    Example:
        >>> head = ClassMeanHead(d=2, K=2, beta=0.0)
        >>> features = torch.tensor([[3.0, 0.0], [0.0, 5.0], [4.0, 0.0]])
        >>> head.absorb(features, torch.tensor([0, 1, 0]))
        >>> head.weights.tolist(), head.saved_parameters
        ([[1.0, 0.0], [0.0, 1.0]], 4)
    """

    def __init__(self, d: int, K: int, tau: float = 0.1, beta: float = 0.9, seed: int = 0) -> None:
        """Draw random unit rows from `seed` alone, which the first batches replace.

        Args:
            d: dimension of the features, at least 2.
            K: number of classes, at least 2.
            tau: temperature, positive.
            beta: share of the old row that stays, in [0, 1).
            seed: seed of the initial rows.

        Raises:
            UsageError: beta is outside [0, 1); as `Head` otherwise.
        """
        super().__init__(d, K, tau)
        if not 0.0 <= beta < 1.0:
            raise UsageError(f"beta={beta} of the class means must lie in [0, 1), such as 0.9")
        self.beta = float(beta)
        self.register_buffer("weight", random_unit_rows(self.K, self.d, seed))

    @property
    def weights(self) -> Tensor:
        """Unit rows (K, d), float32; in training mode a copy, which later batches do not change."""
        weights = widen(self.weight)
        return weights.clone() if self.training else weights

    @torch.no_grad()
    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """Move the rows of the classes in the batch; do nothing in eval mode.

        Every process of torch.distributed must call it, in the same order. A process may pass an
        empty batch. Large heads send only the rows of the classes that some process has.

        Args:
            features: raw features (N, d), any float dtype.
            labels: (N,) int64 in 0..K-1.
        """
        if not self.training:
            return
        with full_precision(features):
            units = unit_features(features).to(widen(self.weight).dtype)
            counts = units.new_zeros(self.K).index_add_(0, labels, units.new_ones(len(labels)))
            _sum_over_processes(counts)
            if self.weight.numel() <= _MAX_DENSE_NUMBERS.get(self.weight.device.type, 0):
                self.weight.copy_(self._move(self.weight, units, labels, counts))
                return
            present = counts.nonzero()[:, 0]
            positions = counts.sign().cumsum(0).long() - 1  # index of a class among those present
            moved = self._move(self.weight[present], units, positions[labels], counts[present])
            self.weight[present] = moved.to(self.weight.dtype)

    def _move(self, rows: Tensor, units: Tensor, indices: Tensor, counts: Tensor) -> Tensor:
        """Return `rows` (n, d) moved by unit features (N, d) of the rows `indices` (N,).

        `counts` (n,) are the numbers of features per row in all processes.
        """
        sums = units.new_zeros(len(rows), self.d).index_add_(0, indices, units)
        _sum_over_processes(sums)
        old, counts = rows.to(units.dtype), counts[:, None]
        blend = self.beta * old + (1.0 - self.beta) * sums / counts.clamp_min(1.0)
        norms = torch.linalg.vector_norm(blend, dim=1, keepdim=True)
        return torch.where((norms >= _MIN_BLEND_NORM) & (counts > 0.0), unit_rows(blend), old)


def _sum_over_processes(values: Tensor) -> None:
    if dist.is_available() and dist.is_initialized():
        dist.all_reduce(values)
