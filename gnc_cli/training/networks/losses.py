"""Losses of scores, one value per sample: cross-entropy, HardMax, and the two with a margin.

`scores` are a head's, before the temperature: cosines on the sphere. Everything is in float32
(float64 where the scores are), whatever autocast is.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from gnc_cli.errors import UsageError
from gnc_cli.training.networks.heads import full_precision, widened
from gnc_cli.training.settings import Loss

__all__ = ["LossFunction", "ScoreLoss", "make_loss"]

LossFunction = Callable[[Tensor, Tensor], Tensor]
"""(scores (N, K), labels (N,)) -> losses (N,)."""

_MARGINS = {
    "cosface": (2.0, "a difference of cosines in [0, 2], such as 0.35"),
    "arcface": (math.pi, "an angle in radians in [0, pi], such as 0.5"),
}


@dataclass(frozen=True)
class ScoreLoss:
    """A loss of scores (N, K) and labels (N,) int64, made by `make_loss`; losses (N,) float32."""

    name: str
    """`ce`, `hardmax`, `cosface` or `arcface`."""
    tau: float
    """Temperature; HardMax has none and ignores it."""
    margin: float | None
    """Of `cosface` (a cosine) and `arcface` (radians); None for the others."""

    def __call__(self, scores: Tensor, labels: Tensor) -> Tensor:
        """The loss of each sample, shape (N,)."""
        with full_precision(scores):
            scores = widened(scores)
            if self.name == "hardmax":
                return _hardmax(scores, labels)
            own = scores.detach().gather(1, labels[:, None])[:, 0]
            slope: Tensor | float = 1.0
            if self.margin is not None and self.name == "cosface":
                own = own - self.margin
            elif self.margin is not None:
                own, slope = _added_angle(own, self.margin)
            return _SoftmaxLoss.apply(scores, labels, self.tau, own, slope)  # type: ignore[no-untyped-call]


def make_loss(name: str, *, tau: float, margin: float | None = None) -> ScoreLoss:
    """The loss called `name`, per sample, of scores `s` (N, K) with own score `s_y`.

    - `ce`: `-log softmax(s / tau)[y]` (paper, eq. 1).
    - `hardmax`: `max over j != y of s_j - s_y` (paper, eq. 5). The paper minimises the maximum of
      this over all samples; the mean that trainers take of a batch is trained here instead, which
      gives every sample a gradient. It is the limit of `tau * ce` as tau -> 0, where positive.
    - `cosface`: `ce` with `s_y - margin` for the own score (Wang et al., arXiv 1801.09414).
    - `arcface`: `ce` with `cos(angle + margin)` for the own score (Deng et al., arXiv 1801.07698).
      Where `angle + margin` exceeds pi and the cosine would rise again, the own score is
      `s_y - max(margin sin(margin), 1 - cos(margin))`: what its authors' code takes, the first,
      and from margin 2.33 on, where that would jump up, the second; so the loss never falls as
      the angle grows. The derivative in the cosine, infinite at angles 0 and pi, is bounded by
      taking the sine as no less than the square root of the dtype's epsilon.

    Args:
        name: `ce`, `hardmax`, `cosface` or `arcface`.
        tau: temperature, positive: the head's own.
        margin: of `cosface` in [0, 2], of `arcface` in [0, pi] radians; None for the others. Two
            opposite classes allow the ends.

    Raises:
        UsageError: an unknown name, tau not positive, or a margin missing, out of range, or given
            to a loss that has none.

    Example:
        >>> cosines = torch.tensor([[0.9, 0.1, -0.5]])
        >>> loss = make_loss("cosface", tau=0.1, margin=0.5)
        >>> loss(cosines, torch.tensor([0]))
        tensor([0.0487])
    """
    if name not in [*Loss]:
        raise UsageError(f"loss {name!r} is unknown; choose {', '.join(Loss)}")
    if not (math.isfinite(tau) and tau > 0.0):
        raise UsageError(f"temperature tau={tau} must be a positive number, such as 0.1")
    if name not in _MARGINS:
        if margin is not None:
            raise UsageError(f"loss {name} takes no margin; leave out {margin}, or take cosface")
        return ScoreLoss(name, float(tau), None)
    end, range_ = _MARGINS[name]
    if margin is None or not 0.0 <= margin <= end:
        raise UsageError(f"margin {margin} of loss {name}: it needs {range_}")
    return ScoreLoss(name, float(tau), float(margin))


def _hardmax(scores: Tensor, labels: Tensor) -> Tensor:
    """`s_j - s_y` for the worst wrong class j; two entries a row get a gradient."""
    top = scores.detach().topk(2, dim=1).indices
    worst = torch.where(top[:, 0] == labels, top[:, 1], top[:, 0])
    pair = scores.gather(1, torch.stack([worst, labels], dim=1))
    return pair[:, 0] - pair[:, 1]


def _added_angle(cosine: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """cos(angle + margin) of an angle's cosine, continued beyond pi, and its slope; (N,) each."""
    c = cosine.clamp(-1.0, 1.0)
    sine = ((1.0 - c) * (1.0 + c)).sqrt()
    turned = c * math.cos(margin) - sine * math.sin(margin)
    least = math.sqrt(torch.finfo(c.dtype).eps)
    slope = math.cos(margin) + math.sin(margin) * c / sine.clamp_min(least)
    slope = slope.clamp_min(0.0)  # the bounded sine would turn it around, for margins next to pi
    beyond = c <= -math.cos(margin)  # angle >= pi - margin
    past = c - max(margin * math.sin(margin), 1.0 - math.cos(margin))
    return torch.where(beyond, past, turned), torch.where(beyond, 1.0, slope)


class _SoftmaxLoss(torch.autograd.Function):
    """`log(exp(own / tau) + sum of exp(s_j / tau) over wrong j) - own / tau` for each sample.

    The loss is taken as `softplus(x)`, `x = tau-scaled log-sum-exp of the wrong scores - own/tau`,
    so that tiny losses and their gradients keep all their digits where `log_softmax` rounds them
    to zero. One (N, K) array is made beside `scores` and kept for the backward pass, which makes
    one more. `own` (N,) stands in for the own class's score, a function of it with derivative
    `slope`. First derivatives only, with respect to `scores` alone.
    """

    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, labels: Tensor, tau: float, own: Tensor, slope: Tensor | float
    ) -> Tensor:
        labels = labels[:, None]
        wrong = (scores / tau).scatter_(1, labels, -torch.inf)  # (N, K), worked on in place
        largest = wrong.amax(dim=1, keepdim=True)
        total = wrong.sub_(largest).exp_().sum(dim=1)  # at least 1; the own entry is 0
        x = total.log() + largest[:, 0] - own / tau
        towards_own = torch.sigmoid(x) / tau
        ctx.save_for_backward(wrong, labels, towards_own / total, -towards_own * slope)
        return F.softplus(x, threshold=40.0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        wrong, labels, from_wrong, from_own = ctx.saved_tensors
        gradient = wrong * (grad * from_wrong)[:, None]
        return gradient.scatter_(1, labels, (grad * from_own)[:, None]), None, None, None, None
