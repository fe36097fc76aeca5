"""The smooth maximum of the HardMax terms `<w_j - w_k, h_k>` for any K, block by block.

    L(W, H) = 1/beta * log sum_{k, j != k} exp(beta <w_j - w_k, h_k>)

One pass gives the value and both gradients; the largest term so far is kept as the shift, and what
was summed before it is rescaled. No more than a block of 64 MB of terms is held at a time.
"""

from typing import Any

import torch

__all__ = ["hardmax_loss"]

_BLOCK_ENTRIES = 1 << 22
"""Terms of a block; their products, exponents and mask live at once in 64 MB."""
_FLOOR = -60.0
"""Exponents are clamped here: e**-60 is nothing beside 1, and below it `exp` is 15 times slower."""


def hardmax_loss(points: torch.Tensor, sharpness: torch.Tensor) -> torch.Tensor:
    """L, differentiable, in the form that `anneal` and `refine` take.

    Args:
        points: one configuration, weights above features, shape (1, 2 K, d).
        sharpness: beta, shape (1, 1, 1).

    Returns:
        Shape (1,): above the largest term by at most log(K (K - 1)) / beta.

    Example:
        >>> points = torch.cat([torch.eye(3), torch.eye(3)])[None].double()
        >>> round(float(hardmax_loss(points, torch.full((1, 1, 1), 1e3))), 2)
        -1.0
    """
    value: torch.Tensor = _HardMaxLoss.apply(points, float(sharpness))
    return value


class _HardMaxLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, points: torch.Tensor, beta: float) -> torch.Tensor:
        half = points.shape[1] // 2
        W, H = points[0, :half], points[0, half:]
        own = (W * H).sum(1, keepdim=True)
        to_weights, to_features = torch.zeros_like(W), torch.zeros_like(H)
        total, top = torch.zeros((), dtype=torch.float64), -torch.inf
        height = max(1, _BLOCK_ENTRIES // half)
        for start in range(0, half, height):
            stop = min(start + height, half)
            h, w = H[start:stop], W[start:stop]
            terms = h @ W.T - own[start:stop]
            index = torch.arange(stop - start, device=W.device)
            terms[index, index + start] = -torch.inf
            peak = float(terms.max())
            if peak > top:
                fade = torch.exp(torch.tensor(beta * (top - peak), dtype=torch.float64))
                total *= fade
                to_weights *= float(fade)
                to_features *= float(fade)
                top = peak
            p = terms.sub_(top).mul_(beta).clamp_(min=_FLOOR).exp_()
            p[index, index + start] = 0.0
            mass = p.sum(1, keepdim=True)
            total += mass.sum(dtype=torch.float64).cpu()
            to_features[start:stop] = p @ W - mass * w
            to_weights += p.T @ h
            to_weights[start:stop] -= mass * h
        gradient = torch.cat([to_weights, to_features])[None] / float(total)
        ctx.save_for_backward(gradient)
        return points.new_full((1,), top + float(torch.log(total)) / beta)

    @staticmethod
    def backward(ctx: Any, *upstream: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (gradient,) = ctx.saved_tensors
        return upstream[0].reshape(1, 1, 1) * gradient, None
