"""Rows scaled to the sphere in full precision, for features and classifiers of any size."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["full_precision", "random_unit_rows", "unit_features", "unit_rows", "widened"]

FLOOR = 1e-6
"""Shorter rows are divided by this instead of their norm: they stay finite, and so does their
gradient; a zero row stays zero, at cosine 0 from everything."""


def full_precision(like: Tensor) -> torch.autocast:
    """A context in which autocast is off on the device of `like`."""
    return torch.autocast(like.device.type, enabled=False)


def widened(x: Tensor) -> Tensor:
    """`x` in float32, or as it is where it is float64; part of the graph."""
    return x if x.dtype == torch.float64 else x.float()


def unit_rows(rows: Tensor) -> Tensor:
    """Rows (N, d) of any float dtype divided by their norms, or by 1e-6 where they are shorter.

    The derivative is in closed form and needs the result and the norms alone, where autograd keeps
    and makes several more arrays of this size: what counts for a classifier of 10^5 rows.

    Example:
        >>> unit_rows(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
        tensor([[0.6000, 0.8000],
                [0.0000, 0.0000]])
    """
    return _UnitRows.apply(rows)


def unit_features(features: Tensor) -> Tensor:
    """As `unit_rows`, in at least float32, also for entries whose squares overflow; (N, d).

    Each row is first divided by its largest entry, which changes neither its direction nor,
    being seen as a constant, the derivative.
    """
    features = widened(features)
    largest = features.detach().abs().amax(dim=1, keepdim=True)
    return unit_rows(features / largest.clamp_min(1.0))


def random_unit_rows(K: int, d: int, seed: int) -> Tensor:
    """Uniform on the sphere, float32 (K, d) on the CPU; the global generator is left alone."""
    generator = torch.Generator("cpu").manual_seed(seed)
    rows = torch.randn(K, d, generator=generator, dtype=torch.float32, device="cpu")
    return unit_rows(rows)


class _UnitRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        norms = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
        units = rows / norms.clamp_min(FLOOR)
        ctx.save_for_backward(units, norms)
        return units

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        units, norms = ctx.saved_tensors
        with full_precision(grad):
            along = torch.einsum("kd,kd->k", grad, units)[:, None]
            along = torch.where(norms > FLOOR, along, 0.0)  # below it the map is linear
            return torch.addcmul(grad, units, along, value=-1.0).div_(norms.clamp_min(FLOOR))
