"""Cross-entropy of scores with the own class's score replaced: what every softmax loss here is."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["softmax_loss"]


def softmax_loss(
    scores: Tensor, labels: Tensor, tau: float, own: Tensor, slope: Tensor | float
) -> Tensor:
    """`log(exp(own / tau) + sum of exp(s_j / tau) over wrong j) - own / tau` for each sample.

    The loss is taken as `softplus(x)`, `x = tau-scaled log-sum-exp of the wrong scores - own/tau`,
    so that tiny losses and their gradients keep all their digits where `log_softmax` rounds them
    to zero. One (N, K) array is made beside `scores` and kept for the backward pass, which makes
    one more. First derivatives only, with respect to `scores` alone.

    Args:
        scores: (N, K), float32 or float64.
        labels: (N,) int64 in 0..K-1.
        tau: temperature, positive.
        own: (N,) stands in for `scores[i, labels[i]]`, a function of it.
        slope: its derivative, (N,) or a number.

    Returns:
        (N,), the scores' dtype.
    """
    return _SoftmaxLoss.apply(scores, labels, tau, own, slope)


class _SoftmaxLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, labels: Tensor, tau: float, own: Tensor, slope: Tensor | float
    ) -> Tensor:
        labels = labels[:, None]
        wrong = (scores / tau).scatter_(1, labels, -torch.inf)  # (N, K), worked on in place
        largest = wrong.amax(dim=1, keepdim=True)
        total = wrong.sub_(largest).exp_().sum(dim=1)  # at least 1; the own entry is 0
        x = total.log() + largest[:, 0] - own / tau
        pull = torch.sigmoid(x) / tau
        ctx.save_for_backward(wrong, labels, pull / total, -pull * slope)
        return F.softplus(x, threshold=40.0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        wrong, labels, push, pull = ctx.saved_tensors
        gradient = wrong * (grad * push)[:, None]
        return gradient.scatter_(1, labels, (grad * pull)[:, None]), None, None, None, None
